// Eigen, the names of it that stand bare in the core, and the standard headers
// that nearly every file needs.
//
// What its products and solves come down to is compiled once, in eigen.cpp, not
// in every unit.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace bayeskernel {
using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Numbers that are somebody else's, to be read: in memory of one piece, or as
// part of a matrix.
using MatrixMap = Eigen::Map<const MatrixXd>;
using VectorMap = Eigen::Map<const VectorXd>;
using MatrixRef = Eigen::Ref<const MatrixXd>;
using VectorRef = Eigen::Ref<const VectorXd>;

template <class Container>
Index count_of(const Container& x) {
  return static_cast<Index>(x.size());
}
}  // namespace bayeskernel

// These are Eigen's own templates, of one version: of another each unit has
// what it needs.
#if EIGEN_VERSION_AT_LEAST(3, 3, 8) && !EIGEN_VERSION_AT_LEAST(3, 3, 90)
#define BAYESKERNEL_EIGEN_ONCE 1

namespace Eigen {
namespace internal {
using BkTraits = gebp_traits<double, double>;
using BkStore = blas_data_mapper<double, Index, ColMajor>;
template <int Order>
using BkRead = const_blas_data_mapper<double, Index, Order>;

#define BAYESKERNEL_GEMV(once, a, b, version) \
  once struct general_matrix_vector_product<  \
      Index, double, BkRead<a>, a, false, double, BkRead<b>, false, version>
#define BAYESKERNEL_PACK_LEFT(once, mapper, order, panel)        \
  once struct gemm_pack_lhs<double, Index, mapper, BkTraits::mr, \
                            BkTraits::LhsProgress, order, false, panel>
#define BAYESKERNEL_PACK_RIGHT(once, mapper, order, panel)                     \
  once struct gemm_pack_rhs<double, Index, mapper, BkTraits::nr, order, false, \
                            panel>
#define BAYESKERNEL_GEMM(once, a, b)                                         \
  once struct general_matrix_matrix_product<Index, double, a, false, double, \
                                            b, false, ColMajor, 1>
#define BAYESKERNEL_SOLVE(once, side, mode, order)                             \
  once struct triangular_solve_matrix<double, Index, side, mode, false, order, \
                                      ColMajor, 1>
#define BAYESKERNEL_TRIANGLE(once, mode, a, b)  \
  once struct product_triangular_matrix_matrix< \
      double, Index, mode, true, a, false, b, false, ColMajor, 1, 0>

#define BAYESKERNEL_EIGEN_KERNELS(once)                                        \
  once struct gebp_kernel<double, double, Index, BkStore, BkTraits::mr,        \
                          BkTraits::nr, false, false>;                         \
  once void evaluateProductBlockingSizesHeuristic<double, double, 1, Index>(   \
      Index&, Index&, Index&, Index);                                          \
  once void evaluateProductBlockingSizesHeuristic<double, double, 4, Index>(   \
      Index&, Index&, Index&, Index);                                          \
  BAYESKERNEL_PACK_LEFT(once, BkRead<ColMajor>, ColMajor, false);              \
  BAYESKERNEL_PACK_LEFT(once, BkRead<RowMajor>, RowMajor, false);              \
  BAYESKERNEL_PACK_LEFT(once, BkStore, ColMajor, true);                        \
  BAYESKERNEL_PACK_RIGHT(once, BkRead<ColMajor>, ColMajor, false);             \
  BAYESKERNEL_PACK_RIGHT(once, BkRead<RowMajor>, RowMajor, false);             \
  BAYESKERNEL_PACK_RIGHT(once, BkRead<RowMajor>, RowMajor, true);              \
  BAYESKERNEL_PACK_RIGHT(once, BkStore, ColMajor, true);                       \
  BAYESKERNEL_GEMM(once, ColMajor, ColMajor);                                  \
  BAYESKERNEL_GEMM(once, ColMajor, RowMajor);                                  \
  BAYESKERNEL_GEMM(once, RowMajor, ColMajor);                                  \
  once struct general_matrix_matrix_triangular_product<                        \
      Index, double, ColMajor, false, double, RowMajor, false, ColMajor, 1,    \
      Lower, 0>;                                                               \
  BAYESKERNEL_GEMV(once, ColMajor, RowMajor, 0);                               \
  BAYESKERNEL_GEMV(once, RowMajor, ColMajor, 0);                               \
  BAYESKERNEL_GEMV(once, ColMajor, ColMajor, 0);                               \
  BAYESKERNEL_GEMV(once, ColMajor, RowMajor, 1);                               \
  BAYESKERNEL_GEMV(once, RowMajor, RowMajor, 1);                               \
  BAYESKERNEL_SOLVE(once, OnTheRight, Upper, RowMajor);                        \
  BAYESKERNEL_SOLVE(once, OnTheLeft, Lower, ColMajor);                         \
  BAYESKERNEL_SOLVE(once, OnTheLeft, Upper, RowMajor);                         \
  BAYESKERNEL_TRIANGLE(once, Lower, ColMajor, ColMajor);                       \
  BAYESKERNEL_TRIANGLE(once, Upper, RowMajor, ColMajor);                       \
  once struct selfadjoint_matrix_vector_product<double, Index, ColMajor,       \
                                                Lower, false, false, 0>;       \
  once struct triangular_solve_vector<double, double, Index, OnTheLeft, Upper, \
                                      false, RowMajor>;                        \
  once struct triangular_solve_vector<double, double, Index, OnTheLeft, Lower, \
                                      false, ColMajor>;                        \
  once struct triangular_matrix_vector_product<Index, Lower, double, false,    \
                                               double, false, ColMajor, 0>;    \
  once Index llt_inplace<double, Lower>::unblocked(MatrixXd&);                 \
  once Index llt_inplace<double, Lower>::blocked(MatrixXd&);                   \
  once Index llt_inplace<double, Lower>::blocked(Ref<MatrixXd>&)

BAYESKERNEL_EIGEN_KERNELS(extern template);
}  // namespace internal
}  // namespace Eigen

#endif
