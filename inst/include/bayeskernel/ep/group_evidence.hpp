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

#include "../data/sweep.hpp"
#include "../family/likelihood.hpp"
#include "../family/tilted.hpp"
#include "../math/quadrature.hpp"
#include "fit.hpp"

namespace bayeskernel {

class GroupEvidence {
 public:
  // Beyond it the axes would cost more than the fit.
  static constexpr Index kMostColumns = 60;

  explicit GroupEvidence(const EpFit& fit)
      : fit_(fit),
        tilted_(fit.family()),
        rules_{Rule(8, fit), Rule(16, fit), Rule(24, fit)} {}

  // Labels, groups of one or two effects each, few columns beside them.
  static bool applies(const EpFit& fit) {
    const RowSource& rows = fit.rows();
    const bool labels =
        fit.family() == Family::logit || fit.family() == Family::probit;
    return labels && rows.groups() > 0 && rows.z_columns() >= 1 &&
           rows.z_columns() <= 2 && rows.x_columns() <= kMostColumns &&
           fit.atoms() == nullptr && fit.sites.mean.size() > 0;
  }

  // log(Z / Z_EP) at the q of the last pass, in two parts: at the mean of theta,
  // and what its axes add, which changes slowly from one variance to another.
  struct Missed {
    double at_mean = 0.0, axes = 0.0;
    double sum() const { return at_mean + axes; }
  };
  Missed operator()(bool axes = true) {
    const RowSource& rows = fit_.rows();
    const Index r = rows.z_columns();
    const Index p = axes ? rows.x_columns() : 0;
    const double step = std::sqrt(3.0);
    shift_ = MatrixXd::Zero(rows.x_columns(), 2 * p + 1);
    for (Index k = 0; k < p; ++k) {
      const auto axis = fit_.posterior().whitener().row(k).transpose();
      shift_.col(2 * k + 1) = step * axis;
      shift_.col(2 * k + 2) = -step * axis;
    }
    group_shift_.resize(r * rows.groups(), 2 * p + 1);
    if (rows.x_columns() > 0) {
      group_shift_.noalias() =
          -fit_.system().loading().transpose() * shift_;
    } else {
      group_shift_.setZero();
    }
    block_ = MatrixXd::Zero(2 * p + 1, rows.blocks());
    const Sweep sweep{rows, fit_.executor(), nullptr};
    sweep.run([&](Index block, Index) {
      Scratch scratch;
      for (const TileSpan& span : rows.block_tiles(block)) {
        // A group of thousands of rows knows its effect.
        if (rows.is_part(span)) continue;
        const Tile tile = rows.tile(span, scratch.buffer);
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
      out.axes += std::log((4.0 + std::exp(at[2 * k + 1] - at[0]) +
                            std::exp(at[2 * k + 2] - at[0])) / 6.0);
    }
    return out;
  }

 private:
  using Nodes = Eigen::ArrayXd;
  // Nodes at once; their number is a multiple of it.
  static constexpr int kBatch = 8;

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
    MatrixXd along, across;  // root'z, r x rows; at the nodes, nodes x rows
    Nodes sum, f, product;
  };

  template <class Column>
  void add_group(const TileSpan& span, const Tile& tile, Index g, Index begin,
                 Index end, Scratch& scratch, Column&& out) const {
    const Index r = tile.z.rows();
    const Eigen::LLT<MatrixXd> root(
        fit_.system().group_inverse().middleCols(g * r, r));
    // Those of f in units of the effects; in steep places nodes have to be
    // close.
    scratch.along = root.matrixU() * tile.z.middleCols(begin, end - begin);
    const double steep = scratch.along.colwise().squaredNorm().maxCoeff();
    const Rule& rule = rules_[steep < 1.0 ? 0 : steep < 6.0 ? 1 : 2];
    scratch.across.noalias() = rule.node.transpose() * scratch.along;
    double scale = 0.0;
    for (Index i = begin; i < end; ++i) scale += log_scale(span.row_begin + i);
    for (Index k = 0; k < shift_.cols(); ++k) {
      scratch.sum = rule.log_weight;
      scratch.product.setOnes(scratch.sum.size());
      for (Index i = begin; i < end; ++i) {
        double f = fit_.sites.mean[span.row_begin + i] +
                   tile.z.col(i).dot(group_shift_.col(k).segment(g * r, r));
        if (tile.x.rows() > 0) f += tile.x.col(i).dot(shift_.col(k));
        scratch.f = scratch.across.col(i - begin).array() + f;
        add_row(span.row_begin + i, tile.y[i], tile.weight[i],
                tile.residual_of(i), scratch);
        // Each factor is at most 2.
        if ((i - begin) % 512 == 511) take_product(scratch);
      }
      take_product(scratch);
      const double most = scratch.sum.maxCoeff();
      out[k] += most + std::log((scratch.sum - most).exp().sum()) - scale;
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

  // log p(y | f)^w over the message. That of a logit row of weight one is
  // min(t, 0) - log(1 + e^-|t|), t = y f, whose logarithms are taken at once.
  void add_row(Index i, double y, double w, double residual,
               Scratch& scratch) const {
    const auto [kappa, b] = message(i);
    const Nodes& f = scratch.f;
    scratch.sum += (0.5 * kappa * f - b) * f;
    if (residual > 0.0) {
      for (Index k = 0; k < f.size(); ++k) {
        scratch.sum[k] += tilted_(y, w, f[k], residual, 1.0).log_z;
      }
    } else if (fit_.family() == Family::logit && w == 1.0) {
      scratch.sum += (y * f).min(0.0);
      scratch.product *= 1.0 + (-f.abs()).exp();
    } else {
      MarginArray<kBatch> at;
      for (Index k = 0; k < f.size(); k += kBatch) {
        margin_terms<kBatch>(fit_.family(), y * f.segment<kBatch>(k), at);
        scratch.sum.segment<kBatch>(k) += w * at.value;
      }
    }
  }

  static void take_product(Scratch& scratch) {
    scratch.sum -= scratch.product.log();
    scratch.product.setOnes();
  }

  const EpFit& fit_;
  TiltedMoments tilted_;
  Rule rules_[3];
  MatrixXd shift_;        // p x points
  MatrixXd group_shift_;  // r G x points
  MatrixXd block_;        // points x blocks
};

}  // namespace bayeskernel

#endif
