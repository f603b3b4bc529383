// One particle of a sequential kernel regression, and the regression that it
// stands for, which a thread loads from the grid's products to work on it.
//
//   y_s = b_0 + sum_{c in U} b_c k(x_s, x_c) + e_s,  e_s ~ N(0, noise),
//   b | U ~ N(0, spread I), coefficients integrated out.
#ifndef BAYESKERNEL_PARTICLES_PARTICLE_HPP
#define BAYESKERNEL_PARTICLES_PARTICLE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "../math/collapsed_gaussian.hpp"
#include "../math/normal.hpp"
#include "../rng/distributions.hpp"
#include "grid.hpp"
#include "subset_prior.hpp"

namespace bayeskernel {

struct Particle {
  std::vector<Index> centres;  // points of the grid, in no order
  double noise = 1.0;          // variances
  double spread = 1.0;
  std::vector<double> latent;  // of each row, where classes are seen

  Index size() const { return static_cast<Index>(centres.size()); }
};

// A variance with density prop. to x^(-shape - 1) exp(-rate / x), or known.
struct StepVariancePrior {
  double shape = 1.0;
  double rate = 1.0;
  bool known = false;
  double value = 1.0;

  // Given n normal variables of this variance with this sum of squares.
  double draw(Stream& stream, double n, double squares) const {
    if (known) return value;
    constexpr double kLargest = 1e300;
    const double log_draw = std::log(rate + 0.5 * squares) -
                            log_gamma_variate(stream, shape + 0.5 * n);
    return std::clamp(std::exp(log_draw), 1.0 / kLargest, kLargest);
  }
};

// The predictive distribution of the next row's f: N(mean, variance).
struct NextRow {
  double mean = 0.0, variance = 0.0;
};

// What one thread needs for one particle at a time.
class ParticleWork {
 public:
  explicit ParticleWork(Index kmax)
      : scratch(kmax + 1),
        gaussian(kmax + 1, scratch),
        dots(kmax + 2),
        beta(kmax + 2),
        row(kmax + 2),
        along(kmax + 2) {}

  // The regression of a particle from the products, to which the row on offer
  // and its response `y` are added with the weight `share`. With latent
  // responses from those. Blind: as if no row had been seen.
  void load(const Particle& particle, const Grid& grid, double share, double y,
            bool blind = false) {
    share_ = share;
    y_ = y;
    blind_ = blind;
    const Index m = particle.size() + 1;
    double* gram = gaussian.set_gram(m);
    double* products = gaussian.set_dots();
    const Index stride = gaussian.stride();
    for (Index j = 0; j < m; ++j) {
      const Index a = column(particle, j);
      for (Index i = 0; i <= j; ++i) {
        gram[j * stride + i] = gram[i * stride + j] =
            product(grid, a, column(particle, i));
      }
      products[j] = dot(particle, grid, a);
      gaussian.set_variance(j, particle.spread);
    }
    gaussian.set_response(grid.rows(), square(particle, grid));
    gaussian.set_precision(1.0 / particle.noise);
    gaussian.rebuild();
  }

  static Index column(const Particle& particle, Index j) {
    return j == 0 ? 0 : particle.centres[j - 1] + 1;
  }

  // The row on offer, in the particle's columns, under its coefficients.
  NextRow next(const Particle& particle, const Grid& grid) {
    const Index m = particle.size() + 1;
    NextRow out;
    for (Index j = 0; j < m; ++j) row[j] = grid.offered(column(particle, j));
    std::fill_n(along.data(), m, 0.0);
    for (Index j = 0; j < m; ++j) {
      const double* covariance = gaussian.covariance(j);
      for (Index i = 0; i < m; ++i) along[i] += row[j] * covariance[i];
    }
    for (Index j = 0; j < m; ++j) {
      out.mean += row[j] * gaussian.mean()[j];
      out.variance += row[j] * along[j];
    }
    out.variance = std::max(out.variance, 0.0);
    return out;
  }

  // A further centre at point c; what next() left is what next_with() needs.
  ColumnAddition propose(const Particle& particle, const Grid& grid, Index c,
                         const ColumnEdit& after = {}) {
    const Index m = particle.size() + 1;
    for (Index j = 0; j < m; ++j) {
      dots[j] = product(grid, column(particle, j), c + 1);
    }
    own = product(grid, c + 1, c + 1);
    response = dot(particle, grid, c + 1);
    return gaussian.add(dots.data(), own, response, particle.spread, after);
  }

  // The row on offer were that centre there.
  NextRow next_with(const Particle& particle, const Grid& grid, Index c,
                    const ColumnAddition& addition,
                    const NextRow& without) const {
    const double phi = gaussian.precision(), v = particle.spread;
    const double grown = v / (1.0 + phi * v * addition.shrunk);
    double lean = grid.offered(c + 1);
    for (Index j = 0; j <= particle.size(); ++j) lean -= phi * dots[j] * along[j];
    NextRow out;
    out.mean = without.mean + phi * grown * addition.residual * lean;
    out.variance = without.variance + grown * lean * lean;
    return out;
  }

  void accept(Particle& particle, Index c, const ColumnAddition& addition) {
    gaussian.commit_add(dots.data(), own, response, particle.spread, addition);
    particle.centres.push_back(c);
  }

  void drop(Particle& particle, Index position, const ColumnEdit& edit) {
    gaussian.commit_remove(edit);
    particle.centres[position] = particle.centres.back();
    particle.centres.pop_back();
  }

  // One of the g - k points that are no centres: the r-th.
  Index vacant(const Particle& particle, Index r) {
    sorted = particle.centres;
    std::sort(sorted.begin(), sorted.end());
    for (const Index c : sorted) {
      if (c > r) break;
      ++r;
    }
    return r;
  }

  CollapsedScratch scratch;
  CollapsedGaussian gaussian;
  VectorXd dots, beta, row, along, latent;
  double own = 0.0, response = 0.0;
  std::vector<Index> sorted;

 private:
  // A column's product with itself is larger by a share that is above what sums
  // of many rows lose. Of columns that are almost the same it bounds the part
  // of the coefficients that no row sees; else rounding there is taken for
  // data, and variances of coefficients and the draws that they allow drive
  // each other up.
  double product(const Grid& grid, Index a, Index b) const {
    if (blind_) return 0.0;
    constexpr double kLost = 1e-12;
    double out = grid.product(a, b);
    if (share_ != 0.0) out += share_ * grid.offered(a) * grid.offered(b);
    return a == b ? (1.0 + kLost) * out : out;
  }
  double dot(const Particle& particle, const Grid& grid, Index a) const {
    if (blind_) return 0.0;
    if (!particle.latent.empty()) return latent_dot(particle, grid, a);
    return grid.dot(a) + share_ * y_ * grid.offered(a);
  }
  double square(const Particle& particle, const Grid& grid) const {
    if (blind_) return 0.0;
    if (!particle.latent.empty()) return latent_square(particle);
    return grid.square() + share_ * y_ * y_;
  }
  static double latent_dot(const Particle& particle, const Grid& grid,
                           Index column) {
    const Index n = static_cast<Index>(particle.latent.size());
    const Eigen::Map<const VectorXd> z(particle.latent.data(), n);
    if (column == 0) return z.sum();
    return z.dot(Eigen::Map<const VectorXd>(grid.values(column - 1), n));
  }
  static double latent_square(const Particle& particle) {
    double sum = 0.0;
    for (const double z : particle.latent) sum += z * z;
    return sum;
  }

  double share_ = 0.0, y_ = 0.0;
  bool blind_ = false;
};

}  // namespace bayeskernel

#endif
