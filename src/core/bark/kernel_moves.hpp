// Birth, death, relocation and the precisions of kernels.
// Each move proposes what it is given and knows its log acceptance ratio; the
// chain draws what to propose. The coefficients are integrated out.
//
// Ouyang (2008), section 3.2.5.
#pragma once

#include "bark/basis.hpp"
#include "bark/state.hpp"
#include "eigen.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "mcmc/metropolis.hpp"
#include "rng/stream.hpp"
#include "simd/aligned_buffer.hpp"

namespace bayeskernel {
class KernelMoves {
 public:
  static constexpr double kNever = kNeverAccepted;

  explicit KernelMoves(BarkState& state)
      : s_(state),
        dots_(state.gaussian.stride()),
        neighbours_(state.data.stride()) {}

  // The likelihood's part of the last ratio.
  double likelihood_change() const { return change_; }

  // ---- Birth: a kernel at `location`, with `varphi` if that opens a column
  // ---

  // Gives up early where the ratio must be below `limit`.
  double birth(Index location, double varphi, double limit = kNever);

  void accept_birth();

  // ---- Death of one kernel of a unit ---------------------------------------

  double death(Index unit);

  void accept_death() { commit_departure(); }

  // ---- Relocation of one kernel of a unit to another location

  double relocate(Index unit, Index location, double varphi,
                  double limit = kNever);

  void accept_relocate();

  // ---- A column, with all its kernels, to an empty location nearby

  // Neighbours j of i are weighed by K(x_j, x_i)^(2^power): prior and counts
  // stay, so the likelihood and the sums of the weights decide.

  // Draws a neighbour; -1 if the column cannot move.
  Index draw_neighbour(Index column, int power, Stream& stream);

  // After draw_neighbour().
  double shift(Index column, Index location);

  // The same centre with one of the other vectors of scales, all alike.

  // -1 if there is none, or the column cannot move.
  Index draw_vector(Index column, Stream& stream);

  double change_vector(Index column, Index location);

  // Of either.
  void accept_shift();

  // ---- A kernel in a column of its own, for the start

  // The change of the log likelihood by it.
  double open(Index location, double varphi);

  void place(Index location, double varphi);

  // ---- A step of log varphi

  double varphi(Index unit, double value);

  void accept_varphi();

 private:
  // A column with all its kernels to an empty location.
  void hand_over(Index column, Index location);

  // The sum of the weights of the other rows.
  double weigh_neighbours(const double* column, Index own);

  // The change by a new column after a departure. Without one it is at most
  // phi^2 v (k'r)^2 / 2: never, where that is below `limit`.
  double open_column(Index location, const ColumnEdit& after, double limit);

  void leave(Index unit);

  void commit_departure();

  void commit_arrival(bool opens);

  void refresh() {
    if (s_.gaussian.stale()) s_.rebuild();
  }

  BarkState& s_;
  AlignedBuffer dots_, neighbours_;
  int power_ = 0;
  double weight_ = 0.0;
  Index location_ = 0, unit_ = 0;
  double varphi_ = 0.0, variance_ = 0.0, departing_variance_ = 0.0;
  double response_ = 0.0, change_ = 0.0;
  bool null_ = false;
  ColumnEdit edit_, departure_;
  ColumnAddition addition_;
};
}  // namespace bayeskernel
