// Gibbs chain of the hinge engine (svm.md section 6): a | f, then (theta, u)
// | a with u integrated out of theta's draw, then the variances, then one move
// along a scale with a integrated out (scale_move.hpp). One sweep is one pass
// over the rows and a cheap one. The state between sweeps is the draw itself.
// The steps are public: a model with further steps (selection, holes) puts its
// own sweep together (bsvm/structured_gibbs.hpp).
#ifndef BAYESKERNEL_HINGE_GIBBS_HPP
#define BAYESKERNEL_HINGE_GIBBS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../data/rows.hpp"
#include "../parallel/executor.hpp"
#include "../parallel/scratch_pool.hpp"
#include "../rng/distributions.hpp"
#include "../rng/matrix_variate.hpp"
#include "../rng/stream.hpp"
#include "accumulate.hpp"
#include "blocks.hpp"
#include "latent_values.hpp"
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

struct GibbsState {
  ArrowVector point;                // theta, u
  std::vector<MatrixXd> precision;  // 1/sigma^2 or Psi^-1 of each block
  std::uint64_t sweep = 0;          // sweeps done
  // a / w^2 of every row that theta was drawn with, where rows have residuals
  // e_i: theta is drawn with them integrated out, they are drawn after it.
  VectorXd latent;
};

