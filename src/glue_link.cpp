#include <cinttypes>
#include <cstdio>

#include "glue_common.h"
#include "predict/calibrated_link.hpp"
#include "rows/digest.hpp"

using namespace bayeskernel;

// The calibrated link from moments of rows that are without the row, n x
// machines; y, numbers of classes from 0.
// [[Rcpp::export(rng = false)]]
Rcpp::List calibrated_link_cpp(const Rcpp::NumericMatrix& mean,
                               const Rcpp::NumericMatrix& variance,
                               const Rcpp::IntegerVector& y,
                               const Rcpp::NumericVector& weights, bool quick) {
  return guarded([&] {
    const Index n = mean.nrow();
    if (variance.nrow() != n || y.size() != n || weights.size() != n ||
        variance.ncol() != mean.ncol()) {
      throw ArgumentError("moments of other rows");
    }
    CalibratedLinkFit fit(map_matrix(mean), map_matrix(variance),
                          Eigen::Map<const Eigen::VectorXi>(y.begin(), n),
                          map_vector(weights));
    const CalibratedLink link = fit.run(quick);
    return r_list({{"intercept", link.intercept},
                   {"slope", link.slope},
                   {"center", link.centre},
                   {"offset", link.offset},
                   {"value", fit.value()},
                   {"by_variance", fit.by_variance()},
                   {"by_excess", fit.by_excess()}});
  });
}

// Sixteen hexadecimal digits of a vector of numbers or of text.
// [[Rcpp::export(rng = false)]]
Rcpp::RObject digest_cpp(const Rcpp::RObject& x) {
  return guarded([&]() -> Rcpp::RObject {
    Digest digest;
    const R_xlen_t n = Rf_xlength(x);
    switch (TYPEOF(x)) {
      case REALSXP:
        for (R_xlen_t i = 0; i < n; ++i) digest.add(REAL(x)[i]);
        break;
      case INTSXP:
      case LGLSXP: {
        const int* values = TYPEOF(x) == INTSXP ? INTEGER(x) : LOGICAL(x);
        for (R_xlen_t i = 0; i < n; ++i) {
          digest.add(values[i] == NA_INTEGER ? NA_REAL : values[i]);
        }
        break;
      }
      case STRSXP:
        for (R_xlen_t i = 0; i < n; ++i) {
          const SEXP text = STRING_ELT(x, i);
          if (text == NA_STRING) {
            digest.add(NA_REAL);
          } else {
            digest.add(CHAR(text), static_cast<std::size_t>(LENGTH(text)));
          }
        }
        break;
      default:
        throw ArgumentError("neither numbers nor text");
    }
    char out[17];
    std::snprintf(out, sizeof(out), "%016" PRIx64, digest.value());
    return Rcpp::CharacterVector::create(out);
  });
}
