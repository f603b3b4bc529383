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
#ifndef BAYESKERNEL_EP_GROUP_EVIDENCE_HPP
#define BAYESKERNEL_EP_GROUP_EVIDENCE_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "rows/sweep.hpp"
#include "likelihood/likelihood.hpp"
#include "likelihood/tilted.hpp"
#include "math/quadrature.hpp"
#include "ep/fit.hpp"

namespace bayeskernel {

class GroupEvidence {
 public:
  // Beyond it the axes would cost more than the fit.
  static constexpr Index kMostColumns = 60;

  explicit GroupEvidence(const EpFit& fit)
      : fit_(fit),
        tilted_(fit.family()),
        rules_{Rule(8, fit), Rule(16, fit), Rule(24, fit)} {}

  // Labels, groups of one or two effects each; few columns beside them, without
  // which there is the part at the mean alone.
  static bool applies(const EpFit& fit) {
    return at_mean_applies(fit) && fit.rows().x_columns() <= kMostColumns;
  }
  static bool at_mean_applies(const EpFit& fit) {
    const RowSource& rows = fit.rows();
    const bool labels =
        fit.family() == Family::logit || fit.family() == Family::probit;
    return labels && rows.groups() > 0 && rows.z_columns() >= 1 &&
           rows.z_columns() <= 2 && fit.atoms() == nullptr &&
           fit.sites.mean.size() > 0;
  }

  // log(Z / Z_EP) at the q of the last pass, in two parts: at the mean of theta,
  // and what its axes add, which changes slowly from one variance to another.
  struct Missed {
    double at_mean = 0.0, axes = 0.0;
    double sum() const { return at_mean + axes; }
  };
  Missed operator()(bool axes = true) {
    const RowSource& rows = fit_.rows();
    const Index p = axes ? rows.x_columns() : 0;
    axes_ = std::sqrt(3.0) * fit_.posterior().whitener().topRows(p).transpose();
    group_axes_ = MatrixXd::Zero(rows.z_columns() * rows.groups(), p);
    if (p > 0) {
      group_axes_.noalias() = -fit_.system().loading().transpose() * axes_;
    }
    block_ = MatrixXd::Zero(2 * p + 1, rows.blocks());
    const Sweep sweep{rows, fit_.executor(), nullptr};
    sweep.run([&](Index block, Index) {
      Scratch scratch;
      for (const TileSpan& span : rows.block_tiles(block)) {
        // A group of thousands of rows knows its effect.
        if (rows.is_part(span)) continue;
        const Tile tile = rows.tile(span, scratch.buffer);
        scratch.shift = axes_.transpose() * tile.x;
        rows.for_groups(span, [&](Index g, Index begin, Index end) {
          // One row and its site are exact together.
          if (end - begin > 1) {
            add_group(span, tile, g, begin, end, scratch, block_.col(block));
          }
        });
      }
    });
    const VectorXd at = block_.rowwise().sum();
    Missed out{at[0], 0.0};
    for (Index k = 0; k < p; ++k) {
      out.axes += std::log((4.0 + std::exp(at[1 + k] - at[0]) +
                            std::exp(at[1 + p + k] - at[0])) / 6.0);
    }
    return out;
  }

 private:
  using Nodes = Eigen::ArrayXd;
  // Nodes at once; their number is a multiple of it.
  static constexpr int kBatch = 8;
  using Batch = Eigen::Array<double, kBatch, 1>;
  // As far as logarithms of products may go: neither these nor what they are
  // made of are too large then, or too small.
  static constexpr double kFarthest = 600.0;

  // So many nodes by effect, of two effects at most 16.
  struct Rule {
    MatrixXd node;  // r x nodes
    Nodes log_weight;

