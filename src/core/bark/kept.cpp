#include "bark/kept.hpp"

#include "error.hpp"

namespace bayeskernel {
DrawPredictor::DrawPredictor(const BarkData& train, const BarkData& rows,
                             Index most)
    : DrawPredictor(train, rows, train.fixed(), most + train.fixed()) {
  if (rows.fixed() != train.fixed() || rows.blocks() != train.blocks()) {
    throw ArgumentError("new rows have other blocks");
  }
}

void DrawPredictor::predict(const KeptDraw& draw, const VectorXd& lambda) {
  predict_mean(draw, lambda);
  place(train_basis_, draw, lambda);
  const Index m = train_basis_.size();
  column_gram(train_basis_.values(), stride_, m, gaussian_.set_gram(m),
              gaussian_.stride());
  std::fill_n(gaussian_.set_dots(), m, 0.0);
  gaussian_.set_response(0, 0.0);
  gaussian_.set_precision(draw.phi);
  Index column = 0;
  for (Index b = 0; b < rows_.blocks(); ++b) {
    for (Index j = 0; j < rows_.block_size(b); ++j) {
      gaussian_.set_variance(column++, draw.block_variance[b]);
    }
  }
  for (Index j = 0; j < draw.size; ++j) {
    gaussian_.set_variance(fixed_ + j, draw.variance[j]);
  }
  gaussian_.rebuild();
  project(m);
  block_variance_ = draw.block_variance;
}

void DrawPredictor::predict_mean(const KeptDraw& draw, const VectorXd& lambda) {
  place(basis_, draw, lambda);
  for (Index j = 0; j < fixed_; ++j) coefficients_[j] = -draw.block_mean[j];
  for (Index j = 0; j < draw.size; ++j) {
    coefficients_[fixed_ + j] = -draw.mean[j];
  }
  std::fill_n(mean_.data(), rows_.stride(), 0.0);
  subtract_columns(basis_.values(), rows_.stride(), basis_.size(),
                   coefficients_.data(), mean_.data());
}

double DrawPredictor::variance(Index i) const {
  double out = std::max(padded_dot(row_.data() + i * used_,
                                   projected_.data() + i * used_, used_),
                        0.0);
  // Effects that no column has are those of their prior.
  for (Index b = 0; b < rows_.blocks(); ++b) {
    if (rows_.unseen(i, b)) out += block_variance_[b];
  }
  return out;
}

void DrawPredictor::place(Basis& basis, const KeptDraw& draw,
                          const VectorXd& lambda) {
  basis.clear();
  for (Index j = 0; j < draw.size; ++j) {
    basis.try_location(draw.location[j], lambda);
    basis.append();
  }
}

void DrawPredictor::project(Index m) {
  used_ = padded_size(m);
  const Index n = rows_.rows();
  for (Index i = 0; i < n; ++i) {
    double* row = row_.data() + i * used_;
    for (Index j = 0; j < m; ++j) row[j] = basis_.column(j)[i];
    std::fill(row + m, row + used_, 0.0);
  }
  symmetric_rows(gaussian_.covariance(0), gaussian_.stride(), m, row_.data(),
                 used_, n, projected_.data());
}
}  // namespace bayeskernel
