// What each row does to a fit with rows that are no likelihood: its site, as a
// precision and a gradient at the posterior. From these follow how the fit
// moves when a row is left out, and a covariance of its estimates over samples
// (the jackknife's), which the posterior of a pseudo-likelihood is not.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "ep/sites.hpp"
#include "likelihood/rules.hpp"
#include "linear/gaussian.hpp"
#include "linear/pass.hpp"
#include "linear/system.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
// By row, in the order of the core: m, s of x'theta + z'u (with the offset,
// without the residual), the precision of the row's site and the gradient of
// its logarithm at m. Without the row f has
//   variance s / (1 - kappa s),  mean m - gradient s / (1 - kappa s).
struct RowInfluence {
  VectorXd mean, variance, kappa, gradient;

  explicit RowInfluence(Index n = 0);
};

// Of expectation propagation, whose cavities are the rest. Rows without moments
// have none.
RowInfluence site_influence(const SiteRows& sites);

// What the jackknife needs of rows that are not kept: with the gradient g of a
// row's site and d = 1 - kappa s,
//   sum (g / d)^2 (x, z)(x, z)', as the curvature of a pass,
// the two sums whose ratio is the learning rate that the fit implies, and the
// smallest y m.
class JackknifeRule final : public Rule {
 public:
  JackknifeRule(const RowSource& rows, const SiteRows& sites)
      : sites_(sites), totals_(rows.tiles().size()) {}

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double* s, RowNumbers to) const override;

  // Of all tiles in their order.
  struct Total {
    double curvature = 0.0, variation = 0.0;
    double margin = std::numeric_limits<double>::infinity();
  };
  Total total() const;

 private:
  const SiteRows& sites_;
  mutable std::vector<Total> totals_;
};

// sum v v', v = sum g x over the rows of a group: what goes with a group, whose
// own effects leave with it.
class GroupGradients {
 public:
  GroupGradients(const RowSource& rows, Executor& executor)
      : rows_(rows), sweep_{rows, executor, nullptr} {}

  MatrixXd run(const GaussianPosterior& q, const SiteRows& sites);

 private:
  struct Slot {
    MatrixXd square, buffer, scaled_means;
    VectorXd part, gradient;
  };

  void add_block(Index block, const GaussianPosterior& q, const SiteRows& sites,
                 Slot& to) const;

  const RowSource& rows_;
  Sweep sweep_;
};

// S (sum (g / d)^2 x x') S for theta; of rows in groups S (sum v v') S.
struct Jackknife {
  MatrixXd cov;
  JackknifeRule::Total total;
};

Jackknife jackknife(const RowSource& rows, Executor& executor,
                    const GaussianPosterior& q, const SiteRows& sites);

// Minus the second derivative of a row's bound in m, and the first: the rows of
// the linear response of mean field to a push, u = 1 - y m,
//   kappa = w s / (u^2 + s)^(3/2),  gradient = w y (1 + u / (u^2 + s)^(1/2)).
RowTerms row_response(double y, double w, double m, double s);

class ResponseRule final : public Rule {
 public:
  ResponseRule(const RowSource& rows, RowInfluence& out)
      : out_(out), change_(rows.tiles().size(), 0.0) {}

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double* s, RowNumbers to) const override;

  // That of a pass that was run elsewhere.
  void adopt(double change) { change_.assign(1, change); }
  // Of the last pass: the largest change of kappa s.
  double change() const;

 private:
  RowInfluence& out_;
  mutable std::vector<double> change_;
};

// The linear response of a mean-field fit at its means and block precisions:
//   S = (sum kappa (x, z)(x, z)' + prior)^-1,  s = (x, z)'S (x, z),
// kappa as above, which settles in some ten passes.
class LinearResponse {
 public:
  static constexpr int kPasses = 50;
  static constexpr double kTolerance = 1e-5;

  LinearResponse(const RowSource& rows, const Prior& prior, Executor& executor)
      : influence(rows.rows()),
        prior_(prior),
        pass_(rows, executor),
        rule_(rows, influence),
        system_(rows.x_columns(), rows.z_columns(), rows.groups()),
        q_(rows.x_columns(), rows.z_columns(), rows.groups()),
        sums_(rows.x_columns(), rows.z_columns(), rows.groups()) {}
  LinearResponse(const LinearResponse&) = delete;
  LinearResponse& operator=(const LinearResponse&) = delete;

  RowInfluence influence;

  // Passes are run elsewhere, by who keeps the rows and their influence: adds
  // the sums at q and returns the largest change.
  using Remote = std::function<double(const GaussianPosterior&, Sums&)>;
  void delegate(Remote remote);

  // From q of the fit; false where it did not settle.
  bool run(const GaussianPosterior& fit,
           const std::vector<MatrixXd>& precision);

  // S.
  const GaussianPosterior& posterior() const { return q_; }

 private:
  const Prior& prior_;
  Pass pass_;
  ResponseRule rule_;
  ArrowSystem system_;
  GaussianPosterior q_;
  Sums sums_;
};

// Of a sampler: `f`, draws x rows; the gradient is its mean over the draws, and
// kappa Var f = -Cov(f, gradient) over these (Stein's identity). Without
// anything of other rows, whose noise would add up.
RowInfluence stein_influence(const MatrixRef& f, const VectorRef& y,
                             const VectorRef& weight);
}  // namespace bayeskernel
