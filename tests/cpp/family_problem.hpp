// Row models of every family, and problems with responses for them.
#pragma once

#include "optim/progress.hpp"
#include "linear/row_rules.hpp"

#include "hinge_problem.hpp"

using bayeskernel::Family;
using bayeskernel::RowModel;

static const auto always = [](const bayeskernel::Progress&) { return true; };

inline RowModel model_of(Family family, bool direct) {
  RowModel out;
  out.family = family;
  out.direct = direct;
  out.noise.shape = 1.3;
  out.noise.rate = 0.7;
  return out;
}

inline const std::vector<RowModel>& models() {
  static const std::vector<RowModel> all = {
      model_of(Family::hinge, false),  model_of(Family::probit, false),
      model_of(Family::logit, false),  model_of(Family::probit, true),
      model_of(Family::logit, true),   model_of(Family::gaussian, false),
      model_of(Family::gaussian, true)};
  return all;
}

// Numbers in place of labels for Gaussian rows.
inline void set_responses(const RowModel& model, unsigned seed,
                          PackedRows& rows) {
  if (model.family != Family::gaussian) return;
  Draw draw(seed + 104729u);
  for (Index i = 0; i < rows.rows(); ++i) rows.y[i] += 0.7 * draw.normal();
}

inline Problem problem_of(const RowModel& model, const Shape& shape,
                          unsigned seed) {
  Problem out = make_problem(shape, seed);
  set_responses(model, seed, out.rows);
  return out;
}
