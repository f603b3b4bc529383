#include "missing/grouped_mixture.cpp"
#include "missing/mixture.cpp"
