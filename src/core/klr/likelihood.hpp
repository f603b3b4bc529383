// How the log likelihood answers to the kernels, in the two schemes:
// `KnownCoefficients`, the logistic likelihood of coefficients that are part of
// the state, and `IntegratedCoefficients`, that of normal coefficients
// integrated out given Polya-Gamma variables. Each of `add`, `remove`,
// `replace`, `set_mark`, `change_all` says by how much the log likelihood would
// change; what follows it makes the change, with nothing between them.
#ifndef BAYESKERNEL_KLR_LIKELIHOOD_HPP
#define BAYESKERNEL_KLR_LIKELIHOOD_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "expansion/collapsed_gaussian.hpp"
#include "rng/polya_gamma.hpp"
#include "klr/basis.hpp"
#include "klr/logistic_sum.hpp"

namespace bayeskernel {

// Of every column its mark: the coefficient, or the prior variance of it.
class KernelLikelihood {
 public:
  using Index = Eigen::Index;

  explicit KernelLikelihood(ProjectedBasis& basis, Index capacity)
      : basis_(basis), mark_(static_cast<std::size_t>(capacity + 2)) {}
  virtual ~KernelLikelihood() = default;
  KernelLikelihood(const KernelLikelihood&) = delete;
  KernelLikelihood& operator=(const KernelLikelihood&) = delete;

  double mark(Index j) const { return mark_[j]; }

  // The tried column of the basis as a further one.
  virtual double add(double mark) = 0;
  virtual void accept_add() = 0;
  virtual double remove(Index j) = 0;
  virtual void accept_remove(Index j) = 0;
  // The tried column in place of column j, with its mark or another one.
  virtual double replace(Index j, double mark) = 0;
  double replace(Index j) { return replace(j, mark_[j]); }
  virtual void accept_replace(Index j) = 0;
  virtual double set_mark(Index j, double mark) = 0;
  virtual void accept_mark(Index j) = 0;
  // The basis' proposed columns in place of all.
  virtual double change_all() = 0;
  // After the basis took them.
  virtual void accept_all() = 0;
  // Everything afresh, of the basis as it is.
  virtual void rebuild() = 0;

  void restore_mark(Index j, double mark) { mark_[j] = mark; }

 protected:
  ProjectedBasis& basis_;
  std::vector<double> mark_;
};

class KnownCoefficients final : public KernelLikelihood {
 public:
  // `signs`: +1 and -1 by class, padded, which the caller may change; 0 leaves
  // a row out.
  KnownCoefficients(ProjectedBasis& basis, Index capacity, const double* signs)
      : KernelLikelihood(basis, capacity), signs_(signs), trial_(mark_) {}

  double log_likelihood() const { return log_likelihood_; }

  double add(double mark) override {
    copy_marks();
    trial_[basis_.size()] = mark;
    return against(basis_.values(), basis_.size() + 1);
  }
  void accept_add() override {
    mark_[basis_.size()] = trial_[basis_.size()];
    basis_.append();
    log_likelihood_ = proposed_;
  }
  double remove(Index j) override {
    copy_marks();
    trial_[j] = 0.0;
    return against(basis_.values(), basis_.size());
  }
  void accept_remove(Index j) override {
    mark_[j] = mark_[basis_.size() - 1];
    basis_.remove(j);
    log_likelihood_ = proposed_;
  }
  using KernelLikelihood::replace;
  double replace(Index j, double mark) override {
    copy_marks();
    trial_[basis_.size()] = mark;
    trial_[j] = 0.0;
    return against(basis_.values(), basis_.size() + 1);
  }
  void accept_replace(Index j) override {
    mark_[j] = trial_[basis_.size()];
    basis_.replace(j);
    log_likelihood_ = proposed_;
  }
  double set_mark(Index j, double mark) override {
    copy_marks();
    trial_[j] = mark;
    return against(basis_.values(), basis_.size());
  }
  void accept_mark(Index j) override {
    mark_[j] = trial_[j];
    log_likelihood_ = proposed_;
  }
  double change_all() override {
    copy_marks();
    return against(basis_.proposed_values(), basis_.size());
  }
  void accept_all() override { log_likelihood_ = proposed_; }
  void rebuild() override {
    copy_marks();
    against(basis_.values(), basis_.size());
    log_likelihood_ = proposed_;
  }

 private:
  void copy_marks() {
    std::copy_n(mark_.begin(), basis_.size(), trial_.begin());
  }
  double against(const double* columns, Index m) {
    proposed_ = logistic_sum(columns, basis_.stride(), m, trial_.data(), signs_,
                             basis_.data().rows(), nullptr);
    return proposed_ - log_likelihood_;
  }

  const double* signs_;
  std::vector<double> trial_;
  double log_likelihood_ = 0.0, proposed_ = 0.0;
};

// Given omega the density of y is that of z = kappa / omega, normal around f
// with variances 1 / omega: regression of sqrt(omega) z on sqrt(omega) K. Marks
// are prior variances.
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
  void draw_omega(Stream& stream, const double* f) {
    for (Index i = 0; i < basis_.data().rows(); ++i) {
      set_omega(i, signs_[i] == 0.0 ? 0.0 : polya_gamma(stream, 1.0, f[i]));
    }
    rebuild();
  }
  // A row without a sign has no weight.
  void set_omega(Index i, double omega) {
    root_[i] = std::sqrt(omega);
    response_[i] = omega > 0.0 ? 0.5 * signs_[i] / root_[i] : 0.0;
  }
  // beta | omega.
  void draw_coefficients(Stream& stream, double* beta) {
    gaussian_.draw([&] { return stream.normal(); }, beta);
  }

