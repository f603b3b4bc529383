// R's lists to the core's structures and back, for every export of bsvm().
#pragma once

#include "glue_settings.h"
#include "likelihood/family.hpp"
#include "linear/missing_pattern.hpp"
#include "linear/row_rules.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "prior/model_rows.hpp"
#include "rows/order.hpp"
#include "rows/pack.hpp"

namespace bayeskernel {
inline ColumnData read_data(const Rcpp::List& data) {
  ColumnData out{map_matrix(data["x"]),
                 map_vector(data["center"]),
                 map_vector(data["scale"]),
                 map_vector(data["y"]),
                 map_vector(data["weights"]),
                 map_vector(data["offset"]),
                 {},
                 {},
                 {},
                 map_matrix(data["z"]),
                 map_vector(element(data, "residual"))};
  const SEXP variables = element(data, "variables");
  if (!Rf_isNull(variables)) {
    new (&out.variables) MatrixMap(map_matrix(variables));
  }
  const Rcpp::List kept = data["kept"];
  for (Index t = 0; t < kept.size(); ++t) {
    const Rcpp::List term = kept[t];
    const Rcpp::IntegerVector group = term["group"];
    std::vector<int> codes(group.begin(), group.end());
    for (int& code : codes) --code;
    out.kept.push_back(
        {std::move(codes), read<int>(term, "members"), map_matrix(term["z"])});
  }
  const Rcpp::IntegerVector group = data["group"];
  if (group.size() > 0 && group.size() != out.x.rows()) {
    throw ArgumentError("the groups are not of these rows");
  }
  GroupOrder by_group =
      group_order(group.begin(), out.x.rows(),
                  group.size() > 0 ? read<int>(data, "n_groups") : 0);
  out.order = std::move(by_group.order);
  out.group_begin = std::move(by_group.begin);
  return out;
}

// The hinge where nothing is said.
inline Family read_family(const Rcpp::List& settings) {
  const auto name = read_or<std::string>(settings, "family", "hinge");
  if (name == "hinge") return Family::hinge;
  if (name == "probit") return Family::probit;
  if (name == "logit") return Family::logit;
  if (name == "gaussian") return Family::gaussian;
  throw ArgumentError("unknown family: " + name);
}

// Of a Gaussian family: list(shape, rate), or list(precision) where held.
inline NoisePrior read_noise(const Rcpp::List& settings) {
  NoisePrior out;
  const SEXP from = element(settings, "noise");
  if (Rf_isNull(from)) return out;
  const Rcpp::List list(from);
  out.held = list.containsElementNamed("precision");
  if (out.held) {
    out.precision = read<double>(list, "precision");
  } else {
    out.shape = read<double>(list, "shape");
    out.rate = read<double>(list, "rate");
  }
  return out;
}

// Which family the rows are of, and by which bound: settings$rule is
// "augmented" (where nothing is said) or "direct".
inline RowModel read_row_model(const Rcpp::List& settings) {
  RowModel out;
  out.family = read_family(settings);
  out.noise = read_noise(settings);
  if (out.family != Family::gaussian) out.noise.held = true;
  const auto name = read_or<std::string>(settings, "rule", "augmented");
  if (name != "direct" && name != "augmented") {
    throw ArgumentError("unknown rule: " + name);
  }
  out.direct = name == "direct";
  return out;
}

// Rows with missing values as units of completions: list(row, log_prior) by
// row, or NULL, and there are none. Into the order of the core.
inline Completions read_completions(SEXP from,
                                    const std::vector<Index>& order) {
  Completions out;
  if (Rf_isNull(from)) return out;
  const Rcpp::List list(from);
  const Rcpp::IntegerVector unit = list["row"];
  const auto log_prior = map_vector(list["log_prior"]);
  const std::size_t n = order.size();
  if (static_cast<std::size_t>(unit.size()) != n ||
      static_cast<std::size_t>(log_prior.size()) != n) {
    throw ArgumentError("completions are not of these rows");
  }
  out.unit.resize(n);
  out.log_prior.resize(log_prior.size());
  std::vector<bool> seen(n + 1, false);
  for (std::size_t i = 0; i < n; ++i) {
    const Index u = unit[order[i]];
    out.unit[i] = u;
    out.log_prior[static_cast<Index>(i)] = log_prior[order[i]];
    if (i > 0 && out.unit[i - 1] == u) continue;
    if (u < 1 || u > static_cast<Index>(n) || seen[u]) {
      throw ArgumentError(
          "the completions of a row do not follow each other in one group");
    }
    seen[u] = true;
  }
  return out;
}

// Residuals of rows that are multiples of variances: shares, n x the point
// blocks of the prior, or NULL, and there are none.
inline std::unique_ptr<ConditionalVariance> read_open(
    SEXP from, const std::vector<Index>& order, VectorXd& residual,
    const Prior& prior) {
  if (Rf_isNull(from)) return nullptr;
  const auto share = map_matrix(from);
  MatrixXd own(share.rows(), share.cols());
  if (share.rows() != count_of(order)) {
    throw ArgumentError("residuals are not of these rows");
  }
  for (Index i = 0; i < own.rows(); ++i) own.row(i) = share.row(order[i]);
  return std::make_unique<ConditionalVariance>(residual, own.rows(), prior,
                                               std::move(own));
}

// list(half_t = c(df, scale)), or no such element.
inline HalfT read_half_t(const Rcpp::List& list) {
  const SEXP from = element(list, "half_t");
  if (Rf_isNull(from)) return {};
  const auto values = Rcpp::as<std::vector<double>>(from);
  if (values.size() != 2) {
    throw ArgumentError("half_t is not of a df and a scale");
  }
  return {values[0], values[1]};
}

inline Prior read_prior(const Rcpp::List& prior) {
  Prior out;
  out.precision = map_vector(prior["precision"]);
  out.mean = map_vector(prior["mean"]);
  const Rcpp::List blocks = prior["blocks"];
  for (Index l = 0; l < blocks.size(); ++l) {
    const Rcpp::List from = blocks[l];
    Block block;
    const std::string kind = read<std::string>(from, "kind");
    block.kind = kind == "iid"     ? Block::Kind::iid
                 : kind == "held"  ? Block::Kind::held
                 : kind == "point" ? Block::Kind::point
                                   : Block::Kind::unstructured;
    block.eliminated = read<bool>(from, "eliminated");
    block.first = read<int>(from, "first");
    block.members = read<int>(from, "members");
    block.width = read<int>(from, "width");
    if (block.kind == Block::Kind::iid || block.kind == Block::Kind::point) {
      block.shape = read<double>(from, "shape");
      block.rate = read<double>(from, "rate");
    } else if (block.kind == Block::Kind::held) {
      const SEXP precision = from["precision"];
      if (Rf_isMatrix(precision)) {
        block.coupled = map_matrix(precision);
      } else {
        block.precision = read<double>(from, "precision");
      }
    } else {
      block.df = read<double>(from, "df");
      block.scale = map_matrix(from["scale"]);
    }
    block.half_t = read_half_t(from);
    out.blocks.push_back(block);
  }
  out.check();
  return out;
}

// What an export of the linear model is given; the model points at the units.
struct LinearInput {
  LinearInput(const Rcpp::List& lists, const Rcpp::List& priors,
              const Rcpp::List& settings)
      : data(read_data(lists)),
        prior(read_prior(priors)),
        units(read_completions(element(lists, "atoms"), data.order)),
        model(read_row_model(settings)) {
    if (!units.unit.empty()) model.completions = &units;
  }
  LinearInput(const LinearInput&) = delete;
  LinearInput& operator=(const LinearInput&) = delete;

