#include "linear/crossed/mean_field.hpp"

#include "error.hpp"
#include "linear/latent_values.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
double RowVectors::set(const CrossedRows& rows, Executor& executor,
                       const ArrowVector& theta, const CrossedPosterior* q,
                       const Rule& rule) {
  VectorXd bound = VectorXd::Zero(rows.blocks());
  Sweep{rows, executor, nullptr}.run([&](Index block, Index) {
    MatrixXd buffer;
    for (const TileSpan& span : rows.block_tiles(block)) {
      const Index i = span.row_begin;
      const Tile tile = rows.tile(span, buffer);
      latent_values(rows, span, tile, theta, mean.data() + i);
      if (q != nullptr) q->variances(span, variance.data() + i);
      bound[block] +=
          rule.tile(span, tile, mean.data() + i, variance.data() + i,
                    {kappa.data() + i, linear.data() + i, newton.data() + i});
    }
  });
  return bound.sum();
}

VectorXd crossed_linear(const CrossedRows& rows, const VectorXd& linear,
                        Executor& executor) {
  const Index p = rows.x_columns(), per_row = rows.z.rows();
  VectorXd out = VectorXd::Zero(rows.size());
  if (p > 0) out.head(p) = rows.dense.x * linear;
  run_parts(executor, rows.effects(), 256, [&](Index from, Index to) {
    for (Index a = from; a < to; ++a) {
      for (Index k = rows.rows_begin[a]; k < rows.rows_begin[a + 1]; ++k) {
        const Index i = rows.occurrence[k] / per_row;
        out[p + a] += linear[i] * rows.z(rows.occurrence[k] % per_row, i);
      }
    }
  });
  return out;
}

CrossedMeanField::CrossedMeanField(const CrossedRows& rows, const Prior& prior,
                                   Executor& executor, const RowModel& model)
    : rows_(rows),
      prior_(prior),
      executor_(executor),
      model_(model),
      rules_(model),
      second_(rules_.later().second()),
      system_(rows, prior, executor),
      step_system_(rows, prior, executor),
      q_(rows),
      trial_(rows.rows()),
      accepted_(rows.rows()),
      vector_(prior, model.learns_noise()) {
  if (model.completions == nullptr) return;
  responsibility_ = trial_responsibility_ = VectorXd::Zero(rows.rows());
}

MeanFieldResult CrossedMeanField::run(const MeanFieldSettings& settings,
                                      const KeepGoing& keep_going) {
  MeanFieldResult result;
  state_.mean = ArrowVector(rows_.size(), 0, 0);
  state_.precision = next_precision_ = prior_.start();
  noise_ = start_noise(model_.noise);
  state_.noise = noise_.precision;
  rules_.set_noise(noise_.noise());
  rules_.set_responsibility(responsibility_);
  accepted_.set(rows_, executor_, state_.mean, nullptr, rules_.start());
  accepted_state_ = state_;
  ++result.passes;
  propose(model_.may_overshoot() ? 0.0 : 1.0);
  ascend(
      *this,
      model_.may_overshoot() ? AscentSchedule::shortened() : AscentSchedule(),
      settings, keep_going, result);
  state_ = accepted_state_;
  set_posterior();
  return result;
}

void CrossedMeanField::set_posterior() {
  system_.factor(weights(state_), state_.precision);
  q_.set_covariance(system_);
}

bool CrossedMeanField::evaluate(const Step&) {
  bound_ = -std::numeric_limits<double>::infinity();
  try {
    set_posterior();
  } catch (const NumericError&) {
    return false;
  }
  const Index p = rows_.x_columns();
  const VectorXd& theta = state_.mean.x;
  double bound =
      0.5 * q_.log_det() + 0.5 * static_cast<double>(rows_.size()) +
      system_.dense_prior().fixed_bound(
          theta.head(p), q_.whitener().colwise().squaredNorm().transpose());
  trial_variances_.clear();
  trial_precision_.clear();
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    const Block& block = prior_.blocks[l];
    const MatrixXd moment = block.second_moment(theta) + q_.covariance(block);
    trial_variances_.push_back(
        Prior::posterior(block, moment, state_.precision[l]));
    trial_precision_.push_back(
        Prior::expected_precision(block, trial_variances_.back()));
    bound += Prior::bound(block, trial_variances_.back(), moment,
                          state_.precision[l]);
  }
  bound_ = bound + set_rows();
  return std::isfinite(bound_);
}

double CrossedMeanField::set_rows() {
  trial_noise_ = NoisePosterior();
  trial_noise_.precision = state_.noise;
  rules_.set_noise(trial_noise_.noise());
  rules_.set_responsibility(trial_responsibility_);
  const double bound =
      trial_.set(rows_, executor_, state_.mean, &q_, rules_.later());
  if (!model_.learns_noise()) return bound;
  const double squares =
      ((rows_.dense.y - trial_.mean).array().square() + trial_.variance.array())
          .matrix()
          .dot(trial_.kappa);
  const double gain = update_noise(model_.noise, state_.noise,
                                   trial_.kappa.sum(), squares, trial_noise_);
  const double ratio = trial_noise_.precision / state_.noise;
  trial_.kappa *= ratio;
  trial_.linear *= ratio;
  return bound + gain;
}

VectorXd CrossedMeanField::weights(const MeanFieldState& at) const {
  return rows_.dense.weight.cwiseQuotient(at.missing_scale);
}

bool CrossedMeanField::accept() {
  std::swap(accepted_, trial_);
  std::swap(responsibility_, trial_responsibility_);
  accepted_state_ = state_;
  next_precision_ = trial_precision_;
  variances_ = trial_variances_;
  noise_ = trial_noise_;
  return false;
}

double CrossedMeanField::propose(double damping) {
  ArrowVector gradient(0, 0, 0);
  gradient.x = crossed_linear(rows_, accepted_.linear, executor_);
  prior_.subtract_gradient(next_precision_, accepted_state_.mean, gradient);
  VectorXd kappa = accepted_.kappa;
  state_.precision = next_precision_;
  state_.noise = noise_.precision;
  double length = 1.0;
  if (second_ != Second::none) {
    step_system_.factor((1.0 - damping) * accepted_.newton + damping * kappa,
                        state_.precision);
  } else {
    if (model_.may_overshoot() && damping > 0.0) {
      length = 1.0 - damping;
      kappa = length * kappa + damping * weights(accepted_state_);
      for (std::size_t l = 0; l < state_.precision.size(); ++l) {
        state_.precision[l] = length * next_precision_[l] +
                              damping * accepted_state_.precision[l];
      }
    }
    step_system_.factor(kappa, state_.precision);
  }
  VectorXd step;
  step_system_.solve(gradient.x, 1e-9, step);
  state_.mean.x = accepted_state_.mean.x + length * step;
  state_.missing_scale = scales(kappa);
  return 0.5 * gradient.x.dot(step);
}

Index CrossedMeanField::pack(VectorXd& accepted, VectorXd& proposal) {
  vector_.pack(state_, proposal);
  return vector_.pack(accepted_state_, accepted);
}
}  // namespace bayeskernel
