// A whole kernel matrix, in blocks of columns.
#pragma once

#include "eigen.hpp"
#include "error.hpp"
#include "kernel/columns.hpp"
#include "kernel/tree.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"

namespace bayeskernel {
// out, n_x x n_z, becomes k(x_j, z_i) for the columns of x and z.
void kernel_matrix(const Kernel& kernel, const MatrixRef& x, const MatrixRef& z,
                   Executor& executor, Eigen::Ref<MatrixXd> out);
}  // namespace bayeskernel
