// Where rows in a file are.
#ifndef BAYESKERNEL_GLUE_ROW_FILE_H
#define BAYESKERNEL_GLUE_ROW_FILE_H

#include <memory>
#include <string>

#include "glue_common.h"
#include "rows/absent_rows.hpp"

// The file of rows that R's list names, or, where the workers of a cluster have
// them (`shares`), their sizes alone.
inline std::unique_ptr<bayeskernel::ChunkReader> read_rows_of(
    const Rcpp::List& data) {
  const auto rows = read<Eigen::Index>(data, "rows");
  const int columns = read<int>(data, "columns");
  if (!Rf_isNull(element(data, "shares"))) {
    return std::make_unique<bayeskernel::AbsentRows>(rows, columns);
  }
  return std::make_unique<bayeskernel::RowFile>(read<std::string>(data, "path"),
                                                rows, columns);
}

#endif
