// A model of predictors of which some values are missing. Numbers are Gaussian,
// with a mean for each cell, a combination of levels of the factors that miss
// values, and one covariance; cells have probabilities: the general location
// model (Little and Schluchter, 1985), with means by cell that are sums over
// factors. Or one such model in each class, mixed by the shares of the classes,
// so that what is missing may depend on the class. EM from sums by pattern and
// cell: O(n P^2) once, O(P^3) by pattern, cell and iteration; rows that do not
// tell their cell O(P^2 + P cells) by iteration.
#ifndef BAYESKERNEL_MISSING_MIXTURE_HPP
#define BAYESKERNEL_MISSING_MIXTURE_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "error.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

using Codes = Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic>;

// Combinations of the levels of some factors; levels count from 0, the first
// factor's change slowest. Without factors there is one cell.
class Cells {
 public:
  Cells() = default;
  explicit Cells(std::vector<int> sizes) : sizes_(std::move(sizes)) {
    for (const int size : sizes_) count_ *= size;
  }

  Index count() const { return count_; }
  Index factors() const { return static_cast<Index>(sizes_.size()); }
  int size(Index factor) const { return sizes_[factor]; }

  int level(Index cell, Index factor) const {
    for (Index f = factors() - 1; f > factor; --f) cell /= sizes_[f];
    return static_cast<int>(cell % sizes_[factor]);
  }

  // Whether a row is in the cell, as far as it tells: -1 is a missing level.
  template <class Code>
  bool fits(Index cell, const Code& code) const {
    for (Index f = 0; f < factors(); ++f) {
      if (code[f] >= 0 && code[f] != level(cell, f)) return false;
    }
    return true;
  }

  // Rows are cells: 1 and a column for each level but the first of a factor.
  MatrixXd main_effects() const {
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

 private:
  std::vector<int> sizes_;
  Index count_ = 1;
};

// Component k C + c is cell k of class c, of C classes.
struct Mixture {
  VectorXd share;                    // of components
  MatrixXd mean;                     // P x components
  std::vector<MatrixXd> covariance;  // P x P, by class
  Cells cells;

  Index classes() const { return static_cast<Index>(covariance.size()); }
};

// What the groups of a row add to its predictors `where`, which is N(shift,
// variance); the others have no effects of groups. Each factor groups the rows
// (`code`, from 0; negative for a group that is unknown, whose effects are
// N(0, covariance)).
struct GroupEffects {
  struct Factor {
    std::vector<int> code;
    MatrixXd mean;        // of effects, D x groups
    MatrixXd variance;    // D x D by group, a column each
    MatrixXd covariance;  // between groups, D x D
    // log of p(level | group) / p(level) of each factor of the cells, levels x
    // groups, and last of the classes; none where groups do not matter.
    std::vector<MatrixXd> tilt;
  };

  std::vector<Index> where;
  std::vector<Factor> factors;

  Index width() const { return static_cast<Index>(where.size()); }

  // Without the effects of factor `but`.
  VectorXd shift(Index i, Index but = -1) const {
    VectorXd out = VectorXd::Zero(width());
    for (std::size_t f = 0; f < factors.size(); ++f) {
      const int g = factors[f].code[i];
      if (static_cast<Index>(f) != but && g >= 0) out += factors[f].mean.col(g);
    }
    return out;
  }

  MatrixXd variance(Index i) const {
    MatrixXd out = MatrixXd::Zero(width(), width());
    for (const Factor& factor : factors) {
      const int g = factor.code[i];
      if (g < 0) {
        out += factor.covariance;
      } else {
        out += Eigen::Map<const MatrixXd>(factor.variance.col(g).data(),
                                          width(), width());
      }
    }
    return out;
  }

  double tilt(Index i, Index factor, Index level) const {
    double out = 0.0;
    for (const Factor& own : factors) {
      const int g = own.code[i];
      if (g < 0 || factor >= static_cast<Index>(own.tilt.size())) continue;
      if (own.tilt[factor].size() > 0) out += own.tilt[factor](level, g);
    }
    return out;
  }
};

// Which predictors of a row are there.
struct Places {
  std::vector<Index> seen, missing;

