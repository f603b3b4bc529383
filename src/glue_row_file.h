// Where rows in a file are.
#pragma once

#include <string>

#include "glue_common.h"
#include "rows/absent_rows.hpp"

namespace bayeskernel {
// The file of rows that R's list names, or, where the workers of a cluster have
// them (`shares`), their sizes alone.
inline std::unique_ptr<ChunkReader> read_rows_of(const Rcpp::List& data) {
  const auto rows = read<Index>(data, "rows");
  const int columns = read<int>(data, "columns");
  if (!Rf_isNull(element(data, "shares"))) {
    return std::make_unique<AbsentRows>(rows, columns);
  }
  return std::make_unique<RowFile>(read<std::string>(data, "path"), rows,
                                   columns);
}
}  // namespace bayeskernel