  ColumnData data;
  Prior prior;
  Completions units;
  RowModel model;
};

// Threads pay off only above about this much work in a pass.
inline int useful_threads(const RowSource& rows, int threads) {
  const double width = static_cast<double>(rows.x_columns() + rows.z_columns());
  return static_cast<double>(rows.rows()) * width * width < 2e6 ? 1 : threads;
}

// Without selection `from` is NULL and the result has no columns.
inline Selection read_selection(SEXP from) {
  Selection out;
  if (Rf_isNull(from)) return out;
  const Rcpp::List list(from);
  const Rcpp::IntegerVector columns = list["columns"];
  out.columns.assign(columns.begin(), columns.end());
  out.shape = read<double>(list, "shape");
  out.rate = read<double>(list, "rate");
  out.half_t = read_half_t(list);
  const Rcpp::NumericVector beta = list["rho_beta"];
  out.learn_rho = beta.size() == 2;
  if (out.learn_rho) {
    out.rho_in = beta[0];
    out.rho_out = beta[1];
  } else {
    out.rho = read<double>(list, "rho");
  }
  const SEXP b = element(list, "start_b");
  if (!Rf_isNull(b)) {
    out.start_b = map_vector(b);
    out.start_precision = read<double>(list, "start_precision");
    if (out.start_b.size() != out.size() || !(out.start_b.minCoeff() > 0.0) ||
        !(out.start_precision > 0.0)) {
      throw ArgumentError("a start of other columns");
    }
  }
  out.hidden = read_or<int>(list, "hidden", 0);
  out.hidden_units = read_or<int>(list, "hidden_units", 0);
  // The indicator of each column, counted from 0.
  const SEXP unit = element(list, "unit");
  if (!Rf_isNull(unit)) {
    const Rcpp::IntegerVector of(unit);
    if (of.size() != columns.size()) {
      throw ArgumentError("indicators of other columns");
    }
    for (Index k = 0; k < of.size(); ++k) {
      const std::size_t at = static_cast<std::size_t>(of[k]);
      if (at >= out.units.size()) out.units.resize(at + 1);
      out.units[at].push_back(k);
    }
  }
  return out;
}

// Codes of groups from 1, every one of which has rows.
inline void read_groupings(const Rcpp::List& list,
                           const std::vector<Index>& order,
                           MissingPattern& out) {
  const Rcpp::IntegerVector where = list["where"];
  for (const int j : where) out.where.push_back(j - 1);
  out.between_df = read<double>(list, "between_df");
  out.between_scale = map_matrix(list["between_scale"]);
  const Rcpp::List groups = list["groups"];
  for (R_xlen_t f = 0; f < groups.size(); ++f) {
    const Rcpp::IntegerVector code = groups[f];
    MissingPattern::Grouping own{{}, 0};
    for (const Index row : order) {
      own.code.push_back(code[row] - 1);
      own.groups = std::max<Index>(own.groups, code[row]);
    }
    out.groupings.push_back(std::move(own));
  }
}

// Missing predictors, rows in the order of the core. Without any `from` is NULL
// and the result has none.
inline MissingPattern read_missing(SEXP from, const std::vector<Index>& order) {
  MissingPattern out;
  if (Rf_isNull(from)) return out;
  const Rcpp::List list(from);
  out.start_mean = map_vector(list["mean"]);
  out.start_var = map_vector(list["var"]);
  out.mean_var = read<double>(list, "mean_var");
  out.df = read<double>(list, "df");
  out.scale = map_matrix(list["scale"]);
  const Rcpp::IntegerVector row = list["use_row"];
  const Rcpp::IntegerVector column = list["use_column"];
  const Rcpp::IntegerVector predictor = list["use_predictor"];
  const auto base = map_vector(list["use_base"]);
  const auto slope = map_vector(list["use_slope"]);
  std::vector<RowUse> uses;
  for (R_xlen_t u = 0; u < row.size(); ++u) {
    uses.push_back({row[u], column[u], predictor[u], base[u], slope[u]});
  }
  set_pattern(map_matrix(list["x"]), std::move(uses), order, out);
  if (list.containsElementNamed("groups")) {
    read_groupings(list, order, out);
  }
  return out;
}
}  // namespace bayeskernel
