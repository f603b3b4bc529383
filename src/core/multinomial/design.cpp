#include "multinomial/design.hpp"

#include "parallel/scratch_pool.hpp"

namespace bayeskernel {
Design::Design(const Composite& composite, const VectorXd& weights,
               Executor& executor, double most, double constant)
    : composite_(composite), weights_(weights), constant_(constant) {
  const double numbers = static_cast<double>(composite.rows()) *
                         static_cast<double>(composite.regressors());
  width_ = std::max<Index>(64, (rows() / 256 + 63) / 64 * 64);
  if (numbers > most) return;
  kept_.resize(regressors(), rows());
  ScratchPool<Composite::Scratch> pool;
  executor.run(tiles(), [&](Index t) {
    auto loan = pool.borrow();
    composite_.block(weights_, begin(t), columns(t), *loan,
                     kept_.data() + begin(t) * regressors(), constant_);
  });
}

MatrixMap Design::tile(Index t, Scratch& scratch) const {
  const double* values = kept_.data() + begin(t) * regressors();
  if (!kept()) {
    scratch.values.resize(regressors() * columns(t));
    composite_.block(weights_, begin(t), columns(t), scratch.composite,
                     scratch.values.data(), constant_);
    values = scratch.values.data();
  }
  return MatrixMap(values, regressors(), columns(t));
}

MatrixXd Design::gram(Executor& executor, const VectorXd& power) const {
  const Index m = regressors();
  MatrixXd out = MatrixXd::Zero(m, m);
  if (power.size() > 0) {
    Scratch scratch;
    MatrixXd root;
    for (Index t = 0; t < tiles(); ++t) {
      root = tile(t, scratch) *
             power.segment(begin(t), columns(t)).cwiseSqrt().asDiagonal();
      add_gram(root, executor, out);
    }
  } else if (kept()) {
    add_gram(kept_, executor, out);
  } else {
    Scratch scratch;
    for (Index t = 0; t < tiles(); ++t) {
      add_gram(tile(t, scratch), executor, out);
    }
  }
  out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
  return out;
}
}  // namespace bayeskernel
