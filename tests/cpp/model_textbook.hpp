// Mean-field updates and bound of the combined model by dense algebra (Luts and
// Ormerod 2014): every effect a column, every matrix d x d, nothing shared
// with the engine but the terms of variance components in dense_bound.hpp.
#pragma once

#include <Eigen/LU>
#include <boost/math/special_functions/digamma.hpp>
#include <cmath>
#include <vector>

#include "dense_bound.hpp"
#include "model_problem.hpp"

// Variational parameters. Missing values are numbered as in
// MissingPattern::rows.
struct TextbookQ {
  VectorXd mean;
  MatrixXd covariance;
  std::vector<BlockPosterior> variances;
  VectorXd inclusion, expected_b;  // selection columns
  double shape = 0.0, rate = 1.0, rho_in = 1.0, rho_out = 1.0;
  std::vector<VectorXd> value;     // x-hat by row with holes
  std::vector<MatrixXd> variance;  // V_i
  VectorXd center;
  MatrixXd center_cov, scale, precision;  // V_x, S_x-hat, O
  double df = 0.0;
};

class Textbook {
 public:
  explicit Textbook(const ModelProblem& problem) : in_(problem) {
    const Index n = in_.rows.rows(), p = in_.rows.x_columns();
    const Index r = in_.rows.z_columns();
    d_ = p + r * in_.rows.groups();
    columns_ = MatrixXd::Zero(d_, n);
    columns_.topRows(p) = in_.rows.x;
    group_.assign(n, 0);
    for (Index g = 0; g < in_.rows.groups(); ++g) {
      for (Index i = in_.group_begin[g]; i < in_.group_begin[g + 1]; ++i) {
        group_[i] = g;
        columns_.block(p + g * r, i, r, 1) = in_.rows.z.col(i);
      }
    }
    blocks_ = in_.prior.blocks;
    for (Block& block : blocks_) {
      if (block.eliminated) block.first = p;
      block.eliminated = false;
    }
    start();
  }

