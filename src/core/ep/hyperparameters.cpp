#include "ep/hyperparameters.hpp"

#include "error.hpp"
#include "linear/conditional_variance.hpp"
#include "linear/gaussian.hpp"
#include "math/spd.hpp"
#include "math/special.hpp"

namespace bayeskernel {
static constexpr const char* kBlockCovariance = "the covariance of a block";

Hyperparameters::Hyperparameters(const Prior& prior, const NoisePrior& noise)
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

VectorXd Hyperparameters::pack(const std::vector<MatrixXd>& precision,
                               double noise_variance) const {
  VectorXd x(size());
  visit([&](int l, Index at) {
    if (l < 0) {
      x[at] = std::log(noise_variance);
    } else if (prior_.blocks[l].width == 1) {
      x[at] = -std::log(precision[l](0, 0));
    } else {
      MatrixXd root =
          Eigen::LLT<MatrixXd>(spd_inverse(precision[l], kBlockCovariance))
              .matrixL();
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

void Hyperparameters::unpack(const VectorXd& x,
                             std::vector<MatrixXd>& precision,
                             double& noise_variance) const {
  visit([&](int l, Index at) {
    if (l < 0) {
      noise_variance = std::exp(x[at]);
    } else if (prior_.blocks[l].width == 1) {
      precision[l](0, 0) = std::exp(-x[at]);
    } else {
      const MatrixXd root = factor(x, at, l);
      precision[l] = spd_inverse(root * root.transpose(), kBlockCovariance);
    }
  });
}

MatrixXd Hyperparameters::inverse_curvature(const VectorXd& x,
                                            double rows) const {
  VectorXd out(size());
  visit([&](int l, Index at) {
    if (l < 0) {
      out[at] = 1.0 / (0.5 * rows + variance(l).shape());
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

double Hyperparameters::log_prior(const VectorXd& x) const {
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
               spd_inverse(root * root.transpose(), kBlockCovariance),
               root.diagonal().array().log().sum()) +
           r * std::log(2.0);
    for (Index c = 0; c < r; ++c) {
      out += measure(l, c) * std::log(root(c, c));
    }
  });
  return out;
}

VectorXd Hyperparameters::gradient(const EpFit& fit, const VectorXd& x) const {
  VectorXd out(size());
  visit([&](int l, Index at) {
    if (l < 0) {
      out[at] =
          fit.noise_slope() - noise_.shape + noise_.rate * std::exp(-x[at]);
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
    const MatrixXd p = spd_inverse(root * root.transpose(), kBlockCovariance);
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
            root(k, k) *
            (slope.row(k).head(k) - of_sd / row.squaredNorm() * row.head(k));
        slope(k, k) = of_sd;
      }
    }
    for (Index c = 0; c < r; ++c) {
      out[at++] =
          by_rows(l) ? slope(c, c) : slope(c, c) * root(c, c) + measure(l, c);
      for (Index k = c + 1; k < r; ++k) out[at++] = slope(k, c);
    }
  });
  return out;
}

VariancePrior Hyperparameters::variance(int l) const {
  if (l < 0) return {noise_.shape, noise_.rate, HalfT()};
  const Block& block = prior_.blocks[l];
  if (block.kind == Block::Kind::iid || block.kind == Block::Kind::point) {
    return block.variance();
  }
  return {0.5 * block.df, 0.5 * block.scale(0, 0), block.half_t};
}

double Hyperparameters::measure(int l, Index c) const {
  return static_cast<double>(prior_.blocks[l].width + 1 - (by_rows(l) ? 0 : c));
}

MatrixXd Hyperparameters::factor(const VectorXd& x, Index at, int l) const {
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
}  // namespace bayeskernel