  double add(double mark) override {
    if (!holds(mark)) return -std::numeric_limits<double>::infinity();
    const Index m = basis_.size();
    weigh(basis_.column(m), weighted(m));
    column_dots(weighted_.data(), basis_.stride(), m, weighted(m),
                new_dots_.data());
    own_ = padded_dot(weighted(m), weighted(m), basis_.stride());
    own_dot_ = padded_dot(weighted(m), response_.data(), basis_.stride());
    tried_mark_ = mark;
    addition_ = gaussian_.add(new_dots_.data(), own_, own_dot_, mark);
    return addition_.change;
  }
  void accept_add() override {
    gaussian_.commit_add(new_dots_.data(), own_, own_dot_, tried_mark_,
                         addition_);
    mark_[basis_.size()] = tried_mark_;
    basis_.append();
    mend();
  }
  double remove(Index j) override {
    edit_ = gaussian_.remove(j);
    return edit_.change;
  }
  void accept_remove(Index j) override {
    gaussian_.commit_remove(edit_);
    const Index last = basis_.size() - 1;
    if (j != last) {
      std::copy_n(weighted(last), basis_.stride(), weighted(j));
      mark_[j] = mark_[last];
    }
    basis_.remove(j);
    mend();
  }
  using KernelLikelihood::replace;
  // A variance that grows is a column that grows.
  double replace(Index j, double mark) override {
    if (!holds(mark)) return -std::numeric_limits<double>::infinity();
    const Index m = basis_.size(), stride = gaussian_.stride();
    tried_mark_ = mark;
    weigh(basis_.column(m), weighted(m), std::sqrt(mark / mark_[j]));
    std::copy_n(gaussian_.gram(), m * stride, new_gram_.data());
    double* own = new_gram_.data() + j * stride;
    column_dots(weighted_.data(), basis_.stride(), m, weighted(m), own);
    own[j] = padded_dot(weighted(m), weighted(m), basis_.stride());
    for (Index i = 0; i < m; ++i) new_gram_[i * stride + j] = own[i];
    std::copy_n(gaussian_.dots(), m, new_dots_.data());
    new_dots_[j] = padded_dot(weighted(m), response_.data(), basis_.stride());
    return against_products();
  }
  void accept_replace(Index j) override {
    const bool other = tried_mark_ != mark_[j];
    mark_[j] = tried_mark_;
    std::copy_n(weighted(basis_.size()), basis_.stride(), weighted(j));
    basis_.replace(j);
    if (other) {
      rebuild();
    } else {
      take_products();
    }
  }
  double set_mark(Index j, double mark) override {
    if (!holds(mark)) return -std::numeric_limits<double>::infinity();
    tried_mark_ = mark;
    edit_ = gaussian_.rescale(j, mark);
    return edit_.change;
  }
  void accept_mark(Index j) override {
    gaussian_.commit_rescale(edit_, tried_mark_);
    mark_[j] = tried_mark_;
    mend();
  }
  double change_all() override {
    const Index m = basis_.size();
    for (Index j = 0; j < m; ++j) {
      weigh(basis_.proposed_values() + j * basis_.stride(),
            new_weighted_.data() + j * basis_.stride());
    }
    form_products(new_weighted_.data(), new_gram_.data(), new_dots_.data());
    return against_products();
  }
  void accept_all() override {
    weighted_.swap(new_weighted_);
    take_products();
  }
  void rebuild() override {
    const Index m = basis_.size();
    for (Index j = 0; j < m; ++j) {
      weigh(basis_.column(j), weighted(j));
      gaussian_.set_variance(j, mark_[j]);
    }
    // The response's own square is the same for all kernels.
    gaussian_.set_response(0, 0.0);
    gaussian_.set_precision(1.0);
    form_products(weighted_.data(), gaussian_.set_gram(m),
                  gaussian_.set_dots());
    gaussian_.rebuild();
  }

 private:
  double* weighted(Index j) { return weighted_.data() + j * basis_.stride(); }
  void weigh(const double* from, double* to, double factor = 1.0) const {
    using Array = Eigen::Map<const Eigen::ArrayXd>;
    Eigen::Map<Eigen::ArrayXd>(to, basis_.stride()) =
        factor * Array(from, basis_.stride()) *
        Array(root_.data(), basis_.stride());
  }
  void form_products(const double* columns, double* gram, double* dots) {
    const Index m = basis_.size();
    column_gram(columns, basis_.stride(), m, gram, gaussian_.stride());
    column_dots(columns, basis_.stride(), m, response_.data(), dots);
  }
  double against_products() {
    return gaussian_.log_marginal_at(new_gram_, new_dots_) -
           gaussian_.log_marginal();
  }
  void take_products() {
    gaussian_.swap_gram(new_gram_);
    gaussian_.swap_dots(new_dots_);
    gaussian_.rebuild();
  }
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
  double own_ = 0.0, own_dot_ = 0.0, tried_mark_ = 0.0;
};

}  // namespace bayeskernel

#endif
