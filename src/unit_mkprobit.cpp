// One unit for mkprobit().
#include "glue_mkprobit.cpp"
#include "glue_mkprobit_gibbs.cpp"
#include "glue_mkprobit_process.cpp"
