// What all particles share: the grid of points that may be centres, and the
// products of the columns (1, k(., point)) over the rows seen so far, of which
// those of any particle are a part. The grid grows with the rows up to a
// number of points, or is given.
#pragma once

#include <atomic>
#include <mutex>

#include "eigen.hpp"
#include "kernel/columns.hpp"
#include "kernel/tree.hpp"
#include "math/double_double.hpp"

namespace bayeskernel {
struct CandidateSettings {
  MatrixXd fixed;          // d x points of a given grid; empty: rows as seen
  Index most = 1000000;    // points of a grid that grows
  bool unique = false;     // rows that are there already are no new points
  bool keep_rows = false;  // values of all rows are needed, not their sums
};

// As it is kept between runs.
struct GridState {
  Index rows = 0;
  MatrixXd points;  // d x points
  MatrixXd x;       // d x rows, while they are needed
  VectorXd y;
  MatrixXd gram;  // products of columns, the constant in front
  VectorXd dots;  // with y
  double square = 0.0;
  // What rounding took from these, once a particle has asked for it; else
  // empty.
  MatrixXd gram_rest;
  VectorXd dots_rest;
  double square_rest = 0.0;
};

class Grid {
 public:
  Grid(Kernel kernel, Index d, CandidateSettings settings);

  Index rows() const { return rows_; }
  Index points() const { return points_count_; }
  Index dimension() const { return d_; }
  const Kernel& kernel() const { return kernel_; }
  const double* point(Index j) const;
  // Up to kNeighbors points that are closest to point j, the closest first.
  const std::vector<Index>& neighbors(Index j) const { return near_[j].point; }
  double square() const { return square_; }
  double dot(Index column) const { return dots_[column]; }
  // Columns: 0 the constant, j + 1 that of point j.
  double product(Index a, Index b) const {
    return a > b ? gram_(a, b) : gram_(b, a);
  }
  // The same to twice as many digits, where ask_exact() says that they are
  // there.
  DoubleDouble exact_square() const { return {square_, square_rest_}; }
  DoubleDouble exact_dot(Index column) const {
    return {dots_[column], dots_rest_[column]};
  }
  DoubleDouble exact_product(Index a, Index b) const;
  // From the first who asks on, what rounding takes from the products is kept,
  // too. False where rows that are needed for it have gone. Several threads may
  // ask while no row comes.
  bool can_be_exact() const;
  bool ask_exact() const;

  // The row on offer, in the columns.
  double offered(Index column) const { return row_[column]; }
  const VectorXd& response() const { return y_; }
  // Values of the rows at point j.
  const double* values(Index j) const;

  // A row comes: its values, and a column if it is a new point. True if so.
  bool offer(const double* x);

  // The offered row and its response join the products.
  void absorb(double y);

  GridState state() const;

  // To be called before any row. Kernels of kept rows are computed again, to
  // the same bits.
  void restore(const GridState& from);

  // Room for so many rows in all.
  void expect(Index rows);

 private:
  // Of so few points the products' rest costs nothing beside the particles.
  static constexpr Index kSmallGrid = 100;

  static constexpr Index kNeighbors = 10;

  struct Near {
    std::vector<Index> point;
    std::vector<double> distance;  // squared

    void add(Index j, double at);
  };

  // Point j and those before it become neighbors of each other.
  void meet(Index j);

  bool keeps() const { return !frozen_ || settings_.keep_rows; }

  static void add_product(double a, double b, double& sum, double& rest);

  // sum_s a_s b_s less `sum`.
  static double rest_of(const double* a, const double* b, Index n, double sum);

  void make_room_for_rest() const;

  // The rests of the products so far.
  void keep_rest() const;

  void next_row(double y);

  bool known(const VectorMap& x) const;

  // Its column over the rows so far, `along_`, and the products with it.
  void add_point(const VectorMap& x);

  // No point comes any more: kernels of a row are those of the grid.
  void freeze();

  void reserve_points(Index count);

  void reserve_rows(Index count);

  static void grow(MatrixXd& m, Index rows, Index columns);
  static void grow(VectorXd& v, Index size);

  Kernel kernel_;
  Index d_;
  CandidateSettings settings_;
  std::unique_ptr<KernelColumns> frozen_;
  KernelColumns::Scratch scratch_;
  Index rows_ = 0, points_count_ = 0;
  std::vector<Index> point_row_;
  std::vector<Near> near_;
  MatrixXd points_, x_, values_, gram_;
  VectorXd y_, dots_, row_, along_;
  double square_ = 0.0;
  bool products_ = true;
  mutable MatrixXd gram_rest_;
  mutable VectorXd dots_rest_;
  mutable double square_rest_ = 0.0;
  mutable std::atomic<bool> exact_{false};
  mutable std::mutex asking_;
};
}  // namespace bayeskernel
