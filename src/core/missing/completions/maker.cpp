#include "missing/completions/maker.hpp"

#include <numeric>

#include "error.hpp"
#include "math/normal.hpp"

namespace bayeskernel {
void CompletionMaker::add(Index number, const VectorXd& row,
                          const Eigen::VectorXi& code, CompletedRows& out) {
  std::vector<bool> missing(row.size());
  for (Index j = 0; j < row.size(); ++j) missing[j] = std::isnan(row[j]);
  const Places at(missing);
  if (at.missing.empty() && (code.array() >= 0).all()) {
    append(number, 0.0, row, code, out);
    return;
  }
  auto found = given_.find(missing);
  if (found == given_.end()) {
    found = given_.emplace(missing, conditionals(at)).first;
  }
  const std::vector<Conditional>& given = found->second;
  const VectorXd shift = shift_of(number);
  const VectorXd seen = part(VectorXd(row - shift), at.seen);
  set_nodes(at, row);
  const VectorXd weight = weights(given, seen, code, number);
  VectorXd completed = row;
  Eigen::VectorXi levels = code;
  for (Index c = 0; c < weight.size(); ++c) {
    if (weight[c] == 0.0) continue;
    for (Index f = 0; f < code.size(); ++f) {
      levels[f] = model_.cells.level(c / model_.classes(), f);
    }
    if (at.missing.empty()) {
      append(number, std::log(weight[c]), row, levels, out);
      continue;
    }
    const VectorXd mean =
        given[c].at.sloped(seen) + given[c].at.level + part(shift, at.missing);
    const MatrixXd root =
        groups_ == nullptr ? given[c].root : widened(given[c].at, at, number);
    for (Index k = 0; k < node_.cols(); ++k) {
      const VectorXd value =
          mean + root.triangularView<Eigen::Lower>() * node_.col(k);
      for (Index j = 0; j < value.size(); ++j) {
        completed[at.missing[j]] = value[j];
      }
      append(number, std::log(weight[c]) + log_node_[k], completed, levels,
             out);
    }
  }
}

VectorXd CompletionMaker::shift_of(Index number) const {
  VectorXd out = VectorXd::Zero(model_.mean.rows());
  if (groups_ == nullptr) return out;
  const VectorXd own = groups_->shift(number);
  for (Index d = 0; d < own.size(); ++d) out[groups_->where[d]] = own[d];
  return out;
}

MatrixXd CompletionMaker::widened(const GivenSeen& given, const Places& at,
                                  Index number) const {
  MatrixXd move = MatrixXd::Zero(at.missing.size(), groups_->width());
  for (Index d = 0; d < move.cols(); ++d) {
    for (std::size_t k = 0; k < at.missing.size(); ++k) {
      if (at.missing[k] == groups_->where[d]) move(k, d) = 1.0;
    }
    for (std::size_t k = 0; k < at.seen.size(); ++k) {
      if (at.seen[k] == groups_->where[d]) move.col(d) = -given.slope.col(k);
    }
  }
  const Eigen::LLT<MatrixXd> llt(
      given.covariance + move * groups_->variance(number) * move.transpose());
  if (llt.info() != Eigen::Success) {
    throw NumericError(
        "the covariance of the predictors is not positive definite");
  }
  return llt.matrixL();
}

double CompletionMaker::tilt(Index component, Index number) const {
  const Index classes = model_.classes(), factors = model_.cells.factors();
  double out = groups_->tilt(number, factors, component % classes);
  for (Index f = 0; f < factors; ++f) {
    out += groups_->tilt(number, f, model_.cells.level(component / classes, f));
  }
  return out;
}

VectorXd CompletionMaker::weights(const std::vector<Conditional>& given,
                                  const VectorXd& seen,
                                  const Eigen::VectorXi& code,
                                  Index number) const {
  const Index classes = model_.classes();
  const double never = -std::numeric_limits<double>::infinity();
  VectorXd out(given.size());
  for (Index c = 0; c < out.size(); ++c) {
    if (!model_.cells.fits(c / classes, code)) {
      out[c] = never;
      continue;
    }
    out[c] = given[c].log_weight;
    if (groups_ != nullptr) out[c] += tilt(c, number);
    MatrixXd gap = seen - given[c].seen_mean;
    if (gap.rows() > 0) {
      given[c].at.whiten(gap);
      out[c] -= 0.5 * gap.squaredNorm();
    }
  }
  out = (out.array() - out.maxCoeff()).exp();
  out /= out.sum();
  // Classes that complete a row alike.
  for (Index c = 0; c < out.size() && node_.rows() == 0; ++c) {
    const Index first = c - c % classes;
    if (c == first) continue;
    out[first] += out[c];
    out[c] = 0.0;
  }
  out = (out.array() < std::min(kLeast, out.maxCoeff())).select(0.0, out);
  keep_most(kMostCompletions / node_.cols(), out);
  return out / out.sum();
}

void CompletionMaker::keep_most(Index most, VectorXd& weight) {
  if ((weight.array() > 0.0).count() <= most) return;
  std::vector<Index> order(weight.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return weight[a] > weight[b]; });
  for (std::size_t k = most; k < order.size(); ++k) weight[order[k]] = 0.0;
}

