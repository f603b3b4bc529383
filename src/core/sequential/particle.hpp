// One particle of a sequential kernel regression, and the regression that it
// stands for, which a thread loads from the grid's products to work on it.
//
//   y_s = b_0 + sum_{c in U} b_c k(x_s, x_c) + e_s,  e_s ~ N(0, noise),
//   b | U ~ N(0, coefficient_variance I), coefficients integrated out.
//
// Vermaak et al. (2004), eq. 1 to 3.
#pragma once

#include <type_traits>

#include "eigen.hpp"
#include "expansion/factored_gaussian.hpp"
#include "math/double_double.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"
#include "sequential/grid.hpp"

namespace bayeskernel {
struct Particle {
  std::vector<Index> centres;  // points of the grid, in no order
  double noise = 1.0;          // variances
  double coefficient_variance = 1.0;
  std::vector<double> latent;  // of each row, where classes are seen

  Index size() const { return count_of(centres); }
  bool has(Index c) const {
    return std::find(centres.begin(), centres.end(), c) != centres.end();
  }
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

// What one thread needs for one particle at a time: its regression in double
// precision, and where a factor's digits are lost in that, all of it again to
// twice as many.
class ParticleWork {
  // Calls body() with the regression that is in use.
  template <class Body>
  auto with(Body&& body) {
    return exact_ ? body(*precise_) : body(plain_);
  }

 public:
  explicit ParticleWork(Index kmax);

  // The regression of a particle from the products, to which the row on offer
  // and its response `y` are added with the weight `power`. With latent
  // responses from those. Blind: as if no row had been seen.
  void load(const Particle& particle, const Grid& grid, double power, double y,
            bool blind = false);

  static Index column(const Particle& particle, Index j) {
    return j == 0 ? 0 : particle.centres[j - 1] + 1;
  }

  // The row on offer, in the particle's columns, under its coefficients.
  NextRow next(const Particle& particle, const Grid& grid);

  // The change of the log marginal likelihood by a further centre at point c,
  // or, with `swapped`, by that in place of the one of remove().
  double propose(const Particle& particle, const Grid& grid, Index c,
                 bool swapped = false);

  // The row of next() were the centre of propose() there.
  NextRow next_with(const Grid& grid, Index c, const NextRow& without);

  // The centre of propose(), with nothing between.
  void accept(Particle& particle, const Grid& grid, Index c);

  // The change by taking the centre at this position away.
  double remove(Index position);

  void drop(Particle& particle, const Grid& grid, Index position);

  // The row on offer, not in the products yet, joins them with this response.
  void add_row(const Particle& particle, const Grid& grid, double response);

  // Coefficients, to `beta`.
  template <class Normal>
  void draw(Normal&& normal) {
    with([&](auto& gaussian) { gaussian.draw(normal, beta.data()); });
  }
  double residual_square();
  double log_marginal() {
    return with([](auto& gaussian) { return gaussian.log_marginal(); });
  }
  void moments(double* mean, double* root) {
    with([&](auto& gaussian) { gaussian.moments(mean, root); });
  }

  // One of the g - k points that are no centres: the r-th.
  Index vacant(const Particle& particle, Index r);

  VectorXd beta, row, latent;
  std::vector<Index> sorted;

 private:
  static constexpr double kImpossible =
      -std::numeric_limits<double>::infinity();

  // After a change: whether double precision still does.
  void renew(const Particle& particle, const Grid& grid) {
    if (!exact_ && plain_.lost()) try_exact(particle, grid);
  }

  bool try_exact(const Particle& particle, const Grid& grid);

  template <class T>
  void fill(FactoredGaussian<T>& gaussian, const Particle& particle,
            const Grid& grid) const {
    const Index m = particle.size() + 1;
    gaussian.reset(m, grid.rows(), particle.noise,
                   particle.coefficient_variance);
    for (Index j = 0; j < m; ++j) {
      const Index a = column(particle, j);
      for (Index i = 0; i <= j; ++i) {
        gaussian.set_gram(i, j, product<T>(grid, column(particle, i), a));
      }
      gaussian.set_dot(j, dot<T>(particle, grid, a));
    }
    gaussian.set_square(square<T>(particle, grid));
  }

  void fill_dots(VectorXd& to, const Particle& particle, const Grid& grid,
                 Index c);
  void fill_dots(std::vector<DoubleDouble>& to, const Particle& particle,
                 const Grid& grid, Index c);

  template <class T>
  T product(const Grid& grid, Index a, Index b) const {
    if (blind_) return T(0.0);
    T out;
    if constexpr (std::is_same<T, double>::value) {
      // Where rounding of the products cannot be known, a column's product
      // with itself is larger by a fraction that is above it. Of columns that
      // are almost the same this bounds the part of the coefficients that no
      // row sees; else rounding there is taken for data, and variances of
      // coefficients and the draws that they allow drive each other up.
      constexpr double kLost = 1e-12;
      out = grid.product(a, b);
      if (rough_ && a == b) out *= 1.0 + kLost;
    } else {
      out = grid.exact_product(a, b);
    }
    if (power_ != 0.0) {
      out += T(power_) * T(grid.offered(a)) * T(grid.offered(b));
    }
    return out;
  }
  template <class T>
  T dot(const Particle& particle, const Grid& grid, Index a) const {
    if (blind_) return T(0.0);
    T out(0.0);
    if (!particle.latent.empty()) {
      const Index n = seen(particle, grid);
      const double* z = particle.latent.data();
      if (a == 0) {
        for (Index s = 0; s < n; ++s) out += T(z[s]);
      } else if constexpr (std::is_same<T, double>::value) {
        out = VectorMap(z, n).dot(VectorMap(grid.values(a - 1), n));
      } else {
        const double* value = grid.values(a - 1);
        for (Index s = 0; s < n; ++s) out += T(z[s]) * T(value[s]);
      }
    } else if constexpr (std::is_same<T, double>::value) {
      out = grid.dot(a);
    } else {
      out = grid.exact_dot(a);
    }
    if (power_ != 0.0) out += T(power_) * T(y_) * T(grid.offered(a));
    return out;
  }
  template <class T>
  T square(const Particle& particle, const Grid& grid) const {
    if (blind_) return T(0.0);
    T out(0.0);
    if (!particle.latent.empty()) {
      const Index n = seen(particle, grid);
      for (Index s = 0; s < n; ++s) {
        out += T(particle.latent[s]) * T(particle.latent[s]);
      }
    } else if constexpr (std::is_same<T, double>::value) {
      out = grid.square();
    } else {
      out = grid.exact_square();
    }
    if (power_ != 0.0) out += T(power_) * T(y_) * T(y_);
    return out;
  }
  // Latent responses of rows in the products; that of the row on offer is its
  // response `y_`.
  static Index seen(const Particle& particle, const Grid& grid) {
    return std::min(count_of(particle.latent), grid.rows());
  }

  Index kmax_;
  FactoredGaussian<double> plain_;
  std::unique_ptr<FactoredGaussian<DoubleDouble>> precise_;
  bool exact_ = false, rough_ = false;
  VectorXd dots_;
  std::vector<DoubleDouble> exact_dots_;
  double own_ = 0.0, response_ = 0.0;
  DoubleDouble exact_own_, exact_response_;
  Index removed_ = 0;
  double power_ = 0.0, y_ = 0.0;
  bool blind_ = false;
};
}  // namespace bayeskernel
