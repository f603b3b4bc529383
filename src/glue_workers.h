// Rows that the workers of a cluster keep: what the master asks them and makes
// of their answers, and what a worker answers. Sums travel, and at the end what
// there is of each row.
#ifndef BAYESKERNEL_GLUE_WORKERS_H
#define BAYESKERNEL_GLUE_WORKERS_H

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glue_gpsvm_sites.h"
#include "linear/mean_field.hpp"

// On the master. A task is a list with its `step`, that all workers are told,
// and parts of their own.
class RemoteRows {
 public:
  // Of share_rows() in R: list(ask, row, group). ask(task, own), the second a
  // list by worker, returns their answers; `row` and `group` are the first ones
  // of each worker, counted from 0, then their numbers. `task`: what every task
  // says, further elements.
  explicit RemoteRows(const Rcpp::List& remote,
                      const Rcpp::List& task = Rcpp::List())
      : ask_(read<Rcpp::Function>(remote, "ask")), task_(task) {
    const auto row = read<std::vector<double>>(remote, "row");
    const auto group = read<std::vector<double>>(remote, "group");
    row_.assign(row.begin(), row.end());
    group_.assign(group.begin(), group.end());
  }

  // As functions of fits; this has to outlive them.
  bayeskernel::RemoteMeanField mean_field() const {
    return [this](const bayeskernel::MeanFieldPass& pass,
                  bayeskernel::Sums& out, double* kappa) {
      Rcpp::List task = start(pass.q == nullptr ? "start" : "mean field");
      task["newton"] = pass.with_newton;
      task["noise"] = pass.noise;
      task["precision"] = to_r(pass.precision);
      task["kappa"] = kappa != nullptr;
      const Rcpp::List answers = send(task, pass.q);
      add(answers, pass.with_newton, out);
      if (kappa != nullptr) {
        Eigen::Map<Eigen::VectorXd>(kappa, row_.back()) =
            by_row(answers, "kappa");
      }
    };
  }

  bayeskernel::RemoteSites sites(const bayeskernel::EpFit& fit) const {
    return [this, &fit](bayeskernel::SiteStep step,
                        const bayeskernel::GaussianPosterior& q,
                        bayeskernel::SiteRule& rule, bayeskernel::Sums& out) {
      using bayeskernel::SiteStep;
      const bool cold = step == SiteStep::cold;
      Rcpp::List task = start(cold                     ? "cold"
                              : step == SiteStep::warm ? "warm"
                                                       : "update");
      task["damping"] = rule.damping;
      task["noise"] = rule.noise_variance;
      task["precision"] = to_r(fit.precisions());
      const Rcpp::List answers = send(task, cold ? nullptr : &q);
      add(answers, false, out);
      std::vector<bayeskernel::SiteRule::Total> totals;
      each_shard(answers, [&](const Rcpp::List& shard) {
        totals.push_back(read_total(shard["total"]));
      });
      rule.adopt(totals);
    };
  }
  bayeskernel::SiteMirror mirror() const {
    return {[this](bayeskernel::SiteRows& to) {
              const Rcpp::List answers = send(start("messages"), nullptr);
              for (const auto& [name, member] : site_members()) {
                to.*member = by_row(answers, name);
              }
            },
            [this](const bayeskernel::SiteRows& from) {
              Rcpp::List own(workers());
              for (int k = 0; k < workers(); ++k) {
                own[k] = r_list(
                    {{"kappa", part(from.kappa, k)}, {"b", part(from.b, k)}});
              }
              check(ask_(start("set messages"), own));
            }};
  }

  bayeskernel::LinearResponse::Remote response() const {
    return [this](const bayeskernel::GaussianPosterior& q,
                  bayeskernel::Sums& out) {
      const Rcpp::List answers = send(start("response"), &q);
      add(answers, false, out);
      double change = 0.0;
      for (const Rcpp::List one : answers) {
        change = std::max(change, read<double>(one, "change"));
      }
      return change;
    };
  }

  // Where the passes of response() have led.
  void pull(bayeskernel::RowInfluence& to) const {
    const Rcpp::List from = rows("influence");
    to.mean = map_vector(from["mean"]);
    to.variance = map_vector(from["var"]);
    to.kappa = map_vector(from["kappa"]);
    to.gradient = map_vector(from["gradient"]);
  }

  // mean, variance and share of all rows at the end of a fit.
  Rcpp::List moments(const bayeskernel::MeanFieldFit& fit) const {
    Rcpp::List task = start("moments");
    task["noise"] = fit.accepted_state.noise;
    task["precision"] = to_r(fit.precisions());
    return join(send(task, &fit.posterior()));
  }

  // Numbers of all rows by name, as workers answer to the step.
  Rcpp::List rows(const std::string& step) const {
    return join(send(start(step), nullptr));
  }

