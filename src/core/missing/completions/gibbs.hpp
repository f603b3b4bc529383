// Rows with missing values as units of completions in a Gibbs sweep: completion
// k of a unit holds with probability proportional to pi_k Z(eta_k, r_k), the
// likelihood with latents and residuals integrated out. Then it alone has its
// row's power, the others of the unit none, and every other step sees a
// complete row.
#pragma once

#include "eigen.hpp"
#include "likelihood/family.hpp"
#include "likelihood/tilted.hpp"
#include "linear/completions.hpp"
#include "parallel/executor.hpp"
#include "rng/categorical.hpp"
#include "rng/stream.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
class CompletionGibbs {
 public:
  // `rows` are the chain's own: their powers follow the choice of completions,
  // which starts from the prior.
  CompletionGibbs(const Completions& units, PackedRows& rows, Family family,
                  Executor& executor, std::uint64_t seed, std::uint64_t chain);

  // 1 / v of a Gaussian likelihood is `noise`.
  void draw(const ArrowVector& point, std::uint64_t sweep, double noise);

  // The probabilities of the completions when last drawn.
  const VectorXd& responsibility() const { return responsibility_; }

 private:
  // Latents of rows with residuals are drawn given the last one: for a
  // completion that is new there is none.
  void check_residuals() const;

  double log_likelihood_of(Index i, double noise_variance) const;

  // One completion of every unit, at prior plus log_value(row).
  template <class Value>
  void choose(Purpose purpose, std::uint64_t sweep, Value&& log_value) {
    sweep_.run([&](Index block, Index) {
      for (const TileSpan& span : rows_.block_tiles(block)) {
        Stream stream(seed_, chain_, purpose, sweep,
                      static_cast<std::uint64_t>(span.number));
        for (Index begin = span.row_begin; begin < span.row_end;) {
          const Index end = units_.end(begin);
          choose_unit(begin, end, stream, log_value);
          begin = end;
        }
      }
    });
  }

  template <class Value>
  void choose_unit(Index begin, Index end, Stream& stream, Value&& log_value) {
    if (end == begin + 1) {
      responsibility_[begin] = 1.0;
      return;
    }
    for (Index i = begin; i < end; ++i) {
      responsibility_[i] = units_.log_prior[i] + log_value(i);
    }
    softmax(end - begin, responsibility_.data() + begin);
    const Index chosen =
        begin + categorical(stream.uniform(), end - begin, [&](Index k) {
          return responsibility_[begin + k];
        });
    for (Index i = begin; i < end; ++i) {
      rows_.weight[i] = i == chosen ? weight_[i] : 0.0;
    }
  }

  const Completions& units_;
  PackedRows& rows_;
  Sweep sweep_;
  Family family_;
  TiltedMoments tilted_;
  const VectorXd weight_;
  VectorXd responsibility_, f_;
  std::uint64_t seed_, chain_;
};
}  // namespace bayeskernel
