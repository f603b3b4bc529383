#include "missing/mixture.hpp"

#include <Eigen/QR>

#include "error.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {
int Cells::level(Index cell, Index factor) const {
  for (Index f = factors() - 1; f > factor; --f) cell /= sizes_[f];
  return static_cast<int>(cell % sizes_[factor]);
}

MatrixXd Cells::main_effects() const {
  Index width = 1;
  for (const int size : sizes_) width += size - 1;
  MatrixXd out = MatrixXd::Zero(count_, width);
  out.col(0).setOnes();
  Index first = 0;
  for (Index f = 0; f < factors(); ++f) {
    for (Index k = 0; k < count_; ++k) {
      if (level(k, f) > 0) out(k, first + level(k, f)) = 1.0;
    }
    first += sizes_[f] - 1;
  }
  return out;
}

void GroupEffects::shift(Index i, VectorXd& out, Index but) const {
  out.setZero(width());
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const int g = factors[f].code[i];
    if (static_cast<Index>(f) != but && g >= 0) out += factors[f].mean.col(g);
  }
}

void GroupEffects::variance(Index i, MatrixXd& out) const {
  out.setZero(width(), width());
  for (const Factor& factor : factors) {
    const int g = factor.code[i];
    if (g < 0) {
      out += factor.covariance;
    } else {
      out += MatrixMap(factor.variance.col(g).data(), width(), width());
    }
  }
}

double GroupEffects::tilt(Index i, Index factor, Index level) const {
  double out = 0.0;
  for (const Factor& own : factors) {
    const int g = own.code[i];
    if (g < 0 || factor >= count_of(own.tilt)) continue;
    if (own.tilt[factor].size() > 0) out += own.tilt[factor](level, g);
  }
  return out;
}

Places::Places(const std::vector<bool>& is_missing) {
  for (std::size_t j = 0; j < is_missing.size(); ++j) {
    (is_missing[j] ? missing : seen).push_back(static_cast<Index>(j));
  }
}

MatrixXd part(const MatrixXd& a, const std::vector<Index>& rows,
              const std::vector<Index>& columns) {
  MatrixXd out(rows.size(), columns.size());
  for (Index j = 0; j < out.cols(); ++j) {
    for (Index i = 0; i < out.rows(); ++i) out(i, j) = a(rows[i], columns[j]);
  }
  return out;
}

VectorXd part(const VectorRef& v, const std::vector<Index>& at) {
  VectorXd out(at.size());
  for (Index i = 0; i < out.size(); ++i) out[i] = v[at[i]];
  return out;
}

GivenSeen::GivenSeen(const Places& at, const VectorXd& mean,
                     const MatrixXd& covariance_) {
  const MatrixXd cross = part(covariance_, at.seen, at.missing);
  covariance = part(covariance_, at.missing, at.missing);
  level = part(mean, at.missing);
  slope = MatrixXd::Zero(at.missing.size(), at.seen.size());
  if (at.seen.empty()) return;
  const Eigen::LLT<MatrixXd> seen(part(covariance_, at.seen, at.seen));
  if (seen.info() != Eigen::Success) {
    throw NumericError(
        "the covariance of the predictors is not positive definite");
  }
  seen_root = seen.matrixL();
  if (at.missing.empty()) return;
  slope = seen.solve(cross).transpose();
  covariance -= slope * cross;
  level -= slope * part(mean, at.seen);
}

