// Rules of a Gibbs chain, one by family: each draws the latent of a row given f
// and sets the numbers that theta is drawn with. Given its latent a row is a
// Gaussian observation exp(b f - k f^2 / 2) of f:
//   hinge     a           k = w^2 / a,  b = y (w + k)
//   probit    z_1 .. z_w  k = w,        b = sum z
//   logit     omega       k = omega,    b = w y / 2
//   gaussian  none        k = w / v,    b = k y
// With f = eta + e, e ~ N(0, r) integrated out of theta's draw, kappa =
// k / (1 + k r) and the shift b / (1 + k r). A power w of 0 says nothing.
#ifndef BAYESKERNEL_LINEAR_GIBBS_RULES_HPP
#define BAYESKERNEL_LINEAR_GIBBS_RULES_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "error.hpp"
#include "parallel/scratch_pool.hpp"
#include "rng/distributions.hpp"
#include "rng/polya_gamma.hpp"
#include "rng/stream.hpp"
#include "linear/pass.hpp"
#include "linear/row_rules.hpp"

namespace bayeskernel {

// What of a rule's numbers is the same in every sweep, for the same rows.
enum class Repeats {
  nothing,
  kappa,
  everything  // up to the factor 1 / v
};

class GibbsRule : public Rule {
 public:
  GibbsRule(std::uint64_t seed, std::uint64_t chain)
      : seed_(seed), chain_(chain) {}

  // `latent`: GibbsState's, written to; `noise`: 1 / v.
  void set(std::uint64_t sweep, VectorXd& latent, double noise) {
    sweep_ = sweep;
    latent_ = latent.data();
    noise_ = noise;
  }

  virtual Repeats repeats(bool /*residuals*/) const { return Repeats::nothing; }
  // Where latents of rows with residuals start.
  virtual double start() const { return 1.0; }

 protected:
  Stream stream(const TileSpan& span) const {
    return Stream(seed_, chain_, Purpose::latent, sweep_,
                  static_cast<std::uint64_t>(span.number));
  }
  double& latent(const TileSpan& span, Index i) const {
    return latent_[span.row_begin + i];
  }
  double noise() const { return noise_; }

  // f given eta and an observation (k, b) of it.
  static double draw_f(Stream& stream, double eta, double r, double k,
                       double b) {
    const double shrink = 1.0 / (1.0 + k * r);
    return shrink * (eta + r * b) + std::sqrt(r * shrink) * stream.normal();
  }
  // The numbers of row i from (k, b).
  static void put(const Tile& tile, Index i, double k, double b,
                  RowNumbers out) {
    const double shrink = 1.0 / (1.0 + k * tile.residual_of(i));
    out.kappa[i] = shrink * k;
    out.linear[i] = shrink * (b - k * tile.offset[i]);
  }

 private:
  std::uint64_t seed_, chain_, sweep_ = 0;
  double* latent_ = nullptr;
  double noise_ = 1.0;
};

// The draw of hinge_latent() for many rows: a from r, the square of a normal
// and a uniform, with `larger` as work space. Packed arithmetic; the choice
// between the two roots is a look-up, since a branch would be a coin flip.
template <class In, class Work, class Out>
void hinge_latents(const In& r, const Work& square, const Work& uniform,
                   Work larger, Out& a) {
  larger = r + 0.5 * (square + (square * (4.0 * r + square)).sqrt());
  a = r * (r / larger);
  for (Index i = 0; i < a.size(); ++i) {
    const double root[2] = {a[i], larger[i]};
    const double draw = root[uniform[i] * (larger[i] + r[i]) <= larger[i]];
    a[i] = std::max(draw, kLatentFloor);
  }
}

// a | f by row. Where rows have residuals e_i these are drawn first, given f's
// other part and the last latent scale a / w^2, and integrated out after it.
class HingeGibbs final : public GibbsRule {
 public:
  using GibbsRule::GibbsRule;

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double*, RowNumbers out) const override {
    const Index n = span.rows();
    auto loan = pool_.borrow();
    Scratch& scratch = *loan;
    if (scratch.f.size() < n) {
      for (Eigen::ArrayXd* v : {&scratch.f, &scratch.square, &scratch.uniform,
                                &scratch.larger}) {
        v->resize(n);
      }
    }
    std::copy_n(m, n, scratch.f.data());
    Stream numbers = stream(span);
    add_residuals(span, tile, numbers, scratch.f.data());
    for (Index i = 0; i < n; ++i) {
      const double z = numbers.normal();
      scratch.square[i] = z * z;
      scratch.uniform[i] = numbers.uniform();
    }
    const auto y = tile.y.array(), w = tile.weight.array();
    auto r = scratch.f.head(n);
    Eigen::Map<Eigen::ArrayXd> kappa(out.kappa, n);
    r = (w * (1.0 - y * r)).abs();
    hinge_latents(r, scratch.square.head(n), scratch.uniform.head(n),
                  scratch.larger.head(n), kappa);
    kappa = w.square() / kappa;
    Eigen::Map<Eigen::ArrayXd>(out.linear, n) =
        y * (w + kappa) - kappa * tile.offset.array();
    widen(span, tile, out);
    return 0.0;
  }

