#include "linear/mean_field_rows.hpp"

namespace bayeskernel {
void MeanFieldRows::delegate(RemoteMeanField remote,
                             const MeanFieldState& state) {
  pass_.delegate([&state, remote = std::move(remote)](
                     const GaussianPosterior* q, bool with_newton, Sums& out,
                     const RowStore& store) {
    remote({q, with_newton, state.noise, state.precision}, out, store.kappa);
  });
}

void MeanFieldRows::start(const MeanFieldState& state,
                          MeanFieldEvaluation& out) {
  if (model_.open != nullptr) model_.open->set(state.precision);
  out.noise = start_noise(model_.noise);
  run(Moments(), rules_.start(), out.noise, Second::none, out);
}

double MeanFieldRows::update(const Moments& at, const MeanFieldState& state,
                             const Prior& prior, Second second,
                             MeanFieldEvaluation& out) {
  if (model_.open != nullptr) model_.open->set(state.precision);
  out.noise = NoisePosterior();
  out.noise.precision = state.noise;
  run(at, rules_.later(), out.noise, second, out);
  double gain = 0.0;
  if (model_.learns_noise()) {
    gain = update_noise(model_.noise, state.noise, out.sums.power,
                        out.sums.squares, out.noise);
    // As the pass would have left them with the new noise.
    const double ratio = out.noise.precision / state.noise;
    out.sums.scale(ratio);
    out.kappa *= ratio;
    out.linear *= ratio;
  }
  if (model_.open != nullptr) {
    model_.open->update(prior, out.moment, out.kappa, out.variances,
                        out.precision);
  }
  return gain;
}

void MeanFieldRows::run(const Moments& at, const Rule& rule,
                        const NoisePosterior& noise, Second second,
                        MeanFieldEvaluation& out) {
  rules_.set_noise(noise.noise());
  rules_.set_responsibility(out.responsibility);
  RowStore store;
  if (out.mean.size() > 0) {
    store.mean = out.mean.data();
    store.variance = out.variance.data();
  }
  if (out.kappa.size() > 0) store.kappa = out.kappa.data();
  if (out.linear.size() > 0) store.linear = out.linear.data();
  pass_.run(at, rule, second, out.sums, store);
}
}  // namespace bayeskernel
