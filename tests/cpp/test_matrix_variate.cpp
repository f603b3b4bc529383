#include <Eigen/Dense>
#include <boost/math/special_functions/gamma.hpp>

#include "check.hpp"
#include "error.hpp"
#include "math/special.hpp"
#include "rng/matrix_variate.hpp"

namespace bk = bayeskernel;
using bk::Stream;
using Eigen::MatrixXd;
using Eigen::VectorXd;

static double chi_square_cdf(double x, double df) {
  return boost::math::gamma_p(0.5 * df, 0.5 * x);
}

static MatrixXd example_scale() {
  MatrixXd scale(3, 3);
  scale << 2.0, 0.7, -0.4, 0.7, 1.0, 0.3, -0.4, 0.3, 0.5;
  return scale;
}

static VectorXd example_direction() {
  VectorXd direction(3);
  direction << 1.0, -2.0, 0.5;
  return direction;
}

// Each entry of the mean within 4.8 standard errors, from the draws' variance.
struct Moments {
  MatrixXd sum = MatrixXd::Zero(3, 3);
  MatrixXd squares = MatrixXd::Zero(3, 3);
  double n = 0.0;

  void add(const MatrixXd& draw) {
    sum += draw;
    squares += draw.cwiseAbs2();
    ++n;
  }

  bool agrees_with(const MatrixXd& mean) const {
    const MatrixXd found = sum / n;
    const MatrixXd variance = squares / n - found.cwiseAbs2();
    return ((found - mean).array().abs() < 4.8 * (variance / n).array().sqrt())
        .all();
  }
};

TEST("Wishart projections are chi-square and the mean is df times the scale") {
  const MatrixXd scale = example_scale();
  const VectorXd a = example_direction();
  const double df = 5.5;
  bk::WishartScratch scratch(3);
  MatrixXd draw(3, 3);
  Stream stream(31, 0, 0, 0, 0);
  std::vector<double> projections, inverse_projections, log_determinants;
  Moments moments;
  bool symmetric = true;
  for (int i = 0; i < check::draws(); ++i) {
    bk::wishart(stream, df, scale, scratch, draw);
    moments.add(draw);
    symmetric = symmetric && draw == draw.transpose();
    projections.push_back(a.dot(draw * a) / a.dot(scale * a));
    inverse_projections.push_back(a.dot(scale.inverse() * a) /
                                  a.dot(draw.inverse() * a));
    log_determinants.push_back(std::log(draw.determinant()));
  }
  const auto projection_cdf = [&](double x) { return chi_square_cdf(x, df); };
  const auto inverse_cdf = [&](double x) { return chi_square_cdf(x, df - 2); };
  CHECK_LAW(projections, projection_cdf);
  CHECK_LAW(inverse_projections, inverse_cdf);
  CHECK(moments.agrees_with(df * scale));
  CHECK(symmetric);
  double mean = 0.0, squares = 0.0;
  for (const double x : log_determinants) mean += x / moments.n;
  for (const double x : log_determinants) squares += (x - mean) * (x - mean);
  const double expected = bk::multivariate_digamma(0.5 * df, 3) +
                          3.0 * std::log(2.0) + std::log(scale.determinant());
  CHECK(std::abs(mean - expected) < 4.8 * std::sqrt(squares) / moments.n);
}

TEST("inverse Wishart projections are inverse chi-square, mean S/(df-r-1)") {
  const MatrixXd scale = example_scale();
  const VectorXd a = example_direction();
  const double df = 12.25;
  bk::WishartScratch scratch(3);
  MatrixXd draw(3, 3);
  Stream stream(32, 0, 0, 0, 0);
  std::vector<double> projections, inverse_projections;
  Moments moments;
  for (int i = 0; i < check::draws(); ++i) {
    bk::inverse_wishart(stream, df, scale, scratch, draw);
    moments.add(draw);
    projections.push_back(a.dot(scale * a) / a.dot(draw * a));
    inverse_projections.push_back(a.dot(draw.inverse() * a) /
                                  a.dot(scale.inverse() * a));
  }
  const auto projection_cdf = [&](double x) {
    return chi_square_cdf(x, df - 2);
  };
  const auto inverse_cdf = [&](double x) { return chi_square_cdf(x, df); };
  CHECK_LAW(projections, projection_cdf);
  CHECK_LAW(inverse_projections, inverse_cdf);
  CHECK(moments.agrees_with(scale / (df - 4.0)));
}

TEST("a 1 x 1 inverse Wishart is IG(df / 2, s / 2)") {
  bk::WishartScratch scratch(1);
  MatrixXd scale(1, 1), draw(1, 1);
  scale << 0.02;
  Stream stream(33, 0, 0, 0, 0);
  std::vector<double> draws;
  for (int i = 0; i < check::draws(); ++i) {
    bk::inverse_wishart(stream, 2.0, scale, scratch, draw);
    draws.push_back(draw(0, 0));
  }
  const auto cdf = [](double x) { return std::exp(-0.01 / x); };
  CHECK_LAW(draws, cdf);
}

TEST("a scale that is not positive definite is an error of the core") {
  MatrixXd scale = example_scale(), draw(3, 3);
  scale(2, 2) = -1.0;
  bk::WishartScratch scratch(3);
  Stream stream(34, 0, 0, 0, 0);
  CHECK_THROWS(bk::wishart(stream, 5.0, scale, scratch, draw),
               bk::NumericError);
  CHECK_THROWS(bk::inverse_wishart(stream, 5.0, scale, scratch, draw),
               bk::NumericError);
}

TEST("Gaussian vectors have the mean and precision that were asked for") {
  const MatrixXd precision = example_scale();
  const Eigen::LLT<MatrixXd> llt(precision);
  VectorXd mean(3), draw(3);
  mean << 10.0, -3.0, 0.5;
  const VectorXd a = example_direction();
  const double sd = std::sqrt(a.dot(precision.inverse() * a));
  Stream stream(35, 0, 0, 0, 0);
  std::vector<double> distances, projections;
  for (int i = 0; i < check::draws(); ++i) {
    bk::normal_from_precision(stream, llt, mean, draw);
    distances.push_back((draw - mean).dot(precision * (draw - mean)));
    projections.push_back(a.dot(draw - mean) / sd);
  }
  const auto distance_cdf = [](double x) { return chi_square_cdf(x, 3.0); };
  const auto projection_cdf = [](double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
  };
  CHECK_LAW(distances, distance_cdf);
  CHECK_LAW(projections, projection_cdf);
}