  // Centres of processes, which are those of all rows.
  void set_centres(const std::vector<Eigen::VectorXd>& centres) const {
    Rcpp::List task = start("centres");
    Rcpp::List list;
    for (const Eigen::VectorXd& centre : centres) list.push_back(to_r(centre));
    task["centres"] = list;
    send(task, nullptr);
  }

  // What of messages there is by row.
  using SiteMember = Eigen::VectorXd bayeskernel::SiteRows::*;
  static std::vector<std::pair<const char*, SiteMember>> site_members() {
    using bayeskernel::SiteRows;
    return {{"kappa", &SiteRows::kappa},
            {"b", &SiteRows::b},
            {"mean", &SiteRows::mean},
            {"variance", &SiteRows::variance},
            {"cavity_mean", &SiteRows::cavity_mean},
            {"cavity_variance", &SiteRows::cavity_variance},
            {"log_z", &SiteRows::log_z},
            {"residual_slope", &SiteRows::residual_slope},
            {"share", &SiteRows::share}};
  }
  static Rcpp::NumericVector total_list(
      const bayeskernel::SiteRule::Total& from) {
    return Rcpp::NumericVector::create(from.kappa, from.linear, from.share,
                                       from.projection, from.squares,
                                       from.weight, from.atoms);
  }

 private:
  using Index = Eigen::Index;

  static bayeskernel::SiteRule::Total read_total(SEXP from) {
    const auto v = map_vector(from);
    if (v.size() != 7) throw bayeskernel::ArgumentError("sums of other rows");
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
  }

  int workers() const { return static_cast<int>(row_.size()) - 1; }

  Rcpp::List start(const std::string& step) const {
    Rcpp::List out = Rcpp::clone(task_);
    out["step"] = step;
    return out;
  }

  // At q, if there is one, of which each worker is told what its groups need.
  Rcpp::List send(Rcpp::List task,
                  const bayeskernel::GaussianPosterior* q) const {
    Rcpp::List own(workers());
    if (q != nullptr) {
      task["mean"] = to_r(q->mean.x);
      task["whitener"] = to_r(q->whitener());
      for (int k = 0; group_.back() > 0 && k < workers(); ++k) {
        own[k] = r_list(
            {{"effects", columns(q->mean.group, 1, k)},
             {"loading",
              columns(q->eliminated().loading(), q->mean.group.rows(), k)},
             {"inverse",
              columns(q->eliminated().inverse(), q->mean.group.rows(), k)},
             {"spread", q->reads_spread()
                            ? columns(q->spread(), q->mean.group.rows(), k)
                            : Rcpp::NumericMatrix(0, 0)}});
      }
    }
    return check(ask_(task, own));
  }

  Rcpp::List check(const Rcpp::List& answers) const {
    if (answers.size() != workers()) {
      throw bayeskernel::ArgumentError("answers of other workers");
    }
    return answers;
  }

