// Minibatches of a row source in the order of an epoch. Counter-based numbers:
// the order depends on the seed and the data alone.
#pragma once

#include <numeric>

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

// Which minibatch: the step of a chunk, by its number among all chunks.
struct BatchPlace {
  int epoch = -1;
  Index chunk = -1, step = -1;
};

// Chunks come in random order, inside a chunk rows in random order, or whole
// groups. The rows of a minibatch are copied together.
class Minibatches {
 public:
  // `absent`: chunks that others have, so many rows in each; a minibatch is
  // then its place and size alone.
  Minibatches(const RowSource& rows, const StochasticSettings& settings,
              std::vector<Index> absent = {})
      : rows_(rows),
        settings_(settings),
        grouped_(rows.groups() > 0),
        absent_(std::move(absent)) {}

  const PackedRows& rows() const { return batch_; }
  Index size() const { return size_; }
  const BatchPlace& place() const { return place_; }
  // The groups of the minibatch, as the source numbers them.
  const std::vector<Index>& groups() const { return groups_; }

  Index steps_of_epoch() const;

  // The minibatch at a place of which others know; its chunk is the one with
  // this number here.
  void seek(const BatchPlace& place, Index chunk);

  // visit() for every minibatch of an epoch, until it says no.
  template <class Visit>
  bool epoch(int number, Visit&& visit) {
    std::vector<Index> chunks(this->chunks());
    std::iota(chunks.begin(), chunks.end(), Index{0});
    shuffle(number, 0, chunks);
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      const bool last = c + 1 == chunks.size();
      const Index after_last = chunks.size() > 1 ? 0 : -1;  // full passes
      open({number, chunks[c]}, chunks[c], last ? after_last : chunks[c + 1]);
      while (next()) {
        if (!visit()) return false;
      }
    }
    return true;
  }

 private:
  Index chunks() const;
  Index rows_of_chunk(Index chunk) const;
  Index steps_of_chunk(Index chunk) const;

  // Begins with a chunk; `then` is loaded after it.
  void open(const BatchPlace& place, Index chunk, Index then);
  // The next minibatch of the chunk; false: there is none.
  bool next();

  // Notes the rows of a unit, counted from the first of the chunk.
  Index add(Index unit, Index chunk_first);

  void gather(const Tile& all);

  void shuffle(int number, Index stream_of, std::vector<Index>& items) const;

  const RowSource& rows_;
  StochasticSettings settings_;
  bool grouped_;
  std::vector<Index> absent_;
  BatchPlace place_;
  // Of the chunk: its rows, steps, and what came of it so far.
  Index first_ = 0, count_ = 0, steps_ = 0, done_ = 0;
  std::size_t at_ = 0;
  std::optional<Tile> tile_;
  Index size_ = 0;
  PackedRows batch_;
  MatrixXd buffer_;
  std::vector<Index> units_, members_, groups_, begin_;
};
}  // namespace bayeskernel
