#include "linear/minibatches.hpp"

#include "error.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
Index Minibatches::chunks() const {
  return absent_.empty() ? rows_.chunks() : count_of(absent_);
}

Index Minibatches::rows_of_chunk(Index chunk) const {
  return absent_.empty() ? rows_.chunk_span(chunk).rows() : absent_[chunk];
}

Index Minibatches::steps_of_chunk(Index chunk) const {
  const double n = static_cast<double>(rows_of_chunk(chunk));
  return std::max<Index>(
      1, std::llround(n / static_cast<double>(settings_.batch_rows)));
}

Index Minibatches::steps_of_epoch() const {
  Index sum = 0;
  for (Index c = 0; c < chunks(); ++c) sum += steps_of_chunk(c);
  return sum;
}

void Minibatches::seek(const BatchPlace& place, Index chunk) {
  if (place.epoch != place_.epoch || place.chunk != place_.chunk ||
      place.step <= place_.step) {
    if (chunk < 0 || chunk >= chunks()) {
      throw ArgumentError("a minibatch of other rows");
    }
    open({place.epoch, place.chunk}, chunk, -1);
  }
  while (place_.step < place.step) {
    if (!next()) throw ArgumentError("a minibatch of other rows");
  }
}

void Minibatches::open(const BatchPlace& place, Index chunk, Index then) {
  place_ = place;
  count_ = rows_of_chunk(chunk);
  steps_ = steps_of_chunk(chunk);
  done_ = 0;
  at_ = 0;
  if (!absent_.empty()) return;
  rows_.load(chunk, then);
  const TileSpan span = rows_.chunk_span(chunk);
  tile_.emplace(rows_.tile(span, buffer_));
  first_ = span.row_begin;
  const Index first = grouped_ ? span.group_begin : span.row_begin;
  const Index last = grouped_ ? span.group_end : span.row_end;
  units_.resize(last - first);
  std::iota(units_.begin(), units_.end(), first);
  shuffle(place.epoch, place.chunk + 1, units_);
}

bool Minibatches::next() {
  while (++place_.step < steps_) {
    // All of one size but the last, so that buffers stay.
    const Index target = place_.step + 1 == steps_
                             ? count_
                             : (count_ / steps_) * (place_.step + 1);
    if (!absent_.empty()) {
      size_ = target - done_;
      done_ = target;
      return true;
    }
    members_.clear();
    groups_.clear();
    begin_.assign(1, 0);
    for (; at_ < units_.size() && done_ < target; ++at_) {
      done_ += add(units_[at_], first_);
    }
    // Large groups make fewer steps than were planned.
    if (members_.empty()) continue;
    gather(*tile_);
    size_ = count_of(members_);
    return true;
  }
  return false;
}

Index Minibatches::add(Index unit, Index chunk_first) {
  if (!grouped_) {
    members_.push_back(unit - chunk_first);
    return 1;
  }
  const Index begin = rows_.group_begin(unit);
  const Index end = rows_.group_begin(unit + 1);
  for (Index i = begin; i < end; ++i) members_.push_back(i - chunk_first);
  groups_.push_back(unit);
  begin_.push_back(count_of(members_));
  return end - begin;
}

void Minibatches::shuffle(int number, Index stream_of,
                          std::vector<Index>& items) const {
  Stream stream(settings_.seed, 0, Purpose::minibatch,
                static_cast<std::uint64_t>(number),
                static_cast<std::uint64_t>(stream_of));
  for (std::size_t k = items.size(); k > 1; --k) {
    const Index pick = uniform_index(stream, static_cast<Index>(k));
    std::swap(items[k - 1], items[pick]);
  }
}

void Minibatches::gather(const Tile& all) {
  const Index n = count_of(members_);
  batch_.x.resize(all.x.rows(), n);
  batch_.z.resize(all.z.rows(), n);
  batch_.y.resize(n);
  batch_.weight.resize(n);
  batch_.offset.resize(n);
  batch_.residual.resize(all.residual.size() > 0 ? n : 0);
  for (Index i = 0; i < n; ++i) {
    const Index from = members_[i];
    std::copy_n(all.x.data() + from * all.x.rows(), all.x.rows(),
                batch_.x.data() + i * all.x.rows());
    if (all.z.rows() > 0) batch_.z.col(i) = all.z.col(from);
    batch_.y[i] = all.y[from];
    batch_.weight[i] = all.weight[from];
    batch_.offset[i] = all.offset[from];
    if (batch_.residual.size() > 0) batch_.residual[i] = all.residual[from];
  }
  // At most 8 blocks, each of which has sums of its own.
  constexpr Index tile = RowSource::kTileRows;
  const Index tiles = std::max<Index>(1, (n + 8 * tile - 1) / (8 * tile));
  batch_.finish(grouped_ ? begin_ : std::vector<Index>(), tiles * tile);
}
}  // namespace bayeskernel
