// A small problem with everything at once: fixed intercept, a penalised product
// of a predictor with a known column, selection, a random intercept and slope,
// predictors with holes, weights and offsets.
#pragma once

#include "linear/missing_pattern.hpp"
#include "prior/indicators.hpp"
#include <map>
#include <vector>

#include "hinge_problem.hpp"

using bayeskernel::MissingPattern;
using bayeskernel::Selection;

struct ModelShape {
  Index n = 8;
  Index groups = 3;      // random intercept and slope on predictor 0
  Index predictors = 2;  // each a selection column
  Index extra = 0;       // complete selection columns
  bool selection = true;
  bool holes = true;
  double share = 0.3;  // of values that are missing
};

struct ModelProblem {
  PackedRows rows;
  Prior prior;
  Selection selection;
  MissingPattern holes;
  std::vector<Index> group_begin;
  VectorXd known;  // factor of predictor 0 in the penalised column
};

// Columns of x: intercept, product, predictors, extra.
inline ModelProblem make_model(const ModelShape& shape, unsigned seed) {
  Draw draw(seed);
  ModelProblem out;
  const Index n = shape.n, predictors = shape.predictors;
  const Index p = 2 + predictors + shape.extra;
  const Index r = shape.groups > 0 ? 2 : 0;
  PackedRows& rows = out.rows;
  rows.x = draw.matrix(p, n);
  rows.x.row(0).setOnes();
  out.known = draw.matrix(n, 1);
  rows.x.row(1) = out.known.transpose().cwiseProduct(rows.x.row(2));
  rows.z.resize(r, n);
  if (r > 0) {
    rows.z.row(0).setOnes();
    rows.z.row(1) = rows.x.row(2);
  }
  rows.y.resize(n);
  rows.weight.resize(n);
  rows.offset = 0.3 * draw.matrix(n, 1);
  for (Index i = 0; i < n; ++i) {
    rows.weight[i] = 0.3 + draw.uniform();
    const double f = rows.x.col(i).tail(p - 2).sum();
    rows.y[i] = f + draw.normal() > 0.0 ? 1.0 : -1.0;
  }
  if (r > 0) {
    std::vector<Index> size(shape.groups, 0);
    for (Index i = 0; i < n; ++i) ++size[draw.below(shape.groups)];
    out.group_begin.assign(1, 0);
    for (const Index count : size) {
      out.group_begin.push_back(out.group_begin.back() + count);
    }
  }

  MissingPattern& holes = out.holes;
  if (shape.holes) {
    holes.x = rows.x.middleRows(2, predictors);
    holes.start_mean = VectorXd::Zero(predictors);
    holes.start_var = VectorXd::Ones(predictors);
    holes.mean_var = 1.5;
    holes.df = static_cast<double>(predictors) + 6.0;
    holes.scale = 5.0 * MatrixXd::Identity(predictors, predictors);
    holes.scale(0, 1) = holes.scale(1, 0) = 1.0;
    std::map<std::vector<Index>, Index> known;
    for (Index i = 0; i < n; ++i) {
      std::vector<Index> missing;
      for (Index k = 0; k < predictors; ++k) {
        if (draw.uniform() < shape.share) missing.push_back(k);
      }
      if (missing.empty()) continue;
      const auto found =
          known.emplace(missing, static_cast<Index>(holes.patterns.size()));
      if (found.second) holes.patterns.push_back(missing);
      const Index begin = static_cast<Index>(holes.uses.size());
      for (std::size_t j = 0; j < missing.size(); ++j) {
        const Index at = static_cast<Index>(j), k = missing[j];
        holes.x(k, i) = 0.0;
        // A column that is centred and scaled once more.
        holes.uses.push_back({2 + k, at, k == 1 ? 0.2 : 0.0, k == 1 ? 0.7 : 1});
        if (k != 0) continue;
        holes.uses.push_back({1, at, 0.0, out.known[i]});
        if (r > 0) holes.uses.push_back({p + 1, at, 0.0, 1.0});
      }
      holes.rows.push_back({i, found.first->second, begin,
                            static_cast<Index>(holes.uses.size()),
                            holes.count});
      holes.count += static_cast<Index>(missing.size());
    }
    for (Index i = 0; i < n; ++i) {
      rows.x(3, i) = 0.2 + 0.7 * rows.x(3, i);
    }
  }

  Prior& prior = out.prior;
  prior.precision = VectorXd::Zero(p);
  prior.mean = VectorXd::Zero(p);
  prior.precision[0] = 1.0;
  prior.mean[0] = 0.3;
  Block product;
  product.first = 1;
  product.members = 1;
  product.shape = product.rate = 3.0;
  prior.blocks.push_back(product);
  if (shape.selection) {
    for (Index k = 2; k < p; ++k) out.selection.columns.push_back(k);
    out.selection.shape = out.selection.rate = 3.0;
    out.selection.learn_rho = true;
    out.selection.rho_in = out.selection.rho_out = 2.0;
  } else {
    Block rest = product;
    rest.first = 2;
    rest.members = p - 2;
    prior.blocks.push_back(rest);
  }
  if (r > 0) {
    Block group;
    group.kind = Block::Kind::unstructured;
    group.eliminated = true;
    group.first = p;
    group.members = shape.groups;
    group.width = 2;
    group.df = 8.0;
    group.scale = 4.0 * MatrixXd::Identity(2, 2);
    prior.blocks.push_back(group);
  }
  rows.finish(out.group_begin);
  return out;
}
