#include "mcmc/autocovariance.hpp"

#include <unsupported/Eigen/FFT>
#include <algorithm>
#include <cstddef>

namespace bayeskernel {

Autocovariance::Autocovariance(Eigen::Ref<const Eigen::MatrixXd> draws)
    : centred_(draws.rowwise() - draws.colwise().mean()) {}

double Autocovariance::operator()(Eigen::Index lag) {
  while (known_.size() <= static_cast<std::size_t>(lag)) {
    if (lag < kDirectLags) {
      append_direct();
    } else {
      compute_all();
    }
  }
  return known_[lag];
}

void Autocovariance::append_direct() {
  const auto lag = static_cast<Eigen::Index>(known_.size());
  const Eigen::Index rest = centred_.rows() - lag;
  const double sum =
      centred_.topRows(rest).cwiseProduct(centred_.bottomRows(rest)).sum();
  known_.push_back(sum / centred_.size());
}

void Autocovariance::compute_all() {
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

}  // namespace bayeskernel
