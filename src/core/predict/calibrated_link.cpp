#include "predict/calibrated_link.hpp"

#include <numeric>

namespace bayeskernel {
double CalibratedLink::shrink(double v, Index c) const {
  const double ratio = kProbit * slope * slope;
  return std::sqrt((1.0 + ratio * std::max(v, offset[c])) /
                   (1.0 + ratio * offset[c]));
}

void CalibratedLink::row(const double* m, const double* v, Index stride,
                         VectorXd& p) const {
  const Index k = intercept.size();
  p.resize(k);
  for (Index c = 0; c < k; ++c) {
    const double off = m[c * stride] - centre[c];
    p[c] = intercept[c] + slope * (centre[c] + off / shrink(v[c * stride], c));
  }
  if (k == 1) {
    p[0] = 1.0 / (1.0 + std::exp(-p[0]));
  } else {
    p = (p.array() - p.maxCoeff()).exp();
    p /= p.sum();
  }
}

CalibratedLinkFit::CalibratedLinkFit(const MatrixRef& mean,
                                     const MatrixRef& variance,
                                     const Eigen::Ref<const Eigen::VectorXi>& y,
                                     const VectorRef& weight,
                                     const VectorXd& offset)
    : m_(mean),
      v_(variance.cwiseMax(0.0)),
      offset_(offset.size() > 0 ? offset : VectorXd::Zero(mean.cols())),
      y_(y),
      w_(weight) {
  const double total = std::max(w_.sum(), 1e-300);
  const double k = static_cast<double>(m_.cols());
  const double centre = (w_.transpose() * m_).sum() / (total * k);
  const double square =
      (w_.transpose() * (m_.array() - centre).square().matrix()).sum() /
      (total * k);
  // Where every mean is the same there is nothing to scale by.
  scale_ = square > 0.0 && std::isfinite(square) ? std::sqrt(square) : 1.0;
}

double CalibratedLinkFit::objective(const VectorXd& theta, VectorXd* gradient,
                                    MatrixXd* hessian) const {
  const Index n = m_.rows(), k = m_.cols();
  const double t = theta[k];
  const double kappa = std::exp(t) / scale_;
  const double ratio = CalibratedLink::kProbit * kappa * kappa;
  double value =
      0.5 * theta.head(k).squaredNorm() / (kInterceptPrior * kInterceptPrior) +
      0.5 * t * t / (kSlopePrior * kSlopePrior);
  if (gradient != nullptr) {
    gradient->resize(k + 1);
    gradient->head(k) = theta.head(k) / (kInterceptPrior * kInterceptPrior);
    (*gradient)[k] = t / (kSlopePrior * kSlopePrior);
  }
  if (hessian != nullptr) {
    hessian->setZero(k + 1, k + 1);
    hessian->diagonal().head(k).setConstant(
        1.0 / (kInterceptPrior * kInterceptPrior));
    (*hessian)(k, k) = 1.0 / (kSlopePrior * kSlopePrior);
  }
  VectorXd eta(k), first(k), second(k), p(k), slope(k);
  for (Index i = 0; i < n; ++i) {
    if (w_[i] == 0.0) continue;
    for (Index c = 0; c < k; ++c) {
      const double q = 1.0 + ratio * std::max(v_(i, c), offset_[c]);
      const double usual = 1.0 + ratio * offset_[c];
      const double along = kappa * m_(i, c) * std::sqrt(usual / q);
      eta[c] = theta[c] + along;
      // d eta / dt, d^2 eta / dt^2.
      const double g = 1.0 + 1.0 / q - 1.0 / usual;
      first[c] = along * g;
      second[c] = along * (g * g - 2.0 * (q - 1.0) / (q * q) +
                           2.0 * (usual - 1.0) / (usual * usual));
    }
    // Of two classes the other one has eta = 0.
    const double top = k == 1 ? std::max(eta[0], 0.0) : eta.maxCoeff();
    p = (eta.array() - top).exp();
    const double sum = p.sum() + (k == 1 ? std::exp(-top) : 0.0);
    p /= sum;
    const bool own = k > 1 || y_[i] == 1;
    const Index at = k > 1 ? y_[i] : 0;
    value += w_[i] * (top + std::log(sum) - (own ? eta[at] : 0.0));
    if (gradient == nullptr) continue;
    slope = p;
    if (own) slope[at] -= 1.0;
    gradient->head(k) += w_[i] * slope;
    (*gradient)[k] += w_[i] * slope.dot(first);
    if (hessian == nullptr) continue;
    const double along = p.dot(first);
    for (Index c = 0; c < k; ++c) {
      (*hessian)(c, c) += w_[i] * p[c];
      (*hessian).col(c).head(k) -= w_[i] * p[c] * p;
      (*hessian)(k, c) += w_[i] * p[c] * (first[c] - along);
    }
    (*hessian)(k, k) +=
        w_[i] * (p.dot(first.cwiseAbs2()) - along * along + slope.dot(second));
  }
  if (hessian != nullptr) {
    hessian->col(k).head(k) = hessian->row(k).head(k).transpose();
  }
  return value;
}

CalibratedLink CalibratedLinkFit::run(bool quick) {
  CalibratedLink out;
  const Index k = m_.cols();
  VectorXd found = climb(quick);
  out.intercept = found.head(k);
  out.slope = std::exp(found[k]) / scale_;
  out.centre = out.offset = VectorXd::Zero(k);
  by_variance_ = best_;
  const VectorXd centre = m_.transpose() * w_ / std::max(w_.sum(), 1e-300);
  CalibratedLinkFit second(m_.rowwise() - centre.transpose(), v_, y_, w_,
                           usual_variance());
  found = second.climb(quick);
  by_excess_ = second.best_ + second.extra_worth();
  if (by_excess_ < best_ - kWorth) {
    best_ = second.best_;
    out.slope = std::exp(found[k]) / second.scale_;
    out.intercept = found.head(k) - out.slope * centre;
    out.centre = centre;
    out.offset = second.offset_;
  }
  return out;
}

VectorXd CalibratedLinkFit::usual_variance() const {
  VectorXd out(v_.cols());
  std::vector<Index> order(static_cast<std::size_t>(v_.rows()));
  for (Index c = 0; c < v_.cols(); ++c) {
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return v_(a, c) < v_(b, c); });
    double below = 0.0;
    out[c] = 0.0;
    for (const Index i : order) {
      if (below >= kBelow * w_.sum()) break;
      below += w_[i];
      out[c] = v_(i, c);
    }
  }
  return out;
}

