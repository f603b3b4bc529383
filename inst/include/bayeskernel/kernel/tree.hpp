// Covariance functions as trees: leaves rbf, linear and polynomial under sums
// and products. A point is a column of d numbers.
//
//   rbf         variance exp(-0.5 sum_k ((x_k - z_k) / lengthscale_k)^2)
//   linear      variance x'z
//   polynomial  variance (x'z + offset)^degree
#ifndef BAYESKERNEL_KERNEL_TREE_HPP
#define BAYESKERNEL_KERNEL_TREE_HPP

#include <Eigen/Core>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "../error.hpp"

namespace bayeskernel {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

class Kernel {
 public:
  enum class Kind { rbf, linear, polynomial, sum, product };

  // `lengthscale`: one for all columns, or one for each.
  static Kernel rbf(VectorXd lengthscale, double variance) {
    Kernel out(Kind::rbf, variance);
    if (lengthscale.size() == 0) {
      throw ArgumentError("an rbf kernel needs a length-scale");
    }
    for (Index k = 0; k < lengthscale.size(); ++k) {
      check_positive(lengthscale[k], "a length-scale");
    }
    out.lengthscale_ = std::move(lengthscale);
    return out;
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

  Kind kind() const { return kind_; }
  bool leaf() const { return children_.empty(); }
  double variance() const { return variance_; }
  const VectorXd& lengthscale() const { return lengthscale_; }
  int degree() const { return degree_; }
  double offset() const { return offset_; }
  const std::vector<Kernel>& children() const { return children_; }

  // The positive parameters, on the log scale, depth first: log variance of a
  // leaf, then the log length-scales of an rbf.
  Index parameters() const {
    if (leaf()) return 1 + lengthscale_.size();
    Index count = 0;
    for (const Kernel& child : children_) count += child.parameters();
    return count;
  }

  VectorXd log_parameters() const {
    VectorXd out(parameters());
    if (leaf()) {
      out[0] = std::log(variance_);
      out.tail(lengthscale_.size()) = lengthscale_.array().log();
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
      lengthscale_ = values.tail(lengthscale_.size()).array().exp();
      return;
    }
    Index first = 0;
    for (Kernel& child : children_) {
      const Index count = child.parameters();
      child.set_log_parameters(values.segment(first, count));
      first += count;
    }
  }

  // k(x, x).
  double at(const double* x, Index d) const {
    switch (kind_) {
      case Kind::rbf:
        return variance_;
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

  static double squared_norm(const double* x, Index d) {
    return Eigen::Map<const VectorXd>(x, d).squaredNorm();
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
  std::vector<Kernel> children_;
};

}  // namespace bayeskernel

#endif
