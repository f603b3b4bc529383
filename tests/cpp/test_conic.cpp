#include <fstream>
#include <sstream>
#include <string>

#include "check.hpp"
#include "math/normal.hpp"
#include "multinomial/conic.hpp"

using bayeskernel::ConicRule;
using bayeskernel::Stream;
using Eigen::Index;
using Eigen::VectorXd;

// 4,001 nodes over the mode's +-12, in the log scale.
struct Reference {
  double log_z;
  VectorXd y;
};

static Reference slow_moments(const VectorXd& m, Index t, const VectorXd& s) {
  const Index c = m.size();
  const auto z = [&](Index j, double u) {
    return (s[t] * u + m[t] - m[j]) / s[j];
  };
  const auto h = [&](double u) {
    double sum = -0.5 * u * u;
    for (Index j = 0; j < c; ++j) {
      if (j != t) sum += bayeskernel::log_normal_cdf(z(j, u));
    }
    return sum;
  };
  double low = 0.0, high = 1e7;  // h' > 0 at the first, < 0 at the second
  for (int k = 0; k < 200; ++k) {
    const double u = 0.5 * (low + high);
    double slope = -u;
    for (Index j = 0; j < c; ++j) {
      if (j != t)
        slope += s[t] / s[j] * bayeskernel::below_normal(z(j, u)).slope;
    }
    (slope > 0.0 ? low : high) = u;
  }
  const int count = 4001;
  const double step = 24.0 / (count - 1), top = h(low);
  double sum = 0.0;
  VectorXd pull = VectorXd::Zero(c);
  for (int k = 0; k < count; ++k) {
    const double u = low - 12.0 + k * step, w = std::exp(h(u) - top);
    sum += w;
    for (Index j = 0; j < c; ++j) {
      if (j != t) pull[j] += w * bayeskernel::below_normal(z(j, u)).slope;
    }
  }
  pull /= sum;
  Reference out{top + std::log(sum * step / 2.50662827463100050242), m - pull};
  out.y[t] = m[t] + pull.sum();
  return out;
}

static VectorXd normals(Index n, double sd, std::uint64_t seed) {
  Stream stream(seed, 0, 1, 0, 0);
  VectorXd out(n);
  for (Index i = 0; i < n; ++i) out[i] = sd * stream.normal();
  return out;
}

TEST("moments agree with a rule of 4,001 nodes, for any number of classes") {
  std::uint64_t seed = 1;
  for (const Index c : {2, 3, 10, 27, 60}) {
    ConicRule rule(c);
    for (const double sd : {0.5, 4.0, 30.0, 100.0}) {
      const VectorXd m = normals(c, sd, seed++);
      const Index t = static_cast<Index>(seed) % c;
      const Reference slow = slow_moments(m, t, VectorXd::Ones(c));
      VectorXd y(c);
      CHECK_NEAR(rule.moments(m.data(), t, y.data()), slow.log_z, 1e-11);
      CHECK((y - slow.y).cwiseAbs().maxCoeff() < 1e-10);
    }
  }
}

TEST("probabilities with unequal scales agree with it and add up to 1") {
  std::uint64_t seed = 100;
  for (const Index c : {2, 3, 10, 27}) {
    ConicRule rule(c);
    for (const double spread : {0.1, 1.0, 2.0}) {
      const VectorXd m = normals(c, 3.0, seed++);
      const VectorXd s = normals(c, spread, seed++).array().exp();
      double sum = 0.0;
      for (Index t = 0; t < c; ++t) {
        const double found = rule.log_probability(m.data(), s.data(), t);
        const double slow = slow_moments(m, t, s).log_z;
        CHECK(std::abs(found - slow) < 1e-9 * (1.0 + std::abs(slow)));
        sum += std::exp(found);
      }
      CHECK(std::abs(sum - 1.0) < 1e-10);
    }
  }
}

TEST("the curvature is the derivative of the moments") {
  for (const Index classes : {2, 3, 8}) {
    for (const double spread : {0.5, 3.0, 15.0}) {
      ConicRule rule(classes, 201);
      Stream stream(7, 0, 1, 0, 0);
      VectorXd m(classes), up(classes), down(classes), bend(classes);
      for (int repeat = 0; repeat < 5; ++repeat) {
        for (Index c = 0; c < classes; ++c) m[c] = spread * stream.normal();
        rule.curvature(m.data(), 1, bend.data());
        for (Index c = 0; c < classes; ++c) {
          VectorXd near = m;
          near[c] += 1e-4;
          rule.moments(near.data(), 1, up.data());
          near[c] -= 2e-4;
          rule.moments(near.data(), 1, down.data());
          CHECK_NEAR(bend[c], 1.0 - (up[c] - down[c]) / 2e-4, 1e-6);
        }
      }
    }
  }
  // Of two classes far apart the nearest corner is all there is.
  ConicRule rule(2);
  const double far[] = {1e5, -1e5};
  double bend[2];
  rule.curvature(far, 0, bend);
  CHECK(bend[0] == 0.0 && bend[1] == 0.0);
  rule.curvature(far, 1, bend);
  CHECK_NEAR(bend[0], 0.5, 1e-4);
  CHECK_NEAR(bend[1], 0.5, 1e-4);
}