    Rule(Index n, const EpFit& fit) {
      const Index r = fit.rows().z_columns();
      if (r == 2) n = std::min<Index>(n, 16);
      const GaussHermite line(n);
      const Index nodes = r == 2 ? n * n : n;
      node.resize(r, nodes);
      log_weight.resize(nodes);
      for (Index k = 0; k < nodes; ++k) {
        node(0, k) = line.node[k % n];
        log_weight[k] = std::log(line.weight[k % n]);
        if (r == 2) {
          node(1, k) = line.node[k / n];
          log_weight[k] += std::log(line.weight[k / n]);
        }
      }
    }
  };

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
        fit_.system().group_inverse().middleCols(g * r, r));
    // Those of f in units of the effects; in steep places nodes have to be
    // close.
    scratch.along = root.matrixU() * z;
    const double steep = scratch.along.colwise().squaredNorm().maxCoeff();
    const Rule& rule = rules_[steep < 1.0 ? 0 : steep < 6.0 ? 1 : 2];
    scratch.across.noalias() = rule.node.transpose() * scratch.along;
    auto shift = scratch.shift.middleCols(begin, n);
    shift.noalias() += group_axes_.middleRows(g * r, r).transpose() * z;
    scratch.level.resize(2 * p + 1, n);
    scratch.level.rowwise() =
        fit_.sites.mean.segment(span.row_begin + begin, n).transpose();
    scratch.level.middleRows(1, p) += shift;
    scratch.level.bottomRows(p) -= shift;
    const double scale = add_messages(span.row_begin + begin, rule, scratch);
    add_rows(tile, begin, scratch);
    for (Index k = 0; k < out.size(); ++k) {
      const auto sum = scratch.sum.col(k).array();
      const double most = sum.maxCoeff();
      out[k] += most - scale +
                std::log(((sum - most).exp() /
                          scratch.product.col(k).array()).sum());
    }
  }

  // Their exponents at all nodes and points, and log E_q of p over them.
  double add_messages(Index first, const Rule& rule, Scratch& scratch) const {
    const Index n = scratch.level.cols();
    scratch.kappa.resize(n);
    scratch.b.resize(n);
    double scale = 0.0;
    for (Index i = 0; i < n; ++i) {
      const auto [kappa, b] = message(first + i);
      scratch.kappa[i] = kappa;
      scratch.b[i] = b;
      scale += log_scale(first + i);
    }
    // (kappa f / 2 - b) f, f = across + level.
    const auto kappa = scratch.kappa.asDiagonal();
    scratch.level_power.noalias() = scratch.level * kappa;
    scratch.level_power.rowwise() -= scratch.b.transpose();
    scratch.sum.noalias() =
        rule.node.transpose() *
        (scratch.along * scratch.level_power.transpose()).eval();
    scratch.level_power.rowwise() -= scratch.b.transpose();
    scratch.sum.rowwise() +=
        0.5 * scratch.level.cwiseProduct(scratch.level_power)
                  .rowwise().sum().transpose();
    scratch.sum.colwise() +=
        rule.log_weight.matrix() +
        0.5 * scratch.across.cwiseAbs2() * scratch.kappa;
    return scale;
  }

  // log p(y | f)^w of rows. That of a logit row of weight one is
  // -log(1 + e^-yf): of such rows the product is taken, with e^-yf as a product
  // of two numbers.
  void add_rows(const Tile& tile, Index begin, Scratch& scratch) const {
    const Index n = scratch.level.cols();
    scratch.product.setOnes(scratch.sum.rows(), scratch.sum.cols());
    const bool logit = fit_.family() == Family::logit;
    if (logit) {
      const auto minus = (-tile.y.segment(begin, n)).asDiagonal();
      scratch.across_power.noalias() = scratch.across * minus;
      scratch.level_power.noalias() = scratch.level * minus;
      for (MatrixXd* power : {&scratch.across_power, &scratch.level_power}) {
        power->array() = power->array().exp();
      }
    }
    double reach = 0.0;  // of the logarithm of the product
    Index first = 0;
    for (Index i = 0; i < n; ++i) {
      const double most = 1.0 + scratch.across.col(i).cwiseAbs().maxCoeff() +
                          scratch.level.col(i).cwiseAbs().maxCoeff();
      const double w = tile.weight[begin + i];
      const double residual = tile.residual_of(begin + i);
      const bool factor =
          logit && w == 1.0 && residual == 0.0 && !(most > kFarthest);
      if (reach > 0.0 && (!factor || reach + most > kFarthest)) {
        multiply(first, i, scratch);
        first = i;
        scratch.sum.array() -= scratch.product.array().log();
        scratch.product.setOnes();
        reach = 0.0;
      }
      if (factor) {
        reach += most;
      } else {
        add_row(tile.y[begin + i], w, residual, i, scratch);
        first = i + 1;
      }
    }
    multiply(first, n, scratch);
  }

  // The product by the factors of the rows first .. last - 1.
  static void multiply(Index first, Index last, Scratch& scratch) {
    for (Index k = 0; k < scratch.product.cols(); ++k) {
      for (Index q = 0; q < scratch.product.rows(); q += kBatch) {
        Batch product = scratch.product.col(k).segment<kBatch>(q);
        for (Index i = first; i < last; ++i) {
          product *= 1.0 + scratch.level_power(k, i) *
                               scratch.across_power.col(i)
                                   .segment<kBatch>(q).array();
        }
        scratch.product.col(k).segment<kBatch>(q) = product;
      }
    }
  }

  void add_row(double y, double w, double residual, Index i,
               Scratch& scratch) const {
    for (Index k = 0; k < scratch.sum.cols(); ++k) {
      scratch.f = scratch.across.col(i).array() + scratch.level(k, i);
      const Nodes& f = scratch.f;
      auto sum = scratch.sum.col(k).array();
      if (residual > 0.0) {
        for (Index q = 0; q < f.size(); ++q) {
          sum[q] += tilted_(y, w, f[q], residual, 1.0).log_z;
        }
      } else {
        MarginArray<kBatch> at;
        for (Index q = 0; q < f.size(); q += kBatch) {
          margin_terms<kBatch>(fit_.family(), y * f.segment<kBatch>(q), at);
          sum.segment<kBatch>(q) += w * at.value;
        }
      }
    }
  }

  struct Message {
    double kappa, b;
  };
  // That which q was made of.
  Message message(Index i) const {
    const SiteRows& sites = fit_.sites;
    const double s = sites.variance[i], v = sites.cavity_variance[i];
    return {(v - s) / (s * v),
            sites.mean[i] / s - sites.cavity_mean[i] / v};
  }

  // log E_q of p over the message.
  double log_scale(Index i) const {
    const SiteRows& sites = fit_.sites;
    const double m = sites.mean[i], s = sites.variance[i];
    const auto [kappa, b] = message(i);
    const double share = share_of_others(kappa, s);
    return sites.log_z[i] - 0.5 * std::log(share) +
           0.5 * ((kappa * m - 2.0 * b) * m + b * b * s) / share;
  }

  const EpFit& fit_;
  TiltedMoments tilted_;
  Rule rules_[3];
  MatrixXd axes_;        // of theta, columns x p
  MatrixXd group_axes_;  // what effects move along them, r G x p
  MatrixXd block_;       // points x blocks
};

}  // namespace bayeskernel

#endif
