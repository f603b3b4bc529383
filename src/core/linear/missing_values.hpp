// q of the predictors with missing values: these values, mu_x and Sigma_x. A
// missing value enters the columns of its row through its uses. Cost per row
// with u uses of h values: u p + u^2 + h^3, and P^2 for the covariance of the
// predictors.
//
// Luts and Ormerod (2014), section 3.3 and algorithm 4.
#pragma once

#include "eigen.hpp"
#include "linear/gaussian.hpp"
#include "linear/missing_pattern.hpp"
#include "linear/system.hpp"
#include "parallel/executor.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
struct MissingPosterior {
  VectorXd mean;        // of every missing value
  VectorXd covariance;  // V_i, h x h, row after row
  VectorXd center;      // m_x
  MatrixXd center_cov;  // V_x
  double df = 0.0;      // Sigma_x ~ IW(df, scale)
  MatrixXd scale;
  MatrixXd precision;  // O = E[Sigma_x^-1]
  double bound = 0.0;
};

// Variances of the missing values.
VectorXd value_variances(const MissingPattern& data, const MissingPosterior& q);

// q(theta, u) q(gamma) as the missing values see it.
struct EffectMoments {
  const GaussianPosterior& q;
  const ArrowSystem& system;
  const MatrixXd& covariance;  // of theta
  const VectorXd& inclusion;   // E gamma, all ones without selection
};

class MissingValues {
 public:
  // `position` maps columns of x to those in use, -1 for the others; empty: all
  // are. The cells of `rows` and their residual variances are this part's.
  MissingValues(const MissingPattern& data, const std::vector<Index>& position,
                PackedRows& rows, Executor& executor);

  Index rows() const { return count_of(data_.rows); }

  // Where the iteration starts: observed means and variances.
  void start(MissingPosterior& out) const;

  // q(x_mis) at weights omega / c under precision O and mean m_x of the
  // predictors, then q(mu_x) and q(Sigma_x). Fills the cells of the rows and
  // the part of Var f that comes from the missing values.
  void update(const EffectMoments& effect, const VectorXd& c,
              const MatrixXd& precision, const VectorXd& center,
              MissingPosterior& out);

  // The share of the missing values in the sums of a pass: kappa T_i V_i T_i'
  // in the curvatures, and minus its product with E(gamma theta, u), `point`,
  // in the gradient.
  void add_curvature(const MissingPosterior& q, const VectorXd& kappa,
                     const ArrowVector& point, bool with_newton,
                     Sums& sums) const;

  // omega / kappa of the rows with missing values; 1 where the weight is zero.
  VectorXd scales(const VectorXd& kappa) const;

 private:
  struct Slot {
    VectorXd sum;
    MatrixXd square;
    double log_det = 0.0, product = 1.0;

    // log_det -= log(precision), with few logarithms.
    void add_log_det(double precision);
    void flush();
  };
  struct Scratch {
    Index group = -1;
    VectorXd row, rhs, value;
    MatrixXd cross, group_cov;  // Sigma B_g D_g^-1, Cov u_g
    MatrixXd second, precision, covariance;
    std::vector<double> effect;
  };

  static constexpr Index kChunk = 256;  // rows

  static double dot(const double* a, const double* b, Index n);

  static const double& entry(const ArrowVector& v, Index column, Index g);
  static double& entry(ArrowVector& v, Index column, Index g);

  double& cell(Index column, Index row) const;

  void fill(Index i, const double* value) const;

  void add(Index a, Index b, Index g, double value, Curvature& to) const;

  void impute(Index i, const EffectMoments& effect, double c, const MatrixXd& O,
              const VectorXd& linear, Scratch& scratch, Slot& slot,
              MissingPosterior& out);

  // rhs += y (omega + w) T'E(gamma theta) - w T'R e_i, second = T'R T, with
  // e_i the row at the uses' bases, offset included.
  void regress(Index i, const EffectMoments& effect, double w,
               Scratch& scratch) const;

  // Entry of R between uses a and b of a row.
  double second_moment(Index a, Index b, Index begin,
                       const EffectMoments& effect,
                       const Scratch& scratch) const;

  void sum_of_complete_rows();

  // q(mu_x), q(Sigma_x) and the predictors' terms of the bound; sums are about
  // start_mean and include the V_i.
  void update_population(const VectorXd& sum, const MatrixXd& square,
                         const MatrixXd& precision, double log_det,
                         MissingPosterior& out) const;

  const MissingPattern& data_;
  PackedRows& rows_;
  Executor& executor_;
  std::vector<Index> group_, use_begin_, offset_;
  std::vector<MissingPattern::Use> uses_;  // columns in use
  Index covariance_size_ = 0;
  VectorXd complete_sum_;
  MatrixXd complete_square_;
  std::vector<Slot> slots_;
};
}  // namespace bayeskernel
