#include "likelihood/probability.hpp"

#include "check.hpp"

using bayeskernel::hinge_probability;
using bayeskernel::HingeProbability;

// E g(f) by adaptive quadrature outside this project.
TEST("the expectation equals constants from adaptive quadrature") {
  const double known[][3] = {
      // m, s^2, E g
      {-2.5, 0.05, 0.00100654679557},  {-1.0, 0.05, 0.02736742791259},
      {-0.2, 0.05, 0.33516027724855},  {0.0, 0.05, 0.50000000000000},
      {0.7, 0.05, 0.92258371325742},   {1.0, 0.05, 0.97263257208741},
      {3.0, 0.05, 0.99962942424950},   {-2.5, 0.50, 0.00308282342325},
      {-1.0, 0.50, 0.11705946768845},  {-0.2, 0.50, 0.40520620535172},
      {0.0, 0.50, 0.50000000000000},   {0.7, 0.50, 0.79860389889266},
      {1.0, 0.50, 0.88294053231155},   {3.0, 0.50, 0.99903312620215},
      {-2.5, 1.00, 0.01281448926525},  {-1.0, 1.00, 0.18178649023823},
      {-0.2, 1.00, 0.42774220978342},  {0.0, 1.00, 0.50000000000000},
      {0.7, 1.00, 0.73786764981809},   {1.0, 1.00, 0.81821350976177},
      {3.0, 1.00, 0.99587563296056},   {-2.5, 4.00, 0.11207845604222},
      {-1.0, 4.00, 0.31331083234149},  {-0.2, 4.00, 0.46124138423229},
      {0.0, 4.00, 0.50000000000000},   {0.7, 4.00, 0.63328202343792},
      {1.0, 4.00, 0.68668916765851},   {3.0, 4.00, 0.92760850565790},
      {-2.5, 30.00, 0.32467866553701}, {-1.0, 30.00, 0.42784534105934},
      {-0.2, 30.00, 0.48549267024533}, {0.0, 30.00, 0.50000000000000},
      {0.7, 30.00, 0.55064999682089},  {1.0, 30.00, 0.57215465894066},
      {3.0, 30.00, 0.70732459981190}};
  const HingeProbability probability;
  for (const auto& row : known) {
    CHECK_NEAR(probability(row[0], std::sqrt(row[1])), row[2], 1e-6);
  }
}

// Simpson's rule on a fine grid, a slow second opinion.
static double simpson(double m, double s) {
  const int n = 20000;
  const double low = m - 10.0 * s, step = 20.0 * s / n;
  double sum = 0.0;
  for (int k = 0; k <= n; ++k) {
    const double t = low + k * step, z = (t - m) / s;
    const double weight = k == 0 || k == n ? 1.0 : k % 2 == 1 ? 4.0 : 2.0;
    sum += weight * hinge_probability(t) * std::exp(-0.5 * z * z);
  }
  return sum * step / 3.0 / (s * 2.5066282746310002);
}

TEST("the expectation is accurate on both sides of the change of rule") {
  const HingeProbability probability;
  for (double m : {-8.0, -3.0, -1.0, -0.3, 0.0, 0.7, 1.0, 1.4, 4.0}) {
    for (double s :
         {0.01, 0.1, 0.2, 0.2499, 0.25, 0.3, 0.6, 2.0, 10.0, 100.0}) {
      CHECK_NEAR(probability(m, s), simpson(m, s), 2e-6);
    }
  }
}

TEST("probabilities of opposite values add to one") {
  const HingeProbability probability;
  for (double m : {0.0, 0.4, 1.0, 2.5, 30.0}) {
    for (double s : {0.0, 0.05, 0.2, 0.25, 1.0, 8.0, 1e4}) {
      CHECK_NEAR(probability(m, s) + probability(-m, s), 1.0, 1e-12);
    }
  }
}

TEST("extreme values stay within zero and one") {
  const HingeProbability probability;
  for (double m : {-1e300, -800.0, 0.0, 800.0, 1e300}) {
    for (double s : {0.0, 1e-200, 0.1, 1.0, 1e150}) {
      const double p = probability(m, s);
      CHECK(p >= 0.0 && p <= 1.0);
    }
  }
  CHECK(hinge_probability(0.0) == 0.5);
  CHECK_NEAR(hinge_probability(0.5), 1.0 / (1.0 + std::exp(-2.0)), 1e-15);
  CHECK_NEAR(hinge_probability(3.0), 1.0 / (1.0 + std::exp(-8.0)), 1e-15);
}
