// Predictions of each row from the others, which the cavities give away.
#pragma once

#include "eigen.hpp"
#include "ep/sites.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// log p(y_i | other rows) at power one, from the cavities of the last pass; of
// the hinge, which is no probability of y, the class's under the probit link.
VectorXd leave_one_out(const RowSource& rows, const SiteRule& rule,
                       const SiteRows& sites);

// E f_i and Var f_i given the other rows, residual included.
struct LeftOutMoments {
  VectorXd mean, variance;
};

LeftOutMoments left_out_moments(const RowSource& rows, const SiteRows& sites);
}  // namespace bayeskernel
