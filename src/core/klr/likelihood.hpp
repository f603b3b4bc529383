// How the log likelihood answers to the kernels, in the two schemes:
// `KnownCoefficients`, the logistic likelihood of coefficients that are part of
// the state, and `IntegratedCoefficients`, that of normal coefficients
// integrated out given Polya-Gamma variables. Each of `add`, `remove`,
// `replace`, `set_parameter`, `change_all` says by how much the log likelihood
// would change; what follows it makes the change, with nothing between them.
#pragma once

#include "eigen.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "klr/basis.hpp"
#include "rng/stream.hpp"
#include "simd/aligned_buffer.hpp"

namespace bayeskernel {
// Of every column its parameter: the coefficient, or the prior variance of it.
class KernelLikelihood {
 public:
  explicit KernelLikelihood(ProjectedBasis& basis, Index capacity)
      : basis_(basis), parameter_(static_cast<std::size_t>(capacity + 2)) {}
  virtual ~KernelLikelihood() = default;
  KernelLikelihood(const KernelLikelihood&) = delete;
  KernelLikelihood& operator=(const KernelLikelihood&) = delete;

  double parameter(Index j) const { return parameter_[j]; }

  // The tried column of the basis as a further one.
  virtual double add(double parameter) = 0;
  virtual void accept_add() = 0;
  virtual double remove(Index j) = 0;
  virtual void accept_remove(Index j) = 0;
  // The tried column in place of column j, with its parameter or another one.
  virtual double replace(Index j, double parameter) = 0;
  double replace(Index j) { return replace(j, parameter_[j]); }
  virtual void accept_replace(Index j) = 0;
  virtual double set_parameter(Index j, double parameter) = 0;
  virtual void accept_parameter(Index j) = 0;
  // The basis' proposed columns in place of all.
  virtual double change_all() = 0;
  // After the basis took them.
  virtual void accept_all() = 0;
  // Everything afresh, of the basis as it is.
  virtual void rebuild() = 0;

  void restore_parameter(Index j, double parameter) {
    parameter_[j] = parameter;
  }

 protected:
  ProjectedBasis& basis_;
  std::vector<double> parameter_;
};

class KnownCoefficients final : public KernelLikelihood {
 public:
  // `signs`: +1 and -1 by class, padded, which the caller may change; 0 leaves
  // a row out.
  KnownCoefficients(ProjectedBasis& basis, Index capacity, const double* signs)
      : KernelLikelihood(basis, capacity), signs_(signs), trial_(parameter_) {}

  double log_likelihood() const { return log_likelihood_; }

  double add(double coefficient) override;
  void accept_add() override;
  double remove(Index j) override;
  void accept_remove(Index j) override;
  using KernelLikelihood::replace;
  double replace(Index j, double coefficient) override;
  void accept_replace(Index j) override;
  double set_parameter(Index j, double coefficient) override;
  void accept_parameter(Index j) override;
  double change_all() override;
  void accept_all() override { log_likelihood_ = proposed_; }
  void rebuild() override;

 private:
  void copy_coefficients() {
    std::copy_n(parameter_.begin(), basis_.size(), trial_.begin());
  }
  double against(const double* columns, Index m);

  const double* signs_;
  std::vector<double> trial_;
  double log_likelihood_ = 0.0, proposed_ = 0.0;
};

// Given omega the density of y is that of z = kappa / omega, normal around f
// with variances 1 / omega: regression of sqrt(omega) z on sqrt(omega) K.
// Parameters are prior variances.
class IntegratedCoefficients final : public KernelLikelihood {
 public:
  IntegratedCoefficients(ProjectedBasis& basis, Index capacity,
                         const double* signs)
      : KernelLikelihood(basis, capacity),
        signs_(signs),
        root_(basis.stride()),
        response_(basis.stride()),
        weighted_(basis.stride() * (capacity + 2)),
        new_weighted_(weighted_),
        scratch_(capacity + 2),
        gaussian_(capacity + 2, scratch_),
        new_gram_(gaussian_.stride() * gaussian_.stride()),
        new_dots_(gaussian_.stride()) {}

  // Prior variances that leave digits to the pivots, where omega <= 1 / 4.
  bool holds(double variance) const {
    return variance * static_cast<double>(basis_.data().rows()) <= 4e12;
  }
  // With the integrals' terms that do not depend on kernels left out.
  double log_integrated() const { return gaussian_.log_marginal(); }

  // omega | f, f of the n rows.
  void draw_omega(Stream& stream, const double* f);
  // A row without a sign has no weight.
  void set_omega(Index i, double omega);
  // beta | omega.
  void draw_coefficients(Stream& stream, double* beta) {
    gaussian_.draw([&] { return stream.normal(); }, beta);
  }

  double add(double variance) override;
  void accept_add() override;
  double remove(Index j) override;
  void accept_remove(Index j) override;
  using KernelLikelihood::replace;
  // A variance that grows is a column that grows.
  double replace(Index j, double variance) override;
  void accept_replace(Index j) override;
  double set_parameter(Index j, double variance) override;
  void accept_parameter(Index j) override;
  double change_all() override;
  void accept_all() override;
  void rebuild() override;

 private:
  double* weighted(Index j) { return weighted_.data() + j * basis_.stride(); }
  void weigh(const double* from, double* to, double factor = 1.0) const;
  void form_products(const double* columns, double* gram, double* dots);
  double against_products();
  void take_products();
  void mend() {
    if (gaussian_.stale()) gaussian_.rebuild();
  }

  const double* signs_;
  AlignedBuffer root_, response_;  // sqrt(omega), kappa / sqrt(omega)
  AlignedBuffer weighted_, new_weighted_;
  CollapsedScratch scratch_;
  CollapsedGaussian gaussian_;
  AlignedBuffer new_gram_, new_dots_;
  ColumnAddition addition_;
  ColumnEdit edit_;
  double own_ = 0.0, own_dot_ = 0.0, tried_variance_ = 0.0;
};
}  // namespace bayeskernel
