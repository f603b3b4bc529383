// Wide arithmetic, and the weighted Gram by it: compiled for AVX2 and AVX-512
// with function attributes and chosen once by the CPU's features, so that a
// build with portable flags uses what the machine has. Eigen at those flags is
// SSE2.
#ifndef BAYESKERNEL_SIMD_SIMD_HPP
#define BAYESKERNEL_SIMD_SIMD_HPP

#include <Eigen/Core>
#include <cstdint>
#include <cstdlib>
#include <cstring>

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
    static constexpr Eigen::Index width = W;                        \
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

#if BAYESKERNEL_HAS_AVX2

// These ask for the support of the operating system, too.
inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
inline bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512dq");
}

namespace detail {

// sum_i a_i[0..8) b_i[0..C) over n rows, a and b p apart: 2 C accumulators.
template <int C>
BAYESKERNEL_AVX2 inline void outer_panel(const double* a, const double* b,
                                         const double* w, Eigen::Index n,
                                         Eigen::Index stride, double* out) {
  Vector4 low[C], high[C];
  for (int c = 0; c < C; ++c) low[c] = high[c] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Eigen::Index i = 0; i < n; ++i, a += stride, b += stride) {
    const Vector4 a0 = w[i] * *reinterpret_cast<const Vector4*>(a);
    const Vector4 a1 = w[i] * *reinterpret_cast<const Vector4*>(a + 4);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      low[c] += a0 * b[c];
      high[c] += a1 * b[c];
    }
  }
  for (int c = 0; c < C; ++c) {
    std::memcpy(out + 8 * c, &low[c], 32);
    std::memcpy(out + 8 * c + 4, &high[c], 32);
  }
}

// The same of 8 and 6 rows that are packed.
BAYESKERNEL_AVX2 inline void packed_panel(const double* a, const double* b,
                                          Eigen::Index n, double* out) {
  Vector4 low[6], high[6];
  for (int c = 0; c < 6; ++c) low[c] = high[c] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Eigen::Index i = 0; i < n; ++i, a += 8, b += 6) {
    const Vector4 a0 = *reinterpret_cast<const Vector4*>(a);
    const Vector4 a1 = *reinterpret_cast<const Vector4*>(a + 4);
#pragma GCC unroll 8
    for (int c = 0; c < 6; ++c) {
      low[c] += a0 * b[c];
      high[c] += a1 * b[c];
    }
  }
  for (int c = 0; c < 6; ++c) {
    std::memcpy(out + 8 * c, &low[c], 32);
    std::memcpy(out + 8 * c + 4, &high[c], 32);
  }
}

}  // namespace detail

// Lower triangle of gram += X diag(w) X', X p x n with columns p apart: many
// rows, copied together first, since columns far apart share few places of a
// cache. `packed` has room for packed_gram_size() numbers.
inline Eigen::Index packed_gram_size(Eigen::Index p, Eigen::Index n) {
  return ((p + 7) / 8 * 8 + 6) * n;
}
BAYESKERNEL_AVX2 inline void packed_gram(const double* x, const double* w,
                                         Eigen::Index p, Eigen::Index n,
                                         double* packed, double* gram,
                                         Eigen::Index gram_stride) {
  using Index = Eigen::Index;
  double* right = packed + (p + 7) / 8 * 8 * n;
  const auto pack = [&](Index first, Index width, double* to) {
    const Index rows = p - first < width ? p - first : width;
    for (Index i = 0; i < n; ++i, to += width) {
      const double* from = x + i * p + first;
      for (Index j = 0; j < rows; ++j) to[j] = from[j];
      for (Index j = rows; j < width; ++j) to[j] = 0.0;
    }
  };
  for (Index r = 0; r < p; r += 8) {
    double* to = packed + r * n;
    pack(r, 8, to);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < 8; ++j) to[8 * i + j] *= w[i];
    }
  }
  double panel[8 * 6];
  for (Index c = 0; c < p; c += 6) {
    pack(c, 6, right);
    for (Index r = c / 8 * 8; r < p; r += 8) {
      detail::packed_panel(packed + r * n, right, n, panel);
      const Index rows = p - r < 8 ? p - r : 8;
      const Index columns = p - c < 6 ? p - c : 6;
      for (Index k = 0; k < columns; ++k) {
        double* to = gram + (c + k) * gram_stride + r;
        for (Index j = r < c + k ? c + k - r : 0; j < rows; ++j) {
          to[j] += panel[8 * k + j];
        }
      }
    }
  }
}

// The same of few rows, as they lie; reads up to 7 numbers past the end of X.
// n p^2 multiply-adds.
BAYESKERNEL_AVX2 inline void weighted_gram(const double* x, const double* w,
                                           Eigen::Index p, Eigen::Index n,
                                           double* gram,
                                           Eigen::Index gram_stride) {
  double panel[8 * 6];
  for (Eigen::Index c = 0; c < p; c += 6) {
    const Eigen::Index columns = p - c < 6 ? p - c : 6;
    for (Eigen::Index r = c / 8 * 8; r < p; r += 8) {
      switch (columns) {
        case 1: detail::outer_panel<1>(x + r, x + c, w, n, p, panel); break;
        case 2: detail::outer_panel<2>(x + r, x + c, w, n, p, panel); break;
        case 3: detail::outer_panel<3>(x + r, x + c, w, n, p, panel); break;
        case 4: detail::outer_panel<4>(x + r, x + c, w, n, p, panel); break;
        case 5: detail::outer_panel<5>(x + r, x + c, w, n, p, panel); break;
        default: detail::outer_panel<6>(x + r, x + c, w, n, p, panel); break;
      }
      const Eigen::Index rows = p - r < 8 ? p - r : 8;
      for (Eigen::Index k = 0; k < columns; ++k) {
        for (Eigen::Index j = 0; j < rows; ++j) {
          if (r + j < c + k) continue;
          gram[(c + k) * gram_stride + r + j] += panel[8 * k + j];
        }
      }
    }
  }
}

#else

inline bool has_avx2() { return false; }
inline bool has_avx512() { return false; }
inline void weighted_gram(const double*, const double*, Eigen::Index,
                          Eigen::Index, double*, Eigen::Index) {}
inline Eigen::Index packed_gram_size(Eigen::Index, Eigen::Index) { return 0; }
inline void packed_gram(const double*, const double*, Eigen::Index,
                        Eigen::Index, double*, double*, Eigen::Index) {}

#endif

enum class Level { narrow, avx2, avx512 };

// The widest that the machine has, or that BAYESKERNEL_SIMD=off or =avx2
// leaves.
inline Level level() {
  static const Level found = [] {
    const char* value = std::getenv("BAYESKERNEL_SIMD");
    const char* wish = value == nullptr ? "" : value;
    if (!has_avx2() || std::strcmp(wish, "off") == 0) return Level::narrow;
    if (!has_avx512() || std::strcmp(wish, "avx2") == 0) return Level::avx2;
    return Level::avx512;
  }();
  return found;
}

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

#endif
