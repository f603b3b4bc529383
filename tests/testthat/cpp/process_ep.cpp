// Expectation propagation of an intercept and a process on inducing points, at
// given parameters, for the test of golden numbers.
// [[Rcpp::depends(RcppEigen, BH)]]
// [[Rcpp::plugins(cpp17)]]
#include <Rcpp.h>

#include "ep/fit.hpp"
#include "gp/bound_gradient.hpp"
#include <string>

using namespace bayeskernel;

static Eigen::Map<const MatrixXd> matrix_of(const Rcpp::NumericMatrix& x) {
  return Eigen::Map<const MatrixXd>(x.begin(), x.nrow(), x.ncol());
}

static Rcpp::NumericVector vector_to(const VectorXd& v) {
  return Rcpp::NumericVector(v.data(), v.data() + v.size());
}

// x: predictors x rows, z: predictors x points. The features are those of the
// kernel of unit variance; `variance` is the prior variance of their weights.
// [[Rcpp::export]]
Rcpp::List process_ep(const std::string& family, const Rcpp::NumericMatrix& x,
                      const Rcpp::NumericVector& y,
                      const Rcpp::NumericVector& weight,
                      const Rcpp::NumericMatrix& z,
                      const Rcpp::NumericVector& lengthscale, double variance,
                      double intercept_precision, double noise) {
  const Family f = family == "hinge"    ? Family::hinge
                   : family == "probit" ? Family::probit
                   : family == "logit"  ? Family::logit
                                        : Family::gaussian;
  const Index n = x.ncol(), m = z.ncol();
  PackedRows raw, phi, rows;
  raw.x = matrix_of(x);
  raw.z.resize(0, n);
  raw.y = Eigen::Map<const VectorXd>(y.begin(), n);
  raw.weight = Eigen::Map<const VectorXd>(weight.begin(), n);
  raw.offset = VectorXd::Zero(n);
  raw.finish({});
  const Kernel kernel = Kernel::rbf(
      Eigen::Map<const VectorXd>(lengthscale.begin(), lengthscale.size()),
      variance);
  const Features features(kernel, matrix_of(z), 0.0);
  SerialExecutor serial;
  keep_features(FeatureRows(raw, features, serial), phi);
  rows = phi;
  rows.x.resize(m + 1, n);
  rows.x << Eigen::RowVectorXd::Ones(n), phi.x;
  rows.finish({});
  Prior prior = unit_prior(m + 1);
  prior.precision[0] = intercept_precision;
  EpFit fit(rows, prior, serial, f);
  fit.sites.residual_slope = VectorXd::Zero(n);
  fit.set({}, noise);
  EpSettings settings;
  settings.tolerance = 1e-11;
  settings.max_passes = 500;
  const EpResult result = fit.run(settings);

  const VectorXd& mean = fit.posterior().mean.x;
  const MatrixXd s = fit.posterior().theta_covariance();
  const MatrixXd ones = MatrixXd::Ones(1, n);
  const BesideFeatures beside{ones, mean.head(1), s.bottomLeftCorner(m, 1)};
  const BoundGradient gradient =
      BoundGradientPass(raw, features, serial, &fit.sites)
          .run(mean.tail(m), s.bottomRightCorner(m, m), false, &beside);
  // Back to features of unit variance.
  VectorXd scale = VectorXd::Constant(m + 1, std::sqrt(variance));
  scale[0] = 1.0;
  const VectorXd theta = scale.cwiseProduct(mean);
  const MatrixXd covariance = scale.asDiagonal() * s * scale.asDiagonal();
  Rcpp::NumericMatrix cov(m + 1, m + 1);
  std::copy_n(covariance.data(), covariance.size(), cov.begin());
  return Rcpp::List::create(
      Rcpp::Named("converged") = result.converged,
      Rcpp::Named("passes") = result.passes,
      Rcpp::Named("log_z") = fit.log_z(),
      Rcpp::Named("theta_mean") = vector_to(theta),
      Rcpp::Named("theta_cov") = cov,
      Rcpp::Named("mean") = vector_to(fit.sites.mean),
      Rcpp::Named("variance_f") = vector_to(fit.sites.variance),
      Rcpp::Named("residual") = vector_to(rows.residual),
      Rcpp::Named("kappa") = vector_to(fit.sites.kappa),
      Rcpp::Named("b") = vector_to(fit.sites.b),
      Rcpp::Named("cavity_mean") = vector_to(fit.sites.cavity_mean),
      Rcpp::Named("cavity_variance") = vector_to(fit.sites.cavity_variance),
      Rcpp::Named("loo") = vector_to(fit.leave_one_out()),
      Rcpp::Named("gradient") = vector_to(gradient.kernel),
      Rcpp::Named("noise_slope") = fit.noise_slope());
}
