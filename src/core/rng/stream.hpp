// Counter-based random streams. The key says what is drawn (seed, chain,
// purpose), the counter where (sweep, block, position in the stream): a number
// depends neither on the thread that draws it nor on what was drawn before,
// and a resumed run repeats nothing. A stream costs nothing until its first
// draw; each encryption serves four outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rng/threefry.hpp"

namespace bayeskernel {
// What the numbers are for; streams of two purposes never meet.
enum class Purpose : std::uint64_t {
  latent = 1,
  coefficients,
  variance,
  missing,
  selection,
  init,
  predict,
  resample,
  inducing,
  minibatch,
  scale,
  predictors,
  kernels,
  completions,
  check
};

// A UniformRandomBitGenerator with 64-bit results.
class Stream {
 public:
  using result_type = std::uint64_t;

  Stream(std::uint64_t seed, std::uint64_t chain, std::uint64_t purpose,
         std::uint64_t sweep, std::uint64_t block)
      : cipher_({seed, chain, purpose, 0}), counter_{0, block, sweep, 0} {}

  Stream(std::uint64_t seed, std::uint64_t chain, Purpose purpose,
         std::uint64_t sweep, std::uint64_t block)
      : Stream(seed, chain, static_cast<std::uint64_t>(purpose), sweep, block) {
  }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  result_type operator()() {
    if (next_ == outputs_.size()) refill();
    return outputs_[next_++];
  }

  // An odd multiple of 2^-53: never 0 or 1, exact, symmetric about one half.
  double uniform() {
    return (static_cast<double>((*this)() >> 12) + 0.5) * 0x1p-52;
  }

  double normal();
  double exponential();

 private:
  void refill() {
    cipher_(counter_, outputs_);
    ++counter_[0];
    next_ = 0;
  }

  Threefry cipher_;
  ThreefryWords counter_;
  ThreefryWords outputs_{};
  std::size_t next_ = 4;
};
}  // namespace bayeskernel
