// Mean and standard deviation of a probability g(f), f ~ N(m, v), for rows
// whose answers are averaged over several such laws. By the trapezoidal rule,
// whose error falls geometrically for the smooth curves: below 1e-10 for probit
// and logit up to a deviation of 100, beyond which only the deviation of g is
// by it.
//
// E Phi(f) is the probability of Wenzel et al. (2017), eq. 13.
#pragma once

#include "parallel/executor.hpp"
#include "predict/link.hpp"

namespace bayeskernel {
class LinkMoments {
 public:
  struct Scratch {
    ArrayXd f, work, p;
  };

  explicit LinkMoments(Link link);

  void operator()(double m, double v, Scratch& s, double& mean,
                  double& deviation) const;

  // Rows of m, v; missing ones give NaN.
  void run(const Eigen::Ref<const ArrayXd>& m,
           const Eigen::Ref<const ArrayXd>& v, double* mean, double* deviation,
           Executor& executor) const;

 private:
  // Step in f: the error of E Phi(f)^2 is exp(-pi^2 / step^2).
  static constexpr double kWidest = 0.6;

  struct Rule {
    double step;
    ArrayXd node, weight;
  };

  LinkCurve curve_;
  std::vector<Rule> rules_;
};
}  // namespace bayeskernel
