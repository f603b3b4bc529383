#include <numeric>

#include "glue_common.h"
#include "glue_kernel.h"
#include "glue_settings.h"
#include "glue_state.h"
#include "sequential/filter.hpp"
#include "sequential/posterior.hpp"
#include "sequential/stream.hpp"

using namespace bayeskernel;

namespace {
// (shape, rate), or one number, the variance itself.
StepVariancePrior read_variance(SEXP from) {
  const auto numbers = map_vector(from);
  StepVariancePrior out;
  out.known = numbers.size() == 1;
  if (out.known) {
    out.value = numbers[0];
  } else {
    out.shape = numbers[0];
    out.rate = numbers[1];
  }
  return out;
}

FilterSettings read_filter(const Rcpp::List& settings,
                           const Rcpp::List& prior) {
  FilterSettings out;
  out.particles = read<Index>(settings, "particles");
  out.corrected = read<bool>(settings, "corrected");
  out.printed = read<bool>(settings, "printed");
  out.classes = read<bool>(settings, "classes");
  out.sweeps = read<Index>(settings, "sweeps");
  out.ess = read<double>(settings, "ess");
  out.temper = read<bool>(settings, "temper");
  const std::string scheme = read<std::string>(settings, "resampling");
  out.resampling = scheme == "stratified"    ? Resampling::stratified
                   : scheme == "residual"    ? Resampling::residual
                   : scheme == "multinomial" ? Resampling::multinomial
                                             : Resampling::systematic;
  out.noise = read_variance(prior["noise"]);
  out.coefficient_variance = read_variance(prior["coef"]);
  out.first_noise = read_variance(prior["first_noise"]);
  out.first_coefficient_variance = read_variance(prior["first_coef"]);
  out.seed = read<std::uint64_t>(settings, "seed");
  return out;
}

Rcpp::List state_list(const Grid& grid, const ParticleFilter& filter) {
  const GridState at = grid.state();
  const ParticleColumns particles = ParticleColumns::of(filter.particles());
  return r_list({{"rows", static_cast<double>(at.rows)},
                 {"points", at.points},
                 {"x", at.x},
                 {"y", at.y},
                 {"gram", at.gram},
                 {"dots", at.dots},
                 {"square", at.square},
                 {"gram_rest", at.gram_rest},
                 {"dots_rest", at.dots_rest},
                 {"square_rest", at.square_rest},
                 {"size", particles.size},
                 {"centre", particles.centre},
                 {"noise", particles.noise},
                 {"spread", particles.coefficient_variance},
                 {"latent", particles.latent},
                 {"log_weight", filter.log_weights()}});
}

void check_grid(const CheckedList& list, const GridState& at,
                const CandidateSettings& settings) {
  const Index given = settings.fixed.cols();
  const bool wrong = given > 0
                         ? at.points.cols() != given
                         : at.points.cols() > std::min(at.rows, settings.most);
  if (wrong) list.refuse("points", "not of the right size");
  const bool kept =
      settings.keep_rows || (given == 0 && at.points.cols() < settings.most);
  if (at.x.cols() != (kept ? at.rows : 0) || at.y.size() != at.x.cols()) {
    list.refuse("x", "not of the right size");
  }
}

// What a fit says of where its stream rests.
void restore(const Rcpp::List& from, Index d, const CandidateSettings& of_grid,
             const FilterSettings& settings, Index kmax, Grid& grid,
             ParticleFilter& filter) {
  const CheckedList list(from, "the state of the stream");
  constexpr double kMost = 4503599627370496.0;
  GridState at;
  at.rows = list.index("rows", 0.0, kMost);
  const Index points = Rf_ncols(list.element("points"));
  at.points = list.matrix("points", d, points);
  const Index kept = Rf_ncols(list.element("x"));
  at.x = list.matrix("x", d, kept);
  at.y = list.vector("y", kept);
  at.gram = list.matrix("gram", points + 1, points + 1);
  at.dots = list.vector("dots", points + 1);
  at.square = list.number("square", 0.0);
  // States of earlier versions have no rests.
  if (from.containsElementNamed("dots_rest") &&
      Rf_xlength(list.element("dots_rest")) > 0) {
    at.gram_rest = list.matrix("gram_rest", points + 1, points + 1);
    at.dots_rest = list.vector("dots_rest", points + 1);
    at.square_rest = list.number("square_rest", -1e300);
  }
  check_grid(list, at, of_grid);
  ParticleColumns columns;
  columns.size = list.indices("size", settings.particles, 0.0,
                              static_cast<double>(std::min(kmax, points)));
  columns.centre = list.indices(
      "centre",
      std::accumulate(columns.size.begin(), columns.size.end(), Index{0}), 0.0,
      static_cast<double>(points) - 1.0);
  if (columns.repeats()) list.refuse("centre", "twice in a particle");
  constexpr double kSmallest = std::numeric_limits<double>::min();
  columns.noise = list.numbers("noise", settings.particles, kSmallest);
  columns.coefficient_variance =
      list.numbers("spread", settings.particles, kSmallest);
  columns.latent =
      list.matrix("latent", settings.classes ? at.rows : 0, settings.particles);
  // A weight may be 0.
  SEXP weights = list.element("log_weight");
  if (TYPEOF(weights) != REALSXP || XLENGTH(weights) != settings.particles) {
    list.refuse("log_weight", "not of the right length");
  }
  const std::vector<double> log_weight(REAL(weights),
                                       REAL(weights) + settings.particles);
  for (const double w : log_weight) {
    if (!(w < 700.0)) list.refuse("log_weight", "out of range");
  }
  grid.restore(at);
  filter.restore(columns.particles(), log_weight);
}

Rcpp::List posterior_list(const ParticlePosterior& from) {
  return r_list({{"points", from.points},
                 {"grid_point", from.grid_point},
                 {"size", from.size},
                 {"centre", from.centre},
                 {"mean", from.mean},
                 {"root", from.root},
                 {"noise", from.noise},
                 {"spread", from.coefficient_variance}});
}

ParticlePosterior read_posterior(const Rcpp::List& from, Index d) {
  const CheckedList list(from, "the posterior of the fit");
  ParticlePosterior out;
  const Index points = Rf_ncols(list.element("points"));
  out.points = list.matrix("points", d, points);
  out.size = list.indices("size", CheckedList::kAnyLength, 0.0, 1e6);
  Index total = 0, means = 0, squares = 0;
  for (const Index k : out.size) {
    total += k;
    means += k + 1;
    squares += (k + 1) * (k + 1);
  }
  out.centre =
      list.indices("centre", total, 0.0, static_cast<double>(points) - 1.0);
  out.mean = list.numbers("mean", means);
  if (from.containsElementNamed("root")) {
    out.root = list.numbers("root", squares);
  } else {
    out.covariance = list.numbers("covariance", squares);
  }
  const Index count = count_of(out.size);
  out.noise = list.numbers("noise", count, 0.0);
  return out;
}

Rcpp::NumericMatrix step_matrix(const std::vector<FilterStep>& steps) {
  Rcpp::NumericMatrix out(static_cast<int>(steps.size()), 7);
  for (std::size_t t = 0; t < steps.size(); ++t) {
    const FilterStep& step = steps[t];
    const double values[] = {step.log_evidence, step.ess,     step.stages,
                             step.resampled,    step.kernels, step.noise,
                             step.seconds};
    for (int j = 0; j < 7; ++j) out(static_cast<int>(t), j) = values[j];
  }
  Rcpp::colnames(out) =
      Rcpp::CharacterVector::create("log_evidence", "ess", "stages",
                                    "resampled", "kernels", "noise", "seconds");
  return out;
}
}  // namespace

