// Predictions from many draws at many rows: parts of the rows one after
// another, blocks of draws side by side.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {
constexpr Index kDrawBlock = 64, kRowPart = 2048;

inline Index draw_blocks(Index draws) {
  return (draws + kDrawBlock - 1) / kDrawBlock;
}

// Looks for an interrupt, which leaves by PassInterrupted; called before every
// draw, since a block of them may take long.
using Look = std::function<void()>;

// make_rows(first row, rows) is what make_predictor() gets for each block;
// use(block, draw, first row, rows, predictor); done(first row, rows).
template <class MakeRows, class MakePredictor, class Use, class Done>
void for_draw_blocks(Index draws, Index rows, Executor& executor,
                     const Look& look, MakeRows&& make_rows,
                     MakePredictor&& make_predictor, Use&& use, Done&& done) {
  for (Index first = 0; first < rows; first += kRowPart) {
    const Index size = std::min(kRowPart, rows - first);
    const auto part = make_rows(first, size);
    executor.run(draw_blocks(draws), [&](Index block) {
      auto predictor = make_predictor(part);
      const Index end = std::min(draws, (block + 1) * kDrawBlock);
      for (Index d = block * kDrawBlock; d < end; ++d) {
        look();
        use(block, d, first, size, predictor);
      }
    });
    done(first, size);
  }
}

// Sums over the draws of each block, which add up in the order of the blocks.
class BlockSums {
 public:
  BlockSums(Index draws, Index columns)
      : draws_(draws), columns_(columns), sums_(draw_blocks(draws)) {}

  // Rows x columns.
  MatrixXd& of(Index block, Index rows) {
    MatrixXd& sum = sums_[block];
    if (sum.size() == 0) sum.setZero(rows, columns_);
    return sum;
  }
  // Over all draws; the sums are 0 afterwards.
  ArrayXXd take_mean(Index rows) {
    ArrayXXd total = ArrayXXd::Zero(rows, columns_);
    for (MatrixXd& sum : sums_) {
      total += sum.array();
      sum.resize(0, 0);
    }
    return total / static_cast<double>(draws_);
  }

 private:
  Index draws_, columns_;
  std::vector<MatrixXd> sums_;
};
}  // namespace bayeskernel
