// A link whose two numbers come from the data: with f ~ N(m_c, v_c) the
// posterior of machine c at a row,
//   eta_c = a_c + kappa m_c / sqrt(1 + pi kappa^2 v_c / 8),
// two classes: P = expit(eta) of the one machine; more: P = softmax(eta), one
// kappa and an intercept a class, whose sum the prior holds at 0. They maximise
//   sum w log P(y) - log(kappa sd(m))^2 / (2 1.5^2) - |a|^2 / (2 3^2)
// over rows whose moments are those of the fit without the row: its own
// moments have seen y. Where a class was given up all m are nearly the same,
// and v is many times what they vary by: they rank rows, and the formula does
// not show it. So there is a second form, of the offset o_c that 19 of 20
// rows are below and the centre b_c, the mean of m_c,
//   eta_c = a_c + kappa (b_c + (m_c - b_c) sqrt(q(o_c) / q(max(v_c, o_c)))),
// q(v) = 1 + pi kappa^2 v / 8: v counts for rows that are farther from the data
// than nearly all of them. The prior is of eta at the centre. It is used where
// it is better by more than 3, on the scale of the above, and by more where the
// m do vary: there it would take what v says of new rows for nothing.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
struct CalibratedLink {
  static constexpr double kProbit = 0.39269908169872415;  // pi / 8

  VectorXd intercept;       // a: one a machine
  VectorXd centre, offset;  // b and o: 0 in the first form
  double slope = 1.0;       // kappa

  // By what m - b of machine c is divided.
  double shrink(double v, Index c) const;

  // Probabilities of the classes, or of the second of two, for a row's moments.
  void row(const double* m, const double* v, Index stride, VectorXd& p) const;
};

class CalibratedLinkFit {
 public:
  static constexpr double kSlopePrior = 1.5, kInterceptPrior = 3.0;

  // Moments rows x machines; y, numbers of classes from 0: of two classes 1 is
  // that of the machine. Weights 0 leave rows out. `offset`: 0 if not given.
  CalibratedLinkFit(const MatrixRef& mean, const MatrixRef& variance,
                    const Eigen::Ref<const Eigen::VectorXi>& y,
                    const VectorRef& weight,
                    const VectorXd& offset = VectorXd());

  Index size() const { return m_.cols() + 1; }
  double scale() const { return scale_; }

  // Of theta = (a, log(kappa sd(m))): minus the penalised log-likelihood, its
  // gradient and second derivatives.
  double objective(const VectorXd& theta, VectorXd* gradient,
                   MatrixXd* hessian) const;

  // The better one of the two forms. `quick`: from one start, for a search.
  CalibratedLink run(bool quick = false);

  // Of the best end, and of those of the two forms.
  double value() const { return best_; }
  double by_excess() const { return by_excess_; }
  double by_variance() const { return by_variance_; }

 private:
  static constexpr double kWorth = 3.0, kBelow = 0.95;

  // What the share kBelow of the weight of v is at or below, of each machine.
  VectorXd usual_variance() const;

  // By how much the second form, whose m these are, has to be better than for
  // an m that hardly varies, as that of a class that was given up.
  double extra_worth() const;

  // The best end from three starts, or that from the shares of the classes.
  VectorXd climb(bool quick);

  // Newton's steps, shortened until they descend; where the curvature is not
  // positive its diagonal is raised.
  double descend(VectorXd& theta) const;

  MatrixXd m_, v_;
  VectorXd offset_;
  Eigen::VectorXi y_;
  VectorXd w_;
  double scale_ = 1.0, best_ = 0.0, by_variance_ = 0.0;
  double by_excess_ = 0.0;
};
}  // namespace bayeskernel
