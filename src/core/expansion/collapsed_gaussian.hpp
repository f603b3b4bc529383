// Linear regression on a set of columns that grows and shrinks, with the
// coefficients integrated out:
//     y = K b + e,  e ~ N(0, 1 / phi),  b_i ~ N(0, v_i).
// Keeps the covariance Sigma and the mean mu of b given y, so that a change
// of the log marginal likelihood costs O(1) when the variance of a column
// changes or a column goes, and O(m^2) when one comes. Knows K by its products
// G = K'K, K'y and y'y alone.
//
// Sigma and mu are those of Ouyang (2008), eq. 3.20.
#pragma once

#include "eigen.hpp"
#include "math/bordered.hpp"
#include "simd/aligned_buffer.hpp"

namespace bayeskernel {
// An edit of column `column` that is thought made: -1 for none. `factor` is
// that of the rank-one change of Sigma.
struct ColumnEdit {
  Index column = -1;
  double factor = 0.0;
  double change = 0.0;  // of the log marginal likelihood
};

// A further column k.
struct ColumnAddition {
  double change = 0.0;
  double shrunk = 0.0;    // k'(I / phi + K D K')^-1 k / phi
  double residual = 0.0;  // k'(y - K mu)
};

// Work space that any number of regressions of up to `capacity` columns share,
// one at a time.
struct CollapsedScratch {
  explicit CollapsedScratch(Index capacity)
      : row(stride(capacity)),
        root(stride(capacity)),
        pivots(2 * stride(capacity)),
        square(stride(capacity) * stride(capacity)) {}

  // Columns an odd number of cache lines apart fall into different sets.
  static Index stride(Index capacity);

  AlignedBuffer row, root, pivots, square;
};

// A copy has a state of its own and the same work space.
class CollapsedGaussian {
 public:
  CollapsedGaussian(Index capacity, CollapsedScratch& scratch)
      : stride_(CollapsedScratch::stride(capacity)),
        scratch_(&scratch),
        variance_(stride_),
        dots_(stride_),
        mean_(stride_),
        gram_(stride_ * stride_),
        covariance_(stride_ * stride_) {}

  Index size() const { return m_; }
  Index stride() const { return stride_; }
  double precision() const { return phi_; }
  double log_marginal() const { return log_marginal_; }
  double variance(Index i) const { return variance_[i]; }
  double posterior_variance(Index i) const { return covariance(i)[i]; }
  const double* mean() const { return mean_.data(); }
  const double* dots() const { return dots_.data(); }
  const double* gram() const { return gram_.data(); }
  const double* covariance(Index i) const {
    return covariance_.data() + i * stride_;
  }

  // Whole products, for new columns or a new y: m columns, G with columns
  // stride() apart. rebuild() must follow.
  double* set_gram(Index m);
  double* set_dots() { return dots_.data(); }
  void swap_gram(AlignedBuffer& gram) { gram_.swap(gram); }
  void swap_dots(AlignedBuffer& dots) { dots_.swap(dots); }
  void set_response(Index rows, double square);
  void set_precision(double phi) { phi_ = phi; }
  void set_variance(Index i, double v) { variance_[i] = v; }

  // What was evaluated last is where G, K'y, v and phi are now, Sigma and mu
  // unknown until rebuild(): log_marginal_*(), draw() and residual_square() do
  // without.
  void take_evaluated() { log_marginal_ = evaluated_; }

  // Sigma, mu and the log marginal likelihood from G, K'y, v and phi.
  // m^3 / 2 multiply-adds.
  void rebuild();

  // mu and the log marginal likelihood for another y. m^2.
  void replace_response(const double* dots, double square);

  // y'(I / phi + K D K')^-1 y. O(m), given mu.
  double quadratic_form() const;

  // The log marginal likelihood for another phi, or for other columns of the
  // same variances. m^3 / 6 multiply-adds.
  double log_marginal_at(double phi) {
    return evaluate(gram_, dots_, phi, phi);
  }
  double log_marginal_at(const AlignedBuffer& gram, const AlignedBuffer& dots) {
    return evaluate(gram, dots, phi_, phi_);
  }

  // The same for the variances of `count` columns from `first` times `factor`.
  // m^3 / 6.
  double log_marginal_scaled(double factor, Index first, Index count) {
    return evaluate_scaled(gram_, dots_, phi_, factor, first, count);
  }
  // The same for other columns, another phi and the variances of those from
  // `first` on times `factor`.
  double log_marginal_at(const AlignedBuffer& gram, const AlignedBuffer& dots,
                         double phi, double factor, Index first) {
    return evaluate_scaled(gram, dots, phi, factor, first, m_ - first);
  }

