// R's lists to the core's structures, for every export of mkprobit().
#pragma once

#include "glue_kernel.h"
#include "glue_settings.h"
#include "glue_state.h"
#include "multinomial/mean_field.hpp"
#include "multinomial/predict.hpp"

namespace bayeskernel {
// A space: `kind` "kernel" (kernel, x, z), "category" (x, z) or "matrix" (k);
// points are columns, z NULL where it is x.
inline Source read_source(const Rcpp::List& from) {
  const std::string kind = read<std::string>(from, "kind");
  if (kind == "matrix") return Source::given(map_matrix(from["k"]));
  const auto x = map_matrix(from["x"]);
  const bool own = !from.containsElementNamed("z") || Rf_isNull(from["z"]);
  const auto z = own ? x : map_matrix(from["z"]);
  if (kind == "category") return Source::of_codes(x, z);
  return Source::of_kernel(read_kernel(from["kernel"]), x, z);
}

// `data` outlives it.
inline Composite read_composite(const Rcpp::List& sources,
                                const std::string& combine, bool bias) {
  std::vector<Source> spaces;
  for (const Rcpp::List source : sources) spaces.push_back(read_source(source));
  return Composite(
      std::move(spaces),
      combine == "product" ? Combination::product : Combination::sum, bias);
}

// Numbers of classes from 1 become numbers from 0.
inline std::vector<Index> read_classes(const Rcpp::IntegerVector& y, Index rows,
                                       int classes) {
  if (y.size() != rows) {
    throw ArgumentError("not a class for each object");
  }
  std::vector<Index> out;
  for (const int t : y) {
    if (t < 1 || t > classes) {
      throw ArgumentError("a class is out of range");
    }
    out.push_back(t - 1);
  }
  return out;
}

inline VectorXd read_weights(const Rcpp::List& settings, Index sources) {
  const VectorXd out = map_vector(settings["weights"]);
  if (out.size() != sources || !out.allFinite() || (out.array() < 0.0).any()) {
    throw ArgumentError("weights are not one for each space");
  }
  return out;
}

// Of every object, or none.
inline VectorXd read_power(const Rcpp::List& settings) {
  if (!settings.containsElementNamed("power")) return VectorXd();
  return Rf_isNull(settings["power"]) ? VectorXd()
                                      : VectorXd(map_vector(settings["power"]));
}

inline LatentScales read_scales(const Rcpp::List& settings) {
  const std::string scales = read<std::string>(settings, "latent_scales");
  return scales == "class"    ? LatentScales::by_class
         : scales == "shared" ? LatentScales::shared
                              : LatentScales::fixed;
}
}  // namespace bayeskernel
