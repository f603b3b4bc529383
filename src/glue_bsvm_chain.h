// States of the linear model's chains as lists.
#ifndef BAYESKERNEL_GLUE_BSVM_CHAIN_H
#define BAYESKERNEL_GLUE_BSVM_CHAIN_H

#include <bayeskernel/hinge/gibbs.hpp>

#include "glue_bsvm.h"
#include "glue_state.h"

inline constexpr const char* kState = "the state to go on from";

inline std::vector<MatrixXd> read_transforms(const Rcpp::List& prior) {
  const Rcpp::List from = prior["transforms"];
  std::vector<MatrixXd> out;
  for (Index l = 0; l < from.size(); ++l) out.push_back(map_matrix(from[l]));
  return out;
}

inline Rcpp::List base_state_list(const bayeskernel::GibbsState& state) {
  return Rcpp::List::create(
      Rcpp::Named("x") = to_r(state.point.x),
      Rcpp::Named("group") = to_r(state.point.group),
      Rcpp::Named("precision") = to_r(state.precision),
      Rcpp::Named("sweep") = static_cast<double>(state.sweep));
}

// Into a state of the right shapes.
inline void restore_base(const CheckedList& from,
                         const bayeskernel::ChainPlan& plan,
                         bayeskernel::GibbsState& state) {
  MatrixXd& group = state.point.group;
  state.point.x = from.vector("x", state.point.x.size());
  group = MatrixXd(from.matrix("group", group.rows(), group.cols()));
  from.matrices("precision", state.precision);
  state.sweep = static_cast<std::uint64_t>(
      from.index("sweep", 0.0, static_cast<double>(plan.sweeps())));
}

#endif
