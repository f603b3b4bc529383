#include "glue_bark.h"

#include <bayeskernel/bark/kept.hpp>
#include <bayeskernel/chain/runner.hpp>

#include "glue_settings.h"

namespace {

using bayeskernel::DrawPredictor;
using bayeskernel::KeptDraw;
using bayeskernel::KeptKernels;

Rcpp::NumericVector to_numbers(const std::vector<Index>& from) {
  return Rcpp::NumericVector(from.begin(), from.end());
}

std::vector<Index> to_indices(SEXP from) {
  const Rcpp::NumericVector numbers(from);
  return std::vector<Index>(numbers.begin(), numbers.end());
}

Rcpp::List chain_state(const BarkChain& chain) {
  const BarkState& state = chain.state;
  const auto& population = state.population;
  const double* y = state.response();
  std::vector<double> cuts;
  for (Index k = 0; chain.latent && k < chain.latent->free_cuts(); ++k) {
    cuts.push_back(chain.latent->cut(k));
  }
  return Rcpp::List::create(
      Rcpp::Named("location") = to_numbers(population.locations()),
      Rcpp::Named("count") = to_numbers(population.counts()),
      Rcpp::Named("varphi") = population.varphis(),
      Rcpp::Named("unit_column") = to_numbers(population.unit_columns()),
      Rcpp::Named("lambda") = to_r(state.lambda),
      Rcpp::Named("phi") = state.phi(),
      Rcpp::Named("latent") =
          chain.latent ? Rcpp::NumericVector(y, y + state.data.rows())
                       : Rcpp::NumericVector(),
      Rcpp::Named("cuts") = cuts,
      Rcpp::Named("inclusion") = Rcpp::NumericVector::create(
          state.inclusion.probability(), state.inclusion.q0(),
          state.inclusion.q1()),
      Rcpp::Named("steps") = chain.log_steps(),
      Rcpp::Named("sweep") = static_cast<double>(chain.sweeps()));
}

void restore_chain(const Rcpp::List& from, BarkChain& chain) {
  BarkState& state = chain.state;
  state.population.restore(to_indices(from["location"]),
                           to_indices(from["count"]),
                           Rcpp::as<std::vector<double>>(from["varphi"]),
                           to_indices(from["unit_column"]));
  state.lambda = map_vector(from["lambda"]);
  for (Index l = 0; l < state.variables(); ++l) {
    state.delta[l] = state.lambda[l] > 0.0;
  }
  state.gaussian.set_precision(Rcpp::as<double>(from["phi"]));
  const Rcpp::NumericVector inclusion = from["inclusion"];
  state.inclusion.set_probability(inclusion[0]);
  state.inclusion.set_markov(inclusion[1], inclusion[2]);
  if (chain.latent) {
    const Rcpp::NumericVector z = from["latent"], cuts = from["cuts"];
    std::copy(z.begin(), z.end(), state.response());
    for (Index k = 0; k < cuts.size(); ++k) chain.latent->set_cut(k, cuts[k]);
  }
  chain.set_log_steps(Rcpp::as<std::vector<double>>(from["steps"]));
  chain.set_sweeps(read_index(from["sweep"]));
  state.rebuild_all();
}

// Where the draws of all chains go; each chain writes to its own places.
class Record {
 public:
  Record(const std::vector<BarkChain*>& chains, const BarkData& reference,
         Index draws, Index most)
      : chains_(chains),
        reference_(reference),
        draws_(draws),
        kept_(chains.size()) {
    const BarkState& state = chains[0]->state;
    const Index n_chains = static_cast<Index>(chains.size());
    scalars_ = Rcpp::NumericVector(
        Rcpp::Dimension(draws, n_chains, scalars(*chains[0])));
    lambda_ = Rcpp::NumericVector(
        Rcpp::Dimension(draws, n_chains, state.variables()));
    scalars_out_ = scalars_.begin();
    lambda_out_ = lambda_.begin();
    for (Index c = 0; c < n_chains; ++c) {
      predictors_.push_back(
          std::make_unique<DrawPredictor>(state.data, reference, most));
    }
  }

