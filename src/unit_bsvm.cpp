// One unit for all of bsvm().
#include "glue_bsvm_vb.cpp"
#include "glue_bsvm_gibbs.cpp"
#include "glue_atoms.cpp"
#include "glue_crossed.cpp"
#include "glue_ep.cpp"
#include "glue_linear_worker.cpp"
#include "glue_process.cpp"
#include "glue_stream.cpp"
