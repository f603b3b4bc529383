#include "expansion/collapsed_gaussian.hpp"

#include "error.hpp"
#include "math/normal.hpp"

namespace bayeskernel {
Index CollapsedScratch::stride(Index capacity) {
  const Index lines = (capacity + 8) / 8;
  return 8 * (lines + 1 - lines % 2);
}

double* CollapsedGaussian::set_gram(Index m) {
  m_ = m;
  return gram_.data();
}

void CollapsedGaussian::set_response(Index rows, double square) {
  rows_ = rows;
  square_ = square;
}

void CollapsedGaussian::rebuild() {
  edits_ = 0;
  broken_ = false;
  fill_bordered(gram_, dots_, phi_);
  const double log_det =
      sweep_bordered(work(), stride_, m_, scratch_->pivots.data(), 1.0);
  refuse_failure(log_det);
  for (Index j = 0; j < m_; ++j) {
    const double root = work_root()[j];
    const double* from = work() + j * stride_;
    double* to = covariance_.data() + j * stride_;
    for (Index i = j; i < m_; ++i) {
      to[i] = -root * work_root()[i] * from[i];
      covariance_[i * stride_ + j] = to[i];
    }
    mean_[j] = std::sqrt(phi_) * root * from[m_];
  }
  log_marginal_ = marginal(log_det, phi_);
}

void CollapsedGaussian::replace_response(const double* dots, double square) {
  const double before = quadratic_form();
  std::copy_n(dots, m_, dots_.data());
  square_ = square;
  std::fill_n(mean_.data(), m_, 0.0);
  for (Index j = 0; j < m_; ++j) {
    const double weight = phi_ * dots_[j];
    const double* column = covariance(j);
    for (Index i = 0; i < m_; ++i) mean_[i] += weight * column[i];
  }
  log_marginal_ += 0.5 * (before - quadratic_form());
}

double CollapsedGaussian::quadratic_form() const {
  double fitted = 0.0;
  for (Index i = 0; i < m_; ++i) fitted += dots_[i] * mean_[i];
  return phi_ * (square_ - fitted);
}

ColumnEdit CollapsedGaussian::rescale(Index i, double v,
                                      const ColumnEdit& after) const {
  const double e = 1.0 / v - 1.0 / variance_[i];
  const double sigma = variance_after(i, after);
  const double mu = mean_after(i, after);
  const double grown = 1.0 + e * sigma;
  ColumnEdit out;
  out.column = i;
  out.factor = e / grown;
  out.change =
      0.5 * std::log(variance_[i] / (v * grown)) - 0.5 * out.factor * mu * mu;
  if (!(grown > 0.0)) out.change = -std::numeric_limits<double>::infinity();
  return out;
}

ColumnEdit CollapsedGaussian::remove(Index i) const {
  const double sigma = posterior_variance(i);
  ColumnEdit out;
  out.column = i;
  out.factor = 1.0 / sigma;
  out.change = 0.5 * std::log(variance_[i] * out.factor) -
               0.5 * mean_[i] * mean_[i] * out.factor;
  return out;
}

ColumnAddition CollapsedGaussian::add(const double* dots, double own,
                                      double response, double v,
                                      const ColumnEdit& after) {
  double explained = 0.0, predicted = 0.0;
  project(dots);
  for (Index i = 0; i < m_; ++i) {
    explained += dots[i] * work_row()[i];
    predicted += dots[i] * mean_[i];
  }
  double residual = response - predicted;
  if (after.column >= 0) {
    const double along = work_row()[after.column];
    explained -= after.factor * along * along;
    residual += after.factor * mean_[after.column] * along;
  }
  ColumnAddition out;
  out.shrunk = std::max(own - phi_ * explained, 0.0);
  out.residual = residual;
  double t = 1.0 + phi_ * v * out.shrunk;
  if (loses_addition(phi_ * v * own, t)) {
    add_by_factor(dots, own, response, v, after, out);
    t = 1.0 + phi_ * v * out.shrunk;
  }
  out.change = -0.5 * std::log(t) +
               0.5 * phi_ * phi_ * v * out.residual * out.residual / t;
  return out;
}

void CollapsedGaussian::commit_rescale(const ColumnEdit& edit, double v) {
  rank_one(edit.column, edit.factor);
  variance_[edit.column] = v;
  done(edit.change);
}

void CollapsedGaussian::commit_remove(const ColumnEdit& edit) {
  rank_one(edit.column, edit.factor);
  const Index i = edit.column, last = m_ - 1;
  if (i != last) {
    move_last(gram_, i);
    move_last(covariance_, i);
    variance_[i] = variance_[last];
    dots_[i] = dots_[last];
    mean_[i] = mean_[last];
  }
  --m_;
  done(edit.change);
}

void CollapsedGaussian::commit_add(const double* dots, double own,
                                   double response, double v,
                                   const ColumnAddition& addition) {
  const double grown = v / (1.0 + phi_ * v * addition.shrunk);
  const double weight = phi_ * grown * addition.residual;
  const double* h = work_row();
  for (Index j = 0; j < m_; ++j) {
    const double factor = phi_ * phi_ * grown * h[j];
    double* column = covariance_.data() + j * stride_;
    for (Index i = 0; i < m_; ++i) column[i] += factor * h[i];
    column[m_] = covariance_[m_ * stride_ + j] = -phi_ * grown * h[j];
    gram_[j * stride_ + m_] = gram_[m_ * stride_ + j] = dots[j];
    mean_[j] -= phi_ * weight * h[j];
  }
  covariance_[m_ * stride_ + m_] = grown;
  gram_[m_ * stride_ + m_] = own;
  mean_[m_] = phi_ * grown * addition.residual;
  variance_[m_] = v;
  dots_[m_] = response;
  ++m_;
  done(addition.change);
}

double CollapsedGaussian::add_row(const double* k, double y) {
  project(k);
  double variance = 0.0, residual = y;
  for (Index i = 0; i < m_; ++i) {
    variance += k[i] * work_row()[i];
    residual -= k[i] * mean_[i];
  }
  const double weight = phi_ / (1.0 + phi_ * variance);
  for (Index j = 0; j < m_; ++j) {
    const double along = weight * work_row()[j];
    double* column = covariance_.data() + j * stride_;
    double* products = gram_.data() + j * stride_;
    for (Index i = 0; i < m_; ++i) {
      column[i] -= along * work_row()[i];
      products[i] += k[j] * k[i];
    }
    if (!(column[j] >= 0.0)) broken_ = true;
    dots_[j] += y * k[j];
    mean_[j] += along * residual;
  }
  ++rows_;
  square_ += y * y;
  const double change =
      0.5 * (std::log(weight) - weight * residual * residual) -
      detail::kLogSqrtTwoPi;
  done(change);
  return change;
}

bool CollapsedGaussian::stale() const {
  return edits_ >= kMostEdits || broken_ ||
         (edits_ > 0 && largest_entry() > kSafeEntry);
}

double CollapsedGaussian::residual_square(const double* b) const {
  double sum = square_;
  for (Index j = 0; j < m_; ++j) {
    const double* column = gram_.data() + j * stride_;
    double fitted = 0.0;
    for (Index i = 0; i < m_; ++i) fitted += column[i] * b[i];
    sum += b[j] * (fitted - 2.0 * dots_[j]);
  }
  return sum;
}

double CollapsedGaussian::largest_entry() const {
  double largest = 0.0;
  for (Index i = 0; i < m_; ++i) {
    largest = std::max(largest, variance_[i] * gram_[i * stride_ + i]);
  }
  return phi_ * largest;
}

void CollapsedGaussian::add_by_factor(const double* dots, double own,
                                      double response, double v,
                                      const ColumnEdit& after,
                                      ColumnAddition& out) {
  const double root_phi = std::sqrt(phi_);
  for (Index i = 0; i < m_; ++i) work_root()[i] = std::sqrt(variance_[i]);
  if (after.column >= 0) {
    // The variance at which the edit leaves its column; 0 if it goes.
    const double kept = 1.0 - after.factor * posterior_variance(after.column);
    const double precision =
        1.0 / variance_[after.column] + after.factor / kept;
    work_root()[after.column] =
        kept > 1e-12 ? std::sqrt(1.0 / std::max(precision, 1e-300)) : 0.0;
  }
  work_root()[m_] = std::sqrt(v);
  for (Index j = 0; j <= m_; ++j) {
    const double factor = phi_ * work_root()[j];
    const double* from = gram_.data() + j * stride_;
    double* to = work() + j * stride_;
    for (Index i = j; i < m_; ++i) to[i] = factor * work_root()[i] * from[i];
    to[m_] = factor * work_root()[m_] * (j < m_ ? dots[j] : own);
    to[j] += 1.0;
    to[m_ + 1] = root_phi * work_root()[j] * (j < m_ ? dots_[j] : response);
  }
  work()[(m_ + 1) * stride_ + m_ + 1] = square_;
  const double log_det = eliminate_forward(work(), stride_, m_ + 1, 1.0);
  if (!std::isfinite(log_det)) return;
  const double* last = work() + m_ * stride_;
  out.shrunk = (last[m_] - 1.0) / (phi_ * v);
  out.residual = last[m_ + 1] / (root_phi * work_root()[m_]);
}

double CollapsedGaussian::variance_after(Index j,
                                         const ColumnEdit& edit) const {
  if (edit.column < 0) return posterior_variance(j);
  const double cross = covariance(edit.column)[j];
  return posterior_variance(j) - edit.factor * cross * cross;
}

double CollapsedGaussian::mean_after(Index j, const ColumnEdit& edit) const {
  if (edit.column < 0) return mean_[j];
  return mean_[j] -
         edit.factor * mean_[edit.column] * covariance(edit.column)[j];
}

void CollapsedGaussian::fill_bordered(const AlignedBuffer& gram,
                                      const AlignedBuffer& dots, double phi) {
  const double root_phi = std::sqrt(phi);
  for (Index i = 0; i < m_; ++i) work_root()[i] = std::sqrt(variance_[i]);
  for (Index j = 0; j < m_; ++j) {
    const double factor = phi * work_root()[j];
    const double* from = gram.data() + j * stride_;
    double* to = work() + j * stride_;
    for (Index i = j; i < m_; ++i) to[i] = factor * work_root()[i] * from[i];
    to[j] += 1.0;
    to[m_] = root_phi * work_root()[j] * dots[j];
  }
  work()[m_ * stride_ + m_] = square_;
}

double CollapsedGaussian::marginal(double log_det, double phi) const {
  return 0.5 * (static_cast<double>(rows_) *
                    (std::log(phi) - 2.0 * detail::kLogSqrtTwoPi) -
                log_det - phi * work()[m_ * stride_ + m_]);
}

double CollapsedGaussian::evaluate(const AlignedBuffer& gram,
                                   const AlignedBuffer& dots, double both,
                                   double phi) {
  fill_bordered(gram, dots, both);
  const double log_det = eliminate_forward(work(), stride_, m_, 1.0);
  evaluated_ = std::isfinite(log_det)
                   ? marginal(log_det, phi)
                   : -std::numeric_limits<double>::infinity();
  return evaluated_;
}

double CollapsedGaussian::evaluate_scaled(const AlignedBuffer& gram,
                                          const AlignedBuffer& dots, double phi,
                                          double factor, Index first,
                                          Index count) {
  if (count == m_) return evaluate(gram, dots, phi * factor, phi);
  double* from = variance_.data() + first;
  double* kept = scratch_->row.data();
  std::copy_n(from, count, kept);
  for (Index i = 0; i < count; ++i) from[i] *= factor;
  const double out = evaluate(gram, dots, phi, phi);
  std::copy_n(kept, count, from);
  return out;
}

void CollapsedGaussian::refuse_failure(double log_det) const {
  if (!std::isfinite(log_det)) {
    throw NumericError("a covariance of the coefficients is not finite");
  }
}

void CollapsedGaussian::project(const double* dots) {
  for (Index i = 0; i < m_; ++i) work_row()[i] = 0.0;
  for (Index j = 0; j < m_; ++j) {
    const double weight = dots[j];
    const double* column = covariance(j);
    for (Index i = 0; i < m_; ++i) work_row()[i] += weight * column[i];
  }
}

void CollapsedGaussian::rank_one(Index c, double factor) {
  const double* along = covariance(c);
  for (Index i = 0; i < m_; ++i) work_row()[i] = along[i];
  const double shift = factor * mean_[c];
  for (Index j = 0; j < m_; ++j) {
    const double weight = factor * work_row()[j];
    double* column = covariance_.data() + j * stride_;
    for (Index i = 0; i < m_; ++i) column[i] -= weight * work_row()[i];
    mean_[j] -= shift * work_row()[j];
    if (!(column[j] >= 0.0)) broken_ = true;
  }
}

void CollapsedGaussian::move_last(AlignedBuffer& square, Index i) {
  const Index last = m_ - 1;
  double* to = square.data() + i * stride_;
  std::copy_n(square.data() + last * stride_, m_, to);
  to[i] = to[last];
  for (Index j = 0; j < last; ++j) square[j * stride_ + i] = to[j];
}

void CollapsedGaussian::done(double change) {
  log_marginal_ += change;
  ++edits_;
}
}  // namespace bayeskernel
