// Means of three curves of a row's margin under a normal law, by what is quick
// for its variance: Gauss-Hermite nodes, or a grid with the curves' values.
#pragma once

#include "likelihood/likelihood.hpp"
#include "likelihood/trapezoid_table.hpp"
#include "math/quadrature.hpp"

namespace bayeskernel {
using Three = TrapezoidTable::Three;

template <int N>
struct HermiteNodes {
  Eigen::Array<double, N, 1> node, weight;
  HermiteNodes() {
    const GaussHermite rule(N);
    node = rule.node.array();
    weight = rule.weight.array();
  }
};

// Where the integrands are, for N(a, v): all of them are below 1e-10 of their
// size outside.
struct Range {
  double low, high;
};

constexpr double kReach = 6.5;  // standard deviations

// A logit of power 1, t ~ N(a, v), a >= 0: u, u^2, u^3, u(t) = 1 / (1 + e^t).
// They are small for large a and the means accurate relative to that. Signs and
// labels are the caller's: u(-t) = 1 - u(t).
struct LogitPowers {
  static Three curves(double t);
  template <int N>
  static Three sums(const Eigen::Array<double, N, 1>& t,
                    const Eigen::Array<double, N, 1>& weight) {
    const Eigen::Array<double, N, 1> u = (1.0 + t.exp()).inverse();
    Eigen::Array<double, N, 1> term = weight * u;
    Three out;
    for (double& sum : out) {
      sum = term.sum();
      term *= u;
    }
    return out;
  }
  // u^k times the density has its mode above a - k v, and above -sqrt v if a
  // is; u times the density below a - v / 2 or 0.
  static Range range(double a, double v, double sd);
  // What the curves have but for a difference that vanishes like exp(-|t|), for
  // sd = 2; its mean for t ~ N(a, v), sd^2 = v + 4.
  static constexpr bool kSplit = true;
  static Three split(double t, double sd);
};

// The same for log(1 + e^-t), u and u (1 - u).
struct LogitBound {
  static Three curves(double t);
  template <int N>
  static Three sums(const Eigen::Array<double, N, 1>& t,
                    const Eigen::Array<double, N, 1>& weight) {
    MarginArray<N> at;
    logit_margins(t, at);
    return {-(weight * at.value).sum(), (weight * at.slope).sum(),
            (weight * at.curvature).sum()};
  }
  static Range range(double a, double v, double sd) {
    return LogitPowers::range(a, v, sd);
  }
  static constexpr bool kSplit = true;
  static Three split(double t, double sd);
};

// A probit: the margin's terms, any a.
struct ProbitBound {
  static Three curves(double t);
  template <int N>
  static Three sums(const Eigen::Array<double, N, 1>& t,
                    const Eigen::Array<double, N, 1>& weight) {
    MarginArray<N> at;
    probit_margins(t, at);
    return {(weight * at.value).sum(), (weight * at.slope).sum(),
            (weight * at.curvature).sum()};
  }
  // The terms vanish like phi(t), t > 0, which moves their modes.
  static Range range(double a, double v, double sd) {
    return {std::min(a, a / (1.0 + v)) - kReach * sd, a + kReach * sd};
  }
  static constexpr bool kSplit = false;
};

template <class Curves>
class CurveMeans {
 public:
  // Whether one of the quick rules is accurate; it is not for large v if a is
  // large, too.
  bool operator()(double a, double v, Three& out) const {
    if (!(std::abs(a) < 500.0 && v < 1e6)) return false;
    if (v <= 0.18) {
      out = v <= 0.01  ? hermite(four_, a, v)
            : v <= 0.1 ? hermite(eight_, a, v)
                       : hermite(twelve_, a, v);
      return true;
    }
    if constexpr (Curves::kSplit) {
      if (v > 12.0 && a < 0.3 * v && a * a < 25.0 * (v + 4.0)) {
        const double end = 27.0 / (1.0 - a / v);
        out = difference_.integrals(-end, end, a, v);
        const Three smooth = Curves::split(a, std::sqrt(v + 4.0));
        for (int k = 0; k < 3; ++k) out[k] += smooth[k];
        return true;
      }
    }
    const Range range = Curves::range(a, v, std::sqrt(v));
    const TrapezoidTable& table = v < 0.45  ? fine_
                                  : v < 1.3 ? middle_
                                            : coarse_;
    if (range.low < table.low() || range.high > table.high()) return false;
    out = table.integrals(range.low, range.high, a, v);
    return true;
  }

 private:
  template <int N>
  static Three hermite(const HermiteNodes<N>& rule, double a, double v) {
    return Curves::template sums<N>(a + std::sqrt(v) * rule.node, rule.weight);
  }

  static Three difference(double t) {
    Three out = Curves::curves(t);
    if constexpr (Curves::kSplit) {
      const Three smooth = Curves::split(t, 2.0);
      for (int k = 0; k < 3; ++k) out[k] -= smooth[k];
    }
    return out;
  }

  HermiteNodes<4> four_;
  HermiteNodes<8> eight_;
  HermiteNodes<12> twelve_;
  TrapezoidTable fine_{0.375, -80.0, 40.0, Curves::curves};
  TrapezoidTable middle_{0.5, -80.0, 60.0, Curves::curves};
  TrapezoidTable coarse_{0.625, -80.0, 130.0, Curves::curves};
  TrapezoidTable difference_{0.625, -40.0, 40.0, difference};
};
}  // namespace bayeskernel
