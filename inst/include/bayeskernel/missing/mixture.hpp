// A model of predictors of which some values are missing, and the atoms that
// stand for a row with such values: a Gaussian, or one in each class mixed by
// the shares of the classes, so that what is missing may depend on the class.
// EM from sums by pattern: O(n P^2) once, O(P^3) by pattern and iteration.
#ifndef BAYESKERNEL_MISSING_MIXTURE_HPP
#define BAYESKERNEL_MISSING_MIXTURE_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "../error.hpp"
#include "../math/normal.hpp"
#include "../math/quadrature.hpp"

namespace bayeskernel {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Mixture {
  VectorXd share;
  MatrixXd mean;                     // P x components
  std::vector<MatrixXd> covariance;  // P x P each
};

// Which predictors of a row are there.
struct Places {
  std::vector<Index> seen, missing;

  explicit Places(const std::vector<bool>& is_missing) {
    for (std::size_t j = 0; j < is_missing.size(); ++j) {
      (is_missing[j] ? missing : seen).push_back(static_cast<Index>(j));
    }
  }
};

inline MatrixXd part(const MatrixXd& a, const std::vector<Index>& rows,
                     const std::vector<Index>& columns) {
  MatrixXd out(rows.size(), columns.size());
  for (Index j = 0; j < out.cols(); ++j) {
    for (Index i = 0; i < out.rows(); ++i) out(i, j) = a(rows[i], columns[j]);
  }
  return out;
}

inline VectorXd part(const Eigen::Ref<const VectorXd>& v,
                     const std::vector<Index>& at) {
  VectorXd out(at.size());
  for (Index i = 0; i < out.size(); ++i) out[i] = v[at[i]];
  return out;
}

// Missing predictors given those seen, under one Gaussian: mean slope x + level,
// and the covariance.
struct GivenSeen {
  MatrixXd seen_root;  // lower, of the covariance of what is seen
  MatrixXd slope, covariance;
  VectorXd level;

  // slope x; nothing where nothing is seen.
  template <class Seen>
  MatrixXd sloped(const Seen& x) const {
    if (slope.cols() == 0) return MatrixXd::Zero(slope.rows(), x.cols());
    return slope * x;
  }

  GivenSeen(const Places& at, const VectorXd& mean, const MatrixXd& covariance_) {
    const MatrixXd cross = part(covariance_, at.seen, at.missing);
    covariance = part(covariance_, at.missing, at.missing);
    level = part(mean, at.missing);
    slope = MatrixXd::Zero(at.missing.size(), at.seen.size());
    if (at.seen.empty()) return;
    const Eigen::LLT<MatrixXd> seen(part(covariance_, at.seen, at.seen));
    if (seen.info() != Eigen::Success) {
      throw NumericError(
          "the covariance of the predictors is not positive definite");
    }
    seen_root = seen.matrixL();
    if (at.missing.empty()) return;
    slope = seen.solve(cross).transpose();
    covariance -= slope * cross;
    level -= slope * part(mean, at.seen);
  }
};

// Rows are those of x; NaN is missing. `component` of a row counts from 0.
class MixtureFit {
 public:
  using Rows = Eigen::Ref<const MatrixXd>;

  Mixture fit(const Rows& x, const std::vector<int>& component,
              int components) {
    const Index n = x.rows(), predictors = x.cols();
    standardise(x);
    Mixture out;
    out.share = VectorXd::Zero(components);
    out.mean.resize(predictors, components);
    for (int c = 0; c < components; ++c) {
      patterns_.clear();
      double count = 0.0;
      for (Index i = 0; i < n; ++i) {
        if (component[i] != c) continue;
        add(x, i);
        count += 1.0;
      }
      if (count == 0.0) throw ArgumentError("a class without rows");
      out.share[c] = count / static_cast<double>(n);
      VectorXd mean = VectorXd::Zero(predictors);
      MatrixXd covariance = MatrixXd::Identity(predictors, predictors);
      climb(count, mean, covariance);
      out.mean.col(c) = center_ + scale_.cwiseProduct(mean);
      out.covariance.push_back(scale_.asDiagonal() * covariance *
                               scale_.asDiagonal());
    }
    return out;
  }

