#pragma once

#include <cstddef>
#include <cstdint>

namespace bayeskernel {
// A number that tells whether two sequences of values are the same, in the same
// order. Of 64 bits: for changes by accident, not by intent.
class Digest {
 public:
  // Numbers that compare equal, and missing ones, are the same.
  void add(double value);

  void add(const char* text, std::size_t length);

  std::uint64_t value() const { return state_; }

 private:
  // The finalizer of splitmix64 (Steele, Lea and Flood, 2014).
  void mix(std::uint64_t word);

  std::uint64_t state_ = 0;
};
}  // namespace bayeskernel
