// What the messages of rows miss of the evidence where rows share effects of
// groups. With q the Gaussian of expectation propagation and t_i a row's factor
// in it, scaled such that E_q p_i / t_i = 1,
//   Z / Z_EP = E_q prod_i p_i / t_i
//            = E_q(theta) prod_g R_g(theta),
//   R_g(theta) = E_q(u_g | theta) prod_{i in g} p_i / t_i.
// R_g is one or two integrals by quadrature. Over theta the product is taken to
// be one of functions along the whitened axes of q(theta), each by three nodes:
// log R_g moves little within it. Where the rows of groups are of one class
// their effects are skewed, and Z_EP falls behind as the variance of groups
// grows, while q at a given variance is right. (Opper, Paquet and Winther 2013,
// Journal of Machine Learning Research 14, 2857-2898, expand Z / Z_EP.)
#pragma once

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "ep/group_nodes.hpp"
#include "ep/sites.hpp"
#include "likelihood/family.hpp"
#include "likelihood/tilted.hpp"
#include "linear/system.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
class GroupEvidence {
 public:
  // Beyond it the axes would cost more than the fit.
  static constexpr Index kMostColumns = 60;

  explicit GroupEvidence(const EpFit& fit)
      : GroupEvidence(fit.rows(), fit.executor(), fit.family(), fit.sites) {
    fit_ = &fit;
  }
  // Rows that are part of more.
  GroupEvidence(const RowSource& rows, Executor& executor, Family family,
                const SiteRows& sites)
      : rows_(rows),
        executor_(executor),
        family_(family),
        sites_(sites),
        tilted_(family),
        rules_(rows.z_columns(), {8, 16, 24}, {1.0, 6.0}) {}

  // Labels, groups of one or two effects each; few columns beside them, without
  // which there is the part at the mean alone.
  static bool applies(const EpFit& fit) {
    return at_mean_applies(fit) && fit.rows().x_columns() <= kMostColumns;
  }
  static bool at_mean_applies(const EpFit& fit);

  // log(Z / Z_EP) at the q of the last pass, in two parts: at the mean of
  // theta, and what its axes add, which changes slowly from one variance to
  // another.
  struct Missed {
    double at_mean = 0.0, axes = 0.0;
    double sum() const { return at_mean + axes; }
  };
  Missed operator()(bool axes = true);

  // The q of the last pass, and whether its axes are asked for.
  void set(const GaussianPosterior& q, bool axes);
  // The sums of the chunks begin .. end - 1: at the mean, then to both sides of
  // it along each axis.
  VectorXd shard(Index begin, Index end);

 private:
  using Nodes = ArrayXd;
  static constexpr int kBatch = GroupRules::kBatch;
  using Batch = Eigen::Array<double, kBatch, 1>;
  // As far as logarithms of products may go: neither these nor what they are
  // made of are too large then, or too small.
  static constexpr double kFarthest = 600.0;

  struct Scratch {
    MatrixXd buffer;
    MatrixXd shift;          // of f along the axes, p x rows of the tile
    MatrixXd along, across;  // root'z, r x rows; at the nodes, nodes x rows
    MatrixXd level;          // f at the points, points x rows
    MatrixXd across_power, level_power;  // e^-y of both
    MatrixXd sum, product;               // nodes x points
    VectorXd kappa, b;
    Nodes f;
  };

  // f is a sum of a number by row and node and of one by row and point.
  template <class Column>
  void add_group(const TileSpan& span, const Tile& tile, Index g, Index begin,
                 Index end, Scratch& scratch, Column&& out) const {
    const Index r = tile.z.rows(), n = end - begin, p = axes_.cols();
    const auto z = tile.z.middleCols(begin, n);
    const Eigen::LLT<MatrixXd> root(
        q_->eliminated().inverse().middleCols(g * r, r));
    // Those of f in units of the effects.
    scratch.along = root.matrixU() * z;
    const double steep = scratch.along.colwise().squaredNorm().maxCoeff();
    const GroupNodes& rule = rules_.of(steep);
    scratch.across.noalias() = rule.node.transpose() * scratch.along;
    auto shift = scratch.shift.middleCols(begin, n);
    shift.noalias() += group_axes_.middleRows(g * r, r).transpose() * z;
    scratch.level.resize(2 * p + 1, n);
    scratch.level.rowwise() =
        sites_.mean.segment(span.row_begin + begin, n).transpose();
    scratch.level.middleRows(1, p) += shift;
    scratch.level.bottomRows(p) -= shift;
    const double scale = add_messages(span.row_begin + begin, rule, scratch);
    add_rows(tile, begin, scratch);
    for (Index k = 0; k < out.size(); ++k) {
      const auto sum = scratch.sum.col(k).array();
      const double most = sum.maxCoeff();
      out[k] +=
          most - scale +
          std::log(((sum - most).exp() / scratch.product.col(k).array()).sum());
    }
  }

  // Their exponents at all nodes and points, and log E_q of p over them.
  double add_messages(Index first, const GroupNodes& rule,
                      Scratch& scratch) const;

  // log p(y | f)^w of rows. That of a logit row of weight one is
  // -log(1 + e^-yf): of such rows the product is taken, with e^-yf as a product
  // of two numbers.
  void add_rows(const Tile& tile, Index begin, Scratch& scratch) const;

  // The product by the factors of the rows first .. last - 1.
  static void multiply(Index first, Index last, Scratch& scratch);

  void add_row(double y, double w, double residual, Index i,
               Scratch& scratch) const;

  struct Message {
    double kappa, b;
  };
  // That which q was made of.
  Message message(Index i) const;

  // log E_q of p over the message.
  double log_scale(Index i) const;

  const EpFit* fit_ = nullptr;
  const RowSource& rows_;
  Executor& executor_;
  Family family_;
  const SiteRows& sites_;
  const GaussianPosterior* q_ = nullptr;
  TiltedMoments tilted_;
  GroupRules rules_;
  MatrixXd axes_;        // of theta, columns x p
  MatrixXd group_axes_;  // what effects move along them, r G x p
  MatrixXd block_;       // points x blocks
};
}  // namespace bayeskernel