  // ---- Changes of the log marginal likelihood ------------------------------

  ColumnEdit rescale(Index i, double v, const ColumnEdit& after = {}) const;

  ColumnEdit remove(Index i) const;

  // A column k of variance v: `dots` = K'k, own = k'k, response = k'y.
  // commit_add() relies on what this leaves in the work space.
  ColumnAddition add(const double* dots, double own, double response, double v,
                     const ColumnEdit& after = {});

  // ---- The same changes made: m^2 -------------------------------------------

  void commit_rescale(const ColumnEdit& edit, double v);

  // The last column takes the place of the removed one.
  void commit_remove(const ColumnEdit& edit);

  // What add() said, with nothing between them that uses the work space.
  void commit_add(const double* dots, double own, double response, double v,
                  const ColumnAddition& addition);

  // One more row, its values k in the columns and its response: the log of its
  // predictive density. m^2.
  double add_row(const double* k, double y);

  // Whether rounding may have grown: many edits since the last rebuild, or one
  // where phi D G is so large that an edit multiplies errors.
  bool stale() const;

  // b ~ N(mu, Sigma) from standard normals: b = mu + D^1/2 L'^-1 z by a fresh
  // factor, m^3 / 6 + m^2 / 2 multiply-adds.
  template <class Normal>
  void draw(Normal&& normal, double* b) {
    fill_bordered(gram_, dots_, phi_);
    refuse_failure(eliminate_forward(work(), stride_, m_, 1.0));
    for (Index k = m_ - 1; k >= 0; --k) {
      const double* column = work() + k * stride_;
      double sum = std::sqrt(phi_) * column[m_];
      for (Index i = k + 1; i < m_; ++i) sum -= column[i] * b[i];
      b[k] = sum / column[k] + normal() / std::sqrt(column[k]);
    }
    for (Index k = 0; k < m_; ++k) b[k] *= work_root()[k];
  }

  // |y - K b|^2, from the products alone. m^2.
  double residual_square(const double* b) const;

 private:
  double* work_row() const { return scratch_->row.data(); }
  double* work_root() const { return scratch_->root.data(); }
  double* work() const { return scratch_->square.data(); }

  static constexpr int kMostEdits = 100;
  static constexpr double kSafeEntry = 1e6;

  double largest_entry() const;

  // What a further column adds is a small difference where it is almost a sum
  // of those that are there: it drowns in the rounding of Sigma, whose large
  // part is v and whose part that counts is 1 / (phi G).
  bool loses_addition(double entry, double t) const {
    constexpr double kUnit = 1e-16, kTolerance = 1e-6;
    return !(entry * std::max(entry, largest_entry()) * kUnit < kTolerance * t);
  }

  // The addition from a factor of all columns with the further one in the end:
  // m^3 / 6. What add() left in `row` stays.
  void add_by_factor(const double* dots, double own, double response, double v,
                     const ColumnEdit& after, ColumnAddition& out);

  double variance_after(Index j, const ColumnEdit& edit) const;

  double mean_after(Index j, const ColumnEdit& edit) const;

  // work = [I + phi D^1/2 G D^1/2, .; phi^1/2 (D^1/2 K'y)', y'y], the lower
  // triangle.
  void fill_bordered(const AlignedBuffer& gram, const AlignedBuffer& dots,
                     double phi);

  // log p(y) from the eliminated matrix.
  double marginal(double log_det, double phi) const;

  // Variances and precision enter the matrix by their product `both`.
  double evaluate(const AlignedBuffer& gram, const AlignedBuffer& dots,
                  double both, double phi);

  double evaluate_scaled(const AlignedBuffer& gram, const AlignedBuffer& dots,
                         double phi, double factor, Index first, Index count);

  void refuse_failure(double log_det) const;

  void project(const double* dots);

  void rank_one(Index c, double factor);

  void move_last(AlignedBuffer& square, Index i);

  void done(double change);

  Index stride_;
  CollapsedScratch* scratch_;
  Index m_ = 0;
  Index rows_ = 0;
  double square_ = 0.0;  // y'y
  double phi_ = 1.0;
  double log_marginal_ = 0.0, evaluated_ = 0.0;
  int edits_ = 0;
  bool broken_ = false;
  AlignedBuffer variance_, dots_, mean_, gram_, covariance_;
};
}  // namespace bayeskernel
