#include "math/normal.hpp"
#include "math/special.hpp"
#include "rng/distributions.hpp"
#include <boost/math/special_functions/gamma.hpp>
#include <limits>

#include "check.hpp"

namespace bk = bayeskernel;
using bk::Stream;

static const double kInfinity = std::numeric_limits<double>::infinity();

template <class Draw>
static std::vector<double> sample(std::uint64_t seed, Draw draw) {
  Stream stream(seed, 0, 0, 0, 0);
  std::vector<double> values(check::draws());
  for (double& value : values) value = draw(stream);
  return values;
}

using bk::normal_cdf;

// Phi(-b) exp((b^2 - a^2) / 2): no overflow, no cancellation of exponents.
static double scaled_tail(double a, double b) {
  return std::exp(-0.5 * a * a) / std::sqrt(8.0 * std::atan(1.0)) /
         bk::below_normal(-b).slope;
}

// 1/a is inverse Gaussian(1/r, 1).
static double hinge_latent_cdf(double a, double r) {
  const double u = (r - a) / std::sqrt(a), v = (r + a) / std::sqrt(a);
  return normal_cdf(-u) - scaled_tail(u, v);
}

TEST("gamma draws follow their law for shapes from 0.01 to 1000") {
  for (const double shape : {0.01, 0.1, 0.5, 0.99, 1.0, 1.5, 3.0, 50.0, 1e3}) {
    const double rate = 2.5;
    const auto draws =
        sample(11, [&](Stream& s) { return bk::gamma(s, shape, rate); });
    const auto cdf = [&](double x) {
      return boost::math::gamma_p(shape, rate * x);
    };
    // Draws of shape 0.01 that underflow to 0 are ties at a point of
    // probability 6e-4; the logarithmic variate has its own test.
    if (shape > 0.05) CHECK_LAW(draws, cdf);
    const double mean = shape / rate, sd = std::sqrt(shape) / rate;
    double sum = 0.0;
    for (const double x : draws) sum += x;
    // Skewness 2 / sqrt(shape) widens the limit for small shapes.
    const double limit = shape < 0.05 ? 7.0 : 4.8;
    CHECK(std::abs(sum / draws.size() - mean) <
          limit * sd / std::sqrt(draws.size()));
  }
}

TEST("the logarithm of a gamma draw is finite and exact for tiny shapes") {
  for (const double shape : {1e-4, 0.01, 0.3, 1.0, 1e3}) {
    const auto draws =
        sample(12, [&](Stream& s) { return bk::log_gamma_variate(s, shape); });
    bool finite = true;
    for (const double x : draws) finite = finite && std::isfinite(x);
    CHECK(finite);
    // Below exp(-30) only the first term of the series matters.
    const auto cdf = [&](double x) {
      return x < -30.0 ? std::exp(shape * x - bk::log_gamma(shape + 1.0))
                       : boost::math::gamma_p(shape, std::exp(x));
    };
    CHECK_LAW(draws, cdf);
  }
}

TEST("latent scales follow GIG(1/2, 1, r^2) from r = 0 to 1e4") {
  for (const double r : {0.0, 1e-8, 0.05, 0.4, 1.0, 10.0, 1e4}) {
    const auto draws =
        sample(17, [&](Stream& s) { return bk::hinge_latent(s, r); });
    const auto cdf = [&](double a) { return hinge_latent_cdf(a, r); };
    CHECK_LAW(draws, cdf);
    double sum = 0.0, squares = 0.0;
    for (const double a : draws) {
      sum += a - (r + 1.0);
      squares += (a - (r + 1.0)) * (a - (r + 1.0));
    }
    // Mean r + 1, variance r + 2, fourth central moment 3 var^2 + 12 r + 48.
    const double variance = r + 2.0, n = static_cast<double>(draws.size());
    const double fourth = 3.0 * variance * variance + 12.0 * r + 48.0;
    CHECK(std::abs(sum / n) < 4.8 * std::sqrt(variance / n));
    CHECK(std::abs(squares / n - variance) <
          5.0 * std::sqrt((fourth - variance * variance) / n));
  }
}