  explicit Places(const std::vector<bool>& is_missing) {
    for (std::size_t j = 0; j < is_missing.size(); ++j) {
      (is_missing[j] ? missing : seen).push_back(static_cast<Index>(j));
    }
  }
};

inline MatrixXd part(const MatrixXd& a, const std::vector<Index>& rows,
                     const std::vector<Index>& columns) {
  MatrixXd out(rows.size(), columns.size());
  for (Index j = 0; j < out.cols(); ++j) {
    for (Index i = 0; i < out.rows(); ++i) out(i, j) = a(rows[i], columns[j]);
  }
  return out;
}

inline VectorXd part(const Eigen::Ref<const VectorXd>& v,
                     const std::vector<Index>& at) {
  VectorXd out(at.size());
  for (Index i = 0; i < out.size(); ++i) out[i] = v[at[i]];
  return out;
}

// Missing predictors given those seen, under one Gaussian: mean slope x + level,
// and the covariance.
struct GivenSeen {
  MatrixXd seen_root;  // lower, of the covariance of what is seen
  MatrixXd slope, covariance;
  VectorXd level;

  // slope x; nothing where nothing is seen.
  template <class Seen>
  MatrixXd sloped(const Seen& x) const {
    if (slope.cols() == 0) return MatrixXd::Zero(slope.rows(), x.cols());
    return slope * x;
  }

  // Of what is seen, columns of `x`, which then are independent.
  void whiten(MatrixXd& x) const {
    seen_root.triangularView<Eigen::Lower>().solveInPlace(x);
  }

  GivenSeen(const Places& at, const VectorXd& mean, const MatrixXd& covariance_) {
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
};

// Rows are those of x; NaN is missing. `component` of a row, its class, counts
// from 0. `code`: levels of its factors, n x factors of `cells`, -1 missing.
class MixtureFit {
 public:
  using Rows = Eigen::Ref<const MatrixXd>;

  // `go_on` is asked between iterations; false gives up with PassInterrupted.
  explicit MixtureFit(std::function<bool()> go_on = nullptr)
      : go_on_(std::move(go_on)) {}

  // Known effects of groups, weights of rows, where to begin, and how far to go.
  struct Options {
    const GroupEffects* groups = nullptr;
    const VectorXd* weight = nullptr;
    const Mixture* start = nullptr;
    int most = kMost;
    double ridge = kRidge;  // of the variance of what is seen
  };

  Mixture fit(const Rows& x, const std::vector<int>& component, int components,
              const Codes& code = Codes(), const Cells& cells = Cells()) {
    return fit(x, component, components, code, cells, Options());
  }

  Mixture fit(const Rows& x, const std::vector<int>& component, int components,
              const Codes& code, const Cells& cells, const Options& options) {
    const Index predictors = x.cols(), count = cells.count();
    const Index n = x.rows();
    cells_ = cells;
    effects_ = cells.main_effects();
    options_ = options;
    standardise(x);
    const double total = options.weight ? options.weight->sum() : n;
    Mixture out;
    out.cells = cells;
    out.share = VectorXd::Zero(count * components);
    out.mean.resize(predictors, count * components);
    for (int c = 0; c < components; ++c) {
      closed_.clear();
      open_.clear();
      rows_ = 0.0;
      margin_.assign(cells.factors(), VectorXd());
      for (Index f = 0; f < cells.factors(); ++f) {
        margin_[f] = VectorXd::Zero(cells.size(f));
      }
      for (Index i = 0; i < n; ++i) {
        if (component[i] == c) add(x, i, code);
      }
      if (rows_ == 0.0) throw ArgumentError("a class without rows");
      State state = options.start != nullptr ? resume(c, components)
                                             : start(predictors);
      climb(state);
      for (Index k = 0; k < count; ++k) {
        const Index at = k * components + c;
        out.share[at] = state.share[k] * rows_ / total;
        out.mean.col(at) = center_ + scale_.cwiseProduct(state.mean.col(k));
      }
      out.covariance.push_back(scale_.asDiagonal() * state.covariance *
                               scale_.asDiagonal());
    }
    return out;
  }

