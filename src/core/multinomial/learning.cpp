#include "multinomial/learning.hpp"

#include "error.hpp"
#include "math/special.hpp"
#include "multinomial/regression.hpp"
#include "parallel/scratch_pool.hpp"

namespace bayeskernel {
KernelLearner::KernelLearner(Composite& composite, const VectorXd& weights,
                             const KernelPrior& prior, Learned learned,
                             MultinomialFit& fit,
                             const MultinomialSettings& settings,
                             Executor& executor)
    : composite_(composite),
      weights_(weights),
      prior_(prior),
      learned_(learned),
      fit_(fit),
      set_(settings),
      executor_(executor),
      simplex_(!product()) {
  if (learned_.weights && composite.size() < 2) {
    throw ArgumentError("one space has no weight to learn");
  }
  for (Index s = 0; learned_.lengthscales && s < composite.size(); ++s) {
    const Source& source = composite.source(s);
    for (const Index k : source.lengthscales()) places_.push_back({s, k});
    if (product() && !source.lengthscales().empty() && !source.plain_rbf()) {
      throw ArgumentError("in a product only plain rbf kernels are tuned");
    }
  }
}

MultinomialResult KernelLearner::profile(const KeepGoing& keep_going) {
  MultinomialResult total;
  const auto value = [&](const VectorXd& at, VectorXd& gradient) {
    return evaluate(at, gradient, keep_going, total);
  };
  const auto visit = [&] { return !total.interrupted; };
  const VectorXd start = pack();
  const Maximum found =
      maximise(value, start, set_.tolerance * 1e-1, kMost, visit);
  if (!total.interrupted && !std::isfinite(found.value)) {
    throw NumericError("the bound is not finite where the search begins");
  }
  unpack(found.at);
  // At what was found; nothing more if that was interrupted.
  const bool interrupted = total.interrupted;
  follow(run(inner_settings(), interrupted ? KeepGoing(forever) : keep_going,
             total),
         total);
  total.bound.back() = fit_.bound() + log_prior();
  total.interrupted = total.interrupted || interrupted;
  total.converged = total.converged && found.converged && !interrupted;
  total.largest_fall = 0.0;
  return total;
}

MultinomialResult KernelLearner::map(const KeepGoing& keep_going) {
  MultinomialResult total;
  MultinomialSettings one = set_;
  one.max_passes = 1;
  one.accelerate = false;
  const auto never = [] { return true; };
  double best = -std::numeric_limits<double>::infinity();
  while (true) {
    run(one, keep_going, total);
    const double bound = fit_.bound() + log_prior();
    total.bound.push_back(bound);
    total.largest_fall = std::max(total.largest_fall, best - bound);
    total.converged =
        std::abs(bound - best) <= set_.tolerance * std::abs(bound);
    best = bound;
    if (total.converged || total.passes >= set_.max_passes) break;
    if (!keep_going({static_cast<double>(total.passes),
                     static_cast<double>(set_.max_passes), "vb"})) {
      total.interrupted = true;
      break;
    }
    const MatrixXd covariance = total_covariance();
    const auto value = [&](const VectorXd& at, VectorXd& gradient) {
      return target(at, covariance, gradient);
    };
    unpack(maximise(value, pack(), 1e-8 * std::abs(bound), 40, never).at);
  }
  total.active = 0;
  return total;
}

MultinomialResult KernelLearner::spread(const Spread& q,
                                        const KeepGoing& keep_going) {
  MultinomialResult total;
  MultinomialSettings one = set_;
  one.max_passes = 1;
  one.accelerate = false;
  const bool exact = q.scales == nullptr && q.weights->exact();
  const bool mixed = q.weights != nullptr && !product() && !q.printed;
  double best = -std::numeric_limits<double>::infinity();
  bool known = false;
  while (true) {
    run(one, keep_going, total);
    total.converged = false;
    if (known) {
      double bound = fit_.bound();
      if (q.weights != nullptr) bound += q.weights->bound();
      if (q.scales != nullptr) bound += q.scales->bound();
      total.bound.push_back(bound);
      if (exact)
        total.largest_fall = std::max(total.largest_fall, best - bound);
      total.converged =
          std::abs(bound - best) <= set_.tolerance * std::abs(bound);
      best = bound;
    }
    if (total.interrupted) break;
    if (known && (total.converged || total.passes >= set_.max_passes)) break;
    if (!keep_going({static_cast<double>(total.passes),
                     static_cast<double>(set_.max_passes), "vb"})) {
      total.interrupted = true;
      if (known) break;
    }
    const MatrixXd covariance = q.printed ? MatrixXd() : total_covariance();
    // Points of several passes are compared: the whole of log N(E y | W k, I).
    const double offset = q.printed ? -0.5 * fit_.y().squaredNorm() : 0.0;
    bool same = true;
    if (q.weights != nullptr) {
      same = update_weights(*q.weights, covariance, offset);
      weights_ = q.weights->mean();
    }
    if (q.scales != nullptr) {
      same = update_scales(*q.scales, covariance, offset) && same;
      set_scales(q.scales->mean());
    }
    known = true;
    if (!same) {
      total.bound.clear();
      total.largest_fall = 0.0;
      best = -std::numeric_limits<double>::infinity();
    }
    if (mixed) beyond_ = spread_gram(q.weights->spread());
  }
  return total;
}

MultinomialResult KernelLearner::run(const MultinomialSettings& settings,
                                     const KeepGoing& keep_going,
                                     MultinomialResult& total) {
  const bool warm = design_ != nullptr;
  MultinomialStart start;
  if (warm) start = fit_.state();
  auto design = std::make_unique<Design>(composite_, weights_, executor_);
  fit_.change(settings);
  const MultinomialResult result =
      fit_.run(*design, keep_going, warm ? &start : nullptr,
               beyond_.size() > 0 ? &beyond_ : nullptr);
  design_ = std::move(design);
  total.passes += result.passes;
  total.rejected += result.rejected;
  total.by_qr = total.by_qr || result.by_qr;
  total.lost_digits = total.lost_digits || result.lost_digits;
  total.converged = result.converged;
  total.interrupted = total.interrupted || result.interrupted;
  total.active = result.active;
  return result;
}

MultinomialSettings KernelLearner::inner_settings() const {
  MultinomialSettings out = set_;
  out.tolerance = std::min(set_.tolerance, 1e-6);
  out.max_passes = std::max(set_.max_passes, 200);
  return out;
}

VectorXd KernelLearner::pack() const {
  const Index count = weight_count();
  VectorXd out(count + count_of(places_));
  for (Index s = 0; s < count; ++s) {
    const double base = simplex_ ? weights_[composite_.size() - 1] : 1.0;
    out[s] = std::log(std::max(weights_[s], kLeast) / std::max(base, kLeast));
  }
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const VectorXd all = composite_.source(places_[k].source).log_parameters();
    out[count + static_cast<Index>(k)] = all[places_[k].parameter];
  }
  return out;
}

