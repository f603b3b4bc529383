#include "linear/mean_field_step.hpp"

namespace bayeskernel {
double MeanFieldStep::take(double damping, const MeanFieldState& accepted,
                           const MeanFieldEvaluation& from,
                           SelectedColumns& columns, MeanFieldState& state) {
  if (columns) {
    columns.propose(from, state, gradient_);
  } else {
    gradient_ = from.sums.linear;
  }
  prior_.subtract_gradient(state.precision, state.mean, gradient_);
  const double length = shortens_ ? 1.0 - damping : 1.0;
  if (length < 1.0) shorten(damping, accepted, state);
  system_.factor(matrix(damping, from, columns, state), prior_,
                 state.precision);
  system_.solve(gradient_, step_);
  state.mean.x += length * step_.x;
  state.mean.group += length * step_.group;
  return 0.5 * gradient_.dot(step_);
}

void MeanFieldStep::shorten(double old, const MeanFieldState& from,
                            MeanFieldState& state) {
  const auto keep = [old](const MatrixXd& from, MatrixXd& to) {
    to = (1.0 - old) * to + old * from;
  };
  keep(from.curvature.gram, state.curvature.gram);
  keep(from.curvature.cross, state.curvature.cross);
  keep(from.curvature.group_gram, state.curvature.group_gram);
  for (std::size_t l = 0; l < from.precision.size(); ++l) {
    keep(from.precision[l], state.precision[l]);
  }
}

const Curvature& MeanFieldStep::matrix(double damping,
                                       const MeanFieldEvaluation& from,
                                       SelectedColumns& columns,
                                       const MeanFieldState& state) {
  const double w = 1.0 - damping;
  if (columns) {
    if (damping < 1.0) columns.blend(w, newton_, from, state);
    return columns.scaled();
  }
  if (!newton_ || !(damping < 1.0)) return state.curvature;
  const Curvature &a = from.sums.curvature, &n = from.sums.newton;
  blended_.gram = damping * a.gram + w * n.gram;
  blended_.cross = damping * a.cross + w * n.cross;
  blended_.group_gram = damping * a.group_gram + w * n.group_gram;
  return blended_;
}
}  // namespace bayeskernel
