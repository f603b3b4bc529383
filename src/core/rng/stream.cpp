#include "rng/stream.hpp"

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/normal_distribution.hpp>

namespace bayeskernel {
double Stream::normal() {
  return boost::random::normal_distribution<double>()(*this);
}

double Stream::exponential() {
  return boost::random::exponential_distribution<double>()(*this);
}
}  // namespace bayeskernel
