// Wide arithmetic: compiled for AVX2 and AVX-512 with function attributes and
// chosen once by the CPU's features, so that a build with portable flags uses
// what the machine has. Eigen at those flags is SSE2.
#pragma once

#include "eigen.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define BAYESKERNEL_HAS_AVX2 1
#define BAYESKERNEL_AVX2 __attribute__((target("avx2,fma")))
#define BAYESKERNEL_AVX512 __attribute__((target("avx512f,avx512dq,avx2,fma")))
#else
#define BAYESKERNEL_HAS_AVX2 0
#define BAYESKERNEL_AVX2
#endif

// Code of any width, compiled for the target of the function that it becomes a
// part of; the second may use intrinsics of AVX2. Vectors go in and out by
// reference: by value they would depend on the target's calling convention.
#define BAYESKERNEL_INLINE __attribute__((always_inline))
#define BAYESKERNEL_WIDE BAYESKERNEL_AVX2 BAYESKERNEL_INLINE

namespace bayeskernel {
namespace simd {
// Vectors of W numbers, at any address. A type that is deduced (auto, or an
// argument of a template) forgets the latter: name Lanes<W>::Vector.
template <int W>
struct Lanes;

#define BAYESKERNEL_LANES(W)                                        \
  template <>                                                       \
  struct Lanes<W> {                                                 \
    static constexpr Index width = W;                               \
    typedef double Vector                                           \
        __attribute__((vector_size(8 * W), may_alias, aligned(8))); \
    typedef std::int64_t Integer                                    \
        __attribute__((vector_size(8 * W), may_alias));             \
  };
BAYESKERNEL_LANES(2)
BAYESKERNEL_LANES(4)
BAYESKERNEL_LANES(8)
#undef BAYESKERNEL_LANES

template <class Lanes>
BAYESKERNEL_INLINE inline typename Lanes::Vector& view(double* x) {
  return *reinterpret_cast<typename Lanes::Vector*>(x);
}

template <class Lanes>
BAYESKERNEL_INLINE inline const typename Lanes::Vector& view(const double* x) {
  return *reinterpret_cast<const typename Lanes::Vector*>(x);
}

namespace detail {
using Vector4 = Lanes<4>::Vector;
using Vector8 = Lanes<8>::Vector;
}  // namespace detail

// These ask for the support of the operating system, too.
bool has_avx2();
bool has_avx512();

enum class Level { narrow, avx2, avx512 };

// The widest that the machine has, or that BAYESKERNEL_SIMD=off or =avx2
// leaves.
Level level();

// Whether to use the wide versions, of AVX2 at least.
inline bool enabled() { return level() != Level::narrow; }

#if BAYESKERNEL_HAS_AVX2

namespace detail {
template <class Body>
BAYESKERNEL_AVX2 inline auto run_avx2(const Body& body) {
  return body(Lanes<4>());
}

template <class Body>
BAYESKERNEL_AVX512 inline auto run_avx512(const Body& body) {
  return body(Lanes<8>());
}
}  // namespace detail

// body(lanes), a BAYESKERNEL_WIDE lambda, compiled for a level above narrow.
template <class Body>
inline auto run(Level level, const Body& body) {
  return level == Level::avx512 ? detail::run_avx512(body)
                                : detail::run_avx2(body);
}

#endif
}  // namespace simd
}  // namespace bayeskernel
