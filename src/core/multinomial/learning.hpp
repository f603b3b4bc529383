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
// The printed weights of B.4, those of N(E y | W k, I), leave V_c out of R and
// draw towards large kernels.
#pragma once

#include "eigen.hpp"
#include "multinomial/design.hpp"
#include "multinomial/left_out.hpp"
#include "multinomial/mean_field.hpp"
#include "multinomial/sources.hpp"
#include "multinomial/weight_posterior.hpp"
#include "optim/ascent.hpp"
#include "optim/maximise.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"

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
                const KernelPrior& prior, Learned learned, MultinomialFit& fit,
                const MultinomialSettings& settings, Executor& executor);

  const VectorXd& weights() const { return weights_; }

  MultinomialResult profile(const KeepGoing& keep_going);

  MultinomialResult map(const KeepGoing& keep_going);

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
  MultinomialResult left_out(bool own, const KeepGoing& keep_going);

  // q(beta), q(theta) or both (null: that is given) take turns with the rest.
  // Of a sum E K K' is exact; of a product, and of length-scales, the kernel at
  // the mean stands for E K, as in the paper, and the bound may fall. As
  // printed V_c is left out, and the mean stands for all weights.
  struct Spread {
    WeightPosterior* weights = nullptr;
    WeightPosterior* scales = nullptr;
    bool printed = false;
  };
  MultinomialResult spread(const Spread& q, const KeepGoing& keep_going);
  Index scale_count() const { return count_of(places_); }

  // The design that the fit stands on.
  const Design& design() const { return *design_; }

  // At the weights as they are; what adds up over runs goes to `total`.
  MultinomialResult run(const MultinomialSettings& settings,
                        const KeepGoing& keep_going, MultinomialResult& total);

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
  MultinomialSettings inner_settings() const;

  // Log ratios to the last weight where they add up to 1, else log weights;
  // then log length-scales.
  Index weight_count() const {
    return !learned_.weights ? 0 : composite_.size() - (simplex_ ? 1 : 0);
  }

  VectorXd pack() const;

  void unpack(const VectorXd& at);

  double log_prior() const;

  // Of the logarithms that are searched over, without constants.
  double log_jacobian() const;

  double log_theta(const Place& place) const;

  double evaluate(const VectorXd& at, VectorXd& gradient,
                  const KeepGoing& keep_going, MultinomialResult& total);

  // The largest bound up to each pass, whatever weights that pass was at.
  void follow(const MultinomialResult& inner, MultinomialResult& total) const;

  // sum_c V_c, a slot for each factor, added in their order.
  MatrixXd total_covariance() const;

  // <K, B> - <K, R K> / 2 + log prior at other weights or kernels, and its
  // gradient.
  double target(const VectorXd& at, const MatrixXd& covariance,
                VectorXd& gradient);

  // Whether the bound may be compared with the last. Without a covariance
  // coefficients are their means.
  bool update_weights(WeightPosterior& q, const MatrixXd& covariance,
                      double offset);
  bool update_scales(WeightPosterior& q, const MatrixXd& covariance,
                     double offset);
  void set_scales(const VectorXd& theta);

  // <K, B> - <K, R K> / 2 = slope' beta - beta' bend beta / 2 + const of a sum:
  // S products of M x M with M x N.
  struct Quadratic {
    VectorXd slope;
    MatrixXd bend;
  };
  Quadratic quadratic(const MatrixXd& covariance) const;

  // E K K' less that of the mean weights: sum_k D_k D_k', D_k = sum_s v_ks K_s.
  MatrixXd spread_gram(const MatrixXd& directions) const;

  // The gradient in what pack() has, from W, V and E Y of the fit and the
  // design; the value of the function above.
  double slopes(const MatrixXd& covariance, VectorXd& gradient);

  // <K, B> - <K, R K> / 2 of the design, and its derivatives by the weights, if
  // asked for, and by the kernels' parameters, if these are learned.
  double raw_slopes(const MatrixXd& covariance, bool with_weights,
                    VectorXd& by_weight, VectorXd& by_kernel) const;

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
  bool simplex_;     // weights add up to 1
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
  VectorXd probability() const;

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
