#include "missing/marginal_posterior.hpp"

#include "math/cholesky.hpp"
#include "math/decompositions.hpp"

namespace bayeskernel {
namespace {
// The largest of the moves of the unknowns, each in its own unit; NaN where one
// is no number.
double largest(const VectorXd& move, const VectorXd& unit) {
  double out = 0.0;
  for (Index k = 0; k < move.size(); ++k) {
    const double size = std::abs(move[k]) / unit[k];
    if (!std::isfinite(size)) return std::numeric_limits<double>::quiet_NaN();
    out = std::max(out, size);
  }
  return out;
}

// Infinite where the information is of no maximum.
double half_log_det(const MatrixXd& information) {
  const Eigen::LLT<MatrixXd> root(information);
  return root.info() == Eigen::Success
             ? 0.5 * log_det(root)
             : std::numeric_limits<double>::infinity();
}
}  // namespace

MarginalPosterior::MarginalPosterior(const MarginalLikelihood& likelihood,
                                     const Settings& settings)
    : likelihood_(likelihood), settings_(settings) {}

Index MarginalPosterior::free() const {
  return coefficients() + (settings_.effects_prior ? 1 : 0) +
         (settings_.noise_prior ? 1 : 0);
}

Index MarginalPosterior::place(Index k) const {
  return k == coefficients() && !settings_.effects_prior ? k + 1 : k;
}

VectorXd MarginalPosterior::start(const VectorRef& theta) const {
  VectorXd out = VectorXd::Zero(coefficients() + 2);
  out.head(coefficients()) = theta;
  return out;
}

VectorXd MarginalPosterior::moved(const VectorXd& phi,
                                  const VectorRef& by) const {
  VectorXd out = phi;
  for (Index k = 0; k < by.size(); ++k) out[place(k)] += by[k];
  return out;
}

MatrixXd MarginalPosterior::precision(const VectorXd& phi) const {
  return settings_.precision * std::exp(-phi[coefficients()]);
}

double MarginalPosterior::noise(const VectorXd& phi) const {
  return settings_.noise * std::exp(phi[coefficients() + 1]);
}

auto MarginalPosterior::look(const VectorXd& phi, bool information) const
    -> Look {
  const Index p = coefficients();
  const MatrixXd own = precision(phi);
  const double sigma2 = noise(phi);
  MarginalLikelihood::Look inside =
      likelihood_.look(theta(phi), own, sigma2, information);
  const VectorXd gap = theta(phi) - settings_.prior_mean;
  const VectorXd pull = settings_.prior_precision * gap;
  Look out;
  out.value =
      inside.value + settings_.rest * std::log(sigma2) - 0.5 * gap.dot(pull);
  out.score.resize(free());
  out.score.head(p) = inside.theta - pull;
  Index at = p;
  if (settings_.effects_prior) {
    const double v = phi[p] - std::log(settings_.precision(0, 0));
    out.value += settings_.effects_prior->log_density(v);
    out.score[at++] = inside.scale + settings_.effects_prior->slope(v);
  }
  if (settings_.noise_prior) {
    const double v = std::log(sigma2);
    out.value += settings_.noise_prior->log_density(v);
    out.score[at++] =
        inside.noise + settings_.rest + settings_.noise_prior->slope(v);
  }
  if (information)
    out.information = inside.information + settings_.prior_precision;
  out.effects = std::move(inside.effects);
  return out;
}

std::optional<MatrixXd> MarginalPosterior::inverse_curvature(
    const VectorXd& phi, const VectorXd& here) const {
  constexpr double kStep = 1e-4, kLeast = 0.01;
  const Index size = free();
  MatrixXd slope(size, size);
  for (Index k = 0; k < size; ++k) {
    const double step =
        k < coefficients() ? kStep * std::max(std::abs(phi[k]), 0.1) : kStep;
    VectorXd there = phi;
    there[place(k)] += step;
    slope.col(k) = (look(there, false).score - here) / step;
  }
  const MatrixXd curvature = -0.5 * (slope + slope.transpose());
  if (!curvature.allFinite()) return std::nullopt;
  const VectorXd unit =
      curvature.diagonal().array().abs().max(1e-12).rsqrt().matrix();
  const SymmetricEigen parts(unit.asDiagonal() * curvature * unit.asDiagonal());
  const VectorXd root =
      parts.eigenvalues().array().abs().max(kLeast).rsqrt().matrix();
  const MatrixXd half =
      unit.asDiagonal() * parts.eigenvectors() * root.asDiagonal();
  return MatrixXd(half * half.transpose());
}

VectorXd MarginalPosterior::tilt(const VectorXd& phi, Index first,
                                 Index last) const {
  constexpr double kStep = 1e-3;
  VectorXd out(last - first);
  if (first == last) return out;
  const auto half = [&](const VectorXd& at) {
    return half_log_det(look(at, true).information);
  };
  const double here = half(phi);
  for (Index k = first; k < last; ++k) {
    VectorXd there = phi;
    there[place(k)] += kStep;
    out[k - first] = (here - half(there)) / kStep;
  }
  return out;
}

auto MarginalPosterior::peak(const VectorRef& theta) const
    -> std::optional<Peak> {
  const Index p = coefficients(), variances = free() - p;
  Peak out{start(theta), {}};
  VectorXd here = look(out.phi, false).score, added;
  double size = 0.0, far = 0.0;
  for (int round = 0; round < 8; ++round) {
    const auto covariance = inverse_curvature(out.phi, here);
    if (!covariance) return std::nullopt;
    out.covariance = *covariance;
    if (round == 0 || far > 1.0) added = tilt(out.phi, p, free());
    VectorXd unit = out.covariance.diagonal().array().sqrt().matrix();
    // Where the curvature is not that of a maximum it says little of the way.
    unit.tail(variances) = unit.tail(variances).cwiseMin(1.0);
    const VectorXd from = out.phi;
    for (int k = 0; k < 8; ++k) {
      here.tail(variances) += added;
      const VectorXd move = out.covariance * here;
      size = largest(move, unit);
      if (!std::isfinite(size)) return std::nullopt;
      out.phi = moved(out.phi, move * std::min(1.0, 1.0 / size));
      here = look(out.phi, false).score;
      far = 0.0;
      for (Index j = 0; j < free(); ++j) {
        far = std::max(far,
                       std::abs(out.phi[place(j)] - from[place(j)]) / unit[j]);
      }
      if (size < 0.005 || far > 1.0) break;
    }
    // The curvature is that of the maximum.
    if (size < 0.05 && far < 0.5) break;
  }
  if (size > 0.05) return std::nullopt;
  return out;
}

VectorXd MarginalPosterior::lean(const VectorXd& phi,
                                 const MatrixXd& within) const {
  const Index p = coefficients();
  if (!settings_.leans) return VectorXd::Zero(p);
  const VectorXd out = within * tilt(phi, 0, p);
  const double size = largest(out, within.diagonal().array().sqrt().matrix());
  if (!std::isfinite(size)) return VectorXd::Zero(p);
  return out * std::min(1.0, 1.0 / size);
}

auto MarginalPosterior::points(const Peak& peak, const MatrixRef& moves,
                               MatrixXd& within) const -> std::vector<Point> {
  constexpr double kNear = 0.3;
  const Index p = coefficients(), variances = free() - p;
  const MatrixXd across = peak.covariance.topRightCorner(p, variances);
  MatrixXd slope = MatrixXd::Zero(p, variances);
  if (variances > 0) {
    slope = across *
            inverse(peak.covariance.bottomRightCorner(variances, variances));
  }
  within = peak.covariance.topLeftCorner(p, p) - slope * across.transpose();
  const VectorXd leaning = lean(peak.phi, within);
  std::vector<Point> out(moves.rows());
  for (Index m = 0; m < moves.rows(); ++m) {
    VectorXd move(free());
    move.tail(variances) = moves.row(m).transpose();
    move.head(p) = slope * move.tail(variances);
    VectorXd phi = moved(peak.phi, move), step;
    double size = 0.0, half = 0.0, value = 0.0, gain = 0.0;
    for (int round = 0; round < 3; ++round) {
      const Look here = look(phi, true);
      half = half_log_det(here.information);
      step = within * here.score.head(p);
      gain = step.dot(here.score.head(p));
      size = std::sqrt(gain / static_cast<double>(p));
      const double part = std::min(1.0, 1.0 / size);
      step *= part;
      gain *= part;
      value = here.value;
      out[m].effects = here.effects;
      if (!std::isfinite(size + half) || size < kNear) break;
      phi.head(p) += step;
    }
    if (!std::isfinite(size + half)) continue;
    out[m].log_density = value + 0.5 * gain - half;
    out[m].theta = phi.head(p) + leaning;
    if (size < kNear) out[m].theta += step;
    out[m].step = step + leaning;
  }
  return out;
}

auto MarginalPosterior::step(const SharedLikelihood& shared,
                             const VectorRef& theta) const
    -> std::optional<Step> {
  const Index p = coefficients();
  const VectorXd phi = start(theta);
  const auto covariance = inverse_curvature(phi, look(phi, false).score);
  if (!covariance) return std::nullopt;
  const MarginalLikelihood::Look all =
      shared.look(theta, settings_.precision, settings_.noise, false);
  const SharedLikelihood::Apart alone =
      shared.apart(theta, settings_.precision);
  VectorXd gap(free());
  gap.head(p) = all.theta - alone.theta;
  if (free() > p) gap[p] = all.scale - alone.scale;
  const VectorXd move = *covariance * gap;
  const double size =
      largest(move, covariance->diagonal().array().sqrt().matrix());
  if (!std::isfinite(size)) return std::nullopt;
  const VectorXd there = moved(phi, move * std::min(1.0, 1.0 / size));
  const MatrixXd own = precision(there);
  const double sigma2 = settings_.noise;
  Step out;
  out.theta = there.head(p);
  out.scale = there[p];
  out.effects =
      shared.look(out.theta, own, sigma2, false).effects - alone.effects;
  out.completed =
      shared.completions(out.theta, own, sigma2).mean - alone.completed;
  return out;
}
}  // namespace bayeskernel
