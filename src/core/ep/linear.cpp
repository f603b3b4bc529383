#include "ep/linear.hpp"

#include "ep/left_out_means.hpp"
#include "math/spd.hpp"
#include "math/special.hpp"

namespace bayeskernel {
VectorXd unit_leave_one_out(const Completions& units,
                            const VectorXd& leave_one_out) {
  const Index n = leave_one_out.size();
  Index count = 0;
  for (const Index u : units.unit) count = std::max(count, u);
  VectorXd out = VectorXd::Zero(count);
  std::vector<double> value;
  for (Index i = 0; i < n; i = units.end(i)) {
    value.clear();
    for (Index k = i; k < units.end(i); ++k) {
      value.push_back(units.log_prior[k] + leave_one_out[k]);
    }
    out[units.unit[i] - 1] = softmax(count_of(value), value.data());
  }
  return out;
}

namespace detail {
BlockPosterior matched_gamma(double mean, double variance) {
  double low = -7.0, high = 25.0;  // of log shape: trigamma falls
  while (high - low > 1e-12) {
    const double middle = 0.5 * (low + high);
    (trigamma(std::exp(middle)) > variance ? low : high) = middle;
  }
  const double a = std::exp(low);
  BlockPosterior out;
  out.shape = a;
  out.rate = std::exp(mean + digamma(a));
  return out;
}

BlockPosterior matched_wishart(const EpOutcome& from, std::size_t l) {
  const Index r = from.points[0].precision[l].rows();
  MatrixXd correlation = MatrixXd::Zero(r, r);
  VectorXd mean = VectorXd::Zero(r), square = mean;
  for (std::size_t j = 0; j < from.points.size(); ++j) {
    const MatrixXd psi =
        spd_inverse(from.points[j].precision[l], "a precision");
    const VectorXd log_psi = psi.diagonal().array().log();
    const VectorXd root = psi.diagonal().cwiseSqrt();
    mean += from.weight[j] * log_psi;
    square += from.weight[j] * log_psi.cwiseAbs2();
    correlation += from.weight[j] * psi.cwiseQuotient(root * root.transpose());
  }
  const double variance = (square - mean.cwiseAbs2()).cwiseMax(0.0).mean();
  BlockPosterior out;
  VectorXd scale(r);
  for (Index k = 0; k < r; ++k) {
    const BlockPosterior gamma = matched_gamma(mean[k], variance);
    out.df = 2.0 * gamma.shape + static_cast<double>(r) - 1.0;
    scale[k] = std::sqrt(2.0 * gamma.rate);
  }
  out.scale = correlation.cwiseProduct(scale * scale.transpose());
  return out;
}

void collect_grid(EpGrid& grid, const Hyperparameters& hyper,
                  const Prior& prior, EpOutcome& out) {
  out.engine = EpEngine::grid;
  out.by_group = grid.by_group();
  out.grid = grid.is_grid();
  out.effective = grid.effective();
  out.missed_shift = grid.missed_shift();
  out.weight = grid.weights();
  out.moments = grid.mixture().linear();
  out.rows = grid.mixture().rows();
  out.sites = grid.sites();
  out.log_evidence = grid.log_evidence();
  out.result = {grid.passes(), grid.converged(), grid.change()};
  out.points = grid.take_points();
  out.log_z = out.points[0].log_z;
  out.x_owner = hyper.owner();
  const Index d = hyper.size();
  VectorXd square = VectorXd::Zero(d);
  out.x_mean = square;
  out.precision.clear();
  for (const MatrixXd& p : out.points[0].precision) {
    out.precision.push_back(MatrixXd::Zero(p.rows(), p.cols()));
  }
  for (Index j = 0; j < out.weight.size(); ++j) {
    const EpPoint& point = out.points[j];
    const VectorXd shift = point.x - out.points[0].x;
    out.x_mean += out.weight[j] * shift;
    square += out.weight[j] * shift.cwiseAbs2();
    for (std::size_t l = 0; l < out.precision.size(); ++l) {
      const Index r = out.precision[l].rows();
      out.precision[l] += out.weight[j] * point.precision[l].llt().solve(
                                              MatrixXd::Identity(r, r));
    }
  }
  out.x_sd = (square - out.x_mean.cwiseAbs2()).cwiseMax(0.0).cwiseSqrt();
  out.x_mean += out.points[0].x;
  for (MatrixXd& p : out.precision) {
    p = spd_inverse(p, "a precision");
  }
  out.variances.blocks.resize(prior.blocks.size());
  for (Index at = 0; at < d; ++at) {
    const int l = hyper.owner()[at];
    const BlockPosterior gamma =
        matched_gamma(out.x_mean[at], out.x_sd[at] * out.x_sd[at]);
    if (l < 0) {
      out.variances.noise = gamma;
    } else if (prior.blocks[l].kind == Block::Kind::point) {
      out.variances.blocks[l].value = 1.0 / out.precision[l](0, 0);
    } else if (prior.blocks[l].kind == Block::Kind::iid) {
      out.variances.blocks[l] = gamma;
    } else {
      out.variances.blocks[l] = matched_wishart(out, l);
    }
  }
}
}  // namespace detail

EpOutcome fit_linear_ep(EpFit& fit, const NoisePrior& noise, bool grid,
                        const EpSettings& settings, bool by_group,
                        const VectorXd& copies, bool rows) {
  const Hyperparameters hyper(fit.prior(), noise);
  EpOutcome out;
  fit.set(fit.prior().start(), 1.0 / noise.precision);
  fit.whole_groups = by_group;
  if (grid && hyper.size() > 0 && hyper.size() <= EpGrid::kMost) {
    LeftOutMeans left_out(copies);
    const bool jackknife = copies.size() > 0 && fit.completions() == nullptr;
    EpGrid points(fit, hyper, by_group, jackknife ? &left_out : nullptr, rows);
    points.run(settings);
    points.return_to_mode();
    detail::collect_grid(points, hyper, fit.prior(), out);
    if (jackknife) {
      out.jackknife = left_out.jackknife(out.moments.theta_mean);
    }
    return out;
  }
  if (hyper.size() > 0) {
    out.engine = EpEngine::variational;
    EpInVb both(fit, hyper);
    EpSettings longer = settings;
    longer.max_passes *= 10;
    out.result = both.run(longer, settings.tolerance);
    out.variances = both.q;
    out.log_evidence = both.log_evidence();
  } else {
    out.result = fit.run(settings);
    out.variances.blocks.resize(fit.prior().blocks.size());
    out.log_evidence = fit.log_z() + fit.completion_part();
  }
  out.log_z = fit.log_z();
  out.moments = linear_moments(fit);
  out.precision = fit.precisions();
  if (rows && fit.sites.mean.size() > 0) {
    out.rows = row_moments(fit);
    out.sites = fit.sites;
  }
  return out;
}
}  // namespace bayeskernel
