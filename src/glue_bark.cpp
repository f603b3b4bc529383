#include "glue_bark.h"

#include <numeric>

#include "bark/averages.hpp"
#include "glue_chains.h"

using namespace bayeskernel;

namespace {
Rcpp::List checkpoint_list(const BarkCheckpoint& from) {
  Rcpp::List out =
      r_list({{"location", from.location},
              {"count", from.count},
              {"varphi", from.varphi},
              {"unit_column", from.unit_column},
              {"lambda", from.lambda},
              {"phi", from.phi},
              {"epsilon", from.epsilon},
              {"latent", from.latent},
              {"cuts", from.cuts},
              {"inclusion",
               Rcpp::NumericVector::create(from.probability, from.q0, from.q1)},
              {"steps", from.log_steps},
              {"sweep", static_cast<double>(from.sweeps)}});
  if (!from.block_variance.empty()) {
    out["block_variance"] = Rcpp::wrap(from.block_variance);
  }
  if (!from.learned.empty()) out["learned"] = Rcpp::wrap(from.learned);
  return out;
}

// Kernels that are there, each in a column of its own location.
void check_kernels(const CheckedList& list, const BarkCheckpoint& at,
                   const BarkPrior& prior) {
  std::vector<Index> locations = at.location;
  std::sort(locations.begin(), locations.end());
  if (std::adjacent_find(locations.begin(), locations.end()) !=
      locations.end()) {
    list.refuse("location", "not of different places");
  }
  std::vector<Index> tally(at.count.size(), 0);
  for (const Index column : at.unit_column) ++tally[column];
  if (!prior.collapsed() && tally != at.count) {
    list.refuse("unit_column", "not what `count` says");
  }
}

void check_scales(const CheckedList& list, const BarkCheckpoint& at,
                  const ScaleSetting& setting) {
  double common = 0.0;
  for (Index l = 0; l < at.lambda.size(); ++l) {
    const double lambda = at.lambda[l];
    if (lambda == 0.0 && !setting.select) list.refuse("lambda", "0");
    if (lambda == 0.0 || setting.different) continue;
    if (common > 0.0 && lambda != common) list.refuse("lambda", "not equal");
    common = lambda;
  }
}

// A state for a chain that was not started.
BarkCheckpoint read_checkpoint(SEXP from, BarkChain& chain,
                               const ChainPlan& plan) {
  const CheckedList list(from, kState);
  const BarkState& state = chain.state;
  const BarkPrior& prior = state.prior;
  constexpr double kSmallest = std::numeric_limits<double>::min();
  constexpr double kLargest = CheckedList::kLargest;
  BarkCheckpoint out;
  out.location =
      list.indices("location", CheckedList::kAnyLength, 0.0,
                   static_cast<double>(state.data.locations()) - 1.0);
  const Index m = count_of(out.location);
  out.count =
      list.indices("count", m, 1.0, static_cast<double>(prior.max_kernels));
  const Index kernels =
      std::accumulate(out.count.begin(), out.count.end(), Index{0});
  if (kernels > prior.max_kernels) list.refuse("count", "out of range");
  const bool atoms = !prior.collapsed();
  out.varphi = list.numbers("varphi", atoms ? kernels : m, kSmallest);
  out.unit_column = list.indices("unit_column", atoms ? kernels : 0, 0.0,
                                 static_cast<double>(m) - 1.0);
  check_kernels(list, out, prior);
  const std::vector<double> lambda =
      list.numbers("lambda", state.scales(), 0.0);
  out.lambda = VectorMap(lambda.data(), state.scales());
  check_scales(list, out, state.setting);
  const bool fixed = prior.phi.kind == PrecisionPrior::Kind::fixed;
  out.phi = list.number("phi", fixed ? prior.phi.value : kSmallest,
                        fixed ? prior.phi.value : kLargest);
  if (!prior.phi.allows(out.phi)) list.refuse("phi", "out of range");
  const bool known = !prior.learns_scale();
  out.epsilon = list.number("epsilon", known ? prior.epsilon : 1e-50,
                            known ? prior.epsilon : 1e50);
  if (state.data.blocks() > 0) {
    out.block_variance =
        list.numbers("block_variance", state.data.blocks(), kSmallest);
  }
  out.latent = list.numbers("latent", chain.latent ? state.data.rows() : 0);
  const Index cuts = chain.latent ? chain.latent->free_cuts() : 0;
  out.cuts = list.numbers("cuts", cuts);
  for (Index k = 0; k < cuts; ++k) {
    if (k > 0 && !(out.cuts[k] > out.cuts[k - 1])) {
      list.refuse("cuts", "not increasing");
    }
    chain.latent->set_cut(k, out.cuts[k]);
  }
  for (std::size_t i = 0; i < out.latent.size(); ++i) {
    if (!chain.latent->allows(static_cast<Index>(i), out.latent[i])) {
      list.refuse("latent", "not what the classes allow");
    }
  }
  const std::vector<double> inclusion =
      list.numbers("inclusion", 3, kSmallest, 1.0 - 1e-16);
  out.probability = inclusion[0];
  out.q0 = inclusion[1];
  out.q1 = inclusion[2];
  const BarkCheckpoint now = chain.checkpoint();
  out.log_steps = list.numbers("steps", count_of(now.log_steps), -10.0, 5.0);
  if (!now.learned.empty()) {
    out.learned = list.numbers("learned", count_of(now.learned));
    if (out.learned[0] < 0.0) list.refuse("learned", "out of range");
  }
  out.sweeps = list.index("sweep", 0.0, static_cast<double>(plan.sweeps()));
  return out;
}

// Where the draws of all chains go; each chain writes to its own places.
class Record : public MoveRecord<BarkChain, BarkMove> {
 public:
  Record(const ChainRun<BarkChain>& run, const BarkData& reference, Index most)
      : MoveRecord(run),
        reference_(reference),
        kept_(run.chains()),
        scalars_(run.plan().draws, run.chains(), scalars(run.chain(0))),
        lambda_(run.plan().draws, run.chains(), run.chain(0).state.scales()) {
    for (Index c = 0; c < run.chains(); ++c) {
      predictors_.push_back(std::make_unique<DrawPredictor>(
          run.chain(0).state.data, reference, most));
    }
  }

