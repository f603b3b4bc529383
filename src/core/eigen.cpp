#include "eigen.hpp"

#ifdef BAYESKERNEL_EIGEN_ONCE
namespace Eigen {
namespace internal {
BAYESKERNEL_EIGEN_KERNELS(template);
}  // namespace internal
}  // namespace Eigen
#endif
