#include "bark/joint_walk.hpp"

#include "bark/scale_moves.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "mcmc/metropolis.hpp"

namespace bayeskernel {
void JointWalk::walk(Stream& stream) {
  VectorXd normal(step_.size());
  for (Index k = 0; k < normal.size(); ++k) normal[k] = stream.normal();
  const double log_u = -stream.exponential();
  const double ratio = propose(step_.step(normal, tally_.steps.joint.sd()));
  if (tally_.walk(BarkMove::joint, tally_.steps.joint, ratio, log_u)) {
    accept();
  }
}

double JointWalk::propose(const VectorXd& step) {
  const BarkPrior& prior = s_.prior;
  const double square = prior.epsilon * prior.epsilon;
  const double a = prior.lambda_shape / static_cast<double>(scales_);
  Index next = 0;
  change_.terms.clear();
  new_lambda_ = s_.lambda;
  double ratio = 0.0;
  if (s_.setting.different) {
    for (Index l = 0; l < scales_; ++l) {
      new_lambda_[l] *= std::exp(step[next]);
      ratio += a * step[next++];
    }
  } else {
    change_.factor = std::exp(step[next]);
    new_lambda_ *= change_.factor;
    ratio += a * step[next++];
  }
  ratio -= prior.lambda_rate * (new_lambda_.sum() - s_.lambda.sum());
  ratio += s_.log_reach(new_lambda_) - s_.log_reach(s_.lambda);
  factor_ = epsilon_ ? std::exp(step[next]) : 1.0;
  if (epsilon_) {
    ratio += prior.scale_shape * step[next++] -
             prior.scale_rate * (factor_ - 1.0) * square;
  }
  new_phi_ = phi_ ? s_.phi() * std::exp(step[next]) : s_.phi();
  if (!allowed(square)) return kNeverAccepted;
  return ratio + prior.phi.log_step(s_.phi(), new_phi_) +
         (s_.setting.different
              ? s_.propose_scales(new_lambda_, new_phi_, factor_)
              : s_.propose_scales(change_, new_phi_, factor_)) -
         s_.gaussian.log_marginal();
}

void JointWalk::accept() {
  s_.lambda.swap(new_lambda_);
  s_.scale_coefficients(factor_);
  s_.gaussian.set_precision(new_phi_);
  s_.set_variances();
  s_.accept_scales();
}

VectorXd JointWalk::position(double least) const {
  VectorXd out(step_.size());
  Index next = 0;
  for (; next < scales_; ++next) {
    out[next] = std::log(std::max(s_.lambda[next], least));
  }
  if (epsilon_) out[next++] = 2.0 * std::log(s_.prior.epsilon);
  if (phi_) out[next] = std::log(s_.phi());
  return out;
}

bool JointWalk::allowed(double square) const {
  return s_.prior.phi.allows(new_phi_) && std::isfinite(new_phi_) &&
         new_lambda_.minCoeff() > ScaleMoves::kSmallest &&
         new_lambda_.allFinite() && s_.can_scale(factor_, square) &&
         s_.holds(s_.largest_variance(), new_phi_) &&
         s_.holds(s_.largest_variance(s_.basis.first()) * factor_, new_phi_);
}
}  // namespace bayeskernel
