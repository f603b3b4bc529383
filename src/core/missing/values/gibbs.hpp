// Missing predictors in a Gibbs sweep. Given the rest, x_mis is N(m0, O_mm^-1)
// times what the row says of f, and f moves along one direction of it only.
// With O_mm = L L', w = L^-1 b, b the slope of f, and e = L' (x_mis - m0), the
// part of e across w is standard normal. Along it, w'e / |w| is
//   normal, given the latents, which make the row exp(linear g - kappa g^2 /
//   2),
//     g = f - offset, in any family;
//   y times a mixture of two truncated normals for exp(-2 omega max(1 - y f,
//   0)),
//     the hinge with its latent a integrated out.
// A row costs p + h P; a pattern one Cholesky of O_mm.
//
// Luts and Ormerod (2014), appendix C.
#pragma once

#include "eigen.hpp"
#include "linear/missing_pattern.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"
#include "rng/distributions.hpp"
#include "rng/matrix_variate.hpp"
#include "rng/stream.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
// exp(t^2 / 2) Phi(-t), relative error below 1e-10: a rational function (Hart
// 1968, no. 5666) up to 5, Laplace's continued fraction beyond. Infinite below
// -38.
double scaled_normal_tail(double t);

// A draw with density proportional to
//   exp(-x^2 / 2) exp(2 omega min(u + sd x, 0))
// for at = u / sd, tilt = 2 omega sd: standard normal above -at, normal about
// `tilt` below. The pieces weigh Phi(at) and exp(at tilt + tilt^2 / 2)
// Phi(-(at + tilt)), which is exp(-at^2 / 2) times the scaled tails at -at and
// at + tilt.
double tilted_normal(Stream& stream, double at, double tilt);

struct MissingState {
  VectorXd value;       // x_mis, row by row
  VectorXd mean;        // mu_x
  MatrixXd covariance;  // Sigma_x
  // By grouping factor: effects, D x groups, and S_b.
  std::vector<MatrixXd> effect, between;

  // Sigma_x and every S_b: of a row whose groups are not known.
  MatrixXd of_new_rows(const std::vector<Index>& where) const;
};

// Effects of groups on predictors with missing values, x_i = mu_x + sum a_g +
// e_i, in a sweep that has a value of every predictor. `filled`: the predictors
// of rows with a missing value, minus the observed means.
class GroupedPredictors {
 public:
  GroupedPredictors(const MissingPattern& data, MissingState& state);

  bool empty() const { return data_.groupings.empty() || data_.where.empty(); }
  Index width() const { return count_of(data_.where); }

  void start();

  // What the groups of a packed row add.
  VectorXd shift(Index row) const;

  // The effects and S_b of every factor, given Sigma_x^-1 = `precision`.
  void draw(const MatrixXd& filled, const MatrixXd& precision, Stream& stream);

  // Sums of x minus the observed means and the effects.
  void sums(const MatrixXd& filled, VectorXd& sum, MatrixXd& square) const;

 private:
  void residual(Index i, const MatrixXd& filled, VectorXd& x) const;

  void draw_factor(std::size_t f, const MatrixXd& filled,
                   const MatrixXd& precision, Stream& stream);

  // mu_x + c, effects - c: the rows know the sum alone.
  void translate(std::size_t f, Stream& stream);

  const MissingPattern& data_;
  MissingState& state_;
  std::vector<Index> hole_;
  std::vector<VectorXd> count_;
  WishartScratch wishart_;
};

class MissingGibbs {
 public:
  // `rows` are the chain's own: their cells follow the values.
  MissingGibbs(const MissingPattern& data, PackedRows& rows, Executor& executor,
               std::uint64_t seed, std::uint64_t chain);

  MissingState state;

  // Puts the values of the state into the rows; to be called when the state
  // was set from outside.
  void fill();

  // x_mis of every row with a missing value.
  void draw_values(const ArrowVector& point, std::uint64_t sweep,
                   const RowMessages& messages = RowMessages());

  // mu_x and Sigma_x given all predictors, those of every row.
  void draw_distribution(std::uint64_t sweep);

  // f of every row with data.
  void latent(const ArrowVector& point, ArrayXd& out) const;

 private:
  static constexpr Index kRows = 512;  // of one block

  struct Pattern {
    std::vector<Index> missing, observed;
    MatrixXd precision;   // O_mm, then its factor L, 1 / L_jj on the diagonal
    MatrixXd regression;  // O_mm^-1 O_mo
  };
  struct Scratch {
    VectorXd slope, white, noise, mean;
  };

  void start();

  // By row with a missing value.
  void set_added();

  void invert_covariance();

  void factor_patterns();

  double latent_row(Index i, const ArrowVector& point) const;

  void draw_row(Index i, const ArrowVector& point, const RowMessages& messages,
                Stream& stream, Scratch& scratch);

  void write_cells(const MissingPattern::Row& row);

  const MissingPattern& data_;
  PackedRows& rows_;
  Executor& executor_;
  std::uint64_t seed_, chain_;
  std::vector<Pattern> patterns_;
  std::vector<Index> group_;  // of each row with a missing value
  GroupedPredictors grouped_;
  MatrixXd added_;  // by groups, to each row with a missing value
  // Predictors of those rows, minus the observed means; the sums of the others.
  MatrixXd filled_, complete_square_;
  VectorXd complete_sum_, ones_;
  MatrixXd precision_, work_, mean_precision_, gram_scratch_;
  VectorXd rhs_, shift_;
  Eigen::LLT<MatrixXd> covariance_llt_, mean_llt_;
  WishartScratch wishart_;
  ScratchPool<Scratch> pool_;
};
}  // namespace bayeskernel
