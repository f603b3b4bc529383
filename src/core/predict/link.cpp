#include "predict/link.hpp"

#include "math/normal.hpp"

namespace bayeskernel {
void LinkCurve::values(const ArrayXd& f, ArrayXd& work, ArrayXd& out) const {
  switch (link_) {
    case Link::probit:
      normal_cdf(f, work, out);
      break;
    case Link::hinge:
      out =
          1.0 / (1.0 + (2.0 * ((1.0 - f).max(0.0) - (1.0 + f).max(0.0))).exp());
      break;
    case Link::logit:
      out = 1.0 / (1.0 + (-f).exp());
      break;
    case Link::identity:
      out = f;
      break;
  }
}

double LinkCurve::mean(double m, double v) const {
  switch (link_) {
    case Link::probit:
      return 0.5 * std::erfc(-m / std::sqrt(2.0 * (1.0 + v)));
    case Link::hinge:
      return hinge_(m, std::sqrt(v));
    case Link::logit:
      return logit_(m, v);
    default:
      return m;
  }
}
}  // namespace bayeskernel
