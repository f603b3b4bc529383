#include "selection/column_moves.hpp"

#include <algorithm>
#include <cmath>

#include "likelihood/likelihood.hpp"
#include "linear/latent_values.hpp"

namespace bayeskernel {

namespace {

// -sum w max(gap - s t, 0) and its derivative.
void hinge_terms(Index n, const double* gap, const double* w, const double* s,
                 double t, double& value, double& slope) {
  constexpr Index kLanes = 4;
  double loss[kLanes] = {}, rise[kLanes] = {};
  const auto add = [&](Index i, Index lane) {
    const double g = gap[i] - t * s[i], short_by = g > 0.0 ? w[i] : 0.0;
    loss[lane] += short_by * g;
    rise[lane] += short_by * s[i];
  };
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (Index lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (; i < n; ++i) add(i, 0);
  value = -((loss[0] + loss[1]) + (loss[2] + loss[3]));
  slope = (rise[0] + rise[1]) + (rise[2] + rise[3]);
}

void label_terms(Family family, Index n, const double* gap, const double* w,
                 const double* s, double t, double& value, double& slope) {
  constexpr Index kLanes = 8;
  using Lanes = Eigen::Array<double, kLanes, 1>;
  value = slope = 0.0;
  MarginArray<kLanes> terms;
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Eigen::Map<const Lanes> own(s + i), power(w + i);
    margin_terms<kLanes>(family,
                         t * own - Eigen::Map<const Lanes>(gap + i), terms);
    value += (power * terms.value).sum();
    slope += (power * terms.slope * own).sum();
  }
  for (; i < n; ++i) {
    const MarginTerms one = margin_terms(family, t * s[i] - gap[i]);
    value += w[i] * one.value;
    slope += w[i] * one.slope * s[i];
  }
}

}  // namespace

ColumnMoves::ColumnMoves(const PackedRows& rows, const Prior& prior,
                         const Selection& selection, Executor& executor,
                         Family family)
    : sweep_{rows, executor, nullptr},
      prior_(prior),
      selection_(selection),
      family_(family),
      gap_(rows.rows()),
      weight_(rows.rows()),
      slope_(rows.rows()),
      terms_(rows.blocks()),
      units_(selection.units),
      median_(VectorXd::Zero(selection.size())) {
  for (Index k = 0; selection.units.empty() && k < selection.size(); ++k) {
    units_.push_back({k});
  }
  find_intercept(rows);
}

void ColumnMoves::find_intercept(const PackedRows& rows) {
  std::vector<char> other(rows.x_columns(), 0);
  for (const Index column : selection_.columns) other[column] = 1;
  const auto x = rows.x.rightCols(rows.rows());
  for (Index k = 0; k < rows.x_columns() && intercept_ < 0; ++k) {
    const bool fixed = other[k] == 0 && prior_.precision[k] > 0.0;
    if (fixed && (x.row(k).array() == 1.0).all()) intercept_ = k;
  }
  if (intercept_ < 0 || rows.rows() == 0) return;
  std::vector<double> values(rows.rows());
  const auto middle = values.begin() + rows.rows() / 2;
  for (Index k = 0; k < selection_.size(); ++k) {
    VectorXd::Map(values.data(), rows.rows()) = x.row(selection_.columns[k]);
    std::nth_element(values.begin(), middle, values.end());
    if (std::isfinite(*middle)) median_[k] = *middle;
  }
}

void ColumnMoves::run(Stream& stream, ArrowVector& point,
                      SelectionState& state) {
  read_rows(point);
  for (const std::vector<Index>& unit : units_) {
    const bool single = unit.size() == 1;
    if (!single && state.in[unit[0]] == 0.0) continue;
    for (const Index k : unit) {
      const double old = point.x[selection_.columns[k]];
      take_out(k, point);
      put_in(k, draw(stream, k, single, old, state), point);
    }
  }
}

void ColumnMoves::read_rows(const ArrowVector& point) {
  const RowSource& rows = sweep_.rows;
  const double one = family_ == Family::hinge ? 1.0 : 0.0;
  sweep_.run([&](Index block, Index) {
    MatrixXd buffer;
    for (const TileSpan& span : rows.block_tiles(block)) {
      const Tile tile = rows.tile(span, buffer);
      auto gap = gap_.segment(span.row_begin, span.rows()).array();
      latent_values(rows, span, tile, point, gap.data());
      gap = one - tile.y.array() * gap;
      weight_.segment(span.row_begin, span.rows()) = tile.weight;
    }
  });
}

void ColumnMoves::take_out(Index k, ArrowVector& point) {
  const RowSource& rows = sweep_.rows;
  const Index column = selection_.columns[k];
  sweep_.run([&](Index block, Index) {
    MatrixXd buffer;
    for (const TileSpan& span : rows.block_tiles(block)) {
      const Tile tile = rows.tile(span, buffer);
      slope_.segment(span.row_begin, span.rows()) =
          tile.y.array() *
          (tile.x.row(column).transpose().array() - median_[k]);
    }
  });
  put_in(k, -point.x[column], point);
  point.x[column] = 0.0;
  if (intercept_ >= 0) level_ = point.x[intercept_];
}

void ColumnMoves::put_in(Index k, double effect, ArrowVector& point) {
  point.x[selection_.columns[k]] = effect;
  if (effect == 0.0) return;
  gap_ -= effect * slope_;
  if (intercept_ >= 0) point.x[intercept_] -= median_[k] * effect;
}

ColumnMoves::Terms ColumnMoves::at(Index k, double t) {
  const RowSource& rows = sweep_.rows;
  sweep_.executor.run(rows.blocks(), [&](Index block) {
    const Index begin = rows.tiles()[rows.block_begin(block)].row_begin;
    const Index end = rows.tiles()[rows.block_begin(block + 1) - 1].row_end;
    Terms& own = terms_[block];
    const double *gap = gap_.data() + begin, *w = weight_.data() + begin,
                 *s = slope_.data() + begin;
    if (family_ == Family::hinge) {
      hinge_terms(end - begin, gap, w, s, t, own.value, own.slope);
    } else {
      label_terms(family_, end - begin, gap, w, s, t, own.value, own.slope);
    }
  });
  const double unit = family_ == Family::hinge ? 2.0 : 1.0;
  Terms out{0.0, 0.0};
  for (const Terms& own : terms_) {
    out.value += unit * own.value;
    out.slope += unit * own.slope;
  }
  if (intercept_ < 0) return out;
  const double away = level_ - median_[k] * t - prior_.mean[intercept_];
  const double pull = prior_.precision[intercept_] * away;
  out.value -= 0.5 * pull * away;
  out.slope += pull * median_[k];
  return out;
}

void ColumnMoves::begin_hull(Index k, const Terms& zero, double log_prior,
                             double rate) {
  hull_.clear();
  hull_.add({0.0, log_prior, zero.slope + rate});
  hull_.add({0.0, log_prior, zero.slope - rate});
  const double side = zero.slope > 0.0 ? 1.0 : -1.0;
  double slope = side * zero.slope - rate;
  for (double t = side / rate; slope >= 0.0 && std::isfinite(t); t *= 2.0) {
    const Terms there = at(k, t);
    slope = side * there.slope - rate;
    hull_.add({t, log_prior + there.value - zero.value - rate * std::abs(t),
               there.slope - side * rate});
  }
}

double ColumnMoves::draw(Stream& stream, Index k, bool single, double old,
                         SelectionState& state) {
  constexpr int kMost = 200;
  const double rate = std::sqrt(state.precision);
  const double log_prior = state.logit_rho + std::log(0.5 * rate);
  const Terms zero = at(k, 0.0);
  begin_hull(k, zero, log_prior, rate);
  for (int step = 0; step < kMost; ++step) {
    const double probability = 1.0 / (1.0 + std::exp(-hull_.log_mass()));
    if (single && !(stream.uniform() < probability)) {
      return state.in[k] = 0.0;
    }
    const double pick = stream.uniform();
    const double t = hull_.draw(pick, stream.uniform());
    const Terms there = at(k, t);
    const double value =
        log_prior + there.value - zero.value - rate * std::abs(t);
    if (std::log(stream.uniform()) <= value - hull_.log_density(t)) {
      state.in[k] = 1.0;
      return t;
    }
    hull_.add({t, value, there.slope - (t > 0.0 ? rate : -rate)});
  }
  return old;
}

}  // namespace bayeskernel
