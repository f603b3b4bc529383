#include "math/double_double.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace bayeskernel {
namespace {
// The upper 26 bits of the significand; what is left has 27. By bits, which no
// fused multiplication of the compiler's can undo.
double upper_half(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits &= 0xfffffffff8000000ull;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
}  // namespace

double product_error(double a, double b, double product) {
  const double a1 = upper_half(a), a2 = a - a1;
  const double b1 = upper_half(b), b2 = b - b1;
  return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
}

double sum_error(double a, double b, double sum) {
  const double part = sum - a;
  return (a - (sum - part)) + (b - part);
}

DoubleDouble DoubleDouble::ordered(double a, double b) {
  DoubleDouble out;
  out.high = a + b;
  out.low = b - (out.high - a);
  return out;
}

DoubleDouble sqrt(const DoubleDouble& x) {
  if (!(x.high > 0.0)) return DoubleDouble(0.0);
  const double root = std::sqrt(x.high);
  const DoubleDouble left = x - DoubleDouble(root) * DoubleDouble(root);
  return DoubleDouble(root, left.high / (2.0 * root));
}
}  // namespace bayeskernel
