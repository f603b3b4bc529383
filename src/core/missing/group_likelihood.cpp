#include "missing/group_likelihood.hpp"

#include "error.hpp"
#include "likelihood/likelihood.hpp"
#include "linear/completions.hpp"

namespace bayeskernel {
GroupLikelihood::GroupLikelihood(const Data& data)
    : data_(data), group_(data.groups) {
  if (data.family == Family::hinge) {
    throw ArgumentError("the hinge has no likelihood of groups");
  }
  for (Index k = 0; k < data_.x.rows(); ++k) {
    Group& own = group_[data_.group[k]];
    if (own.at.empty() || data_.row[own.at.back()] != data_.row[k]) {
      own.begin.push_back(count_of(own.at));
    }
    own.at.push_back(k);
  }
  for (Group& own : group_) own.begin.push_back(count_of(own.at));
}

auto GroupLikelihood::at(const VectorRef& theta, double precision, double noise,
                         bool information) const -> Answer {
  const Index p = data_.x.cols(), n = data_.x.rows();
  Answer out;
  out.effect = VectorXd::Zero(data_.groups);
  out.variance = VectorXd::Constant(data_.groups, 1.0 / precision);
  out.share = VectorXd::Zero(n);
  if (information) out.information = MatrixXd::Zero(p, p);
  Sums sums{VectorXd::Zero(n), VectorXd::Zero(n)};
  const VectorXd f = data_.offset + data_.x * theta;
  for (Index g = 0; g < data_.groups; ++g) {
    const Group& own = group_[g];
    if (own.at.empty()) continue;
    const Span reach = span(own, f, precision, noise);
    const std::vector<Node> nodes = lattice(own, f, reach, precision, noise);
    if (nodes.empty()) {
      out.exact = false;
      return out;
    }
    VectorXd weight(nodes.size());
    for (Index m = 0; m < weight.size(); ++m) weight[m] = nodes[m].value;
    const double log_sum = softmax(weight.size(), weight.data());
    double mean = 0.0, square = 0.0;
    for (Index m = 0; m < weight.size(); ++m) {
      mean += weight[m] * nodes[m].u;
      square += weight[m] * nodes[m].u * nodes[m].u;
    }
    out.value += log_sum + std::log(reach.step) + 0.5 * std::log(precision);
    out.effect[g] = mean;
    out.variance[g] = square - mean * mean;
    out.scale += 0.5 * (precision * square - 1.0);
    add(own, nodes, weight, noise, sums, out);
    if (information) add_spread(own, nodes, weight, out.information);
  }
  out.theta = data_.x.transpose() * sums.slope;
  if (information) {
    const MatrixXd scaled = sums.curvature.asDiagonal() * data_.x;
    out.information.triangularView<Eigen::StrictlyUpper>() =
        out.information.transpose();
    out.information += data_.x.transpose() * scaled;
  }
  return out;
}

auto GroupLikelihood::look(const VectorRef& theta, const MatrixRef& precision,
                           double noise, bool information) const -> Look {
  Answer own = at(theta, precision(0, 0), noise, information);
  if (!own.exact) {
    own.value = own.scale = own.noise =
        std::numeric_limits<double>::quiet_NaN();
    own.theta = VectorXd::Constant(theta.size(), own.value);
  }
  return {own.value,
          own.scale,
          own.noise,
          std::move(own.theta),
          own.effect.transpose(),
          std::move(own.information)};
}

auto GroupLikelihood::span(const Group& group, const VectorXd& f,
                           double precision, double noise) const -> Span {
  const bool numbers = data_.family == Family::gaussian;
  const double sharpest = numbers                         ? 1.0 / noise
                          : data_.family == Family::logit ? 0.25
                                                          : 1.0;
  double total = precision, low = 0.0, high = 0.0;
  for (std::size_t i = 0; i + 1 < group.begin.size(); ++i) {
    double curvature = 0.0, least = 0.0, most = 0.0;
    for (Index j = group.begin[i]; j < group.begin[i + 1]; ++j) {
      const Index k = group.at[j];
      const double z = data_.z[k], scaled = data_.weight[k] * sharpest * z;
      const double pull = scaled * (data_.y[k] - f[k]);
      const bool first = j == group.begin[i];
      curvature = std::max(curvature, scaled * z);
      least = first ? pull : std::min(least, pull);
      most = first ? pull : std::max(most, pull);
    }
    total += curvature;
    low += least;
    high += most;
  }
  const double step = kStep / std::sqrt(total);
  if (!numbers) return {0.0, 0.0, 0.0, step};
  return {0.5 * (low + high) / total, low / total, high / total, step};
}

auto GroupLikelihood::node(const Group& group, const VectorXd& f, double u,
                           double precision, double noise) const -> Node {
  const Index count = count_of(group.at);
  Node out{u, -0.5 * precision * u * u, ArrayXd(count), ArrayXd(count),
           ArrayXd(count)};
  const double sharpness = 1.0 / noise,
               level = gaussian_log_density(0.0, noise);
  for (Index j = 0; j < count; ++j) {
    const Index k = group.at[j];
    const double y = data_.y[k], at = f[k] + data_.z[k] * u;
    if (data_.family == Family::gaussian) {
      out.slope[j] = (y - at) * sharpness;
      out.curvature[j] = sharpness;
      out.share[j] = level - 0.5 * (y - at) * out.slope[j];
    } else {
      const MarginTerms terms = margin_terms(data_.family, y * at);
      out.slope[j] = y * terms.slope;
      out.curvature[j] = terms.curvature;
      out.share[j] = terms.value;
    }
  }
  for (std::size_t i = 0; i + 1 < group.begin.size(); ++i) {
    const Index from = group.begin[i], size = group.begin[i + 1] - from;
    for (Index j = from; size > 1 && j < from + size; ++j) {
      out.share[j] += data_.log_prior[group.at[j]];
    }
    out.value +=
        data_.weight[group.at[from]] * softmax(size, out.share.data() + from);
  }
  return out;
}

auto GroupLikelihood::lattice(const Group& group, const VectorXd& f,
                              const Span& span, double precision,
                              double noise) const -> std::vector<Node> {
  std::vector<Node> out;
  double most = -std::numeric_limits<double>::infinity();
  const auto walk = [&](double sign, double end) {
    for (int k = sign > 0.0 ? 0 : 1;; ++k) {
      if (out.size() >= kMost) return false;
      const double u = span.start + sign * k * span.step;
      out.push_back(node(group, f, u, precision, noise));
      const double value = out.back().value;
      if (!std::isfinite(value)) return false;
      most = std::max(most, value);
      if (value < most - kFar && sign * (u - end) >= 0.0) return true;
    }
  };
  if (!walk(1.0, span.high) || !walk(-1.0, span.low)) return {};
  return out;
}

void GroupLikelihood::add(const Group& group, const std::vector<Node>& nodes,
                          const VectorXd& weight, double noise, Sums& sums,
                          Answer& out) const {
  const bool numbers = data_.family == Family::gaussian;
  for (std::size_t m = 0; m < nodes.size(); ++m) {
    const Node& node = nodes[m];
    for (std::size_t i = 0; i + 1 < group.begin.size(); ++i) {
      const bool open = group.begin[i + 1] - group.begin[i] > 1;
      for (Index j = group.begin[i]; j < group.begin[i + 1]; ++j) {
        const Index k = group.at[j];
        const double share = weight[m] * node.share[j];
        const double counts = data_.weight[k] * share, slope = node.slope[j];
        out.share[k] += share;
        sums.slope[k] += counts * slope;
        sums.curvature[k] +=
            counts * (node.curvature[j] - (open ? slope * slope : 0.0));
        if (numbers) out.noise += 0.5 * counts * (noise * slope * slope - 1.0);
      }
    }
  }
}

void GroupLikelihood::add_spread(const Group& group,
                                 const std::vector<Node>& nodes,
                                 const VectorXd& weight,
                                 MatrixXd& information) const {
  const Index p = data_.x.cols(), count = count_of(group.at);
  MatrixXd x(p, count);
  for (Index j = 0; j < count; ++j) x.col(j) = data_.x.row(group.at[j]);
  VectorXd mean = VectorXd::Zero(p), row(p), sum(p);
  for (std::size_t m = 0; m < nodes.size(); ++m) {
    const Node& node = nodes[m];
    sum.setZero();
    for (std::size_t i = 0; i + 1 < group.begin.size(); ++i) {
      const Index from = group.begin[i], to = group.begin[i + 1];
      row.setZero();
      for (Index j = from; j < to; ++j) {
        row += (node.share[j] * node.slope[j]) * x.col(j);
      }
      const double counts = data_.weight[group.at[from]];
      sum += counts * row;
      if (to - from > 1) {
        information.selfadjointView<Eigen::Lower>().rankUpdate(
            row, weight[m] * counts);
      }
    }
    mean += weight[m] * sum;
    information.selfadjointView<Eigen::Lower>().rankUpdate(sum, -weight[m]);
  }
  information.selfadjointView<Eigen::Lower>().rankUpdate(mean);
}
}  // namespace bayeskernel
