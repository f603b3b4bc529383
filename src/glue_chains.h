// Chains of all samplers: made, run, and how R reads what came of them.
#pragma once

#include "glue_settings.h"
#include "glue_state.h"
#include "mcmc/metropolis.hpp"
#include "mcmc/runner.hpp"

namespace bayeskernel {
inline constexpr const char* kState = "the state to go on from";

// The states of `chains` chains, or none.
inline Rcpp::List read_states(SEXP states, R_xlen_t chains) {
  if (TYPEOF(states) != VECSXP ||
      (Rf_xlength(states) != 0 && Rf_xlength(states) != chains)) {
    throw ArgumentError(std::string(kState) +
                        " is damaged: not one for each chain");
  }
  return states;
}

// Draws x chains x variables. R's memory is asked for once: chains that run
// side by side write to their own places.
class DrawArray {
 public:
  DrawArray(Index draws, Index chains, Index variables)
      : draws_(draws),
        stride_(draws * chains),
        values_(Rcpp::Dimension(draws, chains, variables)),
        out_(values_.begin()) {}

  // Variable v of draw k of chain c is at(c, k)[v * stride()].
  double* at(Index c, Index k) { return out_ + k + draws_ * c; }
  Index stride() const { return stride_; }
  const Rcpp::NumericVector& values() const { return values_; }

 private:
  Index draws_, stride_;
  Rcpp::NumericVector values_;
  double* out_;
};

// The chains of an export.
template <class Chain>
class ChainRun {
 public:
  // Of chains that use one thread each.
  explicit ChainRun(const Rcpp::List& settings)
      : ChainRun(settings, read<int>(settings, "threads"), 1) {}
  // Chains first: threads inside a chain, of which `useful` pay off, only when
  // chains are few.
  ChainRun(const Rcpp::List& settings, int useful)
      : ChainRun(settings,
                 by_chain(settings) ? read<int>(settings, "threads") : 1,
                 by_chain(settings) ? 1 : useful) {}

  const ChainPlan& plan() const { return plan_; }
  std::uint64_t seed() const { return seed_; }
  // Inside a chain.
  Executor& executor() { return inner_; }
  Index chains() const { return count_of(chains_); }
  Chain& chain(Index c) const { return *chains_[c]; }

  // make(its number) gives a chain, which restore(chain, c, state) or
  // begin(chain, its number) sets. False after an interrupt, which is looked
  // for before each: a great many chains can be interrupted before one runs.
  template <class Make, class Restore, class Begin>
  bool start(Make&& make, Restore&& restore, Begin&& begin) {
    for (R_xlen_t c = 0; c < id_.size(); ++c) {
      if (user_.interrupted()) return false;
      const std::uint64_t id = static_cast<std::uint64_t>(id_[c]);
      chains_.push_back(make(id));
      Chain& chain = *chains_.back();
      if (resume_.size() == 0) {
        begin(chain, id);
        continue;
      }
      restore(chain, c, resume_[c]);
      if (chain.sweeps() != chains_[0]->sweeps()) {
        throw ArgumentError(std::string(kState) +
                            " is damaged: chains differ in sweeps");
      }
    }
    return true;
  }
  // The answer when they were.
  Rcpp::List interrupted() const {
    ChainStatus status;
    status.interrupted = true;
    return r_list({{"status", chain_status(status, began_)}});
  }

  // record(chain c, draw k) at every draw that is kept.
  template <class Record>
  void run(Record&& record) {
    std::vector<Chain*> pointers;
    for (const auto& chain : chains_) pointers.push_back(chain.get());
    status_ = run_chains(pointers, plan_, outer_, user_.keep_going(), record);
  }
  // write(chain c, to, stride) puts the variables of a draw into draws x chains
  // x variables.
  template <class Write>
  Rcpp::NumericVector run(Index variables, Write&& write) {
    DrawArray draws(plan_.draws, chains(), variables);
    run([&](Index c, Index k) { write(c, draws.at(c, k), draws.stride()); });
    return draws.values();
  }

  Rcpp::List status() const { return chain_status(status_, began_); }

 private:
  ChainRun(const Rcpp::List& settings, int outer, int inner)
      : plan_(read_plan(settings)),
        seed_(read<std::uint64_t>(settings, "seed")),
        id_(read<Rcpp::IntegerVector>(settings, "chain_id")),
        resume_(read_states(settings["states"], id_.size())),
        user_(read<bool>(settings, "progress")),
        outer_(outer),
        inner_(inner) {}

  static bool by_chain(const Rcpp::List& settings) {
    return Rf_xlength(settings["chain_id"]) >= read<int>(settings, "threads");
  }

  const std::chrono::steady_clock::time_point began_ =
      std::chrono::steady_clock::now();
  const ChainPlan plan_;
  const std::uint64_t seed_;
  const Rcpp::IntegerVector id_;
  const Rcpp::List resume_;
  UserCallback user_;
  RcppParallelExecutor outer_, inner_;
  std::vector<std::unique_ptr<Chain>> chains_;
  ChainStatus status_;
};

// Where chains of Metropolis-Hastings moves were at their last kept draw, from
// which one that was interrupted after it goes on, and what they had proposed
// and accepted by then. Each chain writes to its own places.
template <class Chain, class Move>
class MoveRecord {
 public:
  using Checkpoint = decltype(std::declval<Chain&>().checkpoint());

  const Checkpoint& keep(Index c) {
    reached_[c] = run_.chain(c).checkpoint();
    proposed_[c] = run_.chain(c).acceptance();
    return reached_[c];
  }

  // to_list(checkpoint) of every chain.
  template <class ToList>
  Rcpp::List states(ToList&& to_list) const {
    Rcpp::List out(run_.chains());
    for (Index c = 0; c < run_.chains(); ++c) {
      out[c] = to_list(proposed_[c].size() > 0 ? reached_[c]
                                               : run_.chain(c).checkpoint());
    }
    return out;
  }
  // Moves x 2 x chains.
  Rcpp::NumericVector acceptance() const {
    constexpr int kMoves = AcceptanceTable<Move>::kMoves;
    Rcpp::NumericVector out(
        Rcpp::Dimension(kMoves, 2, static_cast<int>(run_.chains())));
    Rcpp::CharacterVector names(kMoves);
    for (int k = 0; k < kMoves; ++k) names[k] = name_of(static_cast<Move>(k));
    for (Index c = 0; c < run_.chains(); ++c) {
      std::copy_n(proposed_[c].data(), proposed_[c].size(),
                  out.begin() + 2 * kMoves * c);
    }
    out.attr("dimnames") = Rcpp::List::create(
        names, Rcpp::CharacterVector::create("proposed", "accepted"),
        R_NilValue);
    return out;
  }

 protected:
  explicit MoveRecord(const ChainRun<Chain>& run)
      : run_(run), reached_(run.chains()), proposed_(run.chains()) {}

  const ChainRun<Chain>& run_;

 private:
  std::vector<Checkpoint> reached_;
  std::vector<ArrayXXd> proposed_;
};
}  // namespace bayeskernel
