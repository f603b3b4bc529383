#include "glue_bark.h"

#include <numeric>

#include "bark/kept.hpp"
#include "bark/unseen.hpp"
#include "glue_chains.h"
#include "math/normal.hpp"

namespace {

using bayeskernel::BarkCheckpoint;
using bayeskernel::DrawPredictor;
using bayeskernel::KeptDraw;
using bayeskernel::KeptKernels;

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
                               const bayeskernel::ChainPlan& plan) {
  const CheckedList list(from, kState);
  const BarkState& state = chain.state;
  const BarkPrior& prior = state.prior;
  constexpr double kSmallest = std::numeric_limits<double>::min();
  constexpr double kLargest = CheckedList::kLargest;
  BarkCheckpoint out;
  out.location =
      list.indices("location", CheckedList::kAnyLength, 0.0,
                   static_cast<double>(state.data.locations()) - 1.0);
  const Index m = static_cast<Index>(out.location.size());
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
  out.lambda = Eigen::Map<const VectorXd>(lambda.data(), state.scales());
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
  out.cuts = list.numbers("cuts", cuts, kSmallest);
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
  out.log_steps = list.numbers(
      "steps", static_cast<Index>(now.log_steps.size()), -10.0, 5.0);
  if (!now.learned.empty()) {
    out.learned =
        list.numbers("learned", static_cast<Index>(now.learned.size()));
    if (out.learned[0] < 0.0) list.refuse("learned", "out of range");
  }
  out.sweeps = list.index("sweep", 0.0, static_cast<double>(plan.sweeps()));
  return out;
}

// Where the draws of all chains go; each chain writes to its own places.
class Record : public MoveRecord<BarkChain, bayeskernel::BarkMove> {
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

// The draws of a fit, as R holds them.
class Draws {
 public:
  static constexpr Index kBlock = 64;

  // Of a fit to `rows` rows of `variables` predictors.
  Draws(const Rcpp::List& draws, Index rows, Index variables)
      : size_(whole(read<Rcpp::List>(draws, "kernels")["size"])),
        location_(whole(read<Rcpp::List>(draws, "kernels")["location"])),
        lambda_(map_matrix(draws["lambda"])),
        vectors_(variables > 0 ? lambda_.cols() / variables : 1),
        cuts_(map_matrix(draws["cuts"])),
        phi_(map_vector(draws["phi"])),
        classes_(read<int>(draws, "classes")),
        weights_(read_weights(draws)),
        facts_(read_block_facts(draws)),
        level_(facts_.blocks() > 0 ? read_levels(draws["blocks"], "level")
                                   : Eigen::MatrixXi()),
        begin_(static_cast<std::size_t>(size_.size()) + 1) {
    const CheckedList list(draws["kernels"], "the draws of the fit");
    for (R_xlen_t d = 0; d < size_.size(); ++d) {
      if (size_[d] < 0) list.refuse("size", "out of range");
      begin_[d + 1] = begin_[d] + size_[d];
      most_ = std::max<Index>(most_, size_[d]);
    }
    const Index columns = begin_.back(), count = size_.size();
    variance_ = list.vector("variance", columns).data();
    mean_ = list.vector("mean", columns).data();
    if (facts_.blocks() > 0) {
      fixed_ = std::accumulate(facts_.levels.begin(), facts_.levels.end(),
                               facts_.linear ? variables : Index{0});
      block_mean_ = list.vector("block_mean", count * fixed_).data();
      block_variance_ =
          list.vector("block_variance", count * facts_.blocks()).data();
    }
    const bool sizes = location_.size() == columns && phi_.size() == count &&
                       lambda_.rows() == count && vectors_ > 0 &&
                       lambda_.cols() == vectors_ * variables &&
                       cuts_.cols() >= classes_ - 2 &&
                       (cuts_.cols() == 0 || cuts_.rows() == count);
    if (!sizes) list.refuse("a part", "not of the right length");
    for (const int at : location_) {
      if (at < 0 || at > vectors_ * rows)
        list.refuse("location", "out of range");
    }
    if (!lambda_.allFinite() || !cuts_.allFinite() || !phi_.allFinite()) {
      list.refuse("a part", "not finite");
    }
    where_ = location_.begin();
  }

