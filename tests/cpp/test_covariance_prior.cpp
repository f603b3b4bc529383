// The prior of the covariance of correlated effects whose standard deviations
// are half t: its density, its margins and its steps.
#include <Eigen/LU>
#include <boost/math/distributions/students_t.hpp>

#include "check.hpp"
#include "prior/variance_prior.hpp"
#include "rng/distributions.hpp"
#include "rng/matrix_variate.hpp"

using bayeskernel::CovariancePrior;
using bayeskernel::HalfT;
using bayeskernel::Stream;
using bayeskernel::VariancePrior;
using Eigen::MatrixXd;
using Eigen::VectorXd;

static MatrixXd precision_of(Stream& stream, int r) {
  const MatrixXd a =
      MatrixXd::NullaryExpr(r, r + 2, [&] { return stream.normal(); });
  return 0.4 * a * a.transpose() + 0.1 * MatrixXd::Identity(r, r);
}

static double log_det(const MatrixXd& a) { return std::log(a.determinant()); }

static double log_density(const CovariancePrior& prior, const MatrixXd& p) {
  return prior.log_density(p, -0.5 * log_det(p));
}

// log of the multivariate gamma function.
static double log_gamma_of(double x, int r) {
  double out = 0.25 * r * (r - 1) * std::log(M_PI);
  for (int j = 0; j < r; ++j) out += std::lgamma(x - 0.5 * j);
  return out;
}

static double half_t_density(const HalfT& of, double sd) {
  const boost::math::students_t law(of.df);
  return 2.0 * pdf(law, sd / of.scale) / of.scale;
}

TEST("the density is that of the mixture of inverse Wisharts") {
  Stream stream(1, 0, 0, 0, 0);
  for (const HalfT half_t : {HalfT{2.0, 2.5}, HalfT{4.0, 0.7}}) {
    for (int r = 1; r <= 3; ++r) {
      const MatrixXd p = precision_of(stream, r), none = MatrixXd::Zero(r, r);
      const double df = half_t.df + r - 1.0;
      double expected = 0.5 * (df + r + 1.0) * log_det(p) -
                        0.5 * df * r * std::log(2.0) -
                        log_gamma_of(0.5 * df, r);
      // Given Psi its scales are apart; each over log a by the trapezoid rule.
      for (int k = 0; k < r; ++k) {
        double sum = 0.0;
        for (double x = -30.0; x < 60.0; x += 0.05) {
          const double inverse = std::exp(-x);
          const double rate = 1.0 / (half_t.scale * half_t.scale);
          sum += 0.05 * std::exp(0.5 * df * (std::log(2.0 * half_t.df) - x) -
                                 half_t.df * inverse * p(k, k) +
                                 0.5 * std::log(rate / M_PI) - 0.5 * x -
                                 rate * inverse);
        }
        expected += std::log(sum);
      }
      const CovariancePrior prior(0.0, none, half_t);
      CHECK_NEAR(log_density(prior, p), expected, 1e-9);
    }
  }
}

TEST("one effect has the half t prior of a variance") {
  const HalfT half_t{4.0, 2.5};
  const MatrixXd none = MatrixXd::Zero(1, 1);
  const CovariancePrior prior(0.0, none, half_t);
  const VariancePrior single(0.01, 0.01, half_t);
  for (const double x : {-6.0, -1.0, 0.3, 4.0}) {  // log sigma^2
    const MatrixXd p = MatrixXd::Constant(1, 1, std::exp(-x));
    CHECK_NEAR(log_density(prior, p) + x, single.log_density(x), 1e-12);
    CHECK_NEAR(
        prior.log_scale_density(p, 0.7) - prior.log_scale_density(p, 0.0),
        single.log_scale_density(p(0, 0), 0.7) -
            single.log_scale_density(p(0, 0), 0.0),
        1e-12);
  }
}

// p(sd, sd, correlation).
static double density(const CovariancePrior& prior, double a, double b,
                      double rho) {
  MatrixXd p(2, 2);
  p << 1.0 / (a * a), -rho / (a * b), -rho / (a * b), 1.0 / (b * b);
  p /= 1.0 - rho * rho;
  return 4.0 * a * a * b * b * std::exp(log_density(prior, p));
}

TEST("standard deviations are half t, correlations as the degrees say") {
  const MatrixXd none = MatrixXd::Zero(2, 2);
  const double step = 0.25;
  for (const HalfT half_t : {HalfT{2.0, 1.5}, HalfT{4.0, 2.5}}) {
    const CovariancePrior prior(0.0, none, half_t);
    for (const double sd : {0.1, 1.0, 6.0}) {
      double sum = 0.0;
      for (double v = -20.0; v < 14.0; v += step) {
        for (double w = -8.0; w <= 8.0; w += step) {
          const double rho = std::tanh(w);
          sum += step * step * std::exp(v) * (1.0 - rho * rho) *
                 density(prior, sd, std::exp(v), rho);
        }
      }
      CHECK_NEAR(sum, half_t_density(half_t, sd), 1e-6);
    }
    for (const double rho : {-0.8, 0.0, 0.5}) {
      double sum = 0.0;
      for (double u = -20.0; u < 14.0; u += step) {
        for (double v = -20.0; v < 14.0; v += step) {
          sum += step * step * std::exp(u + v) *
                 density(prior, std::exp(u), std::exp(v), rho);
        }
      }
      const double expected = half_t.df == 2.0 ? 0.5 : 0.75 * (1.0 - rho * rho);
      CHECK_NEAR(sum, expected, 1e-6);
    }
  }
}

