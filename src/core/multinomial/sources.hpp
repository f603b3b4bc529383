// Feature spaces and what combines them (Damoulas and Girolami 2009, section
// 2): matrices K_s, M regressors x N objects, as
//   sum      sum_s beta_s K_s, also with beta_s 0 or 1
//   product  prod_s K_s^beta_s = exp(sum_s beta_s L_s), elementwise
// A space is a kernel on points, a matrix that is given (a kernel's or a basis
// expansion), or the kernel that is 1 where all codes agree.
#pragma once

#include "eigen.hpp"
#include "error.hpp"
#include "kernel/columns.hpp"
#include "kernel/tree.hpp"

namespace bayeskernel {
// Points are columns. The memory behind the views outlives the source.
class Source {
 public:
  using View = MatrixMap;

  struct Scratch {
    KernelColumns::Scratch kernel;
    VectorXd values, inner;
  };

  static Source of_kernel(Kernel kernel, View x, View z);
  static Source of_codes(View x, View z) { return Source(x, z); }
  static Source given(View k);

  Index rows() const { return x_.cols(); }
  Index regressors() const { return given_ ? x_.rows() : z_.cols(); }

  // The parameters of the kernel, none where there is no kernel.
  Index parameters() const { return kernel_ ? kernel_->parameters() : 0; }
  VectorXd log_parameters() const {
    return kernel_ ? kernel_->log_parameters() : VectorXd();
  }
  void set_log_parameters(const VectorRef& values);
  // Which of them are length-scales.
  std::vector<Index> lengthscales() const;

  bool plain_rbf() const;

  // K for objects first .. first + count - 1, regressors() x count.
  void block(Index first, Index count, Scratch& scratch, double* out) const;

  // log K; that of an rbf is its exponent, which no small number spoils.
  void log_block(Index first, Index count, Scratch& scratch, double* out) const;

  // gradient += sum_ij G_ji dK_ji / d log parameter; `k` as made by block().
  void add_gradient(Index first, Index count, const double* g, const double* k,
                    Scratch& scratch, Eigen::Ref<VectorXd> gradient) const;

 private:
  Source(View x, View z);

  void prepare() {
    columns_ = std::make_shared<KernelColumns>(*kernel_, MatrixXd(z_));
  }

  static void find_lengthscales(const Kernel& kernel, Index& first,
                                std::vector<Index>& out);

  void rbf_exponent(Index first, Index count, double* out) const;

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
  Composite(std::vector<Source> sources, Combination combination, bool bias);

  Index rows() const { return sources_[0].rows(); }
  Index size() const { return count_of(sources_); }
  Index own_regressors() const { return sources_[0].regressors(); }
  Index regressors() const { return own_regressors() + (bias_ ? 1 : 0); }
  bool bias() const { return bias_; }
  Combination combination() const { return combination_; }
  Source& source(Index s) { return sources_[s]; }
  const Source& source(Index s) const { return sources_[s]; }

  // K_s of a sum, L_s of a product: what weights multiply.
  void base(Index s, Index first, Index count, Scratch& scratch,
            double* out) const;

  // Until released the matrices of all objects are kept, where these are at
  // most `most` numbers; nothing about the sources may change meanwhile.
  void hold(double most);
  void release() { held_.clear(); }
  struct Release {  // at the end of a scope, however it is left
    Composite& of;
    ~Release() { of.release(); }
  };

  // The columns of the design for some objects, regressors() x count; a bias
  // has the value `constant`.
  void block(const VectorXd& weights, Index first, Index count,
             Scratch& scratch, double* out, double constant = 1.0) const;

 private:
  std::vector<Source> sources_;
  std::vector<MatrixXd> held_;
  Combination combination_;
  bool bias_;
};
}  // namespace bayeskernel
