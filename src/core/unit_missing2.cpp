#include "missing/completions/maker.cpp"
#include "missing/completions/gibbs.cpp"
#include "missing/values/gibbs.cpp"
#include "gibbs/missing_summary.cpp"