 private:
  struct Pattern {
    explicit Pattern(const std::vector<bool>& missing)
        : at(missing),
          sum(VectorXd::Zero(at.seen.size())),
          square(MatrixXd::Zero(sum.size(), sum.size())) {}

    Places at;
    double count = 0.0;
    VectorXd sum;     // of what is seen
    MatrixXd square;  // of its products
  };

  static constexpr double kRidge = 1e-3;  // of the variance of what is seen
  static constexpr double kStill = 1e-9;
  static constexpr int kMost = 2000;

  void standardise(const Rows& x) {
    center_ = VectorXd::Zero(x.cols());
    scale_ = VectorXd::Ones(x.cols());
    for (Index j = 0; j < x.cols(); ++j) {
      double count = 0.0, mean = 0.0, square = 0.0;
      for (Index i = 0; i < x.rows(); ++i) {
        if (std::isnan(x(i, j))) continue;
        count += 1.0;
        const double gap = x(i, j) - mean;
        mean += gap / count;
        square += gap * (x(i, j) - mean);
      }
      center_[j] = mean;
      if (square > 0.0) scale_[j] = std::sqrt(square / count);
    }
  }

  void add(const Rows& x, Index i) {
    std::vector<bool> missing(x.cols());
    for (Index j = 0; j < x.cols(); ++j) missing[j] = std::isnan(x(i, j));
    Pattern& to = patterns_.emplace(missing, Pattern(missing)).first->second;
    VectorXd seen(to.at.seen.size());
    for (Index k = 0; k < seen.size(); ++k) {
      const Index j = to.at.seen[k];
      seen[k] = (x(i, j) - center_[j]) / scale_[j];
    }
    to.count += 1.0;
    to.sum += seen;
    to.square += seen * seen.transpose();
  }

  void climb(double count, VectorXd& mean, MatrixXd& covariance) const {
    const Index predictors = mean.size();
    for (int k = 0; k < kMost; ++k) {
      VectorXd sum = VectorXd::Zero(predictors);
      MatrixXd square = MatrixXd::Zero(predictors, predictors);
      for (const auto& item : patterns_) {
        complete(item.second, mean, covariance, sum, square);
      }
      const VectorXd next = sum / count;
      MatrixXd spread = square / count - next * next.transpose();
      spread.diagonal().array() += kRidge;
      const double change =
          std::max((next - mean).cwiseAbs().maxCoeff(),
                   (spread - covariance).cwiseAbs().maxCoeff());
      mean = next;
      covariance = spread;
      if (change < kStill) return;
    }
  }

  // E x and E x x' of the rows of a pattern.
  static void complete(const Pattern& from, const VectorXd& mean,
                       const MatrixXd& covariance, VectorXd& sum,
                       MatrixXd& square) {
    const std::vector<Index>&seen = from.at.seen, &missing = from.at.missing;
    for (std::size_t a = 0; a < seen.size(); ++a) {
      sum[seen[a]] += from.sum[a];
      for (std::size_t b = 0; b < seen.size(); ++b) {
        square(seen[a], seen[b]) += from.square(a, b);
      }
    }
    if (missing.empty()) return;
    const GivenSeen given(from.at, mean, covariance);
    const VectorXd filled = given.sloped(from.sum) + from.count * given.level;
    MatrixXd own =
        from.count * given.covariance + filled * given.level.transpose();
    MatrixXd cross;
    if (!seen.empty()) {
      cross = given.slope * from.square + given.level * from.sum.transpose();
      own += cross * given.slope.transpose();
    }
    for (std::size_t a = 0; a < missing.size(); ++a) {
      sum[missing[a]] += filled[a];
      for (std::size_t b = 0; b < seen.size(); ++b) {
        square(missing[a], seen[b]) += cross(a, b);
        square(seen[b], missing[a]) += cross(a, b);
      }
      for (std::size_t b = 0; b < missing.size(); ++b) {
        square(missing[a], missing[b]) += own(a, b);
      }
    }
  }

  VectorXd center_, scale_;
  std::map<std::vector<bool>, Pattern> patterns_;
};

// Completed rows: `row` is the one that an atom stands for, counted from 0, and
// values come atom by atom.
struct Atoms {
  std::vector<Index> row;
  std::vector<double> log_prior, values;
};

// Atoms of x_missing | x_seen. One missing value: 7 Gauss-Hermite nodes. More:
// 16 points of a Halton sequence, moved to have mean 0 and covariance I, and
// rotated by a number that the values seen make, so that neither the order of
// the rows nor the other rows matter. By component; components below 1e-3 given
// what is seen are left out.
class AtomMaker {
 public:
  explicit AtomMaker(const Mixture& model) : model_(model) {}

