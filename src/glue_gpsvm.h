// R's lists to the core's structures, for every export of gpsvm().
#pragma once

#include "glue_kernel.h"
#include "glue_row_file.h"
#include "glue_settings.h"
#include "gp/features.hpp"
#include "gp/tune.hpp"
#include "linear/mean_field.hpp"
#include "rows/memory_readers.hpp"

namespace bayeskernel {
// Rows of a fit or of a prediction: `type` "matrix" (x), "sparse" (begin,
// column, value: compressed by rows; columns) or "file" (see read_rows_of());
// labels: codes 0, 1, ... or empty; weights or empty; source (1-based columns
// of the data), center, scale of the columns of the model. R's memory is used
// where it is: the list must outlive this.
struct GpsvmRows {
  explicit GpsvmRows(const Rcpp::List& data)
      : weights(map_vector(data["weights"])) {
    const std::string type = read<std::string>(data, "type");
    const auto labels = map_vector(data["labels"]);
    if (type == "matrix") {
      reader = std::make_unique<MatrixReader>(map_matrix(data["x"]), labels);
    } else if (type == "sparse") {
      reader = std::make_unique<SparseReader>(
          map_integers(data["begin"]), map_integers(data["column"]),
          map_vector(data["value"]), read<int>(data, "columns"), labels);
    } else {
      reader = read_rows_of(data);
    }
    const Rcpp::IntegerVector source = data["source"];
    for (const int k : source) {
      if (k < 1 || k > reader->columns()) {
        throw ArgumentError("the data have fewer columns");
      }
      columns.source.push_back(k - 1);
    }
    columns.center = map_vector(data["center"]);
    columns.scale = map_vector(data["scale"]);
    const Index count = source.size();
    if (columns.center.size() != count || columns.scale.size() != count ||
        (weights.size() > 0 && weights.size() != reader->rows())) {
      throw ArgumentError("columns or weights are damaged");
    }
  }

  // In chunks of `width` columns; y = +1 for the label `positive`.
  std::unique_ptr<StreamedRows> stream(int positive, int threads, Index width) {
    auto out = std::make_unique<StreamedRows>(*reader, columns, positive,
                                              threads > 1, width);
    if (weights.size() > 0) out->set_weights(weights);
    return out;
  }

  std::unique_ptr<ChunkReader> reader;
  StreamColumns columns;
  VectorMap weights;
};

// `inducing`: d x m on the scale of the model; for a precomputed kernel what
// Features::given() takes.
inline Features read_features(const Rcpp::List& kernel,
                              const Rcpp::NumericMatrix& inducing,
                              double nugget) {
  if (read<std::string>(kernel, "kind") == "precomputed") {
    return Features::given(map_matrix(inducing), nugget);
  }
  return Features(read_kernel(kernel), map_matrix(inducing), nugget);
}

// Threads pay off only above about this much work in a pass.
inline int feature_threads(Index rows, Index columns, int threads) {
  const double work =
      static_cast<double>(rows) * static_cast<double>(columns * columns);
  return work < 2e6 ? 1 : threads;
}

// Rows of the data as features, and the threads that compute them; y = +1 for
// the label `positive`. R's data are held so that they stay.
struct FeatureData {
  FeatureData(const Rcpp::List& data, const Rcpp::List& kernel,
              const Rcpp::NumericMatrix& inducing, double nugget, int positive,
              int threads)
      : data(data),
        raw(data),
        features(read_features(kernel, inducing, nugget)),
        executor(
            feature_threads(raw.reader->rows(), features.columns(), threads)),
        base(raw.stream(positive, executor.threads(), features.columns())),
        rows(*base, features, executor) {
    if (read<std::string>(kernel, "kind") != "precomputed" &&
        inducing.nrow() != static_cast<int>(raw.columns.source.size())) {
      throw ArgumentError("inducing points of other columns");
    }
  }

  Rcpp::List data;
  GpsvmRows raw;
  Features features;
  RcppParallelExecutor executor;
  std::unique_ptr<StreamedRows> base;
  FeatureRows rows;
};

inline std::vector<int> read_classes(const Rcpp::List& settings) {
  return read<std::vector<int>>(settings, "classes");
}
}  // namespace bayeskernel
