#include "ep/row_evidence.hpp"

#include "likelihood/likelihood.hpp"
#include "linear/system.hpp"
#include "math/normal.hpp"
#include "rows/rows.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
static double log_sum(const ArrayXd& value) {
  const double most = value.maxCoeff();
  return most + std::log((value - most).exp().sum());
}

RowEvidence RowEvidenceRule::operator()() {
  out_ = {fit_.leave_one_out(), fit_.sites.log_z, VectorXd()};
  if (fit_.completions() != nullptr || fit_.sites.mean.size() == 0) return out_;
  read_rows();
  // Units of one class have all their trials in one row.
  if (!fit_.units.empty() && family_ != Family::hinge) {
    out_.log_p = out_.log_z;
  }
  if (family_ != Family::hinge) add_expected();
  leave_units_out();
  if (fit_.whole_groups && is_label() && fit_.rows().groups() > 0 &&
      fit_.rows().z_columns() <= 2) {
    add_groups();
  }
  return out_;
}

void RowEvidenceRule::read_rows() {
  const Index n = fit_.rows().rows();
  y_.resize(n);
  w_.resize(n);
  r_.resize(n);
  for_tiles(fit_.rows(), [&](const TileSpan& span, const Tile& tile) {
    y_.segment(span.row_begin, span.rows()) = tile.y;
    w_.segment(span.row_begin, span.rows()) = tile.weight;
    for (Index i = 0; i < span.rows(); ++i) {
      r_[span.row_begin + i] = tile.residual_of(i);
    }
  });
}

auto RowEvidenceRule::log_p(Index i, const Nodes& f) const -> Nodes {
  if (family_ == Family::probit) {
    return f.unaryExpr(
        [&](double at) { return probit_margin(y_[i] * at).value; });
  }
  Nodes out(f.size());
  const auto put = [&](Index q, auto batch) {
    constexpr int kSize = decltype(batch)::RowsAtCompileTime;
    batch = y_[i] * f.segment<kSize>(q);
    const decltype(batch) e = (-batch.abs()).exp();
    out.segment<kSize>(q) = logit_values<kSize>(batch, e);
  };
  constexpr int kBatch = GroupRules::kBatch;
  Index q = 0;
  for (; q + 2 * kBatch <= f.size(); q += 2 * kBatch) {
    put(q, Eigen::Array<double, 2 * kBatch, 1>());
  }
  if (q < f.size()) put(q, Eigen::Array<double, kBatch, 1>());
  return out;
}

auto RowEvidenceRule::log_p(Index i, double w, const Nodes& f) const -> Nodes {
  if (!(r_[i] > 0.0)) return w * log_p(i, f);
  return f.unaryExpr(
      [&](double at) { return tilted_(y_[i], w, at, r_[i], 1.0).log_z; });
}

auto RowEvidenceRule::about(double mean, double variance, double m,
                            double v) const -> Line {
  const auto z = line_.node.array();
  const Nodes d = mean - m + std::sqrt(variance) * z;
  return {m + d, line_.weight.array() * std::sqrt(variance / v) *
                     (0.5 * z.square() - 0.5 / v * d.square()).exp()};
}

void RowEvidenceRule::add_expected() {
  const SiteRows& sites = fit_.sites;
  out_.expected.resize(y_.size());
  for (Index i = 0; i < y_.size(); ++i) {
    const double m = sites.cavity_mean[i];
    const double v = sites.cavity_variance[i] + r_[i];
    const Tilted t = tilted_(y_[i], w_[i], m, v, fit_.noise_variance());
    const double mean = m + v * t.alpha1, variance = v * t.variance_ratio;
    if (family_ == Family::gaussian) {
      const double noise = fit_.noise_variance();
      out_.expected[i] =
          gaussian_log_density(y_[i] - mean, noise) - 0.5 * variance / noise;
      continue;
    }
    const Line line = about(mean, variance, m, v);
    const Nodes l = log_p(i, line.f), p = line.weight * (w_[i] * l).exp();
    out_.expected[i] = (p * l).sum() / p.sum();
  }
}

auto RowEvidenceRule::message(Index i) const -> Message {
  const SiteRows& sites = fit_.sites;
  const double s = sites.variance[i], v = sites.cavity_variance[i];
  return {(v - s) / (s * v), sites.mean[i] / s - sites.cavity_mean[i] / v};
}

