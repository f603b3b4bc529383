#include "kernel/packed_columns.hpp"

#include <string>

#include "error.hpp"

namespace bayeskernel {
namespace detail {
double* reserve(VectorXd& buffer, Index size) {
  if (buffer.size() < size) buffer.resize(size);
  return buffer.data();
}

PackedColumns::PackedColumns(const Kernel& leaf, const MatrixXd& z, bool wide)
    : d_(z.rows()),
      m_(z.cols()),
      wide_(wide),
      rbf_(leaf.gaussian()),
      distances_(rbf_ || leaf.kind() == Kernel::Kind::matern),
      variance_(leaf.variance()),
      shift_(VectorXd::Zero(d_)),
      inverse_(VectorXd::Ones(d_)) {
  if (distances_) {
    const VectorXd& lengthscale = leaf.lengthscale();
    if (lengthscale.size() != 1 && lengthscale.size() != d_) {
      throw ArgumentError("there are " + std::to_string(lengthscale.size()) +
                          " length-scales and " + std::to_string(d_) +
                          " columns");
    }
    for (Index k = 0; k < d_; ++k) {
      inverse_[k] = 1.0 / lengthscale[lengthscale.size() == 1 ? 0 : k];
    }
    if (m_ > 0) shift_ = z.rowwise().mean();
  }
  pack(z);
}

void PackedColumns::scale(const double* x, Index n, double* out) const {
  Eigen::Map<ArrayXXd> scaled(out, d_, n);
  scaled = Eigen::Map<const ArrayXXd>(x, d_, n).colwise() - shift_.array();
  scaled.colwise() *= inverse_.array();
}

double PackedColumns::squared_distance(const double* x, const double* z) const {
  double sum = 0.0;
  for (Index k = 0; k < d_; ++k) {
    const double u = (x[k] - z[k]) * inverse_[k];
    sum += u * u;
  }
  return sum;
}
}  // namespace detail
}  // namespace bayeskernel
