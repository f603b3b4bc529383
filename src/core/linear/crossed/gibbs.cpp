#include "linear/crossed/gibbs.hpp"

#include "rng/stream.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
CrossedGibbs::CrossedGibbs(const CrossedRows& rows, const Prior& prior,
                           Executor& executor, std::uint64_t seed,
                           std::uint64_t chain, const RowModel& model)
    : rows_(rows),
      prior_(prior),
      executor_(executor),
      seed_(seed),
      chain_(chain),
      facts_(check_rows(rows, model.family)),
      rule_(make_gibbs_rule(model.family, seed, chain)),
      noise_(model, rows, executor, seed, chain),
      system_(rows, prior, executor),
      scale_move_(rows, prior, executor, model.family),
      numbers_(rows.rows()) {
  state.point = ArrowVector(rows.size(), 0, 0);
  state.precision = start_precisions(prior, seed, chain);
  if (facts_.residuals) {
    state.latent = VectorXd::Constant(rows.rows(), rule_->start());
  }
  state.noise = model.noise.precision;
}

void CrossedGibbs::sweep() {
  noise_.run(state.point, state.sweep, prior_.blocks.size(), facts_.weight,
             state.noise);
  rule_->set(state.sweep, state.latent, state.noise);
  numbers_.set(rows_, executor_, state.point, nullptr, *rule_);
  draw_coefficients();
  draw_variances(prior_, seed_, chain_, state);
  if (scale_move_.moves() > 0 && !facts_.residuals) {
    Stream stream(seed_, chain_, Purpose::scale, state.sweep, 0);
    scale_move_.run(state.sweep % scale_move_.moves(), stream, state.point,
                    state.precision, state.noise);
  }
  ++state.sweep;
}

void CrossedGibbs::draw_coefficients() {
  system_.factor(numbers_.kappa, state.precision);
  Sweep{rows_, executor_, nullptr}.run([&](Index block, Index) {
    Stream stream(seed_, chain_, Purpose::coefficients, state.sweep,
                  static_cast<std::uint64_t>(block) + 1);
    for (const TileSpan& span : rows_.block_tiles(block)) {
      for (Index i = span.row_begin; i < span.row_end; ++i) {
        numbers_.linear[i] += std::sqrt(numbers_.kappa[i]) * stream.normal();
      }
    }
  });
  VectorXd right = crossed_linear(rows_, numbers_.linear, executor_);
  Stream stream(seed_, chain_, Purpose::coefficients, state.sweep, 0);
  for (Index k = 0; k < right.size(); ++k) {
    const double own = prior_.precision[k];
    if (own <= 0.0) continue;
    right[k] += own * prior_.mean[k] + std::sqrt(own) * stream.normal();
  }
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    const Block& block = prior_.blocks[l];
    const MatrixXd root = Eigen::LLT<MatrixXd>(state.precision[l]).matrixL();
    VectorXd noise(block.width);
    for (Index m = 0; m < block.members; ++m) {
      for (Index k = 0; k < block.width; ++k) noise[k] = stream.normal();
      right.segment(block.first + m * block.width, block.width) += root * noise;
    }
  }
  steps_ = system_.solve(right, 1e-7, state.point.x);
}
}  // namespace bayeskernel
