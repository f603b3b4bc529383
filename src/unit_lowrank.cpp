// One unit for klr().
#include "glue_lowrank.cpp"
