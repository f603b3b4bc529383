// Rows of the likelihood families: each number against a slower definition of
// it, or an identity.
#include "check.hpp"
#include "likelihood/bounds.hpp"
#include "likelihood/tilted.hpp"
#include "math/special.hpp"
#include "predict/link.hpp"
#include "rng/polya_gamma.hpp"

using bayeskernel::augmented_terms;
using bayeskernel::DirectTerms;
using bayeskernel::Family;
using bayeskernel::log_likelihood;
using bayeskernel::Noise;
using bayeskernel::RowTerms;
using bayeskernel::Site;
using bayeskernel::Tilted;
using bayeskernel::TiltedMoments;

static const Family kLabels[] = {Family::hinge, Family::probit, Family::logit};
static const Family kAll[] = {Family::hinge, Family::probit, Family::logit,
                              Family::gaussian};

// Simpson's rule over (low, high), in two parts where the hinge has its kink.
template <class Visit>
static void simpson(double low, double high, double kink, Visit&& visit) {
  const double cut = std::min(std::max(kink, low), high);
  const int n = 3000;
  for (const bool upper : {false, true}) {
    const double from = upper ? cut : low, to = upper ? high : cut;
    if (!(to > from)) continue;
    const double step = (to - from) / n;
    for (int k = 0; k <= n; ++k) {
      const double weight = k == 0 || k == n ? 1.0 : k % 2 == 1 ? 4.0 : 2.0;
      visit(from + k * step, weight * step / 3.0);
    }
  }
}

struct Slow {
  double log_z, mean, variance;
};

// Of the density exp(w log p(y | f)) N(f; m, v), over where it is within 45
// nats of its mode; concave in the logarithm.
static Slow slow_tilted(Family family, double y, double w, double m, double v,
                        double noise) {
  const auto log_density = [&](double f) {
    return w * log_likelihood(family, y, f, noise) -
           0.5 * (f - m) * (f - m) / v - 0.5 * std::log(v) -
           bayeskernel::detail::kLogSqrtTwoPi;
  };
  const double far = 20.0 * std::sqrt(v) + 2.0 * w * v + 20.0 * std::abs(y - m);
  double low = m - far, high = m + far;
  for (int k = 0; k < 200; ++k) {
    const double a = low + (high - low) / 3.0, b = high - (high - low) / 3.0;
    (log_density(a) < log_density(b) ? low : high) =
        log_density(a) < log_density(b) ? a : b;
  }
  const double mode = 0.5 * (low + high), most = log_density(mode);
  const auto end = [&](double direction) {
    double inside = 0.0, outside = far;
    for (int k = 0; k < 60; ++k) {
      const double middle = 0.5 * (inside + outside);
      (log_density(mode + direction * middle) > most - 45.0 ? inside
                                                            : outside) = middle;
    }
    return mode + direction * outside;
  };
  double total = 0.0, mean = 0.0, variance = 0.0;
  const double kink = family == Family::hinge ? y : mode;
  const double from = end(-1.0), to = end(1.0);
  simpson(from, to, kink, [&](double f, double weight) {
    total += weight * std::exp(log_density(f) - most);
    mean += weight * std::exp(log_density(f) - most) * (f - mode);
  });
  mean /= total;
  simpson(from, to, kink, [&](double f, double weight) {
    variance += weight * std::exp(log_density(f) - most) * (f - mode - mean) *
                (f - mode - mean);
  });
  return {most + std::log(total), mode + mean, variance / total};
}

static double slow_bound(Family family, double y, double w, double m, double v,
                         double noise) {
  const double sd = std::sqrt(v);
  double sum = 0.0;
  simpson(m - 14.0 * sd, m + 14.0 * sd, family == Family::hinge ? y : m,
          [&](double f, double weight) {
            sum += weight / sd * bayeskernel::normal_density((f - m) / sd) * w *
                   log_likelihood(family, y, f, noise);
          });
  return sum;
}

