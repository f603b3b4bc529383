#include "kernel/matrix.hpp"

namespace bayeskernel {
void kernel_matrix(const Kernel& kernel, const MatrixRef& x, const MatrixRef& z,
                   Executor& executor, Eigen::Ref<MatrixXd> out) {
  if (x.rows() != z.rows()) {
    throw ArgumentError("the points do not have the same number of columns");
  }
  const KernelColumns columns(kernel, x);
  // Some 60,000 entries a block, a fifth of a millisecond.
  constexpr Index kEntries = Index{1} << 16;
  const Index size =
      std::clamp<Index>(kEntries / std::max<Index>(x.cols(), 1), 4, 256);
  ScratchPool<KernelColumns::Scratch> pool;
  executor.run((z.cols() + size - 1) / size, [&](Index block) {
    auto scratch = pool.borrow();
    const Index first = block * size;
    columns.block(z.col(first).data(), std::min(size, z.cols() - first),
                  *scratch, out.col(first).data());
  });
}
}  // namespace bayeskernel
