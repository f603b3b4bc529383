// Rows that the workers of a cluster keep: what the master asks them and makes
// of their answers, and what a worker answers. Sums travel, and at the end what
// there is of each row.
#pragma once

#include <string>

#include "ep/row_worker.hpp"
#include "glue_gpsvm_sites.h"
#include "linear/mean_field.hpp"
#include "linear/stochastic.hpp"
#include "rows/shard_table.hpp"

namespace bayeskernel {
// On the master. A task is a list with its `step`, that all workers are told,
// and parts of their own.
class RemoteRows {
 public:
  // Of share_rows() in R: list(ask, row, group, absent). ask(task, own), the
  // second a list by worker, returns their answers, with task$worker of this
  // one alone; `row` and `group` are the first ones of each worker, counted
  // from 0, then their numbers; `absent`: whether nobody else has the rows.
  // `task`: what every task says, further elements.
  explicit RemoteRows(const Rcpp::List& remote,
                      const Rcpp::List& task = Rcpp::List())
      : absent(read_or(remote, "absent", false)),
        ask_(read<Rcpp::Function>(remote, "ask")),
        task_(task) {
    const auto row = read<std::vector<double>>(remote, "row");
    const auto group = read<std::vector<double>>(remote, "group");
    row_.assign(row.begin(), row.end());
    group_.assign(group.begin(), group.end());
  }

  const bool absent;

  // As functions of fits; this has to outlive them.
  RemoteMeanField mean_field() const {
    return [this](const MeanFieldPass& pass, Sums& out, double* kappa) {
      Rcpp::List task =
          start(pass.q == nullptr ? RowStep::start : RowStep::mean_field);
      task["newton"] = pass.with_newton;
      task["noise"] = pass.noise;
      task["precision"] = to_r(pass.precision);
      task["kappa"] = kappa != nullptr;
      const Rcpp::List answers = send(task, pass.q);
      add(answers, pass.with_newton, out);
      if (kappa != nullptr) {
        Eigen::Map<VectorXd>(kappa, row_.back()) = by_row(answers, "kappa");
      }
    };
  }

  // Of rows of so many columns, without groups: each is of one chunk, which one
  // worker has.
  RemoteMinibatches minibatches(Index columns) const {
    struct Home {
      int worker;
      Index chunk;
    };
    const Index most = RowSource::chunk_rows(columns);
    RemoteMinibatches out;
    std::vector<Home> homes;
    for (int k = 0; k < workers(); ++k) {
      const Index n = row_[k + 1] - row_[k];
      for (Index begin = 0; begin < n; begin += most) {
        homes.push_back({k, begin / most});
        out.chunk_rows.push_back(std::min(most, n - begin));
      }
    }
    out.pass = [this, homes](
                   const BatchPlace& place, const StochasticSettings& settings,
                   const GaussianPosterior* q, double noise, Sums& sums) {
      const Home& home = homes[place.chunk];
      Rcpp::List task = start(RowStep::minibatch);
      task["worker"] = home.worker + 1;
      task["noise"] = noise;
      task["batch"] = Rcpp::NumericVector::create(
          place.epoch, place.chunk, place.step, home.chunk, settings.batch_rows,
          settings.seed);
      if (q != nullptr) set_q(*q, task);
      const Rcpp::List answers = ask_(task, Rcpp::List(1));
      if (answers.size() != 1) {
        throw ArgumentError("answers of other workers");
      }
      add(answers, false, sums);
    };
    return out;
  }

