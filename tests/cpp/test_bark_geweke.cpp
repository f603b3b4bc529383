// Joint-distribution tests of bark()'s sampler (Geweke 2004): a chain whose
// response is redrawn given its state between the sweeps keeps to the joint
// prior of state and response.
#include <array>
#include "bark/chain.hpp"

#include "bark_problem.hpp"

static BarkModel regression_model(Index variables = 3) {
  BarkModel out = small_bark(4, 4, variables);
  out.prior.phi.kind = PrecisionPrior::Kind::gamma;
  out.prior.phi.shape = 3.0;
  out.prior.phi.rate = 2.0;
  return out;
}

static BarkModel probit_model(int classes = 2, Index variables = 3) {
  BarkModel out = small_bark(4, 4, variables);
  out.classes = classes;
  return out;
}

// epsilon^2 ~ Ga(shape, rate).
static void learn_scale(BarkModel& model, double shape, double rate) {
  model.prior.scale_shape = shape;
  model.prior.scale_rate = rate;
}

static BarkRun joint_run(Index draws = 6000) {
  BarkRun run;
  run.draws = check::slow() ? 10 * draws : draws;
  run.between = 6;
  run.redraw = true;
  return run;
}

TEST("regression in every setting, in both forms of the state") {
  unsigned seed = 101;
  for (const auto& [name, setting] : bark_settings()) {
    for (const double alpha : {1.0, 1.5}) {
      BarkModel model = regression_model();
      model.name = "regression " + name + ", alpha " + std::to_string(alpha);
      model.setting = setting;
      model.prior.alpha = alpha;
      model.prior.kill_power = setting.select ? 1 : 0;
      check_joint(model, joint_run(), seed++);
    }
  }
}

TEST("regression, stable index below one and atoms at one") {
  unsigned seed = 120;
  for (const double alpha : {0.7, 1.0}) {
    BarkModel model = regression_model(2);
    model.name = "regression, atoms, alpha " + std::to_string(alpha);
    model.setting.select = true;
    model.prior.alpha = alpha;
    model.prior.atoms = true;
    check_joint(model, joint_run(), seed++);
  }
}

TEST("regression of rows with weights") {
  unsigned seed = 125;
  for (const double alpha : {1.0, 1.5}) {
    BarkModel model = regression_model(2);
    model.name = "regression, weights, alpha " + std::to_string(alpha);
    model.weights = {0.1, 6.0, 1.0, 2.5};
    model.prior.alpha = alpha;
    check_joint(model, joint_run(), seed++);
  }
}

TEST("regression whose kernels choose between vectors of scales") {
  unsigned seed = 210;
  for (const bool learn : {true, false}) {
    BarkModel model = regression_model(2);
    model.name = learn ? "vectors, drawn epsilon" : "vectors, atoms";
    model.vectors = 2;
    if (learn) {
      learn_scale(model, 2.5, 4.0);
    } else {
      model.prior.atoms = true;
      model.weights = {0.1, 6.0, 1.0, 2.5};
    }
    check_joint(model, joint_run(), seed++);
  }
}

TEST("regression whose kernels are to reach some rows") {
  unsigned seed = 220;
  for (const bool different : {true, false}) {
    BarkModel model = regression_model(2);
    model.name = different ? "reach, vectors" : "reach, one scale";
    model.prior.reach = 4.0;
    model.setting.different = different;
    if (different) {
      model.vectors = 2;
      learn_scale(model, 2.5, 4.0);
    }
    check_joint(model, joint_run(), seed++);
  }
  // Selection: the indicators have the same factor.
  BarkModel model = regression_model();
  model.name = "reach, selection";
  model.prior.reach = 2.0;
  model.setting.select = true;
  check_joint(model, joint_run(), seed++);
}

TEST("regression with blocks of columns beside the kernels") {
  unsigned seed = 200;
  for (const double alpha : {1.0, 1.5}) {
    BarkModel model = regression_model(2);
    model.name = "regression, blocks, alpha " + std::to_string(alpha);
    model.blocks = small_blocks(model.rows);
    model.prior.alpha = alpha;
    if (alpha == 1.0) {
      learn_scale(model, 2.5, 4.0);
    } else {
      model.weights = {0.1, 6.0, 1.0, 2.5};
    }
    check_joint(model, joint_run(), seed++);
  }
}

TEST("probit and ordered probit with blocks of columns") {
  unsigned seed = 205;
  for (const int classes : {2, 3}) {
    BarkModel model = probit_model(classes, 2);
    model.name = "blocks, " + std::to_string(classes) + " classes";
    model.setting.select = classes == 3;
    model.blocks = small_blocks(model.rows);
    model.prior.block = {5.0, 0.7};
    check_joint(model, joint_run(10000), seed++);
  }
}

