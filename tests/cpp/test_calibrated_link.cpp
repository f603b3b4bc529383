#include "check.hpp"
#include "predict/calibrated_link.hpp"

using bayeskernel::CalibratedLink;
using bayeskernel::CalibratedLinkFit;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {
// Numbers that look random, without a generator.
double hash(Index i, Index k) {
  const double x = std::sin(12.9898 * static_cast<double>(i + 1) +
                            78.233 * static_cast<double>(k + 1)) *
                   43758.5453;
  return x - std::floor(x);
}

struct Problem {
  MatrixXd m, v;
  Eigen::VectorXi y;
  VectorXd w;
};

// Labels from the link with intercepts a and slope kappa.
Problem problem(Index n, const VectorXd& a, double kappa) {
  const Index k = a.size();
  Problem out{MatrixXd(n, k), MatrixXd(n, k), Eigen::VectorXi(n), VectorXd(n)};
  CalibratedLink link;
  link.intercept = a;
  link.centre = link.offset = VectorXd::Zero(k);
  link.slope = kappa;
  VectorXd p;
  for (Index i = 0; i < n; ++i) {
    for (Index c = 0; c < k; ++c) {
      out.m(i, c) = 3.0 * (hash(i, c) + hash(i, c + 20) - 1.0);
      out.v(i, c) = 2.0 * hash(i, c + 40);
    }
    out.w[i] = i % 5 == 0 ? 2.0 : 1.0;
    link.row(&out.m(i, 0), &out.v(i, 0), n, p);
    double u = hash(i, 60);
    if (k == 1) {
      out.y[i] = u < p[0];
    } else {
      int c = 0;
      while (c + 1 < k && u > p[c]) u -= p[c++];
      out.y[i] = c;
    }
  }
  return out;
}

CalibratedLinkFit fit_of(const Problem& at) {
  return CalibratedLinkFit(at.m, at.v, at.y, at.w);
}
}  // namespace

TEST("gradient and second derivatives are those of the objective") {
  for (const Index k : {1, 3}) {
    const Problem at = problem(60, VectorXd::LinSpaced(k, -0.5, 1.0), 1.3);
    for (const double t : {-1.0, 0.4, 2.0, 2.5}) {
      // The second form, whose offset is below some of the variances, too.
      const VectorXd offset = VectorXd::Constant(k, t < 2.2 ? 0.0 : 1.2);
      const CalibratedLinkFit fit(at.m, at.v, at.y, at.w, offset);
      VectorXd theta = VectorXd::LinSpaced(k + 1, 0.3, -0.7);
      theta[k] = t;
      VectorXd gradient, above, below;
      MatrixXd hessian;
      fit.objective(theta, &gradient, &hessian);
      const double h = 1e-5;
      for (Index j = 0; j <= k; ++j) {
        VectorXd up = theta, down = theta;
        up[j] += h;
        down[j] -= h;
        const double difference = fit.objective(up, &above, nullptr) -
                                  fit.objective(down, &below, nullptr);
        CHECK_NEAR(gradient[j], difference / (2.0 * h), 1e-7);
        for (Index l = 0; l <= k; ++l) {
          CHECK_NEAR(hessian(l, j), (above[l] - below[l]) / (2.0 * h), 1e-7);
        }
      }
    }
  }
}

TEST("the end is a maximum, whatever the start") {
  for (const Index k : {1, 4}) {
    const Problem at = problem(300, VectorXd::LinSpaced(k, -1.0, 1.0), 0.8);
    CalibratedLinkFit fit = fit_of(at);
    const CalibratedLink link = fit.run();
    VectorXd theta(k + 1), gradient;
    theta.head(k) = link.intercept;
    theta[k] = std::log(link.slope * fit.scale());
    const double value = fit.objective(theta, &gradient, nullptr);
    CHECK_NEAR(value, fit.value(), 1e-12);
    CHECK(gradient.cwiseAbs().maxCoeff() < 1e-4);
    for (Index trial = 0; trial < 40; ++trial) {
      VectorXd other = theta;
      for (Index j = 0; j <= k; ++j) other[j] += 4.0 * hash(trial, j) - 2.0;
      CHECK(fit.objective(other, nullptr, nullptr) >= value);
    }
    if (k > 1) CHECK_NEAR(link.intercept.sum(), 0.0, 1e-6);
  }
}

