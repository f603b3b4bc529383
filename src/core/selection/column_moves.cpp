#include "selection/column_moves.hpp"

#include "linear/latent_values.hpp"

namespace bayeskernel {
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
  equal_ = (weight_.array() == 1.0).all();
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

LineTerms ColumnMoves::at(Index k, double t) {
  const RowSource& rows = sweep_.rows;
  sweep_.executor.run(rows.blocks(), [&](Index block) {
    const Index begin = rows.tiles()[rows.block_begin(block)].row_begin;
    const Index end = rows.tiles()[rows.block_begin(block + 1) - 1].row_end;
    terms_[block] =
        line_terms(family_,
                   {end - begin, gap_.data() + begin, weight_.data() + begin,
                    slope_.data() + begin, equal_},
                   t);
  });
  LineTerms out;
  for (const LineTerms& own : terms_) {
    out.value += own.value;
    out.slope += own.slope;
  }
  if (intercept_ < 0) return out;
  const double away = level_ - median_[k] * t - prior_.mean[intercept_];
  const double pull = prior_.precision[intercept_] * away;
  out.value -= 0.5 * pull * away;
  out.slope += pull * median_[k];
  return out;
}

void ColumnMoves::begin_hull(Index k, const LineTerms& zero, double log_prior,
                             double rate) {
  hull_.clear();
  hull_.add({0.0, log_prior, zero.slope + rate});
  hull_.add({0.0, log_prior, zero.slope - rate});
  const double side = zero.slope > 0.0 ? 1.0 : -1.0;
  double slope = side * zero.slope - rate;
  for (double t = side / rate; slope >= 0.0 && std::isfinite(t); t *= 2.0) {
    const LineTerms there = at(k, t);
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
  const LineTerms zero = at(k, 0.0);
  begin_hull(k, zero, log_prior, rate);
  for (int step = 0; step < kMost; ++step) {
    const double probability = 1.0 / (1.0 + std::exp(-hull_.log_mass()));
    if (single && !(stream.uniform() < probability)) {
      return state.in[k] = 0.0;
    }
    const double pick = stream.uniform();
    const double t = hull_.draw(pick, stream.uniform());
    const LineTerms there = at(k, t);
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