Mixture MixtureFit::fit(const Rows& x, const std::vector<int>& component,
                        int components, const Codes& code, const Cells& cells,
                        const Options& options) {
  const Index predictors = x.cols(), count = cells.count();
  const Index n = x.rows();
  cells_ = cells;
  effects_ = cells.main_effects();
  options_ = options;
  standardise(x);
  const double total = options.weight ? options.weight->sum() : n;
  Mixture out;
  out.cells = cells;
  out.mixture_weight = VectorXd::Zero(count * components);
  out.mean.resize(predictors, count * components);
  for (int c = 0; c < components; ++c) {
    closed_.clear();
    open_.clear();
    known_.clear();
    rows_ = 0.0;
    margin_.assign(cells.factors(), VectorXd());
    for (Index f = 0; f < cells.factors(); ++f) {
      margin_[f] = VectorXd::Zero(cells.size(f));
    }
    for (Index i = 0; i < n; ++i) {
      if (component[i] == c) add(x, i, code);
    }
    if (rows_ == 0.0) throw ArgumentError("a class without rows");
    State state =
        options.start != nullptr ? resume(c, components) : start(predictors);
    climb(state);
    for (Index k = 0; k < count; ++k) {
      const Index at = k * components + c;
      out.mixture_weight[at] = state.mixture_weight[k] * rows_ / total;
      out.mean.col(at) = center_ + scale_.cwiseProduct(state.mean.col(k));
    }
    out.covariance.push_back(scale_.asDiagonal() * state.covariance *
                             scale_.asDiagonal());
  }
  return out;
}

MixtureFit::Pattern::Pattern(const Missing& missing)
    : at(missing),
      sum(VectorXd::Zero(at.seen.size())),
      square(MatrixXd::Zero(sum.size(), sum.size())) {}

void MixtureFit::Pattern::add(double weight, const VectorXd& seen,
                              const MatrixXd& open) {
  count += weight;
  sum += weight * seen;
  square += weight * seen * seen.transpose();
  if (open.size() > 0) square += weight * open;
}

void MixtureFit::standardise(const Rows& x) {
  center_ = VectorXd::Zero(x.cols());
  scale_ = VectorXd::Ones(x.cols());
  for (Index j = 0; j < x.cols(); ++j) {
    double count = 0.0, mean = 0.0, square = 0.0;
    for (Index i = 0; i < x.rows(); ++i) {
      if (std::isnan(x(i, j))) continue;
      count += 1.0;
      const double gap = x(i, j) - mean;
      mean += gap / count;
      square += gap * (x(i, j) - mean);
    }
    center_[j] = mean;
    if (square > 0.0) scale_[j] = std::sqrt(square / (count - 1.0));
  }
}

void MixtureFit::add(const Rows& x, Index i, const Codes& code) {
  const double weight =
      options_.weight != nullptr ? (*options_.weight)[i] : 1.0;
  if (weight == 0.0) return;
  missing_.resize(x.cols());
  for (Index j = 0; j < x.cols(); ++j) missing_[j] = std::isnan(x(i, j));
  Known& known = known_of(missing_);
  seen_.resize(known.at.seen.size());
  for (Index k = 0; k < seen_.size(); ++k) {
    const Index j = known.at.seen[k];
    seen_[k] = (x(i, j) - center_[j]) / scale_[j];
  }
  left_.resize(0, 0);
  if (options_.groups != nullptr) take_groups(known, i);
  row_cells_.clear();
  for (Index k = 0; k < cells_.count(); ++k) {
    if (cells_.factors() == 0 || cells_.fits(k, code.row(i))) {
      row_cells_.push_back(k);
    }
  }
  rows_ += weight;
  for (Index f = 0; f < cells_.factors(); ++f) {
    if (code(i, f) >= 0) margin_[f][code(i, f)] += weight;
  }
  if (row_cells_.size() > 1) {
    open_[missing_].push_back({weight, seen_, left_, row_cells_});
    return;
  }
  Pattern*& sums = known.sums[row_cells_[0]];
  if (sums == nullptr) sums = &sums_of(closed_, missing_, row_cells_[0]);
  sums->add(weight, seen_, left_);
}

auto MixtureFit::known_of(const Missing& missing) -> Known& {
  const auto found = known_.find(missing);
  if (found != known_.end()) return found->second;
  Known out{Places(missing), {}, std::vector<Pattern*>(cells_.count())};
  for (const Index j : out.at.seen) {
    Index own = -1;
    if (options_.groups != nullptr) {
      const std::vector<Index>& where = options_.groups->where;
      const auto at = std::find(where.begin(), where.end(), j);
      if (at != where.end()) own = at - where.begin();
    }
    out.own.push_back(own);
  }
  return known_.emplace(missing, std::move(out)).first->second;
}

