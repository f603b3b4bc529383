#include <Eigen/LU>

#include "multinomial/components.hpp"
#include "multinomial/learning.hpp"
#include "multinomial/predict.hpp"
#include "multinomial/states.hpp"

#include "check.hpp"
#include "multinomial_problem.hpp"

// The largest fall of the bound, and the fit.
static double largest_fall(const MultinomialResult& result) {
  double fall = 0.0;
  for (std::size_t k = 1; k < result.bound.size(); ++k) {
    fall = std::max(fall, (result.bound[k - 1] - result.bound[k]) /
                              (1.0 + std::abs(result.bound[k])));
  }
  return fall;
}

static MultinomialSettings tight(LatentScales scales) {
  MultinomialSettings out;
  out.scales = scales;
  out.alpha0 = scales == LatentScales::fixed ? 5.0 : 1.0;
  out.tau = 2.0;
  out.tolerance = 1e-13;
  out.weight_tolerance = 1e-9;
  out.max_passes = 5000;
  return out;
}

static VectorXd two(double a, double b) {
  return (VectorXd(2) << a, b).finished();
}

TEST("the bound rises for every composite and kind of scales") {
  const MultinomialProblem problem(24, 3);
  SerialExecutor serial;
  for (const auto how : {Combination::sum, Combination::product}) {
    const Composite composite = problem.composite(how, true);
    for (const auto scales :
         {LatentScales::by_class, LatentScales::shared, LatentScales::fixed}) {
      const Design design(composite, two(1.0, 0.6), serial);
      MultinomialSettings settings = tight(scales);
      settings.accelerate = false;
      settings.max_passes = 60;
      MultinomialFit fit(problem.t, 3, settings, serial);
      const MultinomialResult result = fit.run(design, go_on);
      CHECK(result.bound.size() > 10);
      CHECK(largest_fall(result) < 1e-9);
    }
  }
}

TEST("acceleration ends where plain steps end, in fewer") {
  const MultinomialProblem problem(24, 3);
  SerialExecutor serial;
  const Composite composite = problem.composite(Combination::sum);
  for (const auto scales :
       {LatentScales::by_class, LatentScales::shared, LatentScales::fixed}) {
    const Design design(composite, two(0.5, 0.5), serial);
    MultinomialSettings settings = tight(scales);
    MultinomialFit fast(problem.t, 3, settings, serial);
    const MultinomialResult quick = fast.run(design, go_on);
    settings.accelerate = false;
    MultinomialFit slow(problem.t, 3, settings, serial);
    const MultinomialResult plain = slow.run(design, go_on);
    CHECK(quick.converged && plain.converged);
    CHECK(quick.passes < plain.passes);
    CHECK_NEAR(quick.bound.back(), plain.bound.back(), 1e-9);
    CHECK((fast.mean() - slow.mean()).cwiseAbs().maxCoeff() < 1e-5);
  }
}

// The bound on a composite plus the log prior of its point estimates.
static double profile_at(const MultinomialProblem& problem,
                         const Composite& composite, const VectorXd& weights,
                         const MultinomialSettings& settings) {
  SerialExecutor serial;
  MultinomialFit fit(problem.t, problem.classes, settings, serial);
  const Design design(composite, weights, serial);
  fit.run(design, go_on);
  double out = fit.bound();
  if (composite.combination() == Combination::product) out -= weights.sum();
  for (Index s = 0; s < composite.size(); ++s) {
    out -= 0.5 * std::exp(-2.0 * composite.source(s).log_parameters()[1]);
  }
  return out;
}

