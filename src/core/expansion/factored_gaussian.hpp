// Linear regression on a set of columns, with the coefficients integrated out,
//     y = K b + e,  e ~ N(0, noise),  b ~ N(0, coefficient_variance I),
// from the products G = K'K, K'y and y'y by the factor of
//     A = I + s G = L D L',  s = coefficient_variance / noise,
// alone: no covariance is kept and none is updated. Of a kept covariance the
// small part that decides of a further column is lost in its large one as soon
// as s G is above 1e5 or so; of a factor where s G times the unit of rounding
// of T is near 1. `lost()` says whether the factor's digits are: T is double
// where they suffice and DoubleDouble where not.
#pragma once

#include <type_traits>

#include "eigen.hpp"
#include "error.hpp"
#include "math/bordered.hpp"
#include "math/double_double.hpp"
#include "math/normal.hpp"
#include "simd/aligned_buffer.hpp"

namespace bayeskernel {
// The predictive distribution of a row's f: N(mean, variance).
struct NextRow {
  double mean = 0.0, variance = 0.0;
};

template <class T>
class FactoredGaussian {
 public:
  explicit FactoredGaussian(Index capacity)
      : stride_(padded(capacity)),
        gram_(stride_ * stride_),
        factor_(stride_ * stride_),
        dots_(stride_),
        along_(stride_),
        column_(stride_),
        removed_(stride_),
        drawn_(stride_),
        inverse_(stride_) {}

  Index size() const { return m_; }

  // Products of m columns, to be set one by one; factor() must follow.
  void reset(Index m, Index rows, double noise, double coefficient_variance) {
    m_ = m;
    rows_ = rows;
    phi_ = 1.0 / noise;
    coefficient_variance_ = coefficient_variance;
    scale_ = T(coefficient_variance) / T(noise);
    root_scale_ = sqrt_of(scale_);
  }
  void set_gram(Index i, Index j, const T& value) {
    gram_[j * stride_ + i] = gram_[i * stride_ + j] = value;
  }
  void set_dot(Index j, const T& value) { dots_[j] = value; }
  void set_square(const T& value) { square_ = value; }

  // One more row, its values in the columns and its response. factor() must
  // follow.
  void add_row(const double* h, double y) {
    for (Index j = 0; j < m_; ++j) {
      for (Index i = 0; i <= j; ++i) {
        set_gram(i, j, gram_[j * stride_ + i] + T(h[i]) * T(h[j]));
      }
      dots_[j] += T(h[j]) * T(y);
    }
    square_ += T(y) * T(y);
    ++rows_;
  }

  // m^3 / 6 multiply-adds.
  void factor() {
    for (Index j = 0; j < m_; ++j) {
      T* to = factor_.data() + j * stride_;
      const T* from = gram_.data() + j * stride_;
      for (Index i = j; i < m_; ++i) to[i] = scale_ * from[i];
      to[j] += T(1.0);
      to[m_] = root_scale_ * dots_[j];
    }
    factor_[m_ * stride_ + m_] = square_;
    log_det_ = eliminate();
    if (!std::isfinite(log_det_)) {
      throw NumericError("a covariance of the coefficients is not finite");
    }
    worst_ = 1.0;
    for (Index j = 0; j < m_; ++j) {
      const double pivot = static_cast<double>(factor_[j * stride_ + j]);
      const double entry =
          1.0 + static_cast<double>(scale_ * gram_[j * stride_ + j]);
      worst_ = std::max(worst_, entry / pivot);
      inverse_[j] = T(1.0) / factor_[j * stride_ + j];
    }
    left_ = factor_[m_ * stride_ + m_];
  }

  // Whether a pivot has lost more digits than half of those that T has: then
  // errors of the log marginal likelihood are no longer far below 1.
  bool lost() const {
    return worst_ > kMostRatio || !(static_cast<double>(left_) >= 0.0) ||
           phi_ * static_cast<double>(square_) > 100.0 * kMostRatio;
  }

  double log_marginal() const {
    return 0.5 * (static_cast<double>(rows_) *
                      (std::log(phi_) - 2.0 * detail::kLogSqrtTwoPi) -
                  log_det_ - phi_ * static_cast<double>(left_));
  }

