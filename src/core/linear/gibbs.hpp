// Gibbs chain of the engine: the latents of the rows given f, by family
// (gibbs_rules.hpp), then (theta, u) given these with u integrated out of theta's
// draw, then the variances, then one move along a scale with the latents
// integrated out (scale_move.hpp). One sweep is one pass over the rows and a
// cheap one; sums that no draw changes are kept. The state between sweeps is the
// draw itself. The steps are public: a model with further steps (selection,
// missing values) puts its own sweep together (model_chain.hpp).
#ifndef BAYESKERNEL_LINEAR_GIBBS_HPP
#define BAYESKERNEL_LINEAR_GIBBS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/executor.hpp"
#include "rng/distributions.hpp"
#include "rng/matrix_variate.hpp"
#include "rng/stream.hpp"
#include "prior/blocks.hpp"
#include "linear/gibbs_rules.hpp"
#include "linear/pass.hpp"
#include "linear/scale_move.hpp"
#include "linear/system.hpp"

namespace bayeskernel {

// 1/sigma^2 or Psi^-1 of a block given sum v v' over the members that the data
// reach: the hidden ones keep their prior whatever the data say and are
// integrated out. `current` is the last draw.
inline MatrixXd draw_precision(Stream& stream, const Block& block,
                               MatrixXd moment, const MatrixXd& current) {
  const double count = static_cast<double>(block.members);
  if (block.kind == Block::Kind::iid) {
    return MatrixXd::Constant(
        1, 1,
        block.variance().draw(stream, count, moment(0, 0), current(0, 0)));
  }
  const CovariancePrior prior = block.covariance();
  moment += prior.draw_scale(stream, current);
  const MatrixXd inverse = Eigen::LLT<MatrixXd>(moment).solve(
      MatrixXd::Identity(block.width, block.width));
  WishartScratch scratch(block.width);
  MatrixXd out(block.width, block.width);
  wishart(stream, prior.df() + count, inverse, scratch, out);
  return out;
}

struct GibbsState {
  ArrowVector point;                // theta, u
  std::vector<MatrixXd> precision;  // 1/sigma^2 or Psi^-1 of each block
  std::uint64_t sweep = 0;          // sweeps done
  // Of every row that theta was drawn with, where rows have residuals e_i (a /
  // w^2, sum z, omega): theta is drawn with them integrated out, they are drawn
  // after it.
  VectorXd latent;
  double noise = 1.0;  // 1 / v of a Gaussian likelihood
};

// Chains start apart, at variances from 1 upwards: too large a variance is
// corrected within sweeps, while effects that start near zero keep their
// variance small for long.
inline std::vector<MatrixXd> start_precisions(const Prior& prior,
                                              std::uint64_t seed,
                                              std::uint64_t chain) {
  std::vector<MatrixXd> out = prior.start();
  Stream stream(seed, chain, Purpose::init, 0, 0);
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    if (prior.blocks[l].kind == Block::Kind::held) continue;
    if (prior.blocks[l].kind == Block::Kind::point) {
      throw ArgumentError("the variance of a process is held by the sampler");
    }
    out[l] *= std::exp(-2.0 * std::abs(stream.normal()));
  }
  return out;
}

inline void draw_variances(const Prior& prior, std::uint64_t seed,
                           std::uint64_t chain, GibbsState& state) {
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    const Block& block = prior.blocks[l];
    if (block.kind == Block::Kind::held) continue;
    Stream stream(seed, chain, Purpose::variance, state.sweep, l);
    state.precision[l] = draw_precision(
        stream, block,
        block.eliminated
            ? MatrixXd(state.point.group * state.point.group.transpose())
            : block.second_moment(state.point.x),
        state.precision[l]);
  }
}

// What a chain is of beside rows and prior.
struct ChainParts {
  RowModel model;
  const ScatteredBlock* scattered = nullptr;
  bool rows_change = false;  // between sweeps, by somebody else
  bool gram = true;  // else sums are linear, and weights of rows are kept
};

