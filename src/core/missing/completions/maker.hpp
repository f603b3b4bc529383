// Rows with missing predictors as completions: completed rows, with
// probabilities under a model of the predictors.
//
// The weights are those of Ibrahim (1990), before the response.
#pragma once

#include <map>

#include "eigen.hpp"
#include "math/quadrature.hpp"
#include "missing/mixture.hpp"

namespace bayeskernel {
// Completed rows: `row` is the one that a completion stands for, counted from
// 0, and values and levels come completion by completion.
struct CompletedRows {
  std::vector<Index> row;
  std::vector<double> log_prior, values;
  std::vector<int> code;
};

// CompletedRows of what is missing given what is seen: for each possible cell
// of the factors, and each class, those of the missing numbers. One number: 7
// Gauss-Hermite nodes. More: 16 points of a Halton sequence, moved to have mean
// 0 and covariance I, and rotated by a number that the values seen make, so
// that neither the order of the rows nor the other rows matter. Components
// below 1e-3 given what is seen are left out, and beyond 256 completions the
// least of them.
class CompletionMaker {
 public:
  // `groups` of the rows that are numbered, if these matter; `nodes` of one
  // missing number.
  explicit CompletionMaker(const Mixture& model,
                           const GroupEffects* groups = nullptr, int nodes = 7)
      : model_(model), groups_(groups), hermite_(nodes) {}

  // `code`: levels of the factors, -1 missing. CompletedRows of a cell follow
  // each other.
  void add(Index number, const VectorXd& row, const Eigen::VectorXi& code,
           CompletedRows& out);

  void add(Index number, const VectorXd& row, CompletedRows& out) {
    add(number, row, Eigen::VectorXi(), out);
  }

 private:
  struct Conditional {
    GivenSeen at;
    MatrixXd root;  // of the covariance
    VectorXd seen_mean;
    double log_weight;  // of the component, what is seen at its mean
  };

  static constexpr double kLeast = 1e-3;
  static constexpr Index kPoints = 16, kMostCompletions = 256;

  // What the groups of a row add to its predictors, expected.
  VectorXd shift_of(Index number) const;

  // The root of the covariance of what is missing, that of the effects of
  // groups included: an effect moves what is missing by itself, less what it
  // explains of what is seen.
  MatrixXd widened(const GivenSeen& given, const Places& at,
                   Index number) const;

  double tilt(Index component, Index number) const;

  // Probabilities of the components given what is seen, 0 for those that are
  // left out.
  VectorXd weights(const std::vector<Conditional>& given, const VectorXd& seen,
                   const Eigen::VectorXi& code, Index number) const;

  static void keep_most(Index most, VectorXd& weight);

  std::vector<Conditional> conditionals(const Places& at) const;

  // Standard normal nodes, one a column, and their logarithmic weights.
  void set_nodes(const Places& at, const VectorXd& row);

  static Index next_prime(Index after);

  static double radical_inverse(Index k, Index base);

  static void append(Index number, double log_prior, const VectorXd& row,
                     const Eigen::VectorXi& code, CompletedRows& out);

  const Mixture& model_;
  const GroupEffects* groups_;
  std::map<std::vector<bool>, std::vector<Conditional>> given_;
  const GaussHermite hermite_;
  MatrixXd node_;
  VectorXd log_node_;
};
}  // namespace bayeskernel
