// Columns K(x_i, c) = exp(-S), S = sum_l lambda_l (x_il - c_l)^2, of the rows
// at the centres in use, with the sums S behind them: a change of a scale adds
// to S and never multiplies K, whose underflow could not be undone. Rows with
// weights w, y_i ~ N(f_i, 1 / (phi w_i)), are those of K times sqrt(w), as are
// those of the response: then all have the noise's precision phi. In front of
// the kernels stand the columns of blocks (bark/blocks.hpp), which stay.
#ifndef BAYESKERNEL_BARK_BASIS_HPP
#define BAYESKERNEL_BARK_BASIS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "error.hpp"
#include "simd/gaussian_column.hpp"
#include "simd/aligned_buffer.hpp"
#include "simd/column_products.hpp"
#include "bark/blocks.hpp"

namespace bayeskernel {

// Rows and centres on the model's scale; shared by the chains. Each kernel has
// one of some vectors of scales: location 0 is the intercept, location
// i > 0 the centre (i - 1) mod N with the vector (i - 1) / N.
class BarkData {
 public:
  using Index = Eigen::Index;

  // `weights`: positive, none for weights of 1. `vectors`: of scales.
  BarkData(const Eigen::Ref<const Eigen::MatrixXd>& rows,
           const Eigen::Ref<const Eigen::MatrixXd>& centres,
           const std::vector<double>& weights = {},
           const ColumnBlocks& blocks = {}, Index vectors = 1)
      : n_(rows.rows()),
        stride_(padded_size(rows.rows())),
        predictors_(stride_ * rows.cols()),
        vectors_(vectors),
        centres_(centres.transpose()),
        own_centres_(rows.rows() == centres.rows() && rows == centres),
        total_weight_(static_cast<double>(n_)),
        root_(weights.empty() ? 0 : stride_),
        block_sizes_(blocks.sizes),
        unseen_(blocks.unseen),
        fixed_(blocks.columns.cols()),
        block_columns_(stride_ * fixed_) {
    for (Index l = 0; l < rows.cols(); ++l) {
      for (Index i = 0; i < n_; ++i) predictors_[l * stride_ + i] = rows(i, l);
    }
    if (vectors < 1) throw ArgumentError("no vector of scales");
    read_weights(weights);
    blocks.check(n_);
    for (Index j = 0; j < fixed_; ++j) {
      double* column = block_columns_.data() + j * stride_;
      for (Index i = 0; i < n_; ++i) column[i] = blocks.columns(i, j);
      scale_rows(column);
    }
  }

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
  void scale_rows(double* x) const {
    if (!weighted()) return;
    for (Index i = 0; i < n_; ++i) x[i] *= root_[i];
  }
  void unscale_rows(double* x) const {
    if (!weighted()) return;
    for (Index i = 0; i < n_; ++i) x[i] /= root_[i];
  }

  // ---- Blocks: their columns, times the roots of the weights

  Index fixed() const { return fixed_; }  // columns of all
  const double* block_columns() const { return block_columns_.data(); }
  Index blocks() const { return static_cast<Index>(block_sizes_.size()); }
  Index block_size(Index b) const { return block_sizes_[b]; }
  // Whether row i has an effect in block b that no column has.
  bool unseen(Index i, Index b) const {
    return unseen_.size() > 0 && unseen_(i, b) != 0;
  }

 private:
  void read_weights(const std::vector<double>& weights) {
    if (weights.empty()) return;
    if (static_cast<Index>(weights.size()) != n_) {
      throw ArgumentError("not as many weights as rows");
    }
    total_weight_ = 0.0;
    for (Index i = 0; i < n_; ++i) {
      if (!(weights[i] > 0.0 && std::isfinite(weights[i]))) {
        throw ArgumentError("a weight is not positive");
      }
      total_weight_ += weights[i];
      root_[i] = std::sqrt(weights[i]);
    }
  }

  Index n_, stride_;
  AlignedBuffer predictors_;
  Index vectors_;
  Eigen::MatrixXd centres_;  // variables x centres
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
  Eigen::Index vector = -1;  // all
  std::vector<std::pair<Eigen::Index, double>> terms;
};

class Basis {
 public:
  using Index = Eigen::Index;

  // At most `capacity` columns, with those of the blocks; memory grows with
  // those in use.
  Basis(const BarkData& data, Index capacity)
      : data_(data),
        first_(data.fixed()),
        location_(static_cast<std::size_t>(capacity + 1)),
        terms_(static_cast<std::size_t>(data.variables())) {
    reserve(std::min<Index>(capacity + 1, first_ + 32));
    clear();
  }

  Index size() const { return m_; }
  // The first column of a kernel, behind those of the blocks.
  Index first() const { return first_; }
  Index location(Index i) const { return location_[i]; }
  const double* values() const { return values_.data(); }
  const double* column(Index i) const { return values_.data() + at(i); }
  const double* proposed_values() const { return new_values_.data(); }

  // The column of a location behind those in use: not yet one of them.
  const double* try_location(Index location, const Eigen::VectorXd& lambda) {
    if (m_ == held_) reserve(2 * held_);
    fill(m_, location, lambda);
    return column(m_);
  }
  void append() { ++m_; }

  // The last column takes the place of the removed one.
  void remove(Index i) {
    const Index last = --m_;
    if (i == last) return;
    location_[i] = location_[last];
    std::copy_n(sums_.data() + at(last), data_.stride(), sums_.data() + at(i));
    std::copy_n(values_.data() + at(last), data_.stride(),
                values_.data() + at(i));
  }

  void clear() { m_ = first_; }

