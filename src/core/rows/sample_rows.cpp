#include "rows/sample_rows.hpp"

#include "rng/distributions.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
std::vector<Index> sample_numbers(Index n, Index size, std::uint64_t seed) {
  size = std::min(size, n);
  Stream stream(seed, 0, Purpose::resample, 0, 0);
  std::vector<Index> out;
  for (Index k = 0; k < size; ++k) {
    const Index begin = k * n / size, end = (k + 1) * n / size;
    out.push_back(begin + uniform_index(stream, end - begin));
  }
  return out;
}

RowSample sample_rows(ChunkReader& reader, const StreamColumns& columns,
                      Index size, std::uint64_t seed) {
  const std::vector<Index> numbers = sample_numbers(reader.rows(), size, seed);
  size = count_of(numbers);
  const Index p = count_of(columns.source);
  RowSample out{MatrixXd(p, size), VectorXd(size), VectorXd(size)};
  MatrixXd row(reader.columns() + 1, 1);
  for (Index k = 0; k < size; ++k) {
    const Index i = numbers[static_cast<std::size_t>(k)];
    reader.read(i, row);
    for (Index j = 0; j < p; ++j) {
      out.x(j, k) =
          (row(columns.source[j], 0) - columns.center[j]) / columns.scale[j];
    }
    out.labels[k] = row(row.rows() - 1, 0);
    out.number[k] = static_cast<double>(i);
  }
  return out;
}
}  // namespace bayeskernel
