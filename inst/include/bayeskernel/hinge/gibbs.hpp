// Gibbs chain of the hinge engine: a | f, then (theta, u) | a with u integrated
// out of theta's draw, then the variances, then one move along a scale with a
// integrated out (scale_move.hpp). One sweep is one pass over the rows and a
// cheap one. The state between sweeps is the draw itself. The steps are public:
// a model with further steps (selection, missing values) puts its own sweep
// together (model_chain.hpp).
#ifndef BAYESKERNEL_HINGE_GIBBS_HPP
#define BAYESKERNEL_HINGE_GIBBS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../parallel/executor.hpp"
#include "../parallel/scratch_pool.hpp"
#include "../rng/distributions.hpp"
#include "../rng/matrix_variate.hpp"
#include "../rng/stream.hpp"
#include "blocks.hpp"
#include "pass.hpp"
#include "scale_move.hpp"
#include "system.hpp"

namespace bayeskernel {

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

// 1/sigma^2 or Psi^-1 of a block given sum v v' over the members that the data
// reach: the hidden ones keep their prior whatever the data say and are
// integrated out.
inline MatrixXd draw_precision(Stream& stream, const Block& block,
                               MatrixXd moment) {
  const double count = static_cast<double>(block.members);
  if (block.kind == Block::Kind::iid) {
    const double draw = gamma(stream, block.shape + 0.5 * count,
                              block.rate + 0.5 * moment(0, 0));
    return MatrixXd::Constant(1, 1, std::min(std::max(draw, 1e-100), 1e100));
  }
  moment += block.scale;
  const MatrixXd inverse = Eigen::LLT<MatrixXd>(moment).solve(
      MatrixXd::Identity(block.width, block.width));
  WishartScratch scratch(block.width);
  MatrixXd out(block.width, block.width);
  wishart(stream, block.df + count, inverse, scratch, out);
  return out;
}

struct GibbsState {
  ArrowVector point;                // theta, u
  std::vector<MatrixXd> precision;  // 1/sigma^2 or Psi^-1 of each block
  std::uint64_t sweep = 0;          // sweeps done
  // a / w^2 of every row that theta was drawn with, where rows have residuals
  // e_i: theta is drawn with them integrated out, they are drawn after it.
  VectorXd latent;
};

// Chains start apart, at variances from 1 upwards: too large a variance is
// corrected within sweeps, while effects that start near zero keep their
// variance small for long.
inline std::vector<MatrixXd> start_precisions(const Prior& prior,
                                              std::uint64_t seed,
                                              std::uint64_t chain) {
  std::vector<MatrixXd> out = prior.start();
  Stream stream(seed, chain, Purpose::init, 0, 0);
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    if (prior.blocks[l].kind == Block::Kind::held) continue;
    out[l] *= std::exp(-2.0 * std::abs(stream.normal()));
  }
  return out;
}

inline void draw_variances(const Prior& prior, std::uint64_t seed,
                           std::uint64_t chain, GibbsState& state) {
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    const Block& block = prior.blocks[l];
    if (block.kind == Block::Kind::held) continue;
    Stream stream(seed, chain, Purpose::variance, state.sweep, l);
    state.precision[l] = draw_precision(
        stream, block,
        block.eliminated
            ? MatrixXd(state.point.group * state.point.group.transpose())
            : block.second_moment(state.point.x));
  }
}

// a | f by row. Where rows have residuals e_i these are drawn first, given f's
// other part and the last latent scale, and integrated out after it.
class GibbsRule final : public Rule {
 public:
  GibbsRule(std::uint64_t seed, std::uint64_t chain)
      : seed_(seed), chain_(chain) {}

