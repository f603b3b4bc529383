#include "selection/active_tableau.hpp"

#include "math/cholesky.hpp"

namespace bayeskernel {
ActiveTableau::ActiveTableau(const MatrixXd& x)
    : x_(x), squares_x_(x.cwiseAbs2()), place_(x.rows(), -1) {}

double ActiveTableau::build(const VectorRef& w, const VectorXd& shift,
                            const VectorXd& lambda,
                            std::vector<Index> members) {
  w_ = w;
  shift_ = shift;
  lambda_ = lambda;
  squares_.noalias() = squares_x_ * w;
  for (const Index k : members_) place_[k] = -1;
  members_ = std::move(members);
  const Index q = size();
  grow(q);
  for (Index j = 0; j < q; ++j) {
    place_[members_[j]] = j;
    set_row(j, members_[j]);
  }
  if (q == 0) return 0.0;
  const double jitter = factor();
  inverse_.topLeftCorner(q, q) = llt_.solve(MatrixXd::Identity(q, q));
  mean_.head(q) = llt_.solve(member_shift());
  return jitter;
}

double ActiveTableau::log_ratio(Index k) {
  const Index q = size();
  if (in(k)) {
    const Index j = place_[k];
    const double variance = std::max(inverse_(j, j), 1e-300);
    return 0.5 * (std::log(variance) + mean_[j] * mean_[j] / variance);
  }
  const auto c = cross_.col(k).head(q);
  work_ = inverse_.topLeftCorner(q, q) * c;
  pivot_ = std::max(squares_[k] + lambda_[k] - c.dot(work_), lambda_[k]);
  gap_ = shift_[k] - c.dot(mean_.head(q));
  return 0.5 * (gap_ * gap_ / pivot_ - std::log(pivot_));
}

void ActiveTableau::sweep(Index k) {
  if (in(k)) {
    leave(k);
  } else {
    enter(k);
  }
}

void ActiveTableau::grow(Index q) {
  if (q <= inverse_.rows()) return;
  const Index room = q + 8 + q / 2;
  cross_.conservativeResize(room, x_.rows());
  inverse_.conservativeResize(room, room);
  mean_.conservativeResize(room);
}

void ActiveTableau::set_row(Index j, Index k) {
  cross_.row(j).noalias() =
      (x_ * w_.cwiseProduct(x_.row(k).transpose())).transpose();
}

VectorXd ActiveTableau::member_shift() const {
  VectorXd out(size());
  for (Index j = 0; j < size(); ++j) out[j] = shift_[members_[j]];
  return out;
}

double ActiveTableau::factor() {
  const Index q = size();
  MatrixXd p(q, q);
  for (Index j = 0; j < q; ++j) {
    p.col(j) = cross_.col(members_[j]).head(q);
    p(j, j) += lambda_[members_[j]];
  }
  return jittered_cholesky(p, llt_);
}

void ActiveTableau::enter(Index k) {
  const Index q = size();
  grow(q + 1);
  inverse_.topLeftCorner(q, q).noalias() +=
      work_ * (work_ / pivot_).transpose();
  inverse_.col(q).head(q) = -work_ / pivot_;
  inverse_.row(q).head(q) = -work_.transpose() / pivot_;
  inverse_(q, q) = 1.0 / pivot_;
  mean_.head(q) -= work_ * (gap_ / pivot_);
  mean_[q] = gap_ / pivot_;
  members_.push_back(k);
  place_[k] = q;
  set_row(q, k);
}

void ActiveTableau::leave(Index k) {
  const Index q = size(), j = place_[k];
  work_ = inverse_.col(j).head(q);
  const double variance = work_[j];
  inverse_.topLeftCorner(q, q).noalias() -=
      work_ * (work_ / variance).transpose();
  mean_.head(q) -= work_ * (mean_[j] / variance);
  const Index last = q - 1;
  if (j != last) {
    inverse_.col(j).head(q) = inverse_.col(last).head(q).eval();
    inverse_.row(j).head(q) = inverse_.row(last).head(q).eval();
    mean_[j] = mean_[last];
    cross_.row(j) = cross_.row(last);
    members_[j] = members_[last];
    place_[members_[j]] = j;
  }
  members_.pop_back();
  place_[k] = -1;
}
}  // namespace bayeskernel
