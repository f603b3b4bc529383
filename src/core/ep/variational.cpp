#include "ep/variational.hpp"

#include "ep/sites.hpp"
#include "likelihood/family.hpp"
#include "linear/conditional_variance.hpp"
#include "linear/gaussian.hpp"
#include "math/spd.hpp"
#include "math/special.hpp"
#include "optim/anderson.hpp"

namespace bayeskernel {
EpResult EpInVb::run(const EpSettings& settings, double still) {
  EpResult total;
  std::vector<MatrixXd> precision = fit_.precisions();
  double noise = fit_.noise_variance();
  VectorXd x = hyper_.pack(precision, noise), next;
  Anderson anderson(x.size(), x.size(), 3);
  double move = 1.0, previous = 0.0;
  for (int k = 0;; ++k) {
    EpSettings inner = settings;
    inner.tolerance = std::max(settings.tolerance, 0.1 * std::min(move, 0.1));
    inner.max_passes = settings.max_passes - total.passes;
    const EpResult part = fit_.run(inner);
    total.passes += part.passes;
    total.change = part.change;
    update(precision, noise);
    next = hyper_.pack(precision, noise);
    move = x.size() > 0 ? (next - x).cwiseAbs().maxCoeff() : 0.0;
    if (move < still && part.change < settings.tolerance) {
      total.converged = true;
      return total;
    }
    if (total.passes >= settings.max_passes) return total;
    // Far from the end the map is not straight: extrapolations get lost.
    if (k > 0 && move > previous) anderson.restart();
    previous = move;
    const VectorXd plain = next;
    if (move < kNear && anderson.combine(x, next)) {
      next = plain + (next - plain).cwiseMax(-1.0).cwiseMin(1.0);
    }
    x = next;
    hyper_.unpack(x, precision, noise);
    fit_.set(precision, noise);
  }
}

double EpInVb::log_evidence() const {
  double out = fit_.log_z() + fit_.completion_part();
  const Prior& prior = fit_.prior();
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    const Block& block = prior.blocks[l];
    if (block.kind == Block::Kind::held) continue;
    const MatrixXd& p = fit_.precisions()[l];
    const MatrixXd moment = fit_.posterior().second_moment(block);
    out += Prior::bound(block, q.blocks[l], moment, p) +
           0.5 * static_cast<double>(block.hidden) -
           0.5 * static_cast<double>(block.members) * spd_log_det(p) +
           0.5 * (p * moment).trace();
  }
  const NoisePrior& noise = hyper_.noise();
  if (!noise.held) {
    const double shape = q.noise.shape, rate = q.noise.rate;
    const double mean = shape / rate;
    const double log_variance = std::log(rate) - digamma(shape);
    out += -0.5 * fit_.weight() *
               (log_variance - std::log(fit_.noise_variance())) +
           noise.shape * std::log(noise.rate) - log_gamma(noise.shape) -
           (noise.shape + 1.0) * log_variance - noise.rate * mean + shape +
           std::log(rate) + log_gamma(shape) - (1.0 + shape) * digamma(shape);
  }
  return out;
}

void EpInVb::update(std::vector<MatrixXd>& precision, double& noise) {
  const Prior& prior = fit_.prior();
  q.blocks.clear();
  std::vector<MatrixXd> moment;
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    const Block& block = prior.blocks[l];
    moment.push_back(fit_.posterior().second_moment(block));
    q.blocks.push_back(Prior::posterior(block, moment.back(), precision[l]));
    if (block.kind != Block::Kind::held) {
      precision[l] = Prior::expected_precision(block, q.blocks.back());
    }
  }
  if (fit_.open() != nullptr) {
    fit_.open()->update(prior, moment, -2.0 * fit_.sites.residual_slope,
                        q.blocks, precision);
  }
  if (hyper_.noise().held) return;
  q.noise.shape = hyper_.noise().shape + 0.5 * fit_.weight();
  q.noise.rate = hyper_.noise().rate + 0.5 * fit_.squares();
  noise = q.noise.rate / q.noise.shape;
}
}  // namespace bayeskernel
