// Random problems with crossed random effects, and the same with all columns
// dense.
#pragma once

#include "linear/crossed/rows.hpp"

#include "hinge_problem.hpp"

// Effects are columns of theta behind the fixed ones.
struct CrossedShape {
  Index n = 120;
  Index fixed = 2, penalised = 0;
  std::vector<Index> levels = {12, 9};
  std::vector<Index> widths = {1, 1};
  bool nested =
      false;  // level g of a term lies in level g mod levels of the next
  double sd = 1.0;
  bool weights = false;
};

struct CrossedProblem {
  bayeskernel::CrossedRows rows;
  Prior prior;
};

inline CrossedProblem make_crossed(const CrossedShape& shape, unsigned seed) {
  Draw draw(seed);
  CrossedProblem out;
  PackedRows& rows = out.rows.dense;
  const Index n = shape.n, p = shape.fixed + shape.penalised;
  rows.x = draw.matrix(p, n);
  if (shape.fixed > 0) rows.x.row(0).setOnes();
  rows.z.resize(0, n);
  rows.weight = VectorXd::Ones(n);
  rows.offset = VectorXd::Zero(n);
  rows.y.resize(n);
  VectorXd f = rows.x.transpose() * draw.matrix(p, 1);
  for (Index i = 0; i < n && shape.weights; ++i) {
    rows.weight[i] = 0.2 + 2.0 * draw.uniform();
    rows.offset[i] = draw.normal();
  }
  f += rows.offset;
  Prior& prior = out.prior;
  if (shape.penalised > 0) {
    prior.blocks.push_back(make_block(shape.fixed, shape.penalised, 1, draw));
  }
  Index per_row = 0, effects = 0;
  for (const Index r : shape.widths) per_row += r;
  out.rows.z = draw.matrix(per_row, n);
  out.rows.column.resize(per_row, n);
  std::vector<int> before(n, 0);
  for (std::size_t k = 0, at = 0; k < shape.levels.size(); ++k) {
    const Index r = shape.widths[k], levels = shape.levels[k];
    out.rows.terms.push_back({prior.blocks.size(), r, levels});
    prior.blocks.push_back(make_block(p + effects, levels, r, draw));
    out.rows.z.row(at).setOnes();
    const MatrixXd effect = shape.sd * draw.matrix(r, levels);
    for (Index i = 0; i < n; ++i) {
      const Index g = shape.nested && k > 0 ? before[i] % levels
                      : k == 0              ? i * levels / n
                                            : draw.below(levels);
      before[i] = static_cast<int>(g);
      for (Index j = 0; j < r; ++j) {
        out.rows.column(at + j, i) = static_cast<int>(effects + g * r + j);
      }
      f[i] += effect.col(g).dot(out.rows.z.col(i).segment(at, r));
    }
    at += r;
    effects += r * levels;
  }
  for (Index i = 0; i < n; ++i) {
    rows.y[i] = f[i] + draw.normal() > 0.0 ? 1.0 : -1.0;
  }
  prior.precision = VectorXd::Zero(p + effects);
  prior.mean = VectorXd::Zero(p + effects);
  for (Index k = 0; k < shape.fixed; ++k) {
    prior.precision[k] = 0.05 + draw.uniform();
    prior.mean[k] = 0.5 * draw.normal();
  }
  rows.finish({});
  out.rows.finish();
  return out;
}

inline Problem dense_twin(const CrossedProblem& problem) {
  const bayeskernel::CrossedRows& from = problem.rows;
  Problem out;
  out.prior = problem.prior;
  out.rows = from.dense;
  out.rows.x = MatrixXd::Zero(from.size(), from.rows());
  out.rows.x.topRows(from.x_columns()) = from.dense.x;
  for (Index i = 0; i < from.rows(); ++i) {
    for (Index j = 0; j < from.z.rows(); ++j) {
      out.rows.x(from.x_columns() + from.column(j, i), i) = from.z(j, i);
    }
  }
  out.rows.finish({});
  return out;
}
