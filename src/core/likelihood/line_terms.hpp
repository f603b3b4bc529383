// The log likelihood of rows with labels along a line: at margins
// y f = t s - gap, of the hinge t s - gap + 1, with powers w.
#pragma once

#include "eigen.hpp"
#include "likelihood/family.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
struct LineTerms {
  double value = 0.0;  // sum w log p(y | f)
  double slope = 0.0;  // its derivative in t
};

// Rows on a line; `equal`: whether all powers are 1.
struct LineRows {
  Index n;
  const double *gap, *w, *s;
  bool equal;
};

LineTerms line_terms(Family family, const LineRows& rows, double t,
                     simd::Level level = simd::level());
}  // namespace bayeskernel
