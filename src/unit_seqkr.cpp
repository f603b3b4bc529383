// One unit for seqkr().
#include "glue_seqkr.cpp"