void KernelLearner::unpack(const VectorXd& at) {
  const Index count = weight_count(), size = composite_.size();
  if (count > 0 && !simplex_) {
    weights_ = at.head(count).array().min(kMostLog).exp();
  } else if (count > 0) {
    VectorXd ratio(size);
    ratio << at.head(count), 0.0;
    ratio.array() -= ratio.maxCoeff();
    weights_ = ratio.array().exp();
    weights_ /= weights_.sum();
  }
  for (std::size_t k = 0; k < places_.size(); ++k) {
    Source& source = composite_.source(places_[k].source);
    VectorXd all = source.log_parameters();
    all[places_[k].parameter] =
        std::clamp(at[count + static_cast<Index>(k)], -kMostLog, kMostLog);
    source.set_log_parameters(all);
  }
}

double KernelLearner::log_prior() const {
  double out = 0.0;
  const double size = static_cast<double>(composite_.size());
  const double shape = prior_.weight_shape;
  if (learned_.weights) {
    out += (shape - 1.0) * weights_.array().max(kLeast).log().sum() -
           size * log_gamma(shape);
  }
  if (learned_.weights && !simplex_) {
    out += size * shape * std::log(prior_.weight_rate) -
           prior_.weight_rate * weights_.sum();
  } else if (learned_.weights) {
    out += log_gamma(size * shape);
  }
  for (const Place& place : places_) {
    const double log_theta = this->log_theta(place);
    out += prior_.theta_shape * std::log(prior_.theta_rate) -
           log_gamma(prior_.theta_shape) +
           (prior_.theta_shape - 1.0) * log_theta -
           prior_.theta_rate * std::exp(log_theta);
  }
  return out;
}

