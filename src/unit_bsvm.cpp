// One unit for the fits of bsvm() and bkm() but expectation propagation.
#include "glue_bsvm_vb.cpp"
#include "glue_bsvm_gibbs.cpp"
#include "glue_completions.cpp"
#include "glue_marginal.cpp"
#include "glue_crossed.cpp"
