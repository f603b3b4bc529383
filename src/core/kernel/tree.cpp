#include "kernel/tree.hpp"

#include <string>

#include "error.hpp"

namespace bayeskernel {
Kernel Kernel::projected(MatrixXd projection, double variance) {
  Kernel out = scaled(Kind::projected, VectorXd::Ones(1), variance);
  if (projection.rows() < 1 || projection.cols() < 1 ||
      !projection.allFinite()) {
    throw ArgumentError("a projection is a matrix of finite numbers");
  }
  out.projection_ = std::move(projection);
  return out;
}

Kernel Kernel::matern(int twice_nu, VectorXd lengthscale, double variance) {
  if (twice_nu != 1 && twice_nu != 3 && twice_nu != 5) {
    throw ArgumentError("nu of a matern kernel is 1/2, 3/2 or 5/2");
  }
  Kernel out = scaled(Kind::matern, std::move(lengthscale), variance);
  out.twice_nu_ = twice_nu;
  return out;
}

Kernel Kernel::periodic(double period, VectorXd unit, double lengthscale,
                        double variance) {
  Kernel out =
      scaled(Kind::periodic, VectorXd::Constant(1, lengthscale), variance);
  check_positive(period, "a period");
  check_all_positive(unit, "a unit");
  out.period_ = period;
  out.unit_ = std::move(unit);
  return out;
}

Kernel Kernel::polynomial(int degree, double offset, double variance) {
  Kernel out(Kind::polynomial, variance);
  if (degree < 1) throw ArgumentError("a degree is at least 1");
  if (!(std::isfinite(offset) && offset >= 0.0)) {
    throw ArgumentError("an offset is finite and not negative");
  }
  out.degree_ = degree;
  out.offset_ = offset;
  return out;
}

Kernel Kernel::on(std::vector<Index> columns) const {
  Kernel out = *this;
  out.columns_ = std::move(columns);
  return out;
}

bool Kernel::stationary() const {
  return gaussian() || kind_ == Kind::matern || kind_ == Kind::categorical;
}

bool Kernel::gaussian() const {
  return kind_ == Kind::rbf || kind_ == Kind::projected ||
         kind_ == Kind::periodic;
}

Index Kernel::parameters() const {
  if (leaf()) return 1 + scales() + periods() + projection_.size();
  Index count = 0;
  for (const Kernel& child : children_) count += child.parameters();
  return count;
}

VectorXd Kernel::log_parameters() const {
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

void Kernel::set_log_parameters(const VectorRef& values) {
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

Kernel Kernel::without_projections() const {
  Kernel out = *this;
  for (Kernel& child : out.children_) child = child.without_projections();
  if (kind_ == Kind::projected) {
    const double length =
        projection_.norm() / std::sqrt(static_cast<double>(projection_.rows()));
    out = rbf(VectorXd::Constant(1, 1.0 / std::max(length, 1e-8)), variance_);
    out.columns_ = columns_;
  }
  return out;
}

std::vector<Index> Kernel::multiplied_columns() const {
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

std::vector<Index> Kernel::families() const {
  std::vector<Index> out;
  if (leaf()) {
    // After the variance.
    for (Index k = 0; k < parameters(); ++k) {
      out.push_back(k <= scales() ? std::min<Index>(k, 1) : k);
    }
  }
  for (const Kernel& child : children_) {
    const Index before = count_of(out);
    for (const Index family : child.families()) out.push_back(before + family);
  }
  return out;
}

double Kernel::at(const double* x, Index d) const {
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

void Kernel::diagonal(const MatrixRef& x, Eigen::Ref<VectorXd> out) const {
  for (Index i = 0; i < x.cols(); ++i) out[i] = at(x.col(i).data(), x.rows());
}

void Kernel::add_gradient_at(const double* x, Index d, double weight,
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

Kernel::Kernel(Kind kind, std::vector<Kernel> children)
    : kind_(kind), children_(std::move(children)) {
  if (children_.size() < 2) {
    throw ArgumentError("a sum or a product needs two kernels");
  }
}

void Kernel::check_positive(double value, const char* what) {
  if (!(std::isfinite(value) && value > 0.0)) {
    throw ArgumentError(std::string(what) + " is positive and finite");
  }
}

void Kernel::check_all_positive(const VectorXd& values, const char* what) {
  if (values.size() == 0) {
    throw ArgumentError(std::string(what) + " of a kernel is missing");
  }
  for (Index k = 0; k < values.size(); ++k) check_positive(values[k], what);
}

Kernel Kernel::scaled(Kind kind, VectorXd lengthscale, double variance) {
  Kernel out(kind, variance);
  check_all_positive(lengthscale, "a length-scale");
  out.lengthscale_ = std::move(lengthscale);
  return out;
}

double Kernel::squared_norm(const double* x, Index d) const {
  if (columns_.empty()) return VectorMap(x, d).squaredNorm();
  double sum = 0.0;
  for (const Index k : columns_) sum += x[k] * x[k];
  return sum;
}

double Kernel::product_without(std::size_t left_out, const double* x,
                               Index d) const {
  double product = 1.0;
  for (std::size_t k = 0; k < children_.size(); ++k) {
    if (k != left_out) product *= children_[k].at(x, d);
  }
  return product;
}
}  // namespace bayeskernel
