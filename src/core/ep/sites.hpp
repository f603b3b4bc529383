// Sites of expectation propagation: row i sends f_i the message
// exp(b f - kappa f^2 / 2), f with its offset. The rule of a pass reads the
// moments of f under q and sets the messages anew, those of the tilted
// distributions; families differ in log Z alone.
#ifndef BAYESKERNEL_EP_SITES_HPP
#define BAYESKERNEL_EP_SITES_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "likelihood/bounds.hpp"
#include "likelihood/tilted.hpp"
#include "likelihood/rules.hpp"
#include "linear/completions.hpp"

namespace bayeskernel {

// Numbers by row, in the order of the core. Only the first two are read.
struct SiteRows {
  VectorXd kappa, b;
  // At the q of the last pass: E f, Var f without residual, the cavity of
  // x'theta + z'u, log Z. Empty: not kept.
  VectorXd mean, variance, cavity_mean, cavity_variance, log_z;
  // d log Z / d r, by residual variance; empty: not kept.
  VectorXd residual_slope;
  // rho of atoms: their likelihood powers are rho w. Empty: rows are complete.
  VectorXd share;

  explicit SiteRows(Index n = 0, bool moments = true)
      : kappa(VectorXd::Zero(n)), b(VectorXd::Zero(n)) {
    if (!moments) return;
    for (VectorXd* v :
         {&mean, &variance, &cavity_mean, &cavity_variance, &log_z}) {
      *v = VectorXd::Zero(n);
    }
  }
};

// rho of the atoms of incomplete rows (linear/completions.hpp) from the direct bound
// at the moments of EP: a factor of q beside the sites.
class AtomShares {
 public:
  // Null: rows are complete.
  AtomShares(Family family, const AtomUnits* units)
      : family_(family), units_(units) {}

  const AtomUnits* units() const { return units_; }
  // An atom that is as good as ruled out keeps a power.
  static double power(double share) { return std::max(share, 1e-12); }