TEST("what the profile finds is a maximum of the bound in every direction") {
  const MultinomialProblem problem(30, 3, 3);
  SerialExecutor serial;
  for (const auto how : {Combination::sum, Combination::product}) {
    const bool sum = how == Combination::sum;
    MultinomialSettings settings = tight(LatentScales::shared);
    settings.tolerance = 1e-11;
    Composite composite = problem.composite(how, true);
    MultinomialFit fit(problem.t, 3, settings, serial);
    bayeskernel::KernelLearner learner(composite,
                                       sum ? two(0.8, 0.2) : two(0.8, 0.4), {},
                                       {true, sum}, fit, settings, serial);
    const MultinomialResult result = learner.profile(go_on);
    CHECK(largest_fall(result) < 1e-9);
    const VectorXd at = learner.weights();
    if (sum) CHECK_NEAR(at.sum(), 1.0, 1e-12);
    const double top = profile_at(problem, composite, at, settings);
    const auto check = [&](const Composite& low, const VectorXd& less,
                           const Composite& high, const VectorXd& more) {
      const double before = profile_at(problem, low, less, settings);
      const double after = profile_at(problem, high, more, settings);
      CHECK(before < top + 1e-9 && after < top + 1e-9);
      // The vertex of the parabola lies close by.
      CHECK(std::abs(after - before) <
            0.05 * (2.0 * top - before - after) + 1e-9);
    };
    for (Index s = 0; s < (sum ? 1 : 2); ++s) {
      VectorXd less = at, more = at;
      less[s] *= 0.9;
      more[s] *= 1.1;
      if (sum) less[1] = 1.0 - less[0], more[1] = 1.0 - more[0];
      if (more.minCoeff() > 1e-3) check(composite, less, composite, more);
    }
    for (Index s = 0; sum && s < 2; ++s) {
      Composite low = composite, high = composite;
      VectorXd all = composite.source(s).log_parameters();
      all[1] -= 0.1;
      low.source(s).set_log_parameters(all);
      all[1] += 0.2;
      high.source(s).set_log_parameters(all);
      check(low, at, high, at);
    }
  }
}

TEST("weights by coordinate ascent never lower the bound") {
  const MultinomialProblem problem(20, 3, 5);
  SerialExecutor serial;
  for (const auto how : {Combination::sum, Combination::product}) {
    MultinomialSettings settings = tight(LatentScales::by_class);
    settings.max_passes = 40;
    Composite composite = problem.composite(how, true);
    MultinomialFit fit(problem.t, 3, settings, serial);
    bayeskernel::KernelLearner learner(composite, two(0.5, 0.5), {},
                                       {true, false}, fit, settings, serial);
    const MultinomialResult result = learner.map(go_on);
    CHECK(result.bound.size() > 5);
    CHECK(largest_fall(result) < 1e-9);
    CHECK(learner.weights()[0] != 0.5);
  }
}

TEST("a greedy search ends at the state that the best of all fits has") {
  // log p of a state: the distance from (1, 0, 1, 1).
  const VectorXd best = (VectorXd(4) << 1.0, 0.0, 1.0, 1.0).finished();
  const auto fit_at = [&](const VectorXd& state, bool&) {
    return -(state - best).squaredNorm();
  };
  bayeskernel::StateSearch all, some;
  all.enumerate(4, false, fit_at);
  some.greedy(4, false, fit_at);
  CHECK(all.states.size() == 15);
  CHECK(some.states.size() < 15);
  for (const auto& search : {all, some}) {
    Index at = 0;
    search.probability().maxCoeff(&at);
    CHECK(search.states[at] == best);
    CHECK_NEAR(search.probability().sum(), 1.0, 1e-12);
  }
}

