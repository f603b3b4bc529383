// The model of predictors whose rows are grouped, and completions of their
// rows.
#include <Eigen/Cholesky>
#include <limits>

#include "check.hpp"
#include "hinge_problem.hpp"
#include "missing/completions/maker.hpp"
#include "missing/grouped_mixture.hpp"

using bayeskernel::Cells;
using bayeskernel::Codes;
using bayeskernel::CompletedRows;
using bayeskernel::CompletionMaker;
using bayeskernel::GroupedMixture;
using bayeskernel::GroupedMixtureFit;
using bayeskernel::GroupEffects;
using bayeskernel::Mixture;
using bayeskernel::MixtureFit;

static const double kMissing = std::numeric_limits<double>::quiet_NaN();

// Two predictors with holes and one without, in groups of 6; a group of which
// nothing is seen.
struct Grouped {
  MatrixXd x;
  std::vector<int> code, one;
  Grouped(Index groups, double between, unsigned seed) {
    Draw draw(seed);
    const Index n = 6 * groups;
    x = draw.matrix(n, 3);
    const MatrixXd a = between * draw.matrix(groups, 2);
    x.col(1) += 0.5 * x.col(0) + 0.7 * x.col(2);
    for (Index i = 0; i < n; ++i) {
      code.push_back(static_cast<int>(i / 6));
      x.row(i).head(2) += a.row(i / 6);
      x(i, 0) += 2.0;
      if (i % 3 == 1) x(i, draw.below(2)) = kMissing;
      if (i < 6) x(i, 0) = x(i, 1) = kMissing;
    }
    one.assign(n, 0);
  }
  GroupedMixture fit(bool response = false) const {
    GroupEffects groups;
    groups.where = {0, 1};
    if (response) groups.where = {0, 1, 2};
    groups.factors.push_back({code, {}, {}, {}, {}});
    const Codes none(x.rows(), 0);
    const Cells cells;
    return GroupedMixtureFit().fit({x, one, 1, none, cells, nullptr},
                                   std::move(groups), response);
  }
};

// All that is seen of the first two predictors, given the third, as one normal
// vector: its logarithmic density, and what it says of the others.
struct Dense {
  double log_density = 0.0;
  MatrixXd mean;  // NaN where a value is seen
  MatrixXd variance;
};

static Dense dense(const Grouped& data, const GroupedMixture& model) {
  const MatrixXd& s = model.rows.covariance[0];
  const MatrixXd& between = model.groups.factors[0].covariance;
  const VectorXd mu = model.rows.mean.col(0);
  const VectorXd slope = s.block(0, 2, 2, 1) / s(2, 2);
  const MatrixXd within = s.topLeftCorner(2, 2) - slope * s.block(2, 0, 1, 2);
  const Index n = data.x.rows();
  MatrixXd all = MatrixXd::Zero(2 * n, 2 * n);
  VectorXd mean(2 * n);
  for (Index i = 0; i < n; ++i) {
    mean.segment(2 * i, 2) = mu.head(2) + slope * (data.x(i, 2) - mu[2]);
    for (Index j = 0; j < n; ++j) {
      if (data.code[i] == data.code[j])
        all.block(2 * i, 2 * j, 2, 2) += between;
    }
    all.block(2 * i, 2 * i, 2, 2) += within;
  }
  std::vector<Index> seen, gone;
  VectorXd value(2 * n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < 2; ++j) {
      value[2 * i + j] = data.x(i, j);
      (std::isnan(data.x(i, j)) ? gone : seen).push_back(2 * i + j);
    }
  }
  const Eigen::LLT<MatrixXd> llt(bayeskernel::part(all, seen, seen));
  const VectorXd gap =
      bayeskernel::part(value, seen) - bayeskernel::part(mean, seen);
  Dense out;
  const MatrixXd root = llt.matrixL();
  out.log_density =
      -root.diagonal().array().log().sum() - 0.5 * gap.dot(llt.solve(gap));
  const MatrixXd cross = bayeskernel::part(all, gone, seen);
  const VectorXd given = bayeskernel::part(mean, gone) + cross * llt.solve(gap);
  const MatrixXd left =
      bayeskernel::part(all, gone, gone) - cross * llt.solve(cross.transpose());
  out.mean = out.variance = MatrixXd::Constant(n, 2, kMissing);
  for (std::size_t k = 0; k < gone.size(); ++k) {
    out.mean(gone[k] / 2, gone[k] % 2) = given[k];
    out.variance(gone[k] / 2, gone[k] % 2) = left(k, k);
  }
  return out;
}

TEST("completions of grouped rows have the moments that all rows give") {
  const Grouped data(12, 1.5, 3);
  GroupedMixture model = data.fit();
  const Dense exact = dense(data, model);
  CompletionMaker maker(model.rows, &model.groups);
  double worst = 0.0;
  for (Index i = 0; i < data.x.rows(); ++i) {
    CompletedRows completions;
    maker.add(i, data.x.row(i).transpose(), completions);
    for (Index j = 0; j < 2; ++j) {
      if (!std::isnan(data.x(i, j))) continue;
      double mean = 0.0, square = 0.0;
      for (std::size_t k = 0; k < completions.row.size(); ++k) {
        const double w = std::exp(completions.log_prior[k]);
        mean += w * completions.values[3 * k + j];
        square +=
            w * completions.values[3 * k + j] * completions.values[3 * k + j];
      }
      worst = std::max(worst, std::abs(mean - exact.mean(i, j)));
      worst = std::max(worst,
                       std::abs(square - mean * mean - exact.variance(i, j)));
    }
  }
  CHECK(worst < 1e-8);
}

