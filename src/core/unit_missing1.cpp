#include "missing/grouped_mixture.cpp"
#include "missing/mixture.cpp"
#include "missing/group_likelihood.cpp"
