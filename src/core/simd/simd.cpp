#include "simd/simd.hpp"

#include <cstdlib>
#include <cstring>

namespace bayeskernel {
namespace simd {
#if BAYESKERNEL_HAS_AVX2

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512dq");
}

#else

bool has_avx2() { return false; }
bool has_avx512() { return false; }

#endif

Level level() {
  static const Level found = [] {
    const char* value = std::getenv("BAYESKERNEL_SIMD");
    const char* wish = value == nullptr ? "" : value;
    if (!has_avx2() || std::strcmp(wish, "off") == 0) return Level::narrow;
    if (!has_avx512() || std::strcmp(wish, "avx2") == 0) return Level::avx2;
    return Level::avx512;
  }();
  return found;
}
}  // namespace simd
}  // namespace bayeskernel
