// Columns K(x_i, c) = exp(-S), S = sum_l lambda_l (x_il - c_l)^2, of the rows
// at the centres in use, with the sums S behind them: a change of a scale adds
// to S and never multiplies K, whose underflow could not be undone.
#ifndef BAYESKERNEL_BARK_BASIS_HPP
#define BAYESKERNEL_BARK_BASIS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "../kernel/exp.hpp"
#include "../math/aligned_buffer.hpp"
#include "../math/column_products.hpp"

namespace bayeskernel {

// Rows and centres on the model's scale; shared by the chains. Location 0 is
// the intercept, location i > 0 the centre i - 1.
class BarkData {
 public:
  using Index = Eigen::Index;

  BarkData(const Eigen::Ref<const Eigen::MatrixXd>& rows,
           const Eigen::Ref<const Eigen::MatrixXd>& centres)
      : n_(rows.rows()),
        stride_(padded_size(rows.rows())),
        predictors_(stride_ * rows.cols()),
        centres_(centres.transpose()),
        own_centres_(rows.rows() == centres.rows() && rows == centres) {
    for (Index l = 0; l < rows.cols(); ++l) {
      for (Index i = 0; i < n_; ++i) predictors_[l * stride_ + i] = rows(i, l);
    }
  }

  Index rows() const { return n_; }
  Index stride() const { return stride_; }
  Index variables() const { return centres_.rows(); }
  Index locations() const { return centres_.cols() + 1; }
  // Whether location i is row i - 1: then columns say which centres are near.
  bool own_centres() const { return own_centres_; }
  const double* predictor(Index l) const {
    return predictors_.data() + l * stride_;
  }
  double centre(Index location, Index l) const {
    return centres_(l, location - 1);
  }

 private:
  Index n_, stride_;
  AlignedBuffer predictors_;
  Eigen::MatrixXd centres_;  // variables x centres
  bool own_centres_;
};

// S' = factor S + sum_j weight_j (x_j - c_j)^2 of one column, and exp(-S').
struct ScaleTerm {
  const double* predictor;
  double weight;
  double centre;
};

namespace detail {

inline void narrow_column(const ScaleTerm* terms, Eigen::Index count,
                          double factor, const double* from, double* sum,
                          double* value, Eigen::Index stride) {
  using Array = Eigen::Array<double, 4, 1>;
  for (Eigen::Index i = 0; i < stride; i += kLanes) {
    Array s = Array::Zero();
    if (factor != 0.0) s = factor * Eigen::Map<const Array>(from + i);
    for (Eigen::Index j = 0; j < count; ++j) {
      const Array step =
          Eigen::Map<const Array>(terms[j].predictor + i) - terms[j].centre;
      s += terms[j].weight * step * step;
    }
    Eigen::Map<Array>(sum + i) = s;
    Eigen::Map<Array> to(value + i);
    to = -s;
    narrow_exp(to, 1.0);
  }
}

#if BAYESKERNEL_HAS_AVX2

// U vectors from row i on, so that chains of the exponential overlap.
template <int U, class Lanes, class Sum>
BAYESKERNEL_WIDE inline void some_rows(Lanes lanes, const Sum& add_up,
                                       Eigen::Index i, double* sum,
                                       double* value) {
  typename Lanes::Vector s[U];
#pragma GCC unroll 2
  for (int u = 0; u < U; ++u) {
    add_up(lanes, i + u * Lanes::width, s[u]);
    simd::view<Lanes>(sum + i + u * Lanes::width) = s[u];
  }
#pragma GCC unroll 2
  for (int u = 0; u < U; ++u) {
    s[u] = -s[u];
    replace_by_exp<Lanes>(s[u]);
    simd::view<Lanes>(value + i + u * Lanes::width) = s[u];
  }
}

template <class Lanes, class Sum>
BAYESKERNEL_WIDE inline void wide_rows(Lanes lanes, const Sum& add_up,
                                       double* sum, double* value,
                                       Eigen::Index stride) {
  constexpr Eigen::Index kWidth = Lanes::width;
  Eigen::Index i = 0;
  for (; i + 2 * kWidth <= stride; i += 2 * kWidth) {
    some_rows<2>(lanes, add_up, i, sum, value);
  }
  if (i + kWidth <= stride) {
    some_rows<1>(lanes, add_up, i, sum, value);
    i += kWidth;
  }
  if (i < stride) some_rows<1>(simd::Lanes<4>(), add_up, i, sum, value);
}

template <class Lanes>
BAYESKERNEL_WIDE inline void add_term(const ScaleTerm& term, Eigen::Index i,
                                      typename Lanes::Vector& s) {
  const typename Lanes::Vector step =
      simd::view<Lanes>(term.predictor + i) - term.centre;
  s += term.weight * step * step;
}

template <class Lanes>
BAYESKERNEL_WIDE inline void wide_column(Lanes lanes, const ScaleTerm* terms,
                                         Eigen::Index count, double factor,
                                         const double* from, double* sum,
                                         double* value, Eigen::Index stride) {
  if (count == 1 && factor == 1.0) {
    const ScaleTerm term = terms[0];
    wide_rows(
        lanes,
        [=](auto width, Eigen::Index i, typename decltype(width)::Vector& s)
            BAYESKERNEL_WIDE {
              s = simd::view<decltype(width)>(from + i);
              add_term<decltype(width)>(term, i, s);
            },
        sum, value, stride);
    return;
  }
  wide_rows(
      lanes,
      [=](auto width, Eigen::Index i, typename decltype(width)::Vector& s)
          BAYESKERNEL_WIDE {
            using Width = decltype(width);
            s = typename Width::Vector{};
            if (factor != 0.0) s = factor * simd::view<Width>(from + i);
            for (Eigen::Index j = 0; j < count; ++j) {
              add_term<Width>(terms[j], i, s);
            }
          },
      sum, value, stride);
}

#endif

inline void kernel_column(const ScaleTerm* terms, Eigen::Index count,
                          double factor, const double* from, double* sum,
                          double* value, Eigen::Index n, Eigen::Index stride,
                          simd::Level level = simd::level()) {
  if (level == simd::Level::narrow) {
    narrow_column(terms, count, factor, from, sum, value, stride);
  } else {
#if BAYESKERNEL_HAS_AVX2
    simd::run(level, [=](auto lanes) BAYESKERNEL_WIDE {
      wide_column(lanes, terms, count, factor, from, sum, value, stride);
    });
#endif
  }
  std::fill(value + n, value + stride, 0.0);
}

}  // namespace detail

// A proposal for the kernel scales: all of them times `factor`, then
// lambda_l += change for each of `terms`.
struct ScaleChange {
  double factor = 1.0;
  std::vector<std::pair<Eigen::Index, double>> terms;
};

class Basis {
 public:
  using Index = Eigen::Index;