  // Moves the shares of a tile; what they add to log Z, sum rho log(pi / rho),
  // and the largest move.
  struct Moved {
    double evidence = 0.0, change = 0.0;
  };
  Moved tile(const TileSpan& span, const Tile& tile, const double* m,
             const double* s, double noise_variance, double damping,
             VectorXd& share, double* work) const {
    Moved out;
    const Noise noise{1.0 / noise_variance, std::log(noise_variance)};
    const double* log_prior = units_->log_prior.data() + span.row_begin;
    double* rho = share.data() + span.row_begin;
    for (Index begin = 0; begin < span.rows();) {
      const Index end = units_->end(span.row_begin + begin) - span.row_begin;
      for (Index i = begin; i < end; ++i) {
        work[i] = log_prior[i] + direct_(family_, tile.y[i], tile.weight[i],
                                         m[i], s[i], noise)
                                     .bound;
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

 private:
  Family family_;
  const AtomUnits* units_;
  DirectTerms direct_;
};

// 1 - kappa s, what the others know of a row. One that alone determines a
// direction has a cavity that is all but the prior.
inline double share_of_others(double kappa, double variance) {
  return std::max(1.0 - kappa * variance, 1e-10);
}

class SiteRule final : public Rule {
 public:
  // `shares`: of rows that are atoms; null: rows are complete.
  SiteRule(const RowSource& rows, Family family, SiteRows& sites,
           const AtomShares* shares = nullptr)
      : rows_(rows),
        family_(family),
        tilted_(family),
        shares_(shares),
        sites_(sites),
        totals_(rows.tiles().size()) {}

  double damping = 1.0;
  double noise_variance = 1.0;

  // The rows' part of log Z at the sites before the update:
  //   log Z_i + {(kappa m^2 - 2 b m + b^2 s) / (1 - kappa s)
  //              - log(1 - kappa s) + b m} / 2,
  // offsets taken out of m and b; the last term is the row's part of h'mu.
  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double* s, RowNumbers out) const override {
    Total total;
    const Index first = span.row_begin;
    const bool keep = sites_.mean.size() > 0;
    const bool atoms = sites_.share.size() > 0;
    if (atoms) {
      const AtomShares::Moved moved =
          shares_->tile(span, tile, m, s, noise_variance, damping,
                        sites_.share, out.newton);
      total.share = moved.change;
      total.atoms = moved.evidence;
    }
    double evidence = 0.0;
    for (Index i = 0; i < span.rows(); ++i) {
      double& kappa = sites_.kappa[first + i];
      double& b = sites_.b[first + i];
      const double y = tile.y[i];
      double w = tile.weight[i];
      if (atoms) w *= AtomShares::power(sites_.share[first + i]);
      const double r = tile.residual_of(i);
      const double variance = std::max(s[i] - r, 0.0);
      const double share = share_of_others(kappa, variance);
      const double v = variance / share;
      const double shift = (kappa * m[i] - b) * v;  // of the cavity's mean
      const double cavity = m[i] + shift;
      const double spread = v + r;
      const Tilted t = tilted_(y, w, cavity, spread, noise_variance);

      const double offset = tile.offset[i];
      const double centred = m[i] - offset, linear = b - kappa * offset;
      evidence += t.log_z + 0.5 * linear * centred +
                  0.5 * ((kappa * centred - 2.0 * linear) * centred +
                         linear * linear * variance) / share -
                  0.5 * std::log(share);

      // About m, so that b is the gradient: b - kappa m would cancel.
      const Site next = site(t, shift, v, r);
      const double step = next.kappa - kappa;
      const double old = b - kappa * m[i];
      const double change = next.b - old;
      total.kappa = std::max(total.kappa, std::abs(step) * variance);
      total.linear =
          std::max(total.linear, std::abs(change) * std::sqrt(variance));
      total.projection +=
          sign(origin + first + i) * change * std::sqrt(variance);
      const double residual = y - cavity - spread * t.alpha1;
      total.squares += w * (residual * residual + spread * t.spread);
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
        sites_.residual_slope[first + i] =
            0.5 * (t.alpha1 * t.alpha1 - t.alpha2);
      }
    }
    totals_[span.number] = total;
    return evidence;
  }

  // Of the last pass, over some rows.
  struct Total {
    double kappa = 0.0, linear = 0.0, share = 0.0, projection = 0.0;
    double squares = 0.0, weight = 0.0, atoms = 0.0;

    void add(const Total& part) {
      kappa = std::max(kappa, part.kappa);
      linear = std::max(linear, part.linear);
      share = std::max(share, part.share);
      projection += part.projection;
      squares += part.squares;
      weight += part.weight;
      atoms += part.atoms;
    }
  };
  // The chunks begin .. end - 1.
  Total shard(Index begin, Index end) const {
    Total out;
    const Index last = rows_.block_begin(rows_.chunk_begin(end));
    for (Index t = rows_.block_begin(rows_.chunk_begin(begin)); t < last; ++t) {
      out.add(totals_[t]);
    }
    return out;
  }
  // The shards of a pass that was run elsewhere, in their order.
  void adopt(const std::vector<Total>& shards) { shards_ = shards; }
  // The first of the rows, where they are part of more.
  Index origin = 0;

  // How far the sites are from the tilted moments, in standard deviations of f.
  double change() const {
    const Total all = total();
    return all.kappa + all.linear + all.share;
  }
  // The changes of b along a direction that means nothing: from pass to pass it
  // changes its sign where messages go to and fro.
  double projection() const { return total().projection; }
  // sum w E(y - f)^2 over the tilted distributions, and sum w.
  double squares() const { return total().squares; }
  double weight() const { return total().weight; }
  // sum rho log(pi / rho) over atoms.
  double atoms() const { return total().atoms; }

  Family family() const { return family_; }
  const TiltedMoments& tilted() const { return tilted_; }

 private:
  static double sign(Index i) {
    return (static_cast<std::uint32_t>(i) * 2654435769u) >> 31 ? 1.0 : -1.0;
  }

  Total total() const {
    Total out;
    for (const Total& part : shards_) out.add(part);
    if (!shards_.empty()) return out;
    for (Index s = 0; s < rows_.shards(); ++s) {
      out.add(shard(rows_.shard_begin(s), rows_.shard_begin(s + 1)));
    }
    return out;
  }

  const RowSource& rows_;
  Family family_;
  TiltedMoments tilted_;
  const AtomShares* shares_;
  SiteRows& sites_;
  // By tile, each in its own place whatever the thread.
  mutable std::vector<Total> totals_;
  std::vector<Total> shards_;
};

// Sends the messages as they stand.
class MessageRule final : public Rule {
 public:
  explicit MessageRule(const SiteRows& sites) : sites_(sites) {}
  double tile(const TileSpan& span, const Tile&, const double* m,
              const double*, RowNumbers out) const override {
    for (Index i = 0; i < span.rows(); ++i) {
      const double kappa = sites_.kappa[span.row_begin + i];
      out.kappa[i] = out.newton[i] = kappa;
      out.linear[i] = sites_.b[span.row_begin + i] - kappa * m[i];
    }
    return 0.0;
  }

 private:
  const SiteRows& sites_;
};

}  // namespace bayeskernel

#endif
