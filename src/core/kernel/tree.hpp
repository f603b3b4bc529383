// Covariance functions as trees: leaves under sums and products. A point is a
// column of d numbers, of which a leaf looks at all or at some.
//
//   rbf          variance exp(-r^2 / 2), r^2 = sum ((x - z) / lengthscale)^2
//   projected    variance exp(-|A (x - z)|^2 / 2), A with few rows
//   matern       variance p(u) exp(-u), u = sqrt(2 nu) r; p = 1, 1 + u and
//                1 + u + u^2 / 3 for nu = 1/2, 3/2 and 5/2
//   periodic     variance exp(-2 sum sin^2(pi unit (x - z) / period)
//                             / lengthscale^2)
//   linear       variance x'z
//   polynomial   variance (x'z + offset)^degree
//   categorical  variance where x and z agree, else 0
#ifndef BAYESKERNEL_KERNEL_TREE_HPP
#define BAYESKERNEL_KERNEL_TREE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"

namespace bayeskernel {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

class Kernel {
 public:
  enum class Kind {
    rbf,
    projected,
    matern,
    periodic,
    linear,
    polynomial,
    categorical,
    sum,
    product
  };

  // `lengthscale`: one for all columns, or one for each.
  static Kernel rbf(VectorXd lengthscale, double variance) {
    return scaled(Kind::rbf, std::move(lengthscale), variance);
  }

  // `projection`: A, a column for each that the leaf looks at.
  static Kernel projected(MatrixXd projection, double variance) {
    Kernel out = scaled(Kind::projected, VectorXd::Ones(1), variance);
    if (projection.rows() < 1 || projection.cols() < 1 ||
        !projection.allFinite()) {
      throw ArgumentError("a projection is a matrix of finite numbers");
    }
    out.projection_ = std::move(projection);
    return out;
  }

  // `twice_nu`: 1, 3 or 5.
  static Kernel matern(int twice_nu, VectorXd lengthscale, double variance) {
    if (twice_nu != 1 && twice_nu != 3 && twice_nu != 5) {
      throw ArgumentError("nu of a matern kernel is 1/2, 3/2 or 5/2");
    }
    Kernel out = scaled(Kind::matern, std::move(lengthscale), variance);
    out.twice_nu_ = twice_nu;
    return out;
  }

  // `unit`: what the period is counted in, in each column that the leaf looks
  // at, or one for all.
  static Kernel periodic(double period, VectorXd unit, double lengthscale,
                         double variance) {
    Kernel out = scaled(Kind::periodic, VectorXd::Constant(1, lengthscale),
                        variance);
    check_positive(period, "a period");
    check_all_positive(unit, "a unit");
    out.period_ = period;
    out.unit_ = std::move(unit);
    return out;
  }

  static Kernel categorical(double variance) {
    return Kernel(Kind::categorical, variance);
  }

  static Kernel linear(double variance) {
    return Kernel(Kind::linear, variance);
  }

  static Kernel polynomial(int degree, double offset, double variance) {
    Kernel out(Kind::polynomial, variance);
    if (degree < 1) throw ArgumentError("a degree is at least 1");
    if (!(std::isfinite(offset) && offset >= 0.0)) {
      throw ArgumentError("an offset is finite and not negative");
    }
    out.degree_ = degree;
    out.offset_ = offset;
    return out;
  }

  static Kernel sum(std::vector<Kernel> children) {
    return Kernel(Kind::sum, std::move(children));
  }
  static Kernel product(std::vector<Kernel> children) {
    return Kernel(Kind::product, std::move(children));
  }

  // A leaf that looks at these columns, numbers from 0; at all if there are
  // none.
  Kernel on(std::vector<Index> columns) const {
    Kernel out = *this;
    out.columns_ = std::move(columns);
    return out;
  }

  Kind kind() const { return kind_; }
  // Depends on x - z alone, so that k(x, x) is the variance.
  bool stationary() const {
    return gaussian() || kind_ == Kind::matern ||
           kind_ == Kind::categorical;
  }
  // The exponential of half a squared distance, as the leaf sees points.
  bool gaussian() const {
    return kind_ == Kind::rbf || kind_ == Kind::projected ||
           kind_ == Kind::periodic;
  }
  bool leaf() const { return children_.empty(); }
  double variance() const { return variance_; }
  const VectorXd& lengthscale() const { return lengthscale_; }
  int degree() const { return degree_; }
  double offset() const { return offset_; }
  int twice_nu() const { return twice_nu_; }
  double period() const { return period_; }
  const VectorXd& unit() const { return unit_; }
  const MatrixXd& projection() const { return projection_; }
  const std::vector<Index>& columns() const { return columns_; }
  const std::vector<Kernel>& children() const { return children_; }

  // The positive parameters, on the log scale, depth first: log variance of a
  // leaf, then its log length-scales, then its log period. A projection's
  // entries, row after row, are as they are.
  Index parameters() const {
    if (leaf()) return 1 + scales() + periods() + projection_.size();
    Index count = 0;
    for (const Kernel& child : children_) count += child.parameters();
    return count;
  }

  VectorXd log_parameters() const {
    VectorXd out(parameters());
    if (leaf()) {
      out[0] = std::log(variance_);
      out.segment(1, scales()) = lengthscale_.head(scales()).array().log();
      if (periods() > 0) out.tail(1)[0] = std::log(period_);
      for (Index j = 0; j < projection_.rows(); ++j) {
        out.segment(1 + j * projection_.cols(), projection_.cols()) =
            projection_.row(j).transpose();
      }
      return out;
    }
    Index first = 0;
    for (const Kernel& child : children_) {
      out.segment(first, child.parameters()) = child.log_parameters();
      first += child.parameters();
    }
    return out;
  }

