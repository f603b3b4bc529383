// Variances of prior blocks and of the noise as free coordinates x: log
// sigma^2, log of the noise variance, and for an unstructured Psi = L L' of
// width r > 1 the columns of L below the diagonal, its diagonal in logarithms.
// With half t standard deviations these may be 0, where the columns of L have no
// scale: then log standard deviations, and below the diagonal L_kc / L_kk.
#ifndef BAYESKERNEL_EP_HYPERPARAMETERS_HPP
#define BAYESKERNEL_EP_HYPERPARAMETERS_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "likelihood/family.hpp"
#include "prior/blocks.hpp"
#include "math/cholesky.hpp"
#include "math/special.hpp"
#include "ep/fit.hpp"

namespace bayeskernel {

class Hyperparameters {
 public:
  // Families without a noise hold it.
  Hyperparameters(const Prior& prior, const NoisePrior& noise)
      : prior_(prior), noise_(noise) {
    for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
      const Block& block = prior.blocks[l];
      if (block.kind == Block::Kind::held) continue;
      const Index r = block.width;
      for (Index k = 0; k < r * (r + 1) / 2; ++k) {
        owner_.push_back(static_cast<int>(l));
      }
    }
    if (!noise.held) owner_.push_back(-1);
  }

  Index size() const { return static_cast<Index>(owner_.size()); }
  // The block of each coordinate; -1: the noise.
  const std::vector<int>& owner() const { return owner_; }
  const NoisePrior& noise() const { return noise_; }

  VectorXd pack(const std::vector<MatrixXd>& precision,
                double noise_variance) const {
    VectorXd x(size());
    visit([&](int l, Index at) {
      if (l < 0) {
        x[at] = std::log(noise_variance);
      } else if (prior_.blocks[l].width == 1) {
        x[at] = -std::log(precision[l](0, 0));
      } else {
        MatrixXd root = Eigen::LLT<MatrixXd>(inverse(precision[l])).matrixL();
        if (by_rows(l)) {
          for (Index k = 0; k < root.rows(); ++k) {
            const double sd = root.row(k).norm();
            root.row(k) /= root(k, k);
            root(k, k) = sd;
          }
        }
        for (Index c = 0; c < root.cols(); ++c) {
          x[at++] = std::log(root(c, c));
          for (Index k = c + 1; k < root.rows(); ++k) x[at++] = root(k, c);
        }
      }
    });
    return x;
  }

  // Leaves what is held alone.
  void unpack(const VectorXd& x, std::vector<MatrixXd>& precision,
              double& noise_variance) const {
    visit([&](int l, Index at) {
      if (l < 0) {
        noise_variance = std::exp(x[at]);
      } else if (prior_.blocks[l].width == 1) {
        precision[l](0, 0) = std::exp(-x[at]);
      } else {
        const MatrixXd root = factor(x, at, l);
        precision[l] = inverse(root * root.transpose());
      }
    });
  }

  // A first guess of the inverse Hessian of -(log Z + log prior): variances
  // whose members were seen themselves.
  MatrixXd inverse_curvature(const VectorXd& x) const {
    VectorXd out(size());
    visit([&](int l, Index at) {
      if (l < 0) {
        out[at] = 1.0;
        return;
      }
      const Block& block = prior_.blocks[l];
      const double members = static_cast<double>(block.members);
      if (block.width == 1) {
        out[at] = 1.0 / (0.5 * members + variance(l).shape());
        return;
      }
      const Index r = block.width;
      const MatrixXd root = factor(x, at, l);
      const double count = members + block.covariance().df();
      for (Index c = 0; c < r; ++c) {
        out[at++] = 0.5 / count;
        for (Index k = c + 1; k < r; ++k) {
          out[at++] = (by_rows(l) ? 1.0 : root(k, k) * root(k, k)) / count;
        }
      }
    });
    return out.asDiagonal();
  }

  // Log density of x, normalised.
  double log_prior(const VectorXd& x) const {
    double out = 0.0;
    visit([&](int l, Index at) {
      if (l < 0 || prior_.blocks[l].width == 1) {
        out += variance(l).log_density(x[at]);
        return;
      }
      const Block& block = prior_.blocks[l];
      const Index r = block.width;
      const MatrixXd root = factor(x, at, l);
      out += block.covariance().log_density(
                 inverse(root * root.transpose()),
                 root.diagonal().array().log().sum()) +
             r * std::log(2.0);
      for (Index c = 0; c < r; ++c) {
        out += measure(l, c) * std::log(root(c, c));
      }
    });
    return out;
  }

