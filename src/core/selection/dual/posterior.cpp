#include "selection/dual/posterior.hpp"

#include "error.hpp"
#include "math/cholesky.hpp"
#include "math/special.hpp"

namespace bayeskernel {
void WidePosterior::set(const VectorXd& w, const VectorXd& l,
                        const VectorXd& inclusion, const VectorXd& slab) {
  const Index size = x_.cols(), fixed = f_.cols(), n = x_.rows();
  w_ = w;
  inclusion_ = inclusion;
  shift = x_.transpose() * l;
  squares = x_.cwiseAbs2().transpose() * w;
  prior_ = slab.array() +
           squares.array() * inclusion.array() * (1.0 - inclusion.array());
  const VectorXd root = w.cwiseSqrt();
  list_used(inclusion);
  const Index used = count_of(used_);
  work_.resize(n, used);
  VectorXd gradient(used), scale(used);
  for (Index u = 0; u < used; ++u) {
    const Index k = used_[u];
    scale[u] = std::sqrt(prior_[k]);
    work_.col(u) = inclusion[k] / scale[u] * x_.col(k);
    gradient[u] = inclusion[k] * shift[k] / scale[u];
  }
  outer_product(work_, q_, [](Index) { return 1.0; });
  MatrixXd inner = root.asDiagonal() * q_ * root.asDiagonal();
  inner.diagonal().array() += 1.0;
  Eigen::LLT<MatrixXd> llt;
  jittered_cholesky(inner, llt);
  MatrixXd m = root.asDiagonal();
  llt.matrixL().solveInPlace(m);
  lower_.set(m);
  m = (m.transpose() * m).eval();
  const VectorXd z0 = work_ * gradient;
  const MatrixXd mf = m * f_;
  log_det = bayeskernel::log_det(llt) + prior_.array().log().sum();
  if (fixed > 0) {
    MatrixXd inverse = f_.transpose() * mf;
    inverse.diagonal() += fixed_precision_;
    Eigen::LLT<MatrixXd> outer;
    jittered_cholesky(inverse, outer);
    log_det += bayeskernel::log_det(outer);
    fixed_covariance = outer.solve(MatrixXd::Identity(fixed, fixed));
    fixed_mean =
        fixed_covariance * (fixed_precision_.cwiseProduct(fixed_mean_) +
                            f_.transpose() * l - mf.transpose() * z0);
    m_.noalias() = m - mf * fixed_covariance * mf.transpose();
  } else {
    m_ = m;
    fixed_mean.resize(0);
    fixed_covariance.resize(0, 0);
  }
  // y_k' M* y_k / D_k, the share of the prior's variance that is gone.
  gone_ = VectorXd::Zero(used);
  lower_.add_norms(work_.data(), used, half_, gone_.data());
  cross_ = MatrixXd::Zero(fixed, used);
  if (fixed > 0) {
    const MatrixXd fy = mf.transpose() * work_;
    cross_.noalias() = -fixed_covariance * fy;
    gone_ += fy.cwiseProduct(cross_).colwise().sum().transpose();
    cross_ *= scale.cwiseInverse().asDiagonal();
  }
  const VectorXd away =
      gradient - work_.transpose() * (m * z0 + mf * fixed_mean);
  mean = VectorXd::Zero(size);
  variance = prior_.cwiseInverse();
  for (Index u = 0; u < used; ++u) {
    const Index k = used_[u];
    mean[k] = away[u] / scale[u];
    variance[k] = (1.0 - gone_[u]) / prior_[k];
    // The data's share of a precision may leave no digit of the variance.
    if (!(1.0 - gone_[u] > 1e-10)) {
      throw NumericError("a column's variance is lost to rounding");
    }
  }
  if (!mean.allFinite()) throw NumericError("a mean is not finite");
  f_mean_ = f_ * fixed_mean;
  f_mean_.noalias() += work_ * scale.cwiseProduct(pick(mean));
}

void WidePosterior::update_odds(double prior, VectorXd& odds) {
  for (Index k = 0; k < x_.cols(); ++k) {
    if (place_[k] < 0) set_odds(k, odds_without(prior, k), odds);
  }
  const Index n = x_.rows(), used = count_of(used_);
  VectorXd weight(used), from(used);
  for (Index u = 0; u < used; ++u) {
    const Index k = used_[u];
    from[u] = inclusion_[k];
    weight[u] = from[u] * squares[k] / prior_[k];
  }
  const double most = used > 0 ? weight.maxCoeff() : 0.0;
  double left_out = 0.0, moved = 0.0;
  VectorXd weighted_f = w_.cwiseProduct(f_mean_), coupled(kBatch);
  left_.resize(n, kHeld);
  right_.resize(n, kHeld);
  Index held = 0;
  bool any = false;  // in the matrix
  for (Index first = 0; first < used; first += kBatch) {
    const Index count = std::min(kBatch, used - first);
    const auto work = work_.middleCols(first, count);
    if (held + count > kHeld) {
      if (!any) change_ = MatrixXd::Zero(n, n);
      any = true;
      keep_pairs(held);
      held = 0;
    }
    coupled.setZero();
    if (any) {
      batch_.resize(n, count);
      lower_.apply(work.data(), count, batch_.data(), norms_);
      coupled.head(count) = batch_.cwiseProduct(work).colwise().sum();
    }
    const Index before = held;
    if (before > 0) {
      inner_.noalias() = left_.leftCols(before).transpose() * work;
      batch_.noalias() = right_.leftCols(before).transpose() * work;
      coupled.head(count) += inner_.cwiseProduct(batch_).colwise().sum();
    }
    for (Index j = 0; j < count; ++j) {
      const Index u = first + j, k = used_[u];
      for (Index h = before; h < held; ++h) {
        coupled[j] +=
            left_.col(h).dot(work.col(j)) * right_.col(h).dot(work.col(j));
      }
      const double change =
          set_odds(k,
                   odds_without(prior, k) + (coupled[j] - gone_[u]) / from[u] -
                       mean[k] * x_.col(k).dot(weighted_f),
                   odds);
      if (change == 0.0) continue;
      weighted_f += (change * mean[k]) * w_.cwiseProduct(x_.col(k));
      const double size = std::abs(change) * weight[u];
      moved += size;
      if ((left_out + size) * most < kLittle) {
        left_out += size;
        continue;
      }
      // x_j d y_j' / D_j = d / g_j times the square of a column of `work`.
      left_.col(held) = change / from[u] * w_.cwiseProduct(work.col(j));
      right_.col(held++).noalias() = m_ * work.col(j);
    }
  }
  for (Index u = 0; u < used; ++u) {
    f_mean_ +=
        ((inclusion_[used_[u]] - from[u]) * mean[used_[u]]) * x_.col(used_[u]);
  }
  if (moved < kNothing) return;
  outer_product(work_, q_,
                [&](Index u) { return inclusion_[used_[u]] / from[u]; });
}

void WidePosterior::rows(VectorXd& m, VectorXd& s) const {
  const Index n = x_.rows();
  m = f_mean_;
  s = VectorXd::Zero(n);
  MatrixXd along = f_ * fixed_covariance;
  for (std::size_t u = 0; u < used_.size(); ++u) {
    along.noalias() +=
        x_.col(used_[u]) * (2.0 * inclusion_[used_[u]] *
                            cross_.col(static_cast<Index>(u)).transpose());
  }
  s += along.cwiseProduct(f_).rowwise().sum();
  s -= (q_ * m_).cwiseProduct(q_).rowwise().sum();
  for (Index k = 0; k < x_.cols(); ++k) {
    const double g = inclusion_[k];
    const double second = variance[k] + mean[k] * mean[k];
    s += (g * g / prior_[k] + g * (1.0 - g) * second) * x_.col(k).cwiseAbs2();
  }
  s = s.cwiseMax(0.0);
}

MatrixXd WidePosterior::covariance() const {
  const Index fixed = f_.cols(), size = x_.cols();
  MatrixXd out = MatrixXd::Zero(fixed + size, fixed + size);
  out.diagonal().tail(size) = prior_.cwiseInverse();
  out.topLeftCorner(fixed, fixed) = fixed_covariance;
  const MatrixXd inner = work_.transpose() * m_ * work_;
  for (std::size_t u = 0; u < used_.size(); ++u) {
    const Index at = static_cast<Index>(u), k = used_[u];
    out.block(0, fixed + k, fixed, 1) = cross_.col(at);
    out.block(fixed + k, 0, 1, fixed) = cross_.col(at).transpose();
    for (std::size_t v = 0; v < used_.size(); ++v) {
      out(fixed + used_[v], fixed + k) -=
          inner(static_cast<Index>(v), at) /
          std::sqrt(prior_[k] * prior_[used_[v]]);
    }
  }
  return out;
}

void WidePosterior::keep_pairs(Index count) {
  pairs_.resize(left_.rows(), 2 * count);
  pairs_.leftCols(count) = left_.leftCols(count) + right_.leftCols(count);
  pairs_.rightCols(count) = left_.leftCols(count) - right_.leftCols(count);
  VectorXd sign = VectorXd::Constant(2 * count, 0.5);
  sign.tail(count).array() = -0.5;
  weighted_gram(pairs_, sign, half_, change_);
  batch_ = change_;
  batch_.diagonal() *= 0.5;
  lower_.set(batch_);
}

double WidePosterior::odds_without(double prior, Index k) const {
  const double second = variance[k] + mean[k] * mean[k];
  return prior + mean[k] * shift[k] +
         squares[k] * second * (inclusion_[k] - 0.5);
}

double WidePosterior::set_odds(Index k, double value, VectorXd& odds) {
  odds[k] = value;
  const double change = expit(value) - inclusion_[k];
  inclusion_[k] += change;
  return change;
}

void WidePosterior::list_used(const VectorXd& inclusion) {
  used_.clear();
  place_.assign(x_.cols(), -1);
  for (Index k = 0; k < x_.cols(); ++k) {
    if (inclusion[k] < kOut) continue;
    place_[k] = count_of(used_);
    used_.push_back(k);
  }
}

VectorXd WidePosterior::pick(const VectorXd& v) const {
  VectorXd out(used_.size());
  for (std::size_t u = 0; u < used_.size(); ++u) {
    out[static_cast<Index>(u)] = v[used_[u]];
  }
  return out;
}
}  // namespace bayeskernel
