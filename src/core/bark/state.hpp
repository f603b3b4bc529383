// The state of one chain of bark(): the kernels, their scales, the variances of
// blocks of columns beside them, the precision of the noise, and what the
// collapsed likelihood keeps about them.
#pragma once

#include "bark/basis.hpp"
#include "bark/inclusion_prior.hpp"
#include "bark/population.hpp"
#include "bark/prior.hpp"
#include "eigen.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "simd/aligned_buffer.hpp"

namespace bayeskernel {
// Which scales there are.
struct ScaleSetting {
  bool different = true;  // a scale for each variable, or one for all
  bool select = false;    // variables may be left out
};

class BarkState {
 public:
  BarkState(const BarkData& data, const BarkPrior& prior,
            const ScaleSetting& setting, const InclusionPrior& inclusion);

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
  double total_scale() const;
  // The log of the prior's factor exp(-(reach / (n kappa))^2) of each vector of
  // scales: kappa = prod (1 + 4 lambda_l)^(-1/2) is the mean of K(x, c) over
  // independent standard normal x and c, so n kappa the rows that a kernel
  // reaches.
  double log_reach(const VectorXd& at) const;
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
  double largest_variance(Index from = 0) const;

  // epsilon^2 times `factor`, with the precisions of all coefficients divided
  // by it: whether doubles hold them, and the change, after which come
  // set_variances() and rebuild().
  bool can_scale(double factor, double square) const;
  void scale_coefficients(double factor);

  // ---- The response

  // With weights its rows are those of the data times their roots.
  double* response() { return response_.data(); }
  const double* response() const { return response_.data(); }

  double response_square() const { return square_; }

  // After response() changed: K'y, mu.
  void response_changed();

  // y - K mu.
  const double* residual();
  void coefficients_changed() { residual_fresh_ = false; }

  // ---- From scratch

  // All that follows from population, lambda, phi and the response.
  void rebuild_all();

  // After the scales or the response changed. Nothing of what was before stays
  // in the rounding errors.
  void refill();

  void rebuild_products();

  // After the prior variances changed; rebuild() must follow.
  void set_variances();

  void rebuild();

  // Moves that need neither Sigma nor mu may follow one another from
  // postpone_rebuilds() on: then log_marginal() is what they evaluated last,
  // and catch_up() makes the rest.
  void postpone_rebuilds() { postponing_ = true; }
  void rebuild_evaluated();
  void catch_up();

  // ---- Scales

  // The log marginal likelihood after a change of the scales, which
  // accept_scales() makes.
  double propose_scales(const ScaleChange& change);
  // And of phi and all prior variances of kernels.
  double propose_scales(const ScaleChange& change, double phi, double factor);
  // Where all scales are new.
  double propose_scales(const VectorXd& all, double phi, double factor);

 private:
  double propose_jointly(double phi, double factor);

 public:
  void accept_scales();

 private:
  static constexpr int kMostScaleChanges = 1000;
  static constexpr double kLargestEntry = 1e14;

  // Of the proposed columns.
  void propose_products();

  // K'y and y'y.
  void measure_response(double* dots);

  AlignedBuffer response_, residual_;
  double square_ = 0.0;
  bool residual_fresh_ = false;
  bool postponing_ = false, due_ = false;
  AlignedBuffer new_gram_, new_dots_;
  int scale_changes_ = 0;
};
}  // namespace bayeskernel
