// Rules of a Gibbs chain, one by family: each draws the latent of a row given f
// and sets the numbers that theta is drawn with. Given its latent a row is a
// Gaussian observation exp(b f - k f^2 / 2) of f:
//   hinge     a           k = w^2 / a,  b = y (w + k)
//   probit    z_1 .. z_w  k = w,        b = sum z
//   logit     omega       k = omega,    b = w y / 2
//   gaussian  none        k = w / v,    b = k y
// With f = eta + e, e ~ N(0, r) integrated out of theta's draw, kappa =
// k / (1 + k r) and the shift b / (1 + k r). A power w of 0 says nothing.
//
// Latent scales of the hinge: Wenzel et al. (2017), eq. 4 and 5.
#pragma once

#include "eigen.hpp"
#include "likelihood/family.hpp"
#include "likelihood/rules.hpp"
#include "linear/pass.hpp"
#include "linear/row_rules.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

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
  void set(std::uint64_t sweep, VectorXd& latent, double noise);

  virtual Repeats repeats(bool /*residuals*/) const { return Repeats::nothing; }
  // Where latents of rows with residuals start.
  virtual double start() const { return 1.0; }

 protected:
  Stream stream(const TileSpan& span) const;
  double& latent(const TileSpan& span, Index i) const {
    return latent_[span.row_begin + i];
  }
  double noise() const { return noise_; }

  // f given eta and an observation (k, b) of it.
  static double draw_f(Stream& stream, double eta, double r, double k,
                       double b);
  // The numbers of row i from (k, b).
  static void put(const Tile& tile, Index i, double k, double b,
                  RowNumbers out);

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
              const double*, RowNumbers out) const override;

 private:
  struct Scratch {
    ArrayXd f, square, uniform, larger;
  };

  // f_i given theta and the latent scale: y (1 + a / w) is an observation of
  // it with variance a / w^2.
  void add_residuals(const TileSpan& span, const Tile& tile, Stream& stream,
                     double* f) const;

  // kappa = w^2 / a becomes 1 / (a / w^2 + r), and the linear number with it.
  void widen(const TileSpan& span, const Tile& tile, RowNumbers out) const;

  mutable ScratchPool<Scratch> pool_;
};

// z_j ~ N(f, 1) on the side of y. One z has e integrated out and needs no
// state; more than one share an e, drawn given the last sum of them.
class ProbitGibbs final : public GibbsRule {
 public:
  using GibbsRule::GibbsRule;

  Repeats repeats(bool) const override { return Repeats::kappa; }
  double start() const override { return 0.0; }

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double*, RowNumbers out) const override;

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
              const double*, RowNumbers out) const override;
};

class GaussianGibbs final : public GibbsRule {
 public:
  using GibbsRule::GibbsRule;

  Repeats repeats(bool residuals) const override {
    return residuals ? Repeats::nothing : Repeats::everything;
  }

  double tile(const TileSpan& span, const Tile& tile, const double*,
              const double*, RowNumbers out) const override;
};

std::unique_ptr<GibbsRule> make_gibbs_rule(Family family, std::uint64_t seed,
                                           std::uint64_t chain);

// Sum of w (y - f)^2, f with e drawn given y and v.
class NoiseRule final : public GibbsRule {
 public:
  using GibbsRule::GibbsRule;

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double*, RowNumbers) const override;
};

// 1 / v given the rows: v ~ IG(A + sum w / 2, B + sum w (y - f)^2 / 2).
class NoiseDraw {
 public:
  NoiseDraw(const RowModel& model, const RowSource& rows, Executor& executor,
            std::uint64_t seed, std::uint64_t chain)
      : prior_(model.noise),
        learned_(model.learns_noise()),
        seed_(seed),
        chain_(chain),
        pass_(rows, executor),
        rule_(seed, chain) {}

  // A pass over the rows; `block` is that of the stream, behind those of the
  // prior's blocks, `weight` the sum of the powers.
  void run(const ArrowVector& point, std::uint64_t sweep, std::uint64_t block,
           double weight, double& precision);

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
// latents; of the others the first tile, which tells whether there are
// residuals.
RowFacts check_rows(const RowSource& rows, Family family);
}  // namespace bayeskernel