  void operator()(Index c, Index k) {
    BarkChain& chain = *chains_[c];
    BarkState& state = chain.state;
    Index v = 0;
    const auto put = [&](double value) { scalars_out_[at(k, c, v++)] = value; };
    put(state.phi());
    put(static_cast<double>(state.population.kernels()));
    put(static_cast<double>(state.basis.size()));
    put(static_cast<double>(state.active()));
    put(state.total_scale());
    put(state.gaussian.log_marginal());
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
    kept.keep(state);
    DrawPredictor& predictor = *predictors_[c];
    predictor.predict_mean(
        {state.basis.size(), kept.location.data() + begin,
         kept.variance.data() + begin, kept.mean.data() + begin, state.phi()},
        state.lambda);
    for (Index i = 0; i < reference_.rows(); ++i) put(predictor.mean(i));
    for (Index l = 0; l < state.variables(); ++l) {
      lambda_out_[at(k, c, l)] = state.lambda[l];
    }
  }

  Rcpp::NumericVector scalar_draws() const { return scalars_; }
  Rcpp::NumericVector lambda_draws() const { return lambda_; }
  Rcpp::List kernels() const {
    Rcpp::List out(kept_.size());
    for (std::size_t c = 0; c < kept_.size(); ++c) {
      out[c] = Rcpp::List::create(Rcpp::Named("size") = kept_[c].size,
                                  Rcpp::Named("location") = kept_[c].location,
                                  Rcpp::Named("variance") = kept_[c].variance,
                                  Rcpp::Named("mean") = kept_[c].mean);
    }
    return out;
  }

 private:
  Index scalars(const BarkChain& chain) const {
    const InclusionPrior& inclusion = chain.state.inclusion;
    Index count = 6 + reference_.rows();
    if (inclusion.kind() == InclusionPrior::Kind::known) {
      count += 1;
    } else if (inclusion.learns()) {
      count += 2;
    }
    return count + (chain.latent ? chain.latent->free_cuts() : 0);
  }

  Index at(Index k, Index c, Index v) const {
    return k + draws_ * (c + static_cast<Index>(chains_.size()) * v);
  }

  const std::vector<BarkChain*>& chains_;
  const BarkData& reference_;
  Index draws_;
  std::vector<KeptKernels> kept_;
  std::vector<std::unique_ptr<DrawPredictor>> predictors_;
  Rcpp::NumericVector scalars_, lambda_;
  double* scalars_out_ = nullptr;
  double* lambda_out_ = nullptr;
};

// Proposed and accepted moves: moves x 2 x chains.
Rcpp::NumericVector acceptance_of(const std::vector<BarkChain*>& chains) {
  const int moves = BarkChain::kMoves;
  Rcpp::NumericVector out(
      Rcpp::Dimension(moves, 2, static_cast<int>(chains.size())));
  Rcpp::CharacterVector names(moves);
  for (int k = 0; k < moves; ++k) {
    names[k] = bayeskernel::name_of(static_cast<bayeskernel::BarkMove>(k));
  }
  double* to = out.begin();
  for (const BarkChain* chain : chains) {
    to = std::copy_n(chain->acceptance().data(), 2 * moves, to);
  }
  out.attr("dimnames") = Rcpp::List::create(
      names, Rcpp::CharacterVector::create("proposed", "accepted"), R_NilValue);
  return out;
}

// The draws of a fit, as R holds them.
class Draws {
 public:
  explicit Draws(const Rcpp::List& draws)
      : size_(Rcpp::as<Rcpp::List>(draws["kernels"])["size"]),
        location_(Rcpp::as<Rcpp::List>(draws["kernels"])["location"]),
        variance_(Rcpp::as<Rcpp::List>(draws["kernels"])["variance"]),
        mean_(Rcpp::as<Rcpp::List>(draws["kernels"])["mean"]),
        lambda_(map_matrix(draws["lambda"])),
        cuts_(map_matrix(draws["cuts"])),
        phi_(map_vector(draws["phi"])),
        classes_(Rcpp::as<int>(draws["classes"])),
        begin_(static_cast<std::size_t>(size_.size()) + 1) {
    for (R_xlen_t d = 0; d < size_.size(); ++d) {
      begin_[d + 1] = begin_[d] + size_[d];
      most_ = std::max<Index>(most_, size_[d]);
    }
    begin_int_ = location_.begin();
    begin_variance_ = variance_.begin();
    begin_mean_ = mean_.begin();
  }

  Index count() const { return phi_.size(); }
  Index most() const { return most_; }
  int classes() const { return classes_; }
  VectorXd lambda(Index d) const { return lambda_.row(d); }
  KeptDraw draw(Index d) const {
    const Index at = begin_[d];
    return {begin_[d + 1] - at, begin_int_ + at, begin_variance_ + at,
            begin_mean_ + at, phi_[d]};
  }
  // Upper cut point of class c = 1..C.
  double cut(Index d, int c) const {
    if (c == classes_) return std::numeric_limits<double>::infinity();
    return c == 1 ? 0.0 : cuts_(d, c - 2);
  }

