#include "ep/influence.hpp"

#include "linear/accumulate.hpp"
#include "linear/moments.hpp"

namespace bayeskernel {
RowInfluence::RowInfluence(Index n)
    : mean(VectorXd::Zero(n)),
      variance(VectorXd::Zero(n)),
      kappa(VectorXd::Zero(n)),
      gradient(VectorXd::Zero(n)) {}

RowInfluence site_influence(const SiteRows& sites) {
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

double JackknifeRule::tile(const TileSpan& span, const Tile& tile,
                           const double* m, const double* s,
                           RowNumbers to) const {
  Total total;
  for (Index i = 0; i < span.rows(); ++i) {
    const Index at = span.row_begin + i;
    const double variance = std::max(s[i] - tile.residual_of(i), 0.0);
    const double kappa = sites_.kappa[at];
    const double gradient = sites_.b[at] - kappa * m[i];
    const double cavity = cavity_fraction(kappa, variance);
    const double alone = gradient / cavity;
    to.kappa[i] = to.newton[i] = alone * alone;
    to.linear[i] = 0.0;
    total.curvature += kappa * variance;
    total.variation += gradient * alone * variance;
    total.margin = std::min(total.margin, tile.y[i] * m[i]);
  }
  totals_[span.number] = total;
  return 0.0;
}

auto JackknifeRule::total() const -> Total {
  Total out;
  for (const Total& t : totals_) {
    out.curvature += t.curvature;
    out.variation += t.variation;
    out.margin = std::min(out.margin, t.margin);
  }
  return out;
}

MatrixXd GroupGradients::run(const GaussianPosterior& q,
                             const SiteRows& sites) {
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

void GroupGradients::add_block(Index block, const GaussianPosterior& q,
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
    to.scaled_means.resize(p, span.group_end - span.group_begin);
    rows_.for_groups(span, [&](Index g, Index begin, Index end) {
      to.scaled_means.col(g - span.group_begin).noalias() =
          tile.x.middleCols(begin, end - begin) *
          to.gradient.segment(begin, end - begin);
    });
    to.square.noalias() += to.scaled_means * to.scaled_means.transpose();
  }
}

Jackknife jackknife(const RowSource& rows, Executor& executor,
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
  if (grouped) gram = GroupGradients(rows, executor).run(q, sites);
  const MatrixXd s = q.theta_covariance();
  return {s * gram * s, rule.total()};
}

RowTerms row_response(double y, double w, double m, double s) {
  const double u = 1.0 - y * m;
  const double root = std::max(std::sqrt(u * u + s), kScaleFloor);
  const double kappa = w * s / (root * root * root);
  return {kappa, w * y * (1.0 + u / root), kappa, 0.0};
}

double ResponseRule::tile(const TileSpan& span, const Tile& tile,
                          const double* m, const double* s,
                          RowNumbers to) const {
  double change = 0.0;
  for (Index i = 0; i < span.rows(); ++i) {
    const Index at = span.row_begin + i;
    const RowTerms row = row_response(tile.y[i], tile.weight[i], m[i], s[i]);
    const double variance = std::max(s[i] - tile.residual_of(i), 0.0);
    change = std::max(change, std::abs(row.kappa - out_.kappa[at]) * variance);
    out_.mean[at] = m[i];
    out_.variance[at] = variance;
    out_.kappa[at] = to.kappa[i] = to.newton[i] = row.kappa;
    out_.gradient[at] = to.linear[i] = row.gradient;
  }
  change_[span.number] = change;
  return 0.0;
}

double ResponseRule::change() const {
  return change_.empty() ? 0.0
                         : *std::max_element(change_.begin(), change_.end());
}

void LinearResponse::delegate(Remote remote) {
  pass_.delegate([this, remote = std::move(remote)](
                     const GaussianPosterior* q, bool, Sums& out,
                     const RowStore&) { rule_.adopt(remote(*q, out)); });
}

bool LinearResponse::run(const GaussianPosterior& fit,
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

RowInfluence stein_influence(const MatrixRef& f, const VectorRef& y,
                             const VectorRef& weight) {
  const Index n = f.cols();
  RowInfluence out(n);
  ArrayXd value, slope;
  for (Index i = 0; i < n; ++i) {
    value = f.col(i).array();
    slope =
        (y[i] * value < 1.0)
            .select(ArrayXd::Constant(f.rows(), 2.0 * weight[i] * y[i]), 0.0);
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
