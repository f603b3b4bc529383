// A model of predictors of which some values are missing. Numbers are Gaussian,
// with a mean for each cell, a combination of levels of the factors that miss
// values, and one covariance; cells have probabilities: the general location
// model (Little and Schluchter, 1985), with means by cell that are sums over
// factors. Or one such model in each class, mixed by the mixture_weights of the
// classes, so that what is missing may depend on the class. EM from sums by
// pattern and cell: O(n P^2) once, O(P^3) by pattern, cell and iteration; rows
// that do not tell their cell O(P^2 + P cells) by iteration.
#pragma once

#include <functional>
#include <map>

#include "eigen.hpp"

namespace bayeskernel {
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
  Index factors() const { return count_of(sizes_); }
  int size(Index factor) const { return sizes_[factor]; }

  int level(Index cell, Index factor) const;

  // Whether a row is in the cell, as far as it tells: -1 is a missing level.
  template <class Code>
  bool fits(Index cell, const Code& code) const {
    for (Index f = 0; f < factors(); ++f) {
      if (code[f] >= 0 && code[f] != level(cell, f)) return false;
    }
    return true;
  }

  // Rows are cells: 1 and a column for each level but the first of a factor.
  MatrixXd main_effects() const;

 private:
  std::vector<int> sizes_;
  Index count_ = 1;
};

// Component k C + c is cell k of class c, of C classes.
struct Mixture {
  VectorXd mixture_weight;           // of components
  MatrixXd mean;                     // P x components
  std::vector<MatrixXd> covariance;  // P x P, by class
  Cells cells;

  Index classes() const { return count_of(covariance); }
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

  Index width() const { return count_of(where); }

  // Without the effects of factor `but`; in the memory of `out`.
  void shift(Index i, VectorXd& out, Index but = -1) const;
  VectorXd shift(Index i) const {
    VectorXd out;
    shift(i, out);
    return out;
  }

  void variance(Index i, MatrixXd& out) const;
  MatrixXd variance(Index i) const {
    MatrixXd out;
    variance(i, out);
    return out;
  }

  double tilt(Index i, Index factor, Index level) const;
};

// Which predictors of a row are there.
struct Places {
  std::vector<Index> seen, missing;

  explicit Places(const std::vector<bool>& is_missing);
};

MatrixXd part(const MatrixXd& a, const std::vector<Index>& rows,
              const std::vector<Index>& columns);

VectorXd part(const VectorRef& v, const std::vector<Index>& at);

// Missing predictors given those seen, under one Gaussian: mean slope x +
// level, and the covariance.
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

  GivenSeen(const Places& at, const VectorXd& mean,
            const MatrixXd& covariance_);
};

// Rows are those of x; NaN is missing. `component` of a row, its class, counts
// from 0. `code`: levels of its factors, n x factors of `cells`, -1 missing.
class MixtureFit {
 public:
  using Rows = MatrixRef;

  // `go_on` is asked between iterations; false gives up with PassInterrupted.
  explicit MixtureFit(std::function<bool()> go_on = nullptr)
      : go_on_(std::move(go_on)) {}

  // Known effects of groups, weights of rows, where to begin, and how far to
  // go.
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
              const Codes& code, const Cells& cells, const Options& options);

 private:
  using Missing = std::vector<bool>;

  // Rows that miss the same predictors.
  struct Pattern {
    explicit Pattern(const Missing& missing);

    void add(double weight, const VectorXd& seen, const MatrixXd& open);

    Places at;
    double count = 0.0;
    VectorXd sum;     // of what is seen
    MatrixXd square;  // of its products
  };
  using Sums = std::map<std::pair<Missing, Index>, Pattern>;

  // What rows of a pattern share: those of the predictors seen that have
  // effects, -1 for others, and the sums by cell, null where there is no row.
  struct Known {
    Places at;
    std::vector<Index> own;
    std::vector<Pattern*> sums;
  };

  Known& known_of(const Missing& missing);

  // A row that may be in several cells.
  struct OpenRow {
    double weight;
    VectorXd seen;
    MatrixXd open;  // the variance of what groups add, empty for none
    std::vector<Index> cells;
  };

  // Of a class.
  struct State {
    VectorXd mixture_weight;  // of cells
    MatrixXd mean;            // P x cells
    MatrixXd covariance;
  };

  static constexpr double kRidge = 1e-3;
  static constexpr double kStill = 1e-9, kStillOpen = 1e-6;
  static constexpr int kMost = 2000;

  void standardise(const Rows& x);

  void add(const Rows& x, Index i, const Codes& code);

  // Takes the effects of the groups of row `i` from what is seen of it, and
  // sets their variance.
  void take_groups(const Known& known, Index i);

  // A class of the model to start from.
  State resume(int c, int components) const;

  static Pattern& sums_of(Sums& sums, const Missing& missing, Index cell);

  // Cells by the margins of the levels that are seen, one and the same mean.
  State start(Index predictors) const;

  void climb(State& state) const;

  static double largest(const MatrixXd& gap);

  // Open rows divided among their cells.
  Sums divided(const State& state) const;

  State maximised(const Sums& sums, const State& at) const;

  // Least squares on the main effects of the factors.
  MatrixXd means(const VectorXd& members, const MatrixXd& sum) const;

  // With one row more, in which the factors are independent.
  VectorXd mixture_weights(const VectorXd& members) const;

  // E x and E x x' of the rows of a pattern.
  static void complete(const Pattern& from, const VectorXd& mean,
                       const MatrixXd& covariance, Eigen::Ref<VectorXd> sum,
                       MatrixXd& square);

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
  std::map<Missing, Known> known_;
  // Of a row.
  Missing missing_;
  VectorXd seen_, shift_;
  MatrixXd variance_, left_;
  std::vector<Index> row_cells_;
};
}  // namespace bayeskernel
