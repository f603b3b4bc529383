#include "multinomial/mean_field.hpp"

#include <numeric>
#include <type_traits>

#include "error.hpp"
#include "math/special.hpp"
#include "simd/gram.hpp"

namespace bayeskernel {
MultinomialResult MultinomialFit::run(const Design& design,
                                      const KeepGoing& keep_going,
                                      const MultinomialStart* start,
                                      const MatrixXd* beyond) {
  design_ = &design;
  beyond_ = beyond;
  begin(start);
  MultinomialResult result;
  std::optional<Anderson> anderson;
  Inputs input = next_;
  MatrixXd before;
  bool extrapolated = false, anew = false;
  const bool accelerate = set_.accelerate && !set_.point_moment;
  // The fixed point of a concave function, of W alone, bears a longer memory.
  const int memory = set_.scales == LatentScales::fixed ? 8 : 3;
  // Easy ones need no curvature, and later ones are each worth more passes.
  constexpr int kFirstCurvature = 10, kCurvatures = 4;
  int curvature_at = kFirstCurvature, curvatures = 0;
  const bool curved = accelerate && set_.scales == LatentScales::fixed &&
                      beyond_ == nullptr && !set_.sparse;
  double best = -std::numeric_limits<double>::infinity();
  while (true) {
    iterate(input);
    ++result.passes;
    result.by_qr = result.by_qr || by_qr_;
    if (extrapolated && !(best - bound_ <= 1e-9 * (1.0 + std::abs(best)))) {
      ++result.rejected;  // the plain step from where that began
      anderson.reset();
      extrapolated = false;
      input = next_;
      continue;
    }
    check_fall(best, result);
    if (result.lost_digits) break;
    // Without some of its regressors it is another bound.
    if (anew) result.bound.clear();
    const bool pruned = anew = accept();
    if (pruned) anderson.reset();
    result.bound.push_back(bound_);
    const double change =
        before.size() > 0 ? (mean_ - before).cwiseAbs().maxCoeff() : kInfinity;
    before = mean_;
    const bool still =
        !pruned &&
        std::abs(bound_ - best) <= set_.tolerance * std::abs(bound_) &&
        change <= set_.weight_tolerance;
    best = pruned ? -kInfinity : bound_;
    if (still && !extrapolated) {
      result.converged = true;
      break;
    }
    if (result.passes >= set_.max_passes) break;
    if (!keep_going({static_cast<double>(result.passes),
                     static_cast<double>(set_.max_passes), "vb"})) {
      result.interrupted = true;
      break;
    }
    if (curved && !still && !by_qr_ && result.passes >= curvature_at &&
        curvatures < kCurvatures) {
      if (find_curvature()) anderson.reset();
      ++curvatures;
      curvature_at = 2 * result.passes;
    }
    if (accelerate && !still && !by_qr_) {
      extrapolated = extrapolate(memory, anderson, input);
    } else {
      extrapolated = false;
      input = next_;
    }
  }
  result.active = active_count();
  return result;
}

void MultinomialFit::check_fall(double best, MultinomialResult& result) const {
  const double fall = best - bound_;
  const bool rounding = fall <= 1e-9 * (1.0 + std::abs(best));
  if (!rounding && !std::isfinite(bound_) && best == -kInfinity) {
    throw NumericError("the bound of the first step is not finite");
  }
  if (rounding ? fall > 0.0 : !set_.point_moment) {
    result.largest_fall = std::max(result.largest_fall, fall);
  }
  result.lost_digits = !rounding && !set_.point_moment &&
                       !(fall <= 1e-6 * (1.0 + std::abs(best)));
}

bool MultinomialFit::extrapolate(int memory, std::optional<Anderson>& anderson,
                                 Inputs& input) {
  VectorXd from, to;
  pack(input, from);
  Inputs step = next_;
  if (!curved_.empty()) curved_step(input, step);
  pack(step, to);
  if (!anderson) anderson.emplace(to.size(), to.size(), memory);
  const bool out = anderson->combine(from, to) || !curved_.empty();
  input = next_;
  if (out) unpack(to, input);
  return out;
}

RegressionFactor MultinomialFit::factor(Index c) const {
  RegressionFactor out;
  out.compute(gram_, used_.row(shared() ? 0 : c).transpose(), active(c),
              tall_design());
  return out;
}

void MultinomialFit::begin(const MultinomialStart* start) {
  const Index m = design_->regressors(), n = design_->rows();
  if (powers() && set_.power.size() != n) {
    throw ArgumentError("not a power for each object");
  }
  gram_ = design_->gram(executor_, set_.power);
  if (powers() && design_->kept()) {
    tall_ = design_->matrix() * set_.power.cwiseSqrt().asDiagonal();
  }
  if (beyond_ != nullptr) gram_ += *beyond_;
  const Index rows = shared() ? 1 : c_;
  active_.assign(rows, std::vector<Index>(m));
  for (auto& each : active_) std::iota(each.begin(), each.end(), Index{0});
  fixed_ready_ = false;
  curved_.clear();
  mean_ = MatrixXd::Zero(c_, m);
  y_.resize(c_, n);
  next_.alpha = start != nullptr && start->alpha.rows() == rows &&
                        start->alpha.cols() == m
                    ? start->alpha
                    : MatrixXd::Constant(rows, m, set_.alpha0);
  const bool known = start != nullptr && start->y.cols() == n;
  if (known) {
    y_ = start->y;
    product(next_.s);
  } else {
    latent(next_.s);
  }
  accepted_y_ = y_;
}

void MultinomialFit::iterate(const Inputs& input) {
  regress(input);
  double prior = set_.scales == LatentScales::fixed ? fixed_terms() : scales();
  double trace = 0.0;
  for (Index c = 0; c < c_; ++c) {
    const Index r = shared() ? 0 : c;
    for (const Index k : active_[r]) {
      trace += 1.0 - used_(r, k) * variance_(c, k);
    }
  }
  const double log_z = latent(proposed_s_);
  bound_ = log_z - 0.5 * trace + regression_terms_ + prior;
  if (beyond_ != nullptr) {
    bound_ -= 0.5 * (mean_ * *beyond_).cwiseProduct(mean_).sum();
  }
}

bool MultinomialFit::find_curvature() {
  const Index m = design_->regressors(), n = design_->rows();
  MatrixXd bend(c_, n);
  executor_.run(design_->tiles(), [&](Index t) {
    auto loan = pool_.borrow();
    Scratch& scratch = *loan;
    if (!scratch.rule) scratch.rule.emplace(c_, set_.nodes);
    const auto k = design_->tile(t, scratch.design);
    scratch.mean.noalias() = mean_ * k;
    for (Index i = 0; i < k.cols(); ++i) {
      const Index at = design_->begin(t) + i;
      scratch.rule->curvature(scratch.mean.col(i).data(), t_[at],
                              bend.col(at).data());
      if (powers()) bend.col(at) *= set_.power[at];
    }
  });
  const MatrixXd& tall = design_->kept() ? design_->matrix() : none_;
  curved_.resize(static_cast<std::size_t>(c_));
  executor_.run(c_, [&](Index c) {
    auto loan = pool_.borrow();
    const VectorXd h = bend.row(c);
    MatrixXd gram = MatrixXd::Zero(m, m), scratch;
    for (Index t = 0; t < design_->tiles(); ++t) {
      weighted_gram(design_->tile(t, (*loan).design),
                    h.segment(design_->begin(t), design_->columns(t)), scratch,
                    gram);
    }
    curved_[c].compute(gram, used_.row(0).transpose(), active_[0], tall);
  });
  for (const RegressionFactor& each : curved_) {
    if (each.by_qr()) curved_.clear();
    if (curved_.empty()) return false;
  }
  return true;
}

void MultinomialFit::curved_step(const Inputs& input, Inputs& out) {
  MatrixXd step(c_, design_->regressors());
  executor_.run(c_, [&](Index c) {
    const VectorXd slope = (next_.s.row(c) - input.s.row(c)).transpose();
    step.row(c) = 0.5 * curved_[c].mean(slope, VectorXd()).transpose();
  });
  // What all classes have alike is nothing to log Z, and 0 at the top.
  step.rowwise() -= Eigen::RowVectorXd(step.colwise().mean());
  out.s = input.s + step * gram_ + step * used_.row(0).asDiagonal();
}

void MultinomialFit::regress(const Inputs& input) {
  const Index m = design_->regressors();
  used_ = input.alpha;
  mean_.resize(c_, m);
  variance_.resize(c_, m);
  regression_terms_ = 0.0;
  by_qr_ = false;
  const auto take = [&](const RegressionFactor& factor, Index c) {
    mean_.row(c) =
        factor.mean(input.s.row(c).transpose(), tall_response(c)).transpose();
    variance_.row(c) = factor.variance().transpose();
  };
  const auto terms = [&](const RegressionFactor& factor) {
    return 0.5 *
           (static_cast<double>(factor.active().size()) + factor.log_det());
  };
  if (shared()) {
    if (!(set_.scales == LatentScales::fixed && fixed_ready_)) {
      common_.compute(gram_, used_.row(0).transpose(), active_[0],
                      tall_design());
      fixed_ready_ = true;
    }
    executor_.run(c_, [&](Index c) { take(common_, c); });
    regression_terms_ = static_cast<double>(c_) * terms(common_);
    by_qr_ = common_.by_qr();
    return;
  }
  VectorXd term(c_);
  std::vector<char> qr(c_);
  executor_.run(c_, [&](Index c) {
    auto factor = factors_.borrow();
    (*factor).compute(gram_, used_.row(c).transpose(), active_[c],
                      tall_design());
    take(*factor, c);
    term[c] = terms(*factor);
    qr[c] = (*factor).by_qr();
  });
  regression_terms_ = term.sum();
  for (const char each : qr) by_qr_ = by_qr_ || each;
}

double MultinomialFit::fixed_terms() {
  alpha_ = used_;
  double out = 0.0;
  for (Index c = 0; c < c_; ++c) {
    for (const Index k : active_[0]) {
      const double alpha = used_(0, k);
      out += 0.5 * std::log(alpha) -
             0.5 * alpha * (square(mean_(c, k)) + variance_(c, k));
    }
  }
  return out;
}

double MultinomialFit::scales() {
  const double count = shared() ? static_cast<double>(c_) : 1.0;
  const double a = set_.tau + 0.5 * count;
  const double own = set_.tau * std::log(set_.nu) - log_gamma(set_.tau) +
                     (set_.tau - a) * digamma(a) + a + log_gamma(a);
  const double log_mean = digamma(a);
  alpha_ = used_;
  double out = 0.0;
  for (Index r = 0; r < alpha_.rows(); ++r) {
    for (const Index k : active_[r]) {
      double second = 0.0, point = 0.0;
      for (Index c = shared() ? 0 : r; c < (shared() ? c_ : r + 1); ++c) {
        second += square(mean_(c, k)) + variance_(c, k);
        point += square(mean_(c, k));
      }
      const double b = set_.nu + 0.5 * (set_.point_moment ? point : second);
      alpha_(r, k) = a / b;
      const double log_b = std::log(b);
      out += 0.5 * count * (log_mean - log_b) - 0.5 * (a / b) * second + own -
             (set_.tau - a) * log_b - set_.nu * a / b - a * log_b;
    }
  }
  return out;
}

double MultinomialFit::latent(MatrixXd& s) {
  const Index tiles = design_->tiles();
  std::vector<MatrixXd> parts(tiles);
  VectorXd log_z(tiles);
  executor_.run(tiles, [&](Index t) {
    auto loan = pool_.borrow();
    Scratch& scratch = *loan;
    if (!scratch.rule) scratch.rule.emplace(c_, set_.nodes);
    const auto k = design_->tile(t, scratch.design);
    scratch.mean.noalias() = mean_ * k;
    const Index first = design_->begin(t);
    double sum = 0.0;
    for (Index i = 0; i < k.cols(); ++i) {
      const double value = scratch.rule->moments(
          scratch.mean.col(i).data(), t_[first + i], y_.col(first + i).data());
      sum += powers() ? set_.power[first + i] * value : value;
    }
    log_z[t] = sum;
    parts[t] = pulled(t, k);
  });
  s = MatrixXd::Zero(c_, design_->regressors());
  for (const MatrixXd& part : parts) s += part;
  return log_z.sum();
}

MatrixXd MultinomialFit::pulled(Index t, const MatrixRef& k) {
  const auto y = y_.middleCols(design_->begin(t), k.cols());
  if (!powers()) return y * k.transpose();
  const auto power = set_.power.segment(design_->begin(t), k.cols());
  return y * power.asDiagonal() * k.transpose();
}

void MultinomialFit::product(MatrixXd& s) {
  std::vector<MatrixXd> parts(design_->tiles());
  executor_.run(design_->tiles(), [&](Index t) {
    auto loan = pool_.borrow();
    const auto k = design_->tile(t, (*loan).design);
    parts[t] = pulled(t, k);
  });
  s = MatrixXd::Zero(c_, design_->regressors());
  for (const MatrixXd& part : parts) s += part;
}

bool MultinomialFit::accept() {
  accepted_y_.swap(y_);
  y_.resize(c_, design_->rows());
  next_.s = proposed_s_;
  next_.alpha = alpha_;
  bool pruned = false;
  if (!set_.sparse) return false;
  for (Index r = 0; r < alpha_.rows(); ++r) {
    auto& active = active_[r];
    const auto leaves = [&](Index k) {
      if (!irrelevant(r, k)) return false;
      for (Index c = shared() ? 0 : r; c < (shared() ? c_ : r + 1); ++c) {
        mean_(c, k) = variance_(c, k) = 0.0;
      }
      return true;
    };
    const auto end = std::remove_if(active.begin(), active.end(), leaves);
    pruned = pruned || end != active.end();
    active.erase(end, active.end());
  }
  return pruned;
}

bool MultinomialFit::irrelevant(Index r, Index k) const {
  const double alpha = alpha_(r, k);
  const double count = shared() ? static_cast<double>(c_) : 1.0;
  const double s = std::max(1.0 / variance_(r, k) - used_(r, k), 0.0);
  const double end = std::sqrt(0.5 * count * s / set_.nu);
  if (!(alpha >
        std::max(100.0 * set_.tau / set_.nu, std::min(1e6, 0.2 * end)))) {
    return false;
  }
  const double size =
      shared() ? mean_.col(k).squaredNorm() : square(mean_(r, k));
  return alpha * size < 0.01 * count;
}

Index MultinomialFit::active_count() const {
  Index count = 0;
  for (const auto& each : active_) count += count_of(each);
  return count;
}

void MultinomialFit::pack(const Inputs& from, VectorXd& out) const {
  const bool free = set_.scales != LatentScales::fixed;
  const Index size = from.s.size();
  out.resize(size + (free ? from.alpha.size() : 0));
  out.head(size) = VectorMap(from.s.data(), size);
  if (!free) return;
  out.tail(from.alpha.size()) =
      VectorMap(from.alpha.data(), from.alpha.size()).array().log();
}

void MultinomialFit::unpack(const VectorXd& from, Inputs& out) const {
  const Index size = out.s.size();
  Eigen::Map<VectorXd>(out.s.data(), size) = from.head(size);
  if (set_.scales == LatentScales::fixed) return;
  Eigen::Map<VectorXd>(out.alpha.data(), out.alpha.size()) =
      from.tail(out.alpha.size()).array().exp();
}
}  // namespace bayeskernel
