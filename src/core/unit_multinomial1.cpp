#include "multinomial/conic.cpp"
#include "multinomial/design.cpp"
#include "multinomial/gibbs.cpp"
#include "multinomial/learning.cpp"
