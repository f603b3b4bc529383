#include "missing/values/gibbs.hpp"

#include "error.hpp"
#include "math/spd.hpp"
#include "simd/gram.hpp"

namespace bayeskernel {
double scaled_normal_tail(double t) {
  if (t < 0.0) return std::exp(0.5 * t * t) - scaled_normal_tail(-t);
  if (t < 5.0) {
    return ((((((3.52624965998911e-02 * t + 0.700383064443688) * t +
                6.37396220353165) *
                   t +
               33.912866078383) *
                  t +
              112.079291497871) *
                 t +
             221.213596169931) *
                t +
            220.206867912376) /
           (((((((8.83883476483184e-02 * t + 1.75566716318264) * t +
                 16.064177579207) *
                    t +
                86.7807322029461) *
                   t +
               296.564248779674) *
                  t +
              637.333633378831) *
                 t +
             793.826512519948) *
                t +
            440.413735824752);
  }
  double denominator = t;
  for (int k = t < 7.0 ? 14 : 8; k >= 1; --k) {
    denominator = t + k / denominator;
  }
  return 0.39894228040143268 / denominator;
}

MatrixXd MissingState::of_new_rows(const std::vector<Index>& where) const {
  MatrixXd out = covariance;
  for (const MatrixXd& own : between) {
    for (std::size_t d = 0; d < where.size(); ++d) {
      for (std::size_t e = 0; e < where.size(); ++e) {
        out(where[d], where[e]) += own(d, e);
      }
    }
  }
  return out;
}

GroupedPredictors::GroupedPredictors(const MissingPattern& data,
                                     MissingState& state)
    : data_(data), state_(state), wishart_(count_of(data.where)) {
  if (empty()) return;
  hole_.assign(data.x.cols(), -1);
  for (std::size_t k = 0; k < data.rows.size(); ++k) {
    hole_[data.rows[k].row] = static_cast<Index>(k);
  }
  for (const MissingPattern::Grouping& own : data.groupings) {
    VectorXd count = VectorXd::Zero(own.groups);
    for (const int g : own.code) count[g] += 1.0;
    count_.push_back(count);
  }
}

void GroupedPredictors::start() {
  for (const MissingPattern::Grouping& own : data_.groupings) {
    state_.effect.push_back(MatrixXd::Zero(width(), own.groups));
    MatrixXd between = MatrixXd::Zero(width(), width());
    for (Index d = 0; d < width(); ++d) {
      between(d, d) = 0.5 * data_.start_var[data_.where[d]];
    }
    state_.between.push_back(between);
  }
}

VectorXd GroupedPredictors::shift(Index row) const {
  VectorXd out = VectorXd::Zero(width());
  for (std::size_t f = 0; f < data_.groupings.size(); ++f) {
    out += state_.effect[f].col(data_.groupings[f].code[row]);
  }
  return out;
}

void GroupedPredictors::draw(const MatrixXd& filled, const MatrixXd& precision,
                             Stream& stream) {
  for (std::size_t f = 0; f < data_.groupings.size(); ++f) {
    draw_factor(f, filled, precision, stream);
    translate(f, stream);
    MatrixXd square = data_.between_scale;
    square += state_.effect[f] * state_.effect[f].transpose();
    inverse_wishart(
        stream, data_.between_df + static_cast<double>(state_.effect[f].cols()),
        square, wishart_, state_.between[f]);
  }
}

void GroupedPredictors::sums(const MatrixXd& filled, VectorXd& sum,
                             MatrixXd& square) const {
  sum.setZero();
  square.setZero();
  VectorXd x(sum.size());
  for (Index i = 0; i < data_.x.cols(); ++i) {
    residual(i, filled, x);
    sum += x;
    square.selfadjointView<Eigen::Lower>().rankUpdate(x);
  }
}

void GroupedPredictors::residual(Index i, const MatrixXd& filled,
                                 VectorXd& x) const {
  if (hole_[i] < 0) {
    x = data_.x.col(i) - data_.start_mean;
  } else {
    x = filled.col(hole_[i]);
  }
  const VectorXd own = shift(i);
  for (Index d = 0; d < width(); ++d) x[data_.where[d]] -= own[d];
}

void GroupedPredictors::draw_factor(std::size_t f, const MatrixXd& filled,
                                    const MatrixXd& precision, Stream& stream) {
  const MissingPattern::Grouping& own = data_.groupings[f];
  MatrixXd& effect = state_.effect[f];
  MatrixXd sum = MatrixXd::Zero(data_.predictors(), own.groups);
  VectorXd x(data_.predictors());
  for (Index i = 0; i < data_.x.cols(); ++i) {
    residual(i, filled, x);
    sum.col(own.code[i]) += x + data_.start_mean - state_.mean;
  }
  MatrixXd inner(width(), width());
  for (Index d = 0; d < width(); ++d) {
    sum.row(data_.where[d]) +=
        effect.row(d).cwiseProduct(count_[f].transpose());
    for (Index e = 0; e < width(); ++e) {
      inner(d, e) = precision(data_.where[d], data_.where[e]);
    }
  }
  const MatrixXd weighted_sum = precision.selfadjointView<Eigen::Lower>() * sum;
  const MatrixXd prior = spd_inverse(
      state_.between[f], "the covariance of the predictors between groups");
  VectorXd linear(width()), out(width());
  for (Index g = 0; g < own.groups; ++g) {
    for (Index d = 0; d < width(); ++d)
      linear[d] = weighted_sum(data_.where[d], g);
    const Eigen::LLT<MatrixXd> llt(prior + count_[f][g] * inner);
    if (llt.info() != Eigen::Success) {
      throw NumericError(
          "the covariance of the predictors between groups is not positive "
          "definite");
    }
    const VectorXd mean = llt.solve(linear);
    normal_from_precision(stream, llt, mean, out);
    effect.col(g) = out;
  }
}

void GroupedPredictors::translate(std::size_t f, Stream& stream) {
  MatrixXd& effect = state_.effect[f];
  MatrixXd precision = spd_inverse(
      state_.between[f], "the covariance of the predictors between groups");
  const VectorXd sum = effect.rowwise().sum();
  VectorXd linear = precision * sum;
  precision *= static_cast<double>(effect.cols());
  for (Index d = 0; d < width(); ++d) {
    precision(d, d) += 1.0 / data_.mean_var;
    linear[d] -= state_.mean[data_.where[d]] / data_.mean_var;
  }
  const Eigen::LLT<MatrixXd> llt(precision);
  VectorXd move(width());
  const VectorXd mean = llt.solve(linear);
  normal_from_precision(stream, llt, mean, move);
  effect.colwise() -= move;
  for (Index d = 0; d < width(); ++d) state_.mean[data_.where[d]] += move[d];
}

MissingGibbs::MissingGibbs(const MissingPattern& data, PackedRows& rows,
                           Executor& executor, std::uint64_t seed,
                           std::uint64_t chain)
    : data_(data),
      rows_(rows),
      executor_(executor),
      seed_(seed),
      chain_(chain),
      patterns_(data.patterns.size()),
      group_(data.rows.size(), 0),
      grouped_(data, state),
      wishart_(data.predictors()) {
  const Index predictors = data.predictors();
  const Index count = count_of(data.rows);
  for (std::size_t k = 0; k < patterns_.size(); ++k) {
    Pattern& pattern = patterns_[k];
    pattern.missing = data.patterns[k];
    for (Index j = 0; j < predictors; ++j) {
      if (!std::binary_search(pattern.missing.begin(), pattern.missing.end(),
                              j)) {
        pattern.observed.push_back(j);
      }
    }
    const Index h = count_of(pattern.missing);
    pattern.precision.resize(h, h);
    pattern.regression.resize(h, predictors - h);
  }
  Index group = 0;
  for (Index i = 0; i < count && rows.groups() > 0; ++i) {
    while (rows.group_begin(group + 1) <= data.rows[i].row) ++group;
    group_[i] = group;
  }
  filled_.resize(predictors, count);
  ones_ = VectorXd::Ones(count);
  complete_sum_ = VectorXd::Zero(predictors);
  complete_square_ = MatrixXd::Zero(predictors, predictors);
  Index next = 0;
  VectorXd centred(predictors);
  for (Index i = 0; i < data.x.cols(); ++i) {
    centred = data.x.col(i) - data.start_mean;
    if (next < count && data.rows[next].row == i) {
      filled_.col(next++) = centred;
    } else {
      complete_sum_ += centred;
      complete_square_.selfadjointView<Eigen::Lower>().rankUpdate(centred);
    }
  }
  precision_.resize(predictors, predictors);
  work_.resize(predictors, predictors);
  rhs_.resize(predictors);
  start();
}

void MissingGibbs::fill() {
  set_added();
  for (std::size_t i = 0; i < data_.rows.size(); ++i) {
    const MissingPattern::Row& row = data_.rows[i];
    const Pattern& pattern = patterns_[row.pattern];
    for (std::size_t j = 0; j < pattern.missing.size(); ++j) {
      const Index k = pattern.missing[j];
      filled_(k, static_cast<Index>(i)) =
          state.value[row.first + static_cast<Index>(j)] - data_.start_mean[k];
    }
    write_cells(row);
  }
}

void MissingGibbs::draw_values(const ArrowVector& point, std::uint64_t sweep,
                               const RowMessages& messages) {
  factor_patterns();
  const Index count = count_of(data_.rows);
  executor_.run((count + kRows - 1) / kRows, [&](Index block) {
    auto loan = pool_.borrow();
    Stream stream(seed_, chain_, Purpose::missing, sweep,
                  static_cast<std::uint64_t>(block));
    const Index end = std::min(count, (block + 1) * kRows);
    for (Index i = block * kRows; i < end; ++i) {
      draw_row(i, point, messages, stream, *loan);
    }
  });
}

void MissingGibbs::draw_distribution(std::uint64_t sweep) {
  const Index predictors = data_.predictors();
  const double n = static_cast<double>(data_.x.cols());
  Stream stream(seed_, chain_, Purpose::predictors, sweep, 0);
  VectorXd& sum = rhs_;
  MatrixXd& square = work_;
  invert_covariance();
  if (grouped_.empty()) {
    sum = complete_sum_ + filled_.rowwise().sum();
    square = complete_square_;
    weighted_gram(filled_, ones_, gram_scratch_, square);
  } else {
    Stream own(seed_, chain_, Purpose::predictors, sweep, 1);
    grouped_.draw(filled_, precision_, own);
    grouped_.sums(filled_, sum, square);
    set_added();
  }
  const double shrink = 1.0 / data_.mean_var;
  mean_precision_ = n * precision_;
  mean_precision_.diagonal().array() += shrink;
  mean_llt_.compute(mean_precision_);
  shift_ = precision_.selfadjointView<Eigen::Lower>() * sum;
  shift_ -= shrink * data_.start_mean;
  mean_llt_.solveInPlace(shift_);
  state.mean.resize(predictors);
  normal_from_precision(stream, mean_llt_, shift_, state.mean);
  // About the reference: mu_x minus the observed means.
  square.selfadjointView<Eigen::Lower>().rankUpdate(sum, state.mean, -1.0);
  square.selfadjointView<Eigen::Lower>().rankUpdate(state.mean, n);
  square += data_.scale;
  square.triangularView<Eigen::StrictlyUpper>() = square.transpose();
  state.mean += data_.start_mean;
  inverse_wishart(stream, data_.df + n, square, wishart_, state.covariance);
}

void MissingGibbs::latent(const ArrowVector& point, ArrayXd& out) const {
  out.resize(count_of(data_.rows));
  for (Index i = 0; i < out.size(); ++i) out[i] = latent_row(i, point);
}

void MissingGibbs::start() {
  const Index predictors = data_.predictors();
  Stream stream(seed_, chain_, Purpose::init, 0, 2);
  state.mean = data_.start_mean;
  state.covariance = MatrixXd::Zero(predictors, predictors);
  state.covariance.diagonal() = data_.start_var;
  state.value.resize(data_.count);
  if (!grouped_.empty()) grouped_.start();
  for (const MissingPattern::Row& row : data_.rows) {
    Index at = row.first;
    for (const Index k : data_.patterns[row.pattern]) {
      state.value[at++] =
          data_.start_mean[k] + std::sqrt(data_.start_var[k]) * stream.normal();
    }
  }
  fill();
}

void MissingGibbs::set_added() {
  if (added_.size() == 0) {
    added_ = MatrixXd::Zero(filled_.rows(), filled_.cols());
  }
  if (grouped_.empty()) return;
  for (Index i = 0; i < added_.cols(); ++i) {
    const VectorXd own = grouped_.shift(data_.rows[i].row);
    for (Index d = 0; d < own.size(); ++d) {
      added_(data_.where[d], i) = own[d];
    }
  }
}

void MissingGibbs::invert_covariance() {
  covariance_llt_.compute(state.covariance);
  if (covariance_llt_.info() != Eigen::Success) {
    throw NumericError(
        "the covariance of the predictors is not positive definite");
  }
  precision_.setIdentity();
  covariance_llt_.solveInPlace(precision_);
}

void MissingGibbs::factor_patterns() {
  invert_covariance();
  for (Pattern& pattern : patterns_) {
    const Index h = pattern.precision.rows(), o = pattern.regression.cols();
    for (Index j = 0; j < h; ++j) {
      for (Index i = 0; i < h; ++i) {
        pattern.precision(i, j) =
            precision_(pattern.missing[i], pattern.missing[j]);
      }
      for (Index k = 0; k < o; ++k) {
        pattern.regression(j, k) =
            precision_(pattern.missing[j], pattern.observed[k]);
      }
    }
    if (h == 1) {
      const double value = pattern.precision(0, 0);
      pattern.precision(0, 0) = 1.0 / std::sqrt(value);
      pattern.regression /= value;
      continue;
    }
    const Eigen::LLT<Eigen::Ref<MatrixXd>> llt(pattern.precision);
    if (o > 0) llt.solveInPlace(pattern.regression);
    for (Index j = 0; j < h; ++j) {
      pattern.precision(j, j) = 1.0 / pattern.precision(j, j);
    }
  }
}

double MissingGibbs::latent_row(Index i, const ArrowVector& point) const {
  const Index row = data_.rows[i].row, p = rows_.x.rows();
  const double* x = rows_.x.data() + row * p;
  double f = rows_.offset[row] + VectorMap(x, p).dot(point.x);
  for (Index k = 0; k < rows_.z.rows(); ++k) {
    f += rows_.z(k, row) * point.group(k, group_[i]);
  }
  return f;
}

void MissingGibbs::draw_row(Index i, const ArrowVector& point,
                            const RowMessages& messages, Stream& stream,
                            Scratch& scratch) {
  const MissingPattern::Row& row = data_.rows[i];
  const Pattern& pattern = patterns_[row.pattern];
  const Index h = pattern.precision.rows(), o = pattern.regression.cols();
  const Index p = rows_.x.rows();
  if (scratch.slope.size() < h) {
    for (VectorXd* v :
         {&scratch.slope, &scratch.white, &scratch.noise, &scratch.mean}) {
      v->resize(h);
    }
  }
  double* slope = scratch.slope.data();
  double* white = scratch.white.data();
  double* noise = scratch.noise.data();
  double* mean = scratch.mean.data();
  double* x = filled_.data() + i * filled_.rows();
  const double* root = pattern.precision.data();
  const double* shift = added_.data() + i * added_.rows();

  std::fill(slope, slope + h, 0.0);
  for (Index u = row.use_begin; u < row.use_end; ++u) {
    const MissingPattern::Use& use = data_.uses[u];
    const double coefficient = use.column < p
                                   ? point.x[use.column]
                                   : point.group(use.column - p, group_[i]);
    slope[use.missing] += use.slope * coefficient;
  }
  double f = latent_row(i, point), variance = 0.0;
  for (Index j = 0; j < h; ++j) {
    const Index at = pattern.missing[j];
    double value = state.mean[at] + shift[at] - data_.start_mean[at];
    for (Index k = 0; k < o; ++k) {
      const Index from = pattern.observed[k];
      value -= pattern.regression(j, k) * (x[from] + data_.start_mean[from] -
                                           state.mean[from] - shift[from]);
    }
    mean[j] = value;
    f += slope[j] * (value - x[at]);
    double forward = slope[j];
    for (Index k = 0; k < j; ++k) forward -= root[k * h + j] * white[k];
    white[j] = forward * root[j * h + j];
    variance += white[j] * white[j];
  }
  const double weight = rows_.weight[row.row];
  const bool informed = variance > 0.0 && weight > 0.0;
  // A single value has no direction but that of f.
  for (Index j = 0; j < h; ++j) {
    noise[j] = informed && h == 1 ? 0.0 : stream.normal();
  }
  if (informed) {
    const double sd = std::sqrt(variance), inverse = 1.0 / sd;
    double along = 0.0, draw;
    for (Index j = 0; j < h; ++j) along += white[j] * noise[j];
    if (messages.kappa != nullptr) {
      const double kappa = messages.kappa[row.row];
      const double shrink = 1.0 / (1.0 + kappa * variance);
      const double linear =
          messages.linear[row.row] - kappa * (f - rows_.offset[row.row]);
      draw = sd * shrink * linear + std::sqrt(shrink) * stream.normal();
    } else {
      const double y = rows_.y[row.row];
      draw =
          y * tilted_normal(stream, (y * f - 1.0) * inverse, 2.0 * weight * sd);
    }
    const double step = (draw - along * inverse) * inverse;
    for (Index j = 0; j < h; ++j) noise[j] += step * white[j];
  }
  for (Index j = h; j-- > 0;) {
    double backward = noise[j];
    for (Index k = j + 1; k < h; ++k) backward -= root[j * h + k] * noise[k];
    noise[j] = backward * root[j * h + j];
    const Index at = pattern.missing[j];
    x[at] = mean[j] + noise[j];
    state.value[row.first + j] = x[at] + data_.start_mean[at];
  }
  write_cells(row);
}

void MissingGibbs::write_cells(const MissingPattern::Row& row) {
  const Index p = rows_.x.rows();
  for (Index u = row.use_begin; u < row.use_end; ++u) {
    const MissingPattern::Use& use = data_.uses[u];
    double& cell = use.column < p ? rows_.x(use.column, row.row)
                                  : rows_.z(use.column - p, row.row);
    cell = use.base + use.slope * state.value[row.first + use.missing];
  }
}

double tilted_normal(Stream& stream, double at, double tilt) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double above = scaled_normal_tail(-at);
  const double below = scaled_normal_tail(at + tilt);
  const double u = stream.uniform();
  if (u * below < (1.0 - u) * above) {
    return truncated_normal(stream, -at, kInfinity);
  }
  return tilt + truncated_normal(stream, -kInfinity, -(at + tilt));
}
}  // namespace bayeskernel