TEST("fits of patterns weigh by bound and prior, and predictions mix them") {
  const MultinomialProblem problem(20, 3, 5);
  SerialExecutor serial;
  const MultinomialSettings settings = tight(LatentScales::shared);
  const Composite composite = problem.composite(Combination::sum, true);
  MultinomialFit fit(problem.t, 3, settings, serial);
  bayeskernel::StateFits fits;
  bayeskernel::StateSettings set;
  set.on = 0.3;
  fits.run(composite, fit, set, serial, go_on);
  CHECK(fits.states().size() == 3 && fits.components().size() == 3);

  VectorXd weight(3);
  std::vector<bayeskernel::MultinomialMoments> at;
  std::vector<bayeskernel::MultinomialComponent> components;
  for (Index k = 0; k < 3; ++k) {
    const VectorXd& state = fits.states()[k];
    MultinomialFit own(problem.t, 3, settings, serial);
    const Design design(composite, state, serial);
    own.run(design, go_on);
    weight[k] = own.bound() + state.sum() * std::log(0.3) +
                (2.0 - state.sum()) * std::log(0.7);
    at.push_back(bayeskernel::predict_classes(
        bayeskernel::MultinomialPosterior(own.mean(), {own.factor(0)}), design,
        20, serial));
    components.push_back(
        {state, fits.component_probability()[k],
         bayeskernel::posterior_of(fits.components()[k], serial),
         MatrixXd(2, 0), MatrixXd(2, 0)});
  }
  weight = (weight.array() - weight.maxCoeff()).exp();
  weight /= weight.sum();
  CHECK((fits.probability() - weight).norm() < 1e-6);
  MatrixXd mean = MatrixXd::Zero(20, 3), second = mean, prob = mean;
  for (Index k = 0; k < 3; ++k) {
    mean += weight[k] * at[k].mean.transpose();
    second += weight[k] * (at[k].variance + at[k].mean.cwiseAbs2()).transpose();
    prob += weight[k] * MatrixXd(at[k].log_prob.array().exp()).transpose();
  }
  const bayeskernel::ClassPredictions found =
      bayeskernel::predict_components(components, composite, 20, serial);
  CHECK((found.mean - mean).norm() < 1e-5 * mean.norm());
  CHECK((found.probability - prob).norm() < 1e-5);
  CHECK((found.variance - (second - mean.cwiseAbs2())).norm() <
        1e-5 * second.norm());
}

// A vague prior, with regressors that leave, and with all that stay.
TEST("irrelevant regressors leave, and nobody misses them") {
  for (const auto scales : {LatentScales::by_class, LatentScales::shared}) {
    const MultinomialProblem problem(40, 3);
    SerialExecutor serial;
    const Composite composite = problem.composite(Combination::sum);
    const Design design(composite, two(0.5, 0.5), serial);
    MultinomialSettings settings = tight(scales);
    settings.tau = settings.nu = 1e-6;
    settings.tolerance = 1e-8;
    MatrixXd prob[2];
    Index kept[2];
    for (const bool sparse : {false, true}) {
      settings.sparse = sparse;
      settings.weight_tolerance = std::numeric_limits<double>::infinity();
      MultinomialFit fit(problem.t, 3, settings, serial);
      const MultinomialResult result = fit.run(design, go_on);
      CHECK(result.converged && largest_fall(result) < 1e-9);
      kept[sparse] = result.active;
      std::vector<bayeskernel::RegressionFactor> factors;
      Index count = 0;
      for (Index c = 0; c < fit.factors(); ++c) {
        factors.push_back(fit.factor(c));
        count += static_cast<Index>(fit.active(c).size());
        CHECK(factors.back().u().rows() ==
              static_cast<Index>(fit.active(c).size()));
      }
      CHECK(count == result.active);
      for (Index c = 0; c < 3; ++c) {
        const auto& active = fit.active(c);
        CHECK((fit.mean().row(c).array() != 0.0).count() <=
              static_cast<Index>(active.size()));
      }
      const bayeskernel::MultinomialPosterior q(fit.mean(), std::move(factors));
      prob[sparse] = bayeskernel::predict_classes(q, design, 0, serial)
                         .log_prob.array()
                         .exp();
    }
    CHECK(kept[0] == (scales == LatentScales::shared ? 40 : 120));
    CHECK(kept[1] < kept[0] / 4 && kept[1] > 0);
    CHECK((prob[0] - prob[1]).cwiseAbs().maxCoeff() < 5e-3);
  }
}

TEST("a prior that is not vague keeps its regressors") {
  const MultinomialProblem problem(24, 3);
  SerialExecutor serial;
  const Composite composite = problem.composite(Combination::sum);
  const Design design(composite, two(0.5, 0.5), serial);
  MultinomialSettings settings = tight(LatentScales::by_class);
  settings.sparse = true;
  settings.tolerance = 1e-8;
  MultinomialFit fit(problem.t, 3, settings, serial);
  CHECK(fit.run(design, go_on).active == 72);
}