  void set_log_parameters(const Eigen::Ref<const VectorXd>& values) {
    if (values.size() != parameters()) {
      throw ArgumentError("a kernel of " + std::to_string(parameters()) +
                          " parameters was given " +
                          std::to_string(values.size()));
    }
    if (leaf()) {
      variance_ = std::exp(values[0]);
      lengthscale_.head(scales()) = values.segment(1, scales()).array().exp();
      if (periods() > 0) period_ = std::exp(values.tail(1)[0]);
      for (Index j = 0; j < projection_.rows(); ++j) {
        projection_.row(j) =
            values.segment(1 + j * projection_.cols(), projection_.cols())
                .transpose();
      }
      return;
    }
    Index first = 0;
    for (Kernel& child : children_) {
      const Index count = child.parameters();
      child.set_log_parameters(values.segment(first, count));
      first += count;
    }
  }

  // The kernel with an rbf of one length-scale in place of every projection:
  // that of its rows' mean length.
  Kernel without_projections() const {
    Kernel out = *this;
    for (Kernel& child : out.children_) child = child.without_projections();
    if (kind_ == Kind::projected) {
      const double length = projection_.norm() /
                            std::sqrt(static_cast<double>(projection_.rows()));
      out = rbf(VectorXd::Constant(1, 1.0 / std::max(length, 1e-8)), variance_);
      out.columns_ = columns_;
    }
    return out;
  }

  // Of each parameter the column of data that it multiplies, -1 of those on the
  // log scale.
  std::vector<Index> multiplied_columns() const {
    std::vector<Index> out;
    if (leaf()) {
      out.assign(parameters() - projection_.size(), -1);
      for (Index j = 0; j < projection_.rows(); ++j) {
        for (Index k = 0; k < projection_.cols(); ++k) {
          out.push_back(columns_.empty() ? k : columns_[k]);
        }
      }
    }
    for (const Kernel& child : children_) {
      const std::vector<Index> own = child.multiplied_columns();
      out.insert(out.end(), own.begin(), own.end());
    }
    return out;
  }

  // k(x, x).
  double at(const double* x, Index d) const {
    if (stationary()) return variance_;
    switch (kind_) {
      case Kind::linear:
        return variance_ * squared_norm(x, d);
      case Kind::polynomial:
        return variance_ * std::pow(squared_norm(x, d) + offset_, degree_);
      case Kind::sum: {
        double sum = 0.0;
        for (const Kernel& child : children_) sum += child.at(x, d);
        return sum;
      }
      default:
        return product_without(children_.size(), x, d);
    }
  }

  // k(x_i, x_i) for the columns of x, d x n.
  void diagonal(const Eigen::Ref<const MatrixXd>& x,
                Eigen::Ref<VectorXd> out) const {
    for (Index i = 0; i < x.cols(); ++i) out[i] = at(x.col(i).data(), x.rows());
  }

  // gradient += weight dk(x, x) / d log parameter.
  void add_gradient_at(const double* x, Index d, double weight,
                       Eigen::Ref<VectorXd> gradient) const {
    if (leaf()) {
      gradient[0] += weight * at(x, d);
      return;
    }
    Index first = 0;
    for (std::size_t k = 0; k < children_.size(); ++k) {
      const Index count = children_[k].parameters();
      const double others = kind_ == Kind::sum ? 1.0 : product_without(k, x, d);
      children_[k].add_gradient_at(x, d, weight * others,
                                   gradient.segment(first, count));
      first += count;
    }
  }

 private:
  Kernel(Kind kind, double variance) : kind_(kind), variance_(variance) {
    check_positive(variance, "a variance");
  }
  Kernel(Kind kind, std::vector<Kernel> children)
      : kind_(kind), children_(std::move(children)) {
    if (children_.size() < 2) {
      throw ArgumentError("a sum or a product needs two kernels");
    }
  }

  static void check_positive(double value, const char* what) {
    if (!(std::isfinite(value) && value > 0.0)) {
      throw ArgumentError(std::string(what) + " is positive and finite");
    }
  }

  static void check_all_positive(const VectorXd& values, const char* what) {
    if (values.size() == 0) {
      throw ArgumentError(std::string(what) + " of a kernel is missing");
    }
    for (Index k = 0; k < values.size(); ++k) check_positive(values[k], what);
  }

  static Kernel scaled(Kind kind, VectorXd lengthscale, double variance) {
    Kernel out(kind, variance);
    check_all_positive(lengthscale, "a length-scale");
    out.lengthscale_ = std::move(lengthscale);
    return out;
  }

  Index scales() const {
    return kind_ == Kind::projected ? 0 : lengthscale_.size();
  }
  Index periods() const { return kind_ == Kind::periodic ? 1 : 0; }

  double squared_norm(const double* x, Index d) const {
    if (columns_.empty()) return Eigen::Map<const VectorXd>(x, d).squaredNorm();
    double sum = 0.0;
    for (const Index k : columns_) sum += x[k] * x[k];
    return sum;
  }

  double product_without(std::size_t left_out, const double* x, Index d) const {
    double product = 1.0;
    for (std::size_t k = 0; k < children_.size(); ++k) {
      if (k != left_out) product *= children_[k].at(x, d);
    }
    return product;
  }

  Kind kind_;
  double variance_ = 1.0;
  VectorXd lengthscale_;
  int degree_ = 1;
  double offset_ = 0.0;
  int twice_nu_ = 1;
  double period_ = 1.0;
  VectorXd unit_;
  MatrixXd projection_;
  std::vector<Index> columns_;
  std::vector<Kernel> children_;
};

}  // namespace bayeskernel

#endif
