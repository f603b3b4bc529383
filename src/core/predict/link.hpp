// From a latent value to the probability of the positive class: g(f), and
// E g(f) for f ~ N(m, v), g the normal ("probit") or the logistic distribution
// function, what the hinge pseudo-likelihood implies, or, for responses that
// are numbers, f itself.
#ifndef BAYESKERNEL_PREDICT_LINK_HPP
#define BAYESKERNEL_PREDICT_LINK_HPP

#include <Eigen/Core>
#include <cmath>

#include "likelihood/probability.hpp"
#include "math/normal.hpp"
#include "predict/logit_probability.hpp"

namespace bayeskernel {

enum class Link { probit, hinge, logit, identity };

class LinkCurve {
 public:
  explicit LinkCurve(Link link) : link_(link) {}
  Link link() const { return link_; }

  // g(f) for a block, with packed arithmetic.
  void values(const Eigen::ArrayXd& f, Eigen::ArrayXd& work,
              Eigen::ArrayXd& out) const {
    switch (link_) {
      case Link::probit: normal_cdf(f, work, out); break;
      case Link::hinge:
        out = 1.0 / (1.0 + (2.0 * ((1.0 - f).max(0.0) -
                                   (1.0 + f).max(0.0))).exp());
        break;
      case Link::logit: out = 1.0 / (1.0 + (-f).exp()); break;
      case Link::identity: out = f; break;
    }
  }

  // E g(f).
  double mean(double m, double v) const {
    switch (link_) {
      case Link::probit:
        return 0.5 * std::erfc(-m / std::sqrt(2.0 * (1.0 + v)));
      case Link::hinge: return hinge_(m, std::sqrt(v));
      case Link::logit: return logit_(m, v);
      default: return m;
    }
  }

 private:
  Link link_;
  HingeProbability hinge_;
  LogitProbability logit_;
};

}  // namespace bayeskernel

#endif