  void operator()(Index c, Index k) {
    BarkChain& chain = run_.chain(c);
    BarkState& state = chain.state;
    chain.settle();
    keep(c);
    double* out = scalars_.at(c, k);
    const auto put = [&](double value) {
      *out = value;
      out += scalars_.stride();
    };
    put(state.phi());
    put(static_cast<double>(state.population.kernels()));
    put(static_cast<double>(state.population.columns()));
    put(static_cast<double>(state.active()));
    put(state.total_scale());
    put(state.gaussian.log_marginal());
    if (state.prior.learns_scale()) put(state.prior.epsilon);
    if (state.inclusion.kind() == InclusionPrior::Kind::known) {
      put(state.inclusion.probability());
    } else if (state.inclusion.learns()) {
      put(state.inclusion.q0());
      put(state.inclusion.q1());
    }
    for (Index j = 0; chain.latent && j < chain.latent->free_cuts(); ++j) {
      put(chain.latent->cut(j));
    }
    KeptKernels& kept = kept_[c];
    const std::size_t begin = kept.location.size();
    const std::size_t fixed = kept.block_mean.size();
    const std::size_t blocks = kept.block_variance.size();
    kept.keep(state);
    DrawPredictor& predictor = *predictors_[c];
    predictor.predict_mean(
        {state.population.columns(), kept.location.data() + begin,
         kept.variance.data() + begin, kept.mean.data() + begin, state.phi(),
         kept.block_mean.data() + fixed, kept.block_variance.data() + blocks},
        state.lambda);
    for (Index i = 0; i < reference_.rows(); ++i) put(predictor.mean(i));
    for (const double variance : state.block_variance) put(variance);
    if (state.data.fixed() > 0) {
      const double* b = chain.draw_coefficients();
      for (Index j = 0; j < state.data.fixed(); ++j) put(b[j]);
    }
    for (Index l = 0; l < state.scales(); ++l) {
      lambda_.at(c, k)[l * lambda_.stride()] = state.lambda[l];
    }
  }

