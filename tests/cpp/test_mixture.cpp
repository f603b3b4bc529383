// The model of predictors with missing values, and completions.
#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <limits>

#include "check.hpp"
#include "hinge_problem.hpp"
#include "missing/completions/maker.hpp"

using bayeskernel::CompletionMaker;
using bayeskernel::CompletedRows;
using bayeskernel::Cells;
using bayeskernel::Codes;
using bayeskernel::Mixture;
using bayeskernel::MixtureFit;

static const double kMissing = std::numeric_limits<double>::quiet_NaN();

// Correlated predictors; every third row has holes, one of them all.
static MatrixXd predictors(Index n, unsigned seed, bool holes) {
  Draw draw(seed);
  const MatrixXd mix = draw.matrix(4, 4);
  MatrixXd x = draw.matrix(n, 4) * mix;
  x.rowwise() += draw.matrix(1, 4).row(0);
  x.col(2) *= 100.0;
  for (Index i = 0; holes && i < n; i += 3) {
    x(i, draw.below(4)) = kMissing;
    x(i, draw.below(4)) = kMissing;
  }
  if (holes) x.row(6).setConstant(kMissing);
  return x;
}

static VectorXd observed_variance(const MatrixXd& x) {
  VectorXd out(x.cols());
  for (Index j = 0; j < x.cols(); ++j) {
    double count = 0.0, sum = 0.0, square = 0.0;
    for (Index i = 0; i < x.rows(); ++i) {
      if (std::isnan(x(i, j))) continue;
      count += 1.0;
      sum += x(i, j);
      square += x(i, j) * x(i, j);
    }
    out[j] = (square - sum * sum / count) / (count - 1.0);
  }
  return out;
}

static Mixture one_gaussian(const MatrixXd& x) {
  return MixtureFit().fit(x, std::vector<int>(x.rows(), 0), 1);
}

// E x_missing | x_seen and its covariance, row by row; NaN elsewhere.
struct Given {
  VectorXd mean;
  MatrixXd covariance;
};
static Given given(const VectorXd& row, const VectorXd& mean,
                   const MatrixXd& covariance) {
  Given out{row, MatrixXd::Zero(row.size(), row.size())};
  std::vector<Index> seen, missing;
  for (Index j = 0; j < row.size(); ++j) {
    (std::isnan(row[j]) ? missing : seen).push_back(j);
  }
  const Index s = static_cast<Index>(seen.size());
  MatrixXd inner(s, s);
  VectorXd gap(s);
  for (Index a = 0; a < s; ++a) {
    gap[a] = row[seen[a]] - mean[seen[a]];
    for (Index b = 0; b < s; ++b) inner(a, b) = covariance(seen[a], seen[b]);
  }
  // Without what is seen the law is the whole one.
  const MatrixXd inverse = s > 0 ? MatrixXd(inner.inverse()) : inner;
  for (const Index j : missing) {
    VectorXd to(s);
    for (Index a = 0; a < s; ++a) to[a] = covariance(j, seen[a]);
    out.mean[j] = mean[j] + (s > 0 ? to.dot(inverse * gap) : 0.0);
    for (const Index k : missing) {
      VectorXd from(s);
      for (Index a = 0; a < s; ++a) from[a] = covariance(k, seen[a]);
      out.covariance(j, k) =
          covariance(j, k) - (s > 0 ? to.dot(inverse * from) : 0.0);
    }
  }
  return out;
}

TEST("complete rows have their own mean and covariance, with a ridge") {
  const MatrixXd x = predictors(80, 1, false);
  const Mixture model = one_gaussian(x);
  const VectorXd mean = x.colwise().mean().transpose();
  MatrixXd covariance = x.transpose() * x / 80.0 - mean * mean.transpose();
  covariance.diagonal() += 1e-3 * observed_variance(x);
  for (Index j = 0; j < 4; ++j) {
    CHECK_NEAR(model.mean(j, 0), mean[j], 1e-10);
    for (Index k = 0; k < 4; ++k) {
      CHECK_NEAR(model.covariance[0](j, k), covariance(j, k), 1e-9);
    }
  }
}

