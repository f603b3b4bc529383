// Minibatches of a row source in the order of an epoch. Counter-based numbers:
// the order depends on the seed and the data alone.
#ifndef BAYESKERNEL_LINEAR_MINIBATCHES_HPP
#define BAYESKERNEL_LINEAR_MINIBATCHES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "eigen.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {

struct StochasticSettings {
  enum class Rate {
    robbins_monro,  // (t + 1)^-0.7
    adaptive        // Ranganath et al. (2013), no slower than the other
  };
  Index batch_rows = 1024;
  int epochs = 1;  // at most
  std::uint64_t seed = 0;
  Rate rate = Rate::robbins_monro;
  // Relative change of the bound, averaged over max(50, an epoch) minibatches,
  // at which the steps end; 0: after `epochs`.
  double tolerance = 0.0;
};

// Chunks come in random order, inside a chunk rows in random order, or whole
// groups. The rows of a minibatch are copied together.
class Minibatches {
 public:
  Minibatches(const RowSource& rows, const StochasticSettings& settings)
      : rows_(rows), settings_(settings), grouped_(rows.groups() > 0) {}

  const PackedRows& rows() const { return batch_; }
  // The groups of the minibatch, as the source numbers them.
  const std::vector<Index>& groups() const { return groups_; }

  Index steps_of_chunk(Index chunk) const;
  Index steps_of_epoch() const;

  // visit() for every minibatch of an epoch, until it says no.
  template <class Visit>
  bool epoch(int number, Visit&& visit) {
    std::vector<Index> chunks(rows_.chunks());
    std::iota(chunks.begin(), chunks.end(), Index{0});
    shuffle(number, 0, chunks);
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      const bool last = c + 1 == chunks.size();
      const Index after_last = chunks.size() > 1 ? 0 : -1;  // full passes
      rows_.load(chunks[c], last ? after_last : chunks[c + 1]);
      if (!chunk(number, chunks[c], visit)) return false;
    }
    return true;
  }

 private:
  template <class Visit>
  bool chunk(int number, Index chunk, Visit&& visit) {
    const TileSpan span = rows_.chunk_span(chunk);
    const Tile all = rows_.tile(span, buffer_);
    const Index first = grouped_ ? span.group_begin : span.row_begin;
    const Index last = grouped_ ? span.group_end : span.row_end;
    units_.resize(last - first);
    std::iota(units_.begin(), units_.end(), first);
    shuffle(number, chunk + 1, units_);
    const Index steps = steps_of_chunk(chunk);
    const Index n = span.row_end - span.row_begin;
    Index done = 0;
    std::size_t at = 0;
    for (Index step = 0; step < steps && at < units_.size(); ++step) {
      members_.clear();
      groups_.clear();
      begin_.assign(1, 0);
      // All of one size but the last, so that buffers stay.
      const Index target = step + 1 == steps ? n : (n / steps) * (step + 1);
      for (; at < units_.size() && done < target; ++at) {
        done += add(units_[at], span.row_begin);
      }
      if (members_.empty()) continue;
      gather(all);
      if (!visit()) return false;
    }
    return true;
  }

  // Notes the rows of a unit, counted from the first of the chunk.
  Index add(Index unit, Index chunk_first);

  void gather(const Tile& all);

  void shuffle(int number, Index stream_of, std::vector<Index>& items) const;

  const RowSource& rows_;
  StochasticSettings settings_;
  bool grouped_;
  PackedRows batch_;
  MatrixXd buffer_;
  std::vector<Index> units_, members_, groups_, begin_;
};

}  // namespace bayeskernel

#endif
