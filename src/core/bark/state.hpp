// The state of one chain of bark(): the kernels, their scales, the variances of
// blocks of columns beside them, the precision of the noise, and what the
// collapsed likelihood keeps about them.
#ifndef BAYESKERNEL_BARK_STATE_HPP
#define BAYESKERNEL_BARK_STATE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "expansion/collapsed_gaussian.hpp"
#include "rng/distributions.hpp"
#include "bark/basis.hpp"
#include "bark/inclusion_prior.hpp"
#include "bark/population.hpp"
#include "bark/prior.hpp"

namespace bayeskernel {

// Which scales there are.
struct ScaleSetting {
  bool different = true;  // a scale for each variable, or one for all
  bool select = false;    // variables may be left out
};

class BarkState {
 public:
  using Index = Eigen::Index;
  using VectorXd = Eigen::VectorXd;

  BarkState(const BarkData& data, const BarkPrior& prior,
            const ScaleSetting& setting, const InclusionPrior& inclusion)
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

  BarkState(const BarkState&) = delete;
  BarkState& operator=(const BarkState&) = delete;

  // At most one column for each location, and for each kernel, and those of the
  // blocks.
  static Index capacity(const BarkData& data, const BarkPrior& prior) {
    return std::min(data.locations(), prior.max_kernels) + 1 + data.fixed();
  }
  // Where the variances of blocks begin.
  static constexpr double kFirstVariance = 0.25;

  const BarkData& data;
  BarkPrior prior;  // epsilon is that of the state where it is learned
  const ScaleSetting setting;
  InclusionPrior inclusion;
  Population population;
  Basis basis;
  CollapsedScratch scratch;
  CollapsedGaussian gaussian;
  // By scale: 0, or not in, for a variable that is left out.
  VectorXd lambda;
  IndicatorVector delta;
  std::vector<double> block_variance;  // tau^2 of each
  const double log_kernels;            // log nu

  Index scales() const { return data.scales(); }
  Index active() const {
    return std::count(delta.begin(), delta.end(), char{1});
  }
  double total_scale() const { return lambda.sum(); }
  // The log of the prior's factor exp(-(reach / (n kappa))^2) of each vector of
  // scales: kappa = prod (1 + 4 lambda_l)^(-1/2) is the mean of K(x, c) over
  // independent standard normal x and c, so n kappa the rows that a kernel
  // reaches.
  double log_reach(const VectorXd& at) const {
    if (prior.reach == 0.0) return 0.0;
    const Index p = data.variables();
    double sum = 0.0;
    for (Index k = 0; k < data.vectors(); ++k) {
      sum += (1.0 + 4.0 * at.segment(k * p, p).array()).prod();
    }
    const double share = prior.reach / static_cast<double>(data.centres());
    return -share * share * sum;
  }
  double phi() const { return gaussian.precision(); }
  // The column of the likelihood that is column i of the population's.
  Index place(Index i) const { return basis.first() + i; }

  // ---- What doubles can hold

  // Whether phi v n, n the sum of the weights, a bound of the entries of
  // A = I + phi D^1/2 G D^1/2, leaves digits to the pivots of A, which are 1 at
  // least. States beyond are never entered: a response without noise would
  // lead there.
  bool holds(double v, double phi) const {
    return phi * v * data.total_weight() <= kLargestEntry;
  }
  bool holds(double v) const { return holds(v, phi()); }
  double largest_variance(Index from = 0) const {
    double largest = 0.0;
    for (Index i = from; i < basis.size(); ++i) {
      largest = std::max(largest, gaussian.variance(i));
    }
    return largest;
  }

  // epsilon^2 times `factor`, with the precisions of all coefficients divided
  // by it: whether doubles hold them, and the change, after which come
  // set_variances() and rebuild().
  bool can_scale(double factor, double square) const {
    double smallest = factor;
    for (Index j = 0; j < population.units(); ++j) {
      smallest = std::min(smallest, population.varphi(j));
    }
    return square * factor > 1e-100 && square * factor < 1e100 &&
           smallest > Population::kSmallest * factor;
  }
  void scale_coefficients(double factor) {
    if (factor == 1.0) return;
    prior.set_epsilon(prior.epsilon * std::sqrt(factor));
    for (Index j = 0; j < population.units(); ++j) {
      population.set_varphi(j, population.varphi(j) / factor);
    }
  }

