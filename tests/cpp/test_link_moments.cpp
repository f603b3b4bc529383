#include "predict/link_moments.hpp"

#include "check.hpp"

using bayeskernel::Link;
using bayeskernel::LinkCurve;
using bayeskernel::LinkMoments;

namespace {
// By very many nodes.
void reference(Link link, double m, double v, double& mean, double& sd) {
  const LinkCurve curve(link);
  const int nodes = 200001;
  Eigen::ArrayXd x = Eigen::ArrayXd::LinSpaced(nodes, -10.0, 10.0), work, p;
  const Eigen::ArrayXd w = (-0.5 * x.square()).exp();
  x = m + std::sqrt(v) * x;
  curve.values(x, work, p);
  mean = (w * p).sum() / w.sum();
  sd = std::sqrt((w * (p - mean).square()).sum() / w.sum());
}
}  // namespace

TEST("mean and deviation of a probability") {
  for (const Link link : {Link::probit, Link::logit, Link::hinge}) {
    const LinkMoments moments(link);
    LinkMoments::Scratch scratch;
    for (const double m : {-30.0, -4.0, -0.3, 0.0, 1.7, 9.0}) {
      for (const double v : {1e-8, 0.04, 0.9, 2.6, 11.0, 80.0, 900.0}) {
        double mean, sd, exact_mean, exact_sd;
        moments(m, v, scratch, mean, sd);
        reference(link, m, v, exact_mean, exact_sd);
        const bool corners = link == Link::hinge;
        const double tolerance = corners ? 2e-4 : 1e-9;
        CHECK_NEAR(mean, exact_mean, corners ? 1e-6 : 1e-9);
        CHECK_NEAR(sd, exact_sd, tolerance);
      }
    }
  }
}