TEST("with holes the model is what its own completions say") {
  const MatrixXd x = predictors(90, 2, true);
  const Mixture model = one_gaussian(x);
  VectorXd sum = VectorXd::Zero(4);
  MatrixXd square = MatrixXd::Zero(4, 4);
  for (Index i = 0; i < 90; ++i) {
    const Given at =
        given(x.row(i).transpose(), model.mean.col(0), model.covariance[0]);
    sum += at.mean;
    square += at.mean * at.mean.transpose() + at.covariance;
  }
  const VectorXd mean = sum / 90.0;
  MatrixXd covariance = square / 90.0 - mean * mean.transpose();
  covariance.diagonal() += 1e-3 * observed_variance(x);
  const VectorXd sd = covariance.diagonal().cwiseSqrt();
  for (Index j = 0; j < 4; ++j) {
    CHECK_NEAR((model.mean(j, 0) - mean[j]) / sd[j], 0.0, 1e-7);
    for (Index k = 0; k < 4; ++k) {
      CHECK_NEAR(
          (model.covariance[0](j, k) - covariance(j, k)) / (sd[j] * sd[k]), 0.0,
          1e-7);
    }
  }
}

// The log density of all that is seen, row by row, less what the ridge adds:
// half a row of variance `ridge` in each predictor for each row.
static double log_density_seen(const MatrixXd& x, const Mixture& model,
                               const VectorXd& ridge) {
  const MatrixXd& all = model.covariance[0];
  double out = 0.0;
  for (Index i = 0; i < x.rows(); ++i) {
    std::vector<Index> seen;
    for (Index j = 0; j < x.cols(); ++j) {
      if (!std::isnan(x(i, j))) seen.push_back(j);
    }
    const Index s = static_cast<Index>(seen.size());
    if (s == 0) continue;
    MatrixXd own(s, s);
    VectorXd gap(s);
    for (Index a = 0; a < s; ++a) {
      gap[a] = x(i, seen[a]) - model.mean(seen[a], 0);
      for (Index b = 0; b < s; ++b) own(a, b) = all(seen[a], seen[b]);
    }
    out -= 0.5 * (std::log(own.determinant()) + gap.dot(own.inverse() * gap));
  }
  const double rows = static_cast<double>(x.rows());
  return out - 0.5 * rows * all.inverse().diagonal().dot(ridge);
}

// One step of EM in the textbook's form.
static void em_step(const MatrixXd& x, VectorXd& mean, MatrixXd& covariance) {
  const Index p = x.cols();
  VectorXd sum = VectorXd::Zero(p);
  MatrixXd square = MatrixXd::Zero(p, p);
  for (Index i = 0; i < x.rows(); ++i) {
    const Given at = given(x.row(i).transpose(), mean, covariance);
    sum += at.mean;
    square += at.mean * at.mean.transpose() + at.covariance;
  }
  mean = sum / static_cast<double>(x.rows());
  covariance =
      square / static_cast<double>(x.rows()) - mean * mean.transpose();
}