TEST("the numbers that made the labels come back") {
  const VectorXd two = VectorXd::Constant(1, -1.2);
  const CalibratedLink one = fit_of(problem(20000, two, 1.7)).run();
  CHECK(std::abs(one.intercept[0] + 1.2) < 0.12);
  CHECK(std::abs(one.slope - 1.7) < 0.17);
  VectorXd a(3);
  a << -0.6, 0.1, 0.5;
  const CalibratedLink several = fit_of(problem(20000, a, 1.1)).run();
  CHECK((several.intercept - a).cwiseAbs().maxCoeff() < 0.12);
  CHECK(std::abs(several.slope - 1.1) < 0.1);
}

TEST("weights are copies, scale of f is no matter, extremes give numbers") {
  const Problem at = problem(80, VectorXd::Constant(1, 0.4), 1.0);
  Problem copies = at;
  const Index n = 96;
  copies.m.conservativeResize(n, 1);
  copies.v.conservativeResize(n, 1);
  copies.y.conservativeResize(n);
  for (Index i = 0, next = 80; i < 80; i += 5, ++next) {
    copies.m(next, 0) = at.m(i, 0);
    copies.v(next, 0) = at.v(i, 0);
    copies.y[next] = at.y[i];
  }
  copies.w.setOnes(n);
  const CalibratedLink weighted = fit_of(at).run();
  const CalibratedLink copied = fit_of(copies).run();
  CHECK_NEAR(weighted.slope, copied.slope, 1e-5);
  CHECK_NEAR(weighted.intercept[0], copied.intercept[0], 1e-5);

  Problem scaled = at;
  scaled.m *= 1e3;
  scaled.v *= 1e6;
  const CalibratedLink small = fit_of(scaled).run();
  CHECK_NEAR(small.slope * 1e3, weighted.slope, 1e-5);

  // All means the same: the share of the class.
  Problem flat = at;
  flat.m.setConstant(0.2);
  CalibratedLink link = fit_of(flat).run();
  CHECK(std::isfinite(link.slope) && std::isfinite(link.intercept[0]));
  // Classes far apart: the priors hold.
  for (Index i = 0; i < 80; ++i) flat.m(i, 0) = flat.y[i] == 1 ? 9.0 : -9.0;
  link = fit_of(flat).run();
  CHECK(link.slope > 0.0 && link.slope < 100.0);
}

TEST("where all means are nearly the same and variances are not, ranks count") {
  const Index n = 600;
  for (const Index k : {1, 3}) {
    Problem at{MatrixXd(n, k), MatrixXd(n, k), Eigen::VectorXi(n),
               VectorXd::Ones(n)};
    for (Index i = 0; i < n; ++i) {
      VectorXd eta(k);
      for (Index c = 0; c < k; ++c) {
        eta[c] = 4.0 * (hash(i, c) + hash(i, c + 20) - 1.0) - 1.5 * (c == 0);
        at.m(i, c) = -1.0 + 1e-3 * eta[c];
        at.v(i, c) = 1e-3 * (0.5 + hash(i, c + 40));
      }
      VectorXd p = eta.array().exp();
      p /= p.sum() + (k == 1 ? 1.0 : 0.0);
      double u = hash(i, 60);
      int c = 0;
      if (k == 1) {
        c = u < p[0];
      } else {
        while (c + 1 < k && u > p[c]) u -= p[c++];
      }
      at.y[i] = c;
    }
    const CalibratedLink link = fit_of(at).run();
    CHECK(link.offset.minCoeff() > 0.0);
    CHECK(std::abs(link.slope / 1000.0 - 1.0) < 0.25);
    // All eta are 0 at m = -1, where the variance is one of the rows.
    VectorXd p, far;
    const VectorXd m = VectorXd::Constant(k, -1.0);
    const VectorXd v = VectorXd::Constant(k, 1e-3), large = 1e9 * v;
    link.row(m.data(), v.data(), 1, p);
    CHECK(std::abs(p[0] - (k == 1 ? 1.0 / 2.0 : 1.0 / 3.0)) < 0.08);
    // A row far from all others is one of the mean m.
    link.row(m.data(), large.data(), 1, far);
    link.row(link.centre.data(), v.data(), 1, p);
    CHECK((far - p).cwiseAbs().maxCoeff() < 1e-3);
  }
}
