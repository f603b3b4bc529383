#include "multinomial/gibbs.hpp"

#include "error.hpp"
#include "math/special.hpp"
#include "rng/distributions.hpp"
#include "simd/dense_factor.hpp"

namespace bayeskernel {
const char* name_of(MultinomialMove move) {
  const char* names[] = {"weight", "refresh", "flip", "lengthscale", "hyper"};
  return names[static_cast<int>(move)];
}

MultinomialChain::MultinomialChain(Composite composite,
                                   std::vector<Index> classes, Index n_classes,
                                   const VectorXd& weights,
                                   const Settings& settings, std::uint64_t seed,
                                   std::uint64_t chain, Index warmup)
    : t(std::move(classes)),
      composite_(std::move(composite)),
      c_(n_classes),
      set_(settings),
      seed_(seed),
      chain_(chain),
      warmup_(warmup),
      rule_(n_classes) {
  const Index s = composite_.size(), m = composite_.regressors();
  if (set_.weights != WeightPrior::fixed &&
      set_.weights != WeightPrior::bernoulli && s < 2 &&
      composite_.combination() == Combination::sum) {
    throw ArgumentError("one space has no weight to learn");
  }
  for (Index k = 0; set_.lengthscales && k < s; ++k) {
    for (const Index place : composite_.source(k).lengthscales()) {
      places_.push_back({k, place});
    }
  }
  weight_steps_.resize(static_cast<std::size_t>(s));
  theta_steps_.resize(static_cast<std::size_t>(s));
  hyper_steps_.resize(static_cast<std::size_t>(s));
  state.weights = weights;
  state.first = state.second = VectorXd::Ones(s);
  if (set_.weights == WeightPrior::dirichlet) {
    state.weights /= state.weights.sum();
    state.first *= set_.held ? set_.first : set_.first / set_.second;
  } else if (set_.weights == WeightPrior::gamma && set_.held) {
    state.first *= set_.first;
    state.second *= set_.second;
  } else if (set_.weights == WeightPrior::gamma) {
    state.first /= set_.first;
    state.second /= set_.second;
  }
  constexpr double kHeld = 1e7;  // numbers of a chain
  if (!set_.lengthscales && set_.weights != WeightPrior::fixed) {
    composite_.hold(kHeld);
  }
  state.y = MatrixXd::Zero(c_, composite_.rows());
  state.w = MatrixXd::Zero(c_, m);
  state.alpha = MatrixXd::Constant(shared() ? 1 : c_, m, set_.alpha0);
  build(state.weights, now_);
}

void MultinomialChain::sweep() {
  ++sweeps_;
  moves.set_warming(sweeps_ <= warmup_);
  draw_latent();
  latest_ = false;
  if (set_.lengthscales) move_lengthscales();
  move_weights();
  move_hyper();
  if (!latest_) factor(now_);
  draw_regression();
  draw_scales();
}

VectorXd MultinomialChain::log_lengthscales() const {
  VectorXd out(count_of(places_));
  for (std::size_t k = 0; k < places_.size(); ++k) {
    out[static_cast<Index>(k)] = log_lengthscale(places_[k]);
  }
  return out;
}

double MultinomialChain::log_likelihood() {
  const MatrixXd f = latent();
  double out = 0.0;
  for (Index i = 0; i < f.cols(); ++i) {
    out += rule_.moments(f.col(i).data(), t[i], nullptr);
  }
  return out;
}

MultinomialCheckpoint MultinomialChain::checkpoint() const {
  MultinomialCheckpoint out = state;
  out.log_parameters = log_lengthscales();
  std::vector<double> steps;
  for (const auto* group : {&weight_steps_, &theta_steps_, &hyper_steps_}) {
    for (const RandomWalkStep& step : *group) steps.push_back(step.log_sd());
  }
  out.log_steps = VectorMap(steps.data(), count_of(steps));
  out.sweeps = sweeps_;
  return out;
}

void MultinomialChain::restore(const MultinomialCheckpoint& from) {
  state = from;
  sweeps_ = from.sweeps;
  Index at = 0;
  for (auto* group : {&weight_steps_, &theta_steps_, &hyper_steps_}) {
    for (RandomWalkStep& step : *group) step.set_log_sd(from.log_steps[at++]);
  }
  set_log_lengthscales(from.log_parameters);
  build(state.weights, now_);
}

void MultinomialChain::set_log_lengthscales(const VectorXd& values) {
  for (std::size_t k = 0; k < places_.size(); ++k) {
    set_log_lengthscale(places_[k], values[static_cast<Index>(k)]);
  }
}

void MultinomialChain::rebuild() {
  build(state.weights, now_);
  latest_ = false;
}

Stream MultinomialChain::stream(Purpose purpose, Index block) const {
  return Stream(seed_, chain_, purpose, static_cast<std::uint64_t>(sweeps_),
                static_cast<std::uint64_t>(block));
}

void MultinomialChain::set_log_lengthscale(const Place& at, double value) {
  VectorXd all = composite_.source(at.source).log_parameters();
  all[at.parameter] = value;
  composite_.source(at.source).set_log_parameters(all);
}

void MultinomialChain::build(const VectorXd& weights, Kernels& out) {
  const Index n = composite_.rows(), m = composite_.regressors();
  out.factored = false;
  out.k.resize(m, n);
  composite_.block(weights, 0, n, scratch_, out.k.data());
  out.gram.resize(m, m);
  out.gram.setZero();
  out.gram.selfadjointView<Eigen::Lower>().rankUpdate(out.k);
  if (!out.gram.allFinite()) {
    throw NumericError("a composite kernel is not finite");
  }
}

void MultinomialChain::factor(Kernels& at) {
  const bool keep = set_.scales == LatentScales::fixed && at.factored;
  const double copies = shared() ? static_cast<double>(c_) : 1.0;
  if (!keep) at.log_det = 0.0;
  at.factor.resize(static_cast<std::size_t>(shared() ? 1 : c_));
  at.whitened.noalias() = at.k * state.y.transpose();
  for (Index r = 0; r < count_of(at.factor); ++r) {
    d_ = state.alpha.row(r).transpose().array().rsqrt();
    MatrixXd& l = at.factor[static_cast<std::size_t>(r)];
    if (!keep) {
      scaled_gram(at.gram, l);
      if (!factor_lower(l)) {
        throw NumericError("the design is too badly scaled");
      }
      at.log_det += 2.0 * copies * l.diagonal().array().log().sum();
    }
    auto own = at.whitened.middleCols(shared() ? 0 : r, shared() ? c_ : 1);
    own = d_.asDiagonal() * own;
    l.triangularView<Eigen::Lower>().solveInPlace(own);
  }
  at.factored = true;
  at.log_density =
      0.5 * (at.whitened.squaredNorm() - state.y.squaredNorm() - at.log_det);
  if (&at == &now_) latest_ = true;
}

void MultinomialChain::scaled_gram(const MatrixXd& gram, MatrixXd& out) const {
  const Index m = gram.rows();
  out.resize(m, m);
  for (Index k = 0; k < m; ++k) {
    out.col(k).tail(m - k) =
        d_[k] * gram.col(k).tail(m - k).cwiseProduct(d_.tail(m - k));
    out(k, k) += 1.0;
  }
}

double MultinomialChain::worth(Kernels& at) {
  if (set_.collapsed || set_.weights == WeightPrior::bernoulli) {
    factor(at);
    return at.log_density;
  }
  return -0.5 * (state.y - state.w * at.k).squaredNorm();
}

double MultinomialChain::worth_now() {
  if (latest_) return now_.log_density;
  return worth(now_);
}

void MultinomialChain::take_proposal() {
  std::swap(now_, next_);
  latest_ = set_.collapsed || set_.weights == WeightPrior::bernoulli;
}

void MultinomialChain::draw_latent() {
  mean_.noalias() = state.w * now_.k;
  for (Index i = 0; i < mean_.cols(); ++i) {
    Stream own = stream(Purpose::latent, i);
    rule_.draw(mean_.col(i).data(), t[i], own, state.y.col(i).data());
  }
}

void MultinomialChain::move_lengthscales() {
  Stream own = stream(Purpose::kernels, 1);
  std::size_t first = 0;
  while (first < places_.size()) {
    std::size_t last = first;
    while (last < places_.size() &&
           places_[last].source == places_[first].source) {
      ++last;
    }
    RandomWalkStep& step =
        theta_steps_[static_cast<std::size_t>(places_[first].source)];
    std::vector<double> before;
    double log_ratio = 0.0;
    for (std::size_t k = first; k < last; ++k) {
      const double old = log_lengthscale(places_[k]);
      before.push_back(old);
      // log theta = -log 2 - 2 log l.
      const double moved = old + 0.5 * step.sd() * own.normal();
      log_ratio += -2.0 * set_.theta_shape * (moved - old) -
                   0.5 * set_.theta_rate *
                       (std::exp(-2.0 * moved) - std::exp(-2.0 * old));
      set_log_lengthscale(places_[k], std::clamp(moved, -30.0, 30.0));
    }
    const double old_worth = worth_now();
    build(state.weights, next_);
    log_ratio += worth(next_) - old_worth;
    if (moves.walk(MultinomialMove::lengthscale, step, log_ratio,
                   -own.exponential())) {
      take_proposal();
    } else {
      for (std::size_t k = first; k < last; ++k) {
        set_log_lengthscale(places_[k], before[k - first]);
      }
    }
    first = last;
  }
}

void MultinomialChain::move_weights() {
  if (set_.weights == WeightPrior::fixed) return;
  // The first latent vectors are those of W = 0, to which no kernel at all
  // suits best, and there a chain stays.
  const bool subsets = set_.weights == WeightPrior::bernoulli;
  if (subsets && sweeps_ <= warmup_ / 2) return;
  Stream own = stream(Purpose::kernels, 0);
  const Index size = composite_.size();
  if (set_.weights == WeightPrior::dirichlet) {
    for (Index s = 0; s + 1 < size; ++s) walk_simplex(own, s);
  } else if (set_.weights == WeightPrior::gamma) {
    for (Index s = 0; s < size; ++s) {
      walk_weight(own, s);
      refresh(own, s);
    }
  } else {
    for (Index s = 0; s < size; ++s) flip(own, s);
  }
}

double MultinomialChain::proposal_ratio(const VectorXd& weights) {
  const double old_worth = worth_now();
  build(weights, next_);
  return worth(next_) - old_worth;
}

void MultinomialChain::walk_simplex(Stream& own, Index s) {
  RandomWalkStep& step = weight_steps_[static_cast<std::size_t>(s)];
  VectorXd weights = state.weights;
  weights[s] *= std::exp(step.sd() * own.normal());
  weights /= weights.sum();
  const double log_u = -own.exponential();
  double log_ratio = kNeverAccepted;
  if (weights.minCoeff() > 1e-300 && weights.allFinite()) {
    log_ratio = proposal_ratio(weights);
    for (Index j = 0; j < weights.size(); ++j) {
      log_ratio += state.first[j] * std::log(weights[j] / state.weights[j]);
    }
  }
  if (moves.walk(MultinomialMove::weight, step, log_ratio, log_u)) {
    state.weights = weights;
    take_proposal();
  }
}

void MultinomialChain::walk_weight(Stream& own, Index s) {
  RandomWalkStep& step = weight_steps_[static_cast<std::size_t>(s)];
  VectorXd weights = state.weights;
  weights[s] *= std::exp(step.sd() * own.normal());
  const double log_u = -own.exponential();
  double log_ratio = kNeverAccepted;
  if (weights[s] > 1e-300 && weights[s] < 1e6) {
    log_ratio = proposal_ratio(weights) +
                state.first[s] * std::log(weights[s] / state.weights[s]) -
                state.second[s] * (weights[s] - state.weights[s]);
  }
  if (moves.walk(MultinomialMove::weight, step, log_ratio, log_u)) {
    state.weights = weights;
    take_proposal();
  }
}

void MultinomialChain::refresh(Stream& own, Index s) {
  VectorXd weights = state.weights;
  const double shape = set_.held ? set_.first : own.exponential() / set_.first;
  const double rate = set_.held ? set_.second : own.exponential() / set_.second;
  weights[s] = std::max(
      std::exp(log_gamma_variate(own, shape) - std::log(rate)), 1e-300);
  const double log_u = -own.exponential();
  if (!(weights[s] < 1e6)) return;
  if (moves.decide(MultinomialMove::refresh, proposal_ratio(weights), log_u)) {
    state.weights = weights;
    state.first[s] = shape;
    state.second[s] = rate;
    take_proposal();
  }
}

void MultinomialChain::flip(Stream& own, Index s) {
  VectorXd weights = state.weights;
  weights[s] = 1.0 - weights[s];
  const double prior = std::log(set_.first) - std::log1p(-set_.first);
  const double log_ratio =
      proposal_ratio(weights) + (weights[s] > 0.5 ? prior : -prior);
  // The conditional probability of the other state.
  if (moves.decide(MultinomialMove::flip, log_expit(log_ratio),
                   -own.exponential())) {
    state.weights = weights;
    take_proposal();
  }
}

void MultinomialChain::move_hyper() {
  const bool simplex = set_.weights == WeightPrior::dirichlet;
  if (set_.held || (!simplex && set_.weights != WeightPrior::gamma)) return;
  Stream own = stream(Purpose::scale, 0);
  for (Index s = 0; s < composite_.size(); ++s) {
    RandomWalkStep& step = hyper_steps_[static_cast<std::size_t>(s)];
    const double log_weight = std::log(state.weights[s]);
    const double old = state.first[s];
    const double moved = old * std::exp(step.sd() * own.normal());
    const double log_u = -own.exponential();
    const auto target = [&](double x) {
      if (!simplex) {  // of pi_s
        return x * std::log(state.second[s]) - log_gamma(x) + x * log_weight -
               set_.first * x + std::log(x);
      }
      const double sum = state.first.sum() - old + x;
      return log_gamma(sum) - log_gamma(x) + x * log_weight +
             set_.first * std::log(x) - set_.second * x;
    };
    double log_ratio = kNeverAccepted;
    if (moved > 1e-300 && moved < 1e6) {
      log_ratio = target(moved) - target(old);
    }
    if (moves.walk(MultinomialMove::hyper, step, log_ratio, log_u)) {
      state.first[s] = moved;
    }
    if (!simplex) {
      state.second[s] =
          gamma(own, 1.0 + state.first[s], set_.second + state.weights[s]);
    }
  }
}

void MultinomialChain::draw_regression() {
  for (Index c = 0; c < c_; ++c) {
    Stream own = stream(Purpose::coefficients, c);
    const Index r = shared() ? 0 : c;
    own_w_ = now_.whitened.col(c);
    for (Index k = 0; k < own_w_.size(); ++k) own_w_[k] += own.normal();
    now_.factor[static_cast<std::size_t>(r)]
        .triangularView<Eigen::Lower>()
        .transpose()
        .solveInPlace(own_w_);
    state.w.row(c) =
        own_w_.transpose().array() * state.alpha.row(r).array().rsqrt();
  }
  latest_ = false;
}

void MultinomialChain::draw_scales() {
  if (set_.scales == LatentScales::fixed) return;
  const double shape =
      set_.tau + 0.5 * (shared() ? static_cast<double>(c_) : 1.0);
  for (Index r = 0; r < state.alpha.rows(); ++r) {
    Stream own = stream(Purpose::variance, r);
    for (Index k = 0; k < state.alpha.cols(); ++k) {
      const double square = shared() ? state.w.col(k).squaredNorm()
                                     : state.w(r, k) * state.w(r, k);
      state.alpha(r, k) = gamma(own, shape, set_.nu + 0.5 * square);
    }
  }
}
}  // namespace bayeskernel
