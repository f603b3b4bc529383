// Exceptions of the core: a small tree that the glue turns into R conditions.
#pragma once

#include <stdexcept>

namespace bayeskernel {
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A computation lost its meaning: a matrix that is not positive definite, a
// number that is not finite.
struct NumericError : Error {
  using Error::Error;
};

// Arguments break a condition on sizes or ranges.
struct ArgumentError : Error {
  using Error::Error;
};
}  // namespace bayeskernel
