#include "kernel/tile.hpp"

namespace bayeskernel {
namespace detail {
void NarrowTile::pack(const FourColumns& x, const Scaling& scaling, double* out,
                      double* half_norm) {
  const double* const* column = x.column;
  Four sum = Four::Zero();
  for (Index k = 0; k < scaling.d; ++k) {
    const Four raw(column[0][k], column[1][k], column[2][k], column[3][k]);
    const Four v = (raw - scaling.shift[k]) * scaling.inverse[k];
    Store{out + kGroup* k} = v;
    sum += v * v;
  }
  Store{half_norm} = 0.5 * sum;
}

void NarrowTile::run(Index d, const double* z, const double* half_z,
                     const double* x, const double* half_x, double* out,
                     Index stride) {
  half(d, z, half_z, x, half_x, out, stride);
  half(d, z + kGroup * d, half_z + kGroup, x, half_x, out + kGroup, stride);
}

void NarrowTile::half(Index d, const double* z, const double* half_z,
                      const double* x, const double* half_x, double* out,
                      Index stride) {
  Four a = Four::Zero(), b = a, c = a, e = a;
  for (Index k = 0; k < kGroup * d; k += kGroup) {
    const Four v = Load(z + k);
    a += v * x[k];
    b += v * x[k + 1];
    c += v * x[k + 2];
    e += v * x[k + 3];
  }
  const Load offset(half_z);
  Store{out} = a - (offset + half_x[0]);
  Store{out + stride} = b - (offset + half_x[1]);
  Store{out + 2 * stride} = c - (offset + half_x[2]);
  Store{out + 3 * stride} = e - (offset + half_x[3]);
}

void NarrowTile::exp(double* values, Index n, double variance) {
  Index i = 0;
  for (; i + 4 <= n; i += 4) narrow_exp(Store(values + i), variance);
  if (i == n) return;
  double rest[4] = {};
  std::copy(values + i, values + n, rest);
  narrow_exp(Store(rest), variance);
  std::copy(rest, rest + (n - i), values + i);
}
}  // namespace detail
}  // namespace bayeskernel
