#include "klr/basis.hpp"

#include "simd/column_products.hpp"

namespace bayeskernel {
LowRankData::LowRankData(const MatrixRef& rows)
    : n_(rows.rows()),
      p_(rows.cols()),
      stride_(padded_size(rows.rows())),
      predictors_(stride_ * rows.cols()) {
  for (Index l = 0; l < p_; ++l) {
    for (Index i = 0; i < n_; ++i) predictors_[l * stride_ + i] = rows(i, l);
  }
}

void LowRankData::project(const double* u, double* out) const {
  std::fill_n(out, stride_, 0.0);
  for (Index l = 0; l < p_; ++l) {
    padded_add(u[l], predictors_.data() + l * stride_, out, stride_);
  }
}

ProjectedBasis::ProjectedBasis(const LowRankData& data, Index rank,
                               Index capacity)
    : data_(data),
      rank_(rank),
      frame_(MatrixXd::Identity(data.variables(), rank)),
      new_frame_(frame_),
      projected_(data.stride() * rank),
      new_projected_(projected_),
      values_(data.stride() * (capacity + 2)),
      new_values_(values_),
      sum_(data.stride()),
      centre_(static_cast<std::size_t>(capacity + 2)),
      log_lambda_(MatrixXd::Zero(rank, capacity + 2)),
      new_log_lambda_(log_lambda_),
      terms_(static_cast<std::size_t>(rank)) {
  std::fill_n(values_.data(), data.rows(), 1.0);
  std::fill_n(new_values_.data(), data.rows(), 1.0);
  set_frame(frame_);
}

void ProjectedBasis::try_from(Index j) {
  centre_[m_] = centre_[j];
  log_lambda_.col(m_) = log_lambda_.col(j);
}

const double* ProjectedBasis::try_column() {
  fill(projected_, log_lambda_, m_, values_);
  return column(m_);
}

void ProjectedBasis::propose_frame() {
  for (Index l = 0; l < rank_; ++l) {
    double* to = new_projected_.data() + l * stride();
    if (new_frame_.col(l) == frame_.col(l)) {
      std::copy_n(projected_.data() + l * stride(), stride(), to);
    } else {
      data_.project(new_frame_.col(l).data(), to);
    }
  }
  for (Index j = 1; j < m_; ++j) {
    fill(new_projected_, log_lambda_, j, new_values_);
  }
}

void ProjectedBasis::accept_frame() {
  frame_.swap(new_frame_);
  projected_.swap(new_projected_);
  values_.swap(new_values_);
}

void ProjectedBasis::propose_shift(double shift) {
  new_log_lambda_.leftCols(m_) = log_lambda_.leftCols(m_).array() + shift;
  for (Index j = 1; j < m_; ++j) {
    fill(projected_, new_log_lambda_, j, new_values_);
  }
}

void ProjectedBasis::accept_shift() {
  log_lambda_.swap(new_log_lambda_);
  values_.swap(new_values_);
}

void ProjectedBasis::set_frame(const MatrixXd& frame) {
  frame_ = frame;
  for (Index l = 0; l < rank_; ++l) {
    data_.project(frame_.col(l).data(), projected_.data() + l * stride());
  }
  for (Index j = 1; j < m_; ++j) fill(projected_, log_lambda_, j, values_);
}

void ProjectedBasis::fill(const AlignedBuffer& projected,
                          const MatrixXd& log_lambda, Index j,
                          AlignedBuffer& values) {
  for (Index l = 0; l < rank_; ++l) {
    const double* coordinate = projected.data() + l * stride();
    terms_[l] = {coordinate, weight(log_lambda(l, j)), coordinate[centre_[j]]};
  }
  detail::kernel_column(terms_.data(), rank_, 0.0, sum_.data(), sum_.data(),
                        values.data() + j * stride(), data_.rows(), stride());
}

void ProjectedBasis::copy(Index from, Index to) {
  centre_[to] = centre_[from];
  log_lambda_.col(to) = log_lambda_.col(from);
  std::copy_n(column(from), stride(), values_.data() + to * stride());
}
}  // namespace bayeskernel