  Rcpp::NumericVector scalar_draws() const { return scalars_.values(); }
  Rcpp::NumericVector lambda_draws() const { return lambda_.values(); }
  Rcpp::List kernels() const {
    Rcpp::List out(kept_.size());
    for (std::size_t c = 0; c < kept_.size(); ++c) {
      Rcpp::List own = r_list({{"size", kept_[c].size},
                               {"location", kept_[c].location},
                               {"variance", kept_[c].variance},
                               {"mean", kept_[c].mean}});
      if (reference_.blocks() > 0) {
        own["block_mean"] = Rcpp::wrap(kept_[c].block_mean);
        own["block_variance"] = Rcpp::wrap(kept_[c].block_variance);
      }
      out[c] = own;
    }
    return out;
  }

 private:
  Index scalars(const BarkChain& chain) const {
    const InclusionPrior& inclusion = chain.state.inclusion;
    Index count = 6 + reference_.rows() + chain.state.prior.learns_scale() +
                  reference_.blocks() + reference_.fixed();
    if (inclusion.kind() == InclusionPrior::Kind::known) {
      count += 1;
    } else if (inclusion.learns()) {
      count += 2;
    }
    return count + (chain.latent ? chain.latent->free_cuts() : 0);
  }

  const BarkData& reference_;
  std::vector<KeptKernels> kept_;
  std::vector<std::unique_ptr<DrawPredictor>> predictors_;
  DrawArray scalars_, lambda_;
};

BarkTraining read_training(const Rcpp::List& from, const MatrixMap& x,
                           Index vectors) {
  const BlockFacts facts = read_block_facts(from);
  return {x, read_weights(from), facts,
          facts.blocks() > 0 ? read_levels(from["blocks"], "level")
                             : Eigen::MatrixXi(),
          vectors};
}

Rcpp::IntegerVector read_whole(SEXP x) {
  if (TYPEOF(x) != INTSXP) {
    throw ArgumentError("the draws of the fit are damaged");
  }
  return x;
}

// Sets the number of vectors of scales of `train`.
BarkDraws read_draws(const Rcpp::List& from, BarkTraining& train) {
  const Rcpp::List kernels = from["kernels"];
  const CheckedList list(kernels, "the draws of the fit");
  const Rcpp::IntegerVector size = read_whole(kernels["size"]);
  const Rcpp::IntegerVector location = read_whole(kernels["location"]);
  BarkDraws out{{0},
                location.begin(),
                nullptr,
                nullptr,
                nullptr,
                nullptr,
                map_matrix(from["lambda"]),
                map_matrix(from["cuts"]),
                map_vector(from["phi"])};
  for (const int kernels_of_one : size) {
    if (kernels_of_one < 0) list.refuse("size", "out of range");
    out.begin.push_back(out.begin.back() + kernels_of_one);
  }
  const Index columns = out.begin.back(), count = size.size();
  const Index variables = train.x.cols();
  train.vectors = variables > 0 ? out.lambda.cols() / variables : 1;
  out.classes = read<int>(from, "classes");
  out.variance = list.vector("variance", columns).data();
  out.mean = list.vector("mean", columns).data();
  out.blocks = train.blocks.blocks();
  if (out.blocks > 0) {
    out.fixed = train.blocks.columns(variables);
    out.block_mean = list.vector("block_mean", count * out.fixed).data();
    out.block_variance =
        list.vector("block_variance", count * out.blocks).data();
  }
  const bool sizes = location.size() == columns && out.count() == count &&
                     out.lambda.rows() == count && train.vectors > 0 &&
                     out.lambda.cols() == train.vectors * variables &&
                     (out.classes <= 2 || (out.cuts.cols() == out.classes - 1 &&
                                           out.cuts.rows() == count));
  if (!sizes) list.refuse("a part", "not of the right length");
  for (const int at : location) {
    if (at < 0 || at > train.vectors * train.x.rows()) {
      list.refuse("location", "out of range");
    }
  }
  if (!out.lambda.allFinite() || !out.cuts.allFinite() ||
      !out.phi.allFinite()) {
    list.refuse("a part", "not finite");
  }
  return out;
}

// The draws of a fit, as R holds them, and the rows of the fit.
struct Kept {
  // Of a fit to these rows.
  Kept(const Rcpp::List& list, const Rcpp::NumericMatrix& x)
      : train(read_training(list, map_matrix(x), 1)),
        draws(read_draws(list, train)) {}

