// One sweep over the tiles of the combined model under q(theta, u) q(gamma):
// moments, weights, the data part of the bound, and the sums A and h of the
// next step (svm.md section 4, steps 6 and 1). Columns enter the moments times
// E gamma; the sums are those of the bare columns. What holes add to Var f is
// the rows' residual variance.
#ifndef BAYESKERNEL_BSVM_STRUCTURED_PASS_HPP
#define BAYESKERNEL_BSVM_STRUCTURED_PASS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <vector>

#include "../data/rows.hpp"
#include "../hinge/accumulate.hpp"
#include "../hinge/gaussian.hpp"
#include "../hinge/newton_curvature.hpp"
#include "../hinge/rules.hpp"
#include "../parallel/executor.hpp"
#include "../parallel/scratch_pool.hpp"

namespace bayeskernel {

// What a pass leaves behind.
struct StructuredSums {
  Curvature em;        // A: kappa = omega / c
  Curvature newton;    // second derivative of the bound at fixed variances
  ArrowVector shift;   // h
  VectorXd kappa;      // by row
  VectorXd mean, variance;  // of f, by row
  double bound = 0.0;  // data part

  StructuredSums(Index p, Index r, Index groups, Index n)
      : em(p, r, groups),
        newton(p, r, groups),
        shift(p, r, groups),
        kappa(n),
        mean(VectorXd::Zero(n)),
        variance(VectorXd::Zero(n)) {}
};

class StructuredPass {
 public:
  StructuredPass(const RowSource& rows, Executor& executor)
      : rows_(rows), executor_(executor) {
    const Index p = rows.x_columns();
    slots_.resize(std::min(rows.blocks(), kWave));
    for (Slot& slot : slots_) {
      slot.em.resize(p, p);
      slot.newton.resize(p, p);
      slot.shift.resize(p);
    }
  }

  // `inclusion` (p) is E gamma, empty when all columns are in; `doubt` (p) the
  // variance of f by x_k^2 from not knowing gamma_k. At c = 1 when q is null.
  void run(const GaussianPosterior* q, const VectorXd& inclusion,
           const VectorXd& doubt, bool with_newton, StructuredSums& out) {
    all_in_ = (inclusion.array() == 1.0).all();
    doubtful_.clear();
    for (Index k = 0; k < doubt.size(); ++k) {
      if (doubt[k] > 0.0) doubtful_.push_back(k);
    }
    out.em.gram.setZero();
    out.newton.gram.setZero();
    out.shift.x.setZero();
    out.bound = 0.0;
    // A few slots at a time: memory does not grow with the number of blocks.
    for (Index first = 0; first < rows_.blocks(); first += kWave) {
      const Index count = std::min(kWave, rows_.blocks() - first);
      executor_.run(count, [&](Index s) {
        auto loan = pool_.borrow();
        Slot& slot = slots_[s];
        slot.em.setZero();
        slot.newton.setZero();
        slot.shift.setZero();
        slot.bound = 0.0;
        for (Index t = rows_.block_begin(first + s);
             t < rows_.block_begin(first + s + 1); ++t) {
          tile_pass(rows_.tiles()[t], q, inclusion, doubt, with_newton, *loan,
                    slot, out);
        }
      });
      for (Index s = 0; s < count; ++s) {
        out.em.gram += slots_[s].em;
        if (with_newton) out.newton.gram += slots_[s].newton;
        out.shift.x += slots_[s].shift;
        out.bound += slots_[s].bound;
      }
    }
  }

 private:
  struct Slot {
    MatrixXd em, newton;
    VectorXd shift;
    double bound = 0.0;
  };
  struct Scratch {
    VectorXd shift;
    NewtonScratch newton;
    MatrixXd tile, scaled, work;
  };

  static constexpr Index kWave = 16;
  void tile_pass(const TileSpan& span, const GaussianPosterior* q,
                 const VectorXd& inclusion, const VectorXd& doubt,
                 bool with_newton, Scratch& scratch, Slot& slot,
                 StructuredSums& out) const {
    const Index n = span.row_end - span.row_begin;
    if (scratch.shift.size() < n) {
      scratch.shift.resize(n);
      scratch.newton.weight.resize(n);
    }
    const Tile tile = rows_.tile(span, scratch.tile);
    double* m = out.mean.data() + span.row_begin;
    double* s = out.variance.data() + span.row_begin;
    double* kappa = out.kappa.data() + span.row_begin;
    if (q == nullptr) {
      std::copy_n(tile.weight.data(), n, kappa);
    } else {
      moments(span, tile, *q, inclusion, doubt, scratch, m, s);
      for (Index i = 0; i < n; ++i) {
        const RowMoments row =
            mean_field(tile.y[i], tile.weight[i], m[i], s[i]);
        kappa[i] = row.kappa;
        scratch.newton.weight[i] = row.newton;
        slot.bound += row.bound;
      }
    }
    for (Index i = 0; i < n; ++i) {
      scratch.shift[i] = tile.y[i] * (tile.weight[i] + kappa[i]) -
                         kappa[i] * tile.offset[i];
    }
    accumulate_curvature(rows_, span, tile, kappa, scratch.work, slot.em,
                         out.em);
    accumulate_shift(rows_, span, tile, scratch.shift.data(), slot.shift,
                     out.shift);
    if (with_newton && q != nullptr) {
      accumulate_newton(rows_, span, tile, out.mean.data() + span.row_begin,
                        out.variance.data() + span.row_begin, scratch.newton,
                        scratch.work, slot.newton, out.newton);
    }
  }

  // E f and Var f: x enters as E gamma o x, and gamma's own variance is added.
  void moments(const TileSpan& span, const Tile& tile,
               const GaussianPosterior& q, const VectorXd& inclusion,
               const VectorXd& doubt, Scratch& scratch, double* m,
               double* s) const {
    const Index p = tile.x.rows(), n = tile.x.cols();
    if (all_in_) {
      tile_means(rows_, span, tile, q.mean, m);
      q.tile_variances(rows_, span, tile, scratch.work, s);
    } else {
      if (scratch.scaled.rows() != p || scratch.scaled.cols() < n) {
        scratch.scaled.resize(p, n);
      }
      scratch.scaled.leftCols(n).noalias() = inclusion.asDiagonal() * tile.x;
      const Tile scaled{
          Eigen::Map<const MatrixXd>(scratch.scaled.data(), p, n),
          tile.z, tile.y, tile.weight, tile.offset, tile.residual};
      tile_means(rows_, span, scaled, q.mean, m);
      q.tile_variances(rows_, span, scaled, scratch.work, s);
    }
    for (const Index k : doubtful_) {
      const double* x = tile.x.data() + k;
      for (Index i = 0; i < n; ++i) s[i] += doubt[k] * x[i * p] * x[i * p];
    }
  }

  const RowSource& rows_;
  Executor& executor_;
  std::vector<Slot> slots_;
  bool all_in_ = true;
  std::vector<Index> doubtful_;  // columns with doubt
  ScratchPool<Scratch> pool_;
};

}  // namespace bayeskernel

#endif
