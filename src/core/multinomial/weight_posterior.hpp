// q(beta) of weights that are not points (Damoulas and Girolami 2009, section
// 3.2 and appendix B.4). With f(beta) = <K, B> - <K, R K> / 2 of the fit
// (learning.hpp) and its prior,
//   log q(beta) = E log p(beta | h) + f(beta) + const,
//   sum      beta ~ Dir(rho),             rho_s ~ Gamma(first, second)
//   product  beta_s ~ Gamma(pi_s, chi_s), pi_s ~ Exp(first), chi_s ~
//            Exp(second)
//   binary   beta_s ~ Bernoulli(first), all subsets
// or, held, rho_s = first, and pi_s = first, chi_s = second,
// by points with weights (importance), or by steps of a sampler (slice). The
// points are drawn once and weighed anew in every iteration, with f as it is:
// an exact factor for a prior that lives on these points, so that the bound
// rises. Where few points have all the weight others take their place, from a t
// law with 5 degrees of freedom at the mode, in logarithms; then the bound
// begins anew. Length-scales, theta_s ~ Gamma(first, second), are a product's
// weights to all this. As printed (B.4) each iteration draws more points from
// the prior, at the parameters as they are, and keeps those before with the
// weights that they had; parameters see log E beta for E log beta.
#pragma once

#include "eigen.hpp"
#include "math/decompositions.hpp"
#include "mcmc/convergence.hpp"
#include "mcmc/slice.hpp"
#include "optim/maximise.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
struct WeightSettings {
  bool product = false;
  bool binary = false;
  bool empty = false;  // no kernel at all is a subset
  bool slice = false;
  bool printed = false;  // points of the prior, all that were ever drawn
  double first = 1.0, second = 1.0;  // of the prior of rho, or of pi and chi
  bool held = false;                 // or these themselves
  Index points = 3000;               // that are weighed
  Index steps = 5000;                // of the sampler
  std::uint64_t seed = 1;
};

class WeightPosterior {
 public:
  // Below so many effective points others take their place, so often at most.
  static constexpr double kFewest = 50.0;
  static constexpr int kMostPlaces = 25;

  WeightPosterior(Index size, const WeightSettings& settings);

  // q(beta) and then q(h) for another f(beta, gradient), which adds nothing to
  // a gradient that is null; whether the bound may be compared with the last.
  template <class F>
  bool update(F&& f) {
    const bool same = set_.slice                     ? sample(f)
                      : set_.printed && !set_.binary ? gather(f)
                                                     : weigh(f);
    mean_ = points_ * share_;
    const MatrixXd centred = points_.colwise() - mean_;
    covariance_ = centred * share_.asDiagonal() * centred.transpose();
    log_mean_ =
        set_.printed
            ? VectorXd(mean_.array().max(1e-300).log())
            : VectorXd(points_.array().max(1e-300).log().matrix() * share_);
    const double hyper = set_.binary    ? log_prior(mean_)
                         : set_.held    ? held_density()
                         : set_.product ? gamma_hyper()
                                        : dirichlet_hyper();
    bound_ = entropy_ + hyper;
    return same;
  }

  const VectorXd& mean() const { return mean_; }
  const VectorXd& log_mean() const { return log_mean_; }
  const MatrixXd& covariance() const { return covariance_; }
  bool binary() const { return set_.binary; }
  const MatrixXd& points() const { return points_; }
  const VectorXd& share() const { return share_; }
  // E log p(beta, h) - E log q(beta, h).
  double bound() const { return bound_; }
  double effective() const { return effective_; }
  bool known() const { return mean_.size() > 0; }
  // Whether it is the exact factor of a bound, which then rises.
  bool exact() const { return !set_.product && !set_.slice && !set_.printed; }

  // Columns v_k with sum v_k v_k' the covariance.
  MatrixXd spread() const;

  // Equally probable ones, size x count: systematic resampling.
  MatrixXd draws(Index count) const;

  // Of weight s.
  double quantile(Index s, double probability) const;

