#include "linear/crossed/system.hpp"

#include "error.hpp"
#include "math/cholesky.hpp"
#include "math/conjugate_gradients.hpp"
#include "rows/rows.hpp"
#include "simd/gram.hpp"

namespace bayeskernel {
double invert_blocks(const MatrixXd& square, MatrixXd& inverse) {
  const Index r = square.rows();
  double log_det = 0.0;
  inverse.resize(r, square.cols());
  Eigen::LLT<MatrixXd> llt;
  for (Index at = 0; at < square.cols(); at += r) {
    llt.compute(square.middleCols(at, r));
    if (llt.info() != Eigen::Success) {
      throw NumericError("the precision of a level is not positive definite");
    }
    log_det += bayeskernel::log_det(llt);
    inverse.middleCols(at, r) = llt.solve(MatrixXd::Identity(r, r));
  }
  return log_det;
}

CrossedSystem::CrossedSystem(const CrossedRows& rows, const Prior& prior,
                             Executor& executor)
    : rows_(rows),
      executor_(executor),
      dense_(prior),
      p_(rows.x_columns()),
      effects_(rows.effects()),
      values_(rows.columns.size()),
      cross_(p_, effects_),
      diagonal_(rows.terms.size()),
      inverse_(rows.terms.size()) {
  dense_.precision.conservativeResize(p_);
  dense_.mean.conservativeResize(p_);
  for (const CrossedTerm& term : rows.terms) {
    dense_.blocks[term.block].eliminated = true;
  }
}

void CrossedSystem::factor(const VectorXd& kappa,
                           const std::vector<MatrixXd>& block_precision) {
  add_rows(kappa);
  dense_.add_precision(block_precision, gram_);
  for (const CrossedTerm& term : rows_.terms) {
    const MatrixXd& own = block_precision[term.block];
    for (Index a = term.first; a < term.first + term.size(); a += term.width) {
      rows_.block(values_, a, rows_.own[a], term.width) += own;
    }
  }
  for (std::size_t k = 0; k < rows_.terms.size(); ++k) set_diagonal(k);
  if (p_ == 0) return;
  MatrixXd loading(p_, rows_.inner());
  times_inverse(0, cross_.leftCols(rows_.inner()), loading);
  MatrixXd schur = gram_;
  schur.noalias() -= loading * cross_.leftCols(rows_.inner()).transpose();
  jitter_ = jittered_cholesky(schur, llt_);
}

int CrossedSystem::solve(const VectorXd& rhs, double tolerance, VectorXd& out) {
  const MatrixXd right = rhs.transpose();
  MatrixXd x;
  const int steps = solve_rows(right, true, tolerance, x, true);
  out = x.transpose();
  return steps;
}

MatrixXd CrossedSystem::regress(double tolerance, MatrixXd& loading) {
  MatrixXd right = MatrixXd::Zero(p_, p_ + effects_), x;
  right.rightCols(effects_) = cross_;
  const bool cold = loading.cols() != effects_;
  if (!cold) {
    x = MatrixXd::Zero(p_, p_ + effects_);
    x.rightCols(effects_) = loading;
  }
  if (p_ > 0) solve_rows(right, false, tolerance, x, cold);
  loading = p_ > 0 ? MatrixXd(x.rightCols(effects_)) : MatrixXd(0, effects_);
  const MatrixXd out = gram_ - loading * cross_.transpose();
  return 0.5 * (out + out.transpose());
}

MatrixXd CrossedSystem::combine(MatrixXd& w) {
  MatrixXd point = MatrixXd::Zero(w.rows(), p_ + effects_), out = point;
  point.rightCols(effects_) = w;
  set_inner(point, nullptr);
  product(point, false, out);
  w = point.rightCols(effects_);
  return out.rightCols(effects_ - rows_.inner()) *
         w.rightCols(effects_ - rows_.inner()).transpose();
}

const MatrixXd& CrossedSystem::diagonal(std::size_t k) const {
  return diagonal_[k];
}

void CrossedSystem::add_rows(const VectorXd& kappa) {
  const Index n = rows_.rows(), per_row = rows_.z.rows();
  run_parts(executor_, effects_, kEffects, [&](Index from, Index to) {
    cross_.middleCols(from, to - from).setZero();
    for (Index a = from; a < to; ++a) {
      values_.segment(rows_.begin[a], rows_.begin[a + 1] - rows_.begin[a])
          .setZero();
      for (Index k = rows_.rows_begin[a]; k < rows_.rows_begin[a + 1]; ++k) {
        const Index i = rows_.occurrence[k] / per_row;
        const Index j = rows_.occurrence[k] % per_row;
        const double weight = kappa[i] * rows_.z(j, i);
        for (Index l = 0; l < per_row; ++l) {
          values_[rows_.entry(j * per_row + l, i)] += weight * rows_.z(l, i);
        }
        for (Index c = 0; c < p_; ++c) {
          cross_(c, a) += weight * rows_.dense.x(c, i);
        }
      }
    }
  });
  gram_.setZero(p_, p_);
  MatrixXd scratch;
  for (Index i = 0; i < n; i += 2048) {
    const Index count = std::min<Index>(2048, n - i);
    weighted_gram(rows_.dense.x.middleCols(i, count), kappa.segment(i, count),
                  scratch, gram_);
  }
  gram_.triangularView<Eigen::StrictlyUpper>() = gram_.transpose();
}

void CrossedSystem::set_diagonal(std::size_t k) {
  const CrossedTerm& term = rows_.terms[k];
  const Index r = term.width, r0 = rows_.terms[0].width;
  diagonal_[k].resize(r, term.size());
  run_parts(executor_, term.levels, kEffects, [&](Index from, Index to) {
    for (Index h = from; h < to; ++h) {
      const Index a = term.first + h * r;
      MatrixXd own = block(a, rows_.own[a], r);
      for (Index e = 0; k > 0 && inner(a, e); e += r0) {
        const Index g = rows_.columns[rows_.begin[a] + e];
        const auto c = block(a, e, r0);
        own -= c.lazyProduct(inverse_[0].middleCols(g, r0))
                   .eval()
                   .lazyProduct(c.transpose());
      }
      diagonal_[k].middleCols(h * r, r) = own;
    }
  });
  invert_blocks(diagonal_[k], inverse_[k]);
}

bool CrossedSystem::inner(Index a, Index e) const {
  e += rows_.begin[a];
  return e < rows_.begin[a + 1] && rows_.columns[e] < rows_.inner();
}

void CrossedSystem::add_entries(const MatrixXd& w, Index e, Index end,
                                double* out) const {
  const Index m = w.rows();
  const double* u = w.data() + p_ * m;
  for (; e < end; ++e) {
    const double value = values_[e];
    const double* column = u + rows_.columns[e] * m;
    for (Index j = 0; j < m; ++j) out[j] += value * column[j];
  }
}

void CrossedSystem::set_inner(MatrixXd& w, const MatrixXd* rhs) {
  const Index m = w.rows();
  MatrixXd left = MatrixXd::Zero(m, rows_.inner());
  run_parts(executor_, rows_.inner(), kEffects, [&](Index from, Index to) {
    for (Index a = from; a < to; ++a) {
      add_entries(w, rows_.begin[a] + rows_.terms[0].width, rows_.begin[a + 1],
                  left.data() + a * m);
    }
  });
  if (p_ > 0) {
    left.noalias() += w.leftCols(p_) * cross_.leftCols(rows_.inner());
  }
  left = rhs != nullptr ? MatrixXd(rhs->middleCols(p_, rows_.inner()) - left)
                        : MatrixXd(-left);
  times_inverse(0, left, w.middleCols(p_, rows_.inner()));
}

void CrossedSystem::product(const MatrixXd& w, bool with_x, MatrixXd& out) {
  const Index m = w.rows();
  out.setZero(m, p_ + effects_);
  run_parts(
      executor_, effects_ - rows_.inner(), kEffects, [&](Index from, Index to) {
        for (Index a = rows_.inner() + from; a < rows_.inner() + to; ++a) {
          add_entries(w, rows_.begin[a], rows_.begin[a + 1],
                      out.data() + (p_ + a) * m);
        }
      });
  if (!with_x || p_ == 0) return;
  const Index outer = effects_ - rows_.inner();
  out.rightCols(outer).noalias() += w.leftCols(p_) * cross_.rightCols(outer);
  out.leftCols(p_).noalias() =
      w.leftCols(p_) * gram_ + w.rightCols(effects_) * cross_.transpose();
}

int CrossedSystem::solve_rows(const MatrixXd& rhs, bool with_x,
                              double tolerance, MatrixXd& x, bool cold) {
  MatrixXd point = MatrixXd::Zero(rhs.rows(), rhs.cols()), reduced;
  times_inverse(0, rhs.middleCols(p_, rows_.inner()),
                point.middleCols(p_, rows_.inner()));
  product(point, with_x, reduced);
  reduced = rhs - reduced;
  reduced.middleCols(p_, rows_.inner()).setZero();
  if (!with_x) reduced.leftCols(p_).setZero();
  if (!cold) x.middleCols(p_, rows_.inner()).setZero();
  const int steps = conjugate_gradients(
      [&](const MatrixXd& v, MatrixXd& out) {
        point = v;
        set_inner(point, nullptr);
        product(point, with_x, out);
      },
      [&](const MatrixXd& v, MatrixXd& out) {
        out.setZero(v.rows(), v.cols());
        if (with_x && p_ > 0) {
          out.leftCols(p_) = llt_.solve(v.leftCols(p_).transpose()).transpose();
        }
        for (std::size_t k = 1; k < rows_.terms.size(); ++k) {
          const CrossedTerm& term = rows_.terms[k];
          times_inverse(k, v.middleCols(p_ + term.first, term.size()),
                        out.middleCols(p_ + term.first, term.size()));
        }
      },
      reduced, cold, tolerance, x);
  set_inner(x, &rhs);
  return steps;
}
}  // namespace bayeskernel
