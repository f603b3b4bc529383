// Rows in a file, as R names them.
#pragma once

#include "glue_process_rows.h"
#include "glue_row_file.h"
#include "rows/sort_rows.hpp"
#include "rows/streamed_rows.hpp"

namespace bayeskernel {
// `stream`: path, rows and columns of a file by append_rows_cpp(); source (0
// for the intercept, else a column of the file), center and scale of every
// model column; the label that is positive, or -1 where labels are the numbers
// of a Gaussian response; of rows in groups, these sorted, `group_sizes`, and
// z_source, z_center and z_scale of the columns of their effects. With terms
// gp() see ProcessInput.
struct StreamInput {
  StreamInput(const Rcpp::List& stream, int threads)
      : reader(read_rows_of(stream)),
        executor(threads),
        rows(*reader, read_columns(stream, ""), read<int>(stream, "positive"),
             executor.threads() > 1, width(stream), read_groups(stream)) {}

  std::unique_ptr<ChunkReader> reader;
  RcppParallelExecutor executor;
  StreamedRows rows;

 private:
  static StreamColumns read_columns(const Rcpp::List& stream,
                                    const std::string& prefix) {
    StreamColumns out;
    const Rcpp::IntegerVector source = stream[prefix + "source"];
    for (const int k : source) out.source.push_back(k - 1);
    out.center = map_vector(stream[prefix + "center"]);
    out.scale = map_vector(stream[prefix + "scale"]);
    return out;
  }

  static StreamGroups read_groups(const Rcpp::List& stream) {
    StreamGroups out;
    const SEXP sizes = element(stream, "group_sizes");
    if (Rf_isNull(sizes)) return out;
    const Rcpp::IntegerVector rows(sizes);
    out.begin = group_begins({rows.begin(), rows.end()});
    out.z = read_columns(stream, "z_");
    return out;
  }

  // As of rows in memory.
  static Index width(const Rcpp::List& stream) {
    const Index own = ProcessInput::width(stream);
    if (own == 0 || Rf_isNull(element(stream, "z_source"))) return own;
    return own + Rf_xlength(stream["z_source"]);
  }
};
}  // namespace bayeskernel