TEST("regression with a drawn probability of inclusion") {
  BarkModel model = regression_model(4);
  model.name = "regression, drawn p_lambda";
  model.setting.select = true;
  model.inclusion = InclusionPrior::known(1.5, 1.2, 0.5);
  check_joint(model, joint_run(), 130);
}

TEST("regression with a scale of the coefficients that is learned") {
  unsigned seed = 180;
  for (const double alpha : {1.0, 1.5}) {
    BarkModel model = regression_model(2);
    model.name = "regression, drawn epsilon, alpha " + std::to_string(alpha);
    model.setting.select = alpha != 1.0;
    model.prior.alpha = alpha;
    learn_scale(model, 2.5, 4.0);
    check_joint(model, joint_run(), seed++);
  }
  BarkModel model = probit_model();
  model.name = "probit, drawn epsilon";
  learn_scale(model, 1.5, 2.0);
  check_joint(model, joint_run(), seed++);
}

TEST("probit in every setting, in both forms of the state") {
  unsigned seed = 140;
  for (const auto& [name, setting] : bark_settings()) {
    BarkModel model = probit_model();
    model.name = "probit " + name;
    model.setting = setting;
    model.prior.atoms = setting.different != setting.select;
    check_joint(model, joint_run(), seed++);
  }
}

TEST("probit with indicators along an axis") {
  unsigned seed = 150;
  for (const bool learn : {false, true}) {
    BarkModel model = probit_model(2, 5);
    model.name = learn ? "markov probit, drawn q" : "markov probit";
    model.setting.select = true;
    model.setting.different = false;
    model.inclusion = InclusionPrior::markov(0.8, 0.6);
    if (learn) model.inclusion.learn_markov({4.0, 2.0, 2.0, 1.5});
    BarkRun run = joint_run();
    run.scale_share = 1.0;
    check_joint(model, run, seed++);
  }
}

TEST("regression with indicators along an axis") {
  BarkModel model = regression_model(5);
  model.name = "markov regression";
  model.setting.select = true;
  model.setting.different = false;
  model.inclusion = InclusionPrior::markov(0.7, 0.7);
  BarkRun run = joint_run();
  run.scale_share = 1.0;
  check_joint(model, run, 160);
}

TEST("ordered probit, cut points too") {
  unsigned seed = 170;
  for (const int classes : {3, 4}) {
    BarkModel model = probit_model(classes, 2);
    model.name = "ordered probit, " + std::to_string(classes) + " classes";
    model.setting.select = classes == 3;
    check_joint(model, joint_run(10000), seed++);
  }
}

// Simulation-based calibration: the truth's rank among the draws that a chain
// makes of its response is uniform.
TEST("ranks of the truth with a learned scale") {
  BarkModel model = regression_model(2);
  learn_scale(model, 2.5, 4.0);
  const Index repeats = check::slow() ? 500 : 250;
  constexpr Index kDraws = 19, kBetween = 40;
  BarkRandom random(190);
  const BarkData data(model.rows, model.centres);
  Eigen::Array<double, 4, kDraws + 1> ranks;
  ranks.setZero();
  const auto numbers = [](const BarkSnapshot& at) {
    return std::array<double, 4>{
        at.epsilon, at.phi, at.lambda.sum(),
        std::log(1e-12 + at.variance[0] + at.variance[1])};
  };
  for (Index r = 0; r < repeats; ++r) {
    const BarkSnapshot truth = draw_joint(model, random);
    const double* first = truth.response.data();
    const std::vector<double> y(first, first + truth.response.size());
    BarkChain chain(data, y, 0, model.prior, model.setting, model.inclusion,
                    191, static_cast<std::uint64_t>(r), 400);
    chain.start(IndicatorVector(2, 1));
    for (Index t = 0; t < 400; ++t) chain.sweep();
    std::array<Index, 4> below{}, equal{};
    for (Index k = 0; k < kDraws; ++k) {
      for (Index t = 0; t < kBetween; ++t) chain.sweep();
      const auto now = numbers(snapshot(model, chain)), is = numbers(truth);
      for (std::size_t v = 0; v < 4; ++v) {
        below[v] += now[v] < is[v];
        equal[v] += now[v] == is[v];
      }
    }
    for (std::size_t v = 0; v < 4; ++v) {
      // Among equals, as without kernels, any place.
      ranks(static_cast<Index>(v), below[v] + random.below(equal[v] + 1)) += 1;
    }
  }
  const double expected = static_cast<double>(repeats) / (kDraws + 1);
  for (Index v = 0; v < 4; ++v) {
    const double square = (ranks.row(v) - expected).square().sum() / expected;
    // The 99.99 % quantile of chi-square with 19 degrees of freedom.
    CHECK(square < 52.4);
    if (!(square < 52.4)) std::printf("  quantity %d: %.1f\n", int(v), square);
  }
}
