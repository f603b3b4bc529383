// Small problems of several spaces for the tests of the multinomial probit
// model.
#pragma once

#include "multinomial/mean_field.hpp"

using bayeskernel::Combination;
using bayeskernel::Composite;
using bayeskernel::Design;
using bayeskernel::Kernel;
using bayeskernel::LatentScales;
using bayeskernel::MultinomialFit;
using bayeskernel::MultinomialResult;
using bayeskernel::MultinomialSettings;
using bayeskernel::Progress;
using bayeskernel::SerialExecutor;
using bayeskernel::Source;
using bayeskernel::Stream;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

inline bool go_on(const Progress&) { return true; }

inline MatrixXd normal_matrix(Index rows, Index columns, std::uint64_t seed) {
  Stream stream(seed, 0, 1, 0, 0);
  MatrixXd out(rows, columns);
  for (Index i = 0; i < out.size(); ++i) out.data()[i] = stream.normal();
  return out;
}

// Two spaces, of two columns and one; the classes follow both.
struct MultinomialProblem {
  MatrixXd first, second;
  std::vector<Index> t;
  Index classes;

  MultinomialProblem(Index n, Index classes, std::uint64_t seed = 1)
      : first(normal_matrix(2, n, seed)),
        second(normal_matrix(1, n, seed + 1000)),
        t(n),
        classes(classes) {
    const MatrixXd noise = normal_matrix(classes, n, seed + 2000);
    for (Index i = 0; i < n; ++i) {
      VectorXd f = noise.col(i);
      f[0] += 2.0 * first(0, i);
      f[1] -= 2.0 * first(1, i) + second(0, i);
      f.maxCoeff(&t[i]);
    }
  }

  Composite composite(Combination how, bool bias = false, bool poly = false,
                      double lengthscale = 1.0) const {
    using View = Source::View;
    const View x1(first.data(), first.rows(), first.cols());
    const View x2(second.data(), second.rows(), second.cols());
    const Kernel rbf = Kernel::rbf(VectorXd::Constant(1, lengthscale), 1.0);
    std::vector<Source> sources{
        Source::of_kernel(poly ? Kernel::polynomial(2, 1.0, 1.0) : rbf, x1, x1),
        Source::of_kernel(Kernel::rbf(VectorXd::Constant(1, 0.7), 1.0), x2,
                          x2)};
    return Composite(std::move(sources), how, bias);
  }
};
