#include "gp/bound_gradient.cpp"
#include "gp/exact.cpp"
#include "gp/exact_ep.cpp"
#include "gp/features.cpp"
