#include "missing/grouped_mixture.hpp"

#include <Eigen/QR>
#include <map>

#include "error.hpp"
#include "math/spd.hpp"

namespace bayeskernel {
GroupedMixture GroupedMixtureFit::fit(const Data& data, GroupEffects groups,
                                      bool response) {
  MixtureFit::Options options;
  options.weight = data.weight;
  if (response || !groups.factors.empty()) options.ridge = kRidge;
  GroupedMixture out{fit_rows(data, options), std::move(groups)};
  const Index width = out.groups.width();
  scale_ = observed_scale(data, out.groups.where);
  bool grouped = width > 0 && !out.groups.factors.empty();
  if (grouped) {
    start(data, out);
    climb(data, options, out);
  }
  if (!response) return out;
  leave_last(out);
  if (grouped) {
    const Data own{data.x.leftCols(data.x.cols() - 1),
                   data.component,
                   data.components,
                   data.code,
                   data.cells,
                   data.weight};
    effects(own, out);
  }
  return out;
}

void GroupedMixtureFit::effects(const Data& data, GroupedMixture& model) {
  const Index width = model.groups.width();
  for (GroupEffects::Factor& factor : model.groups.factors) {
    const Index groups = count_groups(factor.code);
    factor.mean = MatrixXd::Zero(width, groups);
    factor.variance = MatrixXd::Zero(width * width, groups);
  }
  // One factor given the others.
  const int rounds = model.groups.factors.size() > 1 ? kSweeps : 1;
  for (int k = 0; k < rounds; ++k) expect(data, model);
}

Mixture GroupedMixtureFit::fit_rows(const Data& data,
                                    const MixtureFit::Options& options) {
  return fit_.fit(data.x, data.component, data.components, data.code,
                  data.cells, options);
}

VectorXd GroupedMixtureFit::observed_scale(const Data& data,
                                           const std::vector<Index>& where) {
  VectorXd out = VectorXd::Ones(where.size());
  for (std::size_t d = 0; d < where.size(); ++d) {
    double count = 0.0, mean = 0.0, square = 0.0;
    for (Index i = 0; i < data.x.rows(); ++i) {
      const double value = data.x(i, where[d]);
      if (std::isnan(value)) continue;
      count += 1.0;
      const double gap = value - mean;
      mean += gap / count;
      square += gap * (value - mean);
    }
    if (square > 0.0) out[d] = std::sqrt(square / (count - 1.0));
  }
  return out;
}

void GroupedMixtureFit::start(const Data& data, GroupedMixture& out) const {
  const Index width = out.groups.width();
  for (GroupEffects::Factor& factor : out.groups.factors) {
    const Index groups = count_groups(factor.code);
    factor.mean = MatrixXd::Zero(width, groups);
    factor.variance = MatrixXd::Zero(width * width, groups);
    factor.covariance = MatrixXd::Zero(width, width);
    for (Index d = 0; d < width; ++d) {
      factor.covariance(d, d) =
          between(data.x.col(out.groups.where[d]), factor.code, groups);
      for (Index g = 0; g < groups; ++g) {
        factor.variance(d * (width + 1), g) = factor.covariance(d, d);
      }
    }
  }
}

Index GroupedMixtureFit::count_groups(const std::vector<int>& code) {
  int most = -1;
  for (const int g : code) most = std::max(most, g);
  return most + 1;
}

double GroupedMixtureFit::between(const VectorRef& x,
                                  const std::vector<int>& code, Index groups) {
  VectorXd count = VectorXd::Zero(groups), mean = VectorXd::Zero(groups);
  double within = 0.0, rows = 0.0, all = 0.0, square = 0.0;
  for (Index i = 0; i < x.size(); ++i) {
    const int g = code[i];
    if (std::isnan(x[i]) || g < 0) continue;
    const double gap = x[i] - mean[g];
    mean[g] += gap / (count[g] += 1.0);
    within += gap * (x[i] - mean[g]);
    const double from = x[i] - all;
    all += from / (rows += 1.0);
    square += from * (x[i] - all);
  }
  const double seen = (count.array() > 0.0).count();
  const double total = rows > 1.0 ? square / rows : 1.0;
  if (rows <= seen) return 0.5 * total;
  const double mixture_weight = 1.0 - within / (rows - seen) / total;
  return total * std::clamp(mixture_weight, 0.02, 0.98);
}

void GroupedMixtureFit::climb(const Data& data, MixtureFit::Options options,
                              GroupedMixture& out) {
  options.most = kInner;
  const int count = data.x.rows() > kMany ? std::min(most, kMostOfMany) : most;
  set_levels(data, out.groups);
  for (int k = 0; k < count; ++k) {
    expect(data, out);
    for (std::size_t f = 0; f < out.groups.factors.size(); ++f) {
      maximise(f, out.groups.factors[f]);
    }
    options.groups = &out.groups;
    options.start = &out.rows;
    Mixture next = fit_rows(data, options);
    double change = moved(next, out.rows, out.groups.where);
    for (std::size_t f = 0; f < covariance_.size(); ++f) {
      const VectorXd inverse = scale_.cwiseInverse();
      const MatrixXd gap = out.groups.factors[f].covariance - covariance_[f];
      change =
          std::max(change, (inverse.asDiagonal() * gap * inverse.asDiagonal())
                               .cwiseAbs()
                               .maxCoeff());
      covariance_[f] = out.groups.factors[f].covariance;
    }
    out.rows = std::move(next);
    if (change < kStill) break;
  }
  expect(data, out);
}

double GroupedMixtureFit::moved(const Mixture& a, const Mixture& b,
                                const std::vector<Index>& where) const {
  double out = 0.0;
  for (std::size_t d = 0; d < where.size(); ++d) {
    const Index j = where[d];
    out = std::max(
        out, (a.mean.row(j) - b.mean.row(j)).cwiseAbs().maxCoeff() / scale_[d]);
    for (std::size_t c = 0; c < a.covariance.size(); ++c) {
      out = std::max(out,
                     std::abs(a.covariance[c](j, j) - b.covariance[c](j, j)) /
                         (scale_[d] * scale_[d]));
    }
  }
  return out;
}

void GroupedMixtureFit::set_levels(const Data& data,
                                   const GroupEffects& groups) {
  level_.clear();
  covariance_.clear();
  for (const GroupEffects::Factor& factor : groups.factors) {
    covariance_.push_back(factor.covariance);
    const Index count = factor.mean.cols();
    std::vector<Index> first(count, -1);
    for (Index i = data.x.rows(); i-- > 0;) {
      if (factor.code[i] >= 0) first[factor.code[i]] = i;
    }
    std::vector<Index> columns;
    for (Index j = 0; j < data.x.cols(); ++j) {
      if (std::find(groups.where.begin(), groups.where.end(), j) !=
          groups.where.end()) {
        continue;
      }
      bool same = true;
      for (Index i = 0; same && i < data.x.rows(); ++i) {
        const int g = factor.code[i];
        same = g < 0 || data.x(i, j) == data.x(first[g], j);
      }
      if (same && count_of(columns) * 3 + 3 < count) {
        columns.push_back(j);
      }
    }
    MatrixXd level = MatrixXd::Ones(count, columns.size() + 1);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      for (Index g = 0; g < count; ++g) {
        level(g, c + 1) = first[g] < 0 ? 0.0 : data.x(first[g], columns[c]);
      }
    }
    level_.push_back(level);
  }
}

