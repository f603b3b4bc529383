#include "multinomial/states.hpp"

#include "multinomial/left_out.hpp"

namespace bayeskernel {
void StateFits::run(const Composite& composite, MultinomialFit& fit,
                    const StateSettings& settings, Executor& executor,
                    const KeepGoing& keep_going) {
  constexpr Index kEnumerated = 10;
  constexpr double kLeast = 1e-6;  // probability of a fit that counts
  const auto at = [&](const VectorXd& state, bool& interrupted) {
    return fit_at(state, composite, fit, settings, executor, keep_going,
                  interrupted);
  };
  if (composite.size() <= kEnumerated) {
    search_.enumerate(composite.size(), settings.allow_empty, at);
  } else {
    search_.greedy(composite.size(), settings.allow_empty, at);
  }
  result_.interrupted = search_.interrupted;
  if (states().empty()) return;
  probability_ = search_.probability();
  std::vector<double> share;
  std::vector<KeptFit> kept;
  for (std::size_t k = 0; k < states().size(); ++k) {
    const double p = probability_[static_cast<Index>(k)];
    if (components_[k].mean.size() == 0 || p < kLeast) continue;
    kept.push_back(std::move(components_[k]));
    share.push_back(p);
  }
  components_ = std::move(kept);
  share_ = Eigen::Map<VectorXd>(share.data(), count_of(share));
  share_ /= share_.sum();
}

VectorXd StateFits::inclusion() const {
  const Index count = static_cast<Index>(states().size());
  MatrixXd all(count, states()[0].size());
  for (Index k = 0; k < count; ++k) all.row(k) = states()[k].transpose();
  return all.transpose() * probability_;
}

double StateFits::fit_at(const VectorXd& state, const Composite& composite,
                         MultinomialFit& fit, const StateSettings& settings,
                         Executor& executor, const KeepGoing& keep_going,
                         bool& interrupted) {
  constexpr double kNegligible = 14.0;  // of log probabilities
  const Design design(composite, state, executor);
  const MultinomialResult result = fit.run(design, keep_going);
  interrupted = result.interrupted;
  result_.passes += result.passes;
  result_.rejected += result.rejected;
  result_.by_qr = result_.by_qr || result.by_qr;
  result_.lost_digits = result_.lost_digits || result.lost_digits;
  result_.converged =
      (components_.empty() || result_.converged) && result.converged;
  result_.largest_fall = std::max(result_.largest_fall, result.largest_fall);
  const double worth = settings.left_out
                           ? left_out(fit, design, settings.own, executor).sum()
                           : fit.bound();
  const double value = worth + state.sum() * std::log(settings.on) +
                       (static_cast<double>(state.size()) - state.sum()) *
                           std::log1p(-settings.on);
  components_.push_back(value > most_ - kNegligible
                            ? keep_fit(fit, state, result.by_qr)
                            : KeptFit());
  if (value > most_) {
    most_ = value;
    best_ = fitted_objects(fit, design);
    result_.bound = result.bound;
    result_.active = result.active;
  }
  return value;
}
}  // namespace bayeskernel
