// The linear model's chains: where they start, and their states as lists.
#pragma once

#include "gibbs/recorder.hpp"
#include "glue_bsvm.h"
#include "glue_chains.h"
#include "linear/gibbs.hpp"

namespace bayeskernel {
inline std::vector<MatrixXd> read_transforms(const Rcpp::List& prior) {
  const Rcpp::List from = prior["transforms"];
  std::vector<MatrixXd> out;
  for (Index l = 0; l < from.size(); ++l) out.push_back(map_matrix(from[l]));
  return out;
}

inline Rcpp::List base_state_list(const GibbsState& state,
                                  const RowModel& model) {
  Rcpp::List out = r_list({{"x", state.point.x},
                           {"group", state.point.group},
                           {"precision", state.precision},
                           {"sweep", static_cast<double>(state.sweep)}});
  if (state.latent.size() > 0) out["latent"] = to_r(state.latent);
  if (model.family == Family::gaussian) out["noise"] = state.noise;
  return out;
}

// Into a state of the right shapes.
inline void restore_base(const CheckedList& from, const ChainPlan& plan,
                         const RowModel& model, GibbsState& state) {
  MatrixXd& group = state.point.group;
  state.point.x = from.vector("x", state.point.x.size());
  group = MatrixXd(from.matrix("group", group.rows(), group.cols()));
  from.matrices("precision", state.precision);
  state.sweep = static_cast<std::uint64_t>(
      from.index("sweep", 0.0, static_cast<double>(plan.sweeps())));
  if (state.latent.size() > 0) {
    state.latent = from.vector("latent", state.latent.size());
  }
  if (model.family == Family::gaussian) {
    state.noise = from.number("noise", 0.0);
  }
}

// Where all chains start if settings$start says so: list(precision, noise) with
// 1 / sigma^2 or Psi^-1 of every block and 1 / v, and theta.
inline void set_start(const Rcpp::List& settings, GibbsState& state) {
  const SEXP start = element(settings, "start");
  if (Rf_isNull(start)) return;
  const Rcpp::List list(start);
  if (list.containsElementNamed("noise")) {
    state.noise = read<double>(list, "noise");
  }
  if (list.containsElementNamed("theta")) {
    const Rcpp::NumericVector theta = list["theta"];
    if (theta.size() != state.point.x.size()) {
      throw ArgumentError("a start is not of these columns");
    }
    state.point.x = map_vector(theta);
  }
  const SEXP precision = element(list, "precision");
  if (Rf_isNull(precision)) return;
  const Rcpp::List blocks(precision);
  const Index count = count_of(state.precision);
  if (blocks.size() != count) {
    throw ArgumentError("a start is not of these blocks");
  }
  for (Index l = 0; l < count; ++l) {
    MatrixXd& own = state.precision[l];
    const double* values = r_numbers(blocks[l]);
    if (Rf_xlength(blocks[l]) != own.size()) {
      throw ArgumentError("a start is not of these blocks");
    }
    own = MatrixMap(values, own.rows(), own.cols());
  }
}

// Of the rows' transforms; `blocks` and `wide` outlive it.
template <class Chain>
Recorder read_recorder(const Rcpp::List& settings, const Rcpp::List& prior,
                       const ColumnData& input, const Prior& blocks,
                       const WideBlock& wide, const RowModel& model,
                       const ChainRun<Chain>& run) {
  return Recorder(input.center, input.scale, read<bool>(settings, "intercept"),
                  blocks, read_transforms(prior), wide, run.seed(),
                  read<bool>(settings, "keep_ranef"), model.learns_noise());
}

// How a run went, with what was added to the diagonals of its systems.
template <class Chain>
Rcpp::List jitter_status(const ChainRun<Chain>& run) {
  double jitter = 0.0;
  for (Index c = 0; c < run.chains(); ++c) {
    jitter = std::max(jitter, run.chain(c).jitter());
  }
  Rcpp::List out = run.status();
  out["jitter"] = jitter;
  return out;
}
}  // namespace bayeskernel
