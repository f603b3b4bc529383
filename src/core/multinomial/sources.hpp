// Feature spaces and what combines them (Damoulas and Girolami 2009, section
// 2): matrices K_s, M regressors x N objects, as
//   sum      sum_s beta_s K_s, also with beta_s 0 or 1
//   product  prod_s K_s^beta_s = exp(sum_s beta_s L_s), elementwise
// A space is a kernel on points, a matrix that is given (a kernel's or a basis
// expansion), or the kernel that is 1 where all codes agree.
#ifndef BAYESKERNEL_MULTINOMIAL_SOURCES_HPP
#define BAYESKERNEL_MULTINOMIAL_SOURCES_HPP

#include <Eigen/Core>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/kernel.hpp"

namespace bayeskernel {

// Points are columns. The memory behind the views outlives the source.
class Source {
 public:
  using View = Eigen::Map<const MatrixXd>;

  struct Scratch {
    KernelColumns::Scratch kernel;
    VectorXd values, inner;
  };

  static Source of_kernel(Kernel kernel, View x, View z) {
    Source out(x, z);
    out.kernel_ = std::move(kernel);
    out.prepare();
    return out;
  }
  static Source of_codes(View x, View z) { return Source(x, z); }
  static Source given(View k) {
    Source out(k, k);
    out.given_ = true;
    return out;
  }

  Index rows() const { return x_.cols(); }
  Index regressors() const { return given_ ? x_.rows() : z_.cols(); }

  // The parameters of the kernel, none where there is no kernel.
  Index parameters() const { return kernel_ ? kernel_->parameters() : 0; }
  VectorXd log_parameters() const {
    return kernel_ ? kernel_->log_parameters() : VectorXd();
  }
  void set_log_parameters(const Eigen::Ref<const VectorXd>& values) {
    kernel_->set_log_parameters(values);
    prepare();
  }
  // Which of them are length-scales.
  std::vector<Index> lengthscales() const {
    std::vector<Index> out;
    if (kernel_) {
      Index first = 0;
      find_lengthscales(*kernel_, first, out);
    }
    return out;
  }

  bool plain_rbf() const {
    return kernel_ && kernel_->kind() == Kernel::Kind::rbf &&
           kernel_->columns().empty();
  }

  // K for objects first .. first + count - 1, regressors() x count.
  void block(Index first, Index count, Scratch& scratch, double* out) const {
    const Index m = regressors();
    if (given_) {
      std::copy_n(x_.data() + first * m, count * m, out);
    } else if (kernel_) {
      columns_->block(x_.data() + first * x_.rows(), count, scratch.kernel,
                      out);
    } else {
      for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j < m; ++j) {
          out[i * m + j] = x_.col(first + i) == z_.col(j);
        }
      }
    }
  }

  // log K; that of an rbf is its exponent, which no small number spoils.
  void log_block(Index first, Index count, Scratch& scratch,
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

  // gradient += sum_ij G_ji dK_ji / d log parameter; `k` as made by block().
  void add_gradient(Index first, Index count, const double* g, const double* k,
                    Scratch& scratch, Eigen::Ref<VectorXd> gradient) const {
    if (!kernel_) return;
    columns_->add_gradient(x_.data() + first * x_.rows(), count, g, k,
                           scratch.kernel, gradient);
  }

 private:
  Source(View x, View z) : x_(x), z_(z) {
    if (x.rows() != z.rows()) {
      throw ArgumentError("the points of a space have other columns");
    }
  }

  void prepare() {
    columns_ = std::make_shared<KernelColumns>(*kernel_, MatrixXd(z_));
  }

  static void find_lengthscales(const Kernel& kernel, Index& first,
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

  void rbf_exponent(Index first, Index count, double* out) const {
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

  View x_, z_;
  bool given_ = false;
  std::optional<Kernel> kernel_;
  std::shared_ptr<const KernelColumns> columns_;  // never changed once made
};

enum class Combination { sum, product };

class Composite {
 public:
  using Scratch = Source::Scratch;

  // `bias`: the last regressor is 1 for every object.
  Composite(std::vector<Source> sources, Combination combination, bool bias)
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

  Index rows() const { return sources_[0].rows(); }
  Index size() const { return static_cast<Index>(sources_.size()); }
  Index own_regressors() const { return sources_[0].regressors(); }
  Index regressors() const { return own_regressors() + (bias_ ? 1 : 0); }
  bool bias() const { return bias_; }
  Combination combination() const { return combination_; }
  Source& source(Index s) { return sources_[s]; }
  const Source& source(Index s) const { return sources_[s]; }

  // K_s of a sum, L_s of a product: what weights multiply.
  void base(Index s, Index first, Index count, Scratch& scratch,
            double* out) const {
    if (combination_ == Combination::sum) {
      sources_[s].block(first, count, scratch, out);
    } else {
      sources_[s].log_block(first, count, scratch, out);
    }
  }

  // The columns of the design for some objects, regressors() x count; a bias
  // has the value `constant`.
  void block(const VectorXd& weights, Index first, Index count,
             Scratch& scratch, double* out, double constant = 1.0) const {
    const Index m = own_regressors();
    scratch.values.resize(m * count);
    Eigen::Map<MatrixXd> to(out, regressors(), count);
    auto own = to.topRows(m);
    const Eigen::Map<const MatrixXd> part(scratch.values.data(), m, count);
    own.setZero();
    for (Index s = 0; s < size(); ++s) {
      if (weights[s] == 0.0) continue;
      base(s, first, count, scratch, scratch.values.data());
      own += weights[s] * part;
    }
    if (combination_ == Combination::product) own = own.array().exp();
    if (bias_) to.row(m).setConstant(constant);
  }

 private:
  std::vector<Source> sources_;
  Combination combination_;
  bool bias_;
};

}  // namespace bayeskernel

#endif