  RemoteSites sites(const EpFit& fit) const {
    return [this, &fit](SiteStep step, const GaussianPosterior& q,
                        SiteRule& rule, Sums& out) {
      const bool cold = step == SiteStep::cold;
      Rcpp::List task = start(cold                     ? RowStep::cold
                              : step == SiteStep::warm ? RowStep::warm
                                                       : RowStep::update);
      task["damping"] = rule.damping;
      task["noise"] = rule.noise_variance;
      task["precision"] = to_r(fit.precisions());
      const Rcpp::List answers = send(task, cold ? nullptr : &q);
      add(answers, false, out);
      std::vector<SiteRule::Total> totals;
      each_shard(answers, [&](const Rcpp::List& shard) {
        totals.push_back(read_total(shard["total"]));
      });
      rule.adopt(totals);
    };
  }
  SiteMirror mirror() const {
    return {[this](SiteRows& to) {
              const Rcpp::List answers =
                  send(start(RowStep::messages), nullptr);
              for (const auto& [name, member] : site_members()) {
                to.*member = by_row(answers, name);
              }
            },
            [this](const SiteRows& from) {
              Rcpp::List own(workers());
              for (int k = 0; k < workers(); ++k) {
                own[k] = r_list(
                    {{"kappa", part(from.kappa, k)}, {"b", part(from.b, k)}});
              }
              check(ask_(start(RowStep::set_messages), own));
            }};
  }

  LinearResponse::Remote response() const {
    return [this](const GaussianPosterior& q, Sums& out) {
      const Rcpp::List answers = send(start(RowStep::response), &q);
      add(answers, false, out);
      double change = 0.0;
      for (const Rcpp::List one : answers) {
        change = std::max(change, read<double>(one, "change"));
      }
      return change;
    };
  }

  // Where the passes of response() have led.
  void fetch(RowInfluence& to) const {
    const Rcpp::List from = rows(RowStep::influence);
    to.mean = map_vector(from["mean"]);
    to.variance = map_vector(from["var"]);
    to.kappa = map_vector(from["kappa"]);
    to.gradient = map_vector(from["gradient"]);
  }

  // Where the messages of the fit are, for states of a grid.
  RemoteMessages messages(const EpFit& fit) const {
    RemoteMessages out;
    out.rows = row_.back();
    out.keep = [this, &fit] {
      return copies(fit, RowStep::keep_messages, {}, {});
    };
    out.combine = [this, &fit](const std::vector<int>& from,
                               const std::vector<double>& weights) {
      return copies(fit, RowStep::combine_messages, from, weights);
    };
    out.take = [this, &fit](int from) {
      copies(fit, RowStep::take_messages, {from}, {1.0});
    };
    out.forget = [this](int copy) { forgotten_.push_back(copy); };
    out.group_evidence = [this, &fit](bool axes) {
      Rcpp::List task = start(RowStep::group_evidence);
      task["axes"] = axes;
      const Rcpp::List answers = send(task, &fit.posterior());
      VectorXd sum;
      each_shard(answers, [&](const Rcpp::List& shard) {
        const auto own = map_vector(shard["gradient"]);
        if (sum.size() == 0) {
          sum = own;
        } else {
          sum += own;
        }
      });
      return sum;
    };
    return out;
  }

  Jackknife jackknife(const EpFit& fit) const {
    const GaussianPosterior& q = fit.posterior();
    Rcpp::List task = start(RowStep::jackknife);
    task["noise"] = fit.noise_variance();
    const Rcpp::List answers = send(task, &q);
    const Index p = q.mean.x.size();
    MatrixXd sum = MatrixXd::Zero(p, p);
    each_shard(answers, [&](const Rcpp::List& shard) {
      const auto own = map_matrix(shard["curvature"]);
      if (own.rows() == p) sum += own;
    });
    const MatrixXd gram = sum.selfadjointView<Eigen::Lower>();
    const MatrixXd s = q.theta_covariance();
    Jackknife out{s * gram * s, {}};
    for (const Rcpp::List one : answers) {
      const auto total = map_vector(one["totals"]);
      out.total.curvature += total[0];
      out.total.variation += total[1];
      out.total.margin = std::min(out.total.margin, total[2]);
    }
    return out;
  }

