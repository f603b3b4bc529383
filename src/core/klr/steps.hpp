// The moves of klr()'s chain by name, the widths of its random walks, and how
// often it does what.
#pragma once

#include "mcmc/metropolis.hpp"

namespace bayeskernel {
enum class LowRankMove {
  birth,
  death,
  kill,
  coefficient,
  size,
  centre,
  neighbour,
  ridge,
  scale,
  scales,
  shift,
  column,
  frame,
  turn,
  fresh,
  intercept,
  stretch,
  count
};

inline const char* name_of(LowRankMove move) {
  static constexpr const char* kNames[] = {
      "birth",     "death", "kill",  "coefficient", "size",   "centre",
      "neighbour", "ridge", "scale", "scales",      "shift",  "column",
      "frame",     "turn",  "fresh", "intercept",   "stretch"};
  return kNames[static_cast<int>(move)];
}

struct LowRankTally : AcceptanceTable<LowRankMove> {
  // Along many coordinates about three in ten.
  explicit LowRankTally(Index variables)
      : column(0.1 / std::sqrt(static_cast<double>(variables)), 0.3),
        frame(column) {}

  RandomWalkStep coefficient{0.4}, scale{0.8}, scales{0.5, 0.3}, shift{0.5};
  RandomWalkStep size{0.5}, ridge{0.3, 0.3};
  RandomWalkStep column, frame, turn{0.3}, intercept{0.7}, stretch{0.3};

  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto* step : {&coefficient, &size, &ridge, &scale, &scales, &shift,
                       &column, &frame, &turn, &intercept, &stretch}) {
      visit(*step);
    }
  }
};

struct LowRankSchedule {
  // How a jump's update moves a known coefficient: on the scale where its prior
  // is uniform, wrapped around; or by a t_3 step, which is refused where
  // it lands inside, or kills the kernel.
  enum class Update { wrapped, refuse, kill };
  Update update = Update::wrapped;
  double kill_step = 0.4;
  double common_fraction = 0.2;  // of the sweeps move many scales at once
  double fresh_fraction = 0.05;  // of the moves of U redraw a column
  int polish = 1000;             // sweeps between polar factors of U
};
}  // namespace bayeskernel
