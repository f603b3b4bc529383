#include "linear/missing_values.hpp"

#include "error.hpp"
#include "math/cholesky.hpp"
#include "math/normal.hpp"
#include "math/spd.hpp"
#include "math/special.hpp"

namespace bayeskernel {
VectorXd value_variances(const MissingPattern& data,
                         const MissingPosterior& q) {
  VectorXd out(data.count);
  Index at = 0;
  for (const MissingPattern::Row& row : data.rows) {
    const Index h = data.width(row);
    for (Index j = 0; j < h; ++j) {
      out[row.first + j] = q.covariance[at + j * (h + 1)];
    }
    at += h * h;
  }
  return out;
}

MissingValues::MissingValues(const MissingPattern& data,
                             const std::vector<Index>& position,
                             PackedRows& rows, Executor& executor)
    : data_(data), rows_(rows), executor_(executor) {
  rows.residual = VectorXd::Zero(rows.rows());
  const bool all = position.empty();
  const Index p = all ? rows.x_columns() : count_of(position);
  Index group = 0, at = 0;
  for (const MissingPattern::Row& row : data.rows) {
    while (group < rows.groups() && rows.group_begin(group + 1) <= row.row) {
      ++group;
    }
    group_.push_back(group);
    use_begin_.push_back(count_of(uses_));
    offset_.push_back(at);
    const Index h = data_.width(row);
    at += h * h;
    for (Index u = row.use_begin; u < row.use_end; ++u) {
      const MissingPattern::Use& use = data.uses[u];
      if (use.column >= p) {
        uses_.push_back({rows.x_columns() + use.column - p, use.missing,
                         use.base, use.slope});
      } else if (all) {
        uses_.push_back(use);
      } else if (position[use.column] >= 0) {
        uses_.push_back(
            {position[use.column], use.missing, use.base, use.slope});
      }
    }
  }
  use_begin_.push_back(count_of(uses_));
  covariance_size_ = at;
  sum_of_complete_rows();
}

void MissingValues::start(MissingPosterior& out) const {
  out.center = data_.start_mean;
  out.precision = data_.start_var.cwiseInverse().asDiagonal();
  out.mean.resize(data_.count);
  out.covariance = VectorXd::Zero(covariance_size_);
  for (Index i = 0; i < rows(); ++i) {
    const MissingPattern::Row& row = data_.rows[i];
    const std::vector<Index>& missing = data_.patterns[row.pattern];
    const Index h = data_.width(row);
    for (Index j = 0; j < h; ++j) {
      out.mean[row.first + j] = data_.start_mean[missing[j]];
      out.covariance[offset_[i] + j * (h + 1)] = data_.start_var[missing[j]];
    }
    fill(i, out.mean.data() + row.first);
  }
}

void MissingValues::update(const EffectMoments& effect, const VectorXd& c,
                           const MatrixXd& precision, const VectorXd& center,
                           MissingPosterior& out) {
  out.mean.resize(data_.count);
  out.covariance.resize(covariance_size_);
  const Index chunks = (rows() + kChunk - 1) / kChunk;
  slots_.resize(chunks);
  const VectorXd linear = precision * center;
  executor_.run(chunks, [&](Index chunk) {
    const Index P = data_.predictors();
    Slot& slot = slots_[chunk];
    slot.sum = VectorXd::Zero(P);
    slot.square = MatrixXd::Zero(P, P);
    slot.log_det = 0.0;
    slot.product = 1.0;
    Scratch scratch;
    scratch.row.resize(rows_.x_columns());
    scratch.value.resize(P);
    const Index end = std::min(rows(), (chunk + 1) * kChunk);
    for (Index i = chunk * kChunk; i < end; ++i) {
      impute(i, effect, c[i], precision, linear, scratch, slot, out);
    }
    slot.flush();
  });
  VectorXd sum = complete_sum_;
  MatrixXd square = complete_square_;
  double log_det = 0.0;
  for (const Slot& slot : slots_) {
    sum += slot.sum;
    square += slot.square;
    log_det += slot.log_det;
  }
  update_population(sum, square, precision, log_det, out);
}

void MissingValues::add_curvature(const MissingPosterior& q,
                                  const VectorXd& kappa,
                                  const ArrowVector& point, bool with_newton,
                                  Sums& sums) const {
  for (Index i = 0; i < rows(); ++i) {
    const MissingPattern::Row& row = data_.rows[i];
    const Index h = data_.width(row), g = group_[i];
    const double* v = q.covariance.data() + offset_[i];
    const double k = kappa[row.row];
    for (Index a = use_begin_[i]; a < use_begin_[i + 1]; ++a) {
      for (Index b = use_begin_[i]; b <= a; ++b) {
        const Index from = uses_[a].column, to = uses_[b].column;
        const double value = k * uses_[a].slope * uses_[b].slope *
                             v[uses_[a].missing * h + uses_[b].missing];
        add(from, to, g, value, sums.curvature);
        if (with_newton) add(from, to, g, value, sums.newton);
        entry(sums.linear, from, g) -= value * entry(point, to, g);
        if (a != b) entry(sums.linear, to, g) -= value * entry(point, from, g);
      }
    }
  }
}

VectorXd MissingValues::scales(const VectorXd& kappa) const {
  VectorXd c(rows());
  for (Index i = 0; i < rows(); ++i) {
    const Index at = data_.rows[i].row;
    c[i] = rows_.weight[at] > 0.0 ? rows_.weight[at] / kappa[at] : 1.0;
  }
  return c;
}

void MissingValues::Slot::add_log_det(double precision) {
  product *= precision;
  if (product > 1e200 || product < 1e-200) flush();
}

void MissingValues::Slot::flush() {
  log_det -= std::log(product);
  product = 1.0;
}

double MissingValues::dot(const double* a, const double* b, Index n) {
  double sum = 0.0;
  for (Index k = 0; k < n; ++k) sum += a[k] * b[k];
  return sum;
}

const double& MissingValues::entry(const ArrowVector& v, Index column,
                                   Index g) {
  const Index p = v.x.size();
  return column < p ? v.x.data()[column]
                    : v.group.data()[g * v.group.rows() + column - p];
}

double& MissingValues::entry(ArrowVector& v, Index column, Index g) {
  return const_cast<double&>(
      entry(static_cast<const ArrowVector&>(v), column, g));
}

double& MissingValues::cell(Index column, Index row) const {
  const Index p = rows_.x_columns();
  return column < p ? rows_.x(column, row) : rows_.z(column - p, row);
}

void MissingValues::fill(Index i, const double* value) const {
  for (Index a = use_begin_[i]; a < use_begin_[i + 1]; ++a) {
    const MissingPattern::Use& use = uses_[a];
    cell(use.column, data_.rows[i].row) =
        use.base + use.slope * value[use.missing];
  }
}

void MissingValues::add(Index a, Index b, Index g, double value,
                        Curvature& to) const {
  const Index p = rows_.x_columns(), r = rows_.z_columns();
  if (a < b) std::swap(a, b);
  if (a < p) {
    to.gram(a, b) += value;
  } else if (b < p) {
    to.cross(b, g * r + a - p) += value;
  } else {
    to.group_gram(a - p, g * r + b - p) += value;
    if (a != b) to.group_gram(b - p, g * r + a - p) += value;
  }
}

void MissingValues::impute(Index i, const EffectMoments& effect, double c,
                           const MatrixXd& O, const VectorXd& linear,
                           Scratch& scratch, Slot& slot,
                           MissingPosterior& out) {
  const MissingPattern::Row& row = data_.rows[i];
  const std::vector<Index>& missing = data_.patterns[row.pattern];
  const Index h = data_.width(row), at = row.row;
  const Index begin = use_begin_[i], end = use_begin_[i + 1];
  for (Index a = begin; a < end; ++a) {
    cell(uses_[a].column, at) = uses_[a].base;
  }
  const Index P = data_.predictors();
  const double* known = data_.x.data() + at * P;
  if (scratch.rhs.size() != h) {
    scratch.rhs.resize(h);
    scratch.second.resize(h, h);
  }
  for (Index j = 0; j < h; ++j) {
    scratch.rhs[j] =
        linear[missing[j]] - dot(O.data() + missing[j] * P, known, P);
  }
  const double w = rows_.weight[at] / c;
  scratch.second.setZero();
  if (w > 0.0) regress(i, effect, w, scratch);
  double* v = out.covariance.data() + offset_[i];
  double* mean = out.mean.data() + row.first;
  double variance = 0.0;
  if (h == 1) {
    const double b = scratch.second(0, 0);
    const double precision = w * b + O(missing[0], missing[0]);
    if (!(precision > 0.0)) {
      throw NumericError("the precision of a missing value is not positive");
    }
    v[0] = 1.0 / precision;
    mean[0] = scratch.rhs[0] * v[0];
    variance = b * v[0];
    slot.add_log_det(precision);
  } else {
    scratch.precision = w * scratch.second;
    for (Index j = 0; j < h; ++j) {
      for (Index k = 0; k < h; ++k) {
        scratch.precision(k, j) += O(missing[k], missing[j]);
      }
    }
    const Eigen::LLT<Eigen::Ref<MatrixXd>> llt(scratch.precision);
    if (llt.info() != Eigen::Success) {
      throw NumericError(
          "the precision of missing values is not positive definite");
    }
    slot.log_det -= 2.0 * scratch.precision.diagonal().array().log().sum();
    scratch.covariance.setIdentity(h, h);
    llt.solveInPlace(scratch.covariance);
    llt.solveInPlace(scratch.rhs);
    Eigen::Map<MatrixXd>(v, h, h) = scratch.covariance;
    Eigen::Map<VectorXd>(mean, h) = scratch.rhs;
    variance = scratch.second.cwiseProduct(scratch.covariance).sum();
  }
  rows_.residual[at] = variance;
  fill(i, mean);
  double* value = scratch.value.data();
  const double* from = data_.start_mean.data();
  for (Index k = 0; k < P; ++k) value[k] = known[k] - from[k];
  for (Index j = 0; j < h; ++j) {
    value[missing[j]] = mean[j] - from[missing[j]];
  }
  double* square = slot.square.data();
  for (Index k = 0; k < P; ++k, square += P) {
    slot.sum[k] += value[k];
    for (Index j = 0; j < P; ++j) square[j] += value[k] * value[j];
  }
  for (Index j = 0; j < h; ++j) {
    for (Index k = 0; k < h; ++k) {
      slot.square(missing[k], missing[j]) += v[j * h + k];
    }
  }
}

void MissingValues::regress(Index i, const EffectMoments& effect, double w,
                            Scratch& scratch) const {
  const MissingPattern::Row& row = data_.rows[i];
  const Index at = row.row, g = group_[i];
  const Index p = rows_.x_columns(), r = rows_.z_columns();
  const Index begin = use_begin_[i], count = use_begin_[i + 1] - begin;
  const VectorXd& gamma = effect.inclusion;
  const VectorXd& mu = effect.q.mean.x;
  const double* x = rows_.x.data() + at * p;
  const double* z = rows_.z.data() + at * r;
  bool in_group = false;
  for (Index a = begin; a < begin + count; ++a) {
    in_group = in_group || uses_[a].column >= p;
  }
  if (in_group && scratch.group != g) {
    scratch.group = g;
    scratch.cross.noalias() =
        effect.covariance * effect.system.loading().middleCols(g * r, r);
    scratch.group_cov = effect.q.group_covariance(g);
  }
  // Cov(theta, f) = Sigma s with s = E gamma o x - B_g D_g^-1 z.
  double* s = scratch.row.data();
  double f = rows_.offset[at];
  for (Index k = 0; k < p; ++k) {
    s[k] = gamma[k] * x[k];
    f += s[k] * mu[k];
  }
  for (Index k = 0; k < r; ++k) {
    const double* loading = effect.system.loading().data() + (g * r + k) * p;
    f += z[k] * effect.q.mean.group(k, g);
    for (Index j = 0; j < p; ++j) s[j] -= z[k] * loading[j];
  }
  const double linear = rows_.y[at] * (rows_.weight[at] + w) - w * f;
  const MatrixXd& sigma = effect.covariance;
  scratch.effect.resize(count);
  for (Index a = 0; a < count; ++a) {
    const MissingPattern::Use& use = uses_[begin + a];
    const Index k = use.column;
    double covariance;
    if (k < p) {
      const double second = sigma(k, k) + mu[k] * mu[k];
      scratch.effect[a] = gamma[k] * mu[k];
      covariance = gamma[k] * (dot(sigma.data() + k * p, s, p) +
                               (1.0 - gamma[k]) * second * x[k]);
    } else {
      scratch.effect[a] = effect.q.mean.group(k - p, g);
      covariance =
          dot(effect.system.group_inverse().data() + (g * r + k - p) * r, z,
              r) -
          dot(scratch.cross.data() + (k - p) * p, s, p);
    }
    scratch.rhs[use.missing] +=
        use.slope * (linear * scratch.effect[a] - w * covariance);
    for (Index b = 0; b <= a; ++b) {
      const MissingPattern::Use& other = uses_[begin + b];
      const double value =
          use.slope * other.slope * second_moment(a, b, begin, effect, scratch);
      scratch.second(use.missing, other.missing) += value;
      if (a != b) scratch.second(other.missing, use.missing) += value;
    }
  }
}

double MissingValues::second_moment(Index a, Index b, Index begin,
                                    const EffectMoments& effect,
                                    const Scratch& scratch) const {
  const Index p = rows_.x_columns();
  Index k = uses_[begin + a].column, j = uses_[begin + b].column;
  const double product = scratch.effect[a] * scratch.effect[b];
  const VectorXd& gamma = effect.inclusion;
  if (k < p && j < p) {
    if (k != j) {
      return product + gamma[k] * gamma[j] * effect.covariance(k, j);
    }
    const double mu = effect.q.mean.x[k];
    return gamma[k] * (effect.covariance(k, k) + mu * mu);
  }
  if (k >= p && j >= p) return product + scratch.group_cov(k - p, j - p);
  if (k < p) std::swap(k, j);
  return product - gamma[j] * scratch.cross(j, k - p);
}

void MissingValues::sum_of_complete_rows() {
  const Index P = data_.predictors(), n = data_.x.cols();
  complete_sum_ = VectorXd::Zero(P);
  complete_square_ = MatrixXd::Zero(P, P);
  std::size_t next = 0;
  VectorXd d(P);
  for (Index i = 0; i < n; ++i) {
    if (next < data_.rows.size() && data_.rows[next].row == i) {
      ++next;
      continue;
    }
    d = data_.x.col(i) - data_.start_mean;
    complete_sum_ += d;
    complete_square_.noalias() += d * d.transpose();
  }
}

void MissingValues::update_population(const VectorXd& sum,
                                      const MatrixXd& square,
                                      const MatrixXd& precision, double log_det,
                                      MissingPosterior& out) const {
  const Index P = data_.predictors();
  const double n = static_cast<double>(data_.x.cols());
  const double pp = static_cast<double>(P);
  const MatrixXd identity = MatrixXd::Identity(P, P);
  const Eigen::LLT<MatrixXd> center(n * precision + identity / data_.mean_var);
  out.center_cov = center.solve(identity);
  out.center = center.solve(precision * (n * data_.start_mean + sum)).eval();
  const VectorXd shift = out.center - data_.start_mean;
  const MatrixXd about_center =
      square - sum * shift.transpose() - shift * sum.transpose() +
      n * (shift * shift.transpose() + out.center_cov);
  out.df = data_.df + n;
  out.scale = data_.scale + about_center;
  const Eigen::LLT<MatrixXd> scale(out.scale);
  if (scale.info() != Eigen::Success || center.info() != Eigen::Success) {
    throw NumericError(
        "the covariance of the predictors is not positive definite");
  }
  out.precision = out.df * scale.solve(identity);
  const int width = static_cast<int>(P);
  const double log_scale = bayeskernel::log_det(scale);
  const double e_log_det = log_scale - pp * std::log(2.0) -
                           multivariate_digamma(0.5 * out.df, width);
  const double log_two_pi = 2.0 * detail::kLogSqrtTwoPi;
  const double count = static_cast<double>(data_.count);
  double bound = -0.5 * n * (pp * log_two_pi + e_log_det) -
                 0.5 * out.precision.cwiseProduct(about_center).sum();
  bound += 0.5 * log_det + 0.5 * count * (1.0 + log_two_pi);
  bound += -0.5 * pp * std::log(data_.mean_var) -
           0.5 * (out.center.squaredNorm() + out.center_cov.trace()) /
               data_.mean_var -
           0.5 * bayeskernel::log_det(center) + 0.5 * pp;
  const auto log_density = [&](double df, double log_scale, double trace) {
    return 0.5 * df * log_scale - 0.5 * df * pp * std::log(2.0) -
           log_multivariate_gamma(0.5 * df, width) -
           0.5 * (df + pp + 1.0) * e_log_det - 0.5 * trace;
  };
  const double log_prior_scale = spd_log_det(data_.scale);
  bound += log_density(data_.df, log_prior_scale,
                       data_.scale.cwiseProduct(out.precision).sum()) -
           log_density(out.df, log_scale, out.df * pp);
  out.bound = bound;
}
}  // namespace bayeskernel
