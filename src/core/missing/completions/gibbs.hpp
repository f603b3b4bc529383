// Rows with missing values as units of atoms in a Gibbs sweep: atom k of a unit
// holds with probability proportional to pi_k Z(eta_k, r_k), the likelihood with
// latents and residuals integrated out. Then it alone has its row's power, the
// others of the unit none, and every other step sees a complete row.
#ifndef BAYESKERNEL_MISSING_COMPLETIONS_GIBBS_HPP
#define BAYESKERNEL_MISSING_COMPLETIONS_GIBBS_HPP

#include <Eigen/Core>
#include <cmath>
#include <cstdint>

#include "rows/sweep.hpp"
#include "error.hpp"
#include "likelihood/likelihood.hpp"
#include "likelihood/tilted.hpp"
#include "linear/latent_values.hpp"
#include "rng/stream.hpp"
#include "linear/completions.hpp"

namespace bayeskernel {

class AtomGibbs {
 public:
  // `rows` are the chain's own: their powers follow the choice of atoms, which
  // starts from the prior.
  AtomGibbs(const AtomUnits& units, PackedRows& rows, Family family,
            Executor& executor, std::uint64_t seed, std::uint64_t chain)
      : units_(units),
        rows_(rows),
        sweep_{rows, executor, nullptr},
        family_(family),
        tilted_(family),
        weight_(rows.weight),
        share_(rows.rows()),
        seed_(seed),
        chain_(chain) {
    check_residuals();
    choose(Purpose::atoms, 0, [&](Index) { return 0.0; });
  }

  // 1 / v of a Gaussian likelihood is `noise`.
  void draw(const ArrowVector& point, std::uint64_t sweep, double noise) {
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

  // The probabilities of the atoms when last drawn.
  const VectorXd& share() const { return share_; }

 private:
  // Latents of rows with residuals are drawn given the last one: for an atom
  // that is new there is none.
  void check_residuals() const {
    if (rows_.residual.size() == 0 || family_ == Family::gaussian) return;
    if (family_ == Family::probit && (weight_.array() <= 1.0).all()) return;
    throw ArgumentError(
        "rows with atoms and residuals have no sampler in this family");
  }

  double log_likelihood_of(Index i, double noise_variance) const {
    const double w = weight_[i], y = rows_.y[i];
    if (w == 0.0) return 0.0;
    const double r = rows_.residual.size() > 0 ? rows_.residual[i] : 0.0;
    if (r > 0.0) return tilted_(y, w, f_[i], r, noise_variance).log_z;
    return w * log_likelihood(family_, y, f_[i], noise_variance);
  }

  // One atom of every unit, at prior plus log_value(row).
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
      share_[begin] = 1.0;
      return;
    }
    for (Index i = begin; i < end; ++i) {
      share_[i] = units_.log_prior[i] + log_value(i);
    }
    softmax(end - begin, share_.data() + begin);
    double left = stream.uniform() - share_[begin];
    Index chosen = begin;
    while (left > 0.0 && chosen + 1 < end) left -= share_[++chosen];
    for (Index i = begin; i < end; ++i) {
      rows_.weight[i] = i == chosen ? weight_[i] : 0.0;
    }
  }

  const AtomUnits& units_;
  PackedRows& rows_;
  Sweep sweep_;
  Family family_;
  TiltedMoments tilted_;
  const VectorXd weight_;
  VectorXd share_, f_;
  std::uint64_t seed_, chain_;
};

}  // namespace bayeskernel

#endif
