// What is fitted after a fit: small, on its own.
#include "glue_link.cpp"
