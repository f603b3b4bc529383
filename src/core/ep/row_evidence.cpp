#include "ep/row_evidence.hpp"

#include "math/normal.hpp"
#include "rows/rows.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {

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
    double sum = 0.0, total = 0.0;
    about(mean, variance, m, v, [&](double f, double weight) {
      const double l = log_p(i, f), p = weight * std::exp(w_[i] * l);
      total += p;
      sum += p * l;
    });
    out_.expected[i] = sum / total;
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
      const double at = w_[i] * log_p(i, m) + w_[i + 1] * log_p(i + 1, m);
      double sum = 0.0;
      about(m, s + r_[i], cavity, v + r_[i], [&](double f, double weight) {
        sum += weight *
               std::exp(w_[i] * log_p(i, f) + w_[i + 1] * log_p(i + 1, f) - at);
      });
      value = at + std::log(sum);
    }
    for (VectorXd* to : {&out_.log_p, &out_.log_z}) {
      (*to)[i] = (*to)[i + 1] = value;
    }
  }
}

void RowEvidenceRule::set_nodes() {
  const Index r = fit_.rows().z_columns();
  const Index n = r == 1 ? 24 : 14;
  const GaussHermite line(n);
  const Index nodes = r == 1 ? n : n * n;
  node_.resize(r, nodes);
  weight_.resize(nodes);
  for (Index k = 0; k < nodes; ++k) {
    node_(0, k) = line.node[k % n];
    weight_[k] = line.weight[k % n];
    if (r == 1) continue;
    node_(1, k) = line.node[k / n];
    weight_[k] *= line.weight[k / n];
  }
}

void RowEvidenceRule::add_groups() {
  set_nodes();
  const RowSource& rows = fit_.rows();
  const Sweep sweep{rows, fit_.executor(), nullptr};
  sweep.run([&](Index block, Index) {
    MatrixXd buffer;
    for (const TileSpan& span : rows.block_tiles(block)) {
      // A group of thousands of rows does not miss one of them.
      if (rows.is_part(span)) continue;
      const Tile tile = rows.tile(span, buffer);
      rows.for_groups(span, [&](Index g, Index begin, Index end) {
        add_group(tile.z.middleCols(begin, end - begin), g,
                  span.row_begin + begin);
      });
    }
  });
}

void RowEvidenceRule::add_rows(Part part, Index origin, const MatrixXd& f,
                               bool powers, Nodes& out) const {
  for (Index i = part.first; i < part.last; ++i) {
    const Index at = origin + i;
    const double w = powers ? w_[at] : 1.0;
    for (Index q = 0; q < f.rows(); ++q) {
      const double l = r_[at] > 0.0
                           ? tilted_(y_[at], w, f(q, i), r_[at], 1.0).log_z
                           : w * log_p(at, f(q, i));
      out[q] += l;
    }
  }
}

void RowEvidenceRule::add_messages(Part part, Index origin, const MatrixXd& f,
                                   double sign, Nodes& out) const {
  for (Index i = part.first; i < part.last; ++i) {
    const Message own = message(origin + i);
    const double m = fit_.sites.mean[origin + i];
    const double slope = own.b - own.kappa * m;
    const auto d = f.col(i).array() - m;
    out += sign * (slope * d - 0.5 * own.kappa * d.square());
  }
}

double RowEvidenceRule::log_mean(const Nodes& log_value) const {
  const double most = log_value.maxCoeff();
  return most + std::log((weight_ * (log_value - most).exp()).sum());
}

void RowEvidenceRule::add_expected_shift(Part part, Index origin,
                                         const MatrixXd& f, const Nodes& all,
                                         const Nodes& own) {
  const auto mean_at = [&](const Nodes& log_weight, const Nodes& value) {
    const Nodes w = weight_ * (log_weight - log_weight.maxCoeff()).exp();
    return (w * value).sum() / w.sum();
  };
  for (Index i = part.first; i < part.last; ++i) {
    Nodes l = Nodes::Zero(weight_.size());
    add_rows({i, i + 1}, origin, f, false, l);
    const double shift = mean_at(all, l) - mean_at(own, l);
    if (std::isfinite(shift)) out_.expected[origin + i] += shift;
  }
}

}  // namespace bayeskernel