TEST("with groups the model makes what is seen most likely") {
  const Grouped data(15, 1.0, 5);
  const GroupedMixture best = data.fit();
  const double most = dense(data, best).log_density;
  const auto lower = [&](const GroupedMixture& other) {
    return dense(data, other).log_density - most;
  };
  for (const double step : {-0.02, 0.02}) {
    for (Index j = 0; j < 2; ++j) {
      GroupedMixture other = best;
      other.rows.mean(j, 0) += step;
      CHECK(lower(other) < 1e-5);
      other = best;
      other.groups.factors[0].covariance(j, j) *= 1.0 + step;
      CHECK(lower(other) < 1e-5);
      other = best;
      other.rows.covariance[0](j, j) *= 1.0 + step;
      CHECK(lower(other) < 1e-5);
    }
    GroupedMixture other = best;
    other.groups.factors[0].covariance(0, 1) += step;
    other.groups.factors[0].covariance(1, 0) += step;
    CHECK(lower(other) < 1e-5);
  }
}

// The log density of all that is seen, as one normal vector, under a model in
// which every column has effects of groups.
static double log_density_of_all(const Grouped& data,
                                 const GroupedMixture& model) {
  const Index p = data.x.cols();
  std::vector<Index> row, column;
  for (Index i = 0; i < data.x.rows(); ++i) {
    for (Index j = 0; j < p; ++j) {
      if (std::isnan(data.x(i, j))) continue;
      row.push_back(i);
      column.push_back(j);
    }
  }
  const Index n = static_cast<Index>(row.size());
  MatrixXd all = MatrixXd::Zero(n, n);
  VectorXd gap(n);
  for (Index a = 0; a < n; ++a) {
    gap[a] = data.x(row[a], column[a]) - model.rows.mean(column[a], 0);
    for (Index b = 0; b < n; ++b) {
      if (data.code[row[a]] != data.code[row[b]]) continue;
      all(a, b) = model.groups.factors[0].covariance(column[a], column[b]);
      if (row[a] == row[b]) {
        all(a, b) += model.rows.covariance[0](column[a], column[b]);
      }
    }
  }
  const Eigen::LLT<MatrixXd> llt(all);
  const MatrixXd root = llt.matrixL();
  return -root.diagonal().array().log().sum() - 0.5 * gap.dot(llt.solve(gap));
}

// The third column is the response: where it is large the first is missing.
TEST("EM with groups and the response never makes what is seen less likely") {
  for (const unsigned seed : {21u, 22u, 23u}) {
    Grouped data(12, 1.2, seed);
    for (Index i = 0; i < data.x.rows(); ++i) {
      if (data.x(i, 2) > 0.8) data.x(i, 0) = kMissing;
    }
    double last = -std::numeric_limits<double>::infinity();
    double first = 0.0, fall = 0.0;
    for (int most = 0; most <= 60; most += most < 20 ? 1 : 10) {
      GroupedMixtureFit fit;
      fit.most = most;
      GroupEffects groups;
      groups.where = {0, 1, 2};
      groups.factors.push_back({data.code, {}, {}, {}, {}});
      const Codes none(data.x.rows(), 0);
      const Cells cells;
      const double now = log_density_of_all(
          data, fit.fit({data.x, data.one, 1, none, cells, nullptr},
                        std::move(groups), false));
      fall = std::max(fall, last - now);
      last = now;
      if (most == 0) first = now;
    }
    // A ridge of 1e-7 of the variances is added at each iteration.
    CHECK(fall < 1e-4);
    CHECK(last > first + 0.1);
  }
}

// y = 1 + x + e, x missing where y is large.
TEST("with the response the model is that of the joint normal, y left out") {
  Draw draw(11);
  const Index n = 400;
  MatrixXd x = draw.matrix(n, 3);
  x.col(0) += 0.5 * x.col(1);
  x.col(2) += (x.col(0).array() + 1.0).matrix();
  for (Index i = 0; i < n; ++i) {
    if (x(i, 2) > 1.5 && i % 4 > 0) x(i, 0) = kMissing;
  }
  const Codes none(n, 0);
  const Cells cells;
  const std::vector<int> one(n, 0);
  GroupEffects groups;
  groups.where = {0, 2};
  const GroupedMixture model =
      GroupedMixtureFit().fit({x, one, 1, none, cells, nullptr}, groups, true);
  // Missingness is monotone: (y, z) by their own moments, x by least squares on
  // them where it is seen (Anderson, 1957).
  MatrixXd known(n, 3);
  known << VectorXd::Ones(n), x.col(1), x.col(2);
  MatrixXd square = MatrixXd::Zero(3, 3);
  VectorXd right = VectorXd::Zero(3);
  double count = 0.0, rss = 0.0;
  for (Index i = 0; i < n; ++i) {
    if (std::isnan(x(i, 0))) continue;
    square += known.row(i).transpose() * known.row(i);
    right += known.row(i).transpose() * x(i, 0);
    count += 1.0;
  }
  const VectorXd b = square.llt().solve(right);
  for (Index i = 0; i < n; ++i) {
    if (std::isnan(x(i, 0))) continue;
    rss += std::pow(x(i, 0) - known.row(i).dot(b), 2);
  }
  const VectorXd mean = known.colwise().mean();
  const MatrixXd gap = known.rowwise() - mean.transpose();
  const MatrixXd s = gap.transpose() * gap / static_cast<double>(n);
  CHECK_NEAR(model.rows.mean(0, 0), mean.dot(b), 1e-5);
  CHECK_NEAR(model.rows.covariance[0](0, 0), rss / count + b.dot(s * b), 1e-5);
  CHECK_NEAR(model.rows.covariance[0](0, 1), (s * b)[1], 1e-5);
  CHECK(model.rows.mean.rows() == 2);
}