auto CompletionMaker::conditionals(const Places& at) const
    -> std::vector<Conditional> {
  std::vector<Conditional> out;
  for (Index c = 0; c < model_.mixture_weight.size(); ++c) {
    const VectorXd mean = model_.mean.col(c);
    GivenSeen given(at, mean, model_.covariance[c % model_.classes()]);
    const Eigen::LLT<MatrixXd> root(given.covariance);
    if (root.info() != Eigen::Success) {
      throw NumericError(
          "the covariance of the predictors is not positive definite");
    }
    double log_weight = std::log(model_.mixture_weight[c]);
    if (!at.seen.empty()) {
      log_weight -= given.seen_root.diagonal().array().log().sum();
    }
    const MatrixXd lower = root.matrixL();
    out.push_back({std::move(given), lower, part(mean, at.seen), log_weight});
  }
  return out;
}

void CompletionMaker::set_nodes(const Places& at, const VectorXd& row) {
  const Index width = count_of(at.missing);
  if (width == 0) {
    node_.resize(0, 1);
    log_node_.setZero(1);
    return;
  }
  if (width == 1) {
    node_ = hermite_.node.transpose();
    log_node_ = hermite_.weight.array().log();
    return;
  }
  double seen = 0.0;
  for (const Index j : at.seen) {
    seen += static_cast<double>(j + 1) * (row[j] - model_.mean(j, 0)) /
            std::sqrt(model_.covariance[0](j, j));
  }
  node_.resize(width, kPoints);
  log_node_.setConstant(kPoints, -std::log(static_cast<double>(kPoints)));
  Index base = 1;
  for (Index j = 0; j < width; ++j) {
    base = next_prime(base);
    const double turn = 101.0 * seen * std::sqrt(static_cast<double>(base));
    for (Index k = 0; k < kPoints; ++k) {
      double u = radical_inverse(k + 1, base) + turn;
      u -= std::floor(u);
      node_(j, k) = normal_quantile(std::clamp(u, 1e-6, 1.0 - 1e-6));
    }
  }
  // Moments are right where there are points enough to tell.
  const VectorXd mean = node_.rowwise().mean();
  node_.colwise() -= mean;
  if (2 * width > kPoints) return;
  const Eigen::LLT<MatrixXd> root(node_ * node_.transpose() /
                                  static_cast<double>(kPoints));
  root.matrixL().solveInPlace(node_);
}

Index CompletionMaker::next_prime(Index after) {
  for (Index p = after + 1;; ++p) {
    Index d = 2;
    while (d * d <= p && p % d > 0) ++d;
    if (d * d > p) return p;
  }
}

double CompletionMaker::radical_inverse(Index k, Index base) {
  double out = 0.0, digit = 1.0;
  for (; k > 0; k /= base) {
    digit /= static_cast<double>(base);
    out += digit * static_cast<double>(k % base);
  }
  return out;
}

void CompletionMaker::append(Index number, double log_prior,
                             const VectorXd& row, const Eigen::VectorXi& code,
                             CompletedRows& out) {
  out.row.push_back(number);
  out.log_prior.push_back(log_prior);
  out.values.insert(out.values.end(), row.data(), row.data() + row.size());
  out.code.insert(out.code.end(), code.data(), code.data() + code.size());
}
}  // namespace bayeskernel