  // One pass through steps 1 to 6; returns the bound.
  double step() {
    const PackedRows& rows = in_.rows;
    const VectorXd w = rows.weight.cwiseQuotient(c_);
    MatrixXd a = MatrixXd::Zero(d_, d_);
    VectorXd h = VectorXd::Zero(d_);
    for (Index i = 0; i < rows.rows(); ++i) {
      const VectorXd x = row(i, q);
      a += w[i] * x * x.transpose();
      h += (rows.y[i] * (rows.weight[i] + w[i]) - w[i] * rows.offset[i]) * x;
    }
    for (std::size_t i = 0; i < in_.holes.rows.size(); ++i) {
      const MatrixXd t = design(i);
      a += w[in_.holes.rows[i].row] * t * q.variance[i] * t.transpose();
    }
    VectorXd gamma = inclusion(q);
    MatrixXd lambda = MatrixXd::Zero(d_, d_);
    VectorXd h0 = VectorXd::Zero(d_);
    for (Index k = 0; k < in_.prior.columns(); ++k) {
      lambda(k, k) = in_.prior.precision[k];
      h0[k] = in_.prior.precision[k] * in_.prior.mean[k];
    }
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      const Index width = blocks_[l].width;
      for (Index m = 0; m < blocks_[l].members; ++m) {
        const Index at = blocks_[l].first + m * width;
        lambda.block(at, at, width, width) = precision_[l];
      }
    }
    for (Index k = 0; k < in_.selection.size(); ++k) {
      const Index at = in_.selection.columns[k];
      lambda(at, at) = q.shape / q.rate * q.expected_b[k];
    }
    const MatrixXd scaled = a.cwiseProduct(second_of_gamma(gamma)) + lambda;
    q.covariance = scaled.inverse();
    q.mean = q.covariance * (gamma.cwiseProduct(h) + h0);
    const MatrixXd s = q.covariance + q.mean * q.mean.transpose();
    select(a, h, s);
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      const Block& block = blocks_[l];
      MatrixXd moment = MatrixXd::Zero(block.width, block.width);
      for (Index m = 0; m < block.members; ++m) {
        const Index at = block.first + m * block.width;
        moment += s.block(at, at, block.width, block.width);
      }
      const double members = static_cast<double>(block.members);
      if (block.kind == Block::Kind::iid) {
        q.variances[l].shape = block.shape + 0.5 * members;
        q.variances[l].rate = block.rate + 0.5 * moment(0, 0);
        precision_[l](0, 0) = q.variances[l].shape / q.variances[l].rate;
      } else if (block.kind == Block::Kind::unstructured) {
        q.variances[l].df = block.df + members;
        q.variances[l].scale = block.scale + moment;
        precision_[l] = q.variances[l].df * q.variances[l].scale.inverse();
      }
    }
    impute(w);
    for (Index i = 0; i < rows.rows(); ++i) {
      const auto moments = row_moments(i, q);
      const double slack = 1.0 - rows.y[i] * moments.first;
      c_[i] = std::max(std::sqrt(slack * slack + moments.second), 1e-8);
    }
    return bound(q);
  }

  // Mean and variance of f in row i.
  std::pair<double, double> row_moments(Index i, const TextbookQ& at) const {
    const VectorXd x = row(i, at);
    const VectorXd gamma = inclusion(at);
    const MatrixXd second = (at.covariance + at.mean * at.mean.transpose())
                                .cwiseProduct(second_of_gamma(gamma));
    const double effect = x.dot(gamma.cwiseProduct(at.mean));
    double e_square = x.dot(second * x);
    const Index hole = hole_row(i);
    if (hole >= 0) {
      const MatrixXd t = design(hole);
      e_square += (t.transpose() * second * t * at.variance[hole]).trace();
    }
    return {in_.rows.offset[i] + effect, e_square - effect * effect};
  }

  double bound(const TextbookQ& at) const {
    const PackedRows& rows = in_.rows;
    const double log_two_pi = std::log(2.0 * M_PI);
    double sum = 0.5 * log_det_dense(at.covariance) +
                 0.5 * static_cast<double>(d_) * (1.0 + log_two_pi);
    for (Index i = 0; i < rows.rows(); ++i) {
      const auto moments = row_moments(i, at);
      const double slack = 1.0 - rows.y[i] * moments.first;
      sum -=
          rows.weight[i] * (slack + std::sqrt(slack * slack + moments.second));
    }
    for (Index k = 0; k < in_.prior.columns(); ++k) {
      const double precision = in_.prior.precision[k];
      if (precision <= 0.0) continue;
      const double from = at.mean[k] - in_.prior.mean[k];
      sum += 0.5 * (std::log(precision) - log_two_pi -
                    precision * (from * from + at.covariance(k, k)));
    }
    const DenseQ dense{at.mean, at.covariance, {}};
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      sum += block_term(blocks_[l], dense, at.variances[l]);
    }
    if (in_.selection.size() > 0) sum += selection_bound(at);
    if (in_.holes.count > 0) sum += holes_bound(at);
    return sum;
  }

  Index size() const { return d_; }
  TextbookQ q;

 private:
  static double psi(double x) { return boost::math::digamma(x); }

  void start() {
    c_ = VectorXd::Ones(in_.rows.rows());
    precision_ = in_.prior.start();
    q.variances.resize(blocks_.size());
    const Selection& s = in_.selection;
    q.inclusion = q.expected_b = VectorXd::Ones(s.size());
    q.shape = q.rate = 1.0;
    q.rho_in = s.rho_in;
    q.rho_out = s.rho_out;
    const MissingPattern& holes = in_.holes;
    if (holes.count == 0) return;
    q.center = holes.start_mean;
    q.precision = holes.start_var.cwiseInverse().asDiagonal();
    for (const MissingPattern::Row& row : holes.rows) {
      const std::vector<Index>& missing = holes.patterns[row.pattern];
      const Index width = static_cast<Index>(missing.size());
      VectorXd value(width);
      MatrixXd variance = MatrixXd::Zero(width, width);
      for (Index j = 0; j < width; ++j) {
        value[j] = holes.start_mean[missing[j]];
        variance(j, j) = holes.start_var[missing[j]];
      }
      q.value.push_back(value);
      q.variance.push_back(variance);
    }
  }

  Index hole_row(Index i) const {
    for (std::size_t k = 0; k < in_.holes.rows.size(); ++k) {
      if (in_.holes.rows[k].row == i) return static_cast<Index>(k);
    }
    return -1;
  }

  Index dense_column(const MissingPattern::Use& use, Index row) const {
    const Index p = in_.rows.x_columns();
    return use.column < p ? use.column
                          : use.column + group_[row] * in_.rows.z_columns();
  }

  // T_i, d x holes.
  MatrixXd design(Index k) const {
    const MissingPattern::Row& row = in_.holes.rows[k];
    MatrixXd t = MatrixXd::Zero(
        d_, static_cast<Index>(in_.holes.patterns[row.pattern].size()));
    for (Index u = row.use_begin; u < row.use_end; ++u) {
      const MissingPattern::Use& use = in_.holes.uses[u];
      t(dense_column(use, row.row), use.missing) = use.slope;
    }
    return t;
  }

  // Columns of row i with the holes' part left out.
  VectorXd known(Index i) const {
    VectorXd x = columns_.col(i);
    const Index k = hole_row(i);
    if (k < 0) return x;
    const MissingPattern::Row& row = in_.holes.rows[k];
    for (Index u = row.use_begin; u < row.use_end; ++u) {
      x[dense_column(in_.holes.uses[u], i)] = in_.holes.uses[u].base;
    }
    return x;
  }

  VectorXd row(Index i, const TextbookQ& at) const {
    const Index k = hole_row(i);
    return k < 0 ? known(i) : known(i) + design(k) * at.value[k];
  }

  VectorXd inclusion(const TextbookQ& at) const {
    VectorXd gamma = VectorXd::Ones(d_);
    for (Index k = 0; k < in_.selection.size(); ++k) {
      gamma[in_.selection.columns[k]] = at.inclusion[k];
    }
    return gamma;
  }

  static MatrixXd second_of_gamma(const VectorXd& gamma) {
    MatrixXd omega = gamma * gamma.transpose();
    omega.diagonal() = gamma;
    return omega;
  }

  void select(const MatrixXd& a, const VectorXd& h, const MatrixXd& s) {
    const Selection& prior = in_.selection;
    if (prior.size() == 0) return;
    const double odds = prior.learn_rho
                            ? psi(q.rho_in) - psi(q.rho_out)
                            : std::log(prior.rho / (1.0 - prior.rho));
    VectorXd gamma = inclusion(q);
    for (Index k = 0; k < prior.size(); ++k) {
      const Index at = prior.columns[k];
      double logit = odds + q.mean[at] * h[at] - 0.5 * a(at, at) * s(at, at);
      for (Index j = 0; j < d_; ++j) {
        if (j != at) logit -= a(at, j) * s(at, j) * gamma[j];
      }
      q.inclusion[k] = gamma[at] = 1.0 / (1.0 + std::exp(-logit));
    }
    const double precision = q.shape / q.rate;
    const double size = static_cast<double>(prior.size());
    q.shape = prior.shape + 0.5 * size;
    q.rate = prior.rate;
    for (Index k = 0; k < prior.size(); ++k) {
      const Index at = prior.columns[k];
      q.expected_b[k] = 1.0 / std::sqrt(s(at, at) * precision);
      q.rate += 0.5 * q.expected_b[k] * s(at, at);
    }
    q.rho_in = prior.rho_in + q.inclusion.sum();
    q.rho_out = prior.rho_out + size - q.inclusion.sum();
  }

  void impute(const VectorXd& w) {
    const MissingPattern& holes = in_.holes;
    if (holes.count == 0) return;
    const PackedRows& rows = in_.rows;
    const VectorXd gamma = inclusion(q);
    const MatrixXd second = (q.covariance + q.mean * q.mean.transpose())
                                .cwiseProduct(second_of_gamma(gamma));
    const VectorXd effect = gamma.cwiseProduct(q.mean);
    const Index P = holes.predictors(), n = rows.rows();
    MatrixXd x = holes.x;
    MatrixXd padded = MatrixXd::Zero(P, P);
    for (std::size_t k = 0; k < holes.rows.size(); ++k) {
      const Index i = holes.rows[k].row;
      const std::vector<Index>& missing = holes.patterns[holes.rows[k].pattern];
      const Index width = static_cast<Index>(missing.size());
      const MatrixXd t = design(k);
      MatrixXd own(width, width);
      VectorXd gradient(width);
      for (Index j = 0; j < width; ++j) {
        gradient[j] =
            q.precision.row(missing[j]).dot(q.center - holes.x.col(i));
        for (Index l = 0; l < width; ++l) {
          own(j, l) = q.precision(missing[j], missing[l]);
        }
      }
      const MatrixXd v = (w[i] * t.transpose() * second * t + own).inverse();
      gradient +=
          (rows.y[i] * (rows.weight[i] + w[i]) - w[i] * rows.offset[i]) *
              t.transpose() * effect -
          w[i] * t.transpose() * second * known(i);
      q.variance[k] = v;
      q.value[k] = v * gradient;
      for (Index j = 0; j < width; ++j) {
        x(missing[j], i) = q.value[k][j];
        for (Index l = 0; l < width; ++l) {
          padded(missing[j], missing[l]) += v(j, l);
        }
      }
    }
    q.center_cov = (static_cast<double>(n) * q.precision +
                    MatrixXd::Identity(P, P) / holes.mean_var)
                       .inverse();
    q.center = q.center_cov * q.precision * x.rowwise().sum();
    const MatrixXd away = x.colwise() - q.center;
    squares_ = away * away.transpose() + padded +
               static_cast<double>(n) * q.center_cov;
    q.df = holes.df + static_cast<double>(n);
    q.scale = holes.scale + squares_;
    q.precision = q.df * q.scale.inverse();
  }

  double selection_bound(const TextbookQ& at) const {
    const Selection& prior = in_.selection;
    const double size = static_cast<double>(prior.size());
    const double e_log = std::log(at.rate) - psi(at.shape);
    const double e_inverse = at.shape / at.rate;
    double log_in = std::log(prior.rho), log_out = std::log(1.0 - prior.rho);
    double sum = -size * std::log(2.0) - 0.5 * size * e_log;
    if (prior.learn_rho) {
      const double all = psi(at.rho_in + at.rho_out);
      log_in = psi(at.rho_in) - all;
      log_out = psi(at.rho_out) - all;
      const auto log_beta = [](double a, double b) {
        return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
      };
      sum += (prior.rho_in - 1.0) * log_in + (prior.rho_out - 1.0) * log_out -
             log_beta(prior.rho_in, prior.rho_out);
      sum -= (at.rho_in - 1.0) * log_in + (at.rho_out - 1.0) * log_out -
             log_beta(at.rho_in, at.rho_out);
    }
    for (Index k = 0; k < prior.size(); ++k) {
      const Index column = prior.columns[k];
      const double second =
          at.covariance(column, column) + at.mean[column] * at.mean[column];
      sum -=
          0.5 / at.expected_b[k] + 0.5 * e_inverse * at.expected_b[k] * second;
      const double in = at.inclusion[k], out = 1.0 - in;
      sum += in * log_in + out * log_out;
      if (in > 0.0) sum -= in * std::log(in);
      if (out > 0.0) sum -= out * std::log(out);
    }
    sum += prior.shape * std::log(prior.rate) - std::lgamma(prior.shape) -
           (prior.shape + 1.0) * e_log - prior.rate * e_inverse;
    return sum + at.shape + std::log(at.rate) + std::lgamma(at.shape) -
           (1.0 + at.shape) * psi(at.shape);
  }

  double holes_bound(const TextbookQ& at) const {
    const MissingPattern& holes = in_.holes;
    const Index P = holes.predictors();
    const double n = static_cast<double>(in_.rows.rows());
    const double pp = static_cast<double>(P), log_two_pi = std::log(2.0 * M_PI);
    MatrixXd x = holes.x, squares = n * at.center_cov;
    double sum = 0.0;
    for (std::size_t k = 0; k < holes.rows.size(); ++k) {
      const std::vector<Index>& missing = holes.patterns[holes.rows[k].pattern];
      for (std::size_t j = 0; j < missing.size(); ++j) {
        const Index a = static_cast<Index>(j);
        x(missing[j], holes.rows[k].row) = at.value[k][a];
        for (std::size_t l = 0; l < missing.size(); ++l) {
          squares(missing[j], missing[l]) +=
              at.variance[k](a, static_cast<Index>(l));
        }
      }
      sum += 0.5 * log_det_dense(at.variance[k]) +
             0.5 * static_cast<double>(missing.size()) * (1.0 + log_two_pi);
    }
    const MatrixXd away = x.colwise() - at.center;
    squares += away * away.transpose();
    const MatrixXd o = at.df * at.scale.inverse();
    double e_log = log_det_dense(at.scale) - pp * std::log(2.0);
    for (Index j = 1; j <= P; ++j) {
      e_log -= psi(0.5 * (at.df + 1.0 - static_cast<double>(j)));
    }
    const auto log_density = [&](double df, const MatrixXd& scale) {
      return 0.5 * df * log_det_dense(scale) - 0.5 * df * pp * std::log(2.0) -
             log_gamma_sum(0.5 * df, P) - 0.5 * (df + pp + 1.0) * e_log -
             0.5 * (scale * o).trace();
    };
    sum += -0.5 * n * (pp * log_two_pi + e_log) - 0.5 * (o * squares).trace();
    sum += -0.5 * pp * std::log(holes.mean_var) -
           0.5 * (at.center.squaredNorm() + at.center_cov.trace()) /
               holes.mean_var +
           0.5 * log_det_dense(at.center_cov) + 0.5 * pp;
    return sum + log_density(holes.df, holes.scale) -
           log_density(at.df, at.scale);
  }

  const ModelProblem& in_;
  Index d_;
  MatrixXd columns_, squares_;
  std::vector<Index> group_;
  std::vector<Block> blocks_;
  std::vector<MatrixXd> precision_;
  VectorXd c_;
};