  void add(Index number, const VectorXd& row, Atoms& out) {
    std::vector<bool> missing(row.size());
    for (Index j = 0; j < row.size(); ++j) missing[j] = std::isnan(row[j]);
    const Places at(missing);
    if (at.missing.empty()) {
      append(number, 0.0, row, out);
      return;
    }
    auto found = given_.find(missing);
    if (found == given_.end()) {
      found = given_.emplace(missing, conditionals(at)).first;
    }
    const std::vector<Conditional>& given = found->second;
    const VectorXd seen = part(row, at.seen);
    VectorXd weight(given.size());
    for (std::size_t c = 0; c < given.size(); ++c) {
      const VectorXd gap = seen - part(model_.mean.col(c), at.seen);
      weight[c] = given[c].log_weight;
      if (gap.size() > 0) {
        weight[c] -= 0.5 * given[c]
                               .at.seen_root.triangularView<Eigen::Lower>()
                               .solve(gap)
                               .squaredNorm();
      }
    }
    weight = (weight.array() - weight.maxCoeff()).exp();
    weight /= weight.sum();
    weight = (weight.array() < kLeast).select(0.0, weight);
    weight /= weight.sum();
    set_nodes(at, row);
    VectorXd completed = row;
    for (std::size_t c = 0; c < given.size(); ++c) {
      if (weight[c] == 0.0) continue;
      const VectorXd mean = given[c].at.sloped(seen) + given[c].at.level;
      for (Index k = 0; k < node_.cols(); ++k) {
        const VectorXd value =
            mean + given[c].root.triangularView<Eigen::Lower>() * node_.col(k);
        for (Index j = 0; j < value.size(); ++j) {
          completed[at.missing[j]] = value[j];
        }
        append(number, std::log(weight[c]) + log_node_[k], completed, out);
      }
    }
  }

 private:
  struct Conditional {
    GivenSeen at;
    MatrixXd root;      // of the covariance
    double log_weight;  // of the component, what is seen at its mean
  };

  static constexpr double kLeast = 1e-3;
  static constexpr Index kPoints = 16;

  std::vector<Conditional> conditionals(const Places& at) const {
    std::vector<Conditional> out;
    for (Index c = 0; c < model_.share.size(); ++c) {
      GivenSeen given(at, model_.mean.col(c), model_.covariance[c]);
      const Eigen::LLT<MatrixXd> root(given.covariance);
      if (root.info() != Eigen::Success) {
        throw NumericError(
            "the covariance of the predictors is not positive definite");
      }
      double log_weight = std::log(model_.share[c]);
      if (!at.seen.empty()) {
        log_weight -= given.seen_root.diagonal().array().log().sum();
      }
      const MatrixXd lower = root.matrixL();
      out.push_back({std::move(given), lower, log_weight});
    }
    return out;
  }

  // Standard normal nodes, one a column, and their logarithmic weights.
  void set_nodes(const Places& at, const VectorXd& row) {
    const Index width = static_cast<Index>(at.missing.size());
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

  static Index next_prime(Index after) {
    for (Index p = after + 1;; ++p) {
      Index d = 2;
      while (d * d <= p && p % d > 0) ++d;
      if (d * d > p) return p;
    }
  }

  static double radical_inverse(Index k, Index base) {
    double out = 0.0, digit = 1.0;
    for (; k > 0; k /= base) {
      digit /= static_cast<double>(base);
      out += digit * static_cast<double>(k % base);
    }
    return out;
  }

  static void append(Index number, double log_prior, const VectorXd& row,
                     Atoms& out) {
    out.row.push_back(number);
    out.log_prior.push_back(log_prior);
    out.values.insert(out.values.end(), row.data(), row.data() + row.size());
  }

  const Mixture& model_;
  std::map<std::vector<bool>, std::vector<Conditional>> given_;
  const GaussHermite hermite_{7};
  MatrixXd node_;
  VectorXd log_node_;
};

}  // namespace bayeskernel

#endif