 private:
  static constexpr Index kRhoPoints = 1000, kNormaliser = 1000;
  static constexpr double kDegrees = 5.0;
  static constexpr double kMostLog = 20.0;

  Stream stream(std::uint64_t block) const;

  // Weights from free coordinates: log ratios to the last, or logarithms.
  Index dimension() const { return set_.product ? size_ : size_ - 1; }
  VectorXd weights_at(const VectorXd& z) const;
  VectorXd coordinates() const;

  // E log p(beta | h) but for what does not depend on beta.
  double log_prior(const VectorXd& beta) const;

  // log density of the coordinates, not normalised, and its gradient.
  template <class F>
  double log_density(F& f, const VectorXd& z, VectorXd* gradient) const {
    const VectorXd beta = weights_at(z);
    if (gradient == nullptr) {
      return f(beta, gradient) + log_prior(beta) + beta.array().log().sum();
    }
    VectorXd own = VectorXd::Zero(size_);
    const double value =
        f(beta, &own) + log_prior(beta) + beta.array().log().sum();
    // (shape - 1) / beta of the prior and 1 / beta of the Jacobian, times beta.
    const VectorXd slope =
        beta.array() * (own - rate_).array() + shape_.array();
    if (set_.product) {
      *gradient = slope;
    } else {
      const double all = slope.sum();
      *gradient = slope.head(size_ - 1) - all * beta.head(size_ - 1);
    }
    return value;
  }

  // The mode of the coordinates, and a root of minus the inverse Hessian.
  template <class F>
  void locate(F& f) {
    const auto value = [&](const VectorXd& z, VectorXd& gradient) {
      return log_density(f, z, &gradient);
    };
    mode_ = maximise(value, coordinates(), 1e-6, 100, [] { return true; }).at;
    const Index d = dimension();
    constexpr double kStep = 1e-3;
    MatrixXd bend(d, d);
    VectorXd low(d), high(d);
    for (Index k = 0; k < d; ++k) {
      VectorXd at = mode_;
      at[k] -= kStep;
      log_density(f, at, &low);
      at[k] += 2.0 * kStep;
      log_density(f, at, &high);
      bend.col(k) = (low - high) / (2.0 * kStep);
    }
    bend = 0.5 * (bend + bend.transpose()).eval();
    const SymmetricEigen own(bend);
    // A direction without a bend has a spread of one at most.
    root_ =
        own.eigenvectors() *
        own.eigenvalues().cwiseMax(1.0).cwiseSqrt().cwiseInverse().asDiagonal();
    log_root_ = -0.5 * own.eigenvalues().cwiseMax(1.0).array().log().sum();
  }

  // From the t law at the mode, and its log density.
  VectorXd draw_near(Stream& own, double& log_density) const;

  // Points of the flat law on the simplex.
  void draw_flat();
  void list_subsets();

  template <class F>
  void place(F& f) {
    ++places_;
    locate(f);
    Stream own = stream(0);
    points_.resize(size_, set_.points);
    log_base_.resize(set_.points);
    for (Index k = 0; k < set_.points; ++k) {
      double log_base = 0.0;
      points_.col(k) = weights_at(draw_near(own, log_base));
      // Of the weights, not of their coordinates.
      log_base_[k] = log_base - points_.col(k).array().log().sum();
    }
  }

  // Self-normalised weights of the points.
  template <class F>
  bool weigh(F& f) {
    bool same = points_.size() > 0;
    if (!same) place(f);
    while (true) {
      VectorXd log_share(points_.cols());
      for (Index k = 0; k < points_.cols(); ++k) {
        const VectorXd beta = points_.col(k);
        log_share[k] =
            known_only(f(beta, nullptr) + log_prior(beta) - log_base_[k]);
      }
      normalise(log_share);
      guess_ = points_ * share_;
      effective_ = 1.0 / share_.squaredNorm();
      // Those that were placed just now are the best there are.
      const bool last = !same || places_ >= kMostPlaces;
      if (set_.binary || effective_ >= kFewest || last) break;
      same = false;
      place(f);
    }
    find_entropy();
    return same;
  }