  // A row's f. The row is what addition's `next()` is about.
  NextRow next(const double* h) {
    for (Index i = 0; i < m_; ++i) along_[i] = T(h[i]);
    forward(along_, 0);
    NextRow out;
    out.mean = static_cast<double>(root_scale_ * with_border(along_));
    out.variance = std::max(
        coefficient_variance_ * static_cast<double>(inner(along_, along_)),
        0.0);
    return out;
  }

  // A further column k: its products with the columns, itself and y. Returns
  // the change of the log marginal likelihood. With `swapped` the column of the
  // last remove() is thought gone.
  double add(const T* dots, const T& own, const T& response,
             bool swapped = false) {
    for (Index i = 0; i < m_; ++i) column_[i] = dots[i];
    forward(column_, 0);
    if (swapped) {
      // Without that column what is left is orthogonal to it.
      const T part = inner(column_, removed_) / removed_size_;
      for (Index i = 0; i < m_; ++i) column_[i] -= part * removed_[i];
    }
    const T size = inner(column_, column_);
    pivot_ = T(1.0) + scale_ * (own - scale_ * size);
    const double entry = 1.0 + static_cast<double>(scale_ * own);
    added_lost_ = !(entry < kMostRatio * static_cast<double>(pivot_));
    if (pivot_ < T(1.0)) pivot_ = T(1.0);
    residual_ = response - root_scale_ * with_border(column_);
    const double gain =
        static_cast<double>(scale_ * residual_ * residual_ / pivot_);
    // More than all that is left of y cannot be explained.
    double left = static_cast<double>(left_);
    if (swapped) left += removed_gain_;
    if (!(gain <= (1.0 + 1e-6) * left)) added_lost_ = true;
    return -0.5 * std::log(static_cast<double>(pivot_)) + 0.5 * phi_ * gain;
  }
  // Whether the last addition has lost its digits.
  bool addition_lost() const { return added_lost_; }

  // The row of next() were the column of the last add() there, where its value
  // is h.
  NextRow next_with(double h, const NextRow& without) const {
    const T lean = T(h) - scale_ * inner(column_, along_);
    NextRow out;
    out.mean =
        without.mean + static_cast<double>(scale_ * lean * residual_ / pivot_);
    out.variance =
        without.variance +
        coefficient_variance_ * static_cast<double>(lean * lean / pivot_);
    return out;
  }

  // The column of the last add(), nothing between, comes. Its products again.
  void commit_add(const T* dots, const T& own, const T& response) {
    for (Index j = 0; j < m_; ++j) set_gram(j, m_, dots[j]);
    gram_[m_ * stride_ + m_] = own;
    dots_[m_] = response;
    ++m_;
    factor();
  }

  // The change were column i to go.
  double remove(Index i) {
    for (Index j = 0; j < m_; ++j) removed_[j] = T(0.0);
    removed_[i] = T(1.0);
    forward(removed_, i);
    removed_size_ = inner(removed_, removed_);
    const T mean = with_border(removed_);
    removed_gain_ = static_cast<double>(mean * mean / removed_size_);
    return -0.5 * std::log(static_cast<double>(removed_size_)) -
           0.5 * phi_ * removed_gain_;
  }

  // The last column takes the place of the removed one.
  void commit_remove(Index i) {
    const Index last = m_ - 1;
    if (i != last) {
      for (Index j = 0; j < last; ++j) {
        if (j != i) set_gram(i, j, gram_[j * stride_ + last]);
      }
      gram_[i * stride_ + i] = gram_[last * stride_ + last];
      dots_[i] = dots_[last];
    }
    --m_;
    factor();
  }

  // b ~ N(mu, coefficient_variance A^-1) from standard normals.
  template <class Normal>
  void draw(Normal&& normal, double* b) {
    const double sd = std::sqrt(coefficient_variance_);
    for (Index k = m_ - 1; k >= 0; --k) {
      const T* column = factor_.data() + k * stride_;
      T sum = root_scale_ * column[m_];
      for (Index i = k + 1; i < m_; ++i) sum -= column[i] * drawn_[i];
      drawn_[k] = sum * inverse_[k] +
                  T(sd * normal() / std::sqrt(static_cast<double>(column[k])));
      b[k] = static_cast<double>(drawn_[k]);
    }
  }

