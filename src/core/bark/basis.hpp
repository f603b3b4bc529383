// Columns K(x_i, c) = exp(-S), S = sum_l lambda_l (x_il - c_l)^2, of the rows
// at the centres in use, with the sums S behind them: a change of a scale adds
// to S and never multiplies K, whose underflow could not be undone. Rows with
// weights w, y_i ~ N(f_i, 1 / (phi w_i)), are those of K times sqrt(w), as are
// those of the response: then all have the noise's precision phi. In front of
// the kernels stand the columns of blocks (bark/blocks.hpp), which stay.
#pragma once

#include "bark/blocks.hpp"
#include "eigen.hpp"
#include "simd/aligned_buffer.hpp"
#include "simd/gaussian_column.hpp"

namespace bayeskernel {
// Rows and centres on the model's scale; shared by the chains. Each kernel has
// one of some vectors of scales: location 0 is the intercept, location
// i > 0 the centre (i - 1) mod N with the vector (i - 1) / N.
class BarkData {
 public:
  // `weights`: positive, none for weights of 1. `vectors`: of scales.
  BarkData(const MatrixRef& rows, const MatrixRef& centres,
           const std::vector<double>& weights = {},
           const ColumnBlocks& blocks = {}, Index vectors = 1);

  Index rows() const { return n_; }
  Index stride() const { return stride_; }
  Index variables() const { return centres_.rows(); }
  Index vectors() const { return vectors_; }
  // Of all vectors, one after another: scale l is of variable l mod p.
  Index scales() const { return vectors_ * variables(); }
  Index centres() const { return centres_.cols(); }
  Index locations() const { return vectors_ * centres_.cols() + 1; }
  // Whether centres are rows: then columns say which centres are near.
  bool own_centres() const { return own_centres_; }

  // Of a location but that of the intercept.
  Index centre(Index location) const {
    return (location - 1) % centres_.cols();
  }
  Index vector(Index location) const {
    return (location - 1) / centres_.cols();
  }
  Index location(Index centre, Index vector) const {
    return 1 + centre + vector * centres_.cols();
  }
  // The first scale of its vector.
  Index first_scale(Index location) const {
    return vector(location) * variables();
  }

  const double* predictor(Index variable) const {
    return predictors_.data() + variable * stride_;
  }
  // Of all variables.
  const double* centre_values(Index location) const {
    return centres_.data() + centre(location) * variables();
  }

  bool weighted() const { return root_.size() > 0; }
  double total_weight() const { return total_weight_; }  // n without weights
  // x times the roots of the weights of the rows, or divided by them.
  void scale_rows(double* x) const;
  void unscale_rows(double* x) const;

  // ---- Blocks: their columns, times the roots of the weights

  Index fixed() const { return fixed_; }  // columns of all
  const double* block_columns() const { return block_columns_.data(); }
  Index blocks() const { return count_of(block_sizes_); }
  Index block_size(Index b) const { return block_sizes_[b]; }
  // Whether row i has an effect in block b that no column has.
  bool unseen(Index i, Index b) const {
    return unseen_.size() > 0 && unseen_(i, b) != 0;
  }

 private:
  void read_weights(const std::vector<double>& weights);

  Index n_, stride_;
  AlignedBuffer predictors_;
  Index vectors_;
  MatrixXd centres_;  // variables x centres
  bool own_centres_;
  double total_weight_;
  AlignedBuffer root_;  // of the weights
  std::vector<Index> block_sizes_;
  Eigen::MatrixXi unseen_;
  Index fixed_;
  AlignedBuffer block_columns_;
};

// A proposal for the kernel scales: all of them, or those of one vector, times
// `factor`, then lambda_l += change for each of `terms`.
struct ScaleChange {
  double factor = 1.0;
  Index vector = -1;  // all
  std::vector<std::pair<Index, double>> terms;
};

class Basis {
 public:
  // At most `capacity` columns, with those of the blocks; memory grows with
  // those in use.
  Basis(const BarkData& data, Index capacity);

  Index size() const { return m_; }
  // The first column of a kernel, behind those of the blocks.
  Index first() const { return first_; }
  Index location(Index i) const { return location_[i]; }
  const double* values() const { return values_.data(); }
  const double* column(Index i) const { return values_.data() + at(i); }
  const double* proposed_values() const { return new_values_.data(); }

  // The column of a location behind those in use: not yet one of them.
  const double* try_location(Index location, const VectorXd& lambda);
  void append() { ++m_; }

  // The last column takes the place of the removed one.
  void remove(Index i);

  void clear() { m_ = first_; }

  // All columns afresh.
  void refill(const VectorXd& lambda) {
    for (Index i = first_; i < m_; ++i) fill(i, location_[i], lambda);
  }

  // Fills proposed_values(); accept() makes them the columns.
  void propose(const ScaleChange& change);
  // The same for scales that are all new, all of them positive.
  void propose_all(const VectorXd& lambda);
  void accept();

 private:
  Index at(Index i) const { return i * data_.stride(); }

  // Columns of a proposal are not kept.
  void reserve(Index columns);

  void fill(Index i, Index location, const VectorXd& lambda);

  // One number after another: a copy of a whole term stalls.
  void set_term(Index k, Index variable, double weight, const double* centre);

  void fill_intercept(double* sum, double* value) const;

  const BarkData& data_;
  Index first_;
  Index m_ = 0;
  Index held_ = 0;  // columns that there is memory for
  AlignedBuffer sums_, values_, new_sums_, new_values_;
  std::vector<Index> location_;
  std::vector<ScaleTerm> terms_;
  ArrayXd squares_, slopes_;  // of propose_all()
};
}  // namespace bayeskernel
