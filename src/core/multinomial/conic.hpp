// Normal vectors cut to a cone: y_c ~ N(m_c, 1), independent, given that y_t
// is the largest (Damoulas and Girolami 2009, eq. 4 and 6). With u = y_t - m_t
// everything is an integral over u against exp h(u),
//   h(u) = -u^2 / 2 + sum_{j != t} log Phi(z_j),  z_j = a_j u + b_j,
// a_j = 1 and b_j = m_t - m_j. Classes of unequal sds s_c, in u s_t + m_t, have
// a_j = s_t / s_j and b_j = (m_t - m_j) / s_j. Since h'' <= -1, all mass lies
// within 8 of the mode, and the trapezoid rule there converges geometrically.
// O(C T) a vector for T nodes; nodes of no weight are left out.
#pragma once

#include "eigen.hpp"
#include "error.hpp"
#include "math/bordered.hpp"
#include "math/normal.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"
#include "simd/lanes_exp.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
namespace detail {
constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;
}  // namespace detail

// Number of nodes that leaves less than 1e-10 in log Z and in every mean.
inline Index conic_nodes(Index classes) {
  return classes <= 3 ? 33 : classes <= 12 ? 57 : 73;
}

// One object of the rule, with its buffers, for each thread.
class ConicRule {
 public:
  explicit ConicRule(Index classes, Index nodes = 0)
      : classes_(classes),
        nodes_(nodes > 0 ? nodes : conic_nodes(classes)),
        a_(classes),
        b_(classes),
        pull_(classes),
        by_class_(classes),
        which_(classes) {}

  // log Z = log P(t | m); `y` (C, or null) becomes the means E y_c.
  double moments(const double* m, Index t, double* y);

  // 1 - Var y_c (C): the diagonal of minus the second derivatives of log Z.
  void curvature(const double* m, Index t, double* out);

  // log P(t) where y_c ~ N(m_c, s_c^2).
  double log_probability(const double* m, const double* s, Index t);

  // All of them, which add up to 1 but for the error of the rule.
  void log_probabilities(const double* m, const double* s, double* out);

  Index classes() const { return classes_; }

  // y, an exact draw (section A of the paper by a scan; here at once): u by
  // rejection from the normal density that touches exp h at u0, which lies
  // above since h'' <= -1, wherever u0 is: a few steps towards the mode do; the
  // others are truncated normals given y_t. What h falls short of that density
  // lies between two parabolas in d = u - u0, as the curvature of log Phi(z)
  // rises from 0 to 1 for falling z: most draws are decided by these.
  void draw(const double* m, Index t, Stream& stream, double* y);

 private:
  static constexpr double kHalfWidth = 8.0;
  static constexpr Index kGroup = 8;  // nodes side by side, at most

  static double slope_below(double z);

  // lambda + z, which cancels far below 0.
  static double excess_below(double z, double lambda);

  // log Phi(z + d) - log Phi(z).
  static double log_cdf_change(double z, double d);

  // Newton's steps from 0 climb to the mode: h' decreases and is convex. What
  // the rule needs of it is not exact.
  double mode() const;

  // log of the integral; the means of lambda(z_k) in pull_ if asked for.
  double integrate(bool with_pull) {
    const double top = mode();
    if (!std::isfinite(top)) {
      throw NumericError("a latent function is not finite");
    }
    double steepest = 1.0;
    for (Index k = 0; k < count_; ++k) steepest = std::max(steepest, a_[k]);
    const Index nodes =
        static_cast<Index>(std::min(1e5, std::ceil((nodes_ - 1) * steepest))) +
        1;
    const double step = 2.0 * kHalfWidth / static_cast<double>(nodes - 1);
    sort_classes(top, with_pull);
    const Index padded = (nodes + kGroup - 1) / kGroup * kGroup + kGroup;
    if (weight_.size() < padded) weight_.resize(padded);
    if (lambda_.size() < padded * classes_) lambda_.resize(padded * classes_);
    const double sum =
        detail::run_any(simd::level(), [=](auto lanes) BAYESKERNEL_INLINE {
          return this->nodes_sum(lanes, nodes, step, padded, with_pull);
        });
    return constant_ + std::log(sum * step * detail::kInverseSqrtTwoPi);
  }

  // Classes far below (all nodes at z < 0, whose squares go into one quadratic
  // in d = u - top, so that nothing cancels), near, and so far above that they
  // have no say, which are left out. The order: far first.
  void sort_classes(double top, bool with_pull);