double CalibratedLinkFit::extra_worth() const {
  const VectorXd square = m_.array().square().matrix().transpose() * w_ /
                          std::max(w_.sum(), 1e-300);
  double least = std::numeric_limits<double>::infinity();
  for (Index c = 0; c < square.size(); ++c) {
    least = std::min(least, 2.0 * square[c] / std::max(offset_[c], 1e-300));
  }
  return kWorth * (std::pow(std::max(least, 1.0), 2) - 1.0);
}

VectorXd CalibratedLinkFit::climb(bool quick) {
  const Index k = m_.cols();
  VectorXd frequency = VectorXd::Constant(k, 0.5);
  if (k > 1) frequency.setConstant(1.0);
  double total = k > 1 ? static_cast<double>(k) : 1.0;
  for (Index i = 0; i < m_.rows(); ++i) {
    total += w_[i];
    if (k > 1)
      frequency[y_[i]] += w_[i];
    else if (y_[i] == 1)
      frequency[0] += w_[i];
  }
  VectorXd base = (frequency / total).array().log();
  if (k == 1) {
    base[0] -= std::log1p(-frequency[0] / total);
  } else {
    base.array() -= base.mean();
  }
  best_ = std::numeric_limits<double>::infinity();
  VectorXd theta(k + 1), found = VectorXd::Zero(k + 1);
  for (int start = quick ? 1 : 0; start < (quick ? 2 : 3); ++start) {
    theta.setZero();
    if (start > 0) theta.head(k) = base;
    if (start == 2) theta[k] = std::log(0.1);
    const double end = descend(theta);
    if (end < best_) {
      best_ = end;
      found = theta;
    }
  }
  return found;
}

double CalibratedLinkFit::descend(VectorXd& theta) const {
  VectorXd gradient, step, trial;
  MatrixXd hessian;
  double value = objective(theta, &gradient, &hessian);
  for (int pass = 0; pass < 100; ++pass) {
    if (!std::isfinite(value)) break;
    Eigen::LLT<MatrixXd> llt(hessian);
    for (double raise = 1e-3 * hessian.diagonal().cwiseAbs().maxCoeff();
         llt.info() != Eigen::Success; raise *= 10.0) {
      MatrixXd raised = hessian;
      raised.diagonal().array() += raise;
      llt.compute(raised);
      if (!std::isfinite(raise)) return value;
    }
    step = -llt.solve(gradient);
    // A step beyond two units leaves where the quadratic holds.
    const double longest = step.cwiseAbs().maxCoeff();
    if (longest > 2.0) step *= 2.0 / longest;
    const double slope = gradient.dot(step);
    double size = 1.0, next = value;
    for (; size > 1e-8; size *= 0.5) {
      trial = theta + size * step;
      next = objective(trial, nullptr, nullptr);
      if (next <= value + 1e-4 * size * slope) break;
    }
    if (size <= 1e-8) break;
    theta = trial;
    if (-slope < 1e-12 * (1.0 + std::abs(value))) {
      value = next;
      break;
    }
    value = objective(theta, &gradient, &hessian);
  }
  return value;
}
}  // namespace bayeskernel