TEST("any threads and a design made anew give the same fit") {
  const MultinomialProblem problem(150, 3);
  SerialExecutor serial;
  const Composite composite = problem.composite(Combination::sum, true);
  MultinomialSettings settings = tight(LatentScales::shared);
  settings.max_passes = 10;
  MultinomialFit kept(problem.t, 3, settings, serial);
  MultinomialFit streamed(problem.t, 3, settings, serial);
  const Design memory(composite, two(0.5, 0.5), serial);
  const Design anew(composite, two(0.5, 0.5), serial, 0.0);
  CHECK(memory.kept() && !anew.kept());
  kept.run(memory, go_on);
  streamed.run(anew, go_on);
  CHECK_NEAR(kept.bound(), streamed.bound(), 1e-10);
  CHECK((kept.mean() - streamed.mean()).cwiseAbs().maxCoeff() < 1e-8);
}

TEST("the QR decomposition gives what the Cholesky factor gives") {
  const MatrixXd k = normal_matrix(8, 20, 9);
  const VectorXd alpha = normal_matrix(8, 1, 10).cwiseAbs();
  const VectorXd y = normal_matrix(20, 1, 11);
  std::vector<Index> active{0, 1, 3, 4, 5, 6, 7};
  bayeskernel::RegressionFactor plain, other;
  plain.compute(k * k.transpose(), alpha, active, k);
  const MatrixXd scaled = k * 1e8;  // A grows with it: the same V but for 1e16
  other.compute(scaled * scaled.transpose(), alpha * 1e16, active, scaled);
  CHECK(!plain.by_qr() && !other.by_qr());
  // One regressor far beyond the others forces the decomposition.
  MatrixXd uneven = k;
  uneven.row(0) *= 1e7;
  other.compute(uneven * uneven.transpose(), alpha, active, uneven);
  CHECK(other.by_qr());
  VectorXd weak = alpha;
  weak[0] /= 1e14;
  plain.compute(k * k.transpose(), weak, active, k);
  // w_0 k_0 is the same function: the coefficient is 1e-7 of it.
  VectorXd found = other.mean(uneven * y, y), given = plain.mean(k * y, y);
  found[0] *= 1e7;
  CHECK((found - given).norm() < 1e-7 * given.norm());
  CHECK_NEAR(other.log_det(), plain.log_det() - 2.0 * std::log(1e7), 1e-8);
}

// Object n and its regressor out of a problem whose regressors are its objects.
struct Without {
  std::vector<Index> t;
  MatrixXd k;
  VectorXd column;
  Without(const MultinomialProblem& problem, const MatrixXd& all, Index n)
      : k(all.rows() - 1, all.cols() - 1), column(all.rows() - 1) {
    for (Index i = 0, to = 0; i < all.cols(); ++i) {
      if (i == n) continue;
      t.push_back(problem.t[i]);
      k.col(to) << all.col(i).head(n), all.col(i).tail(all.rows() - n - 1);
      column[to++] = all(i, n);
    }
  }
};

TEST("what is left out is one step of Newton's without an object") {
  const MultinomialProblem problem(20, 3);
  SerialExecutor serial;
  for (const auto scales : {LatentScales::by_class, LatentScales::shared}) {
    const Composite composite = problem.composite(Combination::sum);
    const Design design(composite, two(0.4, 0.6), serial);
    MultinomialSettings settings = tight(scales);
    settings.weight_tolerance = 1e-11;
    MultinomialFit fit(problem.t, 3, settings, serial);
    CHECK(fit.run(design, go_on).converged);
    const VectorXd ours = bayeskernel::left_out(fit, design, true, serial);
    const MatrixXd f = fit.mean() * design.matrix();
    MatrixXd bend(3, 20);
    bayeskernel::ConicRule rule(3);
    for (Index i = 0; i < 20; ++i) {
      rule.curvature(f.col(i).data(), problem.t[i], bend.col(i).data());
    }
    for (Index n = 0; n < 20; ++n) {
      const Without rest(problem, design.matrix(), n);
      VectorXd mean(3), sd(3);
      for (Index c = 0; c < 3; ++c) {
        MatrixXd a = MatrixXd::Zero(19, 19), h = a;
        VectorXd target(19);
        for (Index i = 0, j = 0; i < 20; ++i) {
          if (i == n) continue;
          a(j, j) = fit.used_alpha()(fit.shared() ? 0 : c, i);
          h(j, j) = bend(c, i);
          target[j++] = fit.y()(c, i) - (1.0 - bend(c, i)) * f(c, i);
        }
        const MatrixXd v = (rest.k * rest.k.transpose() + a).inverse();
        const VectorXd w =
            (rest.k * h * rest.k.transpose() + a).ldlt().solve(rest.k * target);
        mean[c] = rest.column.dot(w);
        sd[c] = std::sqrt(1.0 + rest.column.dot(v * rest.column));
      }
      CHECK_NEAR(ours[n],
                 rule.log_probability(mean.data(), sd.data(), problem.t[n]),
                 1e-6);
    }
  }
}

