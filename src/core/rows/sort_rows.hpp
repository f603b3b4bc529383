// A file of rows in another order, for rows that do not fit in memory: rows go
// to buckets, each of which is a part of the new file, and are put in their
// places there. The file is read and written twice; in memory are a place for
// every row, a buffer for each bucket, and then one bucket.
#ifndef BAYESKERNEL_ROWS_SORT_ROWS_HPP
#define BAYESKERNEL_ROWS_SORT_ROWS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "error.hpp"
#include "rows/streamed_rows.hpp"

namespace bayeskernel {

// Where the groups begin, from the number of rows of each.
inline std::vector<Index> group_begins(const std::vector<Index>& sizes) {
  std::vector<Index> out(1, 0);
  for (const Index size : sizes) out.push_back(out.back() + size);
  return out;
}

class RowSort {
 public:
  // Numbers of a bucket, at least; there are at most 256 buckets.
  explicit RowSort(Index bucket = Index{1} << 23) : bucket_(bucket) {}

  // Writes the rows of a reader to the file `to`, the rows of group 0 first and
  // those of a group as they came; `group` holds a number from 0 for each row.
  void run(ChunkReader& rows, const Eigen::Ref<const Eigen::VectorXi>& group,
           Index groups, const std::string& to) {
    const Index n = rows.rows();
    width_ = rows.columns() + 1;
    in_bucket_ = std::max<Index>({1, bucket_ / width_, (n + 255) / 256});
    std::vector<Index> next(groups + 1, 0);
    for (Index i = 0; i < n; ++i) {
      if (group[i] < 0 || group[i] >= groups) {
        throw ArgumentError("a row of no group");
      }
      ++next[group[i] + 1];
    }
    for (Index g = 0; g < groups; ++g) next[g + 1] += next[g];
    file_.open(to, std::ios::binary | std::ios::in | std::ios::out |
                       std::ios::trunc);
    place_.resize(n);
    buckets_.resize((n + in_bucket_ - 1) / in_bucket_);
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      buckets_[b].end = static_cast<Index>(b) * in_bucket_;
      buckets_[b].buffer.clear();
    }
    MatrixXd strip;
    for (Index begin = 0; begin < n; begin += kStrip) {
      strip.resize(width_, std::min(kStrip, n - begin));
      rows.read(begin, strip);
      for (Index i = 0; i < strip.cols(); ++i) {
        put(strip.data() + i * width_, next[group[begin + i]]++);
      }
    }
    for (Bucket& bucket : buckets_) flush(bucket);
    for (Index begin = 0; begin < n; begin += in_bucket_) {
      settle(begin, std::min(in_bucket_, n - begin));
    }
    file_.close();
    check();
  }

 private:
  static constexpr Index kStrip = 2048;
  static constexpr std::size_t kBuffer = std::size_t{1} << 15;  // numbers

  struct Bucket {
    Index end = 0;  // of its rows, buffered ones with them
    std::vector<double> buffer;
  };

  // A row whose place is `place` waits in its bucket.
  void put(const double* row, Index place) {
    Bucket& bucket = buckets_[place / in_bucket_];
    place_[bucket.end++] = place;
    bucket.buffer.insert(bucket.buffer.end(), row, row + width_);
    if (bucket.buffer.size() >= kBuffer) flush(bucket);
  }

  void flush(Bucket& bucket) {
    const Index size = static_cast<Index>(bucket.buffer.size());
    write(bucket.end * width_ - size, bucket.buffer.data(), size);
    bucket.buffer.clear();
  }

  // The rows of a bucket from the order in which they came to their places.
  void settle(Index begin, Index n) {
    came_.resize(width_, n);
    placed_.resize(width_, n);
    file_.seekg(offset(begin * width_));
    file_.read(reinterpret_cast<char*>(came_.data()), bytes(came_.size()));
    check();
    for (Index i = 0; i < n; ++i) {
      placed_.col(place_[begin + i] - begin) = came_.col(i);
    }
    write(begin * width_, placed_.data(), placed_.size());
  }

  void write(Index at, const double* from, Index size) {
    file_.seekp(offset(at));
    file_.write(reinterpret_cast<const char*>(from), bytes(size));
    check();
  }

  static std::streamoff offset(Index numbers) {
    return static_cast<std::streamoff>(numbers) *
           static_cast<std::streamoff>(sizeof(double));
  }
  static std::streamsize bytes(Index numbers) {
    return static_cast<std::streamsize>(offset(numbers));
  }

  void check() const {
    if (!file_) {
      throw Error(
          "the rows cannot be sorted by group in a temporary file: is the disk "
          "full?");
    }
  }

  Index bucket_, width_ = 0, in_bucket_ = 1;
  std::fstream file_;
  std::vector<Index> place_;
  std::vector<Bucket> buckets_;
  MatrixXd came_, placed_;
};

}  // namespace bayeskernel

#endif
