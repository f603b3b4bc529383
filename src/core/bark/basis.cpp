#include "bark/basis.hpp"

#include "error.hpp"
#include "simd/column_products.hpp"

namespace bayeskernel {
BarkData::BarkData(const MatrixRef& rows, const MatrixRef& centres,
                   const std::vector<double>& weights,
                   const ColumnBlocks& blocks, Index vectors)
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

void BarkData::scale_rows(double* x) const {
  if (!weighted()) return;
  for (Index i = 0; i < n_; ++i) x[i] *= root_[i];
}

void BarkData::unscale_rows(double* x) const {
  if (!weighted()) return;
  for (Index i = 0; i < n_; ++i) x[i] /= root_[i];
}

void BarkData::read_weights(const std::vector<double>& weights) {
  if (weights.empty()) return;
  if (count_of(weights) != n_) {
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

Basis::Basis(const BarkData& data, Index capacity)
    : data_(data),
      first_(data.fixed()),
      location_(static_cast<std::size_t>(capacity + 1)),
      terms_(static_cast<std::size_t>(data.variables())) {
  reserve(std::min<Index>(capacity + 1, first_ + 32));
  clear();
}

const double* Basis::try_location(Index location, const VectorXd& lambda) {
  if (m_ == held_) reserve(2 * held_);
  fill(m_, location, lambda);
  return column(m_);
}

void Basis::remove(Index i) {
  const Index last = --m_;
  if (i == last) return;
  location_[i] = location_[last];
  std::copy_n(sums_.data() + at(last), data_.stride(), sums_.data() + at(i));
  std::copy_n(values_.data() + at(last), data_.stride(),
              values_.data() + at(i));
}

void Basis::propose(const ScaleChange& change) {
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

void Basis::propose_all(const VectorXd& lambda) {
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
      squares_ +=
          scale[l] *
          Eigen::Map<const ArrayXd>(data_.predictor(l), stride).square();
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

void Basis::accept() {
  sums_.swap(new_sums_);
  values_.swap(new_values_);
}

void Basis::reserve(Index columns) {
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

void Basis::fill(Index i, Index location, const VectorXd& lambda) {
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

void Basis::set_term(Index k, Index variable, double weight,
                     const double* centre) {
  ScaleTerm& term = terms_[k];
  term.predictor = data_.predictor(variable);
  term.weight = weight;
  term.centre = centre[variable];
}

void Basis::fill_intercept(double* sum, double* value) const {
  std::fill_n(sum, data_.stride(), 0.0);
  std::fill_n(value, data_.rows(), 1.0);
  std::fill(value + data_.rows(), value + data_.stride(), 0.0);
  data_.scale_rows(value);
}
}  // namespace bayeskernel
