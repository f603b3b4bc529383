#include "bark/state.hpp"

#include "error.hpp"
#include "simd/column_products.hpp"

namespace bayeskernel {
BarkState::BarkState(const BarkData& data, const BarkPrior& prior,
                     const ScaleSetting& setting,
                     const InclusionPrior& inclusion)
    : data(data),
      prior(prior),
      setting(setting),
      inclusion(inclusion),
      population(data.locations(), capacity(data, prior), prior.collapsed(),
                 prior.kill_power),
      basis(data, capacity(data, prior)),
      scratch(capacity(data, prior)),
      gaussian(capacity(data, prior), scratch),
      lambda(VectorXd::Zero(data.scales())),
      delta(static_cast<std::size_t>(data.scales()), 1),
      block_variance(static_cast<std::size_t>(data.blocks()), kFirstVariance),
      log_kernels(std::log(prior.expected_kernels())),
      response_(data.stride()),
      residual_(data.stride()),
      new_gram_(gaussian.stride() * gaussian.stride()),
      new_dots_(gaussian.stride()) {
  // Each vector has a sum of scales of its own, `prior` that of all.
  this->prior.lambda_shape *= static_cast<double>(data.vectors());
  if (data.vectors() > 1 && (setting.select || !setting.different)) {
    throw ArgumentError("several vectors of scales are different, and whole");
  }
}

double BarkState::total_scale() const { return lambda.sum(); }

double BarkState::log_reach(const VectorXd& at) const {
  if (prior.reach == 0.0) return 0.0;
  const Index p = data.variables();
  double sum = 0.0;
  for (Index k = 0; k < data.vectors(); ++k) {
    sum += (1.0 + 4.0 * at.segment(k * p, p).array()).prod();
  }
  const double share = prior.reach / static_cast<double>(data.centres());
  return -share * share * sum;
}

double BarkState::largest_variance(Index from) const {
  double largest = 0.0;
  for (Index i = from; i < basis.size(); ++i) {
    largest = std::max(largest, gaussian.variance(i));
  }
  return largest;
}

bool BarkState::can_scale(double factor, double square) const {
  double smallest = factor;
  for (Index j = 0; j < population.units(); ++j) {
    smallest = std::min(smallest, population.varphi(j));
  }
  return square * factor > 1e-100 && square * factor < 1e100 &&
         smallest > Population::kSmallest * factor;
}

void BarkState::scale_coefficients(double factor) {
  if (factor == 1.0) return;
  prior.set_epsilon(prior.epsilon * std::sqrt(factor));
  for (Index j = 0; j < population.units(); ++j) {
    population.set_varphi(j, population.varphi(j) / factor);
  }
}

void BarkState::response_changed() {
  measure_response(new_dots_.data());
  gaussian.replace_response(new_dots_.data(), square_);
  residual_fresh_ = false;
}

const double* BarkState::residual() {
  if (!residual_fresh_) {
    std::copy_n(response_.data(), data.stride(), residual_.data());
    subtract_columns(basis.values(), data.stride(), basis.size(),
                     gaussian.mean(), residual_.data());
    residual_fresh_ = true;
  }
  return residual_.data();
}

void BarkState::rebuild_all() {
  basis.clear();
  for (Index i = 0; i < population.columns(); ++i) {
    basis.try_location(population.location(i), lambda);
    basis.append();
  }
  rebuild_products();
}

void BarkState::refill() {
  scale_changes_ = 0;
  basis.refill(lambda);
  rebuild_products();
}

void BarkState::rebuild_products() {
  column_gram(basis.values(), data.stride(), basis.size(),
              gaussian.set_gram(basis.size()), gaussian.stride());
  measure_response(gaussian.set_dots());
  gaussian.set_response(data.rows(), square_);
  set_variances();
  rebuild();
}

void BarkState::set_variances() {
  Index column = 0;
  for (Index b = 0; b < data.blocks(); ++b) {
    for (Index j = 0; j < data.block_size(b); ++j) {
      gaussian.set_variance(column++, block_variance[b]);
    }
  }
  for (Index i = 0; i < population.columns(); ++i) {
    gaussian.set_variance(place(i), population.variance(i));
  }
}

void BarkState::rebuild() {
  due_ = false;
  gaussian.rebuild();
  residual_fresh_ = false;
}

void BarkState::rebuild_evaluated() {
  if (!postponing_) return rebuild();
  gaussian.take_evaluated();
  due_ = true;
}

void BarkState::catch_up() {
  postponing_ = false;
  if (due_) rebuild();
}

double BarkState::propose_scales(const ScaleChange& change) {
  basis.propose(change);
  propose_products();
  return gaussian.log_marginal_at(new_gram_, new_dots_);
}

double BarkState::propose_scales(const ScaleChange& change, double phi,
                                 double factor) {
  basis.propose(change);
  return propose_jointly(phi, factor);
}

double BarkState::propose_scales(const VectorXd& all, double phi,
                                 double factor) {
  basis.propose_all(all);
  return propose_jointly(phi, factor);
}

double BarkState::propose_jointly(double phi, double factor) {
  propose_products();
  return gaussian.log_marginal_at(new_gram_, new_dots_, phi, factor,
                                  basis.first());
}

void BarkState::accept_scales() {
  basis.accept();
  gaussian.swap_gram(new_gram_);
  gaussian.swap_dots(new_dots_);
  if (++scale_changes_ >= kMostScaleChanges) {
    // Sums that were changed in place have gathered rounding errors.
    refill();
  } else {
    rebuild_evaluated();
  }
}

void BarkState::propose_products() {
  const Index m = basis.size();
  column_gram(basis.proposed_values(), data.stride(), m, new_gram_.data(),
              gaussian.stride());
  column_dots(basis.proposed_values(), data.stride(), m, response_.data(),
              new_dots_.data());
}

void BarkState::measure_response(double* dots) {
  column_dots(basis.values(), data.stride(), basis.size(), response_.data(),
              dots);
  square_ = VectorMap(response_.data(), data.stride()).squaredNorm();
}
}  // namespace bayeskernel
