#include "glue_chains.h"
#include "klr/averages.hpp"
#include "klr/kept.hpp"
#include "klr/save.hpp"

using namespace bayeskernel;

namespace {
LowRankPrior read_lowrank_prior(const Rcpp::List& prior) {
  const Rcpp::NumericVector gamma = prior["gamma"];
  const Rcpp::NumericVector scales = prior["log_lambda"];
  LowRankPrior out;
  out.alpha = read<double>(prior, "alpha");
  out.epsilon = read<double>(prior, "epsilon");
  out.gamma_shape = gamma[0];
  out.gamma_rate = gamma[1];
  out.mean_location = scales[0];
  out.mean_scale = scales[1];
  out.precision_shape = scales[2];
  out.precision_rate = scales[3];
  out.intercept_rate = read<double>(prior, "intercept_rate");
  out.max_kernels = read<Index>(prior, "max_kernels");
  out.continuous = read<std::string>(prior, "coefficients") == "continuous";
  return out;
}

Rcpp::List checkpoint_list(const LowRankCheckpoint& from) {
  return r_list(
      {{"frame", from.frame},
       {"centre", Rcpp::NumericVector(from.centre.begin(), from.centre.end())},
       {"log_lambda",
        Rcpp::NumericVector(from.log_lambda.data(),
                            from.log_lambda.data() + from.log_lambda.size())},
       {"coefficient", from.coefficient},
       {"variance", from.variance},
       {"mu", from.mu},
       {"tau", from.tau},
       {"steps", from.log_steps},
       {"sweep", static_cast<double>(from.sweeps)}});
}

// A state for a chain that was not started.
LowRankCheckpoint read_lowrank_checkpoint(SEXP from, LowRankChain& chain,
                                          const ChainPlan& plan) {
  const CheckedList list(from, kState);
  constexpr double kSmallest = std::numeric_limits<double>::min();
  const LowRankPrior& prior = chain.prior;
  const LowRankData& data = chain.basis.data();
  const Index p = data.variables(), r = chain.basis.rank();
  LowRankCheckpoint out;
  out.frame = list.matrix("frame", p, r);
  if (!((out.frame.transpose() * out.frame - MatrixXd::Identity(r, r)).norm() <
        1e-6)) {
    list.refuse("frame", "not of orthogonal columns");
  }
  out.centre = list.indices("centre", CheckedList::kAnyLength, 0.0,
                            static_cast<double>(data.rows()) - 1.0);
  const Index kernels = count_of(out.centre);
  if (kernels > prior.max_kernels) list.refuse("centre", "out of range");
  const std::vector<double> scales = list.numbers("log_lambda", r * kernels);
  out.log_lambda = MatrixMap(scales.data(), r, kernels);
  out.coefficient = list.numbers("coefficient", kernels + 1, -1e100, 1e100);
  for (Index j = 1; j <= kernels && !prior.continuous; ++j) {
    if (!(std::abs(out.coefficient[j]) >= prior.epsilon * (1.0 - 1e-9))) {
      list.refuse("coefficient", "out of range");
    }
  }
  out.variance =
      list.numbers("variance", prior.continuous ? kernels + 1 : 0, kSmallest);
  out.mu = list.number("mu");
  out.tau = list.number("tau", kSmallest);
  out.log_steps = list.numbers(
      "steps", static_cast<Index>(chain.checkpoint().log_steps.size()), -10.0,
      5.0);
  out.sweeps = list.index("sweep", 0.0, static_cast<double>(plan.sweeps()));
  return out;
}

// Where the draws of all chains go; each chain writes to its own places.
class LowRankRecord : public MoveRecord<LowRankChain, LowRankMove> {
 public:
  static constexpr Index kScalars = 5;

  // `reference`: rows at which draws have f.
  LowRankRecord(const ChainRun<LowRankChain>& run,
                const std::vector<Index>& reference)
      : MoveRecord(run),
        reference_(reference),
        kept_(run.chains()),
        scalars_(run.plan().draws, run.chains(),
                 kScalars + count_of(reference)) {}

  void operator()(Index c, Index k) {
    LowRankChain& chain = run_.chain(c);
    chain.settle();
    keep(c);
    kept_[c].keep(chain);
    const double* f = chain.f();
    double* out = scalars_.at(c, k);
    const auto put = [&](double value) {
      *out = value;
      out += scalars_.stride();
    };
    put(chain.coefficient(0));
    put(static_cast<double>(chain.basis.kernels()));
    put(chain.mu());
    put(1.0 / std::sqrt(chain.tau()));
    put(chain.log_likelihood());
    for (const Index i : reference_) put(f[i]);
  }

