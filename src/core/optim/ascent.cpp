#include "optim/ascent.hpp"

#include <algorithm>

#include "error.hpp"
#include "optim/anderson.hpp"
#include "optim/progress.hpp"

namespace bayeskernel {

double AscentSchedule::more(double damping) const {
  if (shorten) return 0.5 * (1.0 + damping);
  return damping == 0.0 ? first : std::min(1.0, growth * damping);
}

AscentSchedule AscentSchedule::shortened() {
  AscentSchedule out;
  out.shorten = true;
  out.impatience = 2;
  return out;
}

AscentSchedule AscentSchedule::wary() {
  AscentSchedule out;
  out.first = 0.1;
  out.growth = 4.0;
  out.least = 0.05;
  out.patience = 2;
  out.impatience = 2;
  out.hold = 1.0;
  out.plain_end = true;
  return out;
}

}  // namespace bayeskernel