class GibbsChain {
 public:
  GibbsChain(const RowSource& rows, const Prior& prior, Executor& executor,
             std::uint64_t seed, std::uint64_t chain,
             const ChainParts& parts = ChainParts())
      : prior_(prior),
        seed_(seed),
        chain_(chain),
        facts_(check_rows(rows, parts.model.family)),
        pass_(rows, executor),
        rule_(make_gibbs_rule(parts.model.family, seed, chain)),
        noise_(parts.model, rows, executor, seed, chain),
        what_(parts.gram ? Gather::all : Gather::linear),
        sums_(parts.gram ? rows.x_columns() : 0, rows.z_columns(),
              rows.groups()),
        system_(parts.gram ? rows.x_columns() : 0, rows.z_columns(),
                rows.groups()),
        scale_move_(rows, prior, executor, parts.model.family,
                    parts.scattered) {
    if (parts.rows_change || !parts.gram) {
      kappa_.resize(rows.rows());
      linear_.resize(rows.rows());
    } else {
      repeats_ = rule_->repeats(facts_.residuals);
    }
    if (repeats_ == Repeats::everything) unit_ = sums_;
    state.point =
        ArrowVector(rows.x_columns(), rows.z_columns(), rows.groups());
    state.precision = start_precisions(prior, seed, chain);
    if (facts_.residuals) {
      state.latent = VectorXd::Constant(rows.rows(), rule_->start());
    }
    state.noise = parts.model.noise.precision;
  }

  GibbsState state;

  std::uint64_t seed() const { return seed_; }
  std::uint64_t chain() const { return chain_; }
  Index sweeps() const { return static_cast<Index>(state.sweep); }
  // What latent_pass() leaves behind: sums, and where rows change the numbers of
  // each.
  const Sums& sums() const { return sums_; }
  RowMessages messages() const { return {kappa_.data(), linear_.data()}; }
  Index rows() const { return kappa_.size(); }  // whose messages are kept
  bool residuals() const { return facts_.residuals; }
  // The most that a factorisation had to add to a diagonal.
  double jitter() const { return jitter_; }

  void sweep() {
    latent_pass();
    draw_coefficients();
    draw_variances();
    move_scale();
    ++state.sweep;
  }

  // The noise and the latents of all rows, and the sums that the next draw needs,
  // with the prior's part of the linear one.
  void latent_pass() {
    noise_.run(state.point, state.sweep, prior_.blocks.size(), facts_.weight,
               state.noise);
    if (repeats_ == Repeats::everything) {
      if (!gathered_) gather(1.0, unit_, Gather::all);
      sums_.curvature = unit_.curvature;
      sums_.linear = unit_.linear;
      sums_.scale(state.noise);
      factored_ = false;
    } else if (repeats_ == Repeats::kappa && gathered_) {
      gather(state.noise, sums_, Gather::linear);
    } else {
      gather(state.noise, sums_, what_);
      factored_ = false;
    }
    gathered_ = true;
    sums_.linear.x.array() += prior_.precision.array() * prior_.mean.array();
  }

  void draw_coefficients() {
    if (!factored_ || state.precision != factored_with_) {
      system_.factor(sums_.curvature, prior_, state.precision);
      jitter_ = std::max(jitter_, system_.jitter());
      factored_with_ = state.precision;
      factored_ = true;
    }
    Stream stream(seed_, chain_, Purpose::coefficients, state.sweep, 0);
    system_.sample(sums_.linear, [&] { return stream.normal(); }, state.point);
  }

  void draw_variances() {
    bayeskernel::draw_variances(prior_, seed_, chain_, state);
  }

  // The moves take turns, one a sweep. `scattered_precision` is that of the
  // scattered block, if there is one.
  void move_scale(double* scattered_precision = nullptr) {
    if (scale_move_.moves() == 0 || facts_.residuals) return;
    Stream stream(seed_, chain_, Purpose::scale, state.sweep, 0);
    const std::uint64_t turn = state.sweep % scale_move_.moves();
    scale_move_.run(turn, stream, state.point, state.precision, state.noise,
                    scattered_precision);
  }

 private:
  void gather(double noise, Sums& out, Gather what) {
    Moments at;
    at.point = &state.point;
    rule_->set(state.sweep, state.latent, noise);
    RowStore store;
    if (kappa_.size() > 0) {
      store.kappa = kappa_.data();
      store.linear = linear_.data();
    }
    pass_.run(at, *rule_, Second::none, out, store, what);
  }

  const Prior& prior_;
  std::uint64_t seed_, chain_;
  RowFacts facts_;
  Pass pass_;
  std::unique_ptr<GibbsRule> rule_;
  Repeats repeats_ = Repeats::nothing;
  NoiseDraw noise_;
  Gather what_;
  Sums sums_;
  Sums unit_;  // at v = 1, where all of them repeat
  VectorXd kappa_, linear_;
  bool gathered_ = false;
  ArrowSystem system_;
  bool factored_ = false;
  std::vector<MatrixXd> factored_with_;
  ScaleMove scale_move_;
  double jitter_ = 0.0;
};

}  // namespace bayeskernel

#endif