  Rcpp::NumericVector scalars() const { return scalars_.values(); }
  Rcpp::List kernels() const {
    Rcpp::List out(kept_.size());
    for (std::size_t c = 0; c < kept_.size(); ++c) {
      const KeptLowRank& kept = kept_[c];
      out[c] = r_list({{"size", kept.size},
                       {"centre", kept.centre},
                       {"coefficient", kept.coefficient},
                       {"log_lambda", kept.log_lambda},
                       {"frame", kept.frame}});
    }
    return out;
  }

 private:
  const std::vector<Index>& reference_;
  std::vector<KeptLowRank> kept_;
  DrawArray scalars_;
};

// The draws of a fit to `rows` rows of `variables` predictors, as R holds them.
LowRankDraws read_lowrank_draws(const Rcpp::List& draws, Index rows,
                                Index variables) {
  const CheckedList list(draws, "the draws of the fit");
  LowRankDraws out;
  out.rank = read<Index>(draws, "rank");
  const std::vector<Index> sizes =
      list.indices("size", CheckedList::kAnyLength, 0.0, 1e9);
  for (const Index size : sizes) {
    out.begin.push_back(out.begin.back() + size);
  }
  const Index kernels = out.begin.back();
  const Index count = count_of(sizes);
  for (const Index at :
       list.indices("centre", kernels, 0.0, static_cast<double>(rows) - 1.0)) {
    out.centre.push_back(static_cast<int>(at));
  }
  out.intercept = list.vector("intercept", count).data();
  out.coefficient = list.vector("coefficient", kernels).data();
  out.log_lambda = list.vector("log_lambda", out.rank * kernels).data();
  out.frame_size = variables * out.rank;
  out.frame = list.vector("frame", out.frame_size * count).data();
  return out;
}
}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List klr_fit_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                       const Rcpp::List& settings) {
  return guarded([&] {
    ChainRun<LowRankChain> run(settings);
    const auto x = map_matrix(data["x"]);
    const auto signs = read<std::vector<double>>(data, "signs");
    const LowRankData rows(x);
    const LowRankPrior lowrank_prior = read_lowrank_prior(prior);
    const Index rank = read<Index>(settings, "rank");
    std::vector<Index> reference;
    for (const double at : read<std::vector<double>>(settings, "reference")) {
      reference.push_back(static_cast<Index>(at));
    }
    const MatrixXd save =
        save_frame(x, VectorMap(signs.data(), x.rows()), rank);
    const bool started = run.start(
        [&](std::uint64_t id) {
          return std::make_unique<LowRankChain>(rows, signs, lowrank_prior,
                                                rank, run.seed(), id,
                                                run.plan().warmup);
        },
        [&](LowRankChain& chain, R_xlen_t, SEXP from) {
          chain.restore(read_lowrank_checkpoint(from, chain, run.plan()));
        },
        [&](LowRankChain& chain, std::uint64_t) { chain.start(save); });
    if (!started) return run.interrupted();
    LowRankRecord record(run, reference);
    run.run(record);
    return r_list({{"scalars", record.scalars()},
                   {"kernels", record.kernels()},
                   {"acceptance", record.acceptance()},
                   {"states", record.states(checkpoint_list)},
                   {"status", run.status()}});
  });
}

// Averages over the draws at the rows of newx: the mean and the variance of f,
// and of the probability of the second class.
// [[Rcpp::export(rng = false)]]
Rcpp::List klr_predict_cpp(const Rcpp::List& draws,
                           const Rcpp::NumericMatrix& x,
                           const Rcpp::NumericMatrix& newx, int threads) {
  return guarded([&] {
    RcppParallelExecutor executor(threads);
    const LowRankAverages at = average_draws(
        read_lowrank_draws(draws, x.nrow(), x.ncol()), map_matrix(x),
        map_matrix(newx), executor.ask(), executor.looks());
    return r_list({{"mean", at.mean},
                   {"var", at.variance},
                   {"prob", at.probability},
                   {"prob_sd", at.probability_sd}});
  });
}

// f at the rows of newx given each draw: draws x rows.
// [[Rcpp::export(rng = false)]]
SEXP klr_latent_cpp(const Rcpp::List& draws, const Rcpp::NumericMatrix& x,
                    const Rcpp::NumericMatrix& newx, int threads) {
  return guarded([&]() -> Rcpp::RObject {
    RcppParallelExecutor executor(threads);
    return to_r(latent_by_draw(read_lowrank_draws(draws, x.nrow(), x.ncol()),
                               map_matrix(x), map_matrix(newx), executor.ask(),
                               executor.looks()));
  });
}

// Expected number of kernels a priori.
// [[Rcpp::export(rng = false)]]
double klr_kernels_cpp(const Rcpp::List& prior) {
  return read_lowrank_prior(prior).expected_kernels();
}
