// From a latent value to the probability of the positive class: g(f), and
// E g(f) for f ~ N(m, v), g the normal distribution function ("probit") or what
// the hinge pseudo-likelihood implies.
#ifndef BAYESKERNEL_PREDICT_LINK_HPP
#define BAYESKERNEL_PREDICT_LINK_HPP

#include <Eigen/Core>
#include <cmath>

#include "../hinge/probability.hpp"
#include "../math/normal.hpp"

namespace bayeskernel {

enum class Link { probit, hinge };

class LinkCurve {
 public:
  explicit LinkCurve(Link link) : link_(link) {}
  Link link() const { return link_; }

  // g(f) for a block, with packed arithmetic.
  void values(const Eigen::ArrayXd& f, Eigen::ArrayXd& work,
              Eigen::ArrayXd& out) const {
    if (link_ == Link::probit) {
      normal_cdf(f, work, out);
    } else {
      out = 1.0 / (1.0 + (2.0 * ((1.0 - f).max(0.0) -
                                 (1.0 + f).max(0.0))).exp());
    }
  }

  // E g(f).
  double mean(double m, double v) const {
    return link_ == Link::probit
               ? 0.5 * std::erfc(-m / std::sqrt(2.0 * (1.0 + v)))
               : hinge_(m, std::sqrt(v));
  }

 private:
  Link link_;
  HingeProbability hinge_;
};

}  // namespace bayeskernel

#endif
