#include "multinomial/weight_posterior.hpp"

#include <numeric>

#include "error.hpp"
#include "math/special.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
WeightPosterior::WeightPosterior(Index size, const WeightSettings& settings)
    : size_(size), set_(settings) {
  if (size < 2 && !settings.product) {
    throw ArgumentError("one space has no weight to learn");
  }
  if (set_.binary) {
    list_subsets();
    return;
  }
  const double s = static_cast<double>(size);
  if (set_.product) {
    const auto mean = [&](double of) { return set_.held ? of : 1.0 / of; };
    shape_ = VectorXd::Constant(size, mean(set_.first));
    rate_ = VectorXd::Constant(size, mean(set_.second));
    guess_ = VectorXd::Ones(size);
    return;
  }
  guess_ = VectorXd::Constant(size, 1.0 / s);
  rate_ = VectorXd::Zero(size);
  if (set_.held) {
    shape_ = VectorXd::Constant(size, set_.first);
  } else {
    draw_rho();
  }
  if (!set_.slice && !set_.printed) draw_flat();
}

MatrixXd WeightPosterior::spread() const {
  const SymmetricEigen own(covariance_);
  const VectorXd& value = own.eigenvalues();
  const double least = 1e-12 * std::max(value[size_ - 1], 1e-30);
  Index first = 0;
  while (first < size_ && value[first] <= least) ++first;
  return own.eigenvectors().rightCols(size_ - first) *
         value.tail(size_ - first).cwiseSqrt().asDiagonal();
}

MatrixXd WeightPosterior::draws(Index count) const {
  MatrixXd out(size_, count);
  double below = share_[0];
  Index at = 0;
  for (Index k = 0; k < count; ++k) {
    const double u =
        (static_cast<double>(k) + 0.5) / static_cast<double>(count);
    while (below < u && at + 1 < share_.size()) below += share_[++at];
    out.col(k) = points_.col(at);
  }
  return out;
}

