#include "selection/active_columns.hpp"

#include "linear/completions.hpp"

namespace bayeskernel {
std::vector<Index> positions(const std::vector<Index>& from,
                             const std::vector<Index>& in) {
  std::vector<Index> out;
  for (const Index value : from) {
    out.push_back(std::find(in.begin(), in.end(), value) - in.begin());
  }
  return out;
}

void keep(const std::vector<Index>& at, VectorXd& v) {
  for (std::size_t k = 0; k < at.size(); ++k) v[k] = v[at[k]];
  v.conservativeResize(count_of(at));
}

void keep_columns(const std::vector<Index>& columns,
                  const std::vector<Index>& chosen, MeanFieldState& state,
                  MeanFieldEvaluation& accepted) {
  const Index p = count_of(columns);
  for (Curvature* c :
       {&accepted.sums.curvature, &accepted.sums.newton, &state.curvature}) {
    MatrixXd gram(p, p), cross(p, c->cross.cols());
    // Positions increase, so that the lower triangle stays one.
    for (Index k = 0; k < p; ++k) {
      for (Index j = 0; j < p; ++j)
        gram(j, k) = c->gram(columns[j], columns[k]);
      cross.row(k) = c->cross.row(columns[k]);
    }
    c->gram.swap(gram);
    c->cross.swap(cross);
  }
  for (VectorXd* v :
       {&accepted.sums.linear.x, &accepted.shift.x, &state.mean.x}) {
    keep(columns, *v);
  }
  IndicatorPosterior& q = accepted.indicators;
  for (VectorXd* v : {&q.log_odds, &q.expected_b, &q.prior_fraction,
                      &accepted.next_log_odds, &state.log_b, &state.log_odds}) {
    keep(chosen, *v);
  }
}

MeanFieldState widen(const MeanFieldState& from, Index p, Index size,
                     const std::vector<Index>& columns,
                     const std::vector<Index>& chosen) {
  MeanFieldState out = from;
  out.mean.x = VectorXd::Zero(p);
  out.log_b = out.log_odds = VectorXd::Zero(size);
  Curvature& to = out.curvature;
  to.gram = MatrixXd::Zero(p, p);
  to.cross = MatrixXd::Zero(p, from.curvature.cross.cols());
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const Index at = static_cast<Index>(k);
    out.mean.x[columns[k]] = from.mean.x[at];
    to.cross.row(columns[k]) = from.curvature.cross.row(at);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      to.gram(columns[j], columns[k]) =
          from.curvature.gram(static_cast<Index>(j), at);
    }
  }
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    out.log_b[chosen[k]] = from.log_b[static_cast<Index>(k)];
    out.log_odds[chosen[k]] = from.log_odds[static_cast<Index>(k)];
  }
  return out;
}

PackedRows restrict_rows(const PackedRows& rows,
                         const std::vector<Index>& columns,
                         const std::vector<Index>& unit) {
  const Index n = rows.rows(), p = count_of(columns);
  PackedRows out;
  out.x.resize(p, n);
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < p; ++k) out.x(k, i) = rows.x(columns[k], i);
  }
  out.z = rows.z;
  out.y = rows.y;
  out.weight = rows.weight;
  out.offset = rows.offset;
  out.residual = rows.residual;
  std::vector<Index> group_begin;
  for (Index g = 0; rows.groups() > 0 && g <= rows.groups(); ++g) {
    group_begin.push_back(rows.group_begin(g));
  }
  out.finish(std::move(group_begin), unit);
  return out;
}

ActiveModel restrict_model(const WholeModel& model,
                           const std::vector<bool>& in_use) {
  ActiveModel out;
  const Index p = model.rows->x_columns();
  out.position.assign(p, 0);
  for (std::size_t k = 0; k < in_use.size(); ++k) {
    if (in_use[k]) {
      out.chosen.push_back(static_cast<Index>(k));
    } else {
      out.position[model.selection.columns[k]] = -1;
      ++out.hidden;
    }
  }
  for (Index c = 0; c < p; ++c) {
    if (out.position[c] < 0) continue;
    out.position[c] = count_of(out.columns);
    out.columns.push_back(c);
  }
  for (const Index k : out.chosen) {
    out.selected.push_back(out.position[model.selection.columns[k]]);
  }
  out.rows = model.rows;
  out.prior = model.prior;
  if (out.hidden == 0) return out;
  const Completions* completions = model.row_model.completions;
  out.rows = std::make_shared<PackedRows>(restrict_rows(
      *model.rows, out.columns,
      completions != nullptr ? completions->unit : std::vector<Index>()));
  const Index used = count_of(out.columns);
  out.prior.precision.resize(used);
  out.prior.mean.resize(used);
  for (Index k = 0; k < used; ++k) {
    out.prior.precision[k] = model.prior.precision[out.columns[k]];
    out.prior.mean[k] = model.prior.mean[out.columns[k]];
  }
  for (Block& block : out.prior.blocks) {
    if (!block.eliminated) block.first = out.position[block.first];
  }
  return out;
}

VectorXd hidden_squares(const WholeModel& model, const ActiveModel& active,
                        const VectorXd& kappa,
                        const MissingPosterior& missing) {
  const PackedRows& rows = *model.rows;
  VectorXd out = VectorXd::Zero(model.selection.size());
  std::vector<Index> hidden(rows.x_columns(), -1), left;
  for (Index k = 0; k < out.size(); ++k) {
    const Index column = model.selection.columns[k];
    if (active.position[column] >= 0) continue;
    hidden[column] = k;
    left.push_back(column);
  }
  for (Index i = 0; i < rows.rows(); ++i) {
    const double* x = rows.x.data() + i * rows.x_columns();
    for (const Index c : left) out[hidden[c]] += kappa[i] * x[c] * x[c];
  }
  Index at = 0;  // in missing.covariance
  for (const MissingPattern::Row& row : model.missing.rows) {
    const Index h = model.missing.width(row);
    for (Index u = row.use_begin; u < row.use_end; ++u) {
      const MissingPattern::Use& use = model.missing.uses[u];
      if (use.column >= rows.x_columns() || hidden[use.column] < 0) continue;
      const double cell = rows.x(use.column, row.row);
      const double mean =
          use.base + use.slope * missing.mean[row.first + use.missing];
      const double variance = use.slope * use.slope *
                              missing.covariance[at + use.missing * (h + 1)];
      out[hidden[use.column]] +=
          kappa[row.row] * (mean * mean + variance - cell * cell);
    }
    at += h * h;
  }
  return out;
}

double run_rule(const Rule& rule, const PackedRows& rows, const VectorXd& m,
                const VectorXd& s, VectorXd& kappa, VectorXd& linear) {
  VectorXd newton(rows.rows());
  MatrixXd buffer;
  double bound = 0.0;
  for (const TileSpan& span : rows.tiles()) {
    const Index at = span.row_begin;
    bound +=
        rule.tile(span, rows.tile(span, buffer), m.data() + at, s.data() + at,
                  {kappa.data() + at, linear.data() + at, newton.data() + at});
  }
  return bound;
}
}  // namespace bayeskernel