  // mean, variance and share of all rows at the end of a fit.
  Rcpp::List moments(const MeanFieldFit& fit) const {
    Rcpp::List task = start(RowStep::moments);
    task["noise"] = fit.accepted_state.noise;
    task["precision"] = to_r(fit.precisions());
    return join(send(task, &fit.posterior()));
  }

  // Numbers of all rows by name, as workers answer to the step.
  Rcpp::List rows(RowStep step) const {
    return join(send(start(step), nullptr));
  }

  // Centres of processes, which are those of all rows.
  void set_centres(const std::vector<VectorXd>& centres) const {
    Rcpp::List task = Rcpp::clone(task_), list;
    for (const VectorXd& centre : centres) list.push_back(to_r(centre));
    task["centres"] = list;
    send(task, nullptr);
  }

  static Rcpp::NumericVector total_list(const SiteRule::Total& from) {
    return Rcpp::NumericVector::create(
        from.kappa, from.linear, from.responsibility, from.projection,
        from.squares, from.weight, from.completions);
  }

 private:
  static SiteRule::Total read_total(SEXP from) {
    const auto v = map_vector(from);
    if (v.size() != 7) throw ArgumentError("sums of other rows");
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
  }

  int workers() const { return static_cast<int>(row_.size()) - 1; }

  // The number of the new copy of messages; -1: a message would lose its sign.
  int copies(const EpFit& fit, RowStep step, const std::vector<int>& from,
             const std::vector<double>& weights) const {
    const int to = ++copies_;
    Rcpp::List task = start(step);
    task["noise"] = fit.noise_variance();
    task["copies"] = from;
    task["weights"] = weights;
    task["to"] = to;
    task["forget"] = forgotten_;
    forgotten_.clear();
    bool lost = false;
    for (const Rcpp::List one : send(task, nullptr)) {
      lost = lost || map_vector(one["lost"])[0] > 0.0;
    }
    if (!lost) return to;
    forgotten_.push_back(to);
    return -1;
  }

  Rcpp::List start(RowStep step) const {
    Rcpp::List out = Rcpp::clone(task_);
    out["step"] = static_cast<int>(step);
    return out;
  }

  static void set_q(const GaussianPosterior& q, Rcpp::List& task) {
    task["mean"] = to_r(q.mean.x);
    task["whitener"] = to_r(q.whitener());
  }

  // At q, if there is one, of which each worker is told what its groups need.
  Rcpp::List send(Rcpp::List task, const GaussianPosterior* q) const {
    Rcpp::List own(workers());
    if (q != nullptr) {
      set_q(*q, task);
      for (int k = 0; group_.back() > 0 && k < workers(); ++k) {
        own[k] = r_list({{"effects", columns(q->mean.group, 1, k)},
                         {"loading", columns(q->eliminated().loading(),
                                             q->mean.group.rows(), k)},
                         {"inverse", columns(q->eliminated().inverse(),
                                             q->mean.group.rows(), k)},
                         {"spread", q->reads_whitened_loading()
                                        ? columns(q->whitened_loading(),
                                                  q->mean.group.rows(), k)
                                        : Rcpp::NumericMatrix(0, 0)}});
      }
    }
    return check(ask_(task, own));
  }

  Rcpp::List check(const Rcpp::List& answers) const {
    if (answers.size() != workers()) {
      throw ArgumentError("answers of other workers");
    }
    return answers;
  }

  // Of the groups of worker k, each of which has so many columns.
  Rcpp::NumericMatrix columns(const MatrixXd& of, Index width, int k) const {
    return to_r(MatrixXd(
        of.middleCols(group_[k] * width, (group_[k + 1] - group_[k]) * width)));
  }
  Rcpp::NumericVector part(const VectorXd& of, int k) const {
    return to_r(VectorXd(of.segment(row_[k], row_[k + 1] - row_[k])));
  }