double KernelLearner::log_jacobian() const {
  double out = 0.0;
  if (learned_.weights) out += weights_.array().max(kLeast).log().sum();
  for (const Place& place : places_) out += log_theta(place);
  return out;
}

double KernelLearner::log_theta(const Place& place) const {
  const VectorXd all = composite_.source(place.source).log_parameters();
  return -std::log(2.0) - 2.0 * all[place.parameter];
}

double KernelLearner::evaluate(const VectorXd& at, VectorXd& gradient,
                               const KeepGoing& keep_going,
                               MultinomialResult& total) {
  unpack(at);
  if (total.interrupted) return std::numeric_limits<double>::quiet_NaN();
  follow(run(inner_settings(), keep_going, total), total);
  slopes(total_covariance(), gradient);
  return fit_.bound() + log_prior();
}

void KernelLearner::follow(const MultinomialResult& inner,
                           MultinomialResult& total) const {
  const double prior = log_prior();
  for (const double bound : inner.bound) {
    const double best = total.bound.empty()
                            ? bound + prior
                            : std::max(total.bound.back(), bound + prior);
    total.bound.push_back(best);
  }
}

MatrixXd KernelLearner::total_covariance() const {
  const Index m = fit_.gram().rows();
  MatrixXd out = MatrixXd::Zero(m, m);
  for (Index c = 0; c < fit_.factors(); ++c) {
    out += fit_.factor(c).covariance();
  }
  if (fit_.shared()) out *= static_cast<double>(fit_.mean().rows());
  return out;
}

double KernelLearner::target(const VectorXd& at, const MatrixXd& covariance,
                             VectorXd& gradient) {
  unpack(at);
  auto design = std::make_unique<Design>(composite_, weights_, executor_);
  design_.swap(design);
  const double value = slopes(covariance, gradient);
  return value + log_prior();
}

bool KernelLearner::update_weights(WeightPosterior& q,
                                   const MatrixXd& covariance, double offset) {
  if (!product()) {
    const Quadratic f = quadratic(covariance);
    return q.update([&](const VectorXd& beta, VectorXd* gradient) {
      const VectorXd bent = f.bend * beta;
      if (gradient != nullptr) *gradient += f.slope - bent;
      return offset + beta.dot(f.slope - 0.5 * bent);
    });
  }
  composite_.hold(Design::kMost);
  const Composite::Release held{composite_};
  return q.update([&](const VectorXd& beta, VectorXd* gradient) {
    design_ = std::make_unique<Design>(composite_, beta, executor_);
    VectorXd by_weight, by_kernel;
    const double value =
        raw_slopes(covariance, gradient != nullptr, by_weight, by_kernel);
    if (gradient != nullptr) *gradient += by_weight;
    return offset + value;
  });
}

bool KernelLearner::update_scales(WeightPosterior& q,
                                  const MatrixXd& covariance, double offset) {
  std::vector<Index> at;
  for (Index s = 0, before = 0; s < composite_.size(); ++s) {
    for (const Place& place : places_) {
      if (place.source == s) at.push_back(before + place.parameter);
    }
    before += composite_.source(s).parameters();
  }
  return q.update([&](const VectorXd& theta, VectorXd* gradient) {
    set_scales(theta);
    design_ = std::make_unique<Design>(composite_, weights_, executor_);
    VectorXd by_weight, by_kernel;
    const double value = raw_slopes(covariance, false, by_weight, by_kernel);
    if (gradient != nullptr) {
      // From log length-scales, -log(2 theta) / 2.
      for (Index k = 0; k < theta.size(); ++k) {
        (*gradient)[k] -=
            0.5 * by_kernel[at[static_cast<std::size_t>(k)]] / theta[k];
      }
    }
    return offset + value;
  });
}

void KernelLearner::set_scales(const VectorXd& theta) {
  for (std::size_t k = 0; k < places_.size(); ++k) {
    Source& source = composite_.source(places_[k].source);
    VectorXd all = source.log_parameters();
    const double log_theta =
        std::log(std::max(theta[static_cast<Index>(k)], 1e-30));
    all[places_[k].parameter] =
        std::clamp(-0.5 * (std::log(2.0) + log_theta), -kMostLog, kMostLog);
    source.set_log_parameters(all);
  }
}