 private:
  using Missing = std::vector<bool>;

  // Rows that miss the same predictors.
  struct Pattern {
    explicit Pattern(const Missing& missing)
        : at(missing),
          sum(VectorXd::Zero(at.seen.size())),
          square(MatrixXd::Zero(sum.size(), sum.size())) {}

    void add(double weight, const VectorXd& seen, const MatrixXd& open) {
      count += weight;
      sum += weight * seen;
      square += weight * seen * seen.transpose();
      if (open.size() > 0) square += weight * open;
    }

    Places at;
    double count = 0.0;
    VectorXd sum;     // of what is seen
    MatrixXd square;  // of its products
  };
  using Sums = std::map<std::pair<Missing, Index>, Pattern>;

  // A row that may be in several cells.
  struct OpenRow {
    double weight;
    VectorXd seen;
    MatrixXd open;  // the variance of what groups add, empty for none
    std::vector<Index> cells;
  };

  // Of a class.
  struct State {
    VectorXd share;  // of cells
    MatrixXd mean;   // P x cells
    MatrixXd covariance;
  };

  static constexpr double kRidge = 1e-3;
  static constexpr double kStill = 1e-9, kStillOpen = 1e-6;
  static constexpr int kMost = 2000;

  void standardise(const Rows& x) {
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
      if (square > 0.0) scale_[j] = std::sqrt(square / count);
    }
  }

  void add(const Rows& x, Index i, const Codes& code) {
    Missing missing(x.cols());
    for (Index j = 0; j < x.cols(); ++j) missing[j] = std::isnan(x(i, j));
    const Places at(missing);
    VectorXd seen(at.seen.size());
    for (Index k = 0; k < seen.size(); ++k) {
      const Index j = at.seen[k];
      seen[k] = (x(i, j) - center_[j]) / scale_[j];
    }
    const double weight =
        options_.weight != nullptr ? (*options_.weight)[i] : 1.0;
    if (weight == 0.0) return;
    MatrixXd open;
    if (options_.groups != nullptr) open = take_groups(at, i, seen);
    OpenRow row{weight, seen, open, {}};
    for (Index k = 0; k < cells_.count(); ++k) {
      if (cells_.factors() == 0 || cells_.fits(k, code.row(i))) {
        row.cells.push_back(k);
      }
    }
    rows_ += weight;
    for (Index f = 0; f < cells_.factors(); ++f) {
      if (code(i, f) >= 0) margin_[f][code(i, f)] += weight;
    }
    if (row.cells.size() > 1) {
      open_[missing].push_back(std::move(row));
    } else {
      sums_of(closed_, missing, row.cells[0]).add(weight, seen, open);
    }
  }

  // Takes the effects of the groups of row `i` from what is seen of it; their
  // variance.
  MatrixXd take_groups(const Places& at, Index i, VectorXd& seen) const {
    const GroupEffects& groups = *options_.groups;
    const VectorXd shift = groups.shift(i);
    const MatrixXd variance = groups.variance(i);
    std::vector<Index> own(at.seen.size(), -1);
    for (Index d = 0; d < groups.width(); ++d) {
      const auto found =
          std::lower_bound(at.seen.begin(), at.seen.end(), groups.where[d]);
      if (found != at.seen.end() && *found == groups.where[d]) {
        own[found - at.seen.begin()] = d;
      }
    }
    MatrixXd out = MatrixXd::Zero(seen.size(), seen.size());
    for (Index a = 0; a < seen.size(); ++a) {
      if (own[a] < 0) continue;
      const double scale = scale_[at.seen[a]];
      seen[a] -= shift[own[a]] / scale;
      for (Index b = 0; b < seen.size(); ++b) {
        if (own[b] < 0) continue;
        out(a, b) = variance(own[a], own[b]) / (scale * scale_[at.seen[b]]);
      }
    }
    return out;
  }

