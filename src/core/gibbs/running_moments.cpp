#include "gibbs/running_moments.hpp"

namespace bayeskernel {
RunningMoments::RunningMoments(Index size)
    : mean(ArrayXd::Zero(size)), squares(ArrayXd::Zero(size)) {}

void RunningMoments::add(const ArrayXd& draw) {
  count += 1.0;
  squares += (1.0 - 1.0 / count) * (draw - mean).square();
  mean += (draw - mean) / count;
}

void RunningMoments::merge(const RunningMoments& other) {
  if (other.count == 0.0) return;
  const double total = count + other.count;
  squares += other.squares +
             (count * other.count / total) * (other.mean - mean).square();
  mean += (other.count / total) * (other.mean - mean);
  count = total;
}

ArrayXd RunningMoments::variance() const {
  if (count < 2.0) return ArrayXd::Zero(mean.size());
  return squares / (count - 1.0);
}
}  // namespace bayeskernel