  // All columns afresh.
  void refill(const Eigen::VectorXd& lambda) {
    for (Index i = first_; i < m_; ++i) fill(i, location_[i], lambda);
  }

  // Fills proposed_values(); accept() makes them the columns.
  void propose(const ScaleChange& change) {
    const Index p = data_.variables();
    for (Index i = first_; i < m_; ++i) {
      double* sum = new_sums_.data() + at(i);
      double* value = new_values_.data() + at(i);
      if (location_[i] == 0) {
        fill_intercept(sum, value);
        continue;
      }
      const Index vector = data_.vector(location_[i]);
      const double* centre = data_.centre_values(location_[i]);
      const double factor =
          change.vector < 0 || change.vector == vector ? change.factor : 1.0;
      Index count = 0;
      for (const auto& [l, weight] : change.terms) {
        const Index variable = l - vector * p;
        if (variable < 0 || variable >= p) continue;
        set_term(count++, variable, weight, centre);
      }
      if (count == 0 && factor == 1.0) {
        std::copy_n(sums_.data() + at(i), data_.stride(), sum);
        std::copy_n(values_.data() + at(i), data_.stride(), value);
        continue;
      }
      detail::kernel_column(terms_.data(), count, factor, sums_.data() + at(i),
                            sum, value, data_.rows(), data_.stride());
      data_.scale_rows(value);
    }
  }
  // The same for scales that are all new, all of them positive.
  void propose_all(const Eigen::VectorXd& lambda) {
    const Index p = data_.variables(), stride = data_.stride();
    squares_.resize(stride);
    slopes_.resize(4 * p);
    detail::FreshColumns block;
    block.predictors = data_.predictor(0);
    block.variables = p;
    block.squares = squares_.data();
    for (Index k = 0; k < data_.vectors(); ++k) {
      const double* scale = lambda.data() + k * p;
      squares_.setZero();
      for (Index l = 0; l < p; ++l) {
        squares_ += scale[l] *
                    Eigen::Map<const Eigen::ArrayXd>(data_.predictor(l), stride)
                        .square();
      }
      int columns = 0;
      const auto finish = [&] {
        detail::fresh_columns(block, columns, data_.rows(), stride);
        for (int c = 0; c < columns; ++c) data_.scale_rows(block.values[c]);
        columns = 0;
      };
      for (Index i = first_; i < m_; ++i) {
        const Index location = location_[i];
        double* sum = new_sums_.data() + at(i);
        double* value = new_values_.data() + at(i);
        if (location == 0) {
          if (k == 0) fill_intercept(sum, value);
          continue;
        }
        if (data_.vector(location) != k) continue;
        const double* centre = data_.centre_values(location);
        double* slope = slopes_.data() + columns * p;
        double constant = 0.0;
        for (Index l = 0; l < p; ++l) {
          const double weighted = scale[l] * centre[l];
          slope[l] = -2.0 * weighted;
          constant += weighted * centre[l];
        }
        block.slopes[columns] = slope;
        block.constants[columns] = constant;
        block.sums[columns] = sum;
        block.values[columns] = value;
        if (++columns == 4) finish();
      }
      if (columns > 0) finish();
    }
  }
  void accept() {
    sums_.swap(new_sums_);
    values_.swap(new_values_);
  }

 private:
  Index at(Index i) const { return i * data_.stride(); }

  // Columns of a proposal are not kept.
  void reserve(Index columns) {
    AlignedBuffer sums(at(columns)), values(at(columns));
    std::copy_n(sums_.data(), at(m_), sums.data());
    std::copy_n(values_.data(), at(m_), values.data());
    sums_.swap(sums);
    values_.swap(values);
    new_sums_ = AlignedBuffer(at(columns));
    new_values_ = AlignedBuffer(at(columns));
    std::copy_n(data_.block_columns(), at(first_), values_.data());
    std::copy_n(data_.block_columns(), at(first_), new_values_.data());
    held_ = columns;
  }

  void fill(Index i, Index location, const Eigen::VectorXd& lambda) {
    location_[i] = location;
    double* sum = sums_.data() + at(i);
    double* value = values_.data() + at(i);
    if (location == 0) {
      fill_intercept(sum, value);
      return;
    }
    Index count = 0;
    const double* scale = lambda.data() + data_.first_scale(location);
    const double* centre = data_.centre_values(location);
    for (Index l = 0; l < data_.variables(); ++l) {
      if (scale[l] > 0.0) set_term(count++, l, scale[l], centre);
    }
    detail::kernel_column(terms_.data(), count, 0.0, sum, sum, value,
                          data_.rows(), data_.stride());
    data_.scale_rows(value);
  }

  // One number after another: a copy of a whole term stalls.
  void set_term(Index k, Index variable, double weight, const double* centre) {
    ScaleTerm& term = terms_[k];
    term.predictor = data_.predictor(variable);
    term.weight = weight;
    term.centre = centre[variable];
  }

  void fill_intercept(double* sum, double* value) const {
    std::fill_n(sum, data_.stride(), 0.0);
    std::fill_n(value, data_.rows(), 1.0);
    std::fill(value + data_.rows(), value + data_.stride(), 0.0);
    data_.scale_rows(value);
  }

  const BarkData& data_;
  Index first_;
  Index m_ = 0;
  Index held_ = 0;  // columns that there is memory for
  AlignedBuffer sums_, values_, new_sums_, new_values_;
  std::vector<Index> location_;
  std::vector<ScaleTerm> terms_;
  Eigen::ArrayXd squares_, slopes_;  // of propose_all()
};

}  // namespace bayeskernel

#endif