// P(a <= limit), by quadrature of the density.
TEST("latent scales agree with tabulated probabilities") {
  struct Row {
    double r, limit, probability;
  };
  const Row table[] = {
      {1e-8, 0.1, 0.24817035843585},  {1e-8, 0.5, 0.52049987301805},
      {1e-8, 1.0, 0.68268948896398},  {1e-8, 3.0, 0.91673548250380},
      {1e-8, 20., 0.99999225578349},  {0.05, 0.1, 2.11783077488e-01},
      {0.05, 0.5, 4.96439701823e-01}, {0.05, 1.0, 6.66639515529e-01},
      {0.05, 3.0, 9.12492070372e-01}, {0.05, 20., 9.99991859197e-01},
      {0.4, 0.1, 4.47060576884e-02},  {0.4, 0.5, 3.30236915262e-01},
      {0.4, 1.0, 5.46019631877e-01},  {0.4, 3.0, 8.78090563318e-01},
      {0.4, 20., 9.99988489359e-01},  {1.0, 0.1, 3.50414537209e-04},
      {1.0, 0.5, 1.14524574014e-01},  {1.0, 1.0, 3.31897998777e-01},
      {1.0, 3.0, 7.98599000267e-01},  {1.0, 20., 9.99979426935e-01},
      {3.0, 0.5, 5.35823688224e-05},  {3.0, 1.0, 9.97304106703e-03},
      {3.0, 3.0, 3.92686830465e-01},  {3.0, 20., 9.99873481720e-01},
      {20., 3.0, 1.24998896224e-23},  {20., 20., 4.55934731908e-01}};
  for (const Row& row : table) {
    CHECK(std::abs(hinge_latent_cdf(row.limit, row.r) - row.probability) <
          1e-11);
    double below = 0.0;
    for (const double a :
         sample(18, [&](Stream& s) { return bk::hinge_latent(s, row.r); })) {
      below += a <= row.limit;
    }
    const double n = check::draws(), p = row.probability;
    // Five counts more than the normal limit, for the rarest events.
    CHECK(std::abs(below - n * p) < 4.5 * std::sqrt(n * p * (1.0 - p)) + 5.0);
  }
}

TEST("latent scales have a floor and no overflow at extreme arguments") {
  CHECK(bk::hinge_latent(0.0, 0.0, 0.5) == bk::kLatentFloor);
  CHECK(bk::hinge_latent(1e-200, 1e-300, 0.999) == bk::kLatentFloor);
  CHECK_NEAR(bk::hinge_latent(1e200, 1.0, 0.999999), 1e200, 1e-12);
  CHECK_NEAR(bk::hinge_latent(1e200, 1.0, 0.000001), 1e200, 1e-12);
}

// Phi(b) - Phi(a), from the tail in which it keeps its digits.
static double normal_mass(double a, double b) {
  const double root = std::sqrt(0.5);
  return a > 0.0 ? 0.5 * (std::erfc(a * root) - std::erfc(b * root))
                 : 0.5 * (std::erfc(-b * root) - std::erfc(-a * root));
}