TEST("far out the moments are those of the nearest corner") {
  for (const double far : {1e2, 1e4, 1e6}) {
    // Two classes: y_2 - y_1 ~ N(far, 2) cut at 0 from the right.
    ConicRule rule(2);
    VectorXd m(2), y(2);
    m << 0.0, far;
    const double z = -far / std::sqrt(2.0);
    const double log_z = rule.moments(m.data(), 0, y.data());
    CHECK(std::abs(log_z / bayeskernel::log_normal_cdf(z) - 1.0) < 1e-13);
    const double pull = bayeskernel::below_normal(z).slope / std::sqrt(2.0);
    CHECK_NEAR(y[0], pull, 1e-12);
    CHECK_NEAR(y[1], far - pull, 1e-12);
    CHECK(y[0] > y[1]);
    CHECK(std::abs(rule.moments(m.data(), 1, y.data())) < 1e-14);
    CHECK(y[0] == 0.0 && y[1] == far);
  }
  ConicRule rule(27);
  VectorXd y(27);
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const VectorXd m = normals(27, 1e6, seed);
    for (Index t = 0; t < 27; t += 5) {
      const double log_z = rule.moments(m.data(), t, y.data());
      CHECK(std::isfinite(log_z) && log_z <= 1e-15 && y.allFinite());
      // Means keep the order of the cone and the sum of m.
      CHECK(y[t] >= y.maxCoeff() - 1e-9);
      CHECK(std::abs(y.sum() - m.sum()) < 1e-8 * m.cwiseAbs().sum());
    }
  }
}

TEST("given moments, where the file is") {
  const char* folder = std::getenv("BAYESKERNEL_GOLDEN");
  const std::string root = folder != nullptr ? folder : "../testthat/golden";
  std::ifstream file(root + "/mkprobit/conic.csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> field;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) {
      field.push_back(cell);
    }
    const Index c = std::stoi(field[0]), t = std::stoi(field[1]) - 1;
    VectorXd m(c), given(c), y(c);
    std::stringstream from(field[2]), to(field[4]);
    for (Index j = 0; j < c; ++j) {
      from >> m[j];
      to >> given[j];
    }
    const double log_z = std::stod(field[3]);
    const double found = ConicRule(c).moments(m.data(), t, y.data());
    CHECK(std::abs(found - log_z) <=
          (std::abs(log_z) > 1e3 ? 1e-13 * std::abs(log_z) : 1e-10));
    CHECK((y - given).cwiseAbs().maxCoeff() < 1e-10);
  }
}

TEST("draws lie in the cone and have its moments") {
  const int draws = check::slow() ? 100000 : 20000;
  std::uint64_t seed = 40;
  for (const Index c : {2, 3, 10, 27}) {
    ConicRule rule(c);
    for (const double sd : {0.5, 4.0, 50.0}) {
      const VectorXd m = normals(c, sd, ++seed);
      const Index t = static_cast<Index>(seed) % c;
      VectorXd mean(c), y(c), sum = VectorXd::Zero(c), square = sum;
      rule.moments(m.data(), t, mean.data());
      const int count = draws / (c > 3 ? 4 : 1);
      bool inside = true;
      for (int k = 0; k < count; ++k) {
        Stream stream(seed, 0, bayeskernel::Purpose::latent, k, 0);
        rule.draw(m.data(), t, stream, y.data());
        inside = inside && y[t] == y.maxCoeff();
        sum += y - mean;
        square += (y - mean).cwiseAbs2();
      }
      CHECK(inside);
      sum /= count;
      const VectorXd error =
          (square / count - sum.cwiseAbs2()).cwiseSqrt() / std::sqrt(count);
      for (Index j = 0; j < c; ++j) {
        CHECK(std::abs(sum[j]) < 4.9 * error[j] + 1e-9);
      }
    }
  }
}

TEST("a draw of two classes has the exact law") {
  VectorXd m(2), y(2);
  m << 0.3, 1.1;
  ConicRule rule(2);
  std::vector<double> sample;
  for (int k = 0; k < check::draws() / 2; ++k) {
    Stream stream(5, 0, bayeskernel::Purpose::latent, k, 0);
    rule.draw(m.data(), 0, stream, y.data());
    sample.push_back(y[0] - y[1]);
  }
  // N(-0.8, 2) above 0.
  const double below = bayeskernel::normal_cdf(0.8 / std::sqrt(2.0));
  CHECK_LAW(sample, [&](double x) {
    return (bayeskernel::normal_cdf((x + 0.8) / std::sqrt(2.0)) - below) /
           (1.0 - below);
  });
}

TEST("draws far out are numbers in the cone") {
  ConicRule rule(5);
  VectorXd y(5);
  for (int k = 0; k < 200; ++k) {
    const VectorXd m = normals(5, 1e6, 1000 + k);
    Stream stream(6, 0, bayeskernel::Purpose::latent, k, 0);
    rule.draw(m.data(), k % 5, stream, y.data());
    CHECK(y.allFinite() && y[k % 5] == y.maxCoeff());
  }
}
