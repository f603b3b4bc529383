// Rows in a file, as R names them.
#ifndef BAYESKERNEL_GLUE_STREAM_H
#define BAYESKERNEL_GLUE_STREAM_H

#include <bayeskernel/data/streamed_rows.hpp>

#include "glue_process_rows.h"

// `stream`: path, rows and columns of a file by append_rows_cpp(); source (0
// for the intercept, else a column of the file), center and scale of every
// model column; the label that is positive, or -1 where labels are the numbers
// of a Gaussian response. With terms gp() see ProcessInput.
struct StreamInput {
  StreamInput(const Rcpp::List& stream, int threads)
      : file(Rcpp::as<std::string>(stream["path"]),
             static_cast<Index>(Rcpp::as<double>(stream["rows"])),
             Rcpp::as<int>(stream["columns"])),
        executor(threads),
        rows(file, read_columns(stream), Rcpp::as<int>(stream["positive"]),
             executor.threads() > 1, ProcessInput::width(stream)) {}

  bayeskernel::RowFile file;
  RcppParallelExecutor executor;
  bayeskernel::StreamedRows rows;

 private:
  static bayeskernel::StreamColumns read_columns(const Rcpp::List& stream) {
    bayeskernel::StreamColumns out;
    const Rcpp::IntegerVector source = stream["source"];
    for (const int k : source) out.source.push_back(k - 1);
    out.center = map_vector(stream["center"]);
    out.scale = map_vector(stream["scale"]);
    return out;
  }
};

#endif