  // At most `capacity` columns; memory grows with those in use.
  Basis(const BarkData& data, Index capacity)
      : data_(data), location_(static_cast<std::size_t>(capacity + 1)) {
    terms_.reserve(static_cast<std::size_t>(data.variables()));
    reserve(std::min<Index>(capacity + 1, 32));
  }

  Index size() const { return m_; }
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

  void clear() { m_ = 0; }

  // All columns afresh.
  void refill(const Eigen::VectorXd& lambda) {
    for (Index i = 0; i < m_; ++i) fill(i, location_[i], lambda);
  }

  // Fills proposed_values(); accept() makes them the columns.
  void propose(const ScaleChange& change) {
    terms_.clear();
    for (const auto& term : change.terms) {
      terms_.push_back({data_.predictor(term.first), term.second, 0.0});
    }
    for (Index i = 0; i < m_; ++i) {
      double* sum = new_sums_.data() + at(i);
      double* value = new_values_.data() + at(i);
      if (location_[i] == 0) {
        fill_intercept(sum, value);
        continue;
      }
      for (std::size_t j = 0; j < terms_.size(); ++j) {
        terms_[j].centre = data_.centre(location_[i], change.terms[j].first);
      }
      detail::kernel_column(terms_.data(), static_cast<Index>(terms_.size()),
                            change.factor, sums_.data() + at(i), sum, value,
                            data_.rows(), data_.stride());
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
    terms_.clear();
    for (Index l = 0; l < data_.variables(); ++l) {
      if (lambda[l] > 0.0) {
        terms_.push_back(
            {data_.predictor(l), lambda[l], data_.centre(location, l)});
      }
    }
    detail::kernel_column(terms_.data(), static_cast<Index>(terms_.size()), 0.0,
                          sum, sum, value, data_.rows(), data_.stride());
  }

  void fill_intercept(double* sum, double* value) const {
    std::fill_n(sum, data_.stride(), 0.0);
    std::fill_n(value, data_.rows(), 1.0);
    std::fill(value + data_.rows(), value + data_.stride(), 0.0);
  }

  const BarkData& data_;
  Index m_ = 0;
  Index held_ = 0;  // columns that there is memory for
  AlignedBuffer sums_, values_, new_sums_, new_values_;
  std::vector<Index> location_;
  std::vector<ScaleTerm> terms_;
};

}  // namespace bayeskernel

#endif