  // d (log Z + log prior) / dx at the fit, whose sites are stationary.
  VectorXd gradient(const EpFit& fit, const VectorXd& x) const {
    VectorXd out(size());
    visit([&](int l, Index at) {
      if (l < 0) {
        out[at] = fit.noise_slope() - noise_.shape +
                  noise_.rate * std::exp(-x[at]);
        return;
      }
      const Block& block = prior_.blocks[l];
      const MatrixXd moment = fit.posterior().second_moment(block);
      const double members = static_cast<double>(block.members);
      if (block.width == 1) {
        out[at] = -0.5 * members + 0.5 * moment(0, 0) * std::exp(-x[at]) +
                  variance(l).slope(x[at]);
        if (fit.open() != nullptr) {
          out[at] += fit.open()->slope(l, fit.sites.residual_slope);
        }
        return;
      }
      const Index r = block.width;
      const MatrixXd root = factor(x, at, l);
      const MatrixXd p = inverse(root * root.transpose());
      const CovariancePrior prior = block.covariance();
      // By Psi, times 2 L: dPsi = dL L' + L dL'.
      MatrixXd slope =
          (p * (moment + prior.scale(p)) * p -
           (members + prior.df() + static_cast<double>(r) + 1.0) * p) *
          root;
      if (by_rows(l)) {
        for (Index k = 0; k < r; ++k) {
          slope(k, k) += measure(l, k) / root(k, k);
          const auto row = root.row(k).head(k + 1);
          const double of_sd = slope.row(k).head(k + 1).dot(row);
          slope.row(k).head(k) =
              root(k, k) * (slope.row(k).head(k) -
                            of_sd / row.squaredNorm() * row.head(k));
          slope(k, k) = of_sd;
        }
      }
      for (Index c = 0; c < r; ++c) {
        out[at++] = by_rows(l) ? slope(c, c)
                               : slope(c, c) * root(c, c) + measure(l, c);
        for (Index k = c + 1; k < r; ++k) out[at++] = slope(k, c);
      }
    });
    return out;
  }

 private:
  // Of the noise, an iid block, or one of width 1.
  VariancePrior variance(int l) const {
    if (l < 0) return {noise_.shape, noise_.rate, HalfT()};
    const Block& block = prior_.blocks[l];
    if (block.kind == Block::Kind::iid || block.kind == Block::Kind::point) {
      return block.variance();
    }
    return {0.5 * block.df, 0.5 * block.scale(0, 0), block.half_t};
  }

  template <class F>
  void visit(F&& body) const {
    for (Index at = 0; at < size(); ++at) {
      if (at == 0 || owner_[at] != owner_[at - 1]) body(owner_[at], at);
    }
  }

  bool by_rows(int l) const { return prior_.blocks[l].half_t.df > 0.0; }
  // The density of x is that of Psi times 2^r prod_c L_cc to this power.
  double measure(int l, Index c) const {
    return static_cast<double>(prior_.blocks[l].width + 1 -
                               (by_rows(l) ? 0 : c));
  }

  MatrixXd factor(const VectorXd& x, Index at, int l) const {
    const Index r = prior_.blocks[l].width;
    MatrixXd root = MatrixXd::Zero(r, r);
    for (Index c = 0; c < r; ++c) {
      root(c, c) = std::exp(x[at++]);
      for (Index k = c + 1; k < r; ++k) root(k, c) = x[at++];
    }
    if (by_rows(l)) {
      for (Index k = 0; k < r; ++k) {
        const double sd = root(k, k);
        root(k, k) = 1.0;
        root.row(k) *= sd / root.row(k).norm();
      }
    }
    return root;
  }

  static MatrixXd inverse(const MatrixXd& a) {
    Eigen::LLT<MatrixXd> llt(a);
    if (llt.info() != Eigen::Success) {
      throw NumericError("the covariance of a block is not positive definite");
    }
    return llt.solve(MatrixXd::Identity(a.rows(), a.cols()));
  }

  const Prior& prior_;
  NoisePrior noise_;
  std::vector<int> owner_;
};

}  // namespace bayeskernel

#endif
