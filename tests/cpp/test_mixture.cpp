// The model of predictors with missing values, and atoms.
#include <bayeskernel/missing/mixture.hpp>
#include <limits>

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::AtomMaker;
using bayeskernel::Atoms;
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
    out[j] = square / count - sum * sum / (count * count);
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
      CHECK_NEAR((model.covariance[0](j, k) - covariance(j, k)) /
                     (sd[j] * sd[k]),
                 0.0, 1e-7);
    }
  }
}

static Atoms atoms_of(const Mixture& model, const MatrixXd& x) {
  AtomMaker maker(model);
  Atoms out;
  for (Index i = 0; i < x.rows(); ++i) maker.add(i, x.row(i).transpose(), out);
  return out;
}

TEST("atoms have the moments of what is missing given what is seen") {
  const MatrixXd x = predictors(90, 3, true);
  const Mixture model = one_gaussian(x);
  const Atoms atoms = atoms_of(model, x);
  std::size_t at = 0;
  for (Index i = 0; i < 90; ++i) {
    const Index holes =
        x.row(i).unaryExpr([](double v) { return std::isnan(v) ? 1.0 : 0.0; })
            .sum();
    const Given expected =
        given(x.row(i).transpose(), model.mean.col(0), model.covariance[0]);
    std::size_t count = 0;
    double total = 0.0;
    VectorXd mean = VectorXd::Zero(4);
    MatrixXd square = MatrixXd::Zero(4, 4);
    for (; at < atoms.row.size() && atoms.row[at] == i; ++at, ++count) {
      const Eigen::Map<const VectorXd> value(atoms.values.data() + 4 * at, 4);
      const double weight = std::exp(atoms.log_prior[at]);
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
  CHECK(at == atoms.row.size());
}

TEST("the atoms of a row do not depend on the others or on its place") {
  const MatrixXd x = predictors(30, 4, true);
  const Mixture model = one_gaussian(x);
  const Atoms all = atoms_of(model, x);
  const Atoms back = atoms_of(model, x.colwise().reverse());
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

TEST("by class the atoms mix what the classes say") {
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
  CHECK_NEAR(model.share[1], 0.25, 1e-12);
  CHECK_NEAR(model.mean(1, 1), 3.5, 0.05);
  CHECK_NEAR(model.mean(1, 0), 0.0, 0.1);
  MatrixXd row(1, 2);
  row << 1.5, kMissing;
  const Atoms atoms = atoms_of(model, row);
  CHECK(atoms.row.size() == 14);
  // Half way between the classes only their shares and spreads tell.
  double first = 0.0;
  for (std::size_t k = 0; k < 7; ++k) first += std::exp(atoms.log_prior[k]);
  const auto density = [&](int c) {
    const double v = model.covariance[c](0, 0);
    const double gap = 1.5 - model.mean(0, c);
    return model.share[c] * std::exp(-0.5 * gap * gap / v) / std::sqrt(v);
  };
  CHECK_NEAR(first, density(0) / (density(0) + density(1)), 1e-12);
  // Far on one side the other class is left out.
  row(0, 0) = -3.0;
  CHECK(atoms_of(model, row).row.size() == 7);
}