TEST("what is left out is close to fits without each object") {
  const Index n = 40, classes = 4;
  const MultinomialProblem problem(n, classes, 3);
  SerialExecutor serial;
  MultinomialSettings settings = tight(LatentScales::by_class);
  settings.tolerance = 1e-9;
  settings.tau = 1.0;
  const Composite composite = problem.composite(Combination::sum);
  std::vector<double> ours, refits;
  for (const double weight : {0.02, 0.5, 0.98}) {
    const Design design(composite, two(weight, 1.0 - weight), serial);
    MultinomialFit fit(problem.t, classes, settings, serial);
    fit.run(design, go_on);
    ours.push_back(bayeskernel::left_out(fit, design, true, serial).sum());
    double total = 0.0;
    for (Index i = 0; i < n; ++i) {
      const Without rest(problem, design.matrix(), i);
      const Source::View view(rest.k.data(), n - 1, n - 1);
      const Source::View at(rest.column.data(), n - 1, 1);
      const Composite of_rest({Source::given(view)}, Combination::sum, false);
      const Composite of_one({Source::given(at)}, Combination::sum, false);
      const VectorXd one = VectorXd::Ones(1);
      const Design without(of_rest, one, serial), single(of_one, one, serial);
      MultinomialFit refit(rest.t, classes, settings, serial);
      refit.run(without, go_on);
      std::vector<bayeskernel::RegressionFactor> factors;
      for (Index c = 0; c < classes; ++c) factors.push_back(refit.factor(c));
      const bayeskernel::MultinomialPosterior q(refit.mean(), factors);
      total += bayeskernel::predict_classes(q, single, 0, serial)
                   .log_prob(problem.t[i], 0);
    }
    refits.push_back(total);
    CHECK(std::abs(ours.back() - total) < 0.1 * std::abs(total));
  }
  CHECK((ours[1] > ours[0]) == (refits[1] > refits[0]));
  CHECK((ours[1] > ours[2]) == (refits[1] > refits[2]));
}

TEST("the search for weights ends where what is left out is best") {
  const MultinomialProblem problem(40, 3, 3);
  SerialExecutor serial;
  MultinomialSettings settings;
  for (const auto how : {Combination::sum, Combination::product}) {
    const bool sum = how == Combination::sum;
    Composite composite = problem.composite(how);
    MultinomialFit fit(problem.t, 3, settings, serial);
    bayeskernel::KernelLearner learner(composite,
                                       sum ? two(0.5, 0.5) : two(1.0, 1.0), {},
                                       {true, false}, fit, settings, serial);
    const MultinomialResult result = learner.left_out(true, go_on);
    CHECK(result.converged);
    CHECK(largest_fall(result) < 1e-9);
    const auto score = [&](Index s, double shift) {
      VectorXd at = learner.weights();
      at[s] *= std::exp(shift);
      MultinomialSettings exact = settings;
      exact.tolerance = 1e-9;
      exact.max_passes = 1000;
      const Design design(composite, at, serial);
      MultinomialFit other(problem.t, 3, exact, serial);
      other.run(design, go_on);
      return bayeskernel::left_out(other, design, true, serial).sum() +
             at.array().log().sum() - at.sum();
    };
    const double top = score(0, 0.0);
    for (Index s = 0; s < 2; ++s) {
      CHECK(score(s, -0.7) < top && score(s, 0.7) < top);
    }
    // It is the fit that these weights would have had.
    const Design design(composite, learner.weights(), serial);
    MultinomialFit same(problem.t, 3, settings, serial);
    same.run(design, go_on);
    CHECK(same.mean() == fit.mean());
  }
}
