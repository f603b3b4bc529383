// Autocovariances of several chains, averaged over the chains. The first lags
// are direct sums, O(n) each, and are all that a well-mixed chain needs; the
// first request beyond them computes every lag by FFT, O(n log n).
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
class Autocovariance {
 public:
  // Columns of `draws` are chains of equal length n.
  explicit Autocovariance(MatrixRef draws);

  // Mean over chains of sum_i y_i y_{i + lag} / n, y centred by its own chain.
  double operator()(Index lag);

 private:
  // About the cost of the transforms for chains of some thousand draws.
  static constexpr Index kDirectLags = 64;

  void append_direct();

  // Wiener-Khinchin on chains padded with zeros to at least 2 n; the spectra
  // are added before the one inverse transform.
  void compute_all();

  MatrixXd centred_;
  std::vector<double> known_;
};
}  // namespace bayeskernel
