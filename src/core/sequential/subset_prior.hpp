// The prior of a set of centres on a grid of g points: their number k is
// Poisson(lambda), cut at min(kmax, g), and sets of one size are equally
// probable; and the birth, death and stay moves that go with it.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
class SubsetPrior {
 public:
  // `rate`: the share c of birth and death moves, in (0, 1/2].
  SubsetPrior(double lambda, Index kmax, double rate = 0.25);

  // To be called before grids of more points are asked about.
  void reach(Index g);

  double lambda() const { return lambda_; }
  Index kmax() const { return kmax_; }
  Index most(Index g) const { return std::min(kmax_, g); }

  // log p(U) of a set of k of g points.
  double log(Index k, Index g) const;
  // log p(k).
  double log_size(Index k, Index g) const {
    return log(k, g) + log_choose(k, g);
  }

  double birth(Index k, Index g) const;
  double death(Index k) const;
  // The log of prior and proposal in the weight of a move from k to `next` as
  // it is printed below eq. 8, less what is the same for all particles. No
  // valid weight: nothing in it stands for the way back.
  double printed_ratio(Index k, Index next, Index g) const;
  double stay(Index k, Index g) const { return 1.0 - birth(k, g) - death(k); }

 private:
  double log_choose(Index k, Index g) const {
    return log_factorial_[g] - log_factorial_[k] - log_factorial_[g - k];
  }
  double log_power(Index k) const {
    return static_cast<double>(k) * std::log(lambda_) - log_factorial_[k];
  }

  double lambda_;
  Index kmax_;
  double rate_;
  std::vector<double> log_factorial_;
  std::vector<double> log_total_;  // log sum_j lambda^j / j!, j = 0..most
};
}  // namespace bayeskernel
