#include "ep/selection.hpp"

#include "ep/sites.hpp"
#include "ep/variational.hpp"
#include "error.hpp"
#include "linear/completions.hpp"
#include "linear/gaussian.hpp"
#include "math/special.hpp"
#include "prior/variance_prior.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
SelectionEpOutcome SelectionEp::run(const SelectionEpSettings& settings) {
  settings_ = settings;
  held_ = settings.scale > 0.0;
  const double x = held_ ? 2.0 * std::log(settings.scale) : settings.from;
  rho_ = selection_.learn_rho
             ? std::log(selection_.rho_in) - std::log(selection_.rho_out)
             : std::log(selection_.rho) - std::log1p(-selection_.rho);
  std::vector<SelectionPoint> points;
  SelectionEpOutcome out;
  best_start(x, points, out);
  if (!held_ || selection_.learn_rho) surround(x, points);
  collect(points, out);
  return out;
}

SelectionEp::Fitted::Fitted(const SelectionEp& owner, double x,
                            const VectorXd& in, double fraction)
    : sites(owner.prior_, owner.selection_),
      fit(owner.rows_, begin(x, owner.rho_, in, fraction), owner.executor_,
          owner.family_, nullptr, true, nullptr, &sites),
      hyper(sites.prior(), owner.noise_) {
  fit.watch(owner.keep_going_);
  fit.set(owner.prior_.start(), 1.0 / owner.noise_.precision);
}

const Prior& SelectionEp::Fitted::begin(double x, double rho,
                                        const VectorXd& in, double out) {
  sites.set(std::exp(0.5 * x), rho);
  sites.start(in, out);
  return sites.prior();
}

void SelectionEp::best_start(double x, std::vector<SelectionPoint>& points,
                             SelectionEpOutcome& out) {
  const Index size = selection_.size();
  std::vector<VectorXd> starts{VectorXd::Ones(size), VectorXd::Zero(size)};
  if (settings_.inclusion.size() == size) {
    starts.push_back(settings_.inclusion);
  }
  // A precision as of columns that the rows know to be about 0.
  const double apart =
      100.0 * std::exp(-x) + 10.0 * static_cast<double>(rows_.rows());
  out.start = VectorXd::Constant(starts.size(),
                                 -std::numeric_limits<double>::infinity());
  for (std::size_t j = 0; j < starts.size(); ++j) {
    auto fitted = std::make_unique<Fitted>(*this, x, starts[j], apart);
    SelectionPoint point;
    if (!evaluate(*fitted, x, rho_, point)) continue;
    out.start[j] = point.log_density;
    if (points.empty() || point.log_density > points[0].log_density + 1e-6) {
      points.assign(1, std::move(point));
      fitted_ = std::move(fitted);
    }
  }
  if (points.empty()) {
    throw NumericError("messages to columns under selection are not finite");
  }
}

void SelectionEp::surround(double from, std::vector<SelectionPoint>& points) {
  if (selection_.learn_rho) {
    // The deviation of rho if all indicators were known, the least that it
    // can be; a grid of such steps is enough (grid.hpp).
    const double in = points[0].inclusion.sum();
    const double out = static_cast<double>(selection_.size()) - in;
    rho_step_ = std::sqrt(trigamma(selection_.rho_in + in) +
                          trigamma(selection_.rho_out + out));
  }
  points.clear();
  double best = at_scale(from, points);
  if (held_) return;
  const Place first = place();
  for (const double side : {1.0, -1.0}) {
    restore(first);
    for (int k = 1; k <= settings_.most; ++k) {
      const double density = at_scale(from + side * k * settings_.step, points);
      if (!(density > best - settings_.drop)) break;
      best = std::max(best, density);
    }
  }
}

double SelectionEp::at_scale(double x, std::vector<SelectionPoint>& points) {
  SelectionPoint point;
  if (!evaluate(*fitted_, x, rho_, point)) {
    return -std::numeric_limits<double>::infinity();
  }
  double best = point.log_density;
  points.push_back(std::move(point));
  if (!selection_.learn_rho) return best;
  const Place first = place();
  Place top = first;
  for (const double side : {1.0, -1.0}) {
    restore(first);
    for (int k = 1; k <= settings_.most; ++k) {
      SelectionPoint next;
      if (!evaluate(*fitted_, x, first.rho + side * k * rho_step_, next)) {
        break;
      }
      const double density = next.log_density;
      points.push_back(std::move(next));
      if (density > best) {
        best = density;
        top = place();
        top.rho = points.back().logit_rho;
      }
      if (density < best - settings_.drop) break;
    }
  }
  restore(top);
  return best;
}

double SelectionEp::rho_density(double logit) const {
  const double a = selection_.rho_in, b = selection_.rho_out;
  return a * log_expit(logit) + b * log_expit(-logit) + log_gamma(a + b) -
         log_gamma(a) - log_gamma(b);
}

