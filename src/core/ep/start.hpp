// Messages to start from: those of the variational rules.
#ifndef BAYESKERNEL_EP_START_HPP
#define BAYESKERNEL_EP_START_HPP

#include "likelihood/bounds.hpp"
#include "likelihood/rules.hpp"
#include "ep/sites.hpp"

namespace bayeskernel {

// Direct bound for probit and logit, mean field for the hinge; those of the
// gaussian family are exact.
class StartSites final : public Rule {
 public:
  // `shares` and `sites`: of rows that are atoms; null: rows are complete.
  explicit StartSites(Family family, const AtomShares* shares = nullptr,
                      SiteRows* sites = nullptr)
      : family_(family), shares_(shares), sites_(sites) {}

  bool cold = true;  // no q yet: Var x'theta = 1
  double noise_variance = 1.0;

  // Passes before the sites take over.
  static int passes(Family family) {
    switch (family) {
      case Family::hinge: return 10;
      case Family::gaussian: return 1;
      default: return 2;
    }
  }

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double* s, RowNumbers out) const override {
    const bool atoms = sites_ != nullptr && sites_->share.size() > 0;
    if (atoms && !cold) {
      shares_->tile(span, tile, m, s, noise_variance, 1.0, sites_->share,
                    out.newton);
    }
    for (Index i = 0; i < span.rows(); ++i) {
      const double r = tile.residual_of(i);
      const double share =
          atoms ? AtomShares::power(sites_->share[span.row_begin + i]) : 1.0;
      const RowTerms row = terms(tile.y[i], tile.weight[i] * share, m[i],
                                 cold ? 1.0 + r : s[i], r);
      out.kappa[i] = row.kappa;
      out.linear[i] = row.gradient;
      out.newton[i] = row.newton;
    }
    return 0.0;
  }

 private:
  RowTerms terms(double y, double w, double m, double s, double r) const {
    if (family_ == Family::hinge) return mean_field(y, w, m, s);
    if (family_ == Family::gaussian) {
      const double kappa = w / (noise_variance + w * r);
      return {kappa, kappa * (y - m), kappa, 0.0};
    }
    return direct_(family_, y, w, m, s, Noise());
  }

  Family family_;
  const AtomShares* shares_;
  SiteRows* sites_;
  DirectTerms direct_;
};

}  // namespace bayeskernel

#endif
