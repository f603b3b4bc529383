#include "gp/climb.hpp"

#include "eigen.hpp"
#include "gp/bound_gradient.hpp"
#include "gp/features.hpp"
#include "kernel/tree.hpp"
#include "linear/gaussian.hpp"
#include "parallel/executor.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
KernelClimb::KernelClimb(Features& features, Index every, VectorXd lower,
                         VectorXd upper, Executor& executor)
    : features_(features),
      every_(every),
      lower_(std::move(lower)),
      upper_(std::move(upper)),
      executor_(executor) {}

void KernelClimb::visit(const RowSource& batch, const GaussianPosterior& q,
                        double times) {
  if (++visits_ % every_ != 0) return;
  const BoundGradient slope =
      BoundGradientPass(batch, features_, executor_)
          .run(q.mean.x, q.theta_covariance(), true, nullptr, times);
  Kernel kernel = features_.kernel();
  MatrixXd z = features_.kernel_columns().z();
  VectorXd gradient(slope.kernel.size() + z.size());
  gradient << slope.kernel, VectorMap(slope.locations.data(), z.size());
  constexpr double kRate = 0.05, kFirst = 0.9, kSecond = 0.999;
  if (mean_.size() == 0) mean_ = square_ = VectorXd::Zero(gradient.size());
  mean_ += (1.0 - kFirst) * (gradient - mean_);
  square_ += (1.0 - kSecond) * (gradient.cwiseAbs2() - square_);
  const double t = static_cast<double>(visits_ / every_);
  const double root = std::sqrt(1.0 - std::pow(kSecond, t));
  const VectorXd step =
      kRate * root / (1.0 - std::pow(kFirst, t)) *
      mean_.cwiseQuotient((square_.cwiseSqrt().array() + 1e-8).matrix());
  const Index count = slope.kernel.size();
  kernel.set_log_parameters((kernel.log_parameters() + step.head(count))
                                .cwiseMax(lower_)
                                .cwiseMin(upper_));
  z += MatrixMap(step.data() + count, z.rows(), z.cols());
  features_ = Features(kernel, z, features_.nugget());
}
}  // namespace bayeskernel
