// Lists of numbers that came from outside, such as the state of a chain in a
// fit read from a file: every element is of the length and in the range that
// the core relies on, or an ArgumentError says which one is not.
#pragma once

#include "glue_common.h"

namespace bayeskernel {
class CheckedList {
 public:
  static constexpr double kLargest = std::numeric_limits<double>::max();
  static constexpr Index kAnyLength = -1;

  // `what`: how messages name the list.
  CheckedList(SEXP from, const char* what) : from_(from), what_(what) {
    if (TYPEOF(from) != VECSXP) refuse("it", "no list");
  }

  // A number for each of `length`, finite and in range.
  std::vector<double> numbers(const char* name, Index length = kAnyLength,
                              double least = -kLargest,
                              double most = kLargest) const {
    SEXP x = element(name);
    const double* values = check(name, x, length, least, most);
    return std::vector<double>(values, values + XLENGTH(x));
  }
  double number(const char* name, double least = -kLargest,
                double most = kLargest) const {
    return numbers(name, 1, least, most)[0];
  }
  // Whole numbers.
  std::vector<Index> indices(const char* name, Index length, double least,
                             double most) const {
    std::vector<Index> out;
    for (const double value : numbers(name, length, least, most)) {
      if (value != std::floor(value)) refuse(name, "not whole");
      out.push_back(static_cast<Index>(value));
    }
    return out;
  }
  Index index(const char* name, double least, double most) const {
    return indices(name, 1, least, most)[0];
  }
  // A view of R's memory.
  VectorMap vector(const char* name, Index length) const {
    const double* values =
        check(name, element(name), length, -kLargest, kLargest);
    return VectorMap(values, length);
  }
  MatrixMap matrix(const char* name, Index rows, Index columns) const {
    return matrix(name, element(name), rows, columns);
  }
  // Of the shapes of `like`, in their order.
  void matrices(const char* name, std::vector<MatrixXd>& like) const {
    SEXP list = element(name);
    const R_xlen_t count = static_cast<R_xlen_t>(like.size());
    if (TYPEOF(list) != VECSXP || Rf_xlength(list) != count) {
      refuse(name, "not of the right length");
    }
    for (R_xlen_t k = 0; k < count; ++k) {
      like[k] = MatrixXd(
          matrix(name, VECTOR_ELT(list, k), like[k].rows(), like[k].cols()));
    }
  }

  SEXP element(const char* name) const {
    const R_xlen_t k = place(name);
    if (k < 0) refuse(name, "missing");
    return VECTOR_ELT(from_, k);
  }

  bool has(const char* name) const { return place(name) >= 0; }

  // -1 where it is missing.
  R_xlen_t place(const char* name) const {
    SEXP names = Rf_getAttrib(from_, R_NamesSymbol);
    for (R_xlen_t k = 0; k < Rf_xlength(names); ++k) {
      if (std::string(CHAR(STRING_ELT(names, k))) == name) return k;
    }
    return -1;
  }

  [[noreturn]] void refuse(const std::string& name, const char* why) const {
    throw ArgumentError(std::string(what_) + " is damaged: " + name + " is " +
                        why);
  }

 private:
  MatrixMap matrix(const char* name, SEXP x, Index rows, Index columns) const {
    const double* values = check(name, x, rows * columns, -kLargest, kLargest);
    if (!Rf_isMatrix(x) || Rf_nrows(x) != rows) {
      refuse(name, "not of the right size");
    }
    return MatrixMap(values, rows, columns);
  }

  const double* check(const char* name, SEXP x, Index length, double least,
                      double most) const {
    if (TYPEOF(x) != REALSXP) refuse(name, "not of numbers");
    if (length != kAnyLength && XLENGTH(x) != length) {
      refuse(name, "not of the right length");
    }
    const double* values = REAL(x);
    for (R_xlen_t i = 0; i < XLENGTH(x); ++i) {
      if (!(values[i] >= least && values[i] <= most)) {
        refuse(name, "out of range");
      }
    }
    return values;
  }

  Rcpp::RObject from_;
  const char* what_;
};
}  // namespace bayeskernel
