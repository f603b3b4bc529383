// A column of a kernel matrix, exp(-S), with the sum S behind it, which is
// weighted squares of differences between rows and a centre.
#pragma once

#include "eigen.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
// S' = factor S + sum_j weight_j (x_j - c_j)^2 of one column, and exp(-S').
struct ScaleTerm {
  const double* predictor;
  double weight;
  double centre;
};

namespace detail {
// Up to four columns afresh, S_j = sum_l lambda_l x_l^2 - 2 sum_l (lambda_l
// c_jl) x_l + sum_l lambda_l c_jl^2: one multiply-add for a variable and a row.
// Rounding errors are those of the sums, so that S may come out below 0.
struct FreshColumns {
  const double* predictors;  // one after another, columns of the stride
  Index variables;
  const double* squares;    // sum_l lambda_l x_l^2
  const double* slopes[4];  // -2 lambda_l c_jl
  double constants[4];      // sum_l lambda_l c_jl^2
  double* sums[4];
  double* values[4];
};

void kernel_column(const ScaleTerm* terms, Index count, double factor,
                   const double* from, double* sum, double* value, Index n,
                   Index stride, simd::Level level = simd::level());

void fresh_columns(const FreshColumns& at, int columns, Index n, Index stride,
                   simd::Level level = simd::level());
}  // namespace detail
}  // namespace bayeskernel
