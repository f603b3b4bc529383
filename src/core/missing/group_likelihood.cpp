#include "missing/group_likelihood.hpp"

#include "error.hpp"
#include "likelihood/likelihood.hpp"

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
    double most = nodes[0].value;
    for (const Node& node : nodes) most = std::max(most, node.value);
    VectorXd weight(nodes.size());
    for (Index m = 0; m < weight.size(); ++m) {
      weight[m] = std::exp(nodes[m].value - most);
    }
    const double sum = weight.sum();
    weight /= sum;
    double mean = 0.0, square = 0.0;
    for (Index m = 0; m < weight.size(); ++m) {
      mean += weight[m] * nodes[m].u;
      square += weight[m] * nodes[m].u * nodes[m].u;
    }
    out.value += most + std::log(sum * reach.step) + 0.5 * std::log(precision);
    out.effect[g] = mean;
    out.variance[g] = square - mean * mean;
    out.scale += 0.5 * (precision * square - 1.0);
    add(own, nodes, weight, f, noise, sums, out);
    if (information) add_spread(own, nodes, weight, out.information);
  }
  out.theta = data_.x.transpose() * sums.slope;
  if (information) {
    const MatrixXd scaled = sums.curvature.asDiagonal() * data_.x;
    out.information += data_.x.transpose() * scaled;
  }
  return out;
}

auto GroupLikelihood::span(const Group& group, const VectorXd& f,
                           double precision, double noise) const -> Span {
  const bool numbers = data_.family == Family::gaussian;
  const double sharpest = numbers ? 1.0 / noise
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
  const double step = 1.0 / std::sqrt(total);
  if (!numbers) return {0.0, 0.0, 0.0, step};
  return {0.5 * (low + high) / total, low / total, high / total, step};
}

auto GroupLikelihood::node(const Group& group, const VectorXd& f, double u,
                           double precision, double noise) const -> Node {
  const Index count = count_of(group.at);
  Node out{u, -0.5 * precision * u * u, ArrayXd(count), ArrayXd(count),
           ArrayXd(count)};
  for (std::size_t i = 0; i + 1 < group.begin.size(); ++i) {
    const Index from = group.begin[i], size = group.begin[i + 1] - from;
    for (Index j = from; j < from + size; ++j) {
      const Index k = group.at[j];
      const double y = data_.y[k], at = f[k] + data_.z[k] * u;
      if (data_.family == Family::gaussian) {
        out.share[j] = gaussian_log_density(y - at, noise);
        out.slope[j] = (y - at) / noise;
        out.curvature[j] = 1.0 / noise;
      } else {
        const MarginTerms terms = margin_terms(data_.family, y * at);
        out.share[j] = terms.value;
        out.slope[j] = y * terms.slope;
        out.curvature[j] = terms.curvature;
      }
      out.share[j] += data_.log_prior[k];
    }
    auto share = out.share.segment(from, size);
    double log_sum = share[0];
    if (size > 1) {
      const double most = share.maxCoeff();
      log_sum = most + std::log((share - most).exp().sum());
    }
    out.value += data_.weight[group.at[from]] * log_sum;
    share = size > 1 ? ArrayXd((share - log_sum).exp()) : ArrayXd::Ones(1);
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
                          const VectorXd& weight, const VectorXd& f,
                          double noise, Sums& sums, Answer& out) const {
  const bool numbers = data_.family == Family::gaussian;
  for (std::size_t m = 0; m < nodes.size(); ++m) {
    const Node& node = nodes[m];
    for (Index j = 0; j < count_of(group.at); ++j) {
      const Index k = group.at[j];
      const double share = weight[m] * node.share[j];
      const double counts = data_.weight[k] * share;
      const double slope = node.slope[j];
      out.share[k] += share;
      sums.slope[k] += counts * slope;
      sums.curvature[k] += counts * (node.curvature[j] - slope * slope);
      if (numbers) out.noise += 0.5 * counts * (noise * slope * slope - 1.0);
    }
  }
}

void GroupLikelihood::add_spread(const Group& group,
                                 const std::vector<Node>& nodes,
                                 const VectorXd& weight,
                                 MatrixXd& information) const {
  const Index p = data_.x.cols(), rows = count_of(group.begin) - 1;
  MatrixXd score(p, rows), scaled(p, rows);
  VectorXd mean = VectorXd::Zero(p);
  MatrixXd square = MatrixXd::Zero(p, p);
  for (std::size_t m = 0; m < nodes.size(); ++m) {
    const Node& node = nodes[m];
    VectorXd sum = VectorXd::Zero(p);
    for (Index i = 0; i < rows; ++i) {
      score.col(i).setZero();
      for (Index j = group.begin[i]; j < group.begin[i + 1]; ++j) {
        score.col(i) += (node.share[j] * node.slope[j]) *
                        data_.x.row(group.at[j]).transpose();
      }
      const double counts = data_.weight[group.at[group.begin[i]]];
      scaled.col(i) = (weight[m] * counts) * score.col(i);
      sum += counts * score.col(i);
    }
    information.noalias() += scaled * score.transpose();
    mean += weight[m] * sum;
    square.noalias() += (weight[m] * sum) * sum.transpose();
  }
  information -= square - mean * mean.transpose();
}
}  // namespace bayeskernel