TEST("tilted moments are those of the tilted density") {
  for (const Family family : kAll) {
    const TiltedMoments moments(family);
    for (double w : {0.3, 1.0, 2.0, 20.0}) {
      for (double v : {1e-4, 0.02, 0.15, 0.3, 0.9, 2.5, 11.0, 14.0, 150.0}) {
        for (double m : {-9.0, -2.0, -0.1, 0.0, 0.7, 4.0, 12.0}) {
          for (double y : {-1.0, 1.0}) {
            const Tilted found = moments(y, w, m, v, 0.6);
            const Slow slow = slow_tilted(family, y, w, m, v, 0.6);
            CHECK_NEAR(found.log_z, slow.log_z, 1e-9);
            CHECK_NEAR(found.alpha1 * std::sqrt(v),
                       (slow.mean - m) / std::sqrt(v), 1e-8);
            CHECK_NEAR(found.variance_ratio, slow.variance / v, 1e-8);
            CHECK_NEAR(found.alpha2 * v, 1.0 - slow.variance / v, 1e-8);
          }
        }
      }
    }
  }
}

TEST("tilted moments are derivatives of log Z") {
  for (const Family family : kAll) {
    const TiltedMoments moments(family);
    for (double w : {1.0, 1.5}) {
      for (double v : {0.05, 0.5, 3.0, 30.0, 400.0}) {
        for (double m : {-3.0, -0.4, 0.2, 2.0}) {
          const double h = 1e-3 * std::sqrt(v);
          const Tilted at = moments(1.0, w, m, v, 0.6);
          const Tilted up = moments(1.0, w, m + h, v, 0.6);
          const Tilted down = moments(1.0, w, m - h, v, 0.6);
          CHECK_NEAR(at.alpha1, (up.log_z - down.log_z) / (2.0 * h), 2e-6);
          CHECK_NEAR(at.alpha2, (down.alpha1 - up.alpha1) / (2.0 * h), 2e-6);
          CHECK_NEAR(at.variance_ratio, 1.0 - v * at.alpha2, 1e-9);
          // d log Z / dV = (alpha1^2 - alpha2) / 2.
          const double k = 1e-4 * v;
          CHECK_NEAR(0.5 * (at.alpha1 * at.alpha1 - at.alpha2),
                     (moments(1.0, w, m, v + k, 0.6).log_z -
                      moments(1.0, w, m, v - k, 0.6).log_z) /
                         (2.0 * k),
                     2e-6);
        }
      }
    }
  }
}

TEST("the general rule meets what is special at power 1") {
  for (const Family family : {Family::probit, Family::logit}) {
    const TiltedMoments moments(family);
    for (double v : {0.02, 0.15, 0.3, 0.9, 2.5, 11.0, 14.0, 90.0, 500.0, 1e4}) {
      for (double m : {-7.0, -1.2, 0.0, 0.6, 3.0, 10.0}) {
        const Tilted one = moments(-1.0, 1.0, m, v, 1.0);
        const Tilted near = moments(-1.0, 1.0 + 1e-12, m, v, 1.0);
        CHECK_NEAR(near.log_z, one.log_z, 1e-9);
        CHECK_NEAR(near.alpha1, one.alpha1, 1e-9);
        CHECK_NEAR(near.alpha2 * v, one.alpha2 * v, 1e-8);
        CHECK_NEAR(near.variance_ratio, one.variance_ratio, 1e-8);
      }
    }
  }
}

TEST("bounds have the derivatives that they name") {
  const DirectTerms direct;
  for (const Family family : kAll) {
    for (const bool is_direct : {false, true}) {
      const Noise noise{1.7, -0.3};
      const auto row = [&](double w, double m, double s) {
        return is_direct ? direct(family, -1.0, w, m, s, noise)
                         : augmented_terms(family, -1.0, w, m, s, noise);
      };
      for (double w : {0.3, 2.0}) {
        for (double m : {-3.0, -0.5, 0.2, 2.0}) {
          for (double s : {0.05, 0.3, 0.8, 3.0, 40.0}) {
            const double h = 1e-4 * std::sqrt(s), k = 1e-4 * s;
            const RowTerms at = row(w, m, s);
            const RowTerms up = row(w, m + h, s), down = row(w, m - h, s);
            CHECK_NEAR(at.gradient, (up.bound - down.bound) / (2.0 * h), 1e-6);
            CHECK_NEAR(at.newton, (down.gradient - up.gradient) / (2.0 * h),
                       2e-6);
            CHECK_NEAR(at.kappa,
                       (row(w, m, s - k).bound - row(w, m, s + k).bound) / k,
                       2e-6);
          }
        }
      }
    }
  }
}

