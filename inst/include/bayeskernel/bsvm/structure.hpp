// What only the linear model has beside the rows and blocks of the hinge
// engine: columns among which it selects, and predictors with holes (svm.md
// section 2).
#ifndef BAYESKERNEL_BSVM_STRUCTURE_HPP
#define BAYESKERNEL_BSVM_STRUCTURE_HPP

#include <Eigen/Core>
#include <vector>

namespace bayeskernel {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// theta_k = gamma_k v_k on `columns` of x: v_k ~ N(0, sigma_v^2 / b_k),
// b_k ~ IG(1, 1/2), gamma_k ~ Bernoulli(rho), sigma_v^2 ~ IG(shape, rate), and
// rho known or ~ Beta(rho_in, rho_out). These columns have neither a fixed
// prior nor a block.
struct Selection {
  std::vector<Index> columns;
  double shape = 0.01, rate = 0.01;
  double rho = 0.01;
  bool learn_rho = false;
  double rho_in = 1.0, rho_out = 1.0;

  Index size() const { return static_cast<Index>(columns.size()); }
};

// Predictors x_i ~ N(mu, Sigma) in R^P of which some values are missing, with
// mu ~ N(0, mean_var I) and Sigma ~ IW(df, scale). A hole enters the columns
// of its row linearly: value = base + slope * x_ij.
struct Holes {
  struct Use {
    Index column;     // 0 .. p - 1 of x, or p + k for column k of z
    Index missing;    // position among the missing predictors of the row
    double base, slope;
  };
  struct Row {
    Index row;       // position in the packed rows
    Index pattern;
    Index use_begin, use_end;
    Index first;     // of its holes in the list of all holes
  };

  MatrixXd x;                                // P x n, packed rows, 0 in holes
  std::vector<std::vector<Index>> patterns;  // missing predictors, increasing
  std::vector<Row> rows;                     // with at least one hole
  std::vector<Use> uses;
  Index count = 0;                           // holes in all
  VectorXd start_mean, start_var;            // of the observed values
  double mean_var = 1e8;
  double df = 0.0;
  MatrixXd scale;

  Index predictors() const { return x.rows(); }
};

}  // namespace bayeskernel

#endif
