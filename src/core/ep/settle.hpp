// The loop of expectation propagation, whatever solves for q.
#pragma once

#include "ep/sites.hpp"
#include "likelihood/family.hpp"

namespace bayeskernel {
struct EpSettings {
  // Of the messages and of the mean: 1e-3 leaves standard deviations wrong by
  // less.
  double tolerance = 1e-3;
  int max_passes = 100;
  double damping = 0.0;  // of the first passes; 0: what the family asks for
};

struct EpResult {
  int passes = 0;  // over the rows, those of the start included
  bool converged = false;
  double change = 0.0;
};

// solve() takes q from the messages, step() is a pass: it sets them anew and
// says by how much they changed. Ends with the q that the last pass saw.
template <class Solve, class Step>
void settle(SiteRule& rule, Family family, const EpSettings& settings,
            Solve&& solve, Step&& step, EpResult& result) {
  rule.damping = family == Family::hinge ? 0.9 : 1.0;
  if (settings.damping > 0.0) rule.damping = settings.damping;
  double previous = 0.0, before = 0.0;
  int swings = 0;
  for (int k = 1; k <= settings.max_passes; ++k) {
    solve();
    step(result);
    if (result.change < settings.tolerance) {
      result.converged = true;
      break;
    }
    // Few rows of a group whose variance is large correct each other by too
    // much. The first changes may grow and mean nothing.
    const double projection = rule.projection();
    const bool swing =
        projection * before < 0.0 && result.change > 0.7 * previous;
    swings = swing ? swings + 1 : 0;
    if (k >= 3 && (swings >= 2 || result.change > 1.2 * previous)) {
      rule.damping = std::max(0.7 * rule.damping, 0.1);
      swings = 0;
    }
    previous = result.change;
    before = projection;
  }
}
}  // namespace bayeskernel