  Index count() const { return phi_.size(); }
  Index blocks() const { return (count() + kBlock - 1) / kBlock; }
  Index most() const { return most_; }
  // Of the rows of the fit, none where all are 1.
  const std::vector<double>& weights() const { return weights_; }
  const BlockFacts& block_facts() const { return facts_; }
  // Of the rows of the fit.
  const Eigen::MatrixXi& levels() const { return level_; }
  int classes() const { return classes_; }
  Index vectors() const { return vectors_; }
  VectorXd lambda(Index d) const { return lambda_.row(d); }
  KeptDraw draw(Index d) const {
    const Index at = begin_[d];
    return {begin_[d + 1] - at,
            where_ + at,
            variance_ + at,
            mean_ + at,
            phi_[d],
            block_mean_ + d * fixed_,
            block_variance_ + d * facts_.blocks()};
  }
  // Upper cut point of class c = 1..C.
  double cut(Index d, int c) const {
    if (c == classes_) return std::numeric_limits<double>::infinity();
    return c == 1 ? 0.0 : cuts_(d, c - 2);
  }

 private:
  static Rcpp::IntegerVector whole(SEXP x) {
    if (TYPEOF(x) != INTSXP) {
      throw bayeskernel::ArgumentError("the draws of the fit are damaged");
    }
    return x;
  }

