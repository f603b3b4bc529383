#include "rows/digest.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace bayeskernel {
void Digest::add(double value) {
  if (value == 0) value = 0;
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  mix(bits);
}

void Digest::add(const char* text, std::size_t length) {
  mix(length);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < length; ++i) {
    word = word << 8 | static_cast<unsigned char>(text[i]);
    if (i % 8 == 7 || i + 1 == length) {
      mix(word);
      word = 0;
    }
  }
}

void Digest::mix(std::uint64_t word) {
  std::uint64_t z = (state_ ^ word) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  state_ = z ^ (z >> 31);
}
}  // namespace bayeskernel
