#include "linear/selected_columns.hpp"

namespace bayeskernel {
void SelectedColumns::start(const VectorXd& inclusion, MeanFieldState& state,
                            MeanFieldEvaluation& out) const {
  indicators_->start(inclusion, out.indicators);
  out.next_log_odds = out.indicators.log_odds;
  state.log_b = state.log_odds = VectorXd::Zero(indicators_->size());
}

void SelectedColumns::propose(const MeanFieldEvaluation& from,
                              MeanFieldState& state, ArrowVector& gradient) {
  state.log_odds = from.next_log_odds;
  state.log_b = from.indicators.expected_b.array().log();
  state.log_slab = std::log(from.indicators.precision);
  scale(state);
  // gamma o h + h_0 - (A o Omega + prior of v) (theta, u).
  gradient.x = inclusion_.cwiseProduct(from.shift.x);
  gradient.group = from.shift.group;
  add_product(scaled_, state.mean, -1.0, gradient);
}

void SelectedColumns::scale(const MeanFieldState& state) {
  inclusion_ = indicators_->by_column(state.log_odds);
  indicators_->scale(inclusion_, state.log_b, state.log_slab, state.curvature,
                     scaled_);
}

void SelectedColumns::blend(double w, bool newton,
                            const MeanFieldEvaluation& from,
                            const MeanFieldState& state) {
  // gamma's own variance and the prior stay on the diagonal.
  if (newton) {
    const Curvature &a = from.sums.curvature, &n = from.sums.newton;
    const MatrixXd change = n.gram - a.gram;
    scaled_.gram +=
        w * (inclusion_.asDiagonal() * change * inclusion_.asDiagonal());
    scaled_.cross += w * (inclusion_.asDiagonal() * (n.cross - a.cross));
    scaled_.group_gram += w * (n.group_gram - a.group_gram);
  }
  for (Index k = 0; k < indicators_->size(); ++k) {
    const Index c = indicators_->columns()[k];
    scaled_.gram(c, c) -= w * (1.0 - from.indicators.prior_fraction[k]) *
                          std::exp(state.log_b[k] + state.log_slab);
  }
}

void SelectedColumns::update_odds(const MeanFieldEvaluation& from,
                                  const EffectMoments& effect,
                                  const IndicatorPosterior& q,
                                  VectorXd& odds) const {
  const ArrowVector& mean = effect.q.mean;
  VectorXd group_part = VectorXd::Zero(mean.x.size());
  const MatrixXd& cross = from.sums.curvature.cross;
  if (mean.group.cols() > 0) {
    const MatrixXd product = cross * effect.system.loading().transpose();
    group_part = mean.x.cwiseProduct(cross * mean.effects()) -
                 product.cwiseProduct(effect.covariance).rowwise().sum();
  }
  indicators_->update_odds(from.sums.curvature, from.shift.x, group_part,
                           mean.x, effect.covariance, inclusion_, q, odds);
}

double SelectedColumns::update(const EffectMoments& effect, double log_slab,
                               Moments& moments, MeanFieldEvaluation& out) {
  inclusion_ = indicators_->by_column(out.indicators.log_odds);
  const bool all_in = (inclusion_.array() == 1.0).all();
  moments.column_mean = all_in ? VectorXd() : inclusion_;
  return indicators_->update(effect.q.mean.x, effect.covariance,
                             std::exp(log_slab), moments.column_var,
                             out.indicators);
}
}  // namespace bayeskernel
