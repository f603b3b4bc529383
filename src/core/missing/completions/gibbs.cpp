#include "missing/completions/gibbs.hpp"

#include "error.hpp"
#include "likelihood/likelihood.hpp"
#include "linear/latent_values.hpp"

namespace bayeskernel {
CompletionGibbs::CompletionGibbs(const Completions& units, PackedRows& rows,
                                 Family family, Executor& executor,
                                 std::uint64_t seed, std::uint64_t chain)
    : units_(units),
      rows_(rows),
      sweep_{rows, executor, nullptr},
      family_(family),
      tilted_(family),
      weight_(rows.weight),
      responsibility_(rows.rows()),
      seed_(seed),
      chain_(chain) {
  check_residuals();
  choose(Purpose::completions, 0, [&](Index) { return 0.0; });
}

void CompletionGibbs::draw(const ArrowVector& point, std::uint64_t sweep,
                           double noise) {
  f_.resize(rows_.rows());
  sweep_.run([&](Index block, Index) {
    MatrixXd buffer;
    for (const TileSpan& span : rows_.block_tiles(block)) {
      latent_values(rows_, span, rows_.tile(span, buffer), point,
                    f_.data() + span.row_begin);
    }
  });
  choose(Purpose::missing, sweep,
         [&](Index i) { return log_likelihood_of(i, 1.0 / noise); });
}

void CompletionGibbs::check_residuals() const {
  if (rows_.residual.size() == 0 || family_ == Family::gaussian) return;
  if (family_ == Family::probit && (weight_.array() <= 1.0).all()) return;
  throw ArgumentError(
      "rows with completions and residuals have no sampler in this family");
}

double CompletionGibbs::log_likelihood_of(Index i,
                                          double noise_variance) const {
  const double w = weight_[i], y = rows_.y[i];
  if (w == 0.0) return 0.0;
  const double r = rows_.residual.size() > 0 ? rows_.residual[i] : 0.0;
  if (r > 0.0) return tilted_(y, w, f_[i], r, noise_variance).log_z;
  return w * log_likelihood(family_, y, f_[i], noise_variance);
}
}  // namespace bayeskernel