// The last column decides which of the others are missing, as a response may.
TEST("each step of EM makes what is seen more likely, up to the joint normal") {
  for (const unsigned seed : {31u, 32u, 33u}) {
    MatrixXd x = predictors(150, seed, false);
    const double middle = x.col(3).mean();
    Draw draw(seed + 100);
    for (Index i = 0; i < x.rows(); ++i) {
      if (x(i, 3) > middle) x(i, draw.below(3)) = kMissing;
      if (i % 3 == 0) x(i, draw.below(3)) = kMissing;
    }
    const Codes none;
    const std::vector<int> one(x.rows(), 0);
    for (const double ridge : {1e-3, 0.0}) {
      MixtureFit::Options options;
      options.ridge = ridge;
      options.most = 0;
      Mixture model = MixtureFit().fit(x, one, 1, none, Cells(), options);
      const VectorXd added = ridge * observed_variance(x);
      options.most = 1;
      const double first = log_density_seen(x, model, added);
      double last = first, fall = 0.0;
      for (int step = 0; step < 60; ++step) {
        options.start = &model;
        Mixture next = MixtureFit().fit(x, one, 1, none, Cells(), options);
        model = std::move(next);
        const double now = log_density_seen(x, model, added);
        fall = std::max(fall, last - now);
        last = now;
      }
      CHECK(fall < 1e-8);
      CHECK(last > first + 1.0);
    }
    MixtureFit::Options options;
    options.ridge = 0.0;
    const Mixture model =
        MixtureFit().fit(x, one, 1, none, Cells(), options);
    VectorXd mean = VectorXd::Zero(4);
    MatrixXd covariance = observed_variance(x).asDiagonal();
    for (int step = 0; step < 5000; ++step) em_step(x, mean, covariance);
    const VectorXd sd = covariance.diagonal().cwiseSqrt();
    for (Index j = 0; j < 4; ++j) {
      CHECK_NEAR((model.mean(j, 0) - mean[j]) / sd[j], 0.0, 1e-6);
      for (Index k = 0; k < 4; ++k) {
        CHECK_NEAR(
            (model.covariance[0](j, k) - covariance(j, k)) / (sd[j] * sd[k]),
            0.0, 1e-6);
      }
    }
  }
}

static CompletedRows completions_of(const Mixture& model, const MatrixXd& x) {
  CompletionMaker maker(model);
  CompletedRows out;
  for (Index i = 0; i < x.rows(); ++i) maker.add(i, x.row(i).transpose(), out);
  return out;
}

TEST("completions have the moments of what is missing given what is seen") {
  const MatrixXd x = predictors(90, 3, true);
  const Mixture model = one_gaussian(x);
  const CompletedRows completions = completions_of(model, x);
  std::size_t at = 0;
  for (Index i = 0; i < 90; ++i) {
    const Index holes =
        x.row(i)
            .unaryExpr([](double v) { return std::isnan(v) ? 1.0 : 0.0; })
            .sum();
    const Given expected =
        given(x.row(i).transpose(), model.mean.col(0), model.covariance[0]);
    std::size_t count = 0;
    double total = 0.0;
    VectorXd mean = VectorXd::Zero(4);
    MatrixXd square = MatrixXd::Zero(4, 4);
    for (; at < completions.row.size() && completions.row[at] == i;
         ++at, ++count) {
      const Eigen::Map<const VectorXd> value(completions.values.data() + 4 * at,
                                             4);
      const double weight = std::exp(completions.log_prior[at]);
      total += weight;
      mean += weight * value;
      const VectorXd gap = value - expected.mean;
      square += weight * gap * gap.transpose();
    }
    CHECK(count == (holes == 0 ? 1u : holes == 1 ? 7u : 16u));
    CHECK_NEAR(total, 1.0, 1e-12);
    const VectorXd sd = model.covariance[0].diagonal().cwiseSqrt();
    CHECK(((mean - expected.mean).array() / sd.array()).abs().maxCoeff() <
          1e-10);
    CHECK((sd.cwiseInverse().asDiagonal() * (square - expected.covariance) *
           sd.cwiseInverse().asDiagonal())
              .cwiseAbs()
              .maxCoeff() < 1e-10);
  }
  CHECK(at == completions.row.size());
}

TEST("the completions of a row do not depend on the others or on its place") {
  const MatrixXd x = predictors(30, 4, true);
  const Mixture model = one_gaussian(x);
  const CompletedRows all = completions_of(model, x);
  const CompletedRows back = completions_of(model, x.colwise().reverse());
  std::vector<double> mirrored;
  for (Index i = 29; i >= 0; --i) {
    for (std::size_t k = 0; k < back.row.size(); ++k) {
      if (back.row[k] != i) continue;
      mirrored.insert(mirrored.end(), back.values.begin() + 4 * k,
                      back.values.begin() + 4 * k + 4);
    }
  }
  CHECK(all.values == mirrored);
}