auto KernelLearner::quadratic(const MatrixXd& covariance) const -> Quadratic {
  const Index own = composite_.own_regressors(), size = composite_.size();
  const MatrixXd& w = fit_.mean();
  MatrixXd r = w.transpose() * w;
  if (covariance.size() > 0) r += covariance;
  const MatrixXd inner = r.topLeftCorner(own, own);
  VectorXd constant = VectorXd::Zero(own);  // R times the bias
  if (composite_.bias()) constant = r.col(own).head(own);
  struct Part {
    VectorXd slope;
    MatrixXd bend;
  };
  struct Scratch {
    Composite::Scratch composite;
    std::vector<MatrixXd> base;
    MatrixXd pull;
  };
  std::vector<Part> parts(design_->tiles());
  ScratchPool<Scratch> pool;
  executor_.run(design_->tiles(), [&](Index t) {
    auto loan = pool.borrow();
    Scratch& at = *loan;
    Part& part = parts[t];
    const Index begin = design_->begin(t), n = design_->columns(t);
    at.base.resize(static_cast<std::size_t>(size));
    part.slope.resize(size);
    part.bend.resize(size, size);
    at.pull.noalias() =
        w.leftCols(own).transpose() * fit_.y().middleCols(begin, n);
    at.pull.colwise() -= constant;
    for (Index s = 0; s < size; ++s) {
      MatrixXd& base = at.base[static_cast<std::size_t>(s)];
      base.resize(own, n);
      composite_.base(s, begin, n, at.composite, base.data());
      part.slope[s] = at.pull.cwiseProduct(base).sum();
    }
    for (Index s = 0; s < size; ++s) {
      at.pull.noalias() = inner * at.base[static_cast<std::size_t>(s)];
      for (Index j = 0; j <= s; ++j) {
        part.bend(s, j) = part.bend(j, s) =
            at.pull.cwiseProduct(at.base[static_cast<std::size_t>(j)]).sum();
      }
    }
  });
  Quadratic out{VectorXd::Zero(size), MatrixXd::Zero(size, size)};
  for (const Part& part : parts) {
    out.slope += part.slope;
    out.bend += part.bend;
  }
  return out;
}

MatrixXd KernelLearner::spread_gram(const MatrixXd& directions) const {
  const Index m = composite_.regressors();
  MatrixXd out = MatrixXd::Zero(m, m);
  for (Index k = 0; k < directions.cols(); ++k) {
    out += Design(composite_, directions.col(k), executor_, Design::kMost, 0.0)
               .gram(executor_);
  }
  return out;
}

double KernelLearner::slopes(const MatrixXd& covariance, VectorXd& gradient) {
  VectorXd by_weight, by_kernel;
  const double value =
      raw_slopes(covariance, learned_.weights, by_weight, by_kernel);
  const Index count = weight_count();
  gradient.resize(count + count_of(places_));
  if (count > 0 && product()) {
    by_weight.array() -= prior_.weight_rate;
    gradient.head(count) = by_weight.cwiseProduct(weights_);
    gradient.head(count).array() += prior_.weight_shape - 1.0;
  } else if (count > 0) {
    const double mean = by_weight.dot(weights_);
    const double size = static_cast<double>(composite_.size());
    gradient.head(count) =
        weights_.head(count).array() * (by_weight.head(count).array() - mean) +
        (prior_.weight_shape - 1.0) *
            (1.0 - size * weights_.head(count).array());
  }
  std::vector<Index> first(static_cast<std::size_t>(composite_.size()));
  for (Index s = 0, parameters = 0; s < composite_.size(); ++s) {
    first[static_cast<std::size_t>(s)] = parameters;
    parameters += composite_.source(s).parameters();
  }
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const Place& place = places_[k];
    const double theta = std::exp(log_theta(place));
    gradient[count + static_cast<Index>(k)] =
        by_kernel[first[static_cast<std::size_t>(place.source)] +
                  place.parameter] -
        2.0 * (prior_.theta_shape - 1.0 - prior_.theta_rate * theta);
  }
  return value;
}

