#include "multinomial/sources.hpp"

namespace bayeskernel {
Source Source::of_kernel(Kernel kernel, View x, View z) {
  Source out(x, z);
  out.kernel_ = std::move(kernel);
  out.prepare();
  return out;
}

Source Source::given(View k) {
  Source out(k, k);
  out.given_ = true;
  return out;
}

void Source::set_log_parameters(const VectorRef& values) {
  kernel_->set_log_parameters(values);
  prepare();
}

std::vector<Index> Source::lengthscales() const {
  std::vector<Index> out;
  if (kernel_) {
    Index first = 0;
    find_lengthscales(*kernel_, first, out);
  }
  return out;
}

bool Source::plain_rbf() const {
  return kernel_ && kernel_->kind() == Kernel::Kind::rbf &&
         kernel_->columns().empty();
}

void Source::block(Index first, Index count, Scratch& scratch,
                   double* out) const {
  const Index m = regressors();
  if (given_) {
    std::copy_n(x_.data() + first * m, count * m, out);
  } else if (kernel_) {
    columns_->block(x_.data() + first * x_.rows(), count, scratch.kernel, out);
  } else {
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < m; ++j) {
        out[i * m + j] = x_.col(first + i) == z_.col(j);
      }
    }
  }
}

void Source::add_gradient(Index first, Index count, const double* g,
                          const double* k, Scratch& scratch,
                          Eigen::Ref<VectorXd> gradient) const {
  if (!kernel_) return;
  columns_->add_gradient(x_.data() + first * x_.rows(), count, g, k,
                         scratch.kernel, gradient);
}

Source::Source(View x, View z) : x_(x), z_(z) {
  if (x.rows() != z.rows()) {
    throw ArgumentError("the points of a space have other columns");
  }
}

void Source::find_lengthscales(const Kernel& kernel, Index& first,
                               std::vector<Index>& out) {
  if (kernel.leaf()) {
    for (Index k = 1; k <= kernel.lengthscale().size(); ++k) {
      out.push_back(first + k);
    }
    first += kernel.parameters();
    return;
  }
  for (const Kernel& child : kernel.children()) {
    find_lengthscales(child, first, out);
  }
}

void Source::rbf_exponent(Index first, Index count, double* out) const {
  const double shift = std::log(kernel_->variance());
  const VectorXd& l = kernel_->lengthscale();
  const Index m = regressors(), d = x_.rows();
  for (Index i = 0; i < count; ++i) {
    const double* x = x_.data() + (first + i) * d;
    for (Index j = 0; j < m; ++j) {
      const double* z = z_.data() + j * d;
      double sum = 0.0;
      for (Index k = 0; k < d; ++k) {
        const double step = (x[k] - z[k]) / l[l.size() == 1 ? 0 : k];
        sum += step * step;
      }
      out[i * m + j] = shift - 0.5 * sum;
    }
  }
}

Composite::Composite(std::vector<Source> sources, Combination combination,
                     bool bias)
    : sources_(std::move(sources)), combination_(combination), bias_(bias) {
  if (sources_.empty()) throw ArgumentError("there is no feature space");
  for (const Source& source : sources_) {
    if (source.rows() != rows()) {
      throw ArgumentError("the spaces have different numbers of rows");
    }
    if (source.regressors() != own_regressors()) {
      throw ArgumentError("the spaces have different numbers of regressors");
    }
  }
}

void Composite::base(Index s, Index first, Index count, Scratch& scratch,
                     double* out) const {
  if (!held_.empty()) {
    const MatrixXd& all = held_[static_cast<std::size_t>(s)];
    std::copy_n(all.data() + first * all.rows(), count * all.rows(), out);
  } else if (combination_ == Combination::sum) {
    sources_[s].block(first, count, scratch, out);
  } else {
    sources_[s].log_block(first, count, scratch, out);
  }
}

void Composite::hold(double most) {
  const Index m = own_regressors(), n = rows();
  if (static_cast<double>(m) * static_cast<double>(n * size()) > most) return;
  Scratch scratch;
  std::vector<MatrixXd> all(static_cast<std::size_t>(size()), MatrixXd(m, n));
  for (Index s = 0; s < size(); ++s) {
    base(s, 0, n, scratch, all[static_cast<std::size_t>(s)].data());
  }
  held_ = std::move(all);
}

void Composite::block(const VectorXd& weights, Index first, Index count,
                      Scratch& scratch, double* out, double constant) const {
  const Index m = own_regressors();
  scratch.values.resize(m * count);
  Eigen::Map<MatrixXd> to(out, regressors(), count);
  auto own = to.topRows(m);
  const MatrixMap part(scratch.values.data(), m, count);
  own.setZero();
  for (Index s = 0; s < size(); ++s) {
    if (weights[s] == 0.0) continue;
    base(s, first, count, scratch, scratch.values.data());
    own += weights[s] * part;
  }
  if (combination_ == Combination::product) own = own.array().exp();
  if (bias_) to.row(m).setConstant(constant);
}

void Source::log_block(Index first, Index count, Scratch& scratch,
                       double* out) const {
  const Index m = regressors();
  if (plain_rbf()) {
    rbf_exponent(first, count, out);
    return;
  }
  block(first, count, scratch, out);
  constexpr double kLeast = -1e5;  // its exp is 0, and 0 times it a number
  for (Index k = 0; k < m * count; ++k) {
    if (!(out[k] >= 0.0)) {
      throw ArgumentError("a product needs kernels that are not negative");
    }
    out[k] = out[k] > 0.0 ? std::log(out[k]) : kLeast;
  }
}
}  // namespace bayeskernel
