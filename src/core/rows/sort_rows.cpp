#include "rows/sort_rows.hpp"

#include "error.hpp"

namespace bayeskernel {
std::vector<Index> group_begins(const std::vector<Index>& sizes) {
  std::vector<Index> out(1, 0);
  for (const Index size : sizes) out.push_back(out.back() + size);
  return out;
}

void RowSort::run(ChunkReader& rows,
                  const Eigen::Ref<const Eigen::VectorXi>& group, Index groups,
                  const std::string& to) {
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
  file_.open(to,
             std::ios::binary | std::ios::in | std::ios::out | std::ios::trunc);
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

void RowSort::put(const double* row, Index place) {
  Bucket& bucket = buckets_[place / in_bucket_];
  place_[bucket.end++] = place;
  bucket.buffer.insert(bucket.buffer.end(), row, row + width_);
  if (bucket.buffer.size() >= kBuffer) flush(bucket);
}

void RowSort::flush(Bucket& bucket) {
  const Index size = count_of(bucket.buffer);
  write(bucket.end * width_ - size, bucket.buffer.data(), size);
  bucket.buffer.clear();
}

void RowSort::settle(Index begin, Index n) {
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

void RowSort::write(Index at, const double* from, Index size) {
  file_.seekp(offset(at));
  file_.write(reinterpret_cast<const char*>(from), bytes(size));
  check();
}

std::streamoff RowSort::offset(Index numbers) {
  return static_cast<std::streamoff>(numbers) *
         static_cast<std::streamoff>(sizeof(double));
}

void RowSort::check() const {
  if (!file_) {
    throw Error(
        "the rows cannot be sorted by group in a temporary file: is the disk "
        "full?");
  }
}
}  // namespace bayeskernel
