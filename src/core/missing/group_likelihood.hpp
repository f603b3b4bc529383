// The likelihood of groups whose rows miss values, each averaged over its
// completions k of probability pi, the effect of the group integrated out:
//   log L_g = log int N(u; 0, 1 / psi)
//             prod_i (sum_k pi_ik p(y_i | x_ik' theta + z_ik u))^w_i du.
// The integral is a sum over a lattice, 1.25 standard deviations of the
// sharpest normal that the integrand could be apart, to where it is below
// exp(-20) of its largest value: of a normal one 1e-5 are left out. Derivatives
// are those of that sum. O(nodes (n p + missing p^2)).
#pragma once

#include "likelihood/family.hpp"
#include "missing/marginal_likelihood.hpp"

namespace bayeskernel {
class GroupLikelihood final : public MarginalLikelihood {
 public:
  // Completions, those of a row beside each other; `row` and `group` from 0.
  // `x` without the columns of the effects.
  struct Data {
    Family family;
    MatrixRef x;
    VectorRef y, offset, z, weight, log_prior;
    std::vector<int> row, group;
    int groups;
  };

  // `value` leaves out what depends on no parameter. Derivatives in theta, in
  // the log of the variance of the effects and in that of the noise; minus the
  // second ones in theta. Of each group E u and Var u; of each completion its
  // probability. `exact`: no lattice would have had more nodes than kMost.
  struct Answer {
    bool exact = true;
    double value = 0.0, scale = 0.0, noise = 0.0;
    VectorXd theta, effect, variance, share;
    MatrixXd information;
  };

  explicit GroupLikelihood(const Data& data);

  Answer at(const VectorRef& theta, double precision, double noise,
            bool information) const;

  Look look(const VectorRef& theta, const MatrixRef& precision, double noise,
            bool information) const override;

 private:
  // The completions of a group, and where its rows begin among them, and end.
  struct Group {
    std::vector<Index> at, begin;
  };

  // A node: the log of the integrand, and of the completions of the group
  // their share, and slope and curvature in f.
  struct Node {
    double u, value;
    ArrayXd share, slope, curvature;
  };

  // Nodes `step` apart from `start` on, as far as `low` and `high` at least.
  struct Span {
    double start, low, high, step;
  };

  // Of completions, means over the nodes.
  struct Sums {
    VectorXd slope, curvature;
  };

  static constexpr int kMost = 400;
  static constexpr double kFar = 20.0, kStep = 1.25;

  Span span(const Group& group, const VectorXd& f, double precision,
            double noise) const;

  Node node(const Group& group, const VectorXd& f, double u, double precision,
            double noise) const;

  // Empty where they would be too many.
  std::vector<Node> lattice(const Group& group, const VectorXd& f,
                            const Span& span, double precision,
                            double noise) const;

  void add(const Group& group, const std::vector<Node>& nodes,
           const VectorXd& weight, double noise, Sums& sums, Answer& out) const;

  // Squares of the scores of rows that are open, less the variance of the score
  // of the group over its nodes. Lower triangle.
  void add_spread(const Group& group, const std::vector<Node>& nodes,
                  const VectorXd& weight, MatrixXd& information) const;

  Data data_;
  std::vector<Group> group_;
};
}  // namespace bayeskernel
