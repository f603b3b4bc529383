// One unit for expectation propagation, for terms gp() and for rows elsewhere.
#include "glue_ep.cpp"
#include "glue_linear_worker.cpp"
#include "glue_stream_worker.cpp"
#include "glue_process.cpp"
#include "glue_stream.cpp"
