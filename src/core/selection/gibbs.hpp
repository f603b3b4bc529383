// Selection steps of a Gibbs sweep: gamma with theta and u integrated out, (theta, u) jointly over the columns that are in,
// then b, sigma_v^2 and rho. After the pass over the rows that leaves the Gram:
// elimination of the groups G p^2 r, of the columns that are always in, one
// visit O(1), one change O(K^2), theta q^3 / 3.
#ifndef BAYESKERNEL_SELECTION_GIBBS_HPP
#define BAYESKERNEL_SELECTION_GIBBS_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "linear/gibbs.hpp"
#include "linear/groups.hpp"
#include "math/tableau.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"
#include "selection/active_tableau.hpp"
#include "prior/indicators.hpp"

namespace bayeskernel {

// K entries each, in the order of Selection::columns, equal over the columns of
// a unit where they are of its indicator. Effects gamma v are part of theta, 0
// when out; v of a column that is out is never formed.
struct SelectionState {
  VectorXd in;           // gamma, 0 or 1
  VectorXd b;            // v_k ~ N(0, 1 / (b_k precision))
  double precision = 1;  // 1 / sigma_v^2
  double logit_rho = 0;
  VectorXd probability;  // of gamma_k = 1 when last visited
};

class SelectionGibbs {
 public:
  // `wide`: the rows of a model with more columns than these, p x n, which
  // stay; its chain keeps the weights of the rows and sums no Gram.
  SelectionGibbs(const Selection& selection, const Prior& prior,
                 Index groups_width, Index groups, std::uint64_t seed,
                 std::uint64_t chain, const MatrixXd* wide = nullptr)
      : selection_(selection),
        prior_(prior),
        groups_(prior.columns(), groups_width, groups),
        tableau_(wide == nullptr ? selection.size() : 0) {
    const Index size = selection.size(), p = prior.columns();
    std::vector<char> selected(p, 0);
    for (const Index k : selection.columns) selected[k] = 1;
    for (Index k = 0; k < p; ++k) {
      if (!selected[k]) always_.push_back(k);
    }
    const Index kept = static_cast<Index>(always_.size());
    units_ = selection.units;
    for (Index k = 0; selection.units.empty() && k < size; ++k) {
      units_.push_back({k});
    }
    order_.resize(units_.size());
    start(seed, chain);
    if (wide != nullptr) {
      wide_ = std::make_unique<ActiveTableau>(*wide);
      return;
    }
    schur_.resize(p, p);
    shift_.resize(p);
    kept_.resize(kept, kept);
    kept_shift_.resize(kept);
    cross_.resize(kept, size);
    reduced_.resize(size, size);
    reduced_shift_.resize(size);
    active_.resize(size, size);
    active_shift_.resize(size);
    in_.reserve(size);
  }

  // Whether a chain may take the form for more columns than rows: no groups, no
  // blocks, and rows that stay as they are.
  static bool wide(const PackedRows& rows, const Prior& prior,
                   bool rows_change) {
    return rows.x_columns() > rows.rows() && rows.groups() == 0 &&
           prior.blocks.empty() && !rows_change;
  }

  SelectionState state;

  // gamma, then theta and u of `chain`, whose latent_pass() was the last step.
  void draw_coefficients(GibbsChain& chain) {
    if (wide_) {
      draw_wide(chain);
      return;
    }
    reduce(chain);
    eliminate_kept();
    draw_indicators(chain);
    Stream stream(chain.seed(), chain.chain(), Purpose::coefficients,
                  chain.state.sweep, 0);
    draw_theta(stream, chain.state.point.x);
    groups_.back_substitute(chain.sums().linear, chain.state.point);
    groups_.add_noise([&] { return stream.normal(); }, chain.state.point);
  }

  // The most that a factorisation had to add to a diagonal.
  double jitter() const { return jitter_; }