TEST("by class the completions mix what the classes say") {
  Draw draw(5);
  const Index n = 4000;
  MatrixXd x(n, 2);
  std::vector<int> component(n);
  for (Index i = 0; i < n; ++i) {
    component[i] = i % 4 == 0;
    x(i, 0) = draw.normal() + (component[i] == 1 ? 3.0 : 0.0);
    x(i, 1) = 0.5 * x(i, 0) + draw.normal() + 2.0 * component[i];
    // Missing more often in one class.
    if (draw.uniform() < (component[i] == 1 ? 0.6 : 0.1)) x(i, 1) = kMissing;
  }
  const Mixture model = MixtureFit().fit(x, component, 2);
  CHECK_NEAR(model.mixture_weight[1], 0.25, 1e-12);
  CHECK_NEAR(model.mean(1, 1), 3.5, 0.05);
  CHECK_NEAR(model.mean(1, 0), 0.0, 0.1);
  MatrixXd row(1, 2);
  row << 1.5, kMissing;
  const CompletedRows completions = completions_of(model, row);
  CHECK(completions.row.size() == 14);
  // Half way between the classes only their shares and spreads tell.
  double first = 0.0;
  for (std::size_t k = 0; k < 7; ++k)
    first += std::exp(completions.log_prior[k]);
  const auto density = [&](int c) {
    const double v = model.covariance[c](0, 0);
    const double gap = 1.5 - model.mean(0, c);
    return model.mixture_weight[c] * std::exp(-0.5 * gap * gap / v) / std::sqrt(v);
  };
  CHECK_NEAR(first, density(0) / (density(0) + density(1)), 1e-12);
  // Far on one side the other class is left out.
  row(0, 0) = -3.0;
  CHECK(completions_of(model, row).row.size() == 7);
}

// Two factors, of 3 and 2 levels, that depend on each other and on two numbers.
struct Mixed {
  MatrixXd x;
  Codes code;
  std::vector<int> one;
};
static Mixed mixed_rows(Index n, unsigned seed, bool holes) {
  Draw draw(seed);
  Mixed out{MatrixXd(n, 2), Codes(n, 2), std::vector<int>(n, 0)};
  for (Index i = 0; i < n; ++i) {
    const int a = static_cast<int>(draw.below(3));
    const int b = draw.uniform() < (a == 1 ? 0.8 : 0.3);
    out.code(i, 0) = a;
    out.code(i, 1) = b;
    out.x(i, 0) = draw.normal() + 2.0 * (a == 2) - b;
    out.x(i, 1) = 30.0 * (0.5 * out.x(i, 0) + draw.normal() + b);
    if (!holes) continue;
    if (draw.uniform() < 0.3) out.code(i, 0) = -1;
    if (draw.uniform() < 0.3) out.code(i, 1) = -1;
    if (draw.uniform() < 0.2) out.x(i, draw.below(2)) = kMissing;
  }
  return out;
}

// log of share times the density of what is seen, of one component.
static double log_joint(const Mixture& model, Index k, const VectorXd& row) {
  std::vector<Index> seen;
  for (Index j = 0; j < row.size(); ++j) {
    if (!std::isnan(row[j])) seen.push_back(j);
  }
  const Index s = static_cast<Index>(seen.size());
  double out = std::log(model.mixture_weight[k]);
  if (s == 0) return out;
  const MatrixXd& covariance = model.covariance[k % model.classes()];
  MatrixXd inner(s, s);
  VectorXd gap(s);
  for (Index a = 0; a < s; ++a) {
    gap[a] = row[seen[a]] - model.mean(seen[a], k);
    for (Index b = 0; b < s; ++b) inner(a, b) = covariance(seen[a], seen[b]);
  }
  return out - 0.5 * gap.dot(inner.inverse() * gap) -
         0.5 * std::log(inner.determinant());
}

static VectorXd cell_weights(const Mixture& model, const VectorXd& row,
                             const Eigen::VectorXi& code) {
  VectorXd out = VectorXd::Zero(model.mixture_weight.size());
  for (Index k = 0; k < out.size(); ++k) {
    if (model.cells.fits(k, code)) out[k] = std::exp(log_joint(model, k, row));
  }
  return out / out.sum();
}

