// The posterior of coefficients and of the variances of effects and noise,
// under a likelihood with what is missing and the effects integrated out: its
// maximum, what lies about it, and the coefficients at other variances
// (Laplace's approximation given the variances, Tierney and Kadane 1986).
// Unknowns are phi = (theta, t, s): effects have the precision e^-t P, the
// noise the variance e^s of where these begin; what is held stays at 0. With F
// unknowns that are free a curvature takes F looks.
#pragma once

#include "missing/marginal_likelihood.hpp"
#include "missing/shared_likelihood.hpp"
#include "prior/variance_prior.hpp"

namespace bayeskernel {
class MarginalPosterior {
 public:
  // Of the coefficients the prior's precision and mean; where variances begin,
  // and their priors where they are free. rest: what the value has times the
  // log of the noise, and its derivative, beside the likelihood's. leans: means
  // of coefficients are not at the maximum.
  struct Settings {
    MatrixXd prior_precision;
    VectorXd prior_mean;
    MatrixXd precision;
    double noise = 1.0, rest = 0.0;
    std::optional<VariancePrior> effects_prior, noise_prior;
    bool leans = false;
  };

  // The log density, its derivatives in what is free, and minus the second ones
  // in theta; E u, r x groups.
  struct Look {
    double value = 0.0;
    VectorXd score;
    MatrixXd information, effects;
  };

  // The covariance is that of what is free.
  struct Peak {
    VectorXd phi;
    MatrixXd covariance;
  };

  // The log density of variances, coefficients integrated out, these given the
  // variances, and how far they are from the straight line through the peak.
  struct Point {
    double log_density = -std::numeric_limits<double>::infinity();
    VectorXd theta, step;
    MatrixXd effects;
  };

  // One step from `theta`, and how far effects and what is missing go.
  struct Step {
    VectorXd theta;
    double scale = 0.0;
    MatrixXd effects, completed;
  };

  MarginalPosterior(const MarginalLikelihood& likelihood,
                    const Settings& settings);

  Index coefficients() const { return settings_.prior_mean.size(); }
  Index free() const;

  VectorRef theta(const VectorXd& phi) const {
    return phi.head(coefficients());
  }
  MatrixXd precision(const VectorXd& phi) const;
  double noise(const VectorXd& phi) const;

  Look look(const VectorXd& phi, bool information) const;

  // Largest in coefficients; variances where they are most likely with the
  // coefficients integrated out. None where it is not found.
  std::optional<Peak> peak(const VectorRef& theta) const;

  // One point a row of `moves`, of the variances that are free, from the peak
  // on; `within` is the covariance of the coefficients given the variances.
  std::vector<Point> points(const Peak& peak, const MatrixRef& moves,
                            MatrixXd& within) const;

  // From where what rows share was left out.
  std::optional<Step> step(const SharedLikelihood& shared,
                           const VectorRef& theta) const;

 private:
  VectorXd start(const VectorRef& theta) const;
  // phi moved by what is free.
  VectorXd moved(const VectorXd& phi, const VectorRef& by) const;
  // Where in phi the free unknown k stands.
  Index place(Index k) const;

  // The inverse of minus the derivative of the score, by steps of it; `here` is
  // the score. Directions in which this is not positive count by their size.
  std::optional<MatrixXd> inverse_curvature(const VectorXd& phi,
                                            const VectorXd& here) const;

  // What the log density of the variances has beside, differentiated in the
  // free unknowns from `first` to before `last`.
  VectorXd tilt(const VectorXd& phi, Index first, Index last) const;

  // From the maximum to the mean, at most a standard deviation.
  VectorXd lean(const VectorXd& phi, const MatrixXd& within) const;

  const MarginalLikelihood& likelihood_;
  Settings settings_;
};
}  // namespace bayeskernel