void MixtureFit::take_groups(const Known& known, Index i) {
  options_.groups->shift(i, shift_);
  options_.groups->variance(i, variance_);
  const std::vector<Index>&own = known.own, &at = known.at.seen;
  left_.setZero(seen_.size(), seen_.size());
  for (Index a = 0; a < seen_.size(); ++a) {
    if (own[a] < 0) continue;
    const double scale = scale_[at[a]];
    seen_[a] -= shift_[own[a]] / scale;
    for (Index b = 0; b < seen_.size(); ++b) {
      if (own[b] < 0) continue;
      left_(a, b) = variance_(own[a], own[b]) / (scale * scale_[at[b]]);
    }
  }
}

auto MixtureFit::resume(int c, int components) const -> State {
  const Mixture& from = *options_.start;
  const VectorXd inverse = scale_.cwiseInverse();
  State out{VectorXd(cells_.count()), MatrixXd(scale_.size(), cells_.count()),
            inverse.asDiagonal() * from.covariance[c] * inverse.asDiagonal()};
  for (Index k = 0; k < cells_.count(); ++k) {
    const Index at = k * components + c;
    out.mixture_weight[k] = from.mixture_weight[at];
    out.mean.col(k) = inverse.cwiseProduct(from.mean.col(at) - center_);
  }
  out.mixture_weight /= out.mixture_weight.sum();
  return out;
}

auto MixtureFit::sums_of(Sums& sums, const Missing& missing, Index cell)
    -> Pattern& {
  const std::pair<Missing, Index> key(missing, cell);
  return sums.emplace(key, Pattern(missing)).first->second;
}

auto MixtureFit::start(Index predictors) const -> State {
  State out{VectorXd::Ones(cells_.count()),
            MatrixXd::Zero(predictors, cells_.count()),
            MatrixXd::Identity(predictors, predictors)};
  for (Index f = 0; f < cells_.factors(); ++f) {
    // A level that a class does not show is rare, not impossible.
    const VectorXd margin = margin_[f].array() + kRare;
    for (Index k = 0; k < cells_.count(); ++k) {
      out.mixture_weight[k] *= margin[cells_.level(k, f)] / margin.sum();
    }
  }
  return out;
}

void MixtureFit::climb(State& state) const {
  const double still = open_.empty() ? kStill : kStillOpen;
  for (int k = 0; k < options_.most; ++k) {
    if (go_on_ && !go_on_()) throw PassInterrupted();
    State next = maximised(open_.empty() ? closed_ : divided(state), state);
    const double change =
        std::max({largest(next.mean - state.mean),
                  largest(next.covariance - state.covariance),
                  largest(next.mixture_weight - state.mixture_weight)});
    state = std::move(next);
    if (change < still) return;
  }
}

double MixtureFit::largest(const MatrixXd& gap) {
  return gap.size() > 0 ? gap.cwiseAbs().maxCoeff() : 0.0;
}

auto MixtureFit::divided(const State& state) const -> Sums {
  Sums out = closed_;
  for (const auto& item : open_) {
    const Places at(item.first);
    MatrixXd mean(at.seen.size(), cells_.count());
    for (Index k = 0; k < mean.cols(); ++k) {
      mean.col(k) = part(state.mean.col(k), at.seen);
    }
    const GivenSeen given(at, state.mean.col(0), state.covariance);
    if (mean.rows() > 0) given.whiten(mean);
    for (const OpenRow& row : item.second) {
      MatrixXd seen = row.seen;
      if (seen.rows() > 0) given.whiten(seen);
      VectorXd weight(row.cells.size());
      for (Index c = 0; c < weight.size(); ++c) {
        const Index k = row.cells[c];
        weight[c] = std::log(state.mixture_weight[k]) -
                    0.5 * (seen.col(0) - mean.col(k)).squaredNorm();
      }
      weight = (weight.array() - weight.maxCoeff()).exp();
      weight /= weight.sum();
      for (Index c = 0; c < weight.size(); ++c) {
        sums_of(out, item.first, row.cells[c])
            .add(row.weight * weight[c], row.seen, row.open);
      }
    }
  }
  return out;
}