 private:
  struct Scratch {
    Eigen::ArrayXd f, square, uniform, larger;
  };

  // f_i given theta and the latent scale: y (1 + a / w) is an observation of
  // it with variance a / w^2.
  void add_residuals(const TileSpan& span, const Tile& tile, Stream& stream,
                     double* f) const {
    for (Index i = 0; i < tile.residual.size(); ++i) {
      const double r = tile.residual[i], w = tile.weight[i];
      const double z = stream.normal();
      if (!(r > 0.0)) continue;
      if (w == 0.0) {
        f[i] += std::sqrt(r) * z;
        continue;
      }
      const double t = latent(span, i);
      const double observed = tile.y[i] * (1.0 + t * w);
      f[i] += r / (r + t) * (observed - f[i]) + std::sqrt(r * t / (r + t)) * z;
    }
  }

  // kappa = w^2 / a becomes 1 / (a / w^2 + r), and the linear number with it.
  void widen(const TileSpan& span, const Tile& tile, RowNumbers out) const {
    for (Index i = 0; i < tile.residual.size(); ++i) {
      const double w = tile.weight[i];
      if (w == 0.0) continue;
      const double t = 1.0 / out.kappa[i];
      latent(span, i) = t;
      out.kappa[i] = 1.0 / (t + tile.residual[i]);
      out.linear[i] =
          out.kappa[i] * (tile.y[i] * (1.0 + t * w) - tile.offset[i]);
    }
  }

  mutable ScratchPool<Scratch> pool_;
};

// z_j ~ N(f, 1) on the side of y. One z has e integrated out and needs no state;
// more than one share an e, drawn given the last sum of them.
class ProbitGibbs final : public GibbsRule {
 public:
  using GibbsRule::GibbsRule;

  Repeats repeats(bool) const override { return Repeats::kappa; }
  double start() const override { return 0.0; }

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double*, RowNumbers out) const override {
    Stream numbers = stream(span);
    for (Index i = 0; i < span.rows(); ++i) {
      const double w = tile.weight[i], r = tile.residual_of(i);
      double sum = 0.0;
      if (w == 1.0) {
        const double variance = 1.0 + r;
        sum = on_side(numbers, tile.y[i], m[i], std::sqrt(variance));
        out.kappa[i] = 1.0 / variance;
        out.linear[i] = (sum - tile.offset[i]) / variance;
        continue;
      }
      const bool shared = r > 0.0 && w > 0.0;
      const double f =
          shared ? draw_f(numbers, m[i], r, w, latent(span, i)) : m[i];
      for (double j = 0.0; j < w; j += 1.0) {
        sum += on_side(numbers, tile.y[i], f, 1.0);
      }
      if (shared) latent(span, i) = sum;
      put(tile, i, w, sum, out);
    }
    return 0.0;
  }

 private:
  // N(f, sd^2) given that y z > 0.
  static double on_side(Stream& stream, double y, double f, double sd) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double t = truncated_normal(stream, -y * f / sd, kInfinity);
    return f + y * sd * t;
  }
};

// omega ~ PG(w, f); before it f, given eta and the last omega.
class LogitGibbs final : public GibbsRule {
 public:
  using GibbsRule::GibbsRule;

  double start() const override { return 0.25; }

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double*, RowNumbers out) const override {
    Stream numbers = stream(span);
    for (Index i = 0; i < span.rows(); ++i) {
      const double w = tile.weight[i], r = tile.residual_of(i);
      if (w == 0.0) {
        put(tile, i, 0.0, 0.0, out);
        continue;
      }
      const double b = 0.5 * w * tile.y[i];
      double f = m[i];
      if (r > 0.0) f = draw_f(numbers, f, r, latent(span, i), b);
      const double omega = polya_gamma(numbers, w, f);
      if (r > 0.0) latent(span, i) = omega;
      put(tile, i, omega, b, out);
    }
    return 0.0;
  }
};