  // ---- The response

  // With weights its rows are those of the data times their roots.
  double* response() { return response_.data(); }
  const double* response() const { return response_.data(); }

  double response_square() const { return square_; }

  // After response() changed: K'y, mu.
  void response_changed() {
    measure_response(new_dots_.data());
    gaussian.replace_response(new_dots_.data(), square_);
    residual_fresh_ = false;
  }

  // y - K mu.
  const double* residual() {
    if (!residual_fresh_) {
      std::copy_n(response_.data(), data.stride(), residual_.data());
      subtract_columns(basis.values(), data.stride(), basis.size(),
                       gaussian.mean(), residual_.data());
      residual_fresh_ = true;
    }
    return residual_.data();
  }
  void coefficients_changed() { residual_fresh_ = false; }

  // ---- From scratch

  // All that follows from population, lambda, phi and the response.
  void rebuild_all() {
    basis.clear();
    for (Index i = 0; i < population.columns(); ++i) {
      basis.try_location(population.location(i), lambda);
      basis.append();
    }
    rebuild_products();
  }

  // After the scales or the response changed. Nothing of what was before stays
  // in the rounding errors.
  void refill() {
    scale_changes_ = 0;
    basis.refill(lambda);
    rebuild_products();
  }

  void rebuild_products() {
    column_gram(basis.values(), data.stride(), basis.size(),
                gaussian.set_gram(basis.size()), gaussian.stride());
    measure_response(gaussian.set_dots());
    gaussian.set_response(data.rows(), square_);
    set_variances();
    rebuild();
  }

  // After the prior variances changed; rebuild() must follow.
  void set_variances() {
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

  void rebuild() {
    due_ = false;
    gaussian.rebuild();
    residual_fresh_ = false;
  }

  // Moves that need neither Sigma nor mu may follow one another from
  // postpone_rebuilds() on: then log_marginal() is what they evaluated last,
  // and catch_up() makes the rest.
  void postpone_rebuilds() { postponing_ = true; }
  void rebuild_evaluated() {
    if (!postponing_) return rebuild();
    gaussian.take_evaluated();
    due_ = true;
  }
  void catch_up() {
    postponing_ = false;
    if (due_) rebuild();
  }

  // ---- Scales

  // The log marginal likelihood after a change of the scales, which
  // accept_scales() makes.
  double propose_scales(const ScaleChange& change) {
    basis.propose(change);
    propose_products();
    return gaussian.log_marginal_at(new_gram_, new_dots_);
  }
  // And of phi and all prior variances of kernels.
  double propose_scales(const ScaleChange& change, double phi, double factor) {
    basis.propose(change);
    return propose_jointly(phi, factor);
  }
  // Where all scales are new.
  double propose_scales(const VectorXd& all, double phi, double factor) {
    basis.propose_all(all);
    return propose_jointly(phi, factor);
  }

 private:
  double propose_jointly(double phi, double factor) {
    propose_products();
    return gaussian.log_marginal_at(new_gram_, new_dots_, phi, factor,
                                    basis.first());
  }

 public:
  void accept_scales() {
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

 private:
  static constexpr int kMostScaleChanges = 1000;
  static constexpr double kLargestEntry = 1e14;

  // Of the proposed columns.
  void propose_products() {
    const Index m = basis.size();
    column_gram(basis.proposed_values(), data.stride(), m, new_gram_.data(),
                gaussian.stride());
    column_dots(basis.proposed_values(), data.stride(), m, response_.data(),
                new_dots_.data());
  }

  // K'y and y'y.
  void measure_response(double* dots) {
    column_dots(basis.values(), data.stride(), basis.size(), response_.data(),
                dots);
    square_ = Eigen::Map<const VectorXd>(response_.data(), data.stride())
                  .squaredNorm();
  }

  AlignedBuffer response_, residual_;
  double square_ = 0.0;
  bool residual_fresh_ = false;
  bool postponing_ = false, due_ = false;
  AlignedBuffer new_gram_, new_dots_;
  int scale_changes_ = 0;
};

}  // namespace bayeskernel

#endif