  // Of the groups of worker k, each of which has so many columns.
  Rcpp::NumericMatrix columns(const Eigen::MatrixXd& of, Index width,
                              int k) const {
    return to_r(Eigen::MatrixXd(
        of.middleCols(group_[k] * width, (group_[k + 1] - group_[k]) * width)));
  }
  Rcpp::NumericVector part(const Eigen::VectorXd& of, int k) const {
    return to_r(Eigen::VectorXd(of.segment(row_[k], row_[k + 1] - row_[k])));
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
  Eigen::VectorXd by_row(const Rcpp::List& answers,
                         const std::string& name) const {
    Eigen::VectorXd out(row_.back());
    for (int k = 0; k < workers(); ++k) {
      const auto own = map_vector(Rcpp::List(answers[k])[name]);
      if (own.size() == 0) return Eigen::VectorXd();
      if (own.size() != row_[k + 1] - row_[k]) {
        throw bayeskernel::ArgumentError("numbers of other rows");
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

  void add(const Rcpp::List& answers, bool with_newton,
           bayeskernel::Sums& out) const {
    each_shard(answers, [&](const Rcpp::List& shard) {
      bayeskernel::Sums sums;
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
           bayeskernel::Curvature& to) const {
    const Index r = to.group_gram.rows();
    set(groups[prefix + "cross"], r, k, to.cross);
    set(groups[prefix + "gram"], r, k, to.group_gram);
  }
  void set(SEXP from, Index width, int k, Eigen::MatrixXd& to) const {
    to.middleCols(group_[k] * width, (group_[k + 1] - group_[k]) * width) =
        map_matrix(from);
  }

  Rcpp::Function ask_;
  Rcpp::List task_;
  std::vector<Index> row_, group_;
};

// NULL: the rows are here.
inline std::unique_ptr<RemoteRows> read_remote(
    const Rcpp::List& settings, const Rcpp::List& task = Rcpp::List()) {
  if (!settings.containsElementNamed("remote")) return nullptr;
  const SEXP remote = settings["remote"];
  if (Rf_isNull(remote)) return nullptr;
  return std::make_unique<RemoteRows>(Rcpp::List(remote), task);
}

// On a worker: passes over its rows, whole shards of all.
class RowWorker {
 public:
  // `first`: of these rows among all.
  RowWorker(const bayeskernel::RowSource& rows, bayeskernel::Executor& executor,
            const bayeskernel::RowModel& model, Eigen::Index first)
      : rows_(rows),
        executor_(executor),
        model_(model),
        first_(first),
        rules_(model),
        shares_(model.family, model.atoms),
        pass_(rows, executor),
        eliminated_(rows.x_columns(), rows.z_columns(), rows.groups()),
        q_(rows.x_columns(), rows.z_columns(), rows.groups()),
        groups_(rows.x_columns(), rows.z_columns(), rows.groups()) {
    at_.q = &q_;
  }
  RowWorker(const RowWorker&) = delete;
  RowWorker& operator=(const RowWorker&) = delete;

  // `begin`: the chunks, from 0, that the shards begin with, then their number.
  Rcpp::List run(const Rcpp::List& task, const Rcpp::List& own,
                 const Rcpp::IntegerVector& begin) {
    const std::string step = read<std::string>(task, "step");
    if (step == "messages") return messages();
    if (step == "set messages") return set_messages(own);
    if (step == "left out") return left_out();
    if (step == "influence") return influence();
    read_q(task, own);
    if (step == "moments") return moments(task);
    if (step == "response") return response(begin);
    return step == "start" || step == "mean field"
               ? mean_field(step == "start", task, begin)
               : sites(step, task, begin);
  }

 private:
  using Index = Eigen::Index;
  using VectorXd = Eigen::VectorXd;

  void read_q(const Rcpp::List& task, const Rcpp::List& own) {
    if (model_.open != nullptr && task.containsElementNamed("precision")) {
      std::vector<Eigen::MatrixXd> precision;
      for (const SEXP one : Rcpp::List(task["precision"])) {
        precision.push_back(map_matrix(one));
      }
      model_.open->set(precision);
    }
    if (!task.containsElementNamed("mean")) return;
    q_.mean.x = map_vector(task["mean"]);
    Eigen::MatrixXd spread;
    if (rows_.groups() > 0) {
      q_.mean.group = map_matrix(own["effects"]);
      eliminated_.adopt(map_matrix(own["loading"]), map_matrix(own["inverse"]));
      spread = map_matrix(own["spread"]);
    }
    q_.set_covariance(map_matrix(task["whitener"]), spread, eliminated_);
  }

  void set_noise(const Rcpp::List& task) {
    bayeskernel::NoisePosterior noise;
    noise.precision = read<double>(task, "noise");
    rules_.set_noise(noise.noise());
    share_.setZero(model_.atoms != nullptr ? rows_.rows() : 0);
    rules_.set_share(share_);
  }

  Rcpp::List mean_field(bool start, const Rcpp::List& task,
                        const Rcpp::IntegerVector& begin) {
    using bayeskernel::Second;
    set_noise(task);
    const bayeskernel::Rule& rule = start ? rules_.start() : rules_.later();
    const bool with_newton = read<bool>(task, "newton");
    bayeskernel::RowStore store;
    VectorXd kappa;
    if (read<bool>(task, "kappa")) {
      kappa.resize(rows_.rows());
      store.kappa = kappa.data();
    }
    Rcpp::List out = shards(begin, with_newton, [&](Index from, Index to) {
      bayeskernel::Sums sums;
      pass_.run_shard(from, to, start ? bayeskernel::Moments() : at_, rule,
                      with_newton ? rules_.later().second() : Second::none,
                      sums, groups_, store);
      return sums_list(sums);
    });
    out["kappa"] = to_r(kappa);
    return out;
  }

  // Of the rows at q.
  Rcpp::List moments(const Rcpp::List& task) {
    set_noise(task);
    VectorXd mean(rows_.rows()), variance(rows_.rows());
    bayeskernel::RowStore store;
    store.mean = mean.data();
    store.variance = variance.data();
    bayeskernel::Sums sums;
    pass_.run(at_, rules_.later(), bayeskernel::Second::none, sums, store,
              bayeskernel::Gather::nothing);
    return r_list({{"mean", mean}, {"variance", variance}, {"share", share_}});
  }

  void open_sites(bool anew) {
    if (!anew && site_pass_) return;
    sites_ = bayeskernel::SiteRows(rows_.rows());
    if (model_.open != nullptr) {
      sites_.residual_slope = VectorXd::Zero(rows_.rows());
    }
    if (model_.atoms != nullptr) {
      sites_.share = model_.atoms->log_prior.array().exp();
    }
    site_pass_.emplace(rows_, executor_, model_.family, sites_, &shares_);
    site_pass_->rule.origin = first_;
  }

  Rcpp::List sites(const std::string& step, const Rcpp::List& task,
                   const Rcpp::IntegerVector& begin) {
    using bayeskernel::SiteStep;
    open_sites(step == "cold");
    site_pass_->rule.damping = read<double>(task, "damping");
    site_pass_->rule.noise_variance = read<double>(task, "noise");
    return shards(begin, false, [&](Index from, Index to) {
      bayeskernel::Sums sums;
      site_pass_->run_shard(step == "cold"   ? SiteStep::cold
                            : step == "warm" ? SiteStep::warm
                                             : SiteStep::update,
                            from, to, at_, sums, groups_);
      Rcpp::List out = sums_list(sums);
      out["total"] = RemoteRows::total_list(site_pass_->rule.shard(from, to));
      return out;
    });
  }

  Rcpp::List messages() const {
    Rcpp::List out;
    for (const auto& [name, member] : RemoteRows::site_members()) {
      out[name] = to_r(sites_.*member);
    }
    return out;
  }

  Rcpp::List set_messages(const Rcpp::List& own) {
    open_sites(false);
    sites_.kappa = map_vector(own["kappa"]);
    sites_.b = map_vector(own["b"]);
    return Rcpp::List();
  }

  Rcpp::List left_out() const {
    if (!site_pass_) throw bayeskernel::ArgumentError("there are no messages");
    return left_out_list(
        bayeskernel::leave_one_out(rows_, site_pass_->rule, sites_),
        bayeskernel::left_out_moments(rows_, sites_), sites_);
  }

  struct Response {
    explicit Response(const bayeskernel::RowSource& rows)
        : influence(rows.rows()), rule(rows, influence) {}
    bayeskernel::RowInfluence influence;
    bayeskernel::ResponseRule rule;
  };

  Rcpp::List response(const Rcpp::IntegerVector& begin) {
    if (!response_) response_ = std::make_unique<Response>(rows_);
    Rcpp::List out = shards(begin, false, [&](Index from, Index to) {
      bayeskernel::Sums sums;
      pass_.run_shard(from, to, at_, response_->rule, bayeskernel::Second::none,
                      sums, groups_);
      return sums_list(sums);
    });
    out["change"] = response_->rule.change();
    return out;
  }

  // Of the last response, which is over with that.
  Rcpp::List influence() {
    if (!response_) throw bayeskernel::ArgumentError("there is no response");
    const std::unique_ptr<Response> last = std::move(response_);
    return influence_list(last->influence, {});
  }

  template <class Run>
  Rcpp::List shards(const Rcpp::IntegerVector& begin, bool with_newton,
                    Run&& run) {
    Rcpp::List list(begin.size() - 1);
    for (R_xlen_t s = 0; s + 1 < begin.size(); ++s) {
      list[s] = run(begin[s], begin[s + 1]);
    }
    Rcpp::List out = r_list({{"shards", list}});
    if (rows_.groups() == 0) return out;
    Rcpp::List groups = r_list({{"cross", groups_.curvature.cross},
                                {"gram", groups_.curvature.group_gram},
                                {"gradient", groups_.linear.group}});
    if (with_newton) {
      groups["newton_cross"] = to_r(groups_.newton.cross);
      groups["newton_gram"] = to_r(groups_.newton.group_gram);
    }
    out["groups"] = groups;
    return out;
  }

  static Rcpp::List sums_list(const bayeskernel::Sums& sums) {
    return r_list({{"curvature", sums.curvature.gram},
                   {"newton", sums.newton.gram},
                   {"gradient", sums.linear.x},
                   {"bound", sums.bound},
                   {"margin", sums.margin},
                   {"power", sums.power},
                   {"squares", sums.squares}});
  }

  const bayeskernel::RowSource& rows_;
  bayeskernel::Executor& executor_;
  const bayeskernel::RowModel model_;
  Index first_;
  bayeskernel::RowRules rules_;
  bayeskernel::AtomShares shares_;
  bayeskernel::Pass pass_;
  bayeskernel::EliminatedGroups eliminated_;
  bayeskernel::GaussianPosterior q_;
  bayeskernel::Sums groups_;
  bayeskernel::Moments at_;
  VectorXd share_;
  bayeskernel::SiteRows sites_;
  std::optional<bayeskernel::SitePass> site_pass_;
  std::unique_ptr<Response> response_;
};

#endif
