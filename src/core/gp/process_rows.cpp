#include "gp/process_rows.hpp"

#include "error.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
ProcessRows::ProcessRows(const RowSource& base, std::vector<Index> plain,
                         std::vector<Term> terms, Executor& executor)
    : base_(base),
      plain_(std::move(plain)),
      terms_(std::move(terms)),
      executor_(executor),
      columns_(count_of(plain_)) {
  for (const Term& term : terms_) columns_ += term.features.columns();
  std::vector<bool> taken(columns_, false);
  for (const Term& term : terms_) check(term, taken);
  for (Index k = 0; k < columns_; ++k) {
    if (!taken[k]) place_.push_back(k);
  }
  partition_as(base);
  measure();
}

void ProcessRows::set_centre(std::size_t term, const VectorXd& centre) {
  if (term >= terms_.size() || centre.size() != terms_[term].centre.size()) {
    throw ArgumentError("a centre of another process");
  }
  terms_[term].centre = centre;
}

Tile ProcessRows::tile(const TileSpan& span, MatrixXd& buffer) const {
  const Index n = span.rows();
  if (buffer.size() < columns_ * n) {
    buffer.resize(columns_, std::max(n, kTileRows));
  }
  double* out = buffer.data();
  auto loan = pool_.borrow();
  Scratch& own = *loan;
  const Tile raw = base_.tile(span, own.base);
  const Index parts = (n + kTileRows - 1) / kTileRows;
  const auto part = [&](Index t, Scratch& with) {
    const Index first = t * kTileRows;
    columns(raw, first, std::min(kTileRows, n - first), with,
            out + first * columns_);
  };
  if (n > kBlockRows) {
    executor_.run(parts, [&](Index t) {
      auto other = pool_.borrow();
      part(t, *other);
    });
  } else {
    for (Index t = 0; t < parts; ++t) part(t, own);
  }
  return Tile{
      MatrixMap(out, columns_, n),
      raw.z,
      raw.y,
      raw.weight,
      raw.offset,
      VectorMap(residual_.data() + (residual_.size() > 0 ? span.row_begin : 0),
                residual_.size() > 0 ? n : 0)};
}

void ProcessRows::check(const Term& term, std::vector<bool>& taken) const {
  const auto column = [&](Index k) { return k >= 0 && k < base_.x_columns(); };
  const Index m = term.features.columns();
  bool whole = term.first >= 0 && term.first + m <= columns_ &&
               count_of(term.variables) == term.features.dimension() &&
               (term.by == -1 || column(term.by));
  for (const Index k : term.variables) whole = whole && column(k);
  for (Index k = 0; whole && k < m; ++k) {
    whole = !taken[term.first + k];
    taken[term.first + k] = true;
  }
  for (const Index k : plain_) whole = whole && column(k);
  if (!whole) throw ArgumentError("a process of other columns");
}

void ProcessRows::evaluate(const Term& term, const Tile& raw, Index first,
                           Index n, Scratch& own) const {
  const Index d = term.features.dimension(), m = term.features.columns();
  own.x.resize(d, n);
  own.phi.resize(m, n);
  own.open.resize(n);
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < d; ++k) {
      own.x(k, i) = raw.x(term.variables[k], first + i);
    }
  }
  term.features.block(own.x.data(), n, own.features, own.phi.data(),
                      own.open.data());
}

void ProcessRows::columns(const Tile& raw, Index first, Index n, Scratch& own,
                          double* to) const {
  Eigen::Map<MatrixXd> out(to, columns_, n);
  for (Index i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < plain_.size(); ++k) {
      out(place_[k], i) = raw.x(plain_[k], first + i);
    }
  }
  for (const Term& term : terms_) {
    evaluate(term, raw, first, n, own);
    const Index m = term.features.columns();
    for (Index i = 0; i < n; ++i) {
      out.col(i).segment(term.first, m) =
          multiple(term, raw, first + i) * (own.phi.col(i) - term.centre);
    }
  }
}

void ProcessRows::measure() {
  const std::size_t count = terms_.size();
  relative_.resize(base_.rows(), static_cast<Index>(count));
  struct Sums {
    std::vector<VectorXd> phi;
    VectorXd weight, open;
  };
  const auto clear = [&](Sums& sums) {
    sums.phi.resize(count);
    for (std::size_t c = 0; c < count; ++c) {
      sums.phi[c].setZero(terms_[c].features.columns());
    }
    sums.weight.setZero(static_cast<Index>(count));
    sums.open.setZero(static_cast<Index>(count));
  };
  Sums all;
  clear(all);
  const Sweep sweep{base_, executor_, nullptr};
  std::vector<Sums> slots(sweep.slots(0, base_.chunks(), columns_));
  sweep.run(
      0, base_.chunks(),
      [&](Index block, Index slot) {
        auto own = pool_.borrow();
        Sums& sums = slots[slot];
        clear(sums);
        for (const TileSpan& span : base_.block_tiles(block)) {
          add_tile(span, *own, sums);
        }
      },
      [&](Index used) {
        for (Index s = 0; s < used; ++s) {
          for (std::size_t c = 0; c < count; ++c) {
            all.phi[c] += slots[s].phi[c];
          }
          all.weight += slots[s].weight;
          all.open += slots[s].open;
        }
      },
      count_of(slots));
  for (std::size_t c = 0; c < count; ++c) {
    Term& term = terms_[c];
    const double weight = all.weight[static_cast<Index>(c)];
    term.left = all.open[static_cast<Index>(c)] /
                static_cast<double>(std::max<Index>(base_.rows(), 1));
    term.centre.setZero(term.features.columns());
    if (term.centred && weight > 0.0) term.centre = all.phi[c] / weight;
  }
}
}  // namespace bayeskernel
