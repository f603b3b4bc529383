#include "selection/gibbs.hpp"

#include "math/cholesky.hpp"
#include "prior/variance_prior.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
SelectionGibbs::SelectionGibbs(const Selection& selection, const Prior& prior,
                               Index groups_width, Index groups,
                               std::uint64_t seed, std::uint64_t chain,
                               const MatrixXd* wide)
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
  const Index kept = count_of(always_);
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

bool SelectionGibbs::wide(const PackedRows& rows, const Prior& prior,
                          bool rows_change) {
  return rows.x_columns() > rows.rows() && rows.groups() == 0 &&
         prior.blocks.empty() && !rows_change;
}

void SelectionGibbs::draw_coefficients(GibbsChain& chain) {
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

void SelectionGibbs::draw_scales(GibbsChain& chain) {
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
    const double out = static_cast<double>(units_.size()) - units_in +
                       static_cast<double>(selection_.hidden_units);
    const double log_in =
        log_gamma_variate(stream, selection_.rho_in + units_in);
    state.logit_rho =
        log_in - log_gamma_variate(stream, selection_.rho_out + out);
  }
}

void SelectionGibbs::reduce(const GibbsChain& chain) {
  const Curvature& curvature = chain.sums().curvature;
  schur_ = curvature.gram;
  shift_ = chain.sums().linear.x;
  prior_.add_precision(chain.state.precision, schur_);
  for (Index k = 0; k < selection_.size(); ++k) {
    const Index at = selection_.columns[k];
    schur_(at, at) += state.b[k] * state.precision;
  }
  if (groups_.count() == 0) return;
  groups_.factor(curvature, prior_.eliminated_precision(chain.state.precision));
  groups_.subtract_from(curvature, schur_);
  groups_.subtract_from(chain.sums().linear, shift_);
}

void SelectionGibbs::eliminate_kept() {
  const Index size = selection_.size();
  const Index kept = count_of(always_);
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
  reduced_.selfadjointView<Eigen::Lower>().rankUpdate(cross_.transpose(), -1.0);
  reduced_shift_.noalias() -= cross_.transpose() * kept_shift_;
}

void SelectionGibbs::draw_wide(GibbsChain& chain) {
  VectorXd lambda = prior_.precision;
  std::vector<Index> members = always_;
  for (Index k = 0; k < selection_.size(); ++k) {
    const Index at = selection_.columns[k];
    lambda[at] = state.b[k] * state.precision;
    if (state.in[k] != 0.0) members.push_back(at);
  }
  const VectorMap kappa(chain.messages().kappa, chain.rows());
  jitter_ = std::max(jitter_, wide_->build(kappa, chain.sums().linear.x, lambda,
                                           std::move(members)));
  visit(
      chain, [&](Index k) { return selection_.columns[k]; }, *wide_);
  VectorXd& theta = chain.state.point.x;
  theta.setZero();
  Stream stream(chain.seed(), chain.chain(), Purpose::coefficients,
                chain.state.sweep, 0);
  jitter_ =
      std::max(jitter_, wide_->draw([&] { return stream.normal(); }, theta));
}

void SelectionGibbs::draw_indicators(const GibbsChain& chain) {
  list_active();
  tableau_.build(reduced_, reduced_shift_, in_);
  visit(
      chain, [](Index k) { return k; }, tableau_);
  list_active();
}

void SelectionGibbs::list_active() {
  in_.clear();
  for (Index k = 0; k < selection_.size(); ++k) {
    if (state.in[k] != 0.0) in_.push_back(k);
  }
}

void SelectionGibbs::draw_theta(Stream& stream, VectorXd& theta) {
  const Index q = count_of(in_);
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

void SelectionGibbs::factor(Eigen::Ref<MatrixXd> a, Eigen::LLT<MatrixXd>& llt) {
  jitter_ = std::max(jitter_, jittered_cholesky(a, llt));
}

void SelectionGibbs::start(std::uint64_t seed, std::uint64_t chain) {
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
}  // namespace bayeskernel
