// Where the inducing points of a Gaussian process go, and
// the median distance that length-scales start from. Data are d x n: a column
// is a row of the data, already standardised.
//
// Wenzel et al. (2017), sections 4.2 and 5.5.
#pragma once

#include <numeric>

#include "eigen.hpp"
#include "parallel/executor.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
enum class InducingMethod {
  kmeans,  // seeds far from each other, then Lloyd's steps
  random   // distinct rows
};

struct InducingSettings {
  Index count = 1;
  InducingMethod method = InducingMethod::kmeans;
  int chain = 50;  // proposals for a seed
  int lloyd = 10;
  std::uint64_t seed = 0;
};

namespace detail {
// Below this many rows the exact D^2 sampling costs no more than the chains.
constexpr Index kExactSeeding = 5000;

// Up to `count` of the columns, no two alike: all of them in their order if
// they are as few, else in random order.
MatrixXd distinct_columns(const MatrixRef& x, Index count, Stream& stream);

// Draws i with probability mass_i / sum(mass); O(n) once, O(log n) a draw.
class Lottery {
 public:
  explicit Lottery(const VectorXd& mass) : sum_(mass.size()) {
    std::partial_sum(mass.data(), mass.data() + mass.size(), sum_.data());
  }
  Index operator()(Stream& stream) const;
  double total() const { return sum_[sum_.size() - 1]; }

 private:
  VectorXd sum_;
};

VectorXd squared_distances(const MatrixRef& x, const VectorXd& from);

Stream seeding_stream(const InducingSettings& settings, Index seed);

Index first_seed(const MatrixRef& x, const InducingSettings& settings);

// D^2 sampling (Arthur and Vassilvitskii 2007): a row is the next seed with
// probability proportional to its squared distance from the seeds so far.
// Ends early when every row is a seed. O(n m d).
MatrixXd exact_seeds(const MatrixRef& x, const InducingSettings& settings);

// The same law in the limit of long chains: AFK-MC2 (Bachem, Lucic, Hassani
// and Krause 2016), with proposals q(x) = d(x, c_1)^2 / (2 sum d^2) + 1 / (2n)
// and acceptance min(1, d(y)^2 q(x) / (d(x)^2 q(y))). A chain that ends on a
// seed adds none. O(n d + chain m^2 d).
MatrixXd chain_seeds(const MatrixRef& x, const InducingSettings& settings);

// Twice the median squared distance of the columns from their middle, or the
// mean if that is 0: a few columns far away do not move it.
double squared_distance_scale(const MatrixRef& x);

// Of centres that are almost one only the first: what is near beside the
// spread of the data makes K_mm singular. O(m^2 d).
MatrixXd drop_near_duplicates(MatrixXd centres, const MatrixRef& x);
}  // namespace detail

// d x m' with m' <= count, fewer where rows are alike. All rows that differ,
// as they are, if there are no more than `count`. The answer depends on the
// seed, not on the executor.
MatrixXd inducing_points(const MatrixRef& x, const InducingSettings& settings,
                         Executor& executor);

// Median Euclidean distance between rows: all pairs of at most `most` rows,
// evenly spaced. The mean of those above 0 if that is 0, 1 if all rows are
// alike. O(most^2 d).
double median_distance(const MatrixRef& x, Index most = 1000);
}  // namespace bayeskernel
