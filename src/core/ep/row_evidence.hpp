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
// with theta at its mean in these three. It is one where the others' factors
// are Gaussian. The weights of points of a grid without row i are divided by it
// (mixture.hpp), or a row would vouch for its own variance.
#ifndef BAYESKERNEL_EP_ROW_EVIDENCE_HPP
#define BAYESKERNEL_EP_ROW_EVIDENCE_HPP

#include <Eigen/Cholesky>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "ep/sites.hpp"
#include "likelihood/family.hpp"
#include "likelihood/likelihood.hpp"
#include "likelihood/tilted.hpp"
#include "linear/system.hpp"
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
  using Nodes = Eigen::ArrayXd;

  bool is_label() const {
    return family_ == Family::logit || family_ == Family::probit;
  }
  bool same_unit(Index i, Index j) const {
    return !fit_.units.empty() && fit_.units[i] == fit_.units[j];
  }

  void read_rows();

  double log_p(Index i, double f) const {
    return log_likelihood(family_, y_[i], f, fit_.noise_variance());
  }

  // Over the tilted distribution, whose moments say where to look.
  void add_expected();

  // Nodes about N(mean, variance) with their weights in E over N(m, v).
  template <class Visit>
  void about(double mean, double variance, double m, double v,
             Visit&& visit) const {
    const double sd = std::sqrt(variance);
    const double scale = std::sqrt(variance / v);
    for (Index k = 0; k < line_.node.size(); ++k) {
      const double z = line_.node[k], f = mean + sd * z, d = f - m;
      visit(f,
            line_.weight[k] * scale * std::exp(0.5 * z * z - 0.5 * d * d / v));
    }
  }

  struct Message {
    double kappa = 0.0, b = 0.0;
  };
  // That which q was made of.
  Message message(Index i) const;

  void leave_units_out();

  // --- groups ----------------------------------------------------------------

  // Nodes of u about zero, r x nodes, in standard deviations.
  void set_nodes();

  void add_groups();

  // Rows of one unit, first .. last - 1, counted within the group.
  struct Part {
    Index first, last;
  };

  // log p^w, or log of the message, of rows at nodes of u.
  void add_rows(Part part, Index origin, const MatrixXd& f, bool powers,
                Nodes& out) const;
  void add_messages(Part part, Index origin, const MatrixXd& f, double sign,
                    Nodes& out) const;
  double log_mean(const Nodes& log_value) const;

  template <class Z>
  void add_group(const Z& z, Index g, Index origin) {
    const Index r = z.rows(), n = z.cols();
    std::vector<Part> parts;
    for (Index i = 0; i < n;) {
      const Index last =
          i + 1 < n && same_unit(origin + i, origin + i + 1) ? i + 2 : i + 1;
      parts.push_back({i, last});
      i = last;
    }
    // One row and its message are exact together.
    if (parts.size() < 2) return;
    const MatrixXd cov = fit_.system().group_inverse().middleCols(g * r, r);
    const auto level = fit_.sites.mean.segment(origin, n).transpose();
    const auto values = [&](const MatrixXd& covariance, const VectorXd& mean) {
      const MatrixXd root = covariance.llt().matrixL();
      MatrixXd f = (root * node_).transpose() * z;
      f.rowwise() += level + mean.transpose() * z;
      return f;
    };
    const MatrixXd f = values(cov, VectorXd::Zero(r));
    const Index nodes = weight_.size();
    std::vector<Nodes> likelihood, ratio;
    Nodes all = Nodes::Zero(nodes);
    for (const Part& part : parts) {
      Nodes own = Nodes::Zero(nodes);
      add_rows(part, origin, f, true, own);
      likelihood.push_back(own);
      add_messages(part, origin, f, -1.0, own);
      ratio.push_back(own);
      all += own;
    }
    const double whole = log_mean(all);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const Part part = parts[k];
      const Nodes& own = ratio[k];
      const Index at = origin + part.first;
      add_expected_shift(part, origin, f, all, own);
      const Nodes others = all - own;
      const Nodes without = own - likelihood[k];  // - log t_i
      const double left = left_out(part, parts, origin, z, cov, values);
      // Where its message is weak the nodes at hand will do.
      const double rest = std::isnan(left)
                              ? log_mean(others + without) - log_mean(without)
                              : left;
      const double change = whole - rest - log_mean(own);
      if (!std::isfinite(change)) continue;
      const bool one = fit_.units.empty() && w_[at] != 1.0;
      double at_one = change;
      if (one) {
        Nodes single = without;
        add_rows(part, origin, f, false, single);
        at_one = log_mean(others + single) - log_mean(others + without) -
                 log_mean(single) + log_mean(without);
      }
      for (Index i = part.first; i < part.last; ++i) {
        out_.log_z[origin + i] += change;
        if (std::isfinite(at_one)) out_.log_p[origin + i] += at_one;
      }
    }
  }

  // E log p_i where the others' factors are as they are.
  void add_expected_shift(Part part, Index origin, const MatrixXd& f,
                          const Nodes& all, const Nodes& own);

  // log R_g,-i by nodes of its own where the message tells much about u; NaN
  // elsewhere.
  template <class Z, class Values>
  double left_out(Part part, const std::vector<Part>& parts, Index origin,
                  const Z& z, const MatrixXd& cov, Values&& values) const {
    const VectorXd own = z.col(part.first);
    const VectorXd gain = cov * own;
    double kappa = 0.0, slope = 0.0;
    for (Index i = part.first; i < part.last; ++i) {
      const Message message = this->message(origin + i);
      kappa += message.kappa;
      slope += message.b - message.kappa * fit_.sites.mean[origin + i];
    }
    const double variance = own.dot(gain);
    constexpr double kWeak = 0.15;
    if (!(kappa * variance > kWeak)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    const double cavity = cavity_fraction(kappa, variance);
    const MatrixXd f = values(cov + kappa / cavity * gain * gain.transpose(),
                              -slope / cavity * gain);
    Nodes sum = Nodes::Zero(weight_.size());
    for (const Part& other : parts) {
      if (other.first == part.first) continue;
      add_rows(other, origin, f, true, sum);
      add_messages(other, origin, f, -1.0, sum);
    }
    return log_mean(sum);
  }

  const EpFit& fit_;
  Family family_;
  TiltedMoments tilted_;
  GaussHermite line_;
  VectorXd y_, w_, r_;
  MatrixXd node_;
  Nodes weight_;
  RowEvidence out_;
};

}  // namespace bayeskernel

#endif