  Rcpp::IntegerVector size_, location_;
  Eigen::Map<const MatrixXd> lambda_;
  Index vectors_;  // of scales
  Eigen::Map<const MatrixXd> cuts_;
  Eigen::Map<const VectorXd> phi_;
  int classes_;
  std::vector<double> weights_;
  BlockFacts facts_;
  Eigen::MatrixXi level_;
  std::vector<Index> begin_;
  Index most_ = 0;
  Index fixed_ = 0;  // columns of blocks
  const int* where_ = nullptr;
  const double* variance_ = nullptr;
  const double* mean_ = nullptr;
  const double* block_mean_ = nullptr;
  const double* block_variance_ = nullptr;
};

// Nodes for the effects of levels that the fit has not seen.
constexpr int kNodes = 30;

// Calls use(block, draw, first row, rows, predictor) for each draw at parts of
// the rows, blocks of draws side by side; done(first row, rows) after a part.
template <class Use, class Done>
void for_draws(const Draws& draws, SEXP x, SEXP newx, SEXP newlevel,
               int threads, Use&& use, Done&& done) {
  constexpr Index kRows = 2048;
  const auto train_x = map_matrix(x);
  const auto new_x = map_matrix(newx);
  if (new_x.cols() != train_x.cols()) {
    throw bayeskernel::ArgumentError("new rows have other columns");
  }
  const BlockFacts& facts = draws.block_facts();
  const BarkData train(train_x, train_x, draws.weights(),
                       facts.rows(train_x, draws.levels()), draws.vectors());
  const Eigen::MatrixXi level = read_levels(newlevel);
  if (level.size() > 0 && level.rows() != new_x.rows()) {
    throw bayeskernel::ArgumentError("not a level for each new row");
  }
  RcppParallelExecutor executor(threads);
  executor.ask();
  for (Index first = 0; first < new_x.rows(); first += kRows) {
    const Index size = std::min(kRows, new_x.rows() - first);
    Eigen::MatrixXi own;
    if (level.size() > 0) own = level.middleRows(first, size);
    const BarkData rows(new_x.middleRows(first, size), train_x, {},
                        facts.rows(new_x.middleRows(first, size), own),
                        draws.vectors());
    executor.run(draws.blocks(), [&](Index block) {
      DrawPredictor predictor(train, rows, draws.most());
      const Index end = std::min(draws.count(), (block + 1) * Draws::kBlock);
      for (Index d = block * Draws::kBlock; d < end; ++d) {
        executor.look();
        predictor.predict(draws.draw(d), draws.lambda(d));
        use(block, d, first, size, predictor);
      }
    });
    done(first, size);
  }
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_fit_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                        const Rcpp::List& settings) {
  return guarded([&] {
    ChainRun<BarkChain> run(settings);
    const auto x = map_matrix(data["x"]);
    const BlockFacts facts = read_block_facts(data);
    const Index vectors = read<Index>(settings, "vectors");
    const BarkData rows(
        x, x, read_weights(data),
        facts.rows(x, facts.blocks() > 0 ? read_levels(data["blocks"], "level")
                                         : Eigen::MatrixXi()),
        vectors);
    const auto at = map_matrix(settings["reference"]);
    const BarkData reference(
        at, x, {}, facts.rows(at, read_levels(settings, "reference_level")),
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
// all, and the probabilities of the classes with their sds over draws. `level`:
// rows x factors of random intercepts, 0 for a level that the fit has not seen,
// over whose effects the sds are, too; NULL for rows without these effects.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_predict_cpp(const Rcpp::List& draws,
                            const Rcpp::NumericMatrix& x,
                            const Rcpp::NumericMatrix& newx, int threads,
                            SEXP level = R_NilValue) {
  return guarded([&] {
    const Draws kept(draws, x.nrow(), x.ncol());
    const Index n = newx.nrow(), classes = kept.classes();
    VectorXd mean(n), variance(n);
    MatrixXd prob(n, classes), prob_sd(n, classes);
    const bayeskernel::GaussHermite nodes(kNodes);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    // Sums of a block of draws: f, f^2, its variance, then of each class p and
    // p^2, this over the effects of levels that the fit has not seen.
    std::vector<MatrixXd> sums(kept.blocks());
    const auto add = [&](Index block, Index d, Index, Index size,
                         const DrawPredictor& at) {
      MatrixXd& sum = sums[block];
      if (sum.size() == 0) sum.setZero(size, 3 + 2 * classes);
      for (Index i = 0; i < size; ++i) {
        const double f = at.mean(i), v = at.variance(i);
        sum(i, 0) += f;
        sum(i, 1) += f * f;
        sum(i, 2) += v;
        const double scale = 1.0 / std::sqrt(1.0 + v);
        const double unseen = at.unseen_variance(i);
        double below = 0.0;
        for (int c = 1; c <= classes; ++c) {
          const double cut = kept.cut(d, c);
          const double upto = bayeskernel::normal_cdf((cut - f) * scale);
          const double p = std::max(upto - below, 0.0);
          below = upto;
          sum(i, 1 + 2 * c) += p;
          sum(i, 2 + 2 * c) +=
              unseen > 0.0
                  ? bayeskernel::square_over_effects(
                        nodes, c > 1 ? kept.cut(d, c - 1) - f : -infinity,
                        cut - f, v - unseen, unseen)
                  : p * p;
        }
      }
    };
    const auto finish = [&](Index first, Index size) {
      MatrixXd total = MatrixXd::Zero(size, 3 + 2 * classes);
      for (MatrixXd& sum : sums) {
        total += sum;
        sum.resize(0, 0);
      }
      total /= static_cast<double>(kept.count());
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
    };
    for_draws(kept, x, newx, level, threads, add, finish);
    return r_list({{"mean", mean},
                   {"var", variance},
                   {"prob", prob},
                   {"prob_sd", prob_sd}});
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
    const Draws kept(draws, x.nrow(), x.ncol());
    MatrixXd mean(kept.count(), newx.nrow());
    MatrixXd variance(kept.count(), newx.nrow());
    for_draws(
        kept, x, newx, level, threads,
        [&](Index, Index d, Index first, Index size, const DrawPredictor& at) {
          for (Index i = 0; i < size; ++i) {
            mean(d, first + i) = at.mean(i);
            variance(d, first + i) = at.variance(i);
          }
        },
        [](Index, Index) {});
    return r_list({{"mean", mean}, {"var", variance}});
  });
}

// The expected number of kernels and the squared L2 error of both
// approximations of the Levy prior.
// [[Rcpp::export(rng = false)]]
Rcpp::List levy_cpp(double alpha, double gamma, double epsilon) {
  const auto parts = [](const bayeskernel::LevyApproximation& from) {
    using Rcpp::Named;
    return Rcpp::NumericVector::create(Named("kernels") = from.kernels,
                                       Named("error") = from.error);
  };
  return r_list({{"continuous",
                  parts(bayeskernel::continuous_levy(alpha, gamma, epsilon))},
                 {"truncated",
                  parts(bayeskernel::truncated_levy(alpha, gamma, epsilon))}});
}