void GroupedMixtureFit::maximise(std::size_t f,
                                 GroupEffects::Factor& factor) const {
  const MatrixXd& level = level_[f];
  const Index width = factor.mean.rows(), groups = factor.mean.cols();
  if (groups > level.cols()) {
    const MatrixXd slope =
        level.colPivHouseholderQr().solve(factor.mean.transpose());
    factor.mean -= (level * slope).transpose();
  }
  const VectorXd sum = factor.variance.rowwise().sum();
  factor.covariance = (factor.mean * factor.mean.transpose() +
                       MatrixMap(sum.data(), width, width)) /
                      static_cast<double>(groups);
  factor.covariance.diagonal() += kRidge * scale_.cwiseAbs2();
}

void GroupedMixtureFit::expect(const Data& data, GroupedMixture& out) {
  for (std::size_t f = 0; f < out.groups.factors.size(); ++f) {
    expect_factor(data, static_cast<Index>(f), out);
  }
}

void GroupedMixtureFit::expect_factor(const Data& data, Index f,
                                      GroupedMixture& out) {
  GroupEffects::Factor& factor = out.groups.factors[f];
  const Mixture& mixture = out.rows;
  const Index width = out.groups.width(), groups = factor.mean.cols();
  const Index classes = mixture.classes();
  MatrixXd precision = MatrixXd::Zero(width * width, groups);
  MatrixXd linear = MatrixXd::Zero(width, groups);
  // By class.
  std::map<std::vector<bool>, std::vector<std::optional<Seen>>> known;
  std::vector<bool> missing(data.x.cols());
  VectorXd gap, shift, weighted_gap;
  for (Index i = 0; i < data.x.rows(); ++i) {
    const int g = factor.code[i];
    const double weight = data.weight != nullptr ? (*data.weight)[i] : 1.0;
    if (g < 0 || weight == 0.0) continue;
    for (Index j = 0; j < data.x.cols(); ++j) {
      missing[j] = std::isnan(data.x(i, j));
    }
    const int c = data.component[i];
    std::vector<std::optional<Seen>>& own = known[missing];
    own.resize(classes);
    if (!own[c]) own[c] = seen(missing, c, mixture, out.groups);
    const Seen& at = *own[c];
    if (at.place.empty()) continue;
    gap.resize(at.at.size());
    for (Index k = 0; k < gap.size(); ++k) gap[k] = data.x(i, at.at[k]);
    out.groups.shift(i, shift, f);
    for (std::size_t k = 0; k < at.place.size(); ++k) {
      gap[at.place[k]] -= shift[at.own[k]];
    }
    if (data.cells.count() == 1) {
      for (Index k = 0; k < gap.size(); ++k) {
        gap[k] -= mixture.mean(at.at[k], c);
      }
    } else {
      gap -= expected(gap, at, c, classes, data, i, mixture);
    }
    weighted_gap.noalias() = at.precision * gap;
    for (std::size_t a = 0; a < at.place.size(); ++a) {
      linear(at.own[a], g) += weight * weighted_gap[at.place[a]];
      for (std::size_t b = 0; b < at.place.size(); ++b) {
        precision(at.own[a] + width * at.own[b], g) +=
            weight * at.precision(at.place[a], at.place[b]);
      }
    }
  }
  const Eigen::LLT<MatrixXd> prior(factor.covariance);
  const MatrixXd one = MatrixXd::Identity(width, width);
  const MatrixXd inverse = prior.solve(one);
  for (Index g = 0; g < groups; ++g) {
    const Eigen::LLT<MatrixXd> llt(
        MatrixMap(precision.col(g).data(), width, width) + inverse);
    if (prior.info() != Eigen::Success || llt.info() != Eigen::Success) {
      throw NumericError(
          "the covariance of the predictors between groups is not positive "
          "definite");
    }
    factor.mean.col(g) = llt.solve(linear.col(g));
    Eigen::Map<MatrixXd>(factor.variance.col(g).data(), width, width) =
        llt.solve(one);
  }
}

