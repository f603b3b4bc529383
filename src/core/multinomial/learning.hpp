// What spaces and length-scales are worth (Damoulas and Girolami 2009, section
// 3.2): weights of a composite, and the length-scales of its rbf kernels.
//   profile  the maximum of the bound as a function of both, q at its optimum
//            for each: by the envelope theorem its gradient is that of
//            <K, B> - <K, R K> / 2, R = sum_c (V_c + w_c' w_c), B = W' E Y
//   map      that function of K alone, climbed once in every iteration
//   left_out predictions of each object from the others (left_out.hpp), which
//            know nothing of the bound's slack; differences for a gradient
//   spread   not a point but q(beta), from that function (weight_posterior.hpp)
//   states   one fit for each on or off pattern, weighed by exp(bound)
// The printed update has I in place of the inverse of R: it leaves out V_c and
// draws towards large kernels.
#ifndef BAYESKERNEL_MULTINOMIAL_LEARNING_HPP
#define BAYESKERNEL_MULTINOMIAL_LEARNING_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "optim/maximise.hpp"
#include "multinomial/left_out.hpp"
#include "multinomial/mean_field.hpp"
#include "multinomial/weight_posterior.hpp"

namespace bayeskernel {

// Point estimates are added to the bound by these log densities: of beta of a
// product, Gamma(weight_shape, weight_rate), of a sum that adds up to 1,
// Dirichlet(weight_shape, ...), flat with 1; of theta = 1 / (2 l^2),
// Gamma(theta_shape, theta_rate).
struct KernelPrior {
  double weight_shape = 1.0, weight_rate = 1.0;
  double theta_shape = 1.0, theta_rate = 1.0;
};

struct Learned {
  bool weights = false;
  bool lengthscales = false;
};

// What the objects' classes are worth given the other objects, at the start of
// a search by the bound and at what it found; `taken`: the fit is the latter.
struct SearchCheck {
  double start = std::numeric_limits<double>::quiet_NaN();
  double found = std::numeric_limits<double>::quiet_NaN();
  bool taken = true;
};

class KernelLearner {
 public:
  // `weights` is where the search begins and, once over, what it found.
  KernelLearner(Composite& composite, const VectorXd& weights,
                const KernelPrior& prior, Learned learned,
                MultinomialFit& fit, const MultinomialSettings& settings,
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

  const VectorXd& weights() const { return weights_; }

  MultinomialResult profile(const KeepGoing& keep_going) {
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
    follow(run(inner_settings(),
               interrupted ? KeepGoing(forever) : keep_going, total),
           total);
    total.bound.back() = fit_.bound() + log_prior();
    total.interrupted = total.interrupted || interrupted;
    total.converged = total.converged && found.converged && !interrupted;
    total.largest_fall = 0.0;
    return total;
  }

  MultinomialResult map(const KeepGoing& keep_going) {
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
      total.converged = std::abs(bound - best) <= set_.tolerance *
                                                      std::abs(bound);
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

  // A search by the bound, `profile` or `map`, with what it is worth. The bound
  // is loose, and more so for larger kernels: its maximum may be where all
  // classes are equally probable. With `refuse` what predicts the objects worse
  // than the start did is not taken; the fit is then that of the start.
  template <class Search>
  MultinomialResult checked(Search&& search, bool own, bool refuse,
                            const KeepGoing& keep_going, SearchCheck& check) {
    const auto worth = [&] {
      return bayeskernel::left_out(fit_, *design_, own, executor_).sum();
    };
    const VectorXd start = pack();
    MultinomialResult first;
    first = run(set_, keep_going, first);
    if (first.interrupted) return first;
    check.start = worth();
    design_.reset();
    MultinomialResult total = search();
    if (total.interrupted) return total;
    check.found = worth();
    check.taken = !refuse || check.found >= check.start;
    if (check.taken) return total;
    unpack(start);
    design_.reset();
    MultinomialResult back;
    MultinomialResult out = run(set_, keep_going, back);
    out.passes = total.passes + back.passes;
    out.rejected = total.rejected + back.rejected;
    return out;
  }

  // `own`: object n is regressor n. The size of a sum's weights is free, too,
  // with the prior of a product's: predictions know it, and gain. The fit is
  // that of the weights found, as if they had been given.
  MultinomialResult left_out(bool own, const KeepGoing& keep_going) {
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

  // q(beta) takes turns with the rest. Of a sum E K K' is exact; of a product
  // K(E beta) stands for E K, as in the paper, and the bound may fall.
  MultinomialResult spread(WeightPosterior& q, const KeepGoing& keep_going) {
    MultinomialResult total;
    MultinomialSettings one = set_;
    one.max_passes = 1;
    one.accelerate = false;
    double best = -std::numeric_limits<double>::infinity();
    while (true) {
      run(one, keep_going, total);
      total.converged = false;
      if (q.known()) {
        const double bound = fit_.bound() + q.bound();
        total.bound.push_back(bound);
        if (q.exact()) {
          total.largest_fall = std::max(total.largest_fall, best - bound);
        }
        total.converged = std::abs(bound - best) <= set_.tolerance *
                                                        std::abs(bound);
        best = bound;
      }
      if (total.interrupted) break;
      if (q.known() && (total.converged || total.passes >= set_.max_passes)) {
        break;
      }
      if (!keep_going({static_cast<double>(total.passes),
                       static_cast<double>(set_.max_passes), "vb"})) {
        total.interrupted = true;
        if (q.known()) break;
      }
      if (!update(q)) {
        total.bound.clear();
        total.largest_fall = 0.0;
        best = -std::numeric_limits<double>::infinity();
      }
      weights_ = q.mean();
      if (!product()) beyond_ = spread_gram(q.spread());
    }
    return total;
  }

  // The design that the fit stands on.
  const Design& design() const { return *design_; }

  // At the weights as they are; what adds up over runs goes to `total`.
  MultinomialResult run(const MultinomialSettings& settings,
                        const KeepGoing& keep_going,
                        MultinomialResult& total) {
    const bool warm = design_ != nullptr;
    MultinomialStart start;
    if (warm) start = fit_.state();
    auto design =
        std::make_unique<Design>(composite_, weights_, executor_);
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

 private:
  struct Place {
    Index source, parameter;
  };
  static constexpr int kMost = 60;  // evaluations of a search

  static bool forever(const Progress&) { return true; }
  bool product() const {
    return composite_.combination() == Combination::product;
  }

  // Fits of a search are nearly exact, for its gradient.
  MultinomialSettings inner_settings() const {
    MultinomialSettings out = set_;
    out.tolerance = std::min(set_.tolerance, 1e-6);
    out.max_passes = std::max(set_.max_passes, 200);
    return out;
  }

  // Log ratios to the last weight where they add up to 1, else log weights;
  // then log length-scales.
  Index weight_count() const {
    return !learned_.weights ? 0 : composite_.size() - (simplex_ ? 1 : 0);
  }

  VectorXd pack() const {
    const Index count = weight_count();
    VectorXd out(count + static_cast<Index>(places_.size()));
    for (Index s = 0; s < count; ++s) {
      const double base = simplex_ ? weights_[composite_.size() - 1] : 1.0;
      out[s] = std::log(std::max(weights_[s], kLeast) / std::max(base, kLeast));
    }
    for (std::size_t k = 0; k < places_.size(); ++k) {
      const VectorXd all =
          composite_.source(places_[k].source).log_parameters();
      out[count + static_cast<Index>(k)] = all[places_[k].parameter];
    }
    return out;
  }

  void unpack(const VectorXd& at) {
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

  double log_prior() const {
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

  // Of the logarithms that are searched over, without constants.
  double log_jacobian() const {
    double out = 0.0;
    if (learned_.weights) out += weights_.array().max(kLeast).log().sum();
    for (const Place& place : places_) out += log_theta(place);
    return out;
  }

  double log_theta(const Place& place) const {
    const VectorXd all = composite_.source(place.source).log_parameters();
    return -std::log(2.0) - 2.0 * all[place.parameter];
  }

  double evaluate(const VectorXd& at, VectorXd& gradient,
                  const KeepGoing& keep_going, MultinomialResult& total) {
    unpack(at);
    if (total.interrupted) return std::numeric_limits<double>::quiet_NaN();
    follow(run(inner_settings(), keep_going, total), total);
    slopes(total_covariance(), gradient);
    return fit_.bound() + log_prior();
  }

  // The largest bound up to each pass, whatever weights that pass was at.
  void follow(const MultinomialResult& inner, MultinomialResult& total) const {
    const double prior = log_prior();
    for (const double bound : inner.bound) {
      const double best = total.bound.empty()
                              ? bound + prior
                              : std::max(total.bound.back(), bound + prior);
      total.bound.push_back(best);
    }
  }

  // sum_c V_c, a slot for each factor, added in their order.
  MatrixXd total_covariance() const {
    const Index m = fit_.gram().rows();
    MatrixXd out = MatrixXd::Zero(m, m);
    for (Index c = 0; c < fit_.factors(); ++c) {
      out += fit_.factor(c).covariance();
    }
    if (fit_.shared()) out *= static_cast<double>(fit_.mean().rows());
    return out;
  }

  // <K, B> - <K, R K> / 2 + log prior at other weights or kernels, and its
  // gradient.
  double target(const VectorXd& at, const MatrixXd& covariance,
                VectorXd& gradient) {
    unpack(at);
    auto design =
        std::make_unique<Design>(composite_, weights_, executor_);
    design_.swap(design);
    const double value = slopes(covariance, gradient);
    return value + log_prior();
  }

  bool update(WeightPosterior& q) {
    const MatrixXd covariance = total_covariance();
    if (!product()) {
      const Quadratic f = quadratic(covariance);
      return q.update([&](const VectorXd& beta, VectorXd* gradient) {
        const VectorXd bent = f.bend * beta;
        if (gradient != nullptr) *gradient += f.slope - bent;
        return beta.dot(f.slope - 0.5 * bent);
      });
    }
    return q.update([&](const VectorXd& beta, VectorXd* gradient) {
      design_ = std::make_unique<Design>(composite_, beta, executor_);
      VectorXd by_weight, by_kernel;
      const double value =
          raw_slopes(covariance, gradient != nullptr, by_weight, by_kernel);
      if (gradient != nullptr) *gradient += by_weight;
      return value;
    });
  }

  // <K, B> - <K, R K> / 2 = slope' beta - beta' bend beta / 2 + const of a sum:
  // S products of M x M with M x N.
  struct Quadratic {
    VectorXd slope;
    MatrixXd bend;
  };
  Quadratic quadratic(const MatrixXd& covariance) const {
    const Index own = composite_.own_regressors(), size = composite_.size();
    const MatrixXd& w = fit_.mean();
    const MatrixXd r = covariance + w.transpose() * w;
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

  // E K K' less that of the mean weights: sum_k D_k D_k', D_k = sum_s v_ks K_s.
  MatrixXd spread_gram(const MatrixXd& directions) const {
    const Index m = composite_.regressors();
    MatrixXd out = MatrixXd::Zero(m, m);
    for (Index k = 0; k < directions.cols(); ++k) {
      out += Design(composite_, directions.col(k), executor_, Design::kMost,
                    0.0).gram(executor_);
    }
    return out;
  }

  // The gradient in what pack() has, from W, V and E Y of the fit and the
  // design; the value of the function above.
  double slopes(const MatrixXd& covariance, VectorXd& gradient) {
    VectorXd by_weight, by_kernel;
    const double value =
        raw_slopes(covariance, learned_.weights, by_weight, by_kernel);
    const Index count = weight_count();
    gradient.resize(count + static_cast<Index>(places_.size()));
    if (count > 0 && product()) {
      by_weight.array() -= prior_.weight_rate;
      gradient.head(count) = by_weight.cwiseProduct(weights_);
      gradient.head(count).array() += prior_.weight_shape - 1.0;
    } else if (count > 0) {
      const double mean = by_weight.dot(weights_);
      const double size = static_cast<double>(composite_.size());
      gradient.head(count) =
          weights_.head(count).array() *
              (by_weight.head(count).array() - mean) +
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

  // <K, B> - <K, R K> / 2 of the design, and its derivatives by the weights, if
  // asked for, and by the kernels' parameters, if these are learned.
  double raw_slopes(const MatrixXd& covariance, bool with_weights,
                    VectorXd& by_weight, VectorXd& by_kernel) const {
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
      at.pull.noalias() = covariance * k;
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
                            at.composite, part.kernels.segment(
                                              first[s], source.parameters()));
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

  static constexpr double kLeast = 1e-12;
  static constexpr double kMostLog = 20.0;

  Composite& composite_;
  VectorXd weights_;
  KernelPrior prior_;
  Learned learned_;
  MultinomialFit& fit_;
  MultinomialSettings set_;
  Executor& executor_;
  std::vector<Place> places_;
  std::unique_ptr<Design> design_;
  MatrixXd beyond_;  // E K K' less the design's, of weights that are no points
  bool simplex_;  // weights add up to 1
};

// Fits for patterns of weights 0 and 1: all of them, or from all ones by the
// best single changes. `fit_at(state)` gives the bound and log prior of one.
struct StateSearch {
  std::vector<VectorXd> states;
  std::vector<double> values;
  bool interrupted = false;

  template <class FitAt>
  void enumerate(Index size, bool allow_empty, FitAt&& fit_at) {
    const std::uint64_t count = std::uint64_t{1} << size;
    for (std::uint64_t at = allow_empty ? 0 : 1; at < count; ++at) {
      VectorXd state(size);
      for (Index s = 0; s < size; ++s) {
        state[s] = static_cast<double>(at >> s & 1);
      }
      if (!look(state, fit_at)) return;
    }
  }

  template <class FitAt>
  void greedy(Index size, bool allow_empty, FitAt&& fit_at) {
    VectorXd state = VectorXd::Ones(size);
    if (!look(state, fit_at)) return;
    double best = values.back();
    while (true) {
      VectorXd next = state;
      for (Index s = 0; s < size; ++s) {
        VectorXd other = state;
        other[s] = 1.0 - other[s];
        if (other.sum() == 0.0 && !allow_empty) continue;
        if (seen(other)) continue;
        if (!look(other, fit_at)) return;
        if (values.back() > best) {
          best = values.back();
          next = other;
        }
      }
      if (next == state) return;
      state = next;
    }
  }

  // P(state | t), proportional to exp(value).
  VectorXd probability() const {
    Eigen::Map<const VectorXd> all(values.data(),
                                   static_cast<Index>(values.size()));
    VectorXd out = (all.array() - all.maxCoeff()).exp();
    return out / out.sum();
  }

 private:
  bool seen(const VectorXd& state) const {
    return std::find(states.begin(), states.end(), state) != states.end();
  }
  template <class FitAt>
  bool look(const VectorXd& state, FitAt&& fit_at) {
    const double value = fit_at(state, interrupted);
    if (interrupted) return false;
    states.push_back(state);
    values.push_back(value);
    return true;
  }
};

}  // namespace bayeskernel

#endif
