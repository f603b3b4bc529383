// R's lists to the core's structures and back, for every export of bsvm().
#ifndef BAYESKERNEL_GLUE_BSVM_H
#define BAYESKERNEL_GLUE_BSVM_H

#include <algorithm>
#include <bayeskernel/bsvm/problem.hpp>
#include <bayeskernel/bsvm/structure.hpp>
#include <bayeskernel/hinge/gibbs.hpp>
#include <bayeskernel/hinge/mean_field.hpp>
#include <map>
#include <numeric>

#include "glue_settings.h"

using bayeskernel::Block;
using bayeskernel::Index;
using bayeskernel::MatrixXd;
using bayeskernel::VectorXd;

inline bayeskernel::BsvmData read_data(const Rcpp::List& data) {
  bayeskernel::BsvmData out{map_matrix(data["x"]),
                            map_vector(data["center"]),
                            map_vector(data["scale"]),
                            map_vector(data["y"]),
                            map_vector(data["weights"]),
                            map_vector(data["offset"]),
                            {},
                            {},
                            {},
                            map_matrix(data["z"])};
  const Rcpp::List kept = data["kept"];
  for (Index t = 0; t < kept.size(); ++t) {
    const Rcpp::List term = kept[t];
    const Rcpp::IntegerVector group = term["group"];
    std::vector<int> codes(group.begin(), group.end());
    for (int& code : codes) --code;
    out.kept.push_back({std::move(codes), Rcpp::as<int>(term["members"]),
                        map_matrix(term["z"])});
  }
  const Index n = out.x.rows();
  out.order.resize(n);
  const Rcpp::IntegerVector group = data["group"];
  if (group.size() == 0) {
    for (Index i = 0; i < n; ++i) out.order[i] = i;
    return out;
  }
  const Index groups = Rcpp::as<int>(data["n_groups"]);
  out.group_begin.assign(groups + 1, 0);
  for (const int g : group) ++out.group_begin[g];
  for (Index g = 0; g < groups; ++g) {
    out.group_begin[g + 1] += out.group_begin[g];
  }
  std::vector<Index> next(out.group_begin.begin(), out.group_begin.end() - 1);
  for (Index i = 0; i < n; ++i) out.order[next[group[i] - 1]++] = i;
  return out;
}

inline bayeskernel::Prior read_prior(const Rcpp::List& prior) {
  bayeskernel::Prior out;
  out.precision = map_vector(prior["precision"]);
  out.mean = map_vector(prior["mean"]);
  const Rcpp::List blocks = prior["blocks"];
  for (Index l = 0; l < blocks.size(); ++l) {
    const Rcpp::List from = blocks[l];
    Block block;
    const std::string kind = Rcpp::as<std::string>(from["kind"]);
    block.kind = kind == "iid"    ? Block::Kind::iid
                 : kind == "held" ? Block::Kind::held
                                  : Block::Kind::unstructured;
    block.eliminated = Rcpp::as<bool>(from["eliminated"]);
    block.first = Rcpp::as<int>(from["first"]);
    block.members = Rcpp::as<int>(from["members"]);
    block.width = Rcpp::as<int>(from["width"]);
    if (block.kind == Block::Kind::iid) {
      block.shape = Rcpp::as<double>(from["shape"]);
      block.rate = Rcpp::as<double>(from["rate"]);
    } else if (block.kind == Block::Kind::held) {
      block.precision = Rcpp::as<double>(from["precision"]);
    } else {
      block.df = Rcpp::as<double>(from["df"]);
      block.scale = map_matrix(from["scale"]);
    }
    out.blocks.push_back(block);
  }
  return out;
}

// Threads pay off only above about this much work in a pass.
inline int useful_threads(const bayeskernel::PackedRows& rows, int threads) {
  const double width = static_cast<double>(rows.x.rows() + rows.z.rows());
  return static_cast<double>(rows.rows()) * width * width < 2e6 ? 1 : threads;
}

