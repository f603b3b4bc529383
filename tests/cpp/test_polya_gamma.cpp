#include "rng/polya_gamma.hpp"
#include <boost/math/special_functions/gamma.hpp>

#include "check.hpp"

namespace bk = bayeskernel;
using bk::Stream;

template <class Draw>
static std::vector<double> sample(std::uint64_t seed, int count, Draw draw) {
  Stream stream(seed, 0, 0, 0, 0);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = draw(stream);
  return values;
}

// Distribution function of PG(1, c): 4 X is the time at which a Brownian motion
// with drift c / 2 leaves (-1, 1).
static double polya_cdf(double x, double c) {
  const double pi = bk::detail::kPi, z = 0.5 * c;
  double tail = 0.0;
  for (int n = 60; n >= 0; --n) {
    const double odd = 2.0 * n + 1.0;
    const double rate = odd * odd * pi * pi / 8.0 + 0.5 * z * z;
    tail += (n % 2 == 0 ? 1.0 : -1.0) * 0.5 * pi * odd / rate *
            std::exp(-4.0 * rate * x);
  }
  return 1.0 - std::cosh(z) * tail;
}

TEST("one exact draw follows its law for every tilt") {
  std::uint64_t seed = 0;
  for (const double c : {0.0, 0.05, -0.6, 2.0, 3.1, 3.2, 9.0, 25.0}) {
    const auto draws = sample(++seed, check::draws(), [&](Stream& s) {
      return bk::polya_gamma(s, 1.0, c);
    });
    const auto cdf = [&](double x) { return polya_cdf(x, std::abs(c)); };
    CHECK_LAW(draws, cdf);
  }
}

TEST("repeated gamma draws follow their law") {
  std::uint64_t seed = 10;
  for (const double shape : {0.05, 0.3, 0.99, 1.0, 1.3, 5.0, 300.0}) {
    const bk::detail::RepeatedGamma draw(shape);
    const auto draws =
        sample(++seed, check::draws(), [&](Stream& s) { return draw(s); });
    const auto cdf = [&](double x) { return boost::math::gamma_p(shape, x); };
    CHECK_LAW(draws, cdf);
  }
}

TEST("the sum of gammas has the law of the exact draw") {
  std::uint64_t seed = 20;
  for (const double c : {0.0, 0.6, 3.1, 9.0}) {
    const auto draws = sample(++seed, check::draws(), [&](Stream& s) {
      return bk::detail::polya_gamma_sum(s, 1.0, c, 8);
    });
    const auto cdf = [&](double x) { return polya_cdf(x, c); };
    CHECK_LAW(draws, cdf);
  }
}

TEST("mean, variance and Laplace transform are those of any power") {
  double largest = 0.0;
  std::uint64_t seed = 40;
  for (const double w : {0.05, 0.2, 0.5, 1.0, 2.0, 3.0, 3.7, 40.0}) {
    for (const double c : {0.0, 0.6, -2.0, 9.0, 60.0}) {
      const int count = check::draws();
      const auto draws = sample(
          ++seed, count, [&](Stream& s) { return bk::polya_gamma(s, w, c); });
      const auto [mean, variance] = bk::polya_gamma_moments(w, c);
      // Of g(X) against its expectation.
      const auto z = [&](auto&& g, double expected) {
        double sum = 0.0, square = 0.0;
        for (const double x : draws) {
          const double d = g(x) - expected;
          sum += d;
          square += d * d;
        }
        return std::abs(sum) / std::sqrt(square);
      };
      largest = std::max(largest, z([](double x) { return x; }, mean));
      largest = std::max(
          largest,
          z([&](double x) { return (x - mean) * (x - mean); }, variance));
      for (const double scaled : {0.5, 3.0}) {
        const double t = scaled / mean;
        const double log_value =
            w * (std::log(std::cosh(0.5 * c)) -
                 std::log(std::cosh(std::sqrt(0.25 * c * c + 0.5 * t))));
        largest = std::max(
            largest,
            z([&](double x) { return std::exp(-t * x); }, std::exp(log_value)));
      }
    }
  }
  std::printf("polya-gamma: largest |z| %.2f\n", largest);
  CHECK(largest < 5.0);
}

// E exp(-t X) of the sum of gammas that is cut, without sampling.
static double cut_transform(double w, double c, int terms, double t) {
  const double unit = 0.5 / (bk::detail::kPi * bk::detail::kPi);
  auto [mean, variance] = bk::polya_gamma_moments(1.0, c);
  double sum = 0.0;
  for (int k = 0; k < terms; ++k) {
    const double part = unit / ((k + 0.5) * (k + 0.5) + 0.5 * unit * c * c);
    sum -= w * std::log1p(part * t);
    mean -= part;
    variance -= part * part;
  }
  sum -= w * mean * mean / variance * std::log1p(t * variance / mean);
  return std::exp(sum);
}

TEST("what the cut sum leaves out of the Laplace transform is small") {
  for (const double w : {0.02, 0.05, 0.1, 0.3, 1.0, 1.3, 5.0}) {
    const int terms = bk::detail::polya_gamma_terms(w);
    for (const double c : {0.0, 0.005, 0.02, 1.0, 5.0, 20.0}) {
      const double limit = w >= 1.0 && c <= 5.0 ? 1e-6 : 3e-5;
      for (double t = 0.1; t < 1e5; t *= 3.0) {
        const double root = std::sqrt(0.25 * c * c + 0.5 * t);
        const double exact =
            std::exp(w * (0.5 * c + std::log1p(std::exp(-c)) - root -
                          std::log1p(std::exp(-2.0 * root))));
        CHECK(std::abs(cut_transform(w, c, terms, t) - exact) < limit);
      }
    }
  }
}

TEST("moments neither jump nor overflow") {
  const auto below = bk::polya_gamma_moments(1.0, 0.0999999);
  const auto above = bk::polya_gamma_moments(1.0, 0.1000001);
  CHECK_NEAR(below.mean, above.mean, 1e-8);
  CHECK_NEAR(below.variance, above.variance, 1e-9);
  CHECK_NEAR(bk::polya_gamma_moments(1.0, 1e5).mean, 0.5e-5, 1e-15);
  CHECK_NEAR(bk::polya_gamma_moments(1.0, 1e4).variance, 0.5e-12, 1e-22);
  // Of an independent table.
  const auto table = bk::polya_gamma_moments(3.7, 2.0);
  CHECK_NEAR(table.mean, 0.704474594259083, 1e-12);
  CHECK_NEAR(table.variance, 0.0789995820665271, 1e-12);
}

TEST("a tilt of any size gives a finite draw") {
  Stream stream(90, 0, 0, 0, 0);
  for (const double c : {1e2, 1e3, 1e5, 1e8}) {
    for (const double w : {0.3, 1.0, 7.5}) {
      for (int k = 0; k < 200; ++k) {
        const double x = bk::polya_gamma(stream, w, c);
        CHECK(std::isfinite(x) && x > 0.0);
      }
    }
  }
}