bool SelectionEp::evaluate(Fitted& at, double x, double rho,
                           SelectionPoint& point) {
  at.sites.set(std::exp(0.5 * x), rho);
  at.fit.progress(static_cast<double>(passes_),
                  static_cast<double>(passes_ + settings_.passes.max_passes));
  double log_z = 0.0;
  EpResult result;
  try {
    if (at.hyper.size() > 0) {
      EpInVb both(at.fit, at.hyper);
      EpSettings longer = settings_.passes;
      longer.max_passes *= 10;
      result = both.run(longer, std::max(longer.tolerance, 1e-9));
      log_z = both.log_evidence();
    } else {
      result = at.fit.run(settings_.passes);
      log_z = at.fit.log_z();
    }
  } catch (const NumericError&) {
    return false;
  }
  passes_ += result.passes;
  point.x = x;
  point.logit_rho = rho;
  point.log_density = log_z +
                      (held_ ? 0.0 : selection_.variance().log_density(x)) +
                      (selection_.learn_rho ? rho_density(rho) : 0.0);
  point.converged = result.converged;
  point.change = result.change;
  point.inclusion = at.sites.inclusion();
  point.effect_mean = at.sites.mean();
  point.effect_variance = at.sites.variance();
  point.theta_mean = at.fit.posterior().mean.x;
  point.theta_variance = at.fit.posterior().theta_variance();
  point.leave_one_out = at.fit.leave_one_out();
  point.log_z = at.fit.sites.log_z;
  return std::isfinite(point.log_density) && point.inclusion.allFinite();
}

auto SelectionEp::place() const -> Place {
  return {fitted_->fit.state(), fitted_->sites.state(),
          fitted_->fit.precisions(), fitted_->fit.noise_variance(), rho_};
}

void SelectionEp::restore(const Place& from) {
  fitted_->sites.restore(from.columns);
  fitted_->fit.set(from.precision, from.noise_variance);
  fitted_->fit.restore(from.rows);
  rho_ = from.rho;
}

void SelectionEp::collect(const std::vector<SelectionPoint>& points,
                          SelectionEpOutcome& out) const {
  const Index size = count_of(points);
  std::vector<double> weight;
  out.x.resize(size);
  out.logit_rho.resize(size);
  for (Index j = 0; j < size; ++j) {
    out.x[j] = points[j].x;
    out.logit_rho[j] = points[j].logit_rho;
    weight.push_back(points[j].log_density);
  }
  out.log_evidence = softmax(size, weight.data());
  if (!held_) out.log_evidence += std::log(settings_.step);
  if (selection_.learn_rho) out.log_evidence += std::log(rho_step_);
  out.weight = VectorMap(weight.data(), size);
  const auto average = [&](VectorXd SelectionPoint::*part) {
    VectorXd sum = VectorXd::Zero((points[0].*part).size());
    for (Index j = 0; j < size; ++j) sum += weight[j] * (points[j].*part);
    return sum;
  };
  const auto variance_between = [&](VectorXd SelectionPoint::*mean,
                                    VectorXd SelectionPoint::*variance,
                                    const VectorXd& middle) {
    VectorXd sum = average(variance);
    for (Index j = 0; j < size; ++j) {
      sum += weight[j] * (points[j].*mean - middle).cwiseAbs2();
    }
    return sum;
  };
  out.inclusion = average(&SelectionPoint::inclusion);
  out.effect_mean = average(&SelectionPoint::effect_mean);
  out.effect_variance =
      variance_between(&SelectionPoint::effect_mean,
                       &SelectionPoint::effect_variance, out.effect_mean);
  out.theta_mean = average(&SelectionPoint::theta_mean);
  out.theta_variance =
      variance_between(&SelectionPoint::theta_mean,
                       &SelectionPoint::theta_variance, out.theta_mean);
  // p_i = sum w p_ij / Z_ij / sum w / Z_ij, as of other grids.
  const VectorXd& origin = points[0].log_z;
  VectorXd kept = VectorXd::Zero(origin.size()), held_out = kept;
  double lost = 0.0;
  Index top = 0;
  for (Index j = 0; j < size; ++j) {
    const VectorXd scale = origin - points[j].log_z;
    held_out.array() += weight[j] * scale.array().exp();
    kept.array() += weight[j] * (points[j].leave_one_out + scale).array().exp();
    if (!points[j].converged) lost += weight[j];
    if (weight[j] > weight[top]) top = j;
  }
  out.leave_one_out = (kept.array() / held_out.array()).log();
  out.result.passes = passes_;
  out.result.converged = lost < 0.05;
  out.result.change = points[top].change;
}
}  // namespace bayeskernel
