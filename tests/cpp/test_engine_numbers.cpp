// What the engines compute, in numbers: steps of the mean-field fit and sweeps
// of the chain on small problems, so that work on the engines shows.
#include "gibbs/model_chain.hpp"

#include "check.hpp"
#include "model_fit.hpp"

using bayeskernel::MeanFieldFit;
using bayeskernel::MeanFieldResult;
using bayeskernel::MeanFieldSettings;
using bayeskernel::ModelChain;
using bayeskernel::Progress;
using bayeskernel::SerialExecutor;

static const auto always = [](const Progress&) { return true; };

// 25 plain steps after the start.
static MeanFieldSettings plain_steps() {
  MeanFieldSettings out;
  out.tolerance = 0.0;
  out.max_passes = 26;
  out.accelerate = false;
  return out;
}

static MeanFieldSettings accelerated() {
  MeanFieldSettings out;
  out.tolerance = 1e-9;
  return out;
}

static MeanFieldResult run(const Problem& problem,
                           const MeanFieldSettings& settings) {
  SerialExecutor serial;
  MeanFieldFit fit(problem.rows, problem.prior, serial);
  return fit.run(settings, always);
}

static MeanFieldResult run(const ModelProblem& problem,
                           const MeanFieldSettings& settings) {
  SerialExecutor serial;
  ModelFit fit(problem, serial);
  return fit.run(settings, always);
}

struct Numbers {
  double plain, accelerated;  // the bound at the end
  int passes;                 // of the accelerated fit
};

static void check_numbers(const MeanFieldResult& plain,
                          const MeanFieldResult& fast, const Numbers& numbers) {
  CHECK_NEAR(plain.bound.back(), numbers.plain, 1e-11);
  CHECK_NEAR(fast.bound.back(), numbers.accelerated, 1e-9);
  CHECK(fast.converged && fast.passes <= numbers.passes);
}

// The problems are drawn by the distributions of one standard library.
#ifdef __GLIBCXX__

TEST("random mixtures of blocks and groups take these steps") {
  const Numbers numbers[] = {{-39.646300482663, -39.6462990070157, 13},
                             {-25.6672230499783, -25.6672230499481, 9},
                             {-31.1310789583202, -31.1310789582477, 9},
                             {-54.0650766488747, -54.0556970870494, 32},
                             {-5.65674636599846, -5.6509231050656, 22},
                             {-35.8272146845504, -35.7034255437705, 22},
                             {-23.5378512019599, -23.5324851255931, 23},
                             {-12.2804286795581, -12.2803824119562, 16},
                             {-38.0446319523342, -38.044545499264, 17},
                             {-39.9898374874097, -39.9663871243035, 22},
                             {-58.576577282183, -58.5260550628544, 25},
                             {-63.3536841889342, -63.3536833136646, 19}};
  unsigned seed = 0;
  for (const Numbers& expected : numbers) {
    const Problem problem = make_problem(random_shape(seed), seed);
    ++seed;
    check_numbers(run(problem, plain_steps()), run(problem, accelerated()),
                  expected);
  }
}

// With groups, with selection, with missing values: bits of the position.
static ModelProblem mixture(int bits) {
  ModelShape shape;
  shape.n = 60;
  shape.extra = 6;
  shape.groups = (bits & 1) ? 3 : 0;
  shape.selection = (bits & 2) != 0;
  shape.holes = (bits & 4) != 0;
  return make_model(shape, 40 + static_cast<unsigned>(bits));
}

TEST("selection and missing values take these steps") {
  const Numbers numbers[] = {{-33.5164352079506, -33.4777481552816, 14},
                             {-41.2025189760015, -41.0351336434095, 20},
                             {-40.1953469068187, -40.0951281916018, 25},
                             {-42.4819182699016, -42.3392800030694, 53},
                             {-178.930424058754, -178.788144739511, 21},
                             {-178.211810123465, -178.204820489665, 16},
                             {-181.456125216578, -181.439466051431, 30},
                             {-181.35628477134, -181.308536212316, 45}};
  int bits = 0;
  for (const Numbers& expected : numbers) {
    const ModelProblem problem = mixture(bits++);
    check_numbers(run(problem, plain_steps()), run(problem, accelerated()),
                  expected);
  }
}

TEST("twelve sweeps of the chain end here") {
  // |theta|^2 + |u|^2 and the first precision.
  const double numbers[][2] = {{11.2813589727043, 1.41644347767722},
                               {25.6609013090326, 0.633266946286326},
                               {8.81045080817921, 0.511641225569745},
                               {19.4430345976804, 1.00047391953563},
                               {27.9121980267239, 1.05794876199038},
                               {19.2320366198046, 0.640483090310822},
                               {13.4717330747333, 1.36037418700398},
                               {36.8115212407515, 0.87368752789748}};
  int bits = 0;
  for (const auto& expected : numbers) {
    const ModelProblem problem = mixture(bits++);
    SerialExecutor serial;
    ModelChain chain(problem.rows, problem.prior, problem.selection,
                     problem.holes, serial, 7, 2);
    for (int t = 0; t < 12; ++t) chain.sweep();
    const bayeskernel::GibbsState& state = chain.base();
    CHECK_NEAR(state.point.x.squaredNorm() + state.point.group.squaredNorm(),
               expected[0], 1e-10);
    CHECK_NEAR(state.precision[0](0, 0), expected[1], 1e-10);
  }
}

#endif
