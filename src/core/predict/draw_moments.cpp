#include "predict/draw_moments.hpp"

#include "math/normal.hpp"

namespace bayeskernel {
void DrawMoments::set(Index i, const ArrayXd& value, const ArrayXd& extra,
                      const std::vector<LinkCurve>& links,
                      const ArrayXd& quantiles, bool whole, Scratch& s) {
  const bool open = extra.size() > 0;
  mean[i] = value.mean();
  var[i] = variance(value, mean[i]) + (open ? extra.mean() : 0.0);
  if (middle.size() > 0) set_robust(i, value, extra, s);
  for (std::size_t l = 0; l < links.size(); ++l) {
    if (open && whole && links[l].link() != Link::probit) {
      s.p.resize(value.size());
      for (Index d = 0; d < value.size(); ++d) {
        s.p[d] = links[l].mean(value[d], extra[d]);
      }
    } else {
      if (!open) {
        s.value = value;
      } else if (links[l].link() == Link::probit) {
        s.value = value / (1.0 + extra).sqrt();
      } else {
        s.value = value + extra.sqrt() * quantiles;
      }
      links[l].values(s.value, s.work, s.p);
    }
    probability(i, l) = s.p.mean();
    if (open && whole) {
      s.value = value + extra.sqrt() * quantiles;
      links[l].values(s.value, s.work, s.p);
    }
    probability_sd(i, l) = std::sqrt(variance(s.p, s.p.mean()));
  }
}

ArrayXd DrawMoments::even_quantiles(Index draws) {
  ArrayXd out(draws);
  for (Index d = 0; d < draws; ++d) {
    double whole;
    out[d] = normal_quantile(
        std::modf(static_cast<double>(d + 1) * 0.61803398874989485, &whole));
  }
  return out;
}

double DrawMoments::quantile(ArrayXd& v, double probability) {
  if (v.size() == 0) return 0.0;
  double* at =
      v.data() + std::lround(probability * static_cast<double>(v.size() - 1));
  std::nth_element(v.data(), at, v.data() + v.size());
  return *at;
}

double DrawMoments::variance(const ArrayXd& v, double mean) {
  return v.size() > 1
             ? (v - mean).square().sum() / static_cast<double>(v.size() - 1)
             : 0.0;
}

namespace {
void check(const LinearRows& rows, const LinearDraws& draws) {
  rows.check();
  const Index count = draws.beta.rows(), P = rows.predictors.cols();
  demand(draws.beta.cols() == rows.x.cols(), "the number of coefficients");
  demand(P == 0 || (draws.x_mean.rows() == count && draws.x_mean.cols() == P &&
                    draws.x_cov.rows() == P && draws.x_cov.cols() == P * count),
         "the law of missing predictors");
  demand(draws.terms.size() == rows.terms.size(), "the number of random terms");
  for (std::size_t t = 0; t < rows.terms.size(); ++t) {
    const LinearDraws::Term& term = draws.terms[t];
    const Index r = rows.terms[t].z.cols();
    bool fits = term.effects.rows() == count &&
                term.covariance.rows() == count &&
                term.covariance.cols() == r * r;
    for (const int g : rows.terms[t].group) {
      fits = fits && g * r <= term.effects.cols();
    }
    demand(fits, "the draws of a random term");
  }
}
}  // namespace

LinearDrawPredictor::LinearDrawPredictor(const LinearRows& rows,
                                         const LinearDraws& draws)
    : rows_(rows), draws_(draws), whole_(rows.x.rows(), true) {
  check(rows, draws);
  for (const LinearRows::Pattern& pattern : rows.patterns) {
    for (const int i : pattern.rows) whole_[i] = false;
  }
}

DrawMoments LinearDrawPredictor::moments(const std::vector<LinkCurve>& links,
                                         Executor& executor,
                                         bool robust) const {
  DrawMoments out(rows_.x.rows(), count_of(links), robust);
  const ArrayXd quantiles = DrawMoments::even_quantiles(draws_.beta.rows());
  each_row(nullptr, executor,
           [&](Index i, const ArrayXd& f, const ArrayXd& extra, Work& work) {
             out.set(i, f, extra, links, quantiles, true, work);
           });
  return out;
}

MatrixXd LinearDrawPredictor::values(const double* noise,
                                     Executor& executor) const {
  MatrixXd out(draws_.beta.rows(), rows_.x.rows());
  each_row(noise, executor,
           [&](Index i, const ArrayXd& f, const ArrayXd&, Work&) {
             out.col(i) = f;
           });
  return out;
}

auto LinearDrawPredictor::condition(const LinearRows::Pattern& pattern,
                                    bool root) const -> Conditional {
  const std::vector<int>& missing = pattern.predictors;
  Conditional out;
  out.observed = rows_.observed(pattern);
  const Index m = missing.size(), o = out.observed.size();
  const Index draws = draws_.beta.rows(), size = m + o;
  out.slope.resize(draws, m * o);
  (root ? out.root : out.cov).resize(draws, m * m);
  for (Index s = 0; s < draws; ++s) {
    const auto full = draws_.x_cov.middleCols(s * size, size);
    MatrixXd cov = pick(full, missing, missing);
    if (o > 0) {
      const MatrixXd across = pick(full, out.observed, missing);
      const MatrixXd slope =
          pick(full, out.observed, out.observed).llt().solve(across);
      cov.noalias() -= slope.transpose() * across;
      Eigen::Map<Eigen::RowVectorXd, 0, Eigen::InnerStride<>>(
          out.slope.data() + s, m * o, Eigen::InnerStride<>(draws)) =
          Eigen::Map<const Eigen::RowVectorXd>(slope.data(), m * o);
    }
    if (root) cov = MatrixXd(cov.llt().matrixL());
    Eigen::Map<Eigen::RowVectorXd, 0, Eigen::InnerStride<>>(
        (root ? out.root : out.cov).data() + s, m * m,
        Eigen::InnerStride<>(draws)) =
        Eigen::Map<const Eigen::RowVectorXd>(cov.data(), m * m);
  }
  return out;
}

void LinearDrawPredictor::missing_row(Index i,
                                      const LinearRows::Pattern& pattern,
                                      const Conditional& given,
                                      const double* noise, ArrayXd& value,
                                      ArrayXd& extra) const {
  const std::vector<int>& missing = pattern.predictors;
  const Index m = missing.size(), o = given.observed.size();
  const Index draws = draws_.beta.rows();
  // f without the missing predictors, and its slope in each of them.
  ArrayXXd slope = ArrayXXd::Zero(draws, m);
  VectorXd x = rows_.x.row(i);
  rows_.missing.each(i, [&](const MissingUses::Use& use) {
    x[use.column] = use.base;
    slope.col(position(missing, use.predictor)) +=
        use.slope * draws_.beta.col(use.column).array();
  });
  value = (draws_.beta * x).array() + rows_.offset[i];
  // The predictors themselves: their means given the others, by draw, or
  // simulated values.
  ArrayXXd at(draws, m);
  for (Index j = 0; j < m; ++j) {
    at.col(j) = draws_.x_mean.col(missing[j]).array();
    for (Index k = 0; k < o; ++k) {
      const int from = given.observed[k];
      at.col(j) +=
          given.slope.col(j * o + k) *
          (rows_.predictors(i, from) - draws_.x_mean.col(from).array());
    }
  }
  for (Index j = 0; noise != nullptr && j < m; ++j) {
    for (Index l = 0; l <= j; ++l) {
      at.col(j) += given.root.col(l * m + j) *
                   Eigen::Map<const ArrayXd>(noise + l * draws, draws);
    }
  }
  extra.setZero(noise == nullptr ? draws : 0);
  for (std::size_t t = 0; t < rows_.terms.size(); ++t) {
    add_effects(i, t, &missing, given, at, slope, value, extra);
  }
  for (Index j = 0; j < m; ++j) {
    value += slope.col(j) * at.col(j);
    for (Index l = 0; noise == nullptr && l < m; ++l) {
      extra += given.cov.col(l * m + j) * slope.col(j) * slope.col(l);
    }
  }
}

Index LinearDrawPredictor::position(const std::vector<int>& missing,
                                    int predictor) {
  return std::lower_bound(missing.begin(), missing.end(), predictor) -
         missing.begin();
}

bool LinearDrawPredictor::unseen(Index i) const {
  for (const LinearRows::Term& term : rows_.terms) {
    if (term.group[i] == 0) return true;
  }
  return false;
}

void LinearDrawPredictor::add_effects(Index i, std::size_t t,
                                      const std::vector<int>* missing,
                                      const Conditional& given,
                                      const ArrayXXd& at, ArrayXXd& slope,
                                      ArrayXd& value, ArrayXd& extra) const {
  const LinearRows::Term& term = rows_.terms[t];
  const int g = term.group[i];
  const Index r = term.z.cols(), m = at.cols();
  VectorXd z = term.z.row(i);
  MatrixXd tangent = MatrixXd::Zero(r, m);
  term.missing.each(i, [&](const MissingUses::Use& use) {
    z[use.column] = use.base;
    tangent(use.column, position(*missing, use.predictor)) += use.slope;
  });
  if (g > 0) {
    const auto effects = draws_.terms[t].effects.middleCols((g - 1) * r, r);
    value += (effects * z).array();
    slope.matrix().noalias() += effects * tangent;
    return;
  }
  if (extra.size() == 0) return;
  const ArrayXXd here = (at.matrix() * tangent.transpose()).array().rowwise() +
                        z.transpose().array();
  const MatrixMap& covariance = draws_.terms[t].covariance;
  for (Index a = 0; a < r; ++a) {
    for (Index b = 0; b < r; ++b) {
      ArrayXd product = here.col(a) * here.col(b);
      for (Index j = 0; j < m; ++j) {
        for (Index l = 0; l < m; ++l) {
          const double both = tangent(a, j) * tangent(b, l);
          if (both != 0.0) product += both * given.cov.col(l * m + j);
        }
      }
      extra += product * covariance.col(a * r + b).array();
    }
  }
}

void DrawMoments::set_robust(Index i, const ArrayXd& value,
                             const ArrayXd& extra, Scratch& s) {
  constexpr double kBelow = 0.15865525393145705;  // of a normal law
  s.value = value;
  middle[i] = quantile(s.value, 0.5);
  const double half =
      0.5 * (quantile(s.value, 1.0 - kBelow) - quantile(s.value, kBelow));
  robust_variance[i] = half * half;
  if (extra.size() == 0) return;
  s.value = extra;
  robust_variance[i] += quantile(s.value, 0.5);
}
}  // namespace bayeskernel
