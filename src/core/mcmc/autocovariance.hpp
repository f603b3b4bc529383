// Autocovariances of several chains, averaged over the chains. The first lags
// are direct sums, O(n) each, and are all that a well-mixed chain needs; the
// first request beyond them computes every lag by FFT, O(n log n).
#ifndef BAYESKERNEL_MCMC_AUTOCOVARIANCE_HPP
#define BAYESKERNEL_MCMC_AUTOCOVARIANCE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <complex>
#include <unsupported/Eigen/FFT>
#include <vector>

namespace bayeskernel {

class Autocovariance {
 public:
  // Columns of `draws` are chains of equal length n.
  explicit Autocovariance(Eigen::Ref<const Eigen::MatrixXd> draws)
      : centred_(draws.rowwise() - draws.colwise().mean()) {}

  // Mean over chains of sum_i y_i y_{i + lag} / n, y centred by its own chain.
  double operator()(Eigen::Index lag) {
    while (known_.size() <= static_cast<std::size_t>(lag)) {
      if (lag < kDirectLags) {
        append_direct();
      } else {
        compute_all();
      }
    }
    return known_[lag];
  }

 private:
  // About the cost of the transforms for chains of some thousand draws.
  static constexpr Eigen::Index kDirectLags = 64;

  void append_direct() {
    const auto lag = static_cast<Eigen::Index>(known_.size());
    const Eigen::Index rest = centred_.rows() - lag;
    const double sum =
        centred_.topRows(rest).cwiseProduct(centred_.bottomRows(rest)).sum();
    known_.push_back(sum / centred_.size());
  }

  // Wiener-Khinchin on chains padded with zeros to at least 2 n; the spectra
  // are added before the one inverse transform.
  void compute_all() {
    const Eigen::Index n = centred_.rows();
    Eigen::Index padded = 1;
    while (padded < 2 * n) padded *= 2;
    Eigen::FFT<double> fft;
    std::vector<double> series(padded);
    std::vector<std::complex<double>> spectrum;
    std::vector<std::complex<double>> power(padded);
    for (Eigen::Index chain = 0; chain < centred_.cols(); ++chain) {
      std::fill(series.begin(), series.end(), 0.0);
      std::copy_n(centred_.col(chain).data(), n, series.begin());
      fft.fwd(spectrum, series);
      for (Eigen::Index k = 0; k < padded; ++k)
        power[k] += std::norm(spectrum[k]);
    }
    fft.inv(series, power);
    known_.assign(series.begin(), series.begin() + n);
    for (double& value : known_) value /= centred_.size();
  }

  Eigen::MatrixXd centred_;
  std::vector<double> known_;
};

}  // namespace bayeskernel

#endif
