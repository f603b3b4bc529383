// The bound in its general form, sum by sum, by dense algebra, for any
// q(theta) q(variances): slow, and written without the engine's own terms.
#pragma once

#include <Eigen/LU>
#include "prior/blocks.hpp"
#include <boost/math/special_functions/digamma.hpp>
#include <cmath>
#include <vector>

#include "hinge_problem.hpp"

using bayeskernel::BlockPosterior;
using bayeskernel::HalfT;

// Variational parameters of a dense problem.
struct DenseQ {
  VectorXd mean;
  MatrixXd covariance;
  std::vector<BlockPosterior> variances;
};

inline double log_det_dense(const MatrixXd& a) {
  return Eigen::PartialPivLU<MatrixXd>(a)
      .matrixLU()
      .diagonal()
      .array()
      .abs()
      .log()
      .sum();
}

inline double log_gamma_sum(double a, Index r) {
  double sum = 0.25 * static_cast<double>(r * (r - 1)) * std::log(M_PI);
  for (Index j = 0; j < r; ++j) {
    sum += std::lgamma(a - 0.5 * static_cast<double>(j));
  }
  return sum;
}

// E log p(Psi | a) p(a) / q(a) of half t standard deviations, with q(a) =
// prod IG((nu + r) / 2, nu E P_kk + 1 / s^2) and P = Psi^-1.
inline double half_t_term(const HalfT& prior, double e_log,
                          const MatrixXd& e_inverse) {
  using boost::math::digamma;
  const Index r = e_inverse.rows();
  const double rr = static_cast<double>(r);
  const double nu = prior.df, df = nu + rr - 1.0, shape = 0.5 * (nu + rr);
  const double b = 1.0 / (prior.scale * prior.scale);
  double out = -0.5 * df * rr * std::log(2.0) - log_gamma_sum(0.5 * df, r) -
               0.5 * (df + rr + 1.0) * e_log;
  for (Index k = 0; k < r; ++k) {
    const double rate = nu * e_inverse(k, k) + b;
    const double log_a = std::log(rate) - digamma(shape), over = shape / rate;
    out += 0.5 * df * (std::log(2.0 * nu) - log_a) -
           nu * over * e_inverse(k, k) + 0.5 * std::log(b / M_PI) -
           1.5 * log_a - b * over + shape + std::log(rate) +
           std::lgamma(shape) - (1.0 + shape) * digamma(shape);
  }
  return out;
}

// E log N(v; 0, precision^-1) summed over the members, and the prior's and
// q's own terms of the variance.
inline double block_term(const Block& block, const DenseQ& q,
                         const BlockPosterior& v) {
  const Index r = block.width;
  const double members = static_cast<double>(block.members);
  const double rr = static_cast<double>(r);
  MatrixXd moment = MatrixXd::Zero(r, r);
  for (Index m = 0; m < block.members; ++m) {
    const Index at = block.first + m * r;
    moment += q.covariance.block(at, at, r, r) +
              q.mean.segment(at, r) * q.mean.segment(at, r).transpose();
  }
  const double constant = -0.5 * members * rr * std::log(2.0 * M_PI);
  if (block.kind == Block::Kind::held) {
    return constant + 0.5 * members * std::log(block.precision) -
           0.5 * block.precision * moment(0, 0);
  }
  if (block.kind == Block::Kind::iid) {
    const double e_log = std::log(v.rate) - boost::math::digamma(v.shape);
    const double e_inverse = v.shape / v.rate;
    const double likelihood =
        constant - 0.5 * members * e_log - 0.5 * e_inverse * moment(0, 0);
    const double prior =
        block.half_t.df > 0.0
            ? half_t_term(block.half_t, e_log,
                          MatrixXd::Constant(1, 1, e_inverse))
            : block.shape * std::log(block.rate) - std::lgamma(block.shape) -
                  (block.shape + 1.0) * e_log - block.rate * e_inverse;
    const double entropy = v.shape + std::log(v.rate) + std::lgamma(v.shape) -
                           (1.0 + v.shape) * boost::math::digamma(v.shape);
    return likelihood + prior + entropy;
  }
  double e_log = log_det_dense(v.scale) - rr * std::log(2.0);
  for (Index j = 1; j <= r; ++j) {
    e_log -= boost::math::digamma(0.5 * (v.df + 1.0 - static_cast<double>(j)));
  }
  const MatrixXd e_inverse = v.df * v.scale.inverse();
  const auto log_density = [&](double df, const MatrixXd& scale) {
    return 0.5 * df * log_det_dense(scale) - 0.5 * df * rr * std::log(2.0) -
           log_gamma_sum(0.5 * df, r) - 0.5 * (df + rr + 1.0) * e_log -
           0.5 * (scale * e_inverse).trace();
  };
  return constant - 0.5 * members * e_log - 0.5 * (e_inverse * moment).trace() +
         (block.half_t.df > 0.0 ? half_t_term(block.half_t, e_log, e_inverse)
                                : log_density(block.df, block.scale)) -
         log_density(v.df, v.scale);
}

inline double dense_bound(const Problem& problem, const DenseQ& q) {
  const PackedRows& rows = problem.rows;
  const Prior& prior = problem.prior;
  const Index d = q.mean.size();
  double bound = 0.5 * log_det_dense(q.covariance) +
                 0.5 * static_cast<double>(d) * (1.0 + std::log(2.0 * M_PI));
  for (Index i = 0; i < rows.rows(); ++i) {
    const double m = rows.offset[i] + q.mean.dot(rows.x.col(i));
    const double s = rows.x.col(i).dot(q.covariance * rows.x.col(i));
    const double slack = 1.0 - rows.y[i] * m;
    bound -= rows.weight[i] * (slack + std::sqrt(slack * slack + s));
  }
  for (Index k = 0; k < d; ++k) {
    if (prior.precision[k] <= 0.0) continue;
    const double from = q.mean[k] - prior.mean[k];
    bound += 0.5 * (std::log(prior.precision[k]) - std::log(2.0 * M_PI) -
                    prior.precision[k] * (from * from + q.covariance(k, k)));
  }
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    bound += block_term(prior.blocks[l], q, q.variances[l]);
  }
  return bound;
}
