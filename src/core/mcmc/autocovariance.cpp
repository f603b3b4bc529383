#include "mcmc/autocovariance.hpp"

#include <unsupported/Eigen/FFT>

namespace bayeskernel {
Autocovariance::Autocovariance(MatrixRef draws)
    : centred_(draws.rowwise() - draws.colwise().mean()) {}

double Autocovariance::operator()(Index lag) {
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
  const auto lag = count_of(known_);
  const Index rest = centred_.rows() - lag;
  const double sum =
      centred_.topRows(rest).cwiseProduct(centred_.bottomRows(rest)).sum();
  known_.push_back(sum / centred_.size());
}

void Autocovariance::compute_all() {
  const Index n = centred_.rows();
  Index padded = 1;
  while (padded < 2 * n) padded *= 2;
  Eigen::FFT<double> fft;
  std::vector<double> series(padded);
  std::vector<std::complex<double>> spectrum;
  std::vector<std::complex<double>> power(padded);
  for (Index chain = 0; chain < centred_.cols(); ++chain) {
    std::fill(series.begin(), series.end(), 0.0);
    std::copy_n(centred_.col(chain).data(), n, series.begin());
    fft.fwd(spectrum, series);
    for (Index k = 0; k < padded; ++k) power[k] += std::norm(spectrum[k]);
  }
  fft.inv(series, power);
  known_.assign(series.begin(), series.begin() + n);
  for (double& value : known_) value /= centred_.size();
}
}  // namespace bayeskernel
