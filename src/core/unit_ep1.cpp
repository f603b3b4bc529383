#include "ep/check.cpp"
#include "ep/fit.cpp"
#include "ep/grid.cpp"
#include "ep/group_evidence.cpp"
