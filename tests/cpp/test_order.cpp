// Orders of rows, one of several by weight, sums over blocks of draws.
#include "check.hpp"
#include "error.hpp"
#include "expansion/draw_blocks.hpp"
#include "math/spd.hpp"
#include "rng/categorical.hpp"
#include "rng/stream.hpp"
#include "rows/order.hpp"

using namespace bayeskernel;

TEST("rows of a group follow each other in their order") {
  const std::vector<int> group{3, 1, 3, 2, 1, 3};
  const GroupOrder found = group_order(group.data(), 6, 4);
  CHECK(found.order == std::vector<Index>({1, 4, 3, 0, 2, 5}));
  CHECK(found.begin == std::vector<Index>({0, 2, 3, 6, 6}));
  const GroupOrder none = group_order(nullptr, 3, 0);
  CHECK(none.order == std::vector<Index>({0, 1, 2}));
  CHECK(none.begin.empty());

  const VectorXd rows = VectorXd::LinSpaced(6, 10.0, 15.0);
  const VectorXd at = by_position(rows, found.order);
  CHECK(at[0] == 11.0 && at[3] == 10.0);
  CHECK(by_row(at, found.order) == rows);
  CHECK_THROWS(by_position(rows.head(5), found.order), ArgumentError);
}

TEST("one of several comes as often as its weight says") {
  const std::vector<double> weight{0.5, 0.0, 2.0, 1.5};
  const auto of = [&](Index k) { return weight[k]; };
  CHECK(categorical(0.4, 4, of) == 0);
  CHECK(categorical(0.6, 4, of) == 2);
  CHECK(categorical(3.9, 4, of) == 3);
  CHECK(categorical(4.1, 4, of) == 3);  // what rounding leaves
  CHECK(categorical(0.9, 1, of) == 0);
  Stream stream(3, 0, Purpose::predict, 0, 0);
  std::vector<double> count(4, 0.0);
  constexpr int kDraws = 20000;
  for (int d = 0; d < kDraws; ++d) {
    count[categorical(4.0 * stream.uniform(), 4, of)] += 1.0 / kDraws;
  }
  for (Index k = 0; k < 4; ++k) CHECK_NEAR(count[k], weight[k] / 4.0, 0.02);
}

TEST(
    "draws in blocks are all seen once, and their means are those of one sum") {
  constexpr Index kDraws = 150, kRows = 2050;
  SerialExecutor serial;
  BlockSums sums(kDraws, 1);
  VectorXd mean(kRows);
  Index looks = 0;
  for_draw_blocks(
      kDraws, kRows, serial, [&] { ++looks; },
      [](Index first, Index) { return first; },
      [](Index first) { return first; },
      [&](Index block, Index d, Index first, Index size, Index part) {
        CHECK(part == first && d / kDrawBlock == block);
        for (Index i = 0; i < size; ++i) {
          sums.of(block, size)(i, 0) += static_cast<double>(d * (first + i));
        }
      },
      [&](Index first, Index size) {
        mean.segment(first, size) = sums.take_mean(size).col(0);
      });
  CHECK(looks == 2 * kDraws);
  for (Index i = 0; i < kRows; ++i) {
    CHECK_NEAR(mean[i], 74.5 * static_cast<double>(i), 1e-6);
  }
}

TEST("an inverse is one, and a matrix that has none is an error") {
  MatrixXd a(2, 2);
  a << 2.0, 0.5, 0.5, 1.0;
  CHECK((a * spd_inverse(a, "a") - MatrixXd::Identity(2, 2)).norm() < 1e-15);
  a(0, 0) = 0.1;
  CHECK_THROWS(spd_inverse(a, "a"), NumericError);
}
