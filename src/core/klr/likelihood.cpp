#include "klr/likelihood.hpp"

#include "klr/logistic_sum.hpp"
#include "rng/polya_gamma.hpp"
#include "simd/column_products.hpp"

namespace bayeskernel {
double KnownCoefficients::add(double coefficient) {
  copy_coefficients();
  trial_[basis_.size()] = coefficient;
  return against(basis_.values(), basis_.size() + 1);
}

void KnownCoefficients::accept_add() {
  parameter_[basis_.size()] = trial_[basis_.size()];
  basis_.append();
  log_likelihood_ = proposed_;
}

double KnownCoefficients::remove(Index j) {
  copy_coefficients();
  trial_[j] = 0.0;
  return against(basis_.values(), basis_.size());
}

void KnownCoefficients::accept_remove(Index j) {
  parameter_[j] = parameter_[basis_.size() - 1];
  basis_.remove(j);
  log_likelihood_ = proposed_;
}

double KnownCoefficients::replace(Index j, double coefficient) {
  copy_coefficients();
  trial_[basis_.size()] = coefficient;
  trial_[j] = 0.0;
  return against(basis_.values(), basis_.size() + 1);
}

void KnownCoefficients::accept_replace(Index j) {
  parameter_[j] = trial_[basis_.size()];
  basis_.replace(j);
  log_likelihood_ = proposed_;
}

double KnownCoefficients::set_parameter(Index j, double coefficient) {
  copy_coefficients();
  trial_[j] = coefficient;
  return against(basis_.values(), basis_.size());
}

void KnownCoefficients::accept_parameter(Index j) {
  parameter_[j] = trial_[j];
  log_likelihood_ = proposed_;
}

double KnownCoefficients::change_all() {
  copy_coefficients();
  return against(basis_.proposed_values(), basis_.size());
}

void KnownCoefficients::rebuild() {
  copy_coefficients();
  against(basis_.values(), basis_.size());
  log_likelihood_ = proposed_;
}

double KnownCoefficients::against(const double* columns, Index m) {
  proposed_ = logistic_sum(columns, basis_.stride(), m, trial_.data(), signs_,
                           basis_.data().rows(), nullptr);
  return proposed_ - log_likelihood_;
}

void IntegratedCoefficients::draw_omega(Stream& stream, const double* f) {
  for (Index i = 0; i < basis_.data().rows(); ++i) {
    set_omega(i, signs_[i] == 0.0 ? 0.0 : polya_gamma(stream, 1.0, f[i]));
  }
  rebuild();
}

void IntegratedCoefficients::set_omega(Index i, double omega) {
  root_[i] = std::sqrt(omega);
  response_[i] = omega > 0.0 ? 0.5 * signs_[i] / root_[i] : 0.0;
}

double IntegratedCoefficients::add(double variance) {
  if (!holds(variance)) return -std::numeric_limits<double>::infinity();
  const Index m = basis_.size();
  weigh(basis_.column(m), weighted(m));
  column_dots(weighted_.data(), basis_.stride(), m, weighted(m),
              new_dots_.data());
  own_ = padded_dot(weighted(m), weighted(m), basis_.stride());
  own_dot_ = padded_dot(weighted(m), response_.data(), basis_.stride());
  tried_variance_ = variance;
  addition_ = gaussian_.add(new_dots_.data(), own_, own_dot_, variance);
  return addition_.change;
}

void IntegratedCoefficients::accept_add() {
  gaussian_.commit_add(new_dots_.data(), own_, own_dot_, tried_variance_,
                       addition_);
  parameter_[basis_.size()] = tried_variance_;
  basis_.append();
  mend();
}

double IntegratedCoefficients::remove(Index j) {
  edit_ = gaussian_.remove(j);
  return edit_.change;
}

void IntegratedCoefficients::accept_remove(Index j) {
  gaussian_.commit_remove(edit_);
  const Index last = basis_.size() - 1;
  if (j != last) {
    std::copy_n(weighted(last), basis_.stride(), weighted(j));
    parameter_[j] = parameter_[last];
  }
  basis_.remove(j);
  mend();
}

double IntegratedCoefficients::replace(Index j, double variance) {
  if (!holds(variance)) return -std::numeric_limits<double>::infinity();
  const Index m = basis_.size(), stride = gaussian_.stride();
  tried_variance_ = variance;
  weigh(basis_.column(m), weighted(m), std::sqrt(variance / parameter_[j]));
  std::copy_n(gaussian_.gram(), m * stride, new_gram_.data());
  double* own = new_gram_.data() + j * stride;
  column_dots(weighted_.data(), basis_.stride(), m, weighted(m), own);
  own[j] = padded_dot(weighted(m), weighted(m), basis_.stride());
  for (Index i = 0; i < m; ++i) new_gram_[i * stride + j] = own[i];
  std::copy_n(gaussian_.dots(), m, new_dots_.data());
  new_dots_[j] = padded_dot(weighted(m), response_.data(), basis_.stride());
  return against_products();
}

void IntegratedCoefficients::accept_replace(Index j) {
  const bool other = tried_variance_ != parameter_[j];
  parameter_[j] = tried_variance_;
  std::copy_n(weighted(basis_.size()), basis_.stride(), weighted(j));
  basis_.replace(j);
  if (other) {
    rebuild();
  } else {
    take_products();
  }
}

double IntegratedCoefficients::set_parameter(Index j, double variance) {
  if (!holds(variance)) return -std::numeric_limits<double>::infinity();
  tried_variance_ = variance;
  edit_ = gaussian_.rescale(j, variance);
  return edit_.change;
}

void IntegratedCoefficients::accept_parameter(Index j) {
  gaussian_.commit_rescale(edit_, tried_variance_);
  parameter_[j] = tried_variance_;
  mend();
}

double IntegratedCoefficients::change_all() {
  const Index m = basis_.size();
  for (Index j = 0; j < m; ++j) {
    weigh(basis_.proposed_values() + j * basis_.stride(),
          new_weighted_.data() + j * basis_.stride());
  }
  form_products(new_weighted_.data(), new_gram_.data(), new_dots_.data());
  return against_products();
}

void IntegratedCoefficients::accept_all() {
  weighted_.swap(new_weighted_);
  take_products();
}

void IntegratedCoefficients::rebuild() {
  const Index m = basis_.size();
  for (Index j = 0; j < m; ++j) {
    weigh(basis_.column(j), weighted(j));
    gaussian_.set_variance(j, parameter_[j]);
  }
  // The response's own square is the same for all kernels.
  gaussian_.set_response(0, 0.0);
  gaussian_.set_precision(1.0);
  form_products(weighted_.data(), gaussian_.set_gram(m), gaussian_.set_dots());
  gaussian_.rebuild();
}

void IntegratedCoefficients::weigh(const double* from, double* to,
                                   double factor) const {
  using Array = Eigen::Map<const ArrayXd>;
  Eigen::Map<ArrayXd>(to, basis_.stride()) =
      factor * Array(from, basis_.stride()) *
      Array(root_.data(), basis_.stride());
}

void IntegratedCoefficients::form_products(const double* columns, double* gram,
                                           double* dots) {
  const Index m = basis_.size();
  column_gram(columns, basis_.stride(), m, gram, gaussian_.stride());
  column_dots(columns, basis_.stride(), m, response_.data(), dots);
}

double IntegratedCoefficients::against_products() {
  return gaussian_.log_marginal_at(new_gram_, new_dots_) -
         gaussian_.log_marginal();
}

void IntegratedCoefficients::take_products() {
  gaussian_.swap_gram(new_gram_);
  gaussian_.swap_dots(new_dots_);
  gaussian_.rebuild();
}
}  // namespace bayeskernel
