// Sites of expectation propagation: row i sends f_i the message
// exp(b f - kappa f^2 / 2), f with its offset. The rule of a pass reads the
// moments of f under q and sets the messages anew, those of the tilted
// distributions; families differ in log Z alone.
//
// Minka (2001); Rasmussen and Williams (2006), eq. 3.52 to 3.59.
#pragma once

#include "eigen.hpp"
#include "likelihood/bounds.hpp"
#include "likelihood/family.hpp"
#include "likelihood/rules.hpp"
#include "likelihood/tilted.hpp"
#include "linear/completions.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// Numbers by row, in the order of the core. Only the first two are read.
struct SiteRows {
  VectorXd kappa, b;
  // At the q of the last pass: E f, Var f without residual, the cavity of
  // x'theta + z'u, log Z. Empty: not kept.
  VectorXd mean, variance, cavity_mean, cavity_variance, log_z;
  // d log Z / d r, by residual variance; empty: not kept.
  VectorXd residual_slope;
  // rho of completions: their likelihood powers are rho w. Empty: rows are
  // complete.
  VectorXd responsibility;

  explicit SiteRows(Index n = 0, bool moments = true);
};

// rho of the completions of incomplete rows (linear/completions.hpp) from the
// direct bound at the moments of EP: a factor of q beside the sites.
class Responsibilities {
 public:
  // Null: rows are complete.
  Responsibilities(Family family, const Completions* units)
      : family_(family), units_(units) {}

  const Completions* units() const { return units_; }
  // A completion that is as good as ruled out keeps a power.
  static double power(double responsibility) {
    return std::max(responsibility, 1e-12);
  }

  // Moves the responsibilities of a tile; what they add to log Z, sum rho
  // log(pi / rho), and the largest move.
  struct Moved {
    double evidence = 0.0, change = 0.0;
  };
  Moved tile(const TileSpan& span, const Tile& tile, const double* m,
             const double* s, double noise_variance, double damping,
             VectorXd& responsibility, double* work) const;

 private:
  Family family_;
  const Completions* units_;
  DirectTerms direct_;
};

// 1 - kappa s, what the others know of a row. One that alone determines a
// direction has a cavity that is all but the prior.
inline double cavity_fraction(double kappa, double variance) {
  return std::max(1.0 - kappa * variance, 1e-10);
}

class SiteRule final : public Rule {
 public:
  // `responsibilities`: of rows that are completions; null: rows are complete.
  SiteRule(const RowSource& rows, Family family, SiteRows& sites,
           const Responsibilities* responsibilities = nullptr)
      : rows_(rows),
        family_(family),
        tilted_(family),
        responsibilities_(responsibilities),
        sites_(sites),
        totals_(rows.tiles().size()) {}

  double damping = 1.0;
  double noise_variance = 1.0;

  // The rows' part of log Z at the sites before the update:
  //   log Z_i + {(kappa m^2 - 2 b m + b^2 s) / (1 - kappa s)
  //              - log(1 - kappa s) + b m} / 2,
  // offsets taken out of m and b; the last term is the row's part of h'mu.
  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double* s, RowNumbers out) const override;

  // Of the last pass, over some rows.
  struct Total {
    double kappa = 0.0, linear = 0.0, responsibility = 0.0, projection = 0.0;
    double squares = 0.0, weight = 0.0, completions = 0.0;

    void add(const Total& part);
  };
  // The chunks begin .. end - 1.
  Total shard(Index begin, Index end) const;
  // The shards of a pass that was run elsewhere, in their order.
  void adopt(const std::vector<Total>& shards) { shards_ = shards; }
  // The first of the rows, where they are part of more.
  Index origin = 0;

  // How far the sites are from the tilted moments, in standard deviations of f.
  double change() const;
  // The changes of b along a direction that means nothing: from pass to pass it
  // changes its sign where messages go to and fro.
  double projection() const { return total().projection; }
  // sum w E(y - f)^2 over the tilted distributions, and sum w.
  double squares() const { return total().squares; }
  double weight() const { return total().weight; }
  // sum rho log(pi / rho) over completions.
  double completions() const { return total().completions; }

  Family family() const { return family_; }
  const TiltedMoments& tilted() const { return tilted_; }

 private:
  static double sign(Index i) {
    return (static_cast<std::uint32_t>(i) * 2654435769u) >> 31 ? 1.0 : -1.0;
  }

  Total total() const;

  const RowSource& rows_;
  Family family_;
  TiltedMoments tilted_;
  const Responsibilities* responsibilities_;
  SiteRows& sites_;
  // By tile, each in its own place whatever the thread.
  mutable std::vector<Total> totals_;
  std::vector<Total> shards_;
};

// Sends the messages as they stand.
class MessageRule final : public Rule {
 public:
  explicit MessageRule(const SiteRows& sites) : sites_(sites) {}
  double tile(const TileSpan& span, const Tile&, const double* m, const double*,
              RowNumbers out) const override;

 private:
  const SiteRows& sites_;
};
}  // namespace bayeskernel