void RowEvidenceRule::leave_units_out() {
  const SiteRows& sites = fit_.sites;
  for (Index i = 0; i + 1 < y_.size(); ++i) {
    if (!same_unit(i, i + 1)) continue;
    const Message one = message(i), two = message(i + 1);
    const double m = sites.mean[i], s = sites.variance[i];
    const double kappa = one.kappa + two.kappa, b = one.b + two.b;
    const double v = s / cavity_fraction(kappa, s);
    const double cavity = m + (kappa * m - b) * v;
    double value = 0.0;
    if (family_ == Family::hinge) {
      for (Index k : {i, i + 1}) {
        const double z = cavity / std::sqrt(1.0 + v + r_[k]);
        value += w_[k] * log_normal_cdf(y_[k] * z);
      }
    } else {
      // The posterior of f is where the integrand is.
      const Line line = about(m, s + r_[i], cavity, v + r_[i]);
      const Nodes l =
          w_[i] * log_p(i, line.f) + w_[i + 1] * log_p(i + 1, line.f);
      const double most = l.maxCoeff();
      value = most + std::log((line.weight * (l - most).exp()).sum());
    }
    for (VectorXd* to : {&out_.log_p, &out_.log_z}) {
      (*to)[i] = (*to)[i + 1] = value;
    }
  }
}

void RowEvidenceRule::add_groups() {
  const RowSource& rows = fit_.rows();
  // Differences of integrals are asked for: nodes are closer than for the
  // evidence of groups, and those of probit rows, which are steeper, more.
  const Index r = rows.z_columns();
  if (family_ == Family::probit) {
    rules_.emplace(r, std::array<Index, 3>{8, r == 1 ? 24 : 14, 24},
                   std::array<double, 2>{0.03, 1.0});
  } else {
    rules_.emplace(r, std::array<Index, 3>{8, r == 1 ? 16 : 12, 24},
                   std::array<double, 2>{0.1, 1.0});
  }
  const Sweep sweep{rows, fit_.executor(), nullptr};
  sweep.run([&](Index block, Index) {
    Scratch scratch;
    for (const TileSpan& span : rows.block_tiles(block)) {
      // A group of thousands of rows does not miss one of them.
      if (rows.is_part(span)) continue;
      const Tile tile = rows.tile(span, scratch.buffer);
      rows.for_groups(span, [&](Index g, Index begin, Index end) {
        add_group(tile.z.middleCols(begin, end - begin), g,
                  span.row_begin + begin, scratch);
      });
    }
  });
}

void RowEvidenceRule::set_parts(const Effects& z, const Effects& cov,
                                Index origin, Scratch& scratch) const {
  const Index n = z.cols();
  scratch.gain.noalias() = cov * z;
  scratch.parts.clear();
  for (Index i = 0; i < n;) {
    const bool two = i + 1 < n && same_unit(origin + i, origin + i + 1);
    Part part{i, two ? i + 2 : i + 1, z.col(i).dot(scratch.gain.col(i)), 0.0,
              0.0};
    for (; i < part.last; ++i) {
      const Message message = this->message(origin + i);
      part.kappa += message.kappa;
      part.slope += message.b - message.kappa * fit_.sites.mean[origin + i];
    }
    scratch.parts.push_back(part);
  }
}

void RowEvidenceRule::set_values(const Effects& z, Index origin,
                                 const MatrixXd& covariance,
                                 const VectorXd& mean, const GroupNodes& rule,
                                 MatrixXd& f) const {
  const MatrixXd along = covariance.llt().matrixU() * z;
  f.noalias() = rule.node.transpose() * along;
  f.rowwise() += fit_.sites.mean.segment(origin, z.cols()).transpose() +
                 mean.transpose() * z;
}

void RowEvidenceRule::subtract_messages(const Part& part, Index origin,
                                        const MatrixXd& f, Nodes& out) const {
  const auto d =
      f.col(part.first).array() - fit_.sites.mean[origin + part.first];
  out -= (part.slope - 0.5 * part.kappa * d) * d;
}

