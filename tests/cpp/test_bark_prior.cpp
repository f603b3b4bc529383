// With the likelihood off the sampler of bark() reproduces its prior.
#include "bark/chain.hpp"

#include "bark_problem.hpp"

// Centres without rows: the likelihood is 1.
static BarkModel off_model(Index variables = 3) {
  BarkModel out = small_bark(4, 4, variables);
  out.rows.resize(0, variables);
  return out;
}

static BarkRun long_run(Index draws = 20000) {
  BarkRun run;
  run.draws = check::slow() ? 3 * draws : draws;
  return run;
}

TEST("the prior of kernels, scales and indicators in every setting") {
  unsigned seed = 1;
  for (const auto& [name, setting] : bark_settings()) {
    for (const bool atoms : {false, true}) {
      BarkModel model = off_model();
      model.name = name + (atoms ? ", atoms" : ", collapsed");
      model.setting = setting;
      model.prior.atoms = atoms;
      model.prior.kill_power = atoms == setting.different ? 0 : 1;
      check_joint(model, long_run(), seed++);
    }
  }
}

TEST("the prior whatever the power of varphi in the weights of a death") {
  unsigned seed = 20;
  for (const int power : {0, 1}) {
    for (const double alpha : {1.0, 1.5, 0.7}) {
      BarkModel model = off_model(2);
      model.name =
          "power " + std::to_string(power) + ", alpha " + std::to_string(alpha);
      model.prior.alpha = alpha;
      model.prior.kill_power = power;
      check_joint(model, long_run(), seed++);
    }
  }
}

TEST("the probability of inclusion when it is drawn") {
  unsigned seed = 30;
  for (const bool different : {false, true}) {
    BarkModel model = off_model(4);
    model.name = different ? "sd, drawn p_lambda" : "se, drawn p_lambda";
    model.setting.select = true;
    model.setting.different = different;
    model.inclusion = InclusionPrior::known(1.5, 1.2, 0.5);
    check_joint(model, long_run(), seed++);
  }
}

TEST("indicators along an axis, with known and with drawn probabilities") {
  unsigned seed = 40;
  for (const bool learn : {false, true}) {
    for (const Index p : {2, 6, 9}) {
      BarkModel model = off_model(p);
      model.name =
          "markov, p = " + std::to_string(p) + (learn ? ", drawn" : "");
      model.setting.select = true;
      model.setting.different = false;
      model.inclusion = InclusionPrior::markov(0.8, 0.6);
      if (learn) model.inclusion.learn_markov({4.0, 2.0, 2.0, 1.5});
      BarkRun run = long_run(30000);
      run.scale_share = 1.0;
      check_joint(model, run, seed++);
    }
  }
}

TEST("the precision of the noise under both priors") {
  unsigned seed = 50;
  for (const auto kind :
       {PrecisionPrior::Kind::gamma, PrecisionPrior::Kind::log_uniform}) {
    BarkModel model = off_model(2);
    model.name = "phi";
    model.prior.phi.kind = kind;
    model.prior.phi.shape = 2.5;
    model.prior.phi.rate = 1.7;
    BarkRun run = long_run();
    run.between = 6;
    check_joint(model, run, seed++);
  }
}

TEST("the standard deviations of blocks are half t") {
  unsigned seed = 70;
  for (const bool learn : {false, true}) {
    BarkModel model = off_model(2);
    model.name = "blocks";
    model.blocks = small_blocks(model.rows);
    model.prior.block = {4.0, 1.5};
    if (learn) {
      model.prior.scale_shape = 2.5;
      model.prior.scale_rate = 4.0;
    }
    BarkRun run = long_run();
    run.between = 6;
    check_joint(model, run, seed++);
  }
}

TEST("no more kernels than allowed, down to one and to none") {
  unsigned seed = 60;
  for (const Index most : {0, 1, 2}) {
    BarkModel model = off_model(2);
    model.name = "at most " + std::to_string(most);
    model.prior.max_kernels = most;
    model.setting.select = true;
    check_joint(model, long_run(), seed++);
  }
}