class GibbsChain {
 public:
  GibbsChain(const RowSource& rows, const Prior& prior, Executor& executor,
             std::uint64_t seed, std::uint64_t chain,
             const ScatteredBlock* scattered = nullptr)
      : rows_(rows),
        prior_(prior),
        executor_(executor),
        seed_(seed),
        chain_(chain),
        curvature_(rows.x_columns(), rows.z_columns(), rows.groups()),
        shift_(rows.x_columns(), rows.z_columns(), rows.groups()),
        system_(rows.x_columns(), rows.z_columns(), rows.groups()),
        scale_move_(rows, prior, executor, scattered),
        slots_(rows.blocks()) {
    const Index p = rows.x_columns();
    for (Slot& slot : slots_) {
      slot.gram = MatrixXd::Zero(p, p);
      slot.shift = VectorXd::Zero(p);
    }
    state.point = ArrowVector(p, rows.z_columns(), rows.groups());
    state.precision = prior.start();
    if (residuals()) state.latent = VectorXd::Ones(rows.rows());
    // Chains start apart, at variances from 1 upwards: too large a variance is
    // corrected within sweeps, while effects that start near zero keep their
    // variance small for long.
    Stream stream(seed_, chain_, Purpose::init, 0, 0);
    for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
      if (prior.blocks[l].kind == Block::Kind::held) continue;
      state.precision[l] *= std::exp(-2.0 * std::abs(stream.normal()));
    }
  }

  GibbsState state;

  std::uint64_t seed() const { return seed_; }
  std::uint64_t chain() const { return chain_; }
  Index sweeps() const { return static_cast<Index>(state.sweep); }
  // What latent_pass() leaves behind.
  const Curvature& curvature() const { return curvature_; }
  const ArrowVector& shift() const { return shift_; }

  void sweep() {
    latent_pass();
    draw_coefficients();
    draw_variances();
    move_scale();
    ++state.sweep;
  }

  // a_i | f_i for all rows, and the sums that the next draw needs, with the
  // prior's part of the shift.
  void latent_pass() {
    executor_.run(rows_.blocks(), [&](Index block) {
      auto loan = pool_.borrow();
      Slot& slot = slots_[block];
      slot.gram.setZero();
      slot.shift.setZero();
      for (Index t = rows_.block_begin(block); t < rows_.block_begin(block + 1);
           ++t) {
        latent_tile(t, *loan, slot);
      }
    });
    curvature_.gram.setZero();
    shift_.x.setZero();
    for (const Slot& slot : slots_) {
      curvature_.gram += slot.gram;
      shift_.x += slot.shift;
    }
    shift_.x.array() += prior_.precision.array() * prior_.mean.array();
  }

  void draw_coefficients() {
    system_.factor(curvature_, prior_, state.precision);
    Stream stream(seed_, chain_, Purpose::coefficients, state.sweep, 0);
    system_.sample(shift_, [&] { return stream.normal(); }, state.point);
  }

  void draw_variances() {
    for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
      const Block& block = prior_.blocks[l];
      if (block.kind == Block::Kind::held) continue;
      Stream stream(seed_, chain_, Purpose::variance, state.sweep, l);
      // Hidden members keep their prior whatever the data say: with them
      // integrated out the draw needs only the members the data reach.
      MatrixXd moment = second_moment(block);
      const double count = static_cast<double>(block.members);
      if (block.kind == Block::Kind::iid) {
        const double draw = gamma(stream, block.shape + 0.5 * count,
                                  block.rate + 0.5 * moment(0, 0));
        state.precision[l](0, 0) = std::min(std::max(draw, 1e-100), 1e100);
      } else {
        moment += block.scale;
        const MatrixXd inverse =
            Eigen::LLT<MatrixXd>(moment).solve(
                MatrixXd::Identity(block.width, block.width));
        WishartScratch scratch(block.width);
        wishart(stream, block.df + count, inverse, scratch,
                state.precision[l]);
      }
    }
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
  struct Slot {
    MatrixXd gram;
    VectorXd shift;
  };
  struct Scratch {
    VectorXd f, kappa, shift, square, uniform, larger;
    MatrixXd tile, work;
  };

  // The first tile tells: rows have residuals or not.
  bool residuals() const {
    MatrixXd buffer;
    return rows_.rows() > 0 &&
           rows_.tile(rows_.tiles()[0], buffer).residual.size() > 0;
  }

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
      const double t = state.latent[span.row_begin + i];
      const double observed = tile.y[i] * (1.0 + t * w);
      f[i] += r / (r + t) * (observed - f[i]) + std::sqrt(r * t / (r + t)) * z;
    }
  }

  // kappa = w^2 / a becomes 1 / (a / w^2 + r), and the shift with it.
  void widen(const TileSpan& span, const Tile& tile, Scratch& scratch) {
    for (Index i = 0; i < tile.residual.size(); ++i) {
      const double w = tile.weight[i];
      if (w == 0.0) continue;
      const double t = 1.0 / scratch.kappa[i];
      state.latent[span.row_begin + i] = t;
      const double kappa = 1.0 / (t + tile.residual[i]);
      scratch.shift[i] = kappa * (tile.y[i] * (1.0 + t * w) - tile.offset[i]);
      scratch.kappa[i] = kappa;
    }
  }

  void latent_tile(Index t, Scratch& scratch, Slot& slot) {
    const TileSpan& span = rows_.tiles()[t];
    const Index n = span.row_end - span.row_begin;
    if (scratch.f.size() < n) {
      for (VectorXd* v : {&scratch.f, &scratch.kappa, &scratch.shift,
                          &scratch.square, &scratch.uniform,
                          &scratch.larger}) {
        v->resize(n);
      }
    }
    const Tile tile = rows_.tile(span, scratch.tile);
    latent_values(rows_, span, tile, state.point, scratch.f.data());
    Stream stream(seed_, chain_, Purpose::latent, state.sweep,
                  static_cast<std::uint64_t>(t));
    add_residuals(span, tile, stream, scratch.f.data());
    for (Index i = 0; i < n; ++i) {
      const double z = stream.normal();
      scratch.square[i] = z * z;
      scratch.uniform[i] = stream.uniform();
    }
    const auto y = tile.y.array(), w = tile.weight.array();
    auto r = scratch.f.head(n).array();
    auto kappa = scratch.kappa.head(n).array();
    r = (w * (1.0 - y * r)).abs();
    hinge_latents(r, scratch.square.head(n).array(),
                  scratch.uniform.head(n).array(),
                  scratch.larger.head(n).array(), kappa);
    kappa = w.square() / kappa;
    scratch.shift.head(n).array() =
        y * (w + kappa) - kappa * tile.offset.array();
    widen(span, tile, scratch);
    accumulate_curvature(rows_, span, tile, scratch.kappa.data(), scratch.work,
                         slot.gram, curvature_);
    accumulate_shift(rows_, span, tile, scratch.shift.data(), slot.shift,
                     shift_);
  }

  // sum over the members of v v'.
  MatrixXd second_moment(const Block& block) const {
    const Index r = block.width;
    if (block.eliminated) {
      return state.point.group * state.point.group.transpose();
    }
    const Eigen::Map<const MatrixXd> members(
        state.point.x.data() + block.first, r, block.members);
    return members * members.transpose();
  }

  const RowSource& rows_;
  const Prior& prior_;
  Executor& executor_;
  std::uint64_t seed_, chain_;
  Curvature curvature_;
  ArrowVector shift_;
  ArrowSystem system_;
  ScaleMove scale_move_;
  std::vector<Slot> slots_;
  ScratchPool<Scratch> pool_;
};

}  // namespace bayeskernel

#endif
