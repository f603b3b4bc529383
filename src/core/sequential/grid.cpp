#include "sequential/grid.hpp"

#include "error.hpp"

namespace bayeskernel {
Grid::Grid(Kernel kernel, Index d, CandidateSettings settings)
    : kernel_(std::move(kernel)), d_(d), settings_(std::move(settings)) {
  const Index given = settings_.fixed.cols();
  reserve_points(std::max<Index>(given, 16));
  if (given > 0) {
    points_.leftCols(given) = settings_.fixed;
    for (; points_count_ < given; ++points_count_) meet(points_count_);
    freeze();
    if (given <= kSmallGrid) keep_rest();
  }
}

const double* Grid::point(Index j) const { return points_.col(j).data(); }

DoubleDouble Grid::exact_product(Index a, Index b) const {
  if (a < b) std::swap(a, b);
  return {gram_(a, b), gram_rest_(a, b)};
}

bool Grid::can_be_exact() const {
  return exact_.load(std::memory_order_acquire) || rows_ == 0 ||
         values_.rows() >= rows_;
}

bool Grid::ask_exact() const {
  if (exact_.load(std::memory_order_acquire)) return true;
  if (!can_be_exact()) return false;
  const std::lock_guard<std::mutex> lock(asking_);
  if (!exact_.load(std::memory_order_relaxed)) keep_rest();
  return true;
}

const double* Grid::values(Index j) const { return values_.col(j).data(); }

bool Grid::offer(const double* x) {
  const VectorMap at(x, d_);
  if (frozen_) {
    row_[0] = 1.0;
    frozen_->block(x, 1, scratch_, row_.data() + 1);
    if (keeps()) {
      reserve_rows(rows_ + 1);
      x_.col(rows_) = at;
    }
    return false;
  }
  reserve_rows(rows_ + 1);
  reserve_points(points_count_ + 1);
  along_.resize(rows_);
  if (rows_ > 0) {
    KernelColumns(kernel_, x_.leftCols(rows_))
        .block(x, 1, scratch_, along_.data());
  }
  x_.col(rows_) = at;
  row_[0] = 1.0;
  for (Index j = 0; j < points_count_; ++j) {
    row_[j + 1] = along_[point_row_[j]];
  }
  if (settings_.unique && known(at)) return false;
  add_point(at);
  return true;
}

void Grid::absorb(double y) {
  const Index m = points_count_ + 1;
  if (exact_) {
    for (Index j = 0; j < m; ++j) {
      for (Index i = j; i < m; ++i) {
        add_product(row_[i], row_[j], gram_(i, j), gram_rest_(i, j));
      }
      add_product(row_[j], y, dots_[j], dots_rest_[j]);
    }
    add_product(y, y, square_, square_rest_);
  } else {
    gram_.topLeftCorner(m, m).selfadjointView<Eigen::Lower>().rankUpdate(
        row_.head(m));
    dots_.head(m) += y * row_.head(m);
    square_ += y * y;
  }
  next_row(y);
}

GridState Grid::state() const {
  GridState out;
  const Index m = points_count_ + 1;
  out.rows = rows_;
  out.points = points_.leftCols(points_count_);
  out.x.resize(d_, 0);
  if (keeps()) {
    out.x = x_.leftCols(rows_);
    out.y = y_.head(rows_);
  }
  out.gram = gram_.topLeftCorner(m, m).triangularView<Eigen::Lower>();
  out.dots = dots_.head(m);
  out.square = square_;
  if (exact_) {
    out.gram_rest = gram_rest_.topLeftCorner(m, m);
    out.dots_rest = dots_rest_.head(m);
    out.square_rest = square_rest_;
  }
  return out;
}

void Grid::restore(const GridState& from) {
  expect(from.rows);
  if (from.x.cols() > 0) {
    products_ = false;
    for (Index t = 0; t < from.rows; ++t) {
      offer(from.x.col(t).data());
      next_row(from.y[t]);
    }
    products_ = true;
  } else if (from.rows > 0) {
    reserve_points(from.points.cols());
    points_.leftCols(from.points.cols()) = from.points;
    if (points_count_ == 0) {
      for (; points_count_ < from.points.cols(); ++points_count_) {
        meet(points_count_);
      }
    }
    rows_ = from.rows;
    if (!frozen_) freeze();
  }
  const Index m = points_count_ + 1;
  if (from.gram.rows() != m || from.dots.size() != m || rows_ != from.rows) {
    throw ArgumentError("the state of the stream is damaged");
  }
  gram_.topLeftCorner(m, m) = from.gram;
  dots_.head(m) = from.dots;
  square_ = from.square;
  exact_ = from.dots_rest.size() == m;
  if (!exact_) return;
  make_room_for_rest();
  gram_rest_.topLeftCorner(m, m) = from.gram_rest;
  dots_rest_.head(m) = from.dots_rest;
  square_rest_ = from.square_rest;
}

void Grid::expect(Index rows) {
  if (keeps()) reserve_rows(rows);
  if (!frozen_) reserve_points(std::min(rows, settings_.most));
}

void Grid::Near::add(Index j, double at) {
  const bool full = count_of(point) == kNeighbors;
  if (full && !(at < distance.back())) return;
  const auto place =
      std::upper_bound(distance.begin(), distance.end(), at) - distance.begin();
  if (full) {
    point.pop_back();
    distance.pop_back();
  }
  point.insert(point.begin() + place, j);
  distance.insert(distance.begin() + place, at);
}

void Grid::meet(Index j) {
  near_.emplace_back();
  for (Index i = 0; i < j; ++i) {
    const double at = (points_.col(i) - points_.col(j)).squaredNorm();
    near_[i].add(j, at);
    near_[j].add(i, at);
  }
}

void Grid::add_product(double a, double b, double& sum, double& rest) {
  const double product = a * b, before = sum;
  sum += product;
  rest += sum_error(before, product, sum) + product_error(a, b, product);
}

double Grid::rest_of(const double* a, const double* b, Index n, double sum) {
  double whole = 0.0, rest = 0.0;
  for (Index s = 0; s < n; ++s) add_product(a[s], b[s], whole, rest);
  return (whole - sum) + rest;
}

void Grid::make_room_for_rest() const {
  gram_rest_.setZero(gram_.rows(), gram_.cols());
  dots_rest_.setZero(dots_.size());
}

void Grid::keep_rest() const {
  make_room_for_rest();
  if (rows_ > 0) {
    const VectorXd one = VectorXd::Ones(rows_);
    const auto column = [&](Index j) {
      return j == 0 ? one.data() : values(j - 1);
    };
    for (Index j = 0; j <= points_count_; ++j) {
      for (Index i = j; i <= points_count_; ++i) {
        gram_rest_(i, j) = rest_of(column(i), column(j), rows_, gram_(i, j));
      }
      dots_rest_[j] = rest_of(column(j), y_.data(), rows_, dots_[j]);
    }
    square_rest_ = rest_of(y_.data(), y_.data(), rows_, square_);
  }
  exact_.store(true, std::memory_order_release);
}

void Grid::next_row(double y) {
  if (keeps()) {
    values_.row(rows_).head(points_count_) =
        row_.segment(1, points_count_).transpose();
    y_[rows_] = y;
  }
  ++rows_;
  if (!frozen_ && points_count_ >= settings_.most) freeze();
}

bool Grid::known(const VectorMap& x) const {
  for (Index j = 0; j < points_count_; ++j) {
    if (points_.col(j) == x) return true;
  }
  return false;
}

void Grid::add_point(const VectorMap& x) {
  const Index j = points_count_, m = j + 1;
  if (products_) {
    const auto past = values_.topLeftCorner(rows_, j);
    gram_(m, 0) = along_.sum();
    gram_.row(m).segment(1, j).noalias() = along_.transpose() * past;
    gram_(m, m) = along_.squaredNorm();
    dots_[m] = along_.dot(y_.head(rows_));
    if (exact_) {
      const VectorXd one = VectorXd::Ones(rows_);
      gram_rest_(m, 0) = rest_of(along_.data(), one.data(), rows_, gram_(m, 0));
      for (Index i = 0; i < j; ++i) {
        gram_rest_(m, i + 1) =
            rest_of(along_.data(), values(i), rows_, gram_(m, i + 1));
      }
      gram_rest_(m, m) =
          rest_of(along_.data(), along_.data(), rows_, gram_(m, m));
      dots_rest_[m] = rest_of(along_.data(), y_.data(), rows_, dots_[m]);
    }
  }
  values_.col(j).head(rows_) = along_;
  points_.col(j) = x;
  meet(j);
  point_row_.push_back(rows_);
  row_[m] = kernel_.at(x.data(), d_);
  ++points_count_;
}

void Grid::freeze() {
  if (rows_ > 0 && points_count_ <= kSmallGrid) ask_exact();
  frozen_ =
      std::make_unique<KernelColumns>(kernel_, points_.leftCols(points_count_));
  if (!settings_.keep_rows) {
    x_.resize(d_, 0);
    y_.resize(0);
    values_.resize(0, 0);
  }
}

void Grid::reserve_points(Index count) {
  if (count <= points_.cols()) return;
  const Index size = std::max(count, 3 * points_.cols() / 2);
  points_.conservativeResize(d_, size);
  grow(gram_, size + 1, size + 1);
  grow(dots_, size + 1);
  if (exact_) {
    grow(gram_rest_, size + 1, size + 1);
    grow(dots_rest_, size + 1);
  }
  grow(row_, size + 1);
  grow(values_, values_.rows(), size);
}

void Grid::reserve_rows(Index count) {
  if (count <= y_.size()) return;
  const Index size = std::max<Index>({count, 3 * y_.size() / 2, 16});
  x_.conservativeResize(d_, size);
  grow(y_, size);
  grow(values_, size, values_.cols());
}

void Grid::grow(MatrixXd& m, Index rows, Index columns) {
  const Index old_rows = m.rows(), old_columns = m.cols();
  m.conservativeResize(rows, columns);
  m.bottomRows(rows - old_rows).setZero();
  m.rightCols(columns - old_columns).setZero();
}

void Grid::grow(VectorXd& v, Index size) {
  const Index old = v.size();
  v.conservativeResize(size);
  v.tail(size - old).setZero();
}
}  // namespace bayeskernel