TEST("the density along a scale is that of Psi") {
  Stream stream(2, 0, 0, 0, 0);
  for (int r = 1; r <= 3; ++r) {
    const MatrixXd p = precision_of(stream, r), scale = precision_of(stream, r);
    for (const HalfT half_t : {HalfT(), HalfT{4.0, 0.6}}) {
      const CovariancePrior prior(r + 1.3, scale, half_t);
      for (const double t : {-1.2, 0.4, 2.0}) {
        // Psi e^2t has the measure e^(r (r + 1) t).
        const double expected = log_density(prior, std::exp(-2.0 * t) * p) -
                                log_density(prior, p) + r * (r + 1.0) * t;
        CHECK_NEAR(
            prior.log_scale_density(p, t) - prior.log_scale_density(p, 0.0),
            expected, 1e-11);
      }
    }
  }
}

TEST("the scale at P is that of the derivatives of the density") {
  Stream stream(3, 0, 0, 0, 0);
  const int r = 3;
  const MatrixXd p = precision_of(stream, r), none = MatrixXd::Zero(r, r);
  const CovariancePrior prior(0.0, none, HalfT{4.0, 0.8});
  const MatrixXd expected =
      0.5 * (prior.df() + r + 1.0) * p.inverse() - 0.5 * prior.scale(p);
  for (int j = 0; j < r; ++j) {
    for (int k = 0; k <= j; ++k) {
      MatrixXd up = p, down = p;
      up(j, k) += 1e-5;
      down(j, k) -= 1e-5;
      up(k, j) = up(j, k);
      down(k, j) = down(j, k);
      const double slope =
          (log_density(prior, up) - log_density(prior, down)) / 2e-5;
      CHECK_NEAR(slope, (j == k ? 1.0 : 2.0) * expected(j, k), 1e-7);
    }
  }
}

TEST("q of the covariance and of its scales agree, however few the members") {
  Stream stream(4, 0, 0, 0, 0);
  for (int r = 1; r <= 3; ++r) {
    const MatrixXd none = MatrixXd::Zero(r, r);
    const CovariancePrior prior(0.0, none, HalfT{4.0, 2.5});
    for (const double count : {1.0, 2.0, 5.0, 1000.0}) {
      for (const double size : {1e-4, 1.0, 1e4}) {
        const MatrixXd moment = count * size * precision_of(stream, r);
        const MatrixXd out =
            prior.posterior_scale(count, moment, MatrixXd::Identity(r, r));
        const MatrixXd p = (prior.df() + count) * out.inverse();
        const MatrixXd again = prior.scale(p) + moment;
        CHECK(((again - out).diagonal().array() / out.diagonal().array())
                  .abs()
                  .maxCoeff() < 1e-8);
      }
    }
  }
}

// From the prior to effects, and back by a step of the sampler.
TEST("a draw given effects from the prior is one from the prior") {
  const HalfT half_t{4.0, 2.5};
  const int r = 2, members = 3;
  const MatrixXd none = MatrixXd::Zero(r, r);
  const CovariancePrior prior(0.0, none, half_t);
  Stream stream(5, 0, 0, 0, 0);
  bayeskernel::WishartScratch scratch(r);
  MatrixXd p(r, r);
  std::vector<double> first, second, correlation;
  for (int i = 0; i < check::draws(); ++i) {
    MatrixXd inverse = none;
    for (int k = 0; k < r; ++k) {
      const double rate = 1.0 / (half_t.scale * half_t.scale);
      inverse(k, k) =
          1.0 / (2.0 * half_t.df * bayeskernel::gamma(stream, 0.5, rate));
    }
    bayeskernel::wishart(stream, half_t.df + r - 1.0, inverse, scratch, p);
    const MatrixXd root = Eigen::LLT<MatrixXd>(p.inverse()).matrixL();
    MatrixXd effects(r, members);
    for (int k = 0; k < effects.size(); ++k) effects(k) = stream.normal();
    effects = root * effects;
    const MatrixXd moment =
        effects * effects.transpose() + prior.draw_scale(stream, p);
    bayeskernel::wishart(stream, prior.df() + members, moment.inverse(),
                         scratch, p);
    const MatrixXd psi = p.inverse();
    first.push_back(std::sqrt(psi(0, 0)));
    second.push_back(std::sqrt(psi(1, 1)));
    correlation.push_back(psi(0, 1) / std::sqrt(psi(0, 0) * psi(1, 1)));
  }
  const boost::math::students_t law(half_t.df);
  const auto sd_cdf = [&](double x) {
    return 2.0 * cdf(law, x / half_t.scale) - 1.0;
  };
  const auto correlation_cdf = [](double x) {
    return 0.5 + 0.75 * x - 0.25 * x * x * x;
  };
  CHECK_LAW(first, sd_cdf);
  CHECK_LAW(second, sd_cdf);
  CHECK_LAW(correlation, correlation_cdf);
}
