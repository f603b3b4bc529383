// A model of predictors whose rows are grouped: what the groups of a row add to
// its predictors is N(0, S_b), and what is left follows a Mixture. EM: given
// the effects' moments the mixture is fitted to rows without them
// (MixtureFit::Options), given the mixture a group's effects are Gaussian.
// Several factors one after the other. O(n P^2) an iteration.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "missing/mixture.hpp"

namespace bayeskernel {
struct GroupedMixture {
  Mixture rows;
  GroupEffects groups;
};

class GroupedMixtureFit {
 public:
  using Rows = MatrixRef;
  static constexpr int kMost = 300;

  // As MixtureFit reads them.
  struct Data {
    Rows x;
    const std::vector<int>& component;
    int components;
    const Codes& code;
    const Cells& cells;
    const VectorXd* weight;
  };

  explicit GroupedMixtureFit(std::function<bool()> go_on = nullptr)
      : fit_(go_on) {}

  // Iterations of EM with groups at most.
  int most = kMost;

  // `groups`: `where` and the codes of its factors, whose groups all have rows.
  // The last predictor is left out of the answer where it is the response.
  GroupedMixture fit(const Data& data, GroupEffects groups, bool response);

  // The effects' moments under a model with covariances between groups.
  void effects(const Data& data, GroupedMixture& model);

 private:
  // Of a class and of predictors that are seen: their precision, and where
  // those with effects are, among the seen and among `where`.
  struct Seen {
    std::vector<Index> at, place, own;
    MatrixXd precision;
  };

  static constexpr double kStill = 1e-5, kRidge = 1e-7;
  static constexpr int kInner = 3, kSweeps = 10;
  static constexpr Index kMany = 100000;  // rows
  static constexpr int kMostOfMany = 25;

  Mixture fit_rows(const Data& data, const MixtureFit::Options& options);

  static VectorXd observed_scale(const Data& data,
                                 const std::vector<Index>& where);

  // Variances between groups by moments: of the means of groups, less what
  // rows within them leave open.
  void start(const Data& data, GroupedMixture& out) const;

  static Index count_groups(const std::vector<int>& code);

  static double between(const VectorRef& x, const std::vector<int>& code,
                        Index groups);

  void climb(const Data& data, MixtureFit::Options options,
             GroupedMixture& out);

  double moved(const Mixture& a, const Mixture& b,
               const std::vector<Index>& where) const;

  // By factor the columns that are constant within its groups, and 1: what
  // effects have of these belongs to the mixture's means.
  void set_levels(const Data& data, const GroupEffects& groups);

  void maximise(std::size_t f, GroupEffects::Factor& factor) const;

  // The moments of all effects.
  void expect(const Data& data, GroupedMixture& out);

  void expect_factor(const Data& data, Index f, GroupedMixture& out);

  static Seen seen(const std::vector<bool>& missing, int c,
                   const Mixture& mixture, const GroupEffects& groups);

  // Of what is seen of a row, over the cells that it may be in.
  static VectorXd expected(const VectorXd& x, const Seen& at, int c,
                           Index classes, const Data& data, Index i,
                           const Mixture& mixture);

  static void leave_last(GroupedMixture& out);

  MixtureFit fit_;
  VectorXd scale_;
  std::vector<MatrixXd> level_, covariance_;
};
}  // namespace bayeskernel
