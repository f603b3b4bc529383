// The moves of klr()'s chain that change kernels and the projection, whichever
// way the likelihood knows the coefficients.
//
// Ouyang (2008), section 2.2.3.
#pragma once

#include <array>

#include "eigen.hpp"
#include "klr/basis.hpp"
#include "klr/likelihood.hpp"
#include "klr/prior.hpp"
#include "klr/steps.hpp"
#include "klr/stiefel.hpp"
#include "mcmc/metropolis.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
class LowRankMoves {
 public:
  using Move = LowRankMove;

  // mu and tau: of log lambda, which the chain draws.
  LowRankMoves(const LowRankPrior& prior, ProjectedBasis& basis,
               KernelLikelihood& likelihood, LowRankTally& tally,
               const LowRankSchedule& schedule)
      : prior_(prior),
        basis_(basis),
        likelihood_(likelihood),
        tally_(tally),
        schedule_(schedule),
        walk_(basis.data().variables(), basis.rank()) {}

  double mu = 0.0, tau = 1.0;

  // ---- Log ratios, of what is then the likelihood's and the basis' proposal

  // The tried column, with its parameter: of a coefficient, or of a variance.
  double birth(double parameter);
  double death(Index j);
  double coefficient(Index j, double b);
  double variance(Index j, double v);
  // The tried column in place of column j, at other scales.
  double scales(Index j);
  // The same with a coefficient g times as large; a variance goes with g^2.
  double scales(Index j, double log_g);
  double intercept(double b);
  double frame();

  // ---- Steps

  void jump(Stream& stream);

  // A kernel with its centre and scales from the prior, tried.
  void draw_kernel(Stream& stream);
  double draw_parameter(Stream& stream) const;

  // A variance, by a factor; or a coefficient: one that was drawn by its size
  // by a factor, any other on the scale v on which its prior is uniform. There
  // it can change its sign, but large ones are near 0, far from where a step
  // ends.
  void step_parameter(Stream& stream);

  // To any row, or to one that the kernel finds near: then there are ways back
  // in the proportion of the kernels' sums.
  void step_centre(Stream& stream);

  void step_scale(Index l, Stream& stream);
  // Those of a kernel together, with the coefficient that leaves its part of f
  // at some row as it is: high and wide kernels fit as low and narrow ones do,
  // and steps of one number alone do not lead from these to those.
  void step_ridge(Stream& stream);
  // Those of a kernel together.
  void step_scales(Stream& stream);
  // All of them and mu.
  void step_shift(Stream& stream);

  void step_frame(Stream& stream);

  void step_intercept(Stream& stream);

  // mu given all log lambda and tau: its mean and precision. The thesis' mean
  // is right for 1 / tau = s_0^2 alone.
  std::array<double, 2> mean_law() const;
  // tau given them and mu: shape and rate.
  std::array<double, 2> precision_law() const;
  void draw_scale_prior(Stream& stream);

  void draw_frame(Stream& stream, MatrixXd& u) {
    walk_.draw_uniform(stream, u);
  }
  // U back on the manifold.
  void polish();

 private:
  static constexpr double kSmallestPrecision = 1e-12;

  double scales_in_use() const {
    return static_cast<double>(basis_.kernels() * basis_.rank());
  }
  template <class Use>
  void for_scales(Use&& use) const {
    for (Index j = 1; j <= basis_.kernels(); ++j) {
      for (Index l = 0; l < basis_.rank(); ++l) use(basis_.log_lambda(j, l));
    }
  }
  static bool valid(double parameter) {
    return parameter != 0.0 && LowRankPrior::holds_coefficient(parameter);
  }
  double log_ways(Index kernels, double parameter) const;
  double scale_density(double log_lambda) const;
  // Many kernels have coefficients near epsilon, which matter little: half of
  // the moves of a kernel are of one drawn by size. chosen_again() is the log
  // ratio of the chances to draw it with another parameter and with its own.
  double size_of(double parameter) const {
    return std::min(
        prior_.continuous ? std::sqrt(parameter) : std::abs(parameter), 10.0);
  }
  Index some_kernel(Stream& stream);
  double chosen_again(Index j, double parameter) const;
  // Kernels are columns 1, 2, ...
  Index any_kernel(Stream& stream) const {
    return 1 + uniform_index(stream, basis_.kernels());
  }
  static Index another(Stream& stream, Index l, Index r);

  void update(Stream& stream);

  void finish(Move move, RandomWalkStep* step, double ratio, double log_u);

  double sum_but(const double* column, Index at) const;
  // The row where the running sum passes `left`.
  Index draw_but(const double* column, Index at, double left) const;

  const LowRankPrior& prior_;
  ProjectedBasis& basis_;
  KernelLikelihood& likelihood_;
  LowRankTally& tally_;
  const LowRankSchedule& schedule_;
  FrameWalk walk_;
  // Of the kernel drawn last.
  bool by_size_ = false;
  double total_ = 0.0;
};
}  // namespace bayeskernel
