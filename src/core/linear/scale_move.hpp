// Moves of a chain along a scale: the effects of a block and their standard
// deviation, or all coefficients and all standard deviations, are multiplied
// by one factor c, drawn given the rest with the latents integrated out. The
// sampler's own steps move such scales slowly: variances follow effects and
// effects follow latents. Log density of t = log c (a group of transformations
// with its Jacobian, Liu & Sabatti 2000, Biometrika 87, 353-369), drawn by
// slice sampling:
//   sum omega log p(y | rest + c part)         any family
//   - 2 A t - B / (sigma^2 c^2)                 a block IG(A, B)
//   + t - (nu + 1)/2 log(1 + sigma^2 c^2/nu s^2) a block half t(nu, s)
//   - nu r t - tr(S Psi^-1) / (2 c^2)           a block IW(nu, S)
//   and with log sums in the trace's place       where its Psi is of half t
//   ones
//   + q t - c^2 theta' P theta / 2              q columns of known precision P
// A scattered block counts as one IG(A, B): its effects that are exactly 0 (out
// of the model, their own values integrated out) take no part.
#pragma once

#include "eigen.hpp"
#include "likelihood/family.hpp"
#include "math/normal.hpp"
#include "math/special.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"
#include "prior/blocks.hpp"
#include "prior/variance_prior.hpp"
#include "rng/stream.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
// Columns of theta, anywhere, whose effects are sigma times something known,
// sigma^2 ~ IG(shape, rate), or sigma ~ `half_t`.
struct ScatteredBlock {
  std::vector<Index> columns;
  double shape = 0.01, rate = 0.01;
  HalfT half_t;

  VariancePrior variance() const { return {shape, rate, half_t}; }
};

// The prior's part of that of a learned block at the precision where t = 0.
double log_scale_density(const Block& block, const MatrixXd& precision,
                         double t);

class ScaleMove {
 public:
  ScaleMove(const RowSource& rows, const Prior& prior, Executor& executor,
            Family family, const ScatteredBlock* scattered = nullptr);

  // One per learned variance, and one for everything at once.
  std::uint64_t moves() const;

  // Move `turn` of moves(). One pass over the rows and O(n) per evaluation.
  // `noise`: 1 / v of a Gaussian likelihood.
  void run(std::uint64_t turn, Stream& stream, ArrowVector& point,
           std::vector<MatrixXd>& precision, double noise = 1.0,
           double* scattered_precision = nullptr);

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Moved {
    bool everything = false;
    bool scattered = false;
    std::size_t block = kNone;

    bool includes(std::size_t l) const { return everything || l == block; }
  };

  // part_ = the coefficients that the move scales.
  void select(const Moved& moved, const ArrowVector& point);

  // What the loss of a row is a function of: 1 - y f (hinge), -y f (probit,
  // logit) or y - f (gaussian) is shortfall - (c - 1) slope.
  void split(const Moved& moved, const ArrowVector& point);

  // The sum of omega times the loss at factor c, from what split() has kept.
  double loss(double c);

  struct Scratch {
    ArrayXd gap, work, value;
  };

  // -sum w log p at the margins -gap of a probit or a logit likelihood. The
  // logarithm of a product takes the place of many, where powers are 1.
  template <class Weight>
  double label_loss(const Weight& w, Scratch& scratch) const {
    auto& [gap, work, value] = scratch;
    const Index n = gap.size();
    const bool logit = family_ == Family::logit;
    if (!(w == 1.0).all()) {
      double sum = 0.0;
      for (Index i = 0; i < n; ++i) {
        if (w[i] == 0.0) continue;
        sum -= w[i] * (logit ? log_expit(-gap[i]) : log_normal_cdf(-gap[i]));
      }
      return sum;
    }
    double sum = 0.0;
    if (logit) {
      // log(1 + e^g) = max(g, 0) + log(1 + e^-|g|), factors of at most 2.
      constexpr Index kFactors = 512;
      value = 1.0 + (-gap.abs()).exp();
      for (Index i = 0; i < n; i += kFactors) {
        sum += std::log(value.segment(i, std::min(kFactors, n - i)).prod());
      }
      return sum + gap.max(0.0).sum();
    }
    constexpr Index kFactors = 8;
    constexpr double kLeast = 1e-30;
    gap = -gap;
    normal_cdf(gap, work, value);
    for (Index i = 0; i < n; ++i) {
      if (value[i] >= kLeast) continue;
      sum -= log_normal_cdf(gap[i]);
      value[i] = 1.0;
    }
    for (Index i = 0; i < n; i += kFactors) {
      sum -= std::log(value.segment(i, std::min(kFactors, n - i)).prod());
    }
    return sum;
  }

  double log_prior(const Moved& moved, double t,
                   const std::vector<MatrixXd>& precision,
                   const double* scattered_precision) const;

  Sweep sweep_;
  const Prior& prior_;
  Family family_;
  const ScatteredBlock* scattered_;
  std::vector<double> loss_;
  std::vector<std::size_t> learned_;
  VectorXd shortfall_, slope_, weight_;
  ArrowVector part_;
  mutable ScratchPool<Scratch> pool_;
};
}  // namespace bayeskernel