class GaussianGibbs final : public GibbsRule {
 public:
  using GibbsRule::GibbsRule;

  Repeats repeats(bool residuals) const override {
    return residuals ? Repeats::nothing : Repeats::everything;
  }

  double tile(const TileSpan& span, const Tile& tile, const double*,
              const double*, RowNumbers out) const override {
    for (Index i = 0; i < span.rows(); ++i) {
      const double k = tile.weight[i] * noise();
      put(tile, i, k, k * tile.y[i], out);
    }
    return 0.0;
  }
};

inline std::unique_ptr<GibbsRule> make_gibbs_rule(Family family,
                                                  std::uint64_t seed,
                                                  std::uint64_t chain) {
  switch (family) {
    case Family::probit: return std::make_unique<ProbitGibbs>(seed, chain);
    case Family::logit: return std::make_unique<LogitGibbs>(seed, chain);
    case Family::gaussian: return std::make_unique<GaussianGibbs>(seed, chain);
    default: return std::make_unique<HingeGibbs>(seed, chain);
  }
}

// Sum of w (y - f)^2, f with e drawn given y and v.
class NoiseRule final : public GibbsRule {
 public:
  using GibbsRule::GibbsRule;

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double*, RowNumbers) const override {
    Stream numbers = stream(span);
    double sum = 0.0;
    for (Index i = 0; i < span.rows(); ++i) {
      const double w = tile.weight[i], r = tile.residual_of(i);
      const double k = w * noise();
      const double f =
          r > 0.0 ? draw_f(numbers, m[i], r, k, k * tile.y[i]) : m[i];
      sum += w * (tile.y[i] - f) * (tile.y[i] - f);
    }
    return sum;
  }
};

// 1 / v given the rows: v ~ IG(A + sum w / 2, B + sum w (y - f)^2 / 2).
class NoiseDraw {
 public:
  NoiseDraw(const RowModel& model, const RowSource& rows,
            Executor& executor, std::uint64_t seed, std::uint64_t chain)
      : prior_(model.noise),
        learned_(model.learns_noise()),
        seed_(seed),
        chain_(chain),
        pass_(rows, executor),
        rule_(seed, chain) {}

  // A pass over the rows; `block` is that of the stream, behind those of the
  // prior's blocks, `weight` the sum of the powers.
  void run(const ArrowVector& point, std::uint64_t sweep, std::uint64_t block,
           double weight, double& precision) {
    if (!learned_) return;
    Moments at;
    at.point = &point;
    rule_.set(sweep, none_, precision);
    pass_.run(at, rule_, Second::none, sums_, RowStore(), Gather::nothing);
    Stream stream(seed_, chain_, Purpose::variance, sweep, block);
    const double draw = gamma(stream, prior_.shape + 0.5 * weight,
                              prior_.rate + 0.5 * sums_.bound);
    precision = std::min(std::max(draw, 1e-100), 1e100);
  }

 private:
  NoisePrior prior_;
  bool learned_;
  std::uint64_t seed_, chain_;
  Pass pass_;
  NoiseRule rule_;
  Sums sums_;
  VectorXd none_;
};

// What a look at the rows before the first sweep tells.
struct RowFacts {
  bool residuals = false;
  double weight = 0.0;  // gaussian: the sum of the powers
};

// Every row of a Gaussian or a probit likelihood, whose powers are numbers of
// latents; of the others the first tile, which tells whether there are residuals.
inline RowFacts check_rows(const RowSource& rows, Family family) {
  RowFacts out;
  const bool all = family == Family::probit || family == Family::gaussian;
  MatrixXd buffer;
  for (Index c = 0; c < rows.chunks(); ++c) {
    rows.load(c, -1);
    for (Index b = rows.chunk_begin(c); b < rows.chunk_begin(c + 1); ++b) {
      for (const TileSpan& span : rows.block_tiles(b)) {
        const Tile tile = rows.tile(span, buffer);
        out.residuals = tile.residual.size() > 0;
        if (!all) return out;
        out.weight += tile.weight.sum();
        const auto w = tile.weight.array();
        if (family == Family::probit && (w != w.floor()).any()) {
          throw ArgumentError(
              "the sampler takes whole numbers as weights of a probit "
              "likelihood: family \"logit\" or method \"ep\" takes any");
        }
      }
    }
  }
  return out;
}

}  // namespace bayeskernel

#endif
