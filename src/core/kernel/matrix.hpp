// A whole kernel matrix, in blocks of columns.
#ifndef BAYESKERNEL_KERNEL_MATRIX_HPP
#define BAYESKERNEL_KERNEL_MATRIX_HPP

#include <algorithm>

#include "eigen.hpp"
#include "error.hpp"
#include "kernel/columns.hpp"
#include "kernel/tree.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"

namespace bayeskernel {

// out, n_x x n_z, becomes k(x_j, z_i) for the columns of x and z.
void kernel_matrix(const Kernel& kernel, const Eigen::Ref<const MatrixXd>& x,
                   const Eigen::Ref<const MatrixXd>& z, Executor& executor,
                   Eigen::Ref<MatrixXd> out);

}  // namespace bayeskernel

#endif