// Rows of the data in the columns of x; a state of NULL begins a stream.
// [[Rcpp::export(rng = false)]]
Rcpp::List seqkr_fit_cpp(const Rcpp::NumericMatrix& x,
                         const Rcpp::NumericVector& y, const Rcpp::List& kernel,
                         const Rcpp::List& prior, const Rcpp::List& settings,
                         SEXP state) {
  return guarded([&] {
    const auto began = std::chrono::steady_clock::now();
    const auto rows = map_matrix(x);
    const auto responses = map_vector(y);
    const FilterSettings of_filter = read_filter(settings, prior);
    CandidateSettings of_grid;
    of_grid.fixed = map_matrix(settings["grid"]);
    of_grid.most = read<Index>(settings, "grid_max");
    of_grid.unique = read<bool>(settings, "unique");
    of_grid.keep_rows = of_filter.classes;
    const Index kmax = read<Index>(prior, "kmax");
    const SubsetPrior sets(read<double>(prior, "lambda"), kmax,
                           read<double>(settings, "move_rate"));
    Grid grid(read_kernel(kernel), rows.rows(), of_grid);
    RcppParallelExecutor executor(read<int>(settings, "threads"));
    ParticleFilter filter(grid, sets, of_filter, executor);
    if (!Rf_isNull(state)) {
      restore(state, rows.rows(), of_grid, of_filter, kmax, grid, filter);
    }
    grid.expect(grid.rows() + rows.cols());
    UserCallback user(read<bool>(settings, "progress"));
    const FilteredRows run =
        filter_rows(filter, rows, responses, user.keep_going());
    const Rcpp::List reached = state_list(grid, filter);
    if (!run.interrupted) {
      filter.finish(read<Index>(settings, "finish"));
    }
    return r_list({{"steps", step_matrix(run.steps)},
                   {"state", reached},
                   {"posterior", posterior_list(posterior_of(filter.particles(),
                                                             grid, kmax))},
                   {"interrupted", run.interrupted},
                   {"seconds", seconds_since(began)}});
  });
}

// Moments of f at new rows (the columns of x) over the particles, and of the
// probability of the positive class.
// [[Rcpp::export(rng = false)]]
Rcpp::List seqkr_predict_cpp(const Rcpp::List& posterior,
                             const Rcpp::List& kernel,
                             const Rcpp::NumericMatrix& x, bool classes,
                             int threads) {
  return guarded([&] {
    const auto rows = map_matrix(x);
    const ParticlePosterior at = read_posterior(posterior, rows.rows());
    RcppParallelExecutor executor(threads);
    const ParticleAverages averages = particle_averages(
        at, read_kernel(kernel), rows, classes, executor.ask());
    return r_list({{"mean", averages.mean},
                   {"var", averages.variance},
                   {"prob", averages.probability},
                   {"prob_sd", averages.probability_sd}});
  });
}

// Mean and variance of f at new rows given each particle: particles x rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List seqkr_latent_cpp(const Rcpp::List& posterior,
                            const Rcpp::List& kernel,
                            const Rcpp::NumericMatrix& x, int threads) {
  return guarded([&] {
    const auto rows = map_matrix(x);
    const ParticlePosterior at = read_posterior(posterior, rows.rows());
    RcppParallelExecutor executor(threads);
    executor.ask();
    const Index count = count_of(at.size);
    MatrixXd mean(count, rows.cols()), variance(count, rows.cols());
    particle_moments(at, read_kernel(kernel), rows, executor, mean, variance);
    return r_list({{"mean", mean}, {"var", variance}});
  });
}