  BarkTraining train;
  BarkDraws draws;
};
}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_fit_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                        const Rcpp::List& settings) {
  return guarded([&] {
    ChainRun<BarkChain> run(settings);
    const auto x = map_matrix(data["x"]);
    const auto vectors = read<Index>(settings, "vectors");
    const BarkTraining train = read_training(data, x, vectors);
    const BarkData rows = train.rows();
    const auto at = map_matrix(settings["reference"]);
    const BarkData reference(
        at, x, {},
        train.blocks.rows(at, read_levels(settings, "reference_level")),
        vectors);
    const auto y = read<std::vector<double>>(data, "y");
    const int classes = read<int>(data, "classes");
    const BarkPrior bark_prior = read_bark_prior(prior, classes > 0);
    const ScaleSetting setting = read_setting(settings);
    const InclusionPrior inclusion = read_inclusion(prior);
    const Rcpp::IntegerMatrix start = settings["start"];
    const bool started = run.start(
        [&](std::uint64_t id) {
          return std::make_unique<BarkChain>(rows, y, classes, bark_prior,
                                             setting, inclusion, run.seed(), id,
                                             run.plan().warmup);
        },
        [&](BarkChain& chain, R_xlen_t, SEXP from) {
          chain.restore(read_checkpoint(from, chain, run.plan()));
        },
        [&](BarkChain& chain, std::uint64_t id) {
          const Rcpp::IntegerMatrix::ConstColumn delta =
              start.column(static_cast<int>(id % start.ncol()));
          chain.start(IndicatorVector(delta.begin(), delta.end()));
        });
    if (!started) return run.interrupted();
    Record record(run, reference, BarkState::capacity(rows, bark_prior));
    run.run(record);
    return r_list({{"scalars", record.scalar_draws()},
                   {"lambda", record.lambda_draws()},
                   {"kernels", record.kernels()},
                   {"acceptance", record.acceptance()},
                   {"states", record.states(checkpoint_list)},
                   {"status", run.status()}});
  });
}

// Averages over the draws at the rows of newx: the mean of f, its variance in
// all, and the probabilities of the classes with their posterior sds. `level`:
// rows x factors of random intercepts, 0 for a level that the fit has not seen;
// NULL for rows without these effects.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_predict_cpp(const Rcpp::List& draws,
                            const Rcpp::NumericMatrix& x,
                            const Rcpp::NumericMatrix& newx, int threads,
                            SEXP level = R_NilValue) {
  return guarded([&] {
    const Kept kept(draws, x);
    RcppParallelExecutor executor(threads);
    const BarkAverages at =
        average_draws(kept.draws, kept.train, map_matrix(newx),
                      read_levels(level), executor.ask(), executor.looks());
    return r_list({{"mean", at.mean},
                   {"var", at.variance},
                   {"prob", at.probability},
                   {"prob_sd", at.probability_sd}});
  });
}

// The mean and the variance of f at the rows of newx given each draw: draws x
// rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_latent_cpp(const Rcpp::List& draws,
                           const Rcpp::NumericMatrix& x,
                           const Rcpp::NumericMatrix& newx, int threads,
                           SEXP level = R_NilValue) {
  return guarded([&] {
    const Kept kept(draws, x);
    RcppParallelExecutor executor(threads);
    const BarkLatent at =
        latent_by_draw(kept.draws, kept.train, map_matrix(newx),
                       read_levels(level), executor.ask(), executor.looks());
    return r_list({{"mean", at.mean}, {"var", at.variance}});
  });
}

// The expected number of kernels and the squared L2 error of both
// approximations of the Levy prior.
// [[Rcpp::export(rng = false)]]
Rcpp::List levy_cpp(double alpha, double gamma, double epsilon) {
  const auto parts = [](const LevyApproximation& from) {
    using Rcpp::Named;
    return Rcpp::NumericVector::create(Named("kernels") = from.kernels,
                                       Named("error") = from.error);
  };
  return r_list({{"continuous", parts(continuous_levy(alpha, gamma, epsilon))},
                 {"truncated", parts(truncated_levy(alpha, gamma, epsilon))}});
}