double WeightPosterior::quantile(Index s, double probability) const {
  std::vector<Index> order(static_cast<std::size_t>(share_.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(),
            [&](Index i, Index j) { return points_(s, i) < points_(s, j); });
  double below = 0.0;
  for (const Index k : order) {
    below += share_[k];
    if (below >= probability) return points_(s, k);
  }
  return points_(s, order.back());
}

Stream WeightPosterior::stream(std::uint64_t block) const {
  return Stream(set_.seed, 0, Purpose::kernels,
                static_cast<std::uint64_t>(places_), block);
}

VectorXd WeightPosterior::weights_at(const VectorXd& z) const {
  if (set_.product) return z.array().min(kMostLog).exp();
  VectorXd out(size_);
  out << z, 0.0;
  out.array() -= out.maxCoeff();
  out = out.array().exp().max(1e-300);
  return out / out.sum();
}

VectorXd WeightPosterior::coordinates() const {
  const VectorXd log = guess_.array().max(1e-12).log();
  if (set_.product) return log;
  return log.head(size_ - 1).array() - log[size_ - 1];
}

double WeightPosterior::log_prior(const VectorXd& beta) const {
  if (set_.binary) {
    return beta.sum() * std::log(set_.first) +
           (static_cast<double>(size_) - beta.sum()) * std::log1p(-set_.first);
  }
  return (shape_.array() - 1.0).matrix().dot(VectorXd(beta.array().log())) -
         rate_.dot(beta);
}

VectorXd WeightPosterior::draw_near(Stream& own, double& log_density) const {
  const Index d = dimension();
  VectorXd z(d);
  for (Index k = 0; k < d; ++k) z[k] = own.normal();
  z *= std::sqrt(kDegrees / (2.0 * gamma(own, 0.5 * kDegrees, 1.0)));
  const double n = static_cast<double>(d);
  log_density = log_gamma(0.5 * (kDegrees + n)) - log_gamma(0.5 * kDegrees) -
                0.5 * n * std::log(kDegrees * 3.14159265358979323846) -
                log_root_ -
                0.5 * (kDegrees + n) * std::log1p(z.squaredNorm() / kDegrees);
  return mode_ + root_ * z;
}

void WeightPosterior::draw_flat() {
  Stream own = stream(0);
  points_.resize(size_, set_.points);
  for (Index k = 0; k < set_.points; ++k) {
    for (Index s = 0; s < size_; ++s) points_(s, k) = own.exponential();
    points_.col(k) /= points_.col(k).sum();
  }
  log_base_ =
      VectorXd::Constant(set_.points, log_gamma(static_cast<double>(size_)));
}

void WeightPosterior::list_subsets() {
  const Index least = set_.empty ? 0 : 1, count = (Index{1} << size_) - least;
  points_.resize(size_, count);
  for (Index k = 0; k < count; ++k) {
    for (Index s = 0; s < size_; ++s) {
      points_(s, k) = static_cast<double>((k + least) >> s & 1);
    }
  }
  log_base_ = VectorXd::Constant(count, -std::log(static_cast<double>(count)));
}

void WeightPosterior::find_entropy() {
  entropy_ = 0.0;
  const double count = static_cast<double>(points_.cols());
  for (Index k = 0; k < points_.cols(); ++k) {
    if (share_[k] <= 0.0) continue;
    entropy_ -= share_[k] * (std::log(share_[k] * count) + log_base_[k]);
  }
}

VectorXd WeightPosterior::draw_prior(Stream& own) const {
  VectorXd log_beta(size_);
  for (Index s = 0; s < size_; ++s) {
    log_beta[s] = log_gamma_variate(own, shape_[s]);
    if (set_.product) log_beta[s] -= std::log(rate_[s]);
  }
  if (set_.product) return log_beta.array().max(-300.0).min(kMostLog).exp();
  log_beta.array() -= log_beta.maxCoeff();
  const VectorXd beta = log_beta.array().max(-300.0).exp();
  return beta / beta.sum();
}

double WeightPosterior::prior_constant() const {
  double out = set_.product ? 0.0 : log_gamma(shape_.sum());
  for (Index s = 0; s < size_; ++s) {
    out -= log_gamma(shape_[s]);
    if (set_.product) out += shape_[s] * std::log(rate_[s]);
  }
  return out;
}

void WeightPosterior::normalise(const VectorXd& log_share) {
  const double top = log_share.maxCoeff();
  if (!std::isfinite(top)) {
    throw NumericError("the density of the weights is not finite");
  }
  share_ = (log_share.array() - top).exp();
  share_ /= share_.sum();
}

void WeightPosterior::draw_rho() {
  Stream own = stream(3);
  rho_.resize(size_, kRhoPoints);
  rho_constant_.resize(kRhoPoints);
  for (Index k = 0; k < kRhoPoints; ++k) {
    double constant = 0.0;
    for (Index s = 0; s < size_; ++s) {
      rho_(s, k) = std::max(
          std::exp(log_gamma_variate(own, set_.first)) / set_.second, 1e-100);
      constant -= log_gamma(rho_(s, k));
    }
    rho_constant_[k] = constant + log_gamma(rho_.col(k).sum());
  }
  shape_ = rho_.rowwise().mean();
}

double WeightPosterior::held_density() const {
  return prior_constant() + (shape_.array() - 1.0).matrix().dot(log_mean_) -
         rate_.dot(mean_);
}

double WeightPosterior::dirichlet_hyper() {
  const VectorXd log_share = rho_constant_ + rho_.transpose() * log_mean_ -
                             VectorXd::Constant(kRhoPoints, log_mean_.sum());
  const double top = log_share.maxCoeff();
  const VectorXd share = (log_share.array() - top).exp();
  shape_ = rho_ * share / share.sum();
  return top + std::log(share.mean());
}

double WeightPosterior::gamma_hyper() {
  double out = 0.0;
  for (Index s = 0; s < size_; ++s) {
    const double above = set_.second + mean_[s];
    const double r = set_.first - log_mean_[s] + std::log(above);
    shape_[s] = 2.0 / r;
    rate_[s] = (1.0 + shape_[s]) / above;
    out += std::log(set_.first) + std::log(set_.second) - log_mean_[s] -
           2.0 * std::log(r) - std::log(above);
  }
  return out;
}
}  // namespace bayeskernel