  // More points of the prior, as printed. No bound rises with them.
  template <class F>
  bool gather(F& f) {
    const Index before = points_.cols(), all = before + set_.points;
    Stream own = stream(static_cast<std::uint64_t>(before) + 4);
    points_.conservativeResize(size_, all);
    log_base_.conservativeResize(all);
    log_weight_.conservativeResize(all);
    for (Index k = before; k < all; ++k) {
      points_.col(k) = draw_prior(own);
      const VectorXd beta = points_.col(k);
      log_base_[k] = prior_constant() + log_prior(beta);
      log_weight_[k] = known_only(f(beta, nullptr));
    }
    normalise(log_weight_);
    effective_ = 1.0 / share_.squaredNorm();
    find_entropy();
    return true;
  }

  // Points where the kernels overflow have no weight.
  static double known_only(double log_density) {
    return std::isfinite(log_density)
               ? log_density
               : -std::numeric_limits<double>::infinity();
  }

  // - E log q(beta), where q has its density against the points' law.
  void find_entropy();

  // From E log p(beta | h), and what does not depend on beta in it.
  VectorXd draw_prior(Stream& own) const;
  double prior_constant() const;

  void normalise(const VectorXd& log_share);

  // Steps along the axes of the Hessian from the mode; the same numbers in
  // every iteration. The entropy has its normaliser by importance sampling.
  template <class F>
  bool sample(F& f) {
    locate(f);
    const Index d = dimension();
    const Index sweeps = std::max<Index>(set_.steps / d, 100);
    const Index warmup = 20;
    Stream own = stream(1);
    points_.resize(size_, sweeps);
    share_ = VectorXd::Constant(sweeps, 1.0 / static_cast<double>(sweeps));
    VectorXd z = mode_;
    double mean_density = 0.0;
    for (Index k = -warmup; k < sweeps; ++k) {
      for (Index j = 0; j < d; ++j) {
        const auto along = [&](double t) {
          return log_density(f, z + t * root_.col(j), nullptr);
        };
        z += slice_log_scale(along, own, 2.0) * root_.col(j);
      }
      if (k < 0) continue;
      points_.col(k) = weights_at(z);
      mean_density +=
          (log_density(f, z, nullptr) - points_.col(k).array().log().sum()) /
          static_cast<double>(sweeps);
    }
    guess_ = points_.rowwise().mean();
    Stream other = stream(2);
    VectorXd log_ratio(kNormaliser);
    for (Index k = 0; k < kNormaliser; ++k) {
      double log_base = 0.0;
      const VectorXd near = draw_near(other, log_base);
      log_ratio[k] = log_density(f, near, nullptr) - log_base;
    }
    const double top = log_ratio.maxCoeff();
    const double log_normaliser =
        top + std::log((log_ratio.array() - top).exp().mean());
    entropy_ = log_normaliser - mean_density;
    effective_ = static_cast<double>(sweeps);
    for (Index s = 0; s < size_; ++s) {
      const VectorXd one = points_.row(s).array().log();
      const double ess = convergence(one).ess_mean;
      if (ess < effective_) effective_ = ess;
    }
    return true;
  }

  void draw_rho();

  // E log p(beta) with shapes and rates that are known.
  double held_density() const;

  // q(rho) by points of its prior; what both add to the bound.
  double dirichlet_hyper();

  // pi_s ~ Gamma(2, r_s), r = first - E log beta + log(second + E beta), and
  // chi_s given it ~ Gamma(1 + pi_s, second + E beta_s).
  double gamma_hyper();

  Index size_;
  WeightSettings set_;
  VectorXd shape_, rate_;  // E rho and 0, or E pi and E chi
  VectorXd guess_;         // where the search for the mode begins
  MatrixXd points_, rho_;  // by columns
  VectorXd share_, log_base_, log_weight_, rho_constant_;
  VectorXd mean_, log_mean_, mode_;
  MatrixXd covariance_, root_;
  double log_root_ = 0.0, entropy_ = 0.0, bound_ = 0.0, effective_ = 0.0;
  int places_ = 0;
};
}  // namespace bayeskernel
