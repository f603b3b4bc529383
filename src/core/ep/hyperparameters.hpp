// Variances of prior blocks and of the noise as free coordinates x: log
// sigma^2, log of the noise variance, and for an unstructured Psi = L L' of
// width r > 1 the columns of L below the diagonal, its diagonal in logarithms.
// With half t standard deviations these may be 0, where the columns of L have
// no scale: then log standard deviations, and below the diagonal L_kc / L_kk.
#pragma once

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "likelihood/family.hpp"
#include "prior/blocks.hpp"
#include "prior/variance_prior.hpp"

namespace bayeskernel {
class Hyperparameters {
 public:
  // Families without a noise hold it.
  Hyperparameters(const Prior& prior, const NoisePrior& noise);

  Index size() const { return count_of(owner_); }
  // The block of each coordinate; -1: the noise.
  const std::vector<int>& owner() const { return owner_; }
  const NoisePrior& noise() const { return noise_; }

  VectorXd pack(const std::vector<MatrixXd>& precision,
                double noise_variance) const;

  // Leaves what is held alone.
  void unpack(const VectorXd& x, std::vector<MatrixXd>& precision,
              double& noise_variance) const;

  // A first guess of the inverse Hessian of -(log Z + log prior): variances
  // whose members, for the noise `rows` residuals, were seen themselves.
  MatrixXd inverse_curvature(const VectorXd& x, double rows) const;

  // Log density of x, normalised.
  double log_prior(const VectorXd& x) const;

  // d (log Z + log prior) / dx at the fit, whose sites are stationary.
  VectorXd gradient(const EpFit& fit, const VectorXd& x) const;

 private:
  // Of the noise, an iid block, or one of width 1.
  VariancePrior variance(int l) const;

  template <class F>
  void visit(F&& body) const {
    for (Index at = 0; at < size(); ++at) {
      if (at == 0 || owner_[at] != owner_[at - 1]) body(owner_[at], at);
    }
  }

  bool by_rows(int l) const { return prior_.blocks[l].half_t.df > 0.0; }
  // The density of x is that of Psi times 2^r prod_c L_cc to this power.
  double measure(int l, Index c) const;

  MatrixXd factor(const VectorXd& x, Index at, int l) const;

  const Prior& prior_;
  NoisePrior noise_;
  std::vector<int> owner_;
};
}  // namespace bayeskernel