TEST("the direct bound is E log p, above the augmented and below log Z") {
  const DirectTerms direct;
  for (const Family family : kAll) {
    const TiltedMoments moments(family);
    for (double w : {0.3, 1.0, 2.0}) {
      for (double m : {-6.0, -1.3, 0.0, 0.4, 2.5, 9.0}) {
        for (double s : {1e-4, 0.05, 0.15, 0.3, 1.0, 6.0, 40.0, 300.0}) {
          const Noise noise{1.0 / 0.6, std::log(0.6)};
          const RowTerms row = direct(family, 1.0, w, m, s, noise);
          const double exact = slow_bound(family, 1.0, w, m, s, 0.6);
          CHECK_NEAR(row.bound, exact, 1e-7);
          const RowTerms below = augmented_terms(family, 1.0, w, m, s, noise);
          CHECK(row.bound >= below.bound - 1e-9 * (1.0 - below.bound));
          const double above = moments(1.0, w, m, s, 0.6).log_z;
          CHECK(above >= row.bound - 1e-9 * (1.0 - row.bound));
          if (family != Family::gaussian) CHECK(row.kappa >= 0.0);
          CHECK(row.kappa == row.newton);
        }
      }
    }
  }
}

TEST("without variance a row is its likelihood") {
  const DirectTerms direct;
  const Noise noise{1.0 / 0.6, std::log(0.6)};
  for (const Family family : kAll) {
    const TiltedMoments moments(family);
    for (double m : {-2.5, -0.3, 0.4, 1.8}) {
      const double y = 1.0, w = 1.7, s = 1e-9;
      const double value = w * log_likelihood(family, y, m, 0.6);
      CHECK_NEAR(direct(family, y, w, m, s, noise).bound, value, 1e-8);
      CHECK_NEAR(moments(y, w, m, s, 0.6).log_z, value, 1e-8);
      const double h = 1e-4;
      const double bend = -w *
                          (log_likelihood(family, y, m + h, 0.6) -
                           2.0 * log_likelihood(family, y, m, 0.6) +
                           log_likelihood(family, y, m - h, 0.6)) /
                          (h * h);
      CHECK_NEAR(direct(family, y, w, m, s, noise).kappa, bend, 1e-6);
      const Site factor = site(moments(y, w, m, s, 0.6), m, s, 0.0);
      CHECK_NEAR(factor.kappa, bend, 1e-6);
    }
  }
}

TEST("the other label mirrors a row") {
  const DirectTerms direct;
  for (const Family family : kLabels) {
    const TiltedMoments moments(family);
    for (double m : {-2.5, 0.0, 0.4, 11.0}) {
      for (double s : {0.01, 0.5, 7.0, 200.0}) {
        const Tilted a = moments(1.0, 1.4, m, s, 1.0);
        const Tilted b = moments(-1.0, 1.4, -m, s, 1.0);
        CHECK(a.log_z == b.log_z && a.alpha1 == -b.alpha1 &&
              a.alpha2 == b.alpha2 && a.variance_ratio == b.variance_ratio);
        for (const bool is_direct : {false, true}) {
          const auto row = [&](double y) {
            return is_direct
                       ? direct(family, y, 1.4, y * m, s, Noise())
                       : augmented_terms(family, y, 1.4, y * m, s, Noise());
          };
          const RowTerms c = row(1.0), d = row(-1.0);
          CHECK(c.bound == d.bound && c.gradient == -d.gradient &&
                c.kappa == d.kappa && c.newton == d.newton);
        }
      }
    }
  }
}

// q(x) tilted has mean m + v alpha1 and variance v - v^2 alpha2.
TEST("a site takes the cavity to the moments of the tilted law") {
  for (const Family family : kAll) {
    const TiltedMoments moments(family);
    for (double m : {-2.0, 0.3, 3.0}) {
      for (double v : {0.02, 0.7, 9.0}) {
        for (double r : {0.0, 0.5, 4.0}) {
          const Tilted at = moments(1.0, 1.0, m, v + r, 0.6);
          const Site found = site(at, m, v, r);
          const double variance = v - v * v * at.alpha2;
          const double mean = m + v * at.alpha1;
          CHECK_NEAR(1.0 / v + found.kappa, 1.0 / variance, 1e-10);
          CHECK_NEAR(m / v + found.b, mean / variance, 1e-10);
        }
      }
    }
  }
}