auto RowEvidenceRule::alone(const Part& part, Index origin) const -> Alone {
  const Index at = origin + part.first, rows = part.last - part.first;
  const double cavity = part.cavity(), level = fit_.sites.mean[at];
  const double v = part.variance / cavity, m = level - part.slope * v;
  double mean = level, variance = part.variance;
  if (rows == 1) {
    const Tilted t = tilted_(y_[at], w_[at], m, v + r_[at], 1.0);
    mean = m + v * t.alpha1;
    variance = v * (r_[at] + v * t.variance_ratio) / (v + r_[at]);
  }
  const Line line = about(mean, variance, m, v);
  Nodes power = Nodes::Zero(line.f.size());
  std::array<Nodes, 2> l;
  for (Index k = 0; k < rows; ++k) {
    l[k] = log_p(at + k, 1.0, line.f);
    power += w_[at + k] == 1.0 ? l[k] : log_p(at + k, w_[at + k], line.f);
  }
  const double most = power.maxCoeff();
  const Nodes p = line.weight * (power - most).exp();
  const double total = p.sum();
  Alone out{most + std::log(total), 0.0, {}};
  if (rows == 1 && w_[at] != 1.0) {
    out.log_single = tilted_(y_[at], 1.0, m, v + r_[at], 1.0).log_z;
  }
  for (Index k = 0; k < rows; ++k) out.expected[k] = (p * l[k]).sum() / total;
  return out;
}

void RowEvidenceRule::add_group(const Effects& z, Index g, Index origin,
                                Scratch& scratch) {
  const Index r = z.rows(), n = z.cols();
  const auto cov = fit_.system().group_inverse().middleCols(g * r, r);
  set_parts(z, cov, origin, scratch);
  // One row and its message are exact together.
  if (scratch.parts.size() < 2) return;
  double steep = 0.0;
  for (const Part& part : scratch.parts) steep = std::max(steep, part.variance);
  const GroupNodes& rule = rules_->of(steep);
  set_values(z, origin, cov, VectorXd::Zero(r), rule, scratch.f);
  scratch.log_value.resize(scratch.f.rows(), n);
  scratch.all = rule.log_weight;
  for (const Part& part : scratch.parts) {
    for (Index i = part.first; i < part.last; ++i) {
      scratch.log_value.col(i) =
          log_p(origin + i, w_[origin + i], scratch.f.col(i).array());
      scratch.all += scratch.log_value.col(i).array();
    }
    subtract_messages(part, origin, scratch.f, scratch.all);
  }
  const double most = scratch.all.maxCoeff();
  const Nodes weight = (scratch.all - most).exp();
  const double total = weight.sum(), whole = most + std::log(total);
  for (const Part& part : scratch.parts) {
    const Index at = origin + part.first;
    const Alone alone = this->alone(part, origin);
    Nodes others = scratch.all;
    for (Index i = part.first; i < part.last; ++i) {
      others -= scratch.log_value.col(i).array();
    }
    // Where its message is weak the nodes at hand will do.
    constexpr double kWeak = 0.15;
    const double given = part.kappa * part.variance > kWeak
                             ? given_others(part, z, cov, origin, scratch)
                             : whole - log_sum(others);
    const double change = given - alone.log_z;
    const bool finite = std::isfinite(change);
    double at_one = change;
    Nodes single;
    for (Index i = part.first; i < part.last; ++i) {
      const Index row = origin + i;
      if (w_[row] == 1.0) {
        single = scratch.log_value.col(i).array();
      } else {
        single = log_p(row, 1.0, scratch.f.col(i).array());
        if (fit_.units.empty()) {
          at_one =
              log_sum(others + single) - log_sum(others) - alone.log_single;
        }
      }
      const double shift =
          (weight * single).sum() / total - alone.expected[i - part.first];
      if (std::isfinite(shift)) out_.expected[row] += shift;
      if (!finite) continue;
      out_.log_z[row] += change;
      if (std::isfinite(at_one)) out_.log_p[row] += at_one;
    }
  }
}

double RowEvidenceRule::given_others(const Part& part, const Effects& z,
                                     const Effects& cov, Index origin,
                                     const Scratch& scratch) const {
  const VectorXd gain = scratch.gain.col(part.first);
  const double cavity = part.cavity();
  const GroupNodes& rule = rules_->of(part.variance / cavity);
  MatrixXd f;
  set_values(z, origin, cov + part.kappa / cavity * gain * gain.transpose(),
             -part.slope / cavity * gain, rule, f);
  Nodes sum = rule.log_weight;
  for (const Part& other : scratch.parts) {
    if (other.first == part.first) continue;
    for (Index i = other.first; i < other.last; ++i) {
      sum += log_p(origin + i, w_[origin + i], f.col(i).array());
    }
    subtract_messages(other, origin, f, sum);
  }
  const double others = log_sum(sum);
  for (Index i = part.first; i < part.last; ++i) {
    sum += log_p(origin + i, w_[origin + i], f.col(i).array());
  }
  return log_sum(sum) - others;
}
}  // namespace bayeskernel