  // |y - K b|^2 of the numbers b, from the products alone.
  double residual_square(const double* b) const {
    T sum = square_;
    for (Index j = 0; j < m_; ++j) {
      const T* column = gram_.data() + j * stride_;
      T fitted(0.0);
      for (Index i = 0; i < m_; ++i) fitted += column[i] * T(b[i]);
      sum += T(b[j]) * (fitted - T(2.0) * dots_[j]);
    }
    return static_cast<double>(sum);
  }

  // E b, and the lower triangle R, m x m, for which |R h|^2 is the variance of
  // h'b.
  void moments(double* mean, double* root) {
    for (Index k = m_ - 1; k >= 0; --k) {
      const T* column = factor_.data() + k * stride_;
      T sum = root_scale_ * column[m_];
      for (Index i = k + 1; i < m_; ++i) sum -= column[i] * drawn_[i];
      drawn_[k] = sum * inverse_[k];
      mean[k] = static_cast<double>(drawn_[k]);
    }
    std::fill_n(root, m_ * m_, 0.0);
    for (Index j = 0; j < m_; ++j) {
      for (Index i = 0; i < m_; ++i) column_[i] = T(0.0);
      column_[j] = T(1.0);
      forward(column_, j);
      for (Index i = j; i < m_; ++i) {
        root[j * m_ + i] =
            static_cast<double>(column_[i]) *
            std::sqrt(coefficient_variance_ * static_cast<double>(inverse_[i]));
      }
    }
  }

 private:
  static constexpr bool kPlain = std::is_same<T, double>::value;
  using Buffer = std::conditional_t<kPlain, AlignedBuffer, std::vector<T>>;
  static constexpr double kMostRatio = kPlain ? 1e8 : 1e24;

  // Columns an odd number of cache lines apart fall into different sets.
  static Index padded(Index capacity) {
    const Index lines = (capacity + 8) / 8;
    return 8 * (lines + 1 - lines % 2);
  }
  static double sqrt_of(double x) { return std::sqrt(x); }
  static DoubleDouble sqrt_of(const DoubleDouble& x) { return sqrt(x); }

  // Column k becomes d_k times that of L, with d_k on the diagonal; the last
  // row is L^-1 of its right-hand side. Returns log|A|.
  double eliminate() {
    if constexpr (kPlain) {
      return eliminate_forward(factor_.data(), stride_, m_, 1.0);
    } else {
      double log_det = 0.0;
      for (Index k = 0; k < m_; ++k) {
        T* pivot = factor_.data() + k * stride_;
        if (pivot[k] < T(1.0)) pivot[k] = T(1.0);
        const T inverse = T(1.0) / pivot[k];
        log_det += std::log(static_cast<double>(pivot[k]));
        for (Index j = k + 1; j <= m_; ++j) {
          const T factor = pivot[j] * inverse;
          T* to = factor_.data() + j * stride_;
          for (Index i = j; i <= m_; ++i) to[i] -= factor * pivot[i];
        }
      }
      return log_det;
    }
  }

  // L^-1 x, where x is 0 before `from`.
  void forward(Buffer& x, Index from) const {
    for (Index k = from; k < m_; ++k) {
      const T factor = x[k] * inverse_[k];
      const T* column = factor_.data() + k * stride_;
      for (Index i = k + 1; i < m_; ++i) x[i] -= factor * column[i];
    }
  }

  T inner(const Buffer& a, const Buffer& b) const {
    T sum(0.0);
    for (Index k = 0; k < m_; ++k) sum += a[k] * b[k] * inverse_[k];
    return sum;
  }
  T with_border(const Buffer& a) const {
    T sum(0.0);
    for (Index k = 0; k < m_; ++k) {
      sum += a[k] * factor_[k * stride_ + m_] * inverse_[k];
    }
    return sum;
  }

  Index stride_, m_ = 0, rows_ = 0;
  double phi_ = 1.0, coefficient_variance_ = 1.0;
  T scale_ = T(1.0), root_scale_ = T(1.0), square_ = T(0.0), left_ = T(0.0);
  double log_det_ = 0.0, worst_ = 1.0, removed_gain_ = 0.0;
  T pivot_ = T(1.0), residual_ = T(0.0), removed_size_ = T(1.0);
  bool added_lost_ = false;
  Buffer gram_, factor_, dots_, along_, column_, removed_, drawn_, inverse_;
};
}  // namespace bayeskernel