TEST("cells count the levels, the last factor's first") {
  const Cells cells({3, 2});
  CHECK(cells.count() == 6);
  CHECK(cells.level(3, 0) == 1 && cells.level(3, 1) == 1);
  CHECK(cells.fits(3, Eigen::Vector2i(1, -1)));
  CHECK(!cells.fits(3, Eigen::Vector2i(-1, 0)));
  const MatrixXd effects = cells.main_effects();
  CHECK(effects.cols() == 4);
  CHECK(effects.row(3) == Eigen::RowVector4d(1, 1, 0, 1));
  CHECK(Cells().count() == 1);
}

TEST("rows that tell their cells: shares by count, means by least squares") {
  const Mixed d = mixed_rows(200, 6, false);
  const Cells cells({3, 2});
  const Mixture model = MixtureFit().fit(d.x, d.one, 1, d.code, cells);
  MatrixXd effects(200, 4);
  VectorXd count = VectorXd::Zero(6);
  for (Index i = 0; i < 200; ++i) {
    const Index k = 2 * d.code(i, 0) + d.code(i, 1);
    effects.row(i) = cells.main_effects().row(k);
    count[k] += 1.0;
  }
  const MatrixXd slope =
      (effects.transpose() * effects).llt().solve(effects.transpose() * d.x);
  const MatrixXd rest = d.x - effects * slope;
  MatrixXd covariance = rest.transpose() * rest / 200.0;
  covariance.diagonal() += 1e-3 * observed_variance(d.x);
  for (Index k = 0; k < 6; ++k) {
    CHECK_NEAR(model.mixture_weight[k], count[k] / 200.0, 1.0 / 201.0);
    const VectorXd mean = (cells.main_effects().row(k) * slope).transpose();
    for (Index j = 0; j < 2; ++j) {
      CHECK_NEAR(model.mean(j, k), mean[j], 1e-7);
    }
  }
  CHECK_NEAR(model.mixture_weight.sum(), 1.0, 1e-12);
  CHECK((model.covariance[0] - covariance).cwiseAbs().maxCoeff() < 1e-6);
}

TEST("rows with holes in factors: the model is what its completions say") {
  const Mixed d = mixed_rows(300, 7, true);
  const Cells cells({3, 2});
  const Mixture model = MixtureFit().fit(d.x, d.one, 1, d.code, cells);
  VectorXd count = VectorXd::Zero(6);
  MatrixXd normal = MatrixXd::Zero(4, 4), right = MatrixXd::Zero(4, 2);
  for (Index i = 0; i < 300; ++i) {
    const VectorXd row = d.x.row(i).transpose();
    const VectorXd weight = cell_weights(model, row, d.code.row(i).transpose());
    count += weight;
    for (Index k = 0; k < 6; ++k) {
      const VectorXd effect = cells.main_effects().row(k).transpose();
      const Given at = given(row, model.mean.col(k), model.covariance[0]);
      normal += weight[k] * effect * effect.transpose();
      right += weight[k] * effect * at.mean.transpose();
    }
  }
  const MatrixXd slope = normal.llt().solve(right);
  MatrixXd covariance = MatrixXd::Zero(2, 2);
  for (Index i = 0; i < 300; ++i) {
    const VectorXd row = d.x.row(i).transpose();
    const VectorXd weight = cell_weights(model, row, d.code.row(i).transpose());
    for (Index k = 0; k < 6; ++k) {
      const Given at = given(row, model.mean.col(k), model.covariance[0]);
      const VectorXd gap =
          at.mean - (cells.main_effects().row(k) * slope).transpose();
      covariance += weight[k] * (gap * gap.transpose() + at.covariance) / 300.0;
    }
  }
  covariance.diagonal() += 1e-3 * observed_variance(d.x);
  const VectorXd sd = covariance.diagonal().cwiseSqrt();
  for (Index k = 0; k < 6; ++k) {
    CHECK_NEAR(model.mixture_weight[k], count[k] / 300.0, 1.0 / 301.0);
    const VectorXd mean = (cells.main_effects().row(k) * slope).transpose();
    for (Index j = 0; j < 2; ++j) {
      CHECK_NEAR((model.mean(j, k) - mean[j]) / sd[j], 0.0, 1e-4);
      for (Index l = 0; l < 2; ++l) {
        CHECK_NEAR(
            (model.covariance[0](j, l) - covariance(j, l)) / (sd[j] * sd[l]),
            0.0, 1e-4);
      }
    }
  }
}