 private:
  Rcpp::IntegerVector size_, location_;
  Rcpp::NumericVector variance_, mean_;
  Eigen::Map<const MatrixXd> lambda_, cuts_;
  Eigen::Map<const VectorXd> phi_;
  int classes_;
  std::vector<Index> begin_;
  Index most_ = 0;
  const int* begin_int_;
  const double* begin_variance_;
  const double* begin_mean_;
};

// Calls use(draw, predictor) for each draw at some rows, blocks of draws side
// by side.
template <class Use>
void for_draws(const Draws& draws, const BarkData& train, const BarkData& rows,
               bayeskernel::Executor& executor, Use&& use) {
  constexpr Index kBlock = 64;
  const Index blocks = (draws.count() + kBlock - 1) / kBlock;
  executor.run(blocks, [&](Index block) {
    DrawPredictor predictor(train, rows, draws.most());
    const Index end = std::min(draws.count(), (block + 1) * kBlock);
    for (Index d = block * kBlock; d < end; ++d) {
      predictor.predict(draws.draw(d), draws.lambda(d));
      use(block, d, predictor);
    }
  });
}

// Parts of the new rows.
template <class Body>
void for_parts(Index rows, Body&& body) {
  constexpr Index kRows = 2048;
  for (Index first = 0; first < rows; first += kRows) {
    body(first, std::min(kRows, rows - first));
  }
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_fit_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                        const Rcpp::List& settings) {
  return guarded([&] {
    const auto began = std::chrono::steady_clock::now();
    const auto x = map_matrix(data["x"]);
    const BarkData rows(x, x);
    const BarkData reference(map_matrix(settings["reference"]), x);
    const auto y = Rcpp::as<std::vector<double>>(data["y"]);
    const int classes = Rcpp::as<int>(data["classes"]);
    const BarkPrior bark_prior = read_bark_prior(prior, classes > 0);
    const ScaleSetting setting = read_setting(settings);
    const InclusionPrior inclusion = read_inclusion(prior);
    const bayeskernel::ChainPlan plan = read_plan(settings);
    const Rcpp::IntegerVector chain_id = settings["chain_id"];
    const Rcpp::IntegerMatrix start = settings["start"];
    const Rcpp::List resume = settings["states"];
    std::vector<std::unique_ptr<BarkChain>> chains;
    std::vector<BarkChain*> pointers;
    for (int c = 0; c < chain_id.size(); ++c) {
      chains.push_back(std::make_unique<BarkChain>(
          rows, y, classes, bark_prior, setting, inclusion,
          static_cast<std::uint64_t>(Rcpp::as<double>(settings["seed"])),
          static_cast<std::uint64_t>(chain_id[c]), plan.warmup));
      if (resume.size() > 0) {
        restore_chain(resume[c], *chains.back());
      } else {
        const Rcpp::IntegerMatrix::ConstColumn delta = start.column(c);
        chains.back()->start(Indicators(delta.begin(), delta.end()));
      }
      pointers.push_back(chains.back().get());
    }
    Record record(pointers, reference, plan.draws,
                  BarkState::capacity(rows, bark_prior));
    RcppParallelExecutor executor(Rcpp::as<int>(settings["threads"]));
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    const bayeskernel::ChainStatus status =
        bayeskernel::run_chains(pointers, plan, executor, user.keep_going(),
                                [&](Index c, Index k) { record(c, k); });
    Rcpp::List states(chains.size());
    for (std::size_t c = 0; c < chains.size(); ++c) {
      states[c] = chain_state(*chains[c]);
    }
    return Rcpp::List::create(
        Rcpp::Named("scalars") = record.scalar_draws(),
        Rcpp::Named("lambda") = record.lambda_draws(),
        Rcpp::Named("kernels") = record.kernels(),
        Rcpp::Named("acceptance") = acceptance_of(pointers),
        Rcpp::Named("states") = states,
        Rcpp::Named("status") = chain_status(status, began));
  });
}

// Averages over the draws at the rows of newx: the mean of f, its variance in
// all, and the probabilities of the classes with their sds over draws.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_predict_cpp(const Rcpp::List& draws,
                            const Rcpp::NumericMatrix& x,
                            const Rcpp::NumericMatrix& newx, int threads) {
  return guarded([&] {
    const Draws kept(draws);
    const auto train_x = map_matrix(x);
    const auto new_x = map_matrix(newx);
    const BarkData train(train_x, train_x);
    RcppParallelExecutor executor(threads);
    const Index n = new_x.rows(), classes = kept.classes();
    const double count = static_cast<double>(kept.count());
    VectorXd mean(n), variance(n);
    MatrixXd prob(n, classes), prob_sd(n, classes);
    for_parts(n, [&](Index first, Index size) {
      const BarkData rows(new_x.middleRows(first, size), train_x);
      // Sums of a block of draws: f, f^2, its variance, then of each class
      // p and p^2.
      std::vector<MatrixXd> sums((kept.count() + 63) / 64);
      for_draws(kept, train, rows, executor,
                [&](Index block, Index d, const DrawPredictor& at) {
                  MatrixXd& sum = sums[block];
                  if (sum.size() == 0) sum.setZero(size, 3 + 2 * classes);
                  for (Index i = 0; i < size; ++i) {
                    const double f = at.mean(i), v = at.variance(i);
                    sum(i, 0) += f;
                    sum(i, 1) += f * f;
                    sum(i, 2) += v;
                    const double scale = 1.0 / std::sqrt(1.0 + v);
                    double below = 0.0;
                    for (int c = 1; c <= classes; ++c) {
                      const double upto =
                          bayeskernel::normal_cdf((kept.cut(d, c) - f) * scale);
                      const double p = std::max(upto - below, 0.0);
                      below = upto;
                      sum(i, 1 + 2 * c) += p;
                      sum(i, 2 + 2 * c) += p * p;
                    }
                  }
                });
      MatrixXd total = MatrixXd::Zero(size, 3 + 2 * classes);
      for (const MatrixXd& sum : sums) total += sum;
      total /= count;
      mean.segment(first, size) = total.col(0);
      variance.segment(first, size) =
          total.col(2).array() +
          (total.col(1).array() - total.col(0).array().square()).max(0.0);
      for (Index c = 0; c < classes; ++c) {
        const auto p = total.col(3 + 2 * c).array();
        prob.col(c).segment(first, size) = p;
        prob_sd.col(c).segment(first, size) =
            (total.col(4 + 2 * c).array() - p.square()).max(0.0).sqrt();
      }
    });
    return Rcpp::List::create(Rcpp::Named("mean") = to_r(mean),
                              Rcpp::Named("var") = to_r(variance),
                              Rcpp::Named("prob") = to_r(prob),
                              Rcpp::Named("prob_sd") = to_r(prob_sd));
  });
}

