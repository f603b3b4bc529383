// The likelihood of groups whose rows miss numbers, where the response is
// normal and linear in these. Of row i
//   y = x0' theta + z' u + b' (M c + e) + noise,  noise ~ N(0, sigma^2 / w_i),
// b the slopes of what is missing, x0 the row at the mean of that given what is
// seen of the predictors, c ~ N(0, V_g) the effects of the group that this
// leaves open, e ~ N(0, C). M and C are those of the row's pattern. With q = r
// + width effects (u, c) of a group, O(n (p + q^2)), with the information O(n p
// (p + q)).
#pragma once

#include "missing/marginal_likelihood.hpp"

namespace bayeskernel {
class SharedLikelihood final : public MarginalLikelihood {
 public:
  // Rows that miss the same predictors: M, C, and C where the other grouping
  // factors' effects are known. width x width, 0 for what is seen.
  struct Pattern {
    std::vector<int> rows;
    MatrixXd move, left, bare;
  };

  // A column of theta of a row that depends on what is missing: its value at
  // the mean, and its slope in that.
  struct Use {
    int row, column, place;
    double slope, value;
  };

  // Rows and groups from 0. z: n x r; open: V_g, width^2 x groups; mean: n x
  // width, of the predictors that may be missing. toward, apart: mean, less
  // that of `mean`, and variance of the effects c of a row that knows the other
  // responses, n x width and n x width^2.
  struct Data {
    VectorRef y, weight;
    MatrixXd x;
    MatrixRef z;
    std::vector<int> group;
    int groups;
    std::vector<Pattern> patterns;
    std::vector<Use> uses;
    MatrixRef open, mean, toward, apart;
  };

  // Mean and variance of what is missing given all that is seen, n x width.
  struct Completions {
    MatrixXd mean, variance;
  };

  // Derivatives, E u and E of what is missing where the latter is, of each row,
  // independent of the effects and of what other rows miss.
  struct Apart {
    VectorXd theta;
    double scale = 0.0;
    MatrixXd effects, completed;
  };

  explicit SharedLikelihood(const Data& data);

  Look look(const VectorRef& theta, const MatrixRef& precision, double noise,
            bool information) const override;

  Completions completions(const VectorRef& theta, const MatrixRef& precision,
                          double noise) const;

  Apart apart(const VectorRef& theta, const MatrixRef& precision) const;

 private:
  // Of rows: the variance of the noise, and that with what is missing; the gap
  // of y, less that of all effects; b, C b and (z, M' b), a column a row. Of
  // groups: mean and variance of (u, c), q x q side by side.
  struct State {
    double value = 0.0;
    ArrayXd noise, total, gap;
    MatrixXd slope, spread, load, mean, variance;
  };

  Index width() const { return data_.mean.cols(); }
  Index effects() const { return data_.z.cols(); }

  // By row, a column each, what f moves by with each missing value.
  MatrixXd slopes(const VectorRef& theta) const;

  State state(const VectorRef& theta, const MatrixRef& precision,
              double noise) const;

  // From E of the noise of rows over its variance, and of its product with
  // what is missing, less its mean.
  VectorXd column_score(const MatrixXd& x, const VectorXd& noise,
                        const MatrixXd& both) const;

  MatrixXd information(const State& own) const;

  Data data_;
  MatrixXd open_precision_;
  double open_log_det_ = 0.0;
};
}  // namespace bayeskernel
