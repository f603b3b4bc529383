#include "linear/crossed/posterior.hpp"

#include "error.hpp"
#include "math/cholesky.hpp"
#include "math/decompositions.hpp"

namespace bayeskernel {
CrossedPosterior::CrossedPosterior(const CrossedRows& rows)
    : rows_(rows), noise_(VectorXd::Zero(rows.columns.size())) {}

void CrossedPosterior::set_covariance(CrossedSystem& system) {
  const Index p = rows_.x_columns();
  const MatrixXd precision = system.regress(1e-9, regression_);
  MatrixXd unused;
  log_det_ = -invert_blocks(system.diagonal(0), unused);
  whitener_.setIdentity(p, p);
  if (p > 0) {
    const Eigen::LLT<MatrixXd> llt(precision);
    if (llt.info() != Eigen::Success) {
      throw NumericError("the precision of theta is not positive definite");
    }
    log_det_ -= bayeskernel::log_det(llt);
    llt.matrixL().solveInPlace(whitener_);
  }
  set_outer(system);
  set_inner(system);
  whitened_loading_.resize(p + root_.rows(), rows_.effects());
  whitened_loading_.topRows(p) = whitener_ * regression_;
  whitened_loading_.bottomRows(root_.rows()) = root_ * shared_;
}

MatrixXd CrossedPosterior::omega() const { return root_.transpose() * root_; }

MatrixXd CrossedPosterior::loading() const {
  MatrixXd out(whitened_loading_.rows(), whitened_loading_.cols());
  out.topRows(regression_.rows()) = regression_;
  out.bottomRows(shared_.rows()) = shared_;
  return out;
}

MatrixXd CrossedPosterior::covariance(Index a) const {
  const Index r = rows_.level_of(a).term->width;
  const auto own = whitened_loading_.middleCols(a, r);
  return own.transpose().lazyProduct(own) +
         rows_.block(noise_, a, rows_.own[a], r);
}

MatrixXd CrossedPosterior::covariance(const Block& block) const {
  const Index r = block.width;
  MatrixXd sum = MatrixXd::Zero(r, r);
  for (Index m = 0; m < block.members; ++m) {
    const Index at = block.first + m * r;
    if (at < rows_.x_columns()) {
      const auto u = whitener_.middleCols(at, r);
      sum += u.transpose() * u;
    } else {
      sum += covariance(at - rows_.x_columns());
    }
  }
  return sum;
}

void CrossedPosterior::variances(const TileSpan& span, double* out) const {
  const Index p = rows_.x_columns(), per_row = rows_.z.rows();
  MatrixXd white = MatrixXd::Zero(whitened_loading_.rows(), span.rows());
  if (p > 0) {
    white.topRows(p) = whitener_.triangularView<Eigen::Lower>() *
                       rows_.dense.x.middleCols(span.row_begin, span.rows());
  }
  for (Index i = span.row_begin; i < span.row_end; ++i) {
    auto own = white.col(i - span.row_begin);
    double s = 0.0;
    for (Index j = 0; j < per_row; ++j) {
      own -= rows_.z(j, i) * whitened_loading_.col(rows_.column(j, i));
      double sum = 0.0;
      for (Index l = j; l < per_row; ++l) {
        sum += (l > j ? 2.0 : 1.0) * rows_.z(l, i) *
               noise_[rows_.entry(j * per_row + l, i)];
      }
      s += rows_.z(j, i) * sum;
    }
    out[i - span.row_begin] = std::max(s + own.squaredNorm(), 0.0);
  }
}

void CrossedPosterior::set_outer(CrossedSystem& system) {
  const Index inner = rows_.terms[0].width;
  const Index shared = rows_.z.rows() - inner;
  shared_.setZero(shared, rows_.effects());
  root_.resize(0, 0);
  if (shared == 0) return;
  std::vector<MatrixXd> precision;
  for (std::size_t k = 1; k < rows_.terms.size(); ++k) {
    const CrossedTerm& term = rows_.terms[k];
    for (Index j = 0; j < term.size(); ++j) {
      shared_(term.at - inner + j % term.width, term.first + j) = 1.0;
    }
    precision.push_back(system.diagonal(k));
  }
  const MatrixXd best = inverse(system.combine(shared_));
  shared_ = -shared_;
  MatrixXd total = MatrixXd::Zero(shared, shared);
  for (int round = 0;; ++round) {
    const MatrixXd before = total;
    each_outer([&](std::size_t k, Index h, Index at, Index r) {
      if (h == 0) total.block(at, at, r, r).setZero();
      total.block(at, at, r, r) += precision[k - 1].middleCols(h * r, r);
    });
    // Omega = L^-T M L^-1 with P = L L' and M >= 0.
    const Eigen::LLT<MatrixXd> llt(total);
    const MatrixXd l = llt.matrixL();
    const SymmetricEigen eigen(l.transpose() * best * l -
                               MatrixXd::Identity(shared, shared));
    const ArrayXd m = eigen.eigenvalues().array().max(0.0);
    MatrixXd turn = eigen.eigenvectors();
    llt.matrixU().solveInPlace(turn);
    root_ = m.sqrt().matrix().asDiagonal() * turn.transpose();
    if (round == 100 || (total - before).norm() <= 1e-13 * total.norm()) {
      log_det_ += m.log1p().sum();
      break;
    }
    const MatrixXd back =
        turn * (m / (1.0 + m)).matrix().asDiagonal() * turn.transpose();
    each_outer([&](std::size_t k, Index h, Index at, Index r) {
      auto own = precision[k - 1].middleCols(h * r, r);
      own = system.diagonal(k).middleCols(h * r, r) +
            own.lazyProduct(back.block(at, at, r, r)).eval().lazyProduct(own);
    });
  }
  for (std::size_t k = 1; k < rows_.terms.size(); ++k) {
    log_det_ -= invert_blocks(precision[k - 1], precision[k - 1]);
  }
  each_outer([&](std::size_t k, Index h, Index, Index r) {
    const Index a = rows_.terms[k].first + h * r;
    rows_.block(noise_, a, rows_.own[a], r) =
        precision[k - 1].middleCols(h * r, r);
  });
}

void CrossedPosterior::set_inner(CrossedSystem& system) {
  const Index r0 = rows_.terms[0].width;
  for (Index a = 0; a < rows_.inner(); a += r0) {
    auto own = rows_.block(noise_, a, 0, r0);
    const auto inverse = system.inverse(0).middleCols(a, r0);
    own = inverse;
    Index e = r0;
    while (rows_.begin[a] + e < rows_.begin[a + 1]) {
      const Index h = rows_.columns[rows_.begin[a] + e];
      const Index r = rows_.level_of(h).term->width;
      const MatrixXd f = inverse.lazyProduct(system.block(a, e, r));
      auto pair = rows_.block(noise_, a, e, r);
      pair = -f.lazyProduct(rows_.block(noise_, h, rows_.own[h], r));
      own -= pair.lazyProduct(f.transpose());
      e += r;
    }
  }
}
}  // namespace bayeskernel
