// What each row does to a fit with rows that are no likelihood: its site, as a
// precision and a gradient at the posterior. From these follow how the fit moves
// when a row is left out, and a covariance of its estimates over samples (the
// jackknife's), which the posterior of a pseudo-likelihood is not.
#ifndef BAYESKERNEL_EP_INFLUENCE_HPP
#define BAYESKERNEL_EP_INFLUENCE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "rows/sweep.hpp"
#include "linear/accumulate.hpp"
#include "prior/blocks.hpp"
#include "linear/gaussian.hpp"
#include "linear/pass.hpp"
#include "linear/system.hpp"
#include "ep/sites.hpp"

namespace bayeskernel {

// By row, in the order of the core: m, s of x'theta + z'u (with the offset,
// without the residual), the precision of the row's site and the gradient of
// its logarithm at m. Without the row f has
//   variance s / (1 - kappa s),  mean m - gradient s / (1 - kappa s).
struct RowInfluence {
  VectorXd mean, variance, kappa, gradient;

  explicit RowInfluence(Index n = 0)
      : mean(VectorXd::Zero(n)), variance(VectorXd::Zero(n)),
        kappa(VectorXd::Zero(n)), gradient(VectorXd::Zero(n)) {}
};

// Of expectation propagation, whose cavities are the rest. Rows without moments
// have none.
inline RowInfluence site_influence(const SiteRows& sites) {
  const Index n = sites.mean.size();
  RowInfluence out(n);
  out.mean = sites.mean;
  out.variance = sites.variance;
  for (Index i = 0; i < n; ++i) {
    const double s = sites.variance[i], v = sites.cavity_variance[i];
    if (!(s > 0.0 && v > 0.0)) continue;
    out.kappa[i] = std::max(1.0 / s - 1.0 / v, 0.0);
    out.gradient[i] = (sites.mean[i] - sites.cavity_mean[i]) / v;
  }
  return out;
}

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
              const double* s, RowNumbers to) const override {
    Total total;
    for (Index i = 0; i < span.rows(); ++i) {
      const Index at = span.row_begin + i;
      const double variance = std::max(s[i] - tile.residual_of(i), 0.0);
      const double kappa = sites_.kappa[at];
      const double gradient = sites_.b[at] - kappa * m[i];
      const double share = share_of_others(kappa, variance);
      const double alone = gradient / share;
      to.kappa[i] = to.newton[i] = alone * alone;
      to.linear[i] = 0.0;
      total.curvature += kappa * variance;
      total.variation += gradient * alone * variance;
      total.margin = std::min(total.margin, tile.y[i] * m[i]);
    }
    totals_[span.number] = total;
    return 0.0;
  }

  // Of all tiles in their order.
  struct Total {
    double curvature = 0.0, variation = 0.0;
    double margin = std::numeric_limits<double>::infinity();
  };
  Total total() const {
    Total out;
    for (const Total& t : totals_) {
      out.curvature += t.curvature;
      out.variation += t.variation;
      out.margin = std::min(out.margin, t.margin);
    }
    return out;
  }

 private:
  const SiteRows& sites_;
  mutable std::vector<Total> totals_;
};

// sum v v', v = sum g x over the rows of a group: what goes with a group, whose
// own effects leave with it.
class GroupPulls {
 public:
  GroupPulls(const RowSource& rows, Executor& executor)
      : rows_(rows), sweep_{rows, executor, nullptr} {}

  MatrixXd run(const GaussianPosterior& q, const SiteRows& sites) {
    const Index p = rows_.x_columns();
    MatrixXd out = MatrixXd::Zero(p, p);
    VectorXd open;  // of a group of several blocks, those so far
    const Index most = sweep_.slots(0, rows_.chunks(), p * p);
    std::vector<Slot> slots(most);
    Index block = 0;
    sweep_.run(
        0, rows_.chunks(),
        [&](Index at, Index slot) { add_block(at, q, sites, slots[slot]); },
        [&](Index used) {
          for (Index s = 0; s < used; ++s, ++block) {
            const RowSource::Tiles tiles = rows_.block_tiles(block);
            out += slots[s].square;
            if (!rows_.is_part(*tiles.begin())) continue;
            const Index g = tiles.begin()->group_begin;
            if (rows_.group_begin(g) == tiles.begin()->row_begin) {
              open = VectorXd::Zero(p);
            }
            open += slots[s].part;
            if (rows_.group_begin(g + 1) == (tiles.end() - 1)->row_end) {
              out += open * open.transpose();
            }
          }
        });
    return out;
  }

 private:
  struct Slot {
    MatrixXd square, buffer, pulls;
    VectorXd part, gradient;
  };