TEST("wide cavities and rows that are certain keep their signs") {
  for (const Family family : kLabels) {
    const TiltedMoments moments(family);
    for (double w : {0.5, 1.0, 3.0, 200.0}) {
      for (double v : {1e-20, 1e-8, 1.0, 1e3, 1e6, 1e9}) {
        for (double m : {-1e5, -300.0, -40.0, 0.0, 40.0, 300.0, 1e5}) {
          const Tilted at = moments(1.0, w, m, v, 1.0);
          CHECK(std::isfinite(at.log_z) && at.log_z <= 1e-9);
          CHECK(at.alpha1 >= 0.0 && at.alpha1 * std::sqrt(v) < 1e9);
          CHECK(at.alpha2 >= 1e-12 && at.variance_ratio >= -1e-9 &&
                at.variance_ratio < 1.0001);
          const Site factor = site(at, m, v, 0.0);
          CHECK(factor.kappa > 0.0 && std::isfinite(factor.kappa + factor.b));
        }
      }
    }
    CHECK(std::isnan(moments(1.0, 1.0, std::nan(""), 1.0, 1.0).log_z));
    CHECK(std::isnan(moments(1.0, 2.0, 0.0, std::nan(""), 1.0).alpha2));
  }
}

TEST("the hinge's augmented rule is that of mean field, bit for bit") {
  const bayeskernel::BoundRule rule(Family::hinge, false);
  for (double m : {-3.0, 0.2, 1.0}) {
    for (double s : {0.0, 0.3, 8.0}) {
      const RowTerms a = rule.row(-1.0, 0.7, m, s);
      const RowTerms b = bayeskernel::mean_field(-1.0, 0.7, m, s);
      CHECK(a.kappa == b.kappa && a.gradient == b.gradient &&
            a.newton == b.newton && a.bound == b.bound);
    }
  }
}

TEST("normal tails seen from their ends agree with the slow functions") {
  for (double x = -60.0; x < 9.0; x += 0.37) {
    const bayeskernel::BelowNormal at = bayeskernel::below_normal(x);
    CHECK_NEAR(at.log_cdf, bayeskernel::log_normal_cdf(x), 1e-13);
    if (x < -5.0) {
      CHECK_NEAR(bayeskernel::mills_ratio(-x) /
                     bayeskernel::detail::mills_ratio_tail(-x),
                 1.0, 3e-15);
    }
    // The variance of what is below, by its derivative: d excess / dx.
    const double h = 1e-4;
    CHECK_NEAR(at.variance,
               (bayeskernel::below_normal(x + h).excess -
                bayeskernel::below_normal(x - h).excess) /
                   (2.0 * h),
               1e-7);
    CHECK_NEAR(at.curvature + at.variance, 1.0, 1e-15);
  }
}

TEST("logistic probabilities are means of the curve and add to one") {
  const bayeskernel::LinkCurve curve(bayeskernel::Link::logit);
  for (double m : {-40.0, -12.0, -3.0, -0.4, 0.0, 0.1, 2.0, 7.0, 25.0}) {
    for (double v : {0.0, 1e-3, 0.5, 0.99, 1.01, 3.0, 40.0, 900.0, 1e5}) {
      double exact = bayeskernel::expit(m);
      if (v > 0.0) {
        exact = std::exp(slow_tilted(Family::logit, 1.0, 1.0, m, v, 1.0).log_z);
      }
      CHECK(std::abs(curve.mean(m, v) - exact) < 1e-7);
      CHECK(curve.mean(m, v) + curve.mean(-m, v) == 1.0);
    }
  }
  Eigen::ArrayXd f(3), work(3), out(3);
  f << -800.0, 0.3, 800.0;
  curve.values(f, work, out);
  CHECK_NEAR(out[1], bayeskernel::expit(0.3), 1e-15);
  CHECK(out[0] >= 0.0 && out[0] < 1e-300 && out[2] == 1.0);
  bayeskernel::LinkCurve(bayeskernel::Link::identity).values(f, work, out);
  CHECK(out[0] == -800.0);
}
