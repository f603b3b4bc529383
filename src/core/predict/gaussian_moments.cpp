#include "predict/gaussian_moments.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "eigen.hpp"
#include "parallel/executor.hpp"
#include "predict/linear_rows.hpp"
#include "simd/lower_product.hpp"

namespace bayeskernel {

LinearPredictor::LinearPredictor(const LinearRows& rows,
                                 const LinearPosterior& q)
    : rows_(rows), q_(q), given_(rows.patterns.size()) {
  const Index size = q.mean.size();
  if (size > 0) {
    // U lower triangular with covariance U'U: the factor of the matrix with
    // rows and columns in reverse order.
    const Eigen::LLT<MatrixXd> llt(q.covariance.reverse());
    if (llt.info() == Eigen::Success) {
      const MatrixXd lower = llt.matrixL();
      root_ = std::make_unique<LowerProduct>(lower.reverse().transpose());
    }
  }
  place_.assign(rows.x.rows(), {-1, 0});
  for (std::size_t k = 0; k < rows.patterns.size(); ++k) condition(k);
}

void LinearPredictor::condition(std::size_t k) {
  const LinearRows::Pattern& pattern = rows_.patterns[k];
  const std::vector<int>& missing = pattern.predictors;
  const std::vector<int> observed = rows_.observed(pattern);
  const Index m = missing.size(), o = observed.size();
  Conditional& at = given_[k];
  const Eigen::LLT<MatrixXd> llt(pick(q_.precision, missing, missing));
  at.mean = pick(q_.x_mean, missing, {0});
  at.center = pick(q_.x_mean, observed, {0});
  at.slope = llt.solve(pick(q_.precision, missing, observed));
  MatrixXd map = MatrixXd::Zero(m, m + o);
  for (Index j = 0; j < m; ++j) map(j, missing[j]) = 1.0;
  for (Index j = 0; j < o; ++j) map.col(observed[j]) = at.slope.col(j);
  at.var = llt.solve(MatrixXd::Identity(m, m)) +
           map * q_.x_mean_cov * map.transpose();
  at.filled.resize(m, static_cast<Index>(pattern.rows.size()));
  VectorXd off(o);
  for (std::size_t r = 0; r < pattern.rows.size(); ++r) {
    const int i = pattern.rows[r];
    for (Index j = 0; j < o; ++j) {
      off[j] = rows_.predictors(i, observed[j]) - at.center[j];
    }
    at.filled.col(r) = at.mean - at.slope * off;
    place_[i] = {static_cast<int>(k), static_cast<int>(r)};
  }
}

int LinearPredictor::position(Index row, int predictor) const {
  const auto& missing = rows_.patterns[place_[row].first].predictors;
  return static_cast<int>(
      std::lower_bound(missing.begin(), missing.end(), predictor) -
      missing.begin());
}

double LinearPredictor::filled(Index row, int predictor) const {
  return given_[place_[row].first].filled(position(row, predictor),
                                          place_[row].second);
}

auto LinearPredictor::z_row(std::size_t t, Index i) const -> VectorXd {
  VectorXd z = rows_.terms[t].z.row(i);
  rows_.terms[t].missing.each(i, [&](const MissingUses::Use& use) {
    z[use.column] = use.base + use.slope * filled(i, use.predictor);
  });
  return z;
}

double LinearPredictor::covariance(std::size_t t, int g, const VectorXd& z,
                                   const VectorXd& w) const {
  const LinearPosterior::Term& term = q_.terms[t];
  if (g == 0) return z.dot(term.unseen * w);
  if (term.kind == Kind::dense) return 0.0;
  return z.dot(term.covariance.middleCols((g - 1) * z.size(), z.size()) * w);
}

void LinearPredictor::strip(Index first, Index rows, Scratch& s,
                            GaussianMoments& out) const {
  const Index p = rows_.x.cols(), size = q_.mean.size();
  s.x.resize(p, rows);
  for (Index k = 0; k < p; ++k) {
    s.x.row(k) = (rows_.x.col(k).segment(first, rows).array() - q_.center[k])
                     .transpose() /
                 q_.scale[k];
  }
  for (Index i = 0; i < rows; ++i) {
    rows_.missing.each(first + i, [&](const MissingUses::Use& use) {
      s.x(use.column, i) =
          use.base + use.slope * filled(first + i, use.predictor);
    });
  }
  s.tile.setZero(size, rows);
  if (q_.basis.cols() == 0) {
    s.tile.topRows(p) = s.x;
  } else {
    s.tile.topRows(q_.first) = s.x.topRows(q_.first);
    const auto block = s.x.bottomRows(p - q_.first);
    auto seen = s.tile.middleRows(q_.first, q_.basis.cols());
    seen.noalias() = q_.basis.transpose() * block;
    for (Index i = 0; i < rows; ++i) {
      out.var[first + i] +=
          q_.hidden_var *
          std::max(block.col(i).squaredNorm() - seen.col(i).squaredNorm(), 0.0);
    }
  }
  for (std::size_t t = 0; t < q_.terms.size(); ++t) {
    if (q_.terms[t].kind != Kind::dense) continue;
    for (Index i = 0; i < rows; ++i) {
      add_effects(t, rows_.terms[t].group[first + i], z_row(t, first + i),
                  s.tile.col(i));
    }
  }
  if (q_.gamma.size() > 0) {
    out.var.segment(first, rows).noalias() +=
        s.tile.cwiseAbs2().transpose() * q_.indicator_var;
    s.tile.array().colwise() *= q_.gamma.array();
  }
  out.mean.segment(first, rows).noalias() += s.tile.transpose() * q_.mean;
  for (std::size_t t = 0; t < q_.terms.size(); ++t) {
    for (Index i = 0; i < rows; ++i) {
      const int g = rows_.terms[t].group[first + i];
      const VectorXd z = z_row(t, first + i);
      if (q_.terms[t].kind != Kind::dense) {
        out.mean[first + i] += add_effects(t, g, z, s.tile.col(i));
      }
      out.var[first + i] += covariance(t, g, z, z);
    }
  }
  if (size == 0) return;
  if (root_ != nullptr) {
    root_->add_norms(s.tile.data(), rows, s.white, out.var.data() + first);
  } else {
    s.white.noalias() = q_.covariance * s.tile;
    out.var.segment(first, rows) +=
        s.white.cwiseProduct(s.tile).colwise().sum().transpose();
  }
}

void LinearPredictor::add_missing(Index i, double& var) const {
  const MatrixXd& v = given_[place_[i].first].var;
  const Index m = v.rows(), size = q_.mean.size();
  MatrixXd slope = MatrixXd::Zero(size, m);
  std::vector<MatrixXd> z;
  rows_.missing.each(i, [&](const MissingUses::Use& use) {
    slope(use.column, position(i, use.predictor)) += use.slope;
  });
  for (std::size_t t = 0; t < q_.terms.size(); ++t) {
    z.push_back(MatrixXd::Zero(rows_.terms[t].z.cols(), m));
    rows_.terms[t].missing.each(i, [&](const MissingUses::Use& use) {
      z[t](use.column, position(i, use.predictor)) += use.slope;
    });
    if (q_.terms[t].kind != Kind::dense) continue;
    for (Index j = 0; j < m; ++j) {
      add_effects(t, rows_.terms[t].group[i], z[t].col(j), slope.col(j));
    }
  }
  if (q_.gamma.size() > 0) {
    var += v.cwiseProduct(slope.transpose() * q_.indicator_var.asDiagonal() *
                          slope)
               .sum();
    slope.array().colwise() *= q_.gamma.array();
  }
  VectorXd mean = slope.transpose() * q_.mean;
  for (std::size_t t = 0; t < q_.terms.size(); ++t) {
    const int g = rows_.terms[t].group[i];
    for (Index j = 0; j < m; ++j) {
      if (q_.terms[t].kind != Kind::dense) {
        mean[j] += add_effects(t, g, z[t].col(j), slope.col(j));
      }
      for (Index l = 0; l < m; ++l) {
        var += v(j, l) * covariance(t, g, z[t].col(j), z[t].col(l));
      }
    }
  }
  var += v.cwiseProduct(mean * mean.transpose()).sum();
  if (size > 0) {
    var += v.cwiseProduct(slope.transpose() * (q_.covariance * slope)).sum();
  }
}

GaussianMoments LinearPredictor::run(Executor& executor) {
  const Index n = rows_.x.rows();
  GaussianMoments out{rows_.offset, VectorXd::Zero(n)};
  constexpr Index kRows = 256, kStrips = 16;  // strips in one block
  executor.run((n + kRows * kStrips - 1) / (kRows * kStrips), [&](Index b) {
    Scratch scratch;
    const Index end = std::min(n, (b + 1) * kRows * kStrips);
    for (Index first = b * kRows * kStrips; first < end; first += kRows) {
      strip(first, std::min(kRows, end - first), scratch, out);
    }
    for (Index i = b * kRows * kStrips; i < end; ++i) {
      if (place_[i].first >= 0) add_missing(i, out.var[i]);
    }
  });
  return out;
}

}  // namespace bayeskernel