  void add_block(Index block, const GaussianPosterior& q,
                 const SiteRows& sites, Slot& to) const {
    const Index p = rows_.x_columns();
    to.square.setZero(p, p);
    to.part.setZero(p);
    for (const TileSpan& span : rows_.block_tiles(block)) {
      const Tile tile = rows_.tile(span, to.buffer);
      const Index first = span.row_begin, n = span.rows();
      to.gradient.resize(n);
      tile_means(rows_, span, tile, q.mean, to.gradient.data());
      to.gradient = sites.b.segment(first, n) -
                    sites.kappa.segment(first, n).cwiseProduct(to.gradient);
      if (rows_.is_part(span)) {
        to.part.noalias() += tile.x * to.gradient;
        continue;
      }
      to.pulls.resize(p, span.group_end - span.group_begin);
      rows_.for_groups(span, [&](Index g, Index begin, Index end) {
        to.pulls.col(g - span.group_begin).noalias() =
            tile.x.middleCols(begin, end - begin) *
            to.gradient.segment(begin, end - begin);
      });
      to.square.noalias() += to.pulls * to.pulls.transpose();
    }
  }

  const RowSource& rows_;
  Sweep sweep_;
};

// S (sum (g / d)^2 x x') S for theta; of rows in groups S (sum v v') S.
struct Jackknife {
  MatrixXd cov;
  JackknifeRule::Total total;
};

inline Jackknife jackknife(const RowSource& rows, Executor& executor,
                           const GaussianPosterior& q, const SiteRows& sites) {
  Pass pass(rows, executor);
  Moments at;
  at.q = &q;
  const bool grouped = rows.groups() > 0;
  Sums sums(rows.x_columns(), 0, 0);
  const JackknifeRule rule(rows, sites);
  pass.run(at, rule, Second::none, sums, RowStore(),
           grouped ? Gather::nothing : Gather::all);
  MatrixXd gram = sums.curvature.gram.selfadjointView<Eigen::Lower>();
  if (grouped) gram = GroupPulls(rows, executor).run(q, sites);
  const MatrixXd s = q.theta_covariance();
  return {s * gram * s, rule.total()};
}

// Minus the second derivative of a row's bound in m, and the first: the rows of
// the linear response of mean field to a push, u = 1 - y m,
//   kappa = w s / (u^2 + s)^(3/2),  gradient = w y (1 + u / (u^2 + s)^(1/2)).
inline RowTerms row_response(double y, double w, double m, double s) {
  const double u = 1.0 - y * m;
  const double root = std::max(std::sqrt(u * u + s), kScaleFloor);
  const double kappa = w * s / (root * root * root);
  return {kappa, w * y * (1.0 + u / root), kappa, 0.0};
}

class ResponseRule final : public Rule {
 public:
  ResponseRule(const RowSource& rows, RowInfluence& out)
      : out_(out), change_(rows.tiles().size(), 0.0) {}

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double* s, RowNumbers to) const override {
    double change = 0.0;
    for (Index i = 0; i < span.rows(); ++i) {
      const Index at = span.row_begin + i;
      const RowTerms row =
          row_response(tile.y[i], tile.weight[i], m[i], s[i]);
      const double variance = std::max(s[i] - tile.residual_of(i), 0.0);
      change =
          std::max(change, std::abs(row.kappa - out_.kappa[at]) * variance);
      out_.mean[at] = m[i];
      out_.variance[at] = variance;
      out_.kappa[at] = to.kappa[i] = to.newton[i] = row.kappa;
      out_.gradient[at] = to.linear[i] = row.gradient;
    }
    change_[span.number] = change;
    return 0.0;
  }

  // That of a pass that was run elsewhere.
  void adopt(double change) { change_.assign(1, change); }
  // Of the last pass: the largest change of kappa s.
  double change() const {
    return change_.empty()
               ? 0.0
               : *std::max_element(change_.begin(), change_.end());
  }

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
  void delegate(Remote remote) {
    pass_.delegate([this, remote = std::move(remote)](
                       const GaussianPosterior* q, bool, Sums& out,
                       const RowStore&) { rule_.adopt(remote(*q, out)); });
  }

  // From q of the fit; false where it did not settle.
  bool run(const GaussianPosterior& fit,
           const std::vector<MatrixXd>& precision) {
    Moments at;
    at.q = &fit;
    q_.mean = fit.mean;
    for (int k = 0; k < kPasses; ++k) {
      pass_.run(at, rule_, Second::none, sums_);
      if (k > 0 && rule_.change() < kTolerance) return true;
      system_.factor(sums_.curvature, prior_, precision);
      q_.set_covariance(system_);
      at.q = &q_;
    }
    return false;
  }

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
inline RowInfluence stein_influence(const Eigen::Ref<const MatrixXd>& f,
                                    const Eigen::Ref<const VectorXd>& y,
                                    const Eigen::Ref<const VectorXd>& weight) {
  const Index n = f.cols();
  RowInfluence out(n);
  Eigen::ArrayXd value, slope;
  for (Index i = 0; i < n; ++i) {
    value = f.col(i).array();
    slope = (y[i] * value < 1.0).select(
        Eigen::ArrayXd::Constant(f.rows(), 2.0 * weight[i] * y[i]), 0.0);
    out.mean[i] = value.mean();
    out.gradient[i] = slope.mean();
    value -= out.mean[i];
    const double square = value.square().mean();
    out.variance[i] = square;
    const double together = (value * slope).mean();
    if (square > 0.0) out.kappa[i] = std::max(-together / square, 0.0);
  }
  return out;
}

}  // namespace bayeskernel

#endif
