// One unit for all of gpsvm(): what it includes is read and instantiated once.
#include "glue_gpsvm.cpp"
#include "glue_gpsvm_gibbs.cpp"
#include "glue_gpsvm_tune.cpp"
#include "glue_gpsvm_worker.cpp"
