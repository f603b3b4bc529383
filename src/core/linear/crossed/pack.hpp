// Crossed terms as they are given to rows, and what a fit says of them.
#pragma once

#include "eigen.hpp"
#include "linear/crossed/posterior.hpp"
#include "linear/crossed/rows.hpp"
#include "rows/pack.hpp"

namespace bayeskernel {
// The level of each row, from 1, and what multiplies its effects, n x width.
struct GivenTerm {
  std::size_t block;  // of the prior
  Index levels;
  const int* level;
  MatrixMap z;
};

// Rows go in the order of the levels of the first term.
void sort_by_first(const std::vector<GivenTerm>& terms,
                   std::vector<Index>& order);

// In data.order; `unit` as of PackedRows::finish().
void pack_crossed(const std::vector<GivenTerm>& terms, const ColumnData& data,
                  const std::vector<Index>& unit, CrossedRows& out);

// Of the levels of a term, as of one that is eliminated: mean, covariance,
// loading on theta and the shared directions, covariance given these.
struct LevelMoments {
  MatrixXd mean, covariance, loading, given;
};
std::vector<LevelMoments> level_moments(const CrossedRows& rows,
                                        const VectorXd& theta,
                                        const CrossedPosterior& q);

// Cov(u_g, v_h | theta, shared directions) of levels that occur together,
// counted from 1, one after another; by outer term.
struct LevelPairs {
  std::vector<int> inner, outer;
  std::vector<double> covariance;
};
std::vector<LevelPairs> level_pairs(const CrossedRows& rows,
                                    const CrossedPosterior& q);
}  // namespace bayeskernel
