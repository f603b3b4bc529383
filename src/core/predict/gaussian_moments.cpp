#include "predict/gaussian_moments.hpp"

namespace bayeskernel {
namespace {
using Term = LinearPosterior::Term;

void check_term(const Term& term, const LinearRows::Term& rows, Index size) {
  const Index r = rows.z.cols(), groups = term.mean.rows();
  const int most = rows.group.empty() ? 0
                                      : *std::max_element(rows.group.begin(),
                                                          rows.group.end());
  bool fits = true;
  if (term.kind == Term::Kind::dense) {
    fits = most * r <= count_of(term.index);
    for (const int k : term.index) fits = fits && k >= 1 && k <= size;
  } else {
    fits = term.mean.cols() == r && most <= groups &&
           term.covariance.rows() == r && term.covariance.cols() == r * groups;
  }
  if (term.kind == Term::Kind::eliminated) {
    fits = fits && term.loading.rows() == r &&
           term.loading.cols() == size * groups;
  }
  const bool unseen =
      std::find(rows.group.begin(), rows.group.end(), 0) != rows.group.end();
  demand(
      fits && (!unseen || (term.unseen.rows() == r && term.unseen.cols() == r)),
      "the posterior of a random term");
}

void check(const LinearRows& rows, const LinearPosterior& q) {
  rows.check();
  const Index p = rows.x.cols(), size = q.mean.size();
  const Index P = rows.predictors.cols();
  demand(q.center.size() == p && q.scale.size() == p, "the scale of columns");
  demand(q.covariance.rows() == size && q.covariance.cols() == size,
         "the covariance");
  demand(q.gamma.size() == 0 ||
             (q.gamma.size() == size && q.indicator_var.size() == size),
         "the probability of columns");
  demand(q.basis.cols() == 0 ? p <= size
                             : q.first >= 0 && q.first + q.basis.rows() == p &&
                                   q.first + q.basis.cols() <= size,
         "the number of coefficients");
  demand(P == 0 || (q.precision.rows() == P && q.precision.cols() == P &&
                    q.x_mean.size() == P && q.x_mean_cov.rows() == P &&
                    q.x_mean_cov.cols() == P),
         "the law of missing predictors");
  demand(q.terms.size() == rows.terms.size(), "the number of random terms");
  for (std::size_t t = 0; t < q.terms.size(); ++t) {
    check_term(q.terms[t], rows.terms[t], size);
  }
}
}  // namespace

LinearPredictor::LinearPredictor(const LinearRows& rows,
                                 const LinearPosterior& q)
    : rows_(rows), q_(q), given_(rows.patterns.size()) {
  check(rows, q);
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
  at.filled.resize(m, count_of(pattern.rows));
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

VectorXd LinearPredictor::z_row(std::size_t t, Index i) const {
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
