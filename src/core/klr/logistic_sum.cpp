#include "klr/logistic_sum.hpp"

#include "simd/column_products.hpp"

namespace bayeskernel {
namespace detail {
double narrow_logistic(const double* k, Index stride, Index m, const double* b,
                       const double* s, Index from, Index to, double* f) {
  using Array = Eigen::Array<double, 4, 1>;
  Array linear = Array::Zero(), product = Array::Ones();
  for (Index i = from; i < to; i += kLanes) {
    Array value = Array::Zero();
    for (Index j = 0; j < m; ++j) {
      value += b[j] * Eigen::Map<const Array>(k + j * stride + i);
    }
    if (f != nullptr) Eigen::Map<Array>(f + i) = value;
    value *= Eigen::Map<const Array>(s + i);
    alignas(32) double e[4];
    Eigen::Map<Array> far(e);
    far = -value.abs();
    linear += 0.5 * (value + far);
    narrow_exp(far, 1.0);
    product *= 1.0 + far;
  }
  return linear.sum() - std::log(product.prod());
}
}  // namespace detail
}  // namespace bayeskernel
