#include "ep/sites.hpp"

namespace bayeskernel {
SiteRows::SiteRows(Index n, bool moments)
    : kappa(VectorXd::Zero(n)), b(VectorXd::Zero(n)) {
  if (!moments) return;
  for (VectorXd* v :
       {&mean, &variance, &cavity_mean, &cavity_variance, &log_z}) {
    *v = VectorXd::Zero(n);
  }
}

auto Responsibilities::tile(const TileSpan& span, const Tile& tile,
                            const double* m, const double* s,
                            double noise_variance, double damping,
                            VectorXd& responsibility, double* work) const
    -> Moved {
  Moved out;
  const Noise noise{1.0 / noise_variance, std::log(noise_variance)};
  const double* log_prior = units_->log_prior.data() + span.row_begin;
  double* rho = responsibility.data() + span.row_begin;
  for (Index begin = 0; begin < span.rows();) {
    const Index end = units_->end(span.row_begin + begin) - span.row_begin;
    for (Index i = begin; i < end; ++i) {
      work[i] =
          log_prior[i] +
          direct_(family_, tile.y[i], tile.weight[i], m[i], s[i], noise).bound;
    }
    softmax(end - begin, work + begin);
    for (Index i = begin; i < end; ++i) {
      const double move = work[i] - rho[i];
      out.change = std::max(out.change, std::abs(move));
      rho[i] += damping * move;
      if (rho[i] > 0.0) {
        out.evidence += rho[i] * (log_prior[i] - std::log(rho[i]));
      }
    }
    begin = end;
  }
  return out;
}

double SiteRule::tile(const TileSpan& span, const Tile& tile, const double* m,
                      const double* s, RowNumbers out) const {
  Total total;
  const Index first = span.row_begin;
  const bool keep = sites_.mean.size() > 0;
  const bool completions = sites_.responsibility.size() > 0;
  if (completions) {
    const Responsibilities::Moved moved =
        responsibilities_->tile(span, tile, m, s, noise_variance, damping,
                                sites_.responsibility, out.newton);
    total.responsibility = moved.change;
    total.completions = moved.evidence;
  }
  double evidence = 0.0;
  for (Index i = 0; i < span.rows(); ++i) {
    double& kappa = sites_.kappa[first + i];
    double& b = sites_.b[first + i];
    const double y = tile.y[i];
    double w = tile.weight[i];
    if (completions)
      w *= Responsibilities::power(sites_.responsibility[first + i]);
    const double r = tile.residual_of(i);
    const double variance = std::max(s[i] - r, 0.0);
    const double fraction = cavity_fraction(kappa, variance);
    const double v = variance / fraction;
    const double shift = (kappa * m[i] - b) * v;  // of the cavity's mean
    const double cavity = m[i] + shift;
    const double total_variance = v + r;
    const Tilted t = tilted_(y, w, cavity, total_variance, noise_variance);

    const double offset = tile.offset[i];
    const double centred = m[i] - offset, linear = b - kappa * offset;
    evidence += t.log_z + 0.5 * linear * centred +
                0.5 *
                    ((kappa * centred - 2.0 * linear) * centred +
                     linear * linear * variance) /
                    fraction -
                0.5 * std::log(fraction);

    // About m, so that b is the gradient: b - kappa m would cancel.
    const Site next = site(t, shift, v, r);
    const double step = next.kappa - kappa;
    const double old = b - kappa * m[i];
    const double change = next.b - old;
    total.kappa = std::max(total.kappa, std::abs(step) * variance);
    total.linear =
        std::max(total.linear, std::abs(change) * std::sqrt(variance));
    total.projection += sign(origin + first + i) * change * std::sqrt(variance);
    const double residual = y - cavity - total_variance * t.alpha1;
    total.squares +=
        w * (residual * residual + total_variance * t.variance_ratio);
    total.weight += w;

    kappa += damping * step;
    out.kappa[i] = out.newton[i] = kappa;
    out.linear[i] = old + damping * change;
    b = out.linear[i] + kappa * m[i];
    if (keep) {
      sites_.mean[first + i] = m[i];
      sites_.variance[first + i] = variance;
      sites_.cavity_mean[first + i] = cavity;
      sites_.cavity_variance[first + i] = v;
      sites_.log_z[first + i] = t.log_z;
    }
    if (sites_.residual_slope.size() > 0) {
      sites_.residual_slope[first + i] = 0.5 * (t.alpha1 * t.alpha1 - t.alpha2);
    }
  }
  totals_[span.number] = total;
  return evidence;
}

void SiteRule::Total::add(const Total& part) {
  kappa = std::max(kappa, part.kappa);
  linear = std::max(linear, part.linear);
  responsibility = std::max(responsibility, part.responsibility);
  projection += part.projection;
  squares += part.squares;
  weight += part.weight;
  completions += part.completions;
}

auto SiteRule::shard(Index begin, Index end) const -> Total {
  Total out;
  const Index last = rows_.block_begin(rows_.chunk_begin(end));
  for (Index t = rows_.block_begin(rows_.chunk_begin(begin)); t < last; ++t) {
    out.add(totals_[t]);
  }
  return out;
}

double SiteRule::change() const {
  const Total all = total();
  return all.kappa + all.linear + all.responsibility;
}

auto SiteRule::total() const -> Total {
  Total out;
  for (const Total& part : shards_) out.add(part);
  if (!shards_.empty()) return out;
  for (Index s = 0; s < rows_.shards(); ++s) {
    out.add(shard(rows_.shard_begin(s), rows_.shard_begin(s + 1)));
  }
  return out;
}

double MessageRule::tile(const TileSpan& span, const Tile&, const double* m,
                         const double*, RowNumbers out) const {
  for (Index i = 0; i < span.rows(); ++i) {
    const double kappa = sites_.kappa[span.row_begin + i];
    out.kappa[i] = out.newton[i] = kappa;
    out.linear[i] = sites_.b[span.row_begin + i] - kappa * m[i];
  }
  return 0.0;
}
}  // namespace bayeskernel