// The mean and the variance of f at the rows of newx given each draw: draws x
// rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_latent_cpp(const Rcpp::List& draws,
                           const Rcpp::NumericMatrix& x,
                           const Rcpp::NumericMatrix& newx, int threads) {
  return guarded([&] {
    const Draws kept(draws);
    const auto train_x = map_matrix(x);
    const auto new_x = map_matrix(newx);
    const BarkData train(train_x, train_x);
    RcppParallelExecutor executor(threads);
    MatrixXd mean(kept.count(), new_x.rows());
    MatrixXd variance(kept.count(), new_x.rows());
    for_parts(new_x.rows(), [&](Index first, Index size) {
      const BarkData rows(new_x.middleRows(first, size), train_x);
      for_draws(kept, train, rows, executor,
                [&](Index, Index d, const DrawPredictor& at) {
                  for (Index i = 0; i < size; ++i) {
                    mean(d, first + i) = at.mean(i);
                    variance(d, first + i) = at.variance(i);
                  }
                });
    });
    return Rcpp::List::create(Rcpp::Named("mean") = to_r(mean),
                              Rcpp::Named("var") = to_r(variance));
  });
}

// The expected number of kernels and the squared L2 error of both
// approximations of the Levy prior.
// [[Rcpp::export(rng = false)]]
Rcpp::List levy_cpp(double alpha, double gamma, double epsilon) {
  const auto parts = [](const bayeskernel::LevyApproximation& from) {
    return Rcpp::NumericVector::create(Rcpp::Named("kernels") = from.kernels,
                                       Rcpp::Named("error") = from.error);
  };
  return Rcpp::List::create(
      Rcpp::Named("continuous") =
          parts(bayeskernel::continuous_levy(alpha, gamma, epsilon)),
      Rcpp::Named("truncated") =
          parts(bayeskernel::truncated_levy(alpha, gamma, epsilon)));
}
