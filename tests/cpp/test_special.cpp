#include "math/normal.hpp"
#include "math/special.hpp"
#include <limits>

#include "check.hpp"

namespace bk = bayeskernel;

// All constants to 18 digits, from 60-digit arithmetic.

static double relative(double found, double expected) {
  return std::abs(found / expected - 1.0);
}

TEST("log Phi and the inverse Mills ratio keep their digits in both tails") {
  const double known[][3] = {
      {-1e5, -5000000012.431864, 100000.00001},
      {-100, -5005.52420869420509, 100.009998000999261},
      {-38.5, -745.695270290411081, 38.5259390968544937},
      {-12, -75.4106730015687959, 12.0822141752542843},
      {-5, -15.0649983939887257, 5.18650396712584212},
      {-4.5, -12.5924197357130787, 4.7043198448277324},
      {-0.5, -1.17591176159361861, 1.14107777036806448},
      {0, -0.693147180559945309, 0.797884560802865356},
      {2, -0.0230129093289634885, 0.0552478626789899591},
      {6, -9.86587645524375732e-10, 6.07588285581767645e-9},
      {9, -1.12858840595384065e-19, 1.02797735716689148e-18}};
  for (const auto& row : known) {
    CHECK(relative(bk::log_normal_cdf(row[0]), row[1]) < 1e-13);
    CHECK(relative(bk::below_normal(row[0]).slope, row[2]) < 1e-13);
  }
}

TEST("log Phi is continuous where its formula changes") {
  for (const double x : {-5.0, 0.0}) {
    const double below = std::nextafter(x, -10.0),
                 above = std::nextafter(x, 10);
    CHECK_NEAR(bk::log_normal_cdf(below), bk::log_normal_cdf(above), 1e-15);
    CHECK_NEAR(bk::below_normal(below).slope, bk::below_normal(above).slope,
               1e-14);
  }
}

TEST("log Phi has limits, not NaN, at infinite arguments") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(bk::log_normal_cdf(infinity) == 0.0);
  CHECK(bk::log_normal_cdf(-infinity) == -infinity);
  CHECK(bk::log_normal_cdf(-1e200) == -infinity);
  CHECK(bk::below_normal(infinity).slope == 0.0);
  CHECK(bk::below_normal(-1e200).slope == 1e200);
}

TEST("the normal quantile is exact from 1e-300 to the upper tail") {
  const double known[][2] = {{1e-300, -37.0470962993611992},
                             {1e-17, -8.49379322410959807},
                             {1e-05, -4.26489079392282461},
                             {0.025, -1.95996398454005421},
                             {0.5, 0.0},
                             {0.75, 0.674489750196081743},
                             {0.999, 3.09023230616781328}};
  for (const auto& row : known) {
    CHECK_NEAR(bk::normal_quantile(row[0]), row[1], 1e-14);
  }
}

TEST("Phi of a block of values is Phi of each, and has limits") {
  Eigen::ArrayXd x = Eigen::ArrayXd::LinSpaced(2001, -40.0, 40.0), work, phi;
  bk::normal_cdf(x, work, phi);
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    CHECK_NEAR(phi[i], bk::normal_cdf(x[i]), 1e-15);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(bk::normal_cdf(infinity) == 1.0 && bk::normal_cdf(-infinity) == 0.0);
  CHECK_NEAR(bk::normal_density(1.5), 0.129517595665891724, 1e-16);
}

TEST("the log probability of an interval keeps its digits in both tails") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double known[][3] = {{-1.0, 2.0, -0.20016629432446258},
                             {9.0, 10.0, -43.6282166322808225},
                             {40.0, infinity, -804.608442013753847}};
  for (const auto& row : known) {
    CHECK_NEAR(bk::log_normal_interval(row[0], row[1]), row[2], 1e-13);
    CHECK_NEAR(bk::log_normal_interval(-row[1], -row[0]), row[2], 1e-13);
  }
}

TEST("log Gamma and digamma are exact from 1e-300 to 1e15") {
  const double known[][3] = {
      {1e-300, 690.775527898213705, -9.99999999999999975e+299},
      {1e-10, 23.0258509298827352, -10000000000.5772153},
      {0.005, 5.29545179998212786, -200.569020911344379},
      {0.5, 0.572364942924700087, -1.96351002602142348},
      {1.5, -0.120782237635245222, 0.0364899739785765206},
      {10.25, 13.3680236714760463, 2.27770479068672397},
      {1e5, 1051287.70897365689, 11.5129204649618951},
      {1e15, 33538776394910668.9, 34.5387763949106848}};
  for (const auto& row : known) {
    CHECK(relative(bk::log_gamma(row[0]), row[1]) < 1e-14);
    CHECK(relative(bk::digamma(row[0]), row[2]) < 1e-13);
  }
}

TEST("the multivariate gamma function and its derivative are exact") {
  struct Row {
    double a;
    int r;
    double log_gamma, digamma;
  };
  for (const Row& row :
       {Row{0.6, 1, 0.398233858069234934, -1.5406192138931905},
        Row{2.25, 3, 1.65929358622419814, 0.592565386794330348},
        Row{30.5, 5, 353.612160472138617, 16.8352401841676062},
        Row{1e4, 2, 164195.402225142941, 18.4205307385354488}}) {
    CHECK_NEAR(bk::log_multivariate_gamma(row.a, row.r), row.log_gamma, 1e-14);
    CHECK_NEAR(bk::multivariate_digamma(row.a, row.r), row.digamma, 1e-14);
  }
}

TEST("arguments outside the domain give a number, not an exception") {
  CHECK(!std::isfinite(bk::log_gamma(0.0)));
  CHECK(!std::isfinite(bk::digamma(0.0)));
  CHECK(std::isnan(bk::digamma(std::nan(""))));
}
