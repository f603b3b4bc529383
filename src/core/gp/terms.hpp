// Gaussian processes as terms of a linear model. A term s b_i g(x_i), with
// g ~ GP(0, k), k(x, x) = 1, and b_i a known multiple, is the columns
// b_i (phi_i - centre) of whitened features with a point block of variance s^2
// for their coefficients, and the residual s^2 b_i^2 (1 - phi_i'phi_i), the
// part of the process that the inducing points leave open (features.hpp,
// open_residuals.hpp).
// The derivative of the bound, or of the evidence of expectation propagation,
// in the parameters of the kernels holds q(theta, u) and the sites fixed; it is
// total where these, and the variances, are stationary.
#pragma once

#include "eigen.hpp"
#include "error.hpp"
#include "gp/features.hpp"
#include "kernel/tree.hpp"
#include "linear/conditional_variance.hpp"
#include "linear/gaussian.hpp"
#include "linear/mean_field.hpp"
#include "linear/row_rules.hpp"
#include "linear/system.hpp"
#include "optim/ascent.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
struct ProcessTerm {
  Kernel kernel;
  MatrixXd z;               // d x m, inducing points
  MatrixXd x;               // d x n, rows in the order of the core
  VectorXd by;              // n; empty: 1
  VectorXd centre_weight;   // n, sums to 1; empty: not centred
  Index first = 0;          // column of its first feature
  std::vector<Index> free;  // parameters of the kernel that are learned

  Index columns() const { return z.cols(); }
  double multiple(Index i) const { return by.size() > 0 ? by[i] : 1.0; }
};

// Features of rows: m x n, not yet centred or multiplied, and what they leave
// open of k(x, x).
void process_features(const Features& features, const MatrixXd& x,
                      Executor& executor, MatrixXd& phi, VectorXd& open);

// Columns of a term for rows x (n x d), n x m in `out`: multiples `by` (empty:
// 1) of the features less their means with `weight` (empty: 0), which are
// returned; `open` as above.
VectorXd process_columns(const Features& features, const MatrixRef& x,
                         const VectorRef& by, const VectorRef& weight,
                         Executor& executor, Eigen::Ref<MatrixXd> out,
                         VectorXd& open);

// The terms of a model, written into its rows.
class ProcessTerms {
 public:
  ProcessTerms(std::vector<ProcessTerm> terms, Executor& executor)
      : terms_(std::move(terms)),
        executor_(executor),
        phi_(terms_.size()),
        open_(terms_.size()),
        centre_(terms_.size()),
        features_(terms_.size()) {}

  Index size() const { return count_of(terms_); }
  const ProcessTerm& term(Index c) const { return terms_[c]; }
  bool projected(Index c) const;
  // Of the columns of a term's rows, standard deviations.
  VectorXd scale(Index c) const;
  // Sums of the products of the slopes of term c, with coefficients `a`.
  MatrixXd slope_products(Index c, const VectorXd& a) const;
  // What is subtracted from each feature.
  const VectorXd& centre(Index c) const { return centre_[c]; }
  double jitter(Index c) const { return features_[c]->jitter(); }

  void set_log_parameters(Index c, const VectorXd& at) {
    terms_[c].kernel.set_log_parameters(at);
  }

  void set_kernel(Index c, const Kernel& kernel) { terms_[c].kernel = kernel; }

  // Columns of every term, and the relative of their variances that the rows'
  // residuals have: n x terms.
  void write(PackedRows& rows, MatrixXd& relative);

  // By row: the gradient on f (the derivative in its mean), the weight kappa,
  // the derivative in the residual variance.
  struct RowSlopes {
    const VectorXd &gradient, &kappa, &residual;
  };

  // Derivatives in the log parameters of term c's kernel.
  VectorXd gradient(Index c, const PackedRows& rows, const GaussianPosterior& q,
                    const ArrowSystem& system, const RowSlopes& at,
                    double variance) const;

 private:
  std::vector<ProcessTerm> terms_;
  Executor& executor_;
  std::vector<MatrixXd> phi_;
  std::vector<VectorXd> open_, centre_;
  std::vector<std::optional<Features>> features_;
};

// The kernels' free parameters at the maximum of the mean field's bound, plus a
// normal log density of each log parameter about its start: sd 2, wide enough
// to leave what the data know alone, and proper where they know nothing.
// Entries of projections have such a density about 0, per standard deviation of
// a column. The k length-scales of one leaf are held nearer to their mean, the
// larger (k - 1)^2 is for the rows: columns of noise would else explain them.
class ProcessLearning {
 public:
  static constexpr double kPriorSd = 2.0;

  struct Result {
    double bound = 0.0;
    VectorXd slope;  // of the last evaluation, by learned parameter
    int evaluations = 0, passes = 0;
    bool converged = false, interrupted = false;
  };

  ProcessLearning(PackedRows& rows, const Prior& prior, const RowModel& model,
                  ProcessTerms& terms, Executor& executor);

  Index size() const { return count_of(places_); }

  // Leaves the terms where the criterion is largest. All length-scales together
  // are first tried at `factor` times their starts, then shorter ones of a term
  // that has several, one after another: the criterion has a maximum for each
  // account of fast changes, as of seasons, and one that calls them noise.
  // Projections start along the slopes of a fit with one length-scale in their
  // place, unless there is but one factor.
  Result run(const MeanFieldSettings& settings, int most,
             const std::vector<double>& factor, const KeepGoing& keep_going);

 private:
  // A coordinate is `unit` times the parameter, which is an entry of a
  // projection or a logarithm.
  struct Place {
    Index term, parameter;
    double unit;
    bool entry;
  };

  VectorXd coordinates() const;

  // The start with `factor` times the length-scales.
  VectorXd stretched(double factor) const;

  // Whether coordinate k is one of several length-scales of its term.
  bool has_siblings(Index k) const;

  // Of the coordinates, up to a constant, and its slope.
  double log_density(const VectorXd& at, VectorXd& slope) const;

  void point_projections(const std::vector<double>& factor);

  void set(const VectorXd& at);

  double evaluate(const VectorXd& at, VectorXd& slope);

  // The bound with the kernels as they are; then(fit, residuals) where there is
  // one.
  template <class Then>
  double settle(Then&& then) {
    ++result_->evaluations;
    try {
      MatrixXd relative;
      terms_.write(rows_, relative);
      ConditionalVariance open(rows_.residual, rows_.rows(), prior_,
                               std::move(relative));
      RowModel model = model_;
      model.open = &open;
      MeanFieldFit fit(rows_, prior_, executor_, nullptr, nullptr, true, model);
      const MeanFieldResult result =
          fit.run(settings_, keep_going_, warm_ ? &*warm_ : nullptr);
      if (result.interrupted) throw PassInterrupted();
      result_->passes += result.passes;
      if (result.bound.empty()) return nothing();
      warm_ = fit.warm_start();
      then(fit, open);
      return result.bound.back();
    } catch (const NumericError&) {
      return nothing();
    }
  }

  static double nothing() { return std::numeric_limits<double>::quiet_NaN(); }

  PackedRows& rows_;
  const Prior& prior_;
  const RowModel model_;
  ProcessTerms& terms_;
  Executor& executor_;
  std::vector<Place> places_;
  std::vector<std::vector<Index>> families_;  // coordinates of one leaf's scales
  VectorXd start_, centre_;  // where looking begins; of the prior density
  MeanFieldSettings settings_;
  KeepGoing keep_going_;
  std::optional<MeanFieldStart> warm_, kept_;
  Result* result_ = nullptr;
};
}  // namespace bayeskernel