auto MixtureFit::maximised(const Sums& sums, const State& at) const -> State {
  const Index predictors = at.mean.rows(), count = cells_.count();
  VectorXd members = VectorXd::Zero(count);
  MatrixXd sum = MatrixXd::Zero(predictors, count);
  MatrixXd square = MatrixXd::Zero(predictors, predictors);
  for (const auto& item : sums) {
    const Index k = item.first.second;
    members[k] += item.second.count;
    complete(item.second, at.mean.col(k), at.covariance, sum.col(k), square);
  }
  State next{mixture_weights(members), sum, square};
  if (predictors == 0) return next;
  next.mean = means(members, sum);
  next.covariance = square - next.mean * sum.transpose() -
                    sum * next.mean.transpose() +
                    next.mean * members.asDiagonal() * next.mean.transpose();
  next.covariance /= rows_;
  next.covariance.diagonal().array() += options_.ridge;
  return next;
}

MatrixXd MixtureFit::means(const VectorXd& members, const MatrixXd& sum) const {
  if (cells_.count() == 1) return sum / rows_;
  const MatrixXd normal =
      effects_.transpose() * members.asDiagonal() * effects_;
  const MatrixXd right = effects_.transpose() * sum.transpose();
  const MatrixXd slope = normal.completeOrthogonalDecomposition().solve(right);
  return (effects_ * slope).transpose();
}

VectorXd MixtureFit::mixture_weights(const VectorXd& members) const {
  VectorXd apart = VectorXd::Ones(cells_.count());
  for (Index f = 0; f < cells_.factors(); ++f) {
    VectorXd margin = VectorXd::Constant(cells_.size(f), kRare);
    for (Index k = 0; k < cells_.count(); ++k) {
      margin[cells_.level(k, f)] += members[k];
    }
    for (Index k = 0; k < cells_.count(); ++k) {
      apart[k] *= margin[cells_.level(k, f)] / margin.sum();
    }
  }
  return (members + apart) / (rows_ + 1.0);
}

void MixtureFit::complete(const Pattern& from, const VectorXd& mean,
                          const MatrixXd& covariance, Eigen::Ref<VectorXd> sum,
                          MatrixXd& square) {
  const std::vector<Index>&seen = from.at.seen, &missing = from.at.missing;
  for (std::size_t a = 0; a < seen.size(); ++a) {
    sum[seen[a]] += from.sum[a];
    for (std::size_t b = 0; b < seen.size(); ++b) {
      square(seen[a], seen[b]) += from.square(a, b);
    }
  }
  if (missing.empty()) return;
  const GivenSeen given(from.at, mean, covariance);
  const VectorXd filled = given.sloped(from.sum) + from.count * given.level;
  MatrixXd own =
      from.count * given.covariance + filled * given.level.transpose();
  MatrixXd cross;
  if (!seen.empty()) {
    cross = given.slope * from.square + given.level * from.sum.transpose();
    own += cross * given.slope.transpose();
  }
  for (std::size_t a = 0; a < missing.size(); ++a) {
    sum[missing[a]] += filled[a];
    for (std::size_t b = 0; b < seen.size(); ++b) {
      square(missing[a], seen[b]) += cross(a, b);
      square(seen[b], missing[a]) += cross(a, b);
    }
    for (std::size_t b = 0; b < missing.size(); ++b) {
      square(missing[a], missing[b]) += own(a, b);
    }
  }
}
}  // namespace bayeskernel
