#include "klr/chain.hpp"

namespace bayeskernel {
LowRankChain::LowRankChain(const LowRankData& data,
                           const std::vector<double>& signs,
                           const LowRankPrior& prior, Index rank,
                           std::uint64_t seed, std::uint64_t id, Index warmup)
    : prior(prior),
      basis(data, rank, prior.max_kernels),
      signs_(data.stride()),
      f_(data.stride()),
      beta_(static_cast<std::size_t>(prior.max_kernels + 2)),
      stretched_(beta_),
      tally_(data.variables()),
      seed_(seed),
      id_(id),
      warmup_(warmup) {
  if (prior.continuous) {
    auto made = std::make_unique<IntegratedCoefficients>(
        basis, prior.max_kernels, signs_.data());
    integrated_ = made.get();
    likelihood_ = std::move(made);
  } else {
    auto made = std::make_unique<KnownCoefficients>(basis, prior.max_kernels,
                                                    signs_.data());
    known_ = made.get();
    likelihood_ = std::move(made);
  }
  moves_ = std::make_unique<LowRankMoves>(prior, basis, *likelihood_, tally_,
                                          schedule);
  set_signs(signs);
}

void LowRankChain::set_signs(const std::vector<double>& signs) {
  std::copy(signs.begin(), signs.end(), signs_.data());
  if (known_ != nullptr) known_->rebuild();
}

void LowRankChain::start(const MatrixXd& save) {
  Stream stream(seed_, id_, Purpose::init, 0, 0);
  MatrixXd frame = save;
  if (id_ % 2 == 1) moves_->draw_frame(stream, frame);
  basis.clear();
  basis.set_frame(frame);
  moves_->mu = 0.0;
  moves_->tau = 1.0;
  double positive = 0.0, negative = 0.0;
  for (Index i = 0; i < basis.data().rows(); ++i) {
    positive += signs_[i] > 0.0;
    negative += signs_[i] < 0.0;
  }
  set_column(0, std::log((positive + 0.5) / (negative + 0.5)),
             intercept_variance(1.0));
  const double expected = std::min(prior.expected_kernels(), 6.0);
  const Index kernels =
      std::min(static_cast<Index>(std::lround(expected)), prior.max_kernels);
  for (Index k = 0; k < kernels && basis.data().rows() > 0; ++k) {
    moves_->draw_kernel(stream);
    basis.tried_log_lambda().setZero();
    const double parameter = moves_->draw_parameter(stream);
    const double b = prior.continuous ? std::sqrt(parameter) : parameter;
    const double limit = std::min(std::max(b, -3.0), 3.0);
    basis.append();
    set_column(basis.size() - 1, limit, limit * limit);
  }
  basis.set_frame(frame);
  likelihood_->rebuild();
}

void LowRankChain::restore(const LowRankCheckpoint& from) {
  basis.clear();
  moves_->mu = from.mu;
  moves_->tau = from.tau;
  const auto variance = [&](std::size_t j) {
    return from.variance.empty() ? 1.0 : from.variance[j];
  };
  set_column(0, from.coefficient[0], variance(0));
  for (std::size_t j = 0; j < from.centre.size(); ++j) {
    basis.tried_centre() = from.centre[j];
    basis.tried_log_lambda() = from.log_lambda.col(static_cast<Index>(j));
    basis.append();
    set_column(basis.size() - 1, from.coefficient[j + 1], variance(j + 1));
  }
  basis.set_frame(from.frame);
  auto next = from.log_steps.begin();
  tally_.for_each([&](auto& step) { step.set_log_sd(*next++); });
  sweeps_ = from.sweeps;
  likelihood_->rebuild();
}

LowRankCheckpoint LowRankChain::checkpoint() {
  LowRankCheckpoint out;
  out.frame = basis.frame();
  const Index kernels = basis.kernels();
  out.log_lambda.resize(basis.rank(), kernels);
  for (Index j = 0; j <= kernels; ++j) {
    out.coefficient.push_back(coefficient(j));
    if (integrated_ != nullptr)
      out.variance.push_back(integrated_->parameter(j));
    if (j == 0) continue;
    out.centre.push_back(basis.centre(j));
    for (Index l = 0; l < basis.rank(); ++l) {
      out.log_lambda(l, j - 1) = basis.log_lambda(j, l);
    }
  }
  out.mu = moves_->mu;
  out.tau = moves_->tau;
  tally_.for_each(
      [&](const auto& step) { out.log_steps.push_back(step.log_sd()); });
  out.sweeps = sweeps_;
  return out;
}

void LowRankChain::sweep() {
  Stream stream(seed_, id_, Purpose::kernels, sweeps_, 0);
  tally_.set_warming(sweeps_ < warmup_);
  if (integrated_ != nullptr) {
    value();
    integrated_->draw_omega(stream, f_.data());
  }
  moves_->jump(stream);
  if (basis.kernels() > 0) move_kernels(stream);
  moves_->step_frame(stream);
  if (integrated_ != nullptr) {
    draw_coefficients(stream);
  } else {
    moves_->step_intercept(stream);
  }
  stretch(stream);
  moves_->draw_scale_prior(stream);
  ++sweeps_;
  if (sweeps_ % schedule.polish == 0) moves_->polish();
}

void LowRankChain::move_kernels(Stream& stream) {
  moves_->step_parameter(stream);
  moves_->step_centre(stream);
  for (Index l = 0; l < basis.rank(); ++l) moves_->step_scale(l, stream);
  moves_->step_ridge(stream);
  if (stream.uniform() < schedule.common_fraction) {
    if (basis.rank() > 1) moves_->step_scales(stream);
    moves_->step_shift(stream);
  }
}

void LowRankChain::draw_coefficients(Stream& stream) {
  integrated_->draw_coefficients(stream, beta_.data());
  set_column(0, beta_[0], draw_intercept_variance(stream));
  const double shape = prior.varphi_shape() + 0.5;
  for (Index j = 1; j < basis.size(); ++j) {
    const double b = beta_[j];
    const double rate = prior.varphi_rate() + 0.5 * b * b;
    double v;
    do {
      v = rate / gamma(stream, shape, 1.0);
    } while (!integrated_->holds(v));
    likelihood_->restore_parameter(j, v);
  }
}

double LowRankChain::draw_intercept_variance(Stream& stream) {
  const double rate = prior.intercept_rate;
  return intercept_variance(hinge_latent(stream, rate * std::abs(beta_[0])));
}

double LowRankChain::intercept_variance(double scaled) const {
  const double rate = prior.intercept_rate;
  return std::min(std::max(scaled / (rate * rate), 1e-12), 1e8);
}

double LowRankChain::stretch_ratio(Index j, double log_factor) const {
  const double factor = std::exp(log_factor), rate = prior.intercept_rate;
  const double square = factor * factor;
  if (known_ != nullptr) {
    return j > 0 ? -prior.alpha * log_factor
                 : log_factor - rate * (factor - 1.0) * std::abs(beta_[0]);
  }
  const double v = integrated_->parameter(j);
  return j > 0 ? -prior.alpha * log_factor -
                     prior.varphi_rate() * (1.0 / square - 1.0) / v
               : 2.0 * log_factor - 0.5 * rate * rate * (square - 1.0) * v;
}

void LowRankChain::set_column(Index j, double coefficient, double variance) {
  beta_[j] = coefficient;
  likelihood_->restore_parameter(
      j, integrated_ != nullptr ? variance : coefficient);
}

double LowRankChain::value() {
  if (known_ != nullptr) {
    for (Index j = 0; j < basis.size(); ++j) beta_[j] = known_->parameter(j);
  }
  return logistic_sum(basis.values(), basis.stride(), basis.size(),
                      beta_.data(), signs_.data(), basis.data().rows(),
                      f_.data());
}

void LowRankChain::stretch(Stream& stream) {
  static constexpr double kSizes[] = {0.0, 0.5, 2.0, 8.0};
  const double size = kSizes[uniform_index(stream, 4)];
  const double log_factor = tally_.stretch.sd() * stream.normal();
  const double log_u = -stream.exponential();
  const double before = value(), factor = std::exp(log_factor);
  const double least = std::max(size, known_ != nullptr ? prior.epsilon : 0.0);
  double ratio = 0.0;
  bool any = false;
  for (Index j = 0; j < basis.size(); ++j) {
    stretched_[j] = beta_[j];
    if (std::abs(beta_[j]) < size) continue;
    any = true;
    stretched_[j] *= factor;
    ratio += stretch_ratio(j, log_factor);
    if (std::abs(stretched_[j]) < (j > 0 ? least : size) ||
        !LowRankPrior::holds_coefficient(stretched_[j]) ||
        (integrated_ != nullptr &&
         !integrated_->holds(integrated_->parameter(j) * factor * factor))) {
      ratio = kNeverAccepted;
    }
  }
  if (!any) return;
  if (ratio > kNeverAccepted) {
    ratio += logistic_sum(basis.values(), basis.stride(), basis.size(),
                          stretched_.data(), signs_.data(), basis.data().rows(),
                          nullptr) -
             before;
  }
  if (!tally_.walk(LowRankMove::stretch, tally_.stretch, ratio, log_u)) return;
  for (Index j = 0; j < basis.size(); ++j) {
    if (stretched_[j] == beta_[j]) continue;
    const double grown = integrated_ != nullptr
                             ? integrated_->parameter(j) * factor * factor
                             : 0.0;
    set_column(j, stretched_[j], grown);
  }
  if (known_ != nullptr) known_->rebuild();
}
}  // namespace bayeskernel