  // exp{h(d) - h(0)} at nodes d from the middle outwards, until nothing is
  // left; their sum.
  template <class Lanes>
  BAYESKERNEL_INLINE double nodes_sum(Lanes, Index nodes, double step,
                                      Index padded, bool with_pull) {
    constexpr Index kWidth = Lanes::width;
    constexpr double kNothing = 4e-18;
    const Index middle = (nodes - 1) / 2 / kWidth * kWidth;
    Index first = middle, last = middle;
    double sum = 0.0;
    for (int side = 0; side < 2; ++side) {
      for (Index t = side == 0 ? middle : middle - kWidth; t >= 0 && t < nodes;
           t += side == 0 ? kWidth : -kWidth) {
        const double part = node_group<Lanes>(t, nodes, step, padded);
        sum += part;
        first = std::min(first, t);
        last = std::max(last, t + kWidth);
        if (part < kNothing) break;
      }
    }
    if (with_pull) {
      grid_ = {nodes, first, last, padded, step};
      const double* weight = weight_.data();
      for (Index o = 0; o < far_ + near_; ++o) {
        const double* lambda = lambda_.data() + o * padded;
        typename Lanes::Vector total{};
        for (Index t = first; t < last; t += kWidth) {
          total +=
              simd::view<Lanes>(weight + t) * simd::view<Lanes>(lambda + t);
        }
        double all = 0.0;
        for (Index i = 0; i < kWidth; ++i) all += total[i];
        pull_[order_[o]] = all / sum;
      }
    }
    return sum;
  }

  template <class Lanes>
  BAYESKERNEL_INLINE double node_group(Index t, Index nodes, double step,
                                       Index padded) {
    using Vector = typename Lanes::Vector;
    constexpr Index kWidth = Lanes::width;
    const double centre = 0.5 * static_cast<double>(nodes - 1);
    Vector d{};
    for (Index i = 0; i < kWidth; ++i) {
      d[i] = step * (static_cast<double>(t + i) - centre);
    }
    Vector exponent = d * (linear_ - 0.5 * quadratic_ * d) - shift_;
    Vector product = d * 0.0 + 1.0;
    for (Index o = 0; o < far_ + near_; ++o) {
      const Vector z = a_[order_[o]] * d + at_[o];
      Vector& lambda = simd::view<Lanes>(lambda_.data() + o * padded + t);
      const Vector size = z < 0.0 ? -z : z;
      Vector mills = size;
      detail::replace_by_mills(mills);
      if (o < far_) {
        lambda = 1.0 / mills;
        product *= mills * detail::kInverseSqrtTwoPi;
      } else {
        const Vector half_square = -0.5 * size * size;
        Vector density = half_square;
        simd::replace_by_exp<Lanes>(density);
        density *= detail::kInverseSqrtTwoPi;
        const Vector inverse = d * 0.0 + detail::kInverseSqrtTwoPi;
        const Vector factor = z < 0.0 ? mills * inverse : 1.0 - density * mills;
        lambda = (z < 0.0 ? inverse : density) / factor;
        product *= factor;
        exponent += z < 0.0 ? half_square : half_square * 0.0;
      }
      // Products stay numbers.
      if (o % 12 == 11) {
        for (Index i = 0; i < kWidth; ++i) exponent[i] += std::log(product[i]);
        product = d * 0.0 + 1.0;
      }
    }
    simd::replace_by_exp<Lanes>(exponent);
    Vector& weight = simd::view<Lanes>(weight_.data() + t);
    weight = exponent * product;
    double sum = 0.0;
    for (Index i = 0; i < kWidth; ++i) {
      if (t + i >= nodes) weight[i] = 0.0;
      sum += weight[i];
    }
    return sum;
  }

  Index classes_, nodes_, count_ = 0;
  std::vector<double> a_, b_, pull_, by_class_;
  std::vector<Index> which_;
  // Of integrate(): classes in order, their z at the mode, and what of h is
  // common to all nodes.
  std::vector<Index> order_;
  std::vector<double> at_;
  Index far_ = 0, near_ = 0;
  double linear_ = 0.0, quadratic_ = 1.0, constant_ = 0.0, shift_ = 0.0;
  VectorXd weight_, lambda_;
  // Nodes that have weight, with pull_ alone.
  struct Grid {
    Index nodes = 0, first = 0, last = 0, padded = 0;
    double step = 0.0;
  };
  Grid grid_;
};
}  // namespace bayeskernel