  Rcpp::List join(const Rcpp::List& answers) const {
    Rcpp::List out;
    const Rcpp::CharacterVector names = Rcpp::List(answers[0]).names();
    for (R_xlen_t j = 0; j < names.size(); ++j) {
      const std::string name(names[j]);
      out[name] = to_r(by_row(answers, name));
    }
    return out;
  }

  // Empty where workers have none.
  VectorXd by_row(const Rcpp::List& answers, const std::string& name) const {
    VectorXd out(row_.back());
    for (int k = 0; k < workers(); ++k) {
      const auto own = map_vector(Rcpp::List(answers[k])[name]);
      if (own.size() == 0) return VectorXd();
      if (own.size() != row_[k + 1] - row_[k]) {
        throw ArgumentError("numbers of other rows");
      }
      out.segment(row_[k], own.size()) = own;
    }
    return out;
  }

  template <class Visit>
  static void each_shard(const Rcpp::List& answers, Visit&& visit) {
    for (const Rcpp::List one : answers) {
      for (const Rcpp::List shard : Rcpp::List(one["shards"])) visit(shard);
    }
  }

  void add(const Rcpp::List& answers, bool with_newton, Sums& out) const {
    each_shard(answers, [&](const Rcpp::List& shard) {
      Sums sums;
      sums.curvature.gram = map_matrix(shard["curvature"]);
      sums.newton.gram = map_matrix(shard["newton"]);
      sums.linear.x = map_vector(shard["gradient"]);
      sums.bound = read<double>(shard, "bound");
      sums.margin = read<double>(shard, "margin");
      sums.power = read<double>(shard, "power");
      sums.squares = read<double>(shard, "squares");
      out.add(sums, with_newton);
    });
    for (int k = 0; group_.back() > 0 && k < workers(); ++k) {
      const Rcpp::List groups = Rcpp::List(answers[k])["groups"];
      set(groups, "", k, out.curvature);
      if (with_newton) set(groups, "newton_", k, out.newton);
      set(groups["gradient"], 1, k, out.linear.group);
    }
  }

  void set(const Rcpp::List& groups, const std::string& prefix, int k,
           Curvature& to) const {
    const Index r = to.group_gram.rows();
    set(groups[prefix + "cross"], r, k, to.cross);
    set(groups[prefix + "gram"], r, k, to.group_gram);
  }
  void set(SEXP from, Index width, int k, MatrixXd& to) const {
    to.middleCols(group_[k] * width, (group_[k + 1] - group_[k]) * width) =
        map_matrix(from);
  }

