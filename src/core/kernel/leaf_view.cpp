#include "kernel/leaf_view.hpp"

#include <string>

#include "error.hpp"

namespace bayeskernel {
namespace detail {
LeafView::LeafView(const Kernel& leaf, const MatrixXd& z)
    : d_(z.rows()), columns_(leaf.columns()) {
  for (const Index k : columns_) {
    if (k < 0 || k >= d_) {
      throw ArgumentError("a kernel looks at column " + std::to_string(k + 1) +
                          " of " + std::to_string(d_));
    }
  }
  const bool periodic = leaf.kind() == Kernel::Kind::periodic;
  if (!periodic && leaf.kind() != Kernel::Kind::projected) return;
  if (columns_.empty()) {
    for (Index k = 0; k < d_; ++k) columns_.push_back(k);
  }
  const Index count = count_of(columns_);
  if (!periodic) {
    projection_ = leaf.projection();
    if (projection_.cols() != count) {
      throw ArgumentError("a projection of " +
                          std::to_string(projection_.cols()) +
                          " columns looks at " + std::to_string(count));
    }
    return;
  }
  const VectorXd& unit = leaf.unit();
  if (unit.size() != 1 && unit.size() != count) {
    throw ArgumentError("there are " + std::to_string(unit.size()) +
                        " units and " + std::to_string(count) + " columns");
  }
  frequency_.resize(count);
  shift_ = VectorXd::Zero(count);
  for (Index k = 0; k < count; ++k) {
    const double own = unit[unit.size() == 1 ? 0 : k];
    frequency_[k] = 2.0 * 3.14159265358979323846 * own / leaf.period();
    // Angles stay small, and keep their digits.
    if (z.cols() > 0) shift_[k] = z.row(columns_[k]).mean();
  }
}

Index LeafView::size() const {
  if (whole()) return d_;
  if (projected()) return projection_.rows();
  const Index count = count_of(columns_);
  return circular() ? 2 * count : count;
}

void LeafView::see(const double* x, Index n, double* out) const {
  if (projected()) return project(x, n, out);
  const std::size_t count = columns_.size();
  for (Index i = 0; i < n; ++i, x += d_) {
    for (std::size_t k = 0; k < count; ++k) {
      const double value = x[columns_[k]];
      if (!circular()) {
        *out++ = value;
        continue;
      }
      const Index at = static_cast<Index>(k);
      const double angle = frequency_[at] * (value - shift_[at]);
      *out++ = std::cos(angle);
      *out++ = std::sin(angle);
    }
  }
}

void LeafView::add_locations(const MatrixXd& slope, const MatrixRef& seen,
                             Eigen::Ref<MatrixXd> locations) const {
  if (whole()) {
    locations += slope;
    return;
  }
  if (projected()) {
    const MatrixXd back = projection_.transpose() * slope;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      locations.row(columns_[c]) += back.row(static_cast<Index>(c));
    }
    return;
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    auto to = locations.row(columns_[c]);
    const Index k = static_cast<Index>(c);
    if (!circular()) {
      to += slope.row(k);
      continue;
    }
    to.array() += frequency_[k] *
                  (slope.row(2 * k + 1).array() * seen.row(2 * k).array() -
                   slope.row(2 * k).array() * seen.row(2 * k + 1).array());
  }
}

double LeafView::turned(const double* x, const double* z, const MatrixRef& seen,
                        const MatrixRef& seen_z, const MatrixRef& a) const {
  double sum = 0.0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Index k = static_cast<Index>(c);
    for (Index i = 0; i < a.cols(); ++i) {
      const double value = x[i * d_ + columns_[c]];
      const double cosine = seen(2 * k, i), sine = seen(2 * k + 1, i);
      for (Index j = 0; j < a.rows(); ++j) {
        sum += a(j, i) * frequency_[k] * (value - z[j * d_ + columns_[c]]) *
               (sine * seen_z(2 * k, j) - cosine * seen_z(2 * k + 1, j));
      }
    }
  }
  return sum;
}

void LeafView::add_projection_gradient(const double* x, Index n,
                                       const MatrixXd& z, const MatrixRef& seen,
                                       const MatrixRef& seen_z,
                                       const MatrixRef& a,
                                       const MatrixRef& inner,
                                       Eigen::Ref<VectorXd> gradient) const {
  const Index count = projection_.cols(), m = z.cols();
  MatrixXd own_x(count, n), own_z(count, m);
  for (Index c = 0; c < count; ++c) {
    const double shift = z.row(columns_[c]).mean();
    for (Index i = 0; i < n; ++i) {
      own_x(c, i) = x[i * d_ + columns_[c]] - shift;
    }
    own_z.row(c) = z.row(columns_[c]).array() - shift;
  }
  const VectorXd by_x = a.colwise().sum(), by_z = a.rowwise().sum();
  MatrixXd sum = inner * own_z.transpose();
  sum.noalias() += seen_z * (own_x * a.transpose()).transpose();
  sum.noalias() -= seen * by_x.asDiagonal() * own_x.transpose();
  sum.noalias() -= seen_z * by_z.asDiagonal() * own_z.transpose();
  for (Index j = 0; j < sum.rows(); ++j) {
    gradient.segment(j * count, count) += sum.row(j).transpose();
  }
}

void LeafView::project(const double* x, Index n, double* out) const {
  const Index r = projection_.rows();
  for (Index i = 0; i < n; ++i, x += d_, out += r) {
    std::fill_n(out, r, 0.0);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const double value = x[columns_[c]];
      const double* weight = projection_.data() + r * static_cast<Index>(c);
      for (Index j = 0; j < r; ++j) out[j] += weight[j] * value;
    }
  }
}
}  // namespace detail
}  // namespace bayeskernel