auto GroupedMixtureFit::seen(const std::vector<bool>& missing, int c,
                             const Mixture& mixture, const GroupEffects& groups)
    -> Seen {
  Seen out;
  out.at = Places(missing).seen;
  for (std::size_t k = 0; k < out.at.size(); ++k) {
    const auto found =
        std::find(groups.where.begin(), groups.where.end(), out.at[k]);
    if (found == groups.where.end()) continue;
    out.place.push_back(static_cast<Index>(k));
    out.own.push_back(found - groups.where.begin());
  }
  if (out.place.empty()) return out;
  out.precision = spd_inverse(part(mixture.covariance[c], out.at, out.at),
                              "the covariance of the predictors");
  return out;
}

VectorXd GroupedMixtureFit::expected(const VectorXd& x, const Seen& at, int c,
                                     Index classes, const Data& data, Index i,
                                     const Mixture& mixture) {
  VectorXd mean(x.size());
  const auto mean_of = [&](Index cell) {
    for (Index k = 0; k < x.size(); ++k) {
      mean[k] = mixture.mean(at.at[k], cell * classes + c);
    }
  };
  VectorXd sum = VectorXd::Zero(x.size());
  double total = 0.0, most = 0.0;
  bool first = true;
  for (Index cell = 0; cell < data.cells.count(); ++cell) {
    if (!data.cells.fits(cell, data.code.row(i))) continue;
    mean_of(cell);
    const VectorXd gap = x - mean;
    const double value = std::log(mixture.mixture_weight[cell * classes + c]) -
                         0.5 * gap.dot(at.precision * gap);
    if (first || value > most) {
      const double shrink = first ? 0.0 : std::exp(most - value);
      sum *= shrink;
      total *= shrink;
      most = value;
      first = false;
    }
    const double weight = std::exp(value - most);
    sum += weight * mean;
    total += weight;
  }
  return sum / total;
}

void GroupedMixtureFit::leave_last(GroupedMixture& out) {
  const Index last = out.rows.mean.rows() - 1;
  out.rows.mean.conservativeResize(last, Eigen::NoChange);
  for (MatrixXd& covariance : out.rows.covariance) {
    covariance.conservativeResize(last, last);
  }
  GroupEffects& groups = out.groups;
  if (groups.where.empty() || groups.where.back() != last) return;
  groups.where.pop_back();
  const Index width = groups.width();
  for (GroupEffects::Factor& factor : groups.factors) {
    factor.mean.conservativeResize(width, Eigen::NoChange);
    factor.covariance.conservativeResize(width, width);
    factor.variance = MatrixXd::Zero(width * width, factor.mean.cols());
  }
}
}  // namespace bayeskernel
