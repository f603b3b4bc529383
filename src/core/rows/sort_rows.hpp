// A file of rows in another order, for rows that do not fit in memory: rows go
// to buckets, each of which is a part of the new file, and are put in their
// places there. The file is read and written twice; in memory are a place for
// every row, a buffer for each bucket, and then one bucket.
#pragma once

#include <fstream>
#include <ios>
#include <string>

#include "eigen.hpp"
#include "rows/streamed_rows.hpp"

namespace bayeskernel {
// Where the groups begin, from the number of rows of each.
std::vector<Index> group_begins(const std::vector<Index>& sizes);

class RowSort {
 public:
  // Numbers of a bucket, at least; there are at most 256 buckets.
  explicit RowSort(Index bucket = Index{1} << 23) : bucket_(bucket) {}

  // Writes the rows of a reader to the file `to`, the rows of group 0 first and
  // those of a group as they came; `group` holds a number from 0 for each row.
  void run(ChunkReader& rows, const Eigen::Ref<const Eigen::VectorXi>& group,
           Index groups, const std::string& to);

 private:
  static constexpr Index kStrip = 2048;
  static constexpr std::size_t kBuffer = std::size_t{1} << 15;  // numbers

  struct Bucket {
    Index end = 0;  // of its rows, buffered ones with them
    std::vector<double> buffer;
  };

  // A row whose place is `place` waits in its bucket.
  void put(const double* row, Index place);

  void flush(Bucket& bucket);

  // The rows of a bucket from the order in which they came to their places.
  void settle(Index begin, Index n);

  void write(Index at, const double* from, Index size);

  static std::streamoff offset(Index numbers);
  static std::streamsize bytes(Index numbers) {
    return static_cast<std::streamsize>(offset(numbers));
  }

  void check() const;

  Index bucket_, width_ = 0, in_bucket_ = 1;
  std::fstream file_;
  std::vector<Index> place_;
  std::vector<Bucket> buckets_;
  MatrixXd came_, placed_;
};
}  // namespace bayeskernel
