// A design, M regressors x N objects, in tiles of columns: kept in memory, or
// made anew whenever it is looked at, where it would be too large. Tiles depend
// on N alone.
#pragma once

#include "eigen.hpp"
#include "multinomial/sources.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {
class Design {
 public:
  struct Scratch {
    Composite::Scratch composite;
    VectorXd values;
  };

  // Numbers that may be kept.
  static constexpr double kMost = 5e7;

  // `constant`: the value of the bias, 0 for differences of designs.
  Design(const Composite& composite, const VectorXd& weights,
         Executor& executor, double most = kMost, double constant = 1.0);

  Index rows() const { return composite_.rows(); }
  Index regressors() const { return composite_.regressors(); }
  Index tiles() const { return (rows() + width_ - 1) / width_; }
  Index begin(Index t) const { return t * width_; }
  Index columns(Index t) const { return std::min(width_, rows() - begin(t)); }
  bool kept() const { return kept_.size() > 0; }
  const MatrixXd& matrix() const { return kept_; }

  MatrixMap tile(Index t, Scratch& scratch) const;

  // G = K K', both triangles, or with `power` K diag(power) K'. M^2 N / 2
  // multiply-adds.
  MatrixXd gram(Executor& executor, const VectorXd& power = VectorXd()) const;

 private:
  template <class K>
  static void add_gram(const K& k, Executor& executor, MatrixXd& out) {
    constexpr Index kBlock = 128;
    const Index m = k.rows(), blocks = (m + kBlock - 1) / kBlock;
    executor.run(blocks * (blocks + 1) / 2, [&](Index at) {
      Index i = 0;
      while (at > i) at -= ++i;
      const Index first = i * kBlock, second = at * kBlock;
      const Index rows = std::min(kBlock, m - first);
      const Index columns = std::min(kBlock, m - second);
      out.block(first, second, rows, columns).noalias() +=
          k.middleRows(first, rows) * k.middleRows(second, columns).transpose();
    });
  }

  const Composite& composite_;
  VectorXd weights_;
  double constant_;
  Index width_;
  MatrixXd kept_;
};
}  // namespace bayeskernel
