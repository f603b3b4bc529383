#include "math/bordered.hpp"

namespace bayeskernel {
void LogProduct::multiply(double factor) {
  if (factor > 1e100) {
    log_ += std::log(factor);
    return;
  }
  product_ *= factor;
  if (product_ > 1e200 || product_ < 1e-200) {
    log_ += std::log(product_);
    product_ = 1.0;
  }
}

namespace detail {
void symmetric_columns(const double* a, Index stride, Index size, Index k,
                       double* first, double* second) {
  for (Index j = 0; j < k; ++j) {
    first[j] = a[j * stride + k];
    second[j] = a[j * stride + k + 1];
  }
  a += k * stride;
  first[k] = a[k];
  second[k] = a[k + 1];
  for (Index i = k + 1; i < size; ++i) {
    first[i] = a[i];
    second[i] = a[stride + i];
  }
}

void set_symmetric_columns(double* a, Index stride, Index size, Index k,
                           const double* first, const double* second) {
  for (Index j = 0; j < k; ++j) {
    a[j * stride + k] = first[j];
    a[j * stride + k + 1] = second[j];
  }
  a += k * stride;
  a[k] = first[k];
  for (Index i = k + 1; i < size; ++i) {
    a[i] = first[i];
    a[stride + i] = second[i];
  }
}
}  // namespace detail
}  // namespace bayeskernel
