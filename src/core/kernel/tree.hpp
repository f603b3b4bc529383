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
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
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
  static Kernel projected(MatrixXd projection, double variance);

  // `twice_nu`: 1, 3 or 5.
  static Kernel matern(int twice_nu, VectorXd lengthscale, double variance);

  // `unit`: what the period is counted in, in each column that the leaf looks
  // at, or one for all.
  static Kernel periodic(double period, VectorXd unit, double lengthscale,
                         double variance);

  static Kernel categorical(double variance) {
    return Kernel(Kind::categorical, variance);
  }

  static Kernel linear(double variance) {
    return Kernel(Kind::linear, variance);
  }

  static Kernel polynomial(int degree, double offset, double variance);

  static Kernel sum(std::vector<Kernel> children) {
    return Kernel(Kind::sum, std::move(children));
  }
  static Kernel product(std::vector<Kernel> children) {
    return Kernel(Kind::product, std::move(children));
  }

  // A leaf that looks at these columns, numbers from 0; at all if there are
  // none.
  Kernel on(std::vector<Index> columns) const;

  Kind kind() const { return kind_; }
  // Depends on x - z alone, so that k(x, x) is the variance.
  bool stationary() const;
  // The exponential of half a squared distance, as the leaf sees points.
  bool gaussian() const;
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
  Index parameters() const;

  VectorXd log_parameters() const;

  void set_log_parameters(const VectorRef& values);

  // The kernel with an rbf of one length-scale in place of every projection:
  // that of its rows' mean length.
  Kernel without_projections() const;

  // Of each parameter the column of data that it multiplies, -1 of those on the
  // log scale.
  std::vector<Index> multiplied_columns() const;

  // Of each parameter a number: the length-scales of a leaf share one, every
  // other parameter has its own.
  std::vector<Index> families() const;

  // k(x, x).
  double at(const double* x, Index d) const;

  // k(x_i, x_i) for the columns of x, d x n.
  void diagonal(const MatrixRef& x, Eigen::Ref<VectorXd> out) const;

  // gradient += weight dk(x, x) / d log parameter.
  void add_gradient_at(const double* x, Index d, double weight,
                       Eigen::Ref<VectorXd> gradient) const;

 private:
  Kernel(Kind kind, double variance) : kind_(kind), variance_(variance) {
    check_positive(variance, "a variance");
  }
  Kernel(Kind kind, std::vector<Kernel> children);

  static void check_positive(double value, const char* what);

  static void check_all_positive(const VectorXd& values, const char* what);

  static Kernel scaled(Kind kind, VectorXd lengthscale, double variance);

  Index scales() const {
    return kind_ == Kind::projected ? 0 : lengthscale_.size();
  }
  Index periods() const { return kind_ == Kind::periodic ? 1 : 0; }

  double squared_norm(const double* x, Index d) const;

  double product_without(std::size_t left_out, const double* x, Index d) const;

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