  Rcpp::Function ask_;
  Rcpp::List task_;
  std::vector<Index> row_, group_;
  mutable int copies_ = 0;
  mutable std::vector<int> forgotten_;  // copies that nobody needs
};

// NULL: the rows are here.
inline std::unique_ptr<RemoteRows> read_remote(
    const Rcpp::List& settings, const Rcpp::List& task = Rcpp::List()) {
  if (!settings.containsElementNamed("remote")) return nullptr;
  const SEXP remote = settings["remote"];
  if (Rf_isNull(remote)) return nullptr;
  return std::make_unique<RemoteRows>(Rcpp::List(remote), task);
}

inline std::optional<RemoteMinibatches> remote_minibatches(
    const RemoteRows* remote, Index columns) {
  if (remote == nullptr || !remote->absent) return std::nullopt;
  return remote->minibatches(columns);
}

// On a worker: its part of the rows, as R holds it.
class WorkerRows {
 public:
  virtual ~WorkerRows() = default;
  // The answer to a task, of shards that begin at the chunks `begin` (from 0;
  // the last is their number).
  virtual Rcpp::List run(const Rcpp::List& task, const Rcpp::List& own,
                         const Rcpp::IntegerVector& begin) = 0;
};

inline Rcpp::RObject to_r(std::unique_ptr<WorkerRows> worker) {
  const Rcpp::XPtr<WorkerRows> out(worker.release());
  return Rcpp::RObject(static_cast<SEXP>(out));
}

inline Rcpp::List table_list(const ShardTable& from) {
  return r_list(
      {{"chunk", from.chunk}, {"row", from.row}, {"group", from.group}});
}

// The task of the master.
inline RowRequest read_request(const Rcpp::List& task, const Rcpp::List& own) {
  RowRequest out;
  out.step = static_cast<RowStep>(read<int>(task, "step"));
  out.newton = read_or(task, "newton", out.newton);
  out.kappa = read_or(task, "kappa", out.kappa);
  out.noise = read_or(task, "noise", out.noise);
  out.damping = read_or(task, "damping", out.damping);
  if (task.containsElementNamed("precision")) {
    for (const SEXP one : Rcpp::List(task["precision"])) {
      out.precision.push_back(map_matrix(one));
    }
  }
  out.axes = read_or(task, "axes", out.axes);
  if (task.containsElementNamed("copies")) {
    out.copies = read<std::vector<int>>(task, "copies");
    out.forget = read<std::vector<int>>(task, "forget");
    out.copy_weights = read<std::vector<double>>(task, "weights");
    out.to = read<int>(task, "to");
  }
  if (task.containsElementNamed("batch")) {
    const auto at = map_vector(task["batch"]);
    out.batch = {static_cast<int>(at[0]), static_cast<Index>(at[1]),
                 static_cast<Index>(at[2])};
    out.chunk = static_cast<Index>(at[3]);
    out.batches.batch_rows = static_cast<Index>(at[4]);
    out.batches.seed = static_cast<std::uint64_t>(at[5]);
  }
  if (task.containsElementNamed("mean")) {
    out.mean = map_vector(task["mean"]);
    out.whitener = map_matrix(task["whitener"]);
  }
  if (own.containsElementNamed("effects")) {
    out.effects = map_matrix(own["effects"]);
    out.loading = map_matrix(own["loading"]);
    out.inverse = map_matrix(own["inverse"]);
    out.whitened_loading = map_matrix(own["spread"]);
  }
  if (own.containsElementNamed("kappa")) {
    out.site_kappa = map_vector(own["kappa"]);
    out.site_b = map_vector(own["b"]);
  }
  return out;
}

inline Rcpp::List shard_list(const ShardReply& from) {
  return r_list({{"curvature", from.sums.curvature.gram},
                 {"newton", from.sums.newton.gram},
                 {"gradient", from.sums.linear.x},
                 {"bound", from.sums.bound},
                 {"margin", from.sums.margin},
                 {"power", from.sums.power},
                 {"squares", from.sums.squares},
                 {"total", RemoteRows::total_list(from.total)}});
}

inline Rcpp::List reply_list(const RowReply& from, bool with_newton) {
  Rcpp::List out;
  for (const auto& [name, values] : from.rows) out[name] = to_r(values);
  if (from.shards.empty()) return out;
  Rcpp::List shards;
  for (const ShardReply& one : from.shards) {
    shards.push_back(shard_list(one));
  }
  out["shards"] = shards;
  out["change"] = from.change;
  if (from.groups == nullptr) return out;
  Rcpp::List groups = r_list({{"cross", from.groups->curvature.cross},
                              {"gram", from.groups->curvature.group_gram},
                              {"gradient", from.groups->linear.group}});
  if (with_newton) {
    groups["newton_cross"] = to_r(from.groups->newton.cross);
    groups["newton_gram"] = to_r(from.groups->newton.group_gram);
  }
  out["groups"] = groups;
  return out;
}

inline Rcpp::List run_task(RowWorker& worker, const Rcpp::List& task,
                           const Rcpp::List& own,
                           const Rcpp::IntegerVector& begin) {
  const RowRequest request = read_request(task, own);
  return reply_list(worker.run(request, {begin.begin(), begin.end()}),
                    request.newton);
}
}  // namespace bayeskernel
