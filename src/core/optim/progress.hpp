// What an engine tells its driver between rounds; the answer false stops it.
#pragma once

#include <functional>

namespace bayeskernel {
struct Progress {
  double done;        // units of work finished
  double total;       // units in all (a cap for iterations)
  const char* phase;  // "warmup", "sampling", "vb"
};

using KeepGoing = std::function<bool(const Progress&)>;
}  // namespace bayeskernel