TEST("truncated normal draws follow their law on any interval") {
  const double intervals[][2] = {{-kInfinity, kInfinity},
                                 {0.0, kInfinity},
                                 {-kInfinity, 0.0},
                                 {-0.3, kInfinity},
                                 {0.7, kInfinity},
                                 {-kInfinity, -0.7},
                                 {1.0, kInfinity},
                                 {3.0, kInfinity},
                                 {8.0, kInfinity},
                                 {-kInfinity, -8.0},
                                 {30.0, kInfinity},
                                 {-kInfinity, -30.0},
                                 {-1.0, 1.0},
                                 {-5.0, 0.2},
                                 {-0.1, 0.1},
                                 {0.9, 2.5},
                                 {0.2, 1.9},
                                 {-1.9, -0.2},
                                 {0.0, 1e-3},
                                 {2.0, 2.001},
                                 {-3.5, -2.0},
                                 {8.0, 8.2},
                                 {-30.5, -30.0},
                                 {-1e-9, 1.6},
                                 {0.5, 1.9}};
  for (const auto& interval : intervals) {
    const double lower = interval[0], upper = interval[1];
    const auto draws = sample(
        19, [&](Stream& s) { return bk::truncated_normal(s, lower, upper); });
    const auto range = std::minmax_element(draws.begin(), draws.end());
    CHECK(*range.first >= lower && *range.second <= upper);
    const double mass = normal_mass(lower, upper);
    const auto cdf = [&](double x) { return normal_mass(lower, x) / mass; };
    CHECK_LAW(draws, cdf);
  }
}

// Beyond 1e4 standard deviations the law is exponential to 1e-8.
TEST("truncated normal draws reach tails where erfc underflows") {
  for (const double lower : {1e4, 1e8}) {
    const auto right = sample(20, [&](Stream& s) {
      return (bk::truncated_normal(s, lower, kInfinity) - lower) * lower;
    });
    const auto left = sample(21, [&](Stream& s) {
      return (-lower - bk::truncated_normal(s, -kInfinity, -lower)) * lower;
    });
    const auto cdf = [](double x) { return -std::expm1(-x); };
    if (lower < 1e7) {
      CHECK_LAW(right, cdf);
      CHECK_LAW(left, cdf);
    } else {
      CHECK(*std::min_element(right.begin(), right.end()) >= 0.0);
      CHECK(*std::min_element(left.begin(), left.end()) >= 0.0);
    }
  }
}

TEST("an interval of one point gives that point") {
  Stream stream(22, 0, 0, 0, 0);
  for (const double x : {-40.0, -0.5, 0.0, 0.5, 40.0}) {
    CHECK(bk::truncated_normal(stream, x, x) == x);
  }
}

TEST("location and scale carry over to the truncated normal") {
  const double mean = 3.0, sd = 0.5, lower = 3.6, upper = 5.0;
  const auto draws = sample(23, [&](Stream& s) {
    return bk::truncated_normal(s, mean, sd, lower, upper);
  });
  const double a = (lower - mean) / sd, b = (upper - mean) / sd;
  const auto cdf = [&](double x) {
    return normal_mass(a, (x - mean) / sd) / normal_mass(a, b);
  };
  CHECK_LAW(draws, cdf);
}

TEST("a truncated normal without a finite interval gives up at once") {
  Stream stream(1, 0, 0, 0, 0);
  const double nan = std::nan("");
  CHECK_THROWS(bk::truncated_normal(stream, nan, 1.0), bk::NumericError);
  CHECK_THROWS(bk::truncated_normal(stream, 0.0, nan), bk::NumericError);
  CHECK_THROWS(bk::truncated_normal(stream, nan, 1.0, 0.0, kInfinity),
               bk::NumericError);
  CHECK_THROWS(bk::truncated_normal(stream, kInfinity, kInfinity),
               bk::NumericError);
  CHECK_THROWS(bk::truncated_normal(stream, 2.0, 1.0), bk::NumericError);
}

TEST("a uniform index stays below its number where the product rounds up") {
  const double largest = 1.0 - 0x1p-53;
  for (const std::ptrdiff_t n :
       {std::ptrdiff_t{1}, std::ptrdiff_t{3}, (std::ptrdiff_t{1} << 53) + 3,
        (std::ptrdiff_t{1} << 60) + 65}) {
    CHECK(bk::index_below(largest, n) < n);
    CHECK(bk::index_below(0x1p-53, n) >= 0);
  }
  Stream stream(1, 0, 0, 0, 0);
  std::vector<int> seen(5, 0);
  for (int k = 0; k < 5000; ++k) ++seen[bk::uniform_index(stream, 5)];
  for (const int count : seen) CHECK(std::abs(count - 1000) < 150);
}