  // A class of the model to start from.
  State resume(int c, int components) const {
    const Mixture& from = *options_.start;
    const VectorXd inverse = scale_.cwiseInverse();
    State out{VectorXd(cells_.count()), MatrixXd(scale_.size(), cells_.count()),
              inverse.asDiagonal() * from.covariance[c] *
                  inverse.asDiagonal()};
    for (Index k = 0; k < cells_.count(); ++k) {
      const Index at = k * components + c;
      out.share[k] = from.share[at];
      out.mean.col(k) = inverse.cwiseProduct(from.mean.col(at) - center_);
    }
    out.share /= out.share.sum();
    return out;
  }

  static Pattern& sums_of(Sums& sums, const Missing& missing, Index cell) {
    const std::pair<Missing, Index> key(missing, cell);
    return sums.emplace(key, Pattern(missing)).first->second;
  }

  // Cells by the margins of the levels that are seen, one and the same mean.
  State start(Index predictors) const {
    State out{VectorXd::Ones(cells_.count()),
              MatrixXd::Zero(predictors, cells_.count()),
              MatrixXd::Identity(predictors, predictors)};
    for (Index f = 0; f < cells_.factors(); ++f) {
      // A level that a class does not show is rare, not impossible.
      const VectorXd margin = margin_[f].array() + kRare;
      for (Index k = 0; k < cells_.count(); ++k) {
        out.share[k] *= margin[cells_.level(k, f)] / margin.sum();
      }
    }
    return out;
  }

  void climb(State& state) const {
    const double still = open_.empty() ? kStill : kStillOpen;
    for (int k = 0; k < options_.most; ++k) {
      if (go_on_ && !go_on_()) throw PassInterrupted();
      State next = maximised(open_.empty() ? closed_ : divided(state), state);
      const double change =
          std::max({largest(next.mean - state.mean),
                    largest(next.covariance - state.covariance),
                    largest(next.share - state.share)});
      state = std::move(next);
      if (change < still) return;
    }
  }

  static double largest(const MatrixXd& gap) {
    return gap.size() > 0 ? gap.cwiseAbs().maxCoeff() : 0.0;
  }

  // Open rows divided among their cells.
  Sums divided(const State& state) const {
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
          weight[c] = std::log(state.share[k]) -
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

  State maximised(const Sums& sums, const State& at) const {
    const Index predictors = at.mean.rows(), count = cells_.count();
    VectorXd members = VectorXd::Zero(count);
    MatrixXd sum = MatrixXd::Zero(predictors, count);
    MatrixXd square = MatrixXd::Zero(predictors, predictors);
    for (const auto& item : sums) {
      const Index k = item.first.second;
      members[k] += item.second.count;
      complete(item.second, at.mean.col(k), at.covariance, sum.col(k), square);
    }
    State next{shares(members), sum, square};
    if (predictors == 0) return next;
    next.mean = means(members, sum);
    next.covariance = square - next.mean * sum.transpose() -
                      sum * next.mean.transpose() +
                      next.mean * members.asDiagonal() * next.mean.transpose();
    next.covariance /= rows_;
    next.covariance.diagonal().array() += options_.ridge;
    return next;
  }

  // Least squares on the main effects of the factors.
  MatrixXd means(const VectorXd& members, const MatrixXd& sum) const {
    if (cells_.count() == 1) return sum / rows_;
    const MatrixXd normal =
        effects_.transpose() * members.asDiagonal() * effects_;
    const MatrixXd right = effects_.transpose() * sum.transpose();
    const MatrixXd slope =
        normal.completeOrthogonalDecomposition().solve(right);
    return (effects_ * slope).transpose();
  }

  // With one row more, in which the factors are independent.
  VectorXd shares(const VectorXd& members) const {
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

  // E x and E x x' of the rows of a pattern.
  static void complete(const Pattern& from, const VectorXd& mean,
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

  static constexpr double kRare = 1e-6;  // rows

  std::function<bool()> go_on_;
  Options options_;
  Cells cells_;
  MatrixXd effects_;
  VectorXd center_, scale_;
  double rows_ = 0.0;
  std::vector<VectorXd> margin_;  // rows that tell a factor's level
  Sums closed_;
  std::map<Missing, std::vector<OpenRow>> open_;
};

}  // namespace bayeskernel

#endif
