// The draw of the latent scale against the numbers of rig_cdf.csv, which stand
// in svm/ under the folder that BAYESKERNEL_GOLDEN names, else beside the R
// tests.
#include "rng/distributions.hpp"
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "check.hpp"

using bayeskernel::Purpose;
using bayeskernel::Stream;

struct Known {
  double r, a, mean, variance, cdf;
};

static std::vector<Known> known_numbers() {
  const char* folder = std::getenv("BAYESKERNEL_GOLDEN");
  const std::string root = folder != nullptr ? folder : "../testthat/golden";
  std::ifstream file(root + "/svm/rig_cdf.csv");
  std::vector<Known> out;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    Known row;
    if (words >> row.r >> row.a >> row.mean >> row.variance >> row.cdf) {
      out.push_back(row);
    }
  }
  return out;
}

TEST("draws of the latent scale follow the golden numbers") {
  const std::vector<Known> known = known_numbers();
  CHECK(!known.empty());
  const int n = 10 * check::draws();
  std::map<double, std::vector<double>> samples;
  for (const Known& row : known) {
    std::vector<double>& sample = samples[row.r];
    if (sample.empty()) {
      Stream stream(1, samples.size(), Purpose::latent, 0, 0);
      for (int i = 0; i < n; ++i) {
        sample.push_back(bayeskernel::hinge_latent(stream, row.r));
      }
      double mean = 0.0, square = 0.0;
      for (const double a : sample) mean += a / n;
      for (const double a : sample) square += (a - mean) * (a - mean) / n;
      CHECK(std::abs(mean - row.mean) < 4.5 * std::sqrt(row.variance / n));
      CHECK(std::abs(square / row.variance - 1.0) < 0.05);
    }
    double below = 0.0;
    for (const double a : sample) below += a <= row.a ? 1.0 : 0.0;
    const double error = std::sqrt(row.cdf * (1.0 - row.cdf) / n) + 1.0 / n;
    CHECK(std::abs(below / n - row.cdf) < 4.0 * error);
  }
}