  // b_k = 1 / a, a ~ GIG(1/2, 1, (v_k / sigma_v)^2), for columns that are in,
  // from the prior IG(1, 1/2) for the others, which tell sigma_v nothing.
  void draw_scales(GibbsChain& chain) {
    Stream stream(chain.seed(), chain.chain(), Purpose::selection,
                  chain.state.sweep, 1);
    const double root = std::sqrt(state.precision);
    double moment = 0.0, count = 0.0, units_in = 0.0;
    for (Index k = 0; k < selection_.size(); ++k) {
      if (state.in[k] == 0.0) {
        state.b[k] = 0.5 / std::max(stream.exponential(), 1e-30);
        continue;
      }
      const double v = chain.state.point.x[selection_.columns[k]];
      state.b[k] = 1.0 / hinge_latent(stream, std::abs(v) * root);
      moment += state.b[k] * v * v;
      count += 1.0;
    }
    state.precision =
        selection_.variance().draw(stream, count, moment, state.precision);
    if (selection_.learn_rho) {
      for (const auto& unit : units_) units_in += state.in[unit[0]];
      const double out =
          static_cast<double>(units_.size()) - units_in +
          static_cast<double>(selection_.hidden_units);
      const double log_in =
          log_gamma_variate(stream, selection_.rho_in + units_in);
      state.logit_rho =
          log_in - log_gamma_variate(stream, selection_.rho_out + out);
    }
  }

 private:
  // Few units: a fair coin for each, so that chains start apart. Many: empty,
  // which the first sweeps fill faster than they would clear a crowd.
  void start(std::uint64_t seed, std::uint64_t chain) {
    constexpr std::size_t kFew = 500;
    const Index size = selection_.size();
    Stream stream(seed, chain, Purpose::init, 0, 1);
    state.in = VectorXd::Zero(size);
    for (std::size_t j = 0; j < units_.size() && units_.size() <= kFew; ++j) {
      const double in = stream.uniform() < 0.5 ? 1.0 : 0.0;
      for (const Index k : units_[j]) state.in[k] = in;
    }
    state.b = VectorXd::Ones(size);
    state.precision = std::exp(-2.0 * std::abs(stream.normal()));
    state.probability = VectorXd::Zero(size);
    const double rho =
        selection_.learn_rho
            ? selection_.rho_in / (selection_.rho_in + selection_.rho_out)
            : selection_.rho;
    state.logit_rho = std::log(rho) - std::log1p(-rho);
  }

  // schur_, shift_ = precision and shift of theta with u integrated out.
  void reduce(const GibbsChain& chain) {
    const Curvature& curvature = chain.sums().curvature;
    schur_ = curvature.gram;
    shift_ = chain.sums().linear.x;
    prior_.add_precision(chain.state.precision, schur_);
    for (Index k = 0; k < selection_.size(); ++k) {
      const Index at = selection_.columns[k];
      schur_(at, at) += state.b[k] * state.precision;
    }
    if (groups_.count() == 0) return;
    groups_.factor(curvature,
                   prior_.eliminated_precision(chain.state.precision));
    groups_.subtract_from(curvature, schur_);
    groups_.subtract_from(chain.sums().linear, shift_);
  }

  // reduced_, reduced_shift_: with the columns that are always in integrated
  // out as well, cross_ = L^-1 A_ks of their factor.
  void eliminate_kept() {
    const Index size = selection_.size();
    const Index kept = static_cast<Index>(always_.size());
    const auto entry = [&](Index i, Index j) {
      return schur_(std::max(i, j), std::min(i, j));
    };
    for (Index j = 0; j < size; ++j) {
      const Index at = selection_.columns[j];
      for (Index i = j; i < size; ++i) {
        reduced_(i, j) = entry(selection_.columns[i], at);
      }
      for (Index i = 0; i < kept; ++i) cross_(i, j) = entry(always_[i], at);
      reduced_shift_[j] = shift_[at];
    }
    if (kept == 0) return;
    for (Index j = 0; j < kept; ++j) {
      for (Index i = j; i < kept; ++i) {
        kept_(i, j) = entry(always_[i], always_[j]);
      }
      kept_shift_[j] = shift_[always_[j]];
    }
    factor(kept_, kept_llt_);
    kept_llt_.matrixL().solveInPlace(cross_);
    kept_llt_.matrixL().solveInPlace(kept_shift_);
    reduced_.selfadjointView<Eigen::Lower>().rankUpdate(cross_.transpose(),
                                                        -1.0);
    reduced_shift_.noalias() -= cross_.transpose() * kept_shift_;
  }

  // The same steps over the columns that are in alone.
  void draw_wide(GibbsChain& chain) {
    VectorXd lambda = prior_.precision;
    std::vector<Index> members = always_;
    for (Index k = 0; k < selection_.size(); ++k) {
      const Index at = selection_.columns[k];
      lambda[at] = state.b[k] * state.precision;
      if (state.in[k] != 0.0) members.push_back(at);
    }
    const Eigen::Map<const VectorXd> kappa(chain.messages().kappa,
                                           chain.rows());
    jitter_ = std::max(jitter_, wide_->build(kappa, chain.sums().linear.x,
                                             lambda, std::move(members)));
    visit(chain, [&](Index k) { return selection_.columns[k]; }, *wide_);
    VectorXd& theta = chain.state.point.x;
    theta.setZero();
    Stream stream(chain.seed(), chain.chain(), Purpose::coefficients,
                  chain.state.sweep, 0);
    jitter_ = std::max(jitter_,
                       wide_->draw([&] { return stream.normal(); }, theta));
  }