double KernelLearner::raw_slopes(const MatrixXd& covariance, bool with_weights,
                                 VectorXd& by_weight,
                                 VectorXd& by_kernel) const {
  const Index tiles = design_->tiles(), own = composite_.own_regressors();
  const Index size = composite_.size();
  const MatrixXd& w = fit_.mean();
  Index parameters = 0;
  std::vector<Index> first(size);
  for (Index s = 0; s < size; ++s) {
    first[s] = parameters;
    parameters += composite_.source(s).parameters();
  }
  struct Part {
    double value;
    VectorXd weights, kernels;
  };
  std::vector<Part> parts(tiles);
  struct Scratch {
    Design::Scratch design;
    Composite::Scratch composite;
    MatrixXd residual, pull, base, weighed;
  };
  ScratchPool<Scratch> pool;
  executor_.run(tiles, [&](Index t) {
    auto loan = pool.borrow();
    Scratch& at = *loan;
    Part& part = parts[t];
    part.weights = VectorXd::Zero(size);
    part.kernels = VectorXd::Zero(parameters);
    const auto k = design_->tile(t, at.design);
    const Index begin = design_->begin(t), n = k.cols();
    at.residual.noalias() = fit_.y().middleCols(begin, n) - w * k;
    if (covariance.size() > 0) {
      at.pull.noalias() = covariance * k;
    } else {
      at.pull.setZero(k.rows(), n);
    }
    // <K, B> - <K, R K> / 2 = <E Y - m / 2, m> - <K, V K> / 2.
    part.value = (at.residual + 0.5 * w * k).cwiseProduct(w * k).sum() -
                 0.5 * at.pull.cwiseProduct(k).sum();
    at.pull = w.transpose() * at.residual - at.pull;
    at.base.resize(own, n);
    for (Index s = 0; s < size; ++s) {
      const Source& source = composite_.source(s);
      const bool tuned = learned_.lengthscales && source.parameters() > 0;
      if (!with_weights && !tuned) continue;
      composite_.base(s, begin, n, at.composite, at.base.data());
      at.weighed = at.pull.topRows(own);
      if (product()) at.weighed.array() *= k.topRows(own).array();
      part.weights[s] = at.weighed.cwiseProduct(at.base).sum();
      if (!tuned) continue;
      at.weighed *= weights_[s];
      // Of a product d log K: the kernel's derivative over its value.
      if (product()) at.base.setOnes();
      source.add_gradient(begin, n, at.weighed.data(), at.base.data(),
                          at.composite,
                          part.kernels.segment(first[s], source.parameters()));
    }
  });
  double value = 0.0;
  by_weight = VectorXd::Zero(size);
  by_kernel = VectorXd::Zero(parameters);
  for (const Part& part : parts) {
    value += part.value;
    by_weight += part.weights;
    by_kernel += part.kernels;
  }
  return value;
}

VectorXd StateSearch::probability() const {
  VectorMap all(values.data(), count_of(values));
  VectorXd out = (all.array() - all.maxCoeff()).exp();
  return out / out.sum();
}

MultinomialResult KernelLearner::left_out(bool own,
                                          const KeepGoing& keep_going) {
  constexpr double kStep = 0.1, kLittle = 0.05;  // of log weights; of gains
  MultinomialResult total;
  if (learned_.weights && simplex_) {
    weights_ *= static_cast<double>(composite_.size());
  }
  simplex_ = false;
  double best = -std::numeric_limits<double>::infinity(), last = best;
  const auto score = [&](const VectorXd& at) {
    if (total.interrupted) return std::numeric_limits<double>::quiet_NaN();
    unpack(at);
    run(inner_settings(), keep_going, total);
    return bayeskernel::left_out(fit_, *design_, own, executor_).sum() +
           log_prior() + log_jacobian();
  };
  const auto value = [&](const VectorXd& at, VectorXd& gradient) {
    const double here = last = score(at);
    // Nobody asks for the slope at a step that is not taken.
    if (!(here > best)) return here;
    gradient.resize(at.size());
    for (Index k = 0; k < at.size(); ++k) {
      VectorXd near = at;
      near[k] += kStep;
      gradient[k] = (score(near) - here) / kStep;
    }
    return here;
  };
  const auto visit = [&] {
    best = last;
    return !total.interrupted;
  };
  const Maximum found = maximise(value, pack(), kLittle, kMost, visit);
  unpack(found.at);
  const bool interrupted = total.interrupted;
  design_.reset();
  const MultinomialResult result =
      run(set_, interrupted ? KeepGoing(forever) : keep_going, total);
  total.bound = result.bound;
  total.largest_fall = result.largest_fall;
  total.converged = total.converged && found.converged && !interrupted;
  return total;
}
}  // namespace bayeskernel
