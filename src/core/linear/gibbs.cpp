#include "linear/gibbs.hpp"

#include "error.hpp"
#include "likelihood/rules.hpp"
#include "linear/moments.hpp"
#include "math/spd.hpp"
#include "prior/variance_prior.hpp"
#include "rng/matrix_variate.hpp"

namespace bayeskernel {
MatrixXd draw_precision(Stream& stream, const Block& block, MatrixXd moment,
                        const MatrixXd& current) {
  const double count = static_cast<double>(block.members);
  if (block.kind == Block::Kind::iid) {
    return MatrixXd::Constant(
        1, 1,
        block.variance().draw(stream, count, moment(0, 0), current(0, 0)));
  }
  const CovariancePrior prior = block.covariance();
  moment += prior.draw_scale(stream, current);
  const MatrixXd inverse = spd_inverse(moment, "the scale of a covariance");
  WishartScratch scratch(block.width);
  MatrixXd out(block.width, block.width);
  wishart(stream, prior.df() + count, inverse, scratch, out);
  return out;
}

std::vector<MatrixXd> start_precisions(const Prior& prior, std::uint64_t seed,
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

void draw_variances(const Prior& prior, std::uint64_t seed, std::uint64_t chain,
                    GibbsState& state) {
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

GibbsChain::GibbsChain(const RowSource& rows, const Prior& prior,
                       Executor& executor, std::uint64_t seed,
                       std::uint64_t chain, const ChainParts& parts)
    : prior_(prior),
      seed_(seed),
      chain_(chain),
      facts_(check_rows(rows, parts.model.family)),
      pass_(rows, executor),
      rule_(make_gibbs_rule(parts.model.family, seed, chain)),
      noise_(parts.model, rows, executor, seed, chain),
      what_(parts.gram ? Gather::all : Gather::linear),
      sums_(parts.gram ? rows.x_columns() : 0, rows.z_columns(), rows.groups()),
      system_(parts.gram ? rows.x_columns() : 0, rows.z_columns(),
              rows.groups()),
      scale_move_(rows, prior, executor, parts.model.family, parts.scattered) {
  if (parts.rows_change || !parts.gram) {
    kappa_.resize(rows.rows());
    linear_.resize(rows.rows());
  } else {
    repeats_ = rule_->repeats(facts_.residuals);
  }
  if (repeats_ == Repeats::everything) unit_ = sums_;
  state.point = ArrowVector(rows.x_columns(), rows.z_columns(), rows.groups());
  state.precision = start_precisions(prior, seed, chain);
  if (facts_.residuals) {
    state.latent = VectorXd::Constant(rows.rows(), rule_->start());
  }
  state.noise = parts.model.noise.precision;
}

void GibbsChain::sweep() {
  latent_pass();
  draw_coefficients();
  draw_variances();
  move_scale();
  ++state.sweep;
}

void GibbsChain::latent_pass() {
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

void GibbsChain::draw_coefficients() {
  if (!factored_ || state.precision != factored_with_) {
    system_.factor(sums_.curvature, prior_, state.precision);
    jitter_ = std::max(jitter_, system_.jitter());
    factored_with_ = state.precision;
    factored_ = true;
  }
  Stream stream(seed_, chain_, Purpose::coefficients, state.sweep, 0);
  system_.sample(
      sums_.linear, [&] { return stream.normal(); }, state.point);
}

void GibbsChain::move_scale(double* scattered_precision) {
  if (scale_move_.moves() == 0 || facts_.residuals) return;
  Stream stream(seed_, chain_, Purpose::scale, state.sweep, 0);
  const std::uint64_t turn = state.sweep % scale_move_.moves();
  scale_move_.run(turn, stream, state.point, state.precision, state.noise,
                  scattered_precision);
}

void GibbsChain::gather(double noise, Sums& out, Gather what) {
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
}  // namespace bayeskernel