  // `latent`: GibbsState's, written to.
  void set(std::uint64_t sweep, VectorXd& latent) {
    sweep_ = sweep;
    latent_ = latent.data();
  }

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
    Stream stream(seed_, chain_, Purpose::latent, sweep_,
                  static_cast<std::uint64_t>(span.number));
    add_residuals(span, tile, stream, scratch.f.data());
    for (Index i = 0; i < n; ++i) {
      const double z = stream.normal();
      scratch.square[i] = z * z;
      scratch.uniform[i] = stream.uniform();
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
      const double t = latent_[span.row_begin + i];
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
      latent_[span.row_begin + i] = t;
      out.kappa[i] = 1.0 / (t + tile.residual[i]);
      out.linear[i] =
          out.kappa[i] * (tile.y[i] * (1.0 + t * w) - tile.offset[i]);
    }
  }

  std::uint64_t seed_, chain_, sweep_ = 0;
  double* latent_ = nullptr;
  mutable ScratchPool<Scratch> pool_;
};

class GibbsChain {
 public:
  GibbsChain(const RowSource& rows, const Prior& prior, Executor& executor,
             std::uint64_t seed, std::uint64_t chain,
             const ScatteredBlock* scattered = nullptr)
      : prior_(prior),
        seed_(seed),
        chain_(chain),
        pass_(rows, executor),
        rule_(seed, chain),
        sums_(rows.x_columns(), rows.z_columns(), rows.groups()),
        system_(rows.x_columns(), rows.z_columns(), rows.groups()),
        scale_move_(rows, prior, executor, scattered) {
    state.point =
        ArrowVector(rows.x_columns(), rows.z_columns(), rows.groups());
    state.precision = start_precisions(prior, seed, chain);
    if (has_residuals(rows)) state.latent = VectorXd::Ones(rows.rows());
  }

  GibbsState state;

  std::uint64_t seed() const { return seed_; }
  std::uint64_t chain() const { return chain_; }
  Index sweeps() const { return static_cast<Index>(state.sweep); }
  // What latent_pass() leaves behind.
  const Sums& sums() const { return sums_; }
  // The most that a factorisation had to add to a diagonal.
  double jitter() const { return jitter_; }

  void sweep() {
    latent_pass();
    draw_coefficients();
    draw_variances();
    move_scale();
    ++state.sweep;
  }

  // a_i | f_i for all rows, and the sums that the next draw needs, with the
  // prior's part of the linear one.
  void latent_pass() {
    Moments at;
    at.point = &state.point;
    rule_.set(state.sweep, state.latent);
    pass_.run(at, rule_, Second::none, sums_);
    sums_.linear.x.array() += prior_.precision.array() * prior_.mean.array();
  }

  void draw_coefficients() {
    system_.factor(sums_.curvature, prior_, state.precision);
    jitter_ = std::max(jitter_, system_.jitter());
    Stream stream(seed_, chain_, Purpose::coefficients, state.sweep, 0);
    system_.sample(sums_.linear, [&] { return stream.normal(); }, state.point);
  }

  void draw_variances() {
    bayeskernel::draw_variances(prior_, seed_, chain_, state);
  }

  // The moves take turns, one a sweep. `scattered_precision` is that of the
  // scattered block, if there is one.
  void move_scale(double* scattered_precision = nullptr) {
    if (scale_move_.moves() == 0) return;
    Stream stream(seed_, chain_, Purpose::scale, state.sweep, 0);
    const std::uint64_t turn = state.sweep % scale_move_.moves();
    scale_move_.run(turn, stream, state.point, state.precision,
                    scattered_precision);
  }

 private:
  // The first tile tells: rows have residuals or not.
  static bool has_residuals(const RowSource& rows) {
    if (rows.rows() == 0) return false;
    rows.load(0, -1);
    MatrixXd buffer;
    return rows.tile(rows.tiles()[0], buffer).residual.size() > 0;
  }

  const Prior& prior_;
  std::uint64_t seed_, chain_;
  Pass pass_;
  GibbsRule rule_;
  Sums sums_;
  ArrowSystem system_;
  ScaleMove scale_move_;
  double jitter_ = 0.0;
};

}  // namespace bayeskernel

#endif