// E f and Var f in the order of the user's rows.
inline VectorXd restore_order(const VectorXd& v,
                              const std::vector<Index>& order) {
  VectorXd out(v.size());
  for (Index i = 0; i < v.size(); ++i) out[order[i]] = v[i];
  return out;
}

inline Rcpp::List variance_list(
    const bayeskernel::Prior& prior,
    const std::vector<bayeskernel::BlockPosterior>& q) {
  Rcpp::List out(prior.blocks.size());
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    if (prior.blocks[l].kind == Block::Kind::unstructured) {
      out[l] = Rcpp::List::create(Rcpp::Named("df") = q[l].df,
                                  Rcpp::Named("scale") = to_r(q[l].scale));
    } else {
      out[l] = Rcpp::List::create(Rcpp::Named("shape") = q[l].shape,
                                  Rcpp::Named("rate") = q[l].rate);
    }
  }
  return out;
}

inline std::vector<MatrixXd> read_transforms(const Rcpp::List& prior) {
  const Rcpp::List from = prior["transforms"];
  std::vector<MatrixXd> out;
  for (Index l = 0; l < from.size(); ++l) out.push_back(map_matrix(from[l]));
  return out;
}

inline Rcpp::List status_list(const bayeskernel::MeanFieldResult& result,
                              double jitter, double seconds) {
  Rcpp::List out = pass_status(result);
  out["jitter"] = jitter;
  out["seconds"] = seconds;
  return out;
}

// D_g^-1 + H_g Sigma H_g' of every group, r x (r G).
template <class GroupCovariance>
MatrixXd group_covariances(Index groups, Index r, GroupCovariance&& of) {
  MatrixXd out(r, r * groups);
  for (Index g = 0; g < groups; ++g) out.middleCols(g * r, r) = of(g);
  return out;
}

// q(theta, u) and the variances of a fit by MeanFieldFit.
inline Rcpp::List posterior_list(const bayeskernel::MeanFieldFit& fit,
                                 const bayeskernel::RowSource& rows,
                                 const bayeskernel::Prior& prior,
                                 const bayeskernel::WideBlock& wide) {
  const MatrixXd covariance = group_covariances(
      rows.groups(), rows.z_columns(),
      [&](Index g) { return fit.posterior().group_covariance(g); });
  return Rcpp::List::create(
      Rcpp::Named("theta_mean") = to_r(fit.posterior().mean.x),
      Rcpp::Named("theta_cov") = to_r(fit.posterior().theta_covariance()),
      Rcpp::Named("group_mean") = to_r(fit.posterior().mean.group),
      Rcpp::Named("group_cov") = to_r(covariance),
      Rcpp::Named("loading") = to_r(fit.system().loading()),
      Rcpp::Named("schur") = to_r(fit.system().group_inverse()),
      Rcpp::Named("variance") = variance_list(prior, fit.variances()),
      Rcpp::Named("precision") = to_r(fit.precisions()),
      Rcpp::Named("basis") = to_r(wide.basis),
      Rcpp::Named("basis_first") = static_cast<int>(wide.first));
}

inline Rcpp::List state_list(const bayeskernel::GibbsState& state) {
  return Rcpp::List::create(
      Rcpp::Named("x") = to_r(state.point.x),
      Rcpp::Named("group") = to_r(state.point.group),
      Rcpp::Named("precision") = to_r(state.precision),
      Rcpp::Named("sweep") = static_cast<double>(state.sweep));
}

inline void restore_state(const Rcpp::List& from,
                          bayeskernel::GibbsState& state) {
  state.point.x = map_vector(from["x"]);
  state.point.group = map_matrix(from["group"]);
  const Rcpp::List precision = from["precision"];
  for (Index l = 0; l < precision.size(); ++l) {
    state.precision[l] = map_matrix(precision[l]);
  }
  state.sweep = static_cast<std::uint64_t>(Rcpp::as<double>(from["sweep"]));
}