TEST("completions of a factor are its levels with their probabilities") {
  const Mixed d = mixed_rows(300, 8, true);
  const Mixture model = MixtureFit().fit(d.x, d.one, 1, d.code, Cells({3, 2}));
  CompletionMaker maker(model);
  for (Index i = 0; i < 60; ++i) {
    CompletedRows completions;
    const VectorXd row = d.x.row(i).transpose();
    const Eigen::VectorXi code = d.code.row(i).transpose();
    maker.add(i, row, code, completions);
    const VectorXd expected = cell_weights(model, row, code);
    VectorXd found = VectorXd::Zero(6);
    Index before = -1;
    std::vector<bool> done(6, false);
    for (std::size_t a = 0; a < completions.row.size(); ++a) {
      const Eigen::Vector2i own(completions.code[2 * a],
                                completions.code[2 * a + 1]);
      const Index k = 2 * own[0] + own[1];
      found[k] += std::exp(completions.log_prior[a]);
      // One after another.
      if (k != before) CHECK(!done[k]);
      done[k] = true;
      before = k;
    }
    const VectorXd kept = (expected.array() < 1e-3).select(0.0, expected);
    CHECK((found - kept / kept.sum()).cwiseAbs().maxCoeff() < 1e-10);
    const bool whole = !std::isnan(row.sum());
    if (whole) {
      CHECK(static_cast<Index>(completions.row.size()) ==
            (kept.array() > 0.0).count());
    }
  }
}

TEST("factors alone, and levels by class") {
  const Mixed d = mixed_rows(200, 9, true);
  std::vector<int> half(200);
  for (Index i = 0; i < 200; ++i) half[i] = i % 2;
  const MatrixXd none(200, 0);
  const Mixture model = MixtureFit().fit(none, half, 2, d.code, Cells({3, 2}));
  CHECK_NEAR(model.mixture_weight.sum(), 1.0, 1e-12);
  CompletedRows completions;
  CompletionMaker(model).add(0, VectorXd(0), Eigen::Vector2i(-1, 1),
                             completions);
  // Classes with the same numbers are one completion.
  CHECK(completions.row.size() == 3);
  for (int a = 0; a < 3; ++a) {
    const double own = model.mixture_weight[4 * a + 2] + model.mixture_weight[4 * a + 3];
    double all = 0.0;
    for (int b = 0; b < 3; ++b) {
      all += model.mixture_weight[4 * b + 2] + model.mixture_weight[4 * b + 3];
    }
    CHECK_NEAR(std::exp(completions.log_prior[a]), own / all, 1e-12);
  }
}

TEST("a row has at most 256 completions, the most probable ones") {
  const Index n = 4000;
  Draw draw(10);
  Codes code(n, 2);
  for (Index i = 0; i < n; ++i) {
    code(i, 0) = static_cast<int>(draw.below(8));
    code(i, 1) = static_cast<int>(draw.below(8));
  }
  const Mixture model = MixtureFit().fit(
      draw.matrix(n, 2), std::vector<int>(n, 0), 1, code, Cells({8, 8}));
  CompletedRows completions;
  CompletionMaker(model).add(0, VectorXd::Constant(2, kMissing),
                       Eigen::Vector2i(-1, -1), completions);
  CHECK(completions.row.size() == 256);
  std::vector<double> share(model.mixture_weight.data(), model.mixture_weight.data() + 64);
  std::sort(share.begin(), share.end());
  double least = 1.0, total = 0.0;
  for (std::size_t a = 0; a < completions.row.size(); ++a) {
    const Index k = 8 * completions.code[2 * a] + completions.code[2 * a + 1];
    least = std::min(least, model.mixture_weight[k]);
    total += std::exp(completions.log_prior[a]);
  }
  CHECK_NEAR(least, share[48], 1e-12);
  CHECK_NEAR(total, 1.0, 1e-12);
}
