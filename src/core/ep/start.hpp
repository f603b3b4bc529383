// Messages to start from: those of the variational rules.
#pragma once

#include "ep/sites.hpp"
#include "likelihood/bounds.hpp"
#include "likelihood/family.hpp"
#include "likelihood/rules.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// Direct bound for probit and logit, mean field for the hinge; those of the
// gaussian family are exact.
class StartSites final : public Rule {
 public:
  // `responsibilities` and `sites`: of rows that are completions; null: rows
  // are complete.
  explicit StartSites(Family family,
                      const Responsibilities* responsibilities = nullptr,
                      SiteRows* sites = nullptr)
      : family_(family), responsibilities_(responsibilities), sites_(sites) {}

  bool cold = true;  // no q yet: Var x'theta = 1
  double noise_variance = 1.0;

  // Passes before the sites take over.
  static int passes(Family family);

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double* s, RowNumbers out) const override;

 private:
  RowTerms terms(double y, double w, double m, double s, double r) const;

  Family family_;
  const Responsibilities* responsibilities_;
  SiteRows* sites_;
  DirectTerms direct_;
};
}  // namespace bayeskernel