// Without selection `from` is NULL and the result has no columns.
inline bayeskernel::Selection read_selection(SEXP from) {
  bayeskernel::Selection out;
  if (Rf_isNull(from)) return out;
  const Rcpp::List list(from);
  const Rcpp::IntegerVector columns = list["columns"];
  out.columns.assign(columns.begin(), columns.end());
  out.shape = Rcpp::as<double>(list["shape"]);
  out.rate = Rcpp::as<double>(list["rate"]);
  const Rcpp::NumericVector beta = list["rho_beta"];
  out.learn_rho = beta.size() == 2;
  if (out.learn_rho) {
    out.rho_in = beta[0];
    out.rho_out = beta[1];
  } else {
    out.rho = Rcpp::as<double>(list["rho"]);
  }
  return out;
}

// Where the holes of a list of read_holes() are: the user's row and the
// predictor, counted from 1, in the order of the core.
struct HolePlaces {
  Rcpp::IntegerVector row, predictor;
};

// Rows in the order of the core. Without missing predictors `from` is NULL
// and the result has none.
inline bayeskernel::Holes read_holes(SEXP from, const std::vector<Index>& order,
                                     HolePlaces* places = nullptr) {
  bayeskernel::Holes out;
  if (Rf_isNull(from)) return out;
  const Rcpp::List list(from);
  const auto x = map_matrix(list["x"]);
  const Index n = x.rows(), predictors = x.cols();
  out.x.resize(predictors, n);
  out.start_mean = map_vector(list["mean"]);
  out.start_var = map_vector(list["var"]);
  out.mean_var = Rcpp::as<double>(list["mean_var"]);
  out.df = Rcpp::as<double>(list["df"]);
  out.scale = map_matrix(list["scale"]);

  // Uses by the user's row.
  const Rcpp::IntegerVector use_row = list["use_row"];
  const Rcpp::IntegerVector use_column = list["use_column"];
  const Rcpp::IntegerVector use_predictor = list["use_predictor"];
  const auto base = map_vector(list["use_base"]);
  const auto slope = map_vector(list["use_slope"]);
  std::vector<Index> by_row(use_row.size());
  std::iota(by_row.begin(), by_row.end(), Index{0});
  std::stable_sort(by_row.begin(), by_row.end(),
                   [&](Index a, Index b) { return use_row[a] < use_row[b]; });
  std::vector<Index> first_use(n + 1, 0);
  for (const int row : use_row) ++first_use[row + 1];
  for (Index i = 0; i < n; ++i) first_use[i + 1] += first_use[i];

  std::map<std::vector<Index>, Index> known;
  std::vector<int> hole_row, hole_predictor;
  for (Index i = 0; i < n; ++i) {
    const Index row = order[i];
    std::vector<Index> missing;
    for (Index j = 0; j < predictors; ++j) {
      const double value = x(row, j);
      const bool hole = std::isnan(value);
      out.x(j, i) = hole ? 0.0 : value;
      if (!hole) continue;
      missing.push_back(j);
      hole_row.push_back(static_cast<int>(row) + 1);
      hole_predictor.push_back(static_cast<int>(j) + 1);
    }
    if (missing.empty()) continue;
    const auto found =
        known.emplace(missing, static_cast<Index>(out.patterns.size()));
    if (found.second) out.patterns.push_back(missing);
    const Index first = static_cast<Index>(out.uses.size());
    for (Index u = first_use[row]; u < first_use[row + 1]; ++u) {
      const Index at = by_row[u];
      const auto position = std::lower_bound(missing.begin(), missing.end(),
                                             Index{use_predictor[at]});
      out.uses.push_back({use_column[at],
                          static_cast<Index>(position - missing.begin()),
                          base[at], slope[at]});
    }
    out.rows.push_back({i, found.first->second, first,
                        static_cast<Index>(out.uses.size()), out.count});
    out.count += static_cast<Index>(missing.size());
  }
  if (places != nullptr) {
    places->row = Rcpp::wrap(hole_row);
    places->predictor = Rcpp::wrap(hole_predictor);
  }
  return out;
}

#endif
