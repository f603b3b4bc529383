// What a fit by expectation propagation says of its rows one by one, at given
// variances: log p(y_i | other rows) and E log p(y_i | f_i) over the posterior.
// Two things are added to what the cavities give.
//
// Units. Rows that stand for one row of the data, the two classes of a pair of
// counts, are left out together: they have the same f, and a cavity without
// the messages of both.
//
// Groups. The message of a row was made with the others in view, and where few
// rows share an effect the rest of them would have sent another without it.
// With q the Gaussian, t_i a row's factor in it and R over the effect u_g
// alone,
//   p(y_i | others) = p_EP R_g / (R_g,-i R_i),
//   R_g = E_q prod_k p_k / t_k,  R_g,-i = E_q without t_i prod_k!=i p_k / t_k,
//   R_i = E_q p_i / t_i,
// with theta at its mean in these three; R_i is one integral over f. It is one
// where the others' factors are Gaussian. The weights of points of a grid
// without row i are divided by it (mixture.hpp), or a row would vouch for its
// own variance.
#pragma once

#include <array>

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "ep/group_nodes.hpp"
#include "ep/sites.hpp"
#include "likelihood/family.hpp"
#include "likelihood/likelihood.hpp"
#include "likelihood/tilted.hpp"
#include "math/quadrature.hpp"

namespace bayeskernel {
struct RowEvidence {
  VectorXd log_p;  // given the others, at power one; of units at their powers
  VectorXd log_z;  // the same at the row's power
  VectorXd expected;  // E log p(y_i | f_i), at power one; empty: not known
};

class RowEvidenceRule {
 public:
  explicit RowEvidenceRule(const EpFit& fit)
      : fit_(fit), family_(fit.family()), tilted_(fit.family()), line_(32) {}

  RowEvidence operator()();

 private:
  using Nodes = ArrayXd;

  bool is_label() const {
    return family_ == Family::logit || family_ == Family::probit;
  }
  bool same_unit(Index i, Index j) const {
    return !fit_.units.empty() && fit_.units[i] == fit_.units[j];
  }

  void read_rows();

  // log p(y_i | f) of labels; with its residual averaged over, at a power.
  Nodes log_p(Index i, const Nodes& f) const;
  Nodes log_p(Index i, double w, const Nodes& f) const;

  // Over the tilted distribution, whose moments say where to look.
  void add_expected();

  // Nodes about N(mean, variance) with their weights in E over N(m, v).
  struct Line {
    Nodes f, weight;
  };
  Line about(double mean, double variance, double m, double v) const;

  struct Message {
    double kappa = 0.0, b = 0.0;
  };
  // That which q was made of.
  Message message(Index i) const;

  void leave_units_out();

  // --- groups ----------------------------------------------------------------

  void add_groups();

  // Rows of one unit, first .. last - 1, counted within the group. Their f is
  // the same, of variance `variance` where theta is known; their messages say
  // exp(slope d - kappa d^2 / 2) of its distance d from its mean.
  struct Part {
    Index first, last;
    double variance, kappa, slope;
    double cavity() const { return cavity_fraction(kappa, variance); }
  };

  struct Scratch {
    MatrixXd buffer;
    std::vector<Part> parts;
    MatrixXd gain;          // cov z
    MatrixXd f, log_value;  // nodes x rows; log p^w
    Nodes all;              // log of what is integrated, at the nodes
  };

  using Effects = MatrixRef;

  void set_parts(const Effects& z, const Effects& cov, Index origin,
                 Scratch& scratch) const;

  void add_group(const Effects& z, Index g, Index origin, Scratch& scratch);

  // f at nodes, for effects N(mean, covariance).
  void set_values(const Effects& z, Index origin, const MatrixXd& covariance,
                  const VectorXd& mean, const GroupNodes& rule,
                  MatrixXd& f) const;

  // Takes the messages of a part off.
  void subtract_messages(const Part& part, Index origin, const MatrixXd& f,
                         Nodes& out) const;

  // Of a part alone, where theta is known: log E over its cavity of its p^w,
  // and for each of its rows E log p over what comes of both.
  struct Alone {
    double log_z;
    double log_single;  // of one row of another power, at power one
    std::array<double, 2> expected;
  };
  Alone alone(const Part& part, Index origin) const;

  // log p of a part given the others, by nodes of its cavity: for messages that
  // tell much about u.
  double given_others(const Part& part, const Effects& z, const Effects& cov,
                      Index origin, const Scratch& scratch) const;

  const EpFit& fit_;
  Family family_;
  TiltedMoments tilted_;
  GaussHermite line_;
  std::optional<GroupRules> rules_;
  VectorXd y_, w_, r_;
  RowEvidence out_;
};
}  // namespace bayeskernel
