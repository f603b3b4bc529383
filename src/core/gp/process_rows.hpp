// Rows whose processes get their columns tile by tile, from the variables that
// another source has: of the features nothing is kept. Beside the rows are in
// memory what inducing points leave of each process at each row.
//
// kappa_i and the diagonal of K~ in Wenzel et al. (2017), eq. 6.
#pragma once

#include "eigen.hpp"
#include "gp/features.hpp"
#include "kernel/tree.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
class ProcessRows final : public RowSource {
 public:
  // Columns b (phi(x) - centre) of the base's variables x and multiples b.
  struct Term {
    Term(const Kernel& kernel, const MatrixXd& z) : features(kernel, z, 0.0) {}

    Features features;
    std::vector<Index> variables;  // columns of the base
    Index by = -1;                 // a column of the base; -1: b = 1
    Index first = 0;               // of its columns here
    bool centred = false;
    VectorXd centre;    // what is subtracted, found by the constructor
    double left = 0.0;  // mean over the rows of what the features leave of 1
  };

  // `plain`: columns of the base that are columns here, in the places that the
  // terms leave, in their order. The rows' chunks are those of the base.
  ProcessRows(const RowSource& base, std::vector<Index> plain,
              std::vector<Term> terms, Executor& executor);

  const std::vector<Term>& terms() const { return terms_; }
  // Where these rows are part of more: the centre of all.
  void set_centre(std::size_t term, const VectorXd& centre);
  // What the features leave of the variances at the rows, n x terms; to be
  // taken once.
  MatrixXd take_relative() { return std::move(relative_); }
  // Belongs to ConditionalVariance.
  VectorXd& residual() { return residual_; }

  Index rows() const override { return base_.rows(); }
  Index x_columns() const override { return columns_; }
  Index z_columns() const override { return base_.z_columns(); }
  void load(Index chunk, Index next) const override { base_.load(chunk, next); }
  bool in_memory() const override { return base_.in_memory(); }

  // A span of many tiles, a chunk say, is shared among threads.
  Tile tile(const TileSpan& span, MatrixXd& buffer) const override;

 private:
  struct Scratch {
    MatrixXd base, x, phi;
    VectorXd open;
    Features::Scratch features;
  };

  void check(const Term& term, std::vector<bool>& taken) const;

  // Features of some rows of a tile, and what they leave.
  void evaluate(const Term& term, const Tile& raw, Index first, Index n,
                Scratch& own) const;

  static double multiple(const Term& term, const Tile& raw, Index i) {
    return term.by < 0 ? 1.0 : raw.x(term.by, i);
  }

  void columns(const Tile& raw, Index first, Index n, Scratch& own,
               double* to) const;

  // Centres and what the features leave, by one sweep: sums in the order of the
  // blocks.
  void measure();

  template <class Sums>
  void add_tile(const TileSpan& span, Scratch& own, Sums& sums) {
    const Tile raw = base_.tile(span, own.base);
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      const Term& term = terms_[t];
      const Index c = static_cast<Index>(t);
      for (Index first = 0; first < span.rows(); first += kTileRows) {
        const Index n = std::min(kTileRows, span.rows() - first);
        evaluate(term, raw, first, n, own);
        for (Index i = 0; i < n; ++i) {
          const double b = multiple(term, raw, first + i);
          sums.phi[t] += b * own.phi.col(i);
          sums.weight[c] += b;
          sums.open[c] += own.open[i];
          relative_(span.row_begin + first + i, c) = b * b * own.open[i];
        }
      }
    }
  }

  const RowSource& base_;
  std::vector<Index> plain_, place_;
  std::vector<Term> terms_;
  Executor& executor_;
  Index columns_;
  VectorXd residual_;
  MatrixXd relative_;
  mutable ScratchPool<Scratch> pool_;
};
}  // namespace bayeskernel
