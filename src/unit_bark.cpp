// One unit for bark() and what all models share.
#include "glue_shared.cpp"
#include "glue_predict.cpp"
#include "glue_bark.cpp"
