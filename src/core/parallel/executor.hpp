// Runs body(block) for blocks 0..B-1. Blocks depend on the data alone, never
// on the number of threads; partial sums go to a slot per block and are added
// in block order, so that results do not depend on the executor.
#pragma once

#include <functional>

#include "eigen.hpp"

namespace bayeskernel {
// Thrown where work is given up because the user asked for it: by an executor
// that looks for interrupts, and by whatever is told not to go on.
struct PassInterrupted {};

struct Executor {
  virtual ~Executor() = default;
  virtual int threads() const = 0;
  virtual void run(Index n_blocks, const std::function<void(Index)>& body) = 0;
};

struct SerialExecutor final : Executor {
  int threads() const override { return 1; }
  void run(Index n_blocks, const std::function<void(Index)>& body) override {
    for (Index block = 0; block < n_blocks; ++block) body(block);
  }
};
}  // namespace bayeskernel