  // Every indicator once, in random order.
  void draw_indicators(const GibbsChain& chain) {
    list_active();
    tableau_.build(reduced_, reduced_shift_, in_);
    visit(chain, [](Index k) { return k; }, tableau_);
    list_active();
  }

  // `place` of an indicator's column in the tableau.
  template <class Place, class T>
  void visit(const GibbsChain& chain, Place&& place, T& tableau) {
    Stream stream(chain.seed(), chain.chain(), Purpose::selection,
                  chain.state.sweep, 0);
    const Index size = static_cast<Index>(units_.size());
    for (Index j = 0; j < size; ++j) order_[j] = j;
    for (Index left = size; left > 0; --left) {
      const Index pick = uniform_index(stream, left);
      std::swap(order_[left - 1], order_[pick]);
      const std::vector<Index>& unit = units_[order_[left - 1]];
      // With theta and u integrated out, given the others.
      const bool single = unit.size() == 1;
      double log_odds = state.logit_rho;
      for (const Index k : unit) {
        log_odds += 0.5 * std::log(state.b[k] * state.precision);
        log_odds += tableau.log_ratio(place(k));
        // The ratio of a unit is that of its columns one after another.
        if (!single) tableau.sweep(place(k));
      }
      const double probability = 1.0 / (1.0 + std::exp(-log_odds));
      const bool in = stream.uniform() < probability;
      for (const Index k : unit) {
        state.probability[k] = probability;
        state.in[k] = in ? 1.0 : 0.0;
        if (in == tableau.in(place(k))) continue;
        if (!single) tableau.log_ratio(place(k));
        tableau.sweep(place(k));
      }
    }
  }

  void list_active() {
    in_.clear();
    for (Index k = 0; k < selection_.size(); ++k) {
      if (state.in[k] != 0.0) in_.push_back(k);
    }
  }

  // The columns that are in first, then the others given them.
  void draw_theta(Stream& stream, VectorXd& theta) {
    const Index q = static_cast<Index>(in_.size());
    for (const Index at : selection_.columns) theta[at] = 0.0;
    if (q > 0) {
      auto precision = active_.topLeftCorner(q, q);
      auto draw = active_shift_.head(q);
      for (Index j = 0; j < q; ++j) {
        for (Index i = j; i < q; ++i) {
          precision(i, j) = reduced_(in_[i], in_[j]);
        }
        draw[j] = reduced_shift_[in_[j]];
      }
      factor(precision, active_llt_);
      active_llt_.matrixL().solveInPlace(draw);
      for (Index j = 0; j < q; ++j) draw[j] += stream.normal();
      active_llt_.matrixU().solveInPlace(draw);
      for (Index j = 0; j < q; ++j) {
        theta[selection_.columns[in_[j]]] = draw[j];
        kept_shift_.noalias() -= draw[j] * cross_.col(in_[j]);
      }
    }
    if (always_.empty()) return;
    for (Index j = 0; j < kept_shift_.size(); ++j) {
      kept_shift_[j] += stream.normal();
    }
    kept_llt_.matrixU().solveInPlace(kept_shift_);
    for (std::size_t j = 0; j < always_.size(); ++j) {
      theta[always_[j]] = kept_shift_[static_cast<Index>(j)];
    }
  }

  void factor(Eigen::Ref<MatrixXd> a, Eigen::LLT<MatrixXd>& llt) {
    jitter_ = std::max(jitter_, jittered_cholesky(a, llt));
  }

  const Selection& selection_;
  const Prior& prior_;
  std::vector<Index> always_;  // columns of x that are always in
  std::vector<std::vector<Index>> units_;  // columns by indicator
  EliminatedGroups groups_;
  double jitter_ = 0.0;
  MatrixXd schur_, kept_, cross_, reduced_, active_;
  VectorXd shift_, kept_shift_, reduced_shift_, active_shift_;
  Eigen::LLT<MatrixXd> kept_llt_, active_llt_;
  Tableau tableau_;
  std::unique_ptr<ActiveTableau> wide_;
  std::vector<Index> in_, order_;
};

}  // namespace bayeskernel

#endif
