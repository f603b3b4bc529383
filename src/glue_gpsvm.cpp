#include "glue_gpsvm.h"

#include "glue_epochs.h"
#include "glue_predict.h"
#include "glue_state.h"
#include "glue_workers.h"
#include "gp/climb.hpp"
#include "gp/exact.hpp"
#include "gp/exact_ep.hpp"
#include "gp/more_points.hpp"
#include "linear/mode.hpp"
#include "predict/process_moments.hpp"

using namespace bayeskernel;

namespace {
Rcpp::List moments_list(const VectorXd& mean, const MatrixXd& whitener) {
  return r_list({{"mean", mean}, {"whitener", whitener}});
}

// Where minibatches come from, and what the model sees of them.
struct BatchSource {
  const RowSource& rows;
  StochasticFit::RowMap map;
  StochasticFit::Visit visit;
};

// One machine: variational passes, after stochastic epochs if there are any.
Rcpp::List fit_machine(const RowSource& rows, const BatchSource& batches,
                       Executor& executor, const Rcpp::List& settings,
                       const RemoteRows* remote, bool keep,
                       UserCallback& user) {
  const Prior prior = unit_prior(rows.x_columns());
  // Minibatches grow with the rows: a step of few pays for m^3 operations.
  const StochasticSettings stochastic = read_stochastic(
      settings, std::max<Index>({256, 4 * rows.x_columns(),
                                 std::min<Index>(rows.rows() / 400, 2048)}));
  const auto absent = remote_minibatches(remote, rows.x_columns());
  const Epochs epochs = run_epochs(
      batches.rows, prior, executor, stochastic, batches.map, RowModel(), false,
      user.keep_going(), absent ? &*absent : nullptr, batches.visit);
  const MeanFieldSettings passes = read_mean_field_settings(settings);
  MeanFieldResult result;
  Rcpp::List out;
  if (stochastic.epochs > 0 &&
      (passes.max_passes == 0 || (epochs.interrupted && !keep))) {
    out = moments_list(epochs.mean, epochs.whitener);
    result.interrupted = epochs.interrupted;
    result.converged =
        !epochs.interrupted && (epochs.settled || stochastic.tolerance == 0.0);
  } else {
    MeanFieldFit fit(rows, prior, executor, nullptr, nullptr, keep);
    if (remote != nullptr) fit.delegate(remote->mean_field());
    result = run_passes(fit, epochs, passes, user.keep_going());
    if (!result.bound.empty()) {
      out = moments_list(fit.posterior().mean.x, fit.posterior().whitener());
      if (keep) {
        out["fitted_mean"] = to_r(fit.mean());
        out["fitted_var"] = to_r(fit.variance());
        LinearResponse response(rows, prior, executor);
        if (!result.interrupted &&
            response.run(fit.posterior(), fit.precisions())) {
          out["influence"] = influence_list(response.influence, {});
        }
      }
    }
  }
  Rcpp::List status = pass_status(result);
  status["steps"] = static_cast<double>(epochs.steps);
  status["epoch_bound"] = epochs.bound;
  status["batch_size"] = static_cast<double>(stochastic.batch_rows);
  out["status"] = status;
  return out;
}

// The exact process, by passes in function space.
Rcpp::List fit_exact(const Features& features, const PackedRows& rows,
                     const Rcpp::List& settings, UserCallback& user) {
  ExactFit fit(features.gram(), features.nugget(), rows.y, rows.weight);
  const MeanFieldResult result =
      fit.run(read_mean_field_settings(settings), user.keep_going());
  const WhitenedPosterior q = whitened(features, fit);
  Rcpp::List out = moments_list(q.mean, q.whitener);
  out["fitted_mean"] = to_r(fit.mean());
  out["fitted_var"] = to_r(fit.variance());
  if (!result.interrupted) {
    out["influence"] = influence_list(
        exact_response(features.gram(), features.nugget(), rows.y, rows.weight,
                       fit.mean(), fit.variance()),
        {});
  }
  out["status"] = pass_status(result);
  return out;
}

// What moves the kernel during stochastic steps, if settings$kernel_steps says
// so.
std::unique_ptr<KernelClimb> read_climb(const Rcpp::List& settings,
                                        Features& features,
                                        Executor& executor) {
  const Index every = read<Index>(settings, "kernel_steps");
  if (every == 0) return nullptr;
  return std::make_unique<KernelClimb>(features, every,
                                       map_vector(settings["lower"]),
                                       map_vector(settings["upper"]), executor);
}

// A fit by expectation propagation as far as it gets: `answer` makes the list
// of its posterior and rows.
template <class Fit, class Answer>
Rcpp::List run_messages(Fit& fit, const Rcpp::List& settings,
                        UserCallback& user, Answer&& answer) {
  fit.watch(user.keep_going());
  EpResult result;
  Rcpp::List out;
  const bool whole = finished([&] {
    result = fit.run(read_ep_settings(settings));
    out = answer();
  });
  out["status"] = r_list({{"log_evidence", fit.log_z()},
                          {"passes", result.passes},
                          {"change", result.change},
                          {"converged", result.converged},
                          {"interrupted", !whole}});
  return out;
}

// settings$messages of tuning, if there are any.
template <class Fit>
void start_messages(const Rcpp::List& settings, std::size_t machine, Fit& fit) {
  if (!settings.containsElementNamed("messages")) return;
  const Rcpp::List messages = settings["messages"];
  const auto kappa = map_matrix(messages["kappa"]);
  const auto b = map_matrix(messages["b"]);
  const Index k = static_cast<Index>(machine);
  if (kappa.rows() != fit.sites.kappa.size() || b.rows() != kappa.rows() ||
      kappa.cols() <= k || b.cols() <= k) {
    throw ArgumentError("messages of other rows");
  }
  fit.start_from(kappa.col(k), b.col(k));
}

Rcpp::List fit_ep(const RowSource& rows, Executor& executor,
                  const Rcpp::List& settings, std::size_t machine,
                  const RemoteRows* remote, UserCallback& user) {
  const Prior prior = unit_prior(rows.x_columns());
  EpFit fit(rows, prior, executor, Family::hinge);
  if (remote != nullptr) {
    fit.delegate(remote->sites(fit), remote->messages(fit));
  } else {
    start_messages(settings, machine, fit);
  }
  return run_messages(fit, settings, user, [&] {
    Rcpp::List out =
        moments_list(fit.posterior().mean.x, fit.posterior().whitener());
    if (remote != nullptr && remote->absent) {
      out["loo"] = remote->rows(RowStep::leave_one_out)["loo"];
      return out;
    }
    add_left_out(remote != nullptr
                     ? remote->rows(RowStep::left_out)
                     : left_out_list(fit.leave_one_out(),
                                     fit.left_out_moments(), fit.sites),
                 out);
    return out;
  });
}

Rcpp::List fit_exact_ep(const Features& features, const PackedRows& labels,
                        const Rcpp::List& settings, std::size_t machine,
                        UserCallback& user) {
  PackedRows rows;
  exact_rows(features.columns(), features.nugget(), rows);
  rows.y = labels.y;
  rows.weight = labels.weight;
  ExactEp fit(features.gram(), rows, Family::hinge);
  start_messages(settings, machine, fit);
  return run_messages(fit, settings, user, [&] {
    const WhitenedPosterior q = whitened(features, fit);
    Rcpp::List out = moments_list(q.mean, q.whitener);
    out["fitted_mean"] = to_r(fit.mean());
    out["fitted_var"] = to_r(fit.variance());
    add_left_out(
        left_out_list(fit.leave_one_out(), fit.left_out_moments(), fit.sites),
        out);
    return out;
  });
}

// The mode has a value for what the inducing points leave open of f, which
// predictions for the same rows have not: it gives no moments of f.
Rcpp::List fit_mode(const PackedRows& rows, Executor& executor,
                    const Rcpp::List& settings, UserCallback& user) {
  ModeSettings control;
  control.tolerance = read<double>(settings, "tol");
  control.max_passes = read<int>(settings, "max_iter");
  const ModeResult result =
      ModeFit(rows, executor).run(control, user.keep_going());
  Rcpp::List out = moments_list(result.theta, result.whitener);
  out["status"] = r_list({{"bound", Rcpp::NumericVector()},
                          {"objective", result.objective},
                          {"passes", static_cast<int>(result.objective.size())},
                          {"converged", result.converged},
                          {"interrupted", result.interrupted}});
  return out;
}
}  // namespace

// `inducing`: d x m on the scale of the model. One machine for each of
// settings$classes, the labels that are positive in turn.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_fit_cpp(const Rcpp::List& data, const Rcpp::List& kernel,
                         const Rcpp::NumericMatrix& inducing,
                         const Rcpp::List& settings) {
  return guarded([&] {
    const auto began = std::chrono::steady_clock::now();
    const std::vector<int> classes = read_classes(settings);
    FeatureData input(data, kernel, inducing, read<double>(settings, "nugget"),
                      classes[0], read<int>(settings, "threads"));
    const Features& features = input.features;
    RcppParallelExecutor& executor = input.executor;
    UserCallback user(read<bool>(settings, "progress"));
    const bool keep = read<bool>(settings, "keep");
    const bool exact = read<bool>(settings, "exact");
    const std::string method = read<std::string>(settings, "method");
    const bool direct = exact && (method == "vb" || method == "ep");
    PackedRows kept;
    executor.ask();
    if (exact) {
      if (!direct) exact_features(features, kept);
    } else if (keep) {
      keep_features(input.rows, kept);
    }
    executor.ask(false);
    const std::unique_ptr<KernelClimb> climb =
        read_climb(settings, input.features, executor);
    BatchSource batches{
        keep ? static_cast<const RowSource&>(kept) : *input.base, nullptr,
        nullptr};
    if (!keep) {
      batches.map = [&](const RowSource& batch) {
        return std::make_unique<FeatureRows>(batch, features, executor);
      };
    }
    if (climb) {
      batches.visit = [&](const RowSource& batch, const GaussianPosterior& q,
                          double times) { climb->visit(batch, q, times); };
    }
    // Likelihood powers of each machine, where these differ.
    const Rcpp::List powers = settings.containsElementNamed("machine_weights")
                                  ? Rcpp::List(settings["machine_weights"])
                                  : Rcpp::List();
    if (powers.size() > 0 &&
        powers.size() != static_cast<int>(classes.size())) {
      throw ArgumentError("weights of other machines");
    }
    Rcpp::List fits(classes.size());
    bool interrupted = false, usable = true;
    for (std::size_t k = 0; k < classes.size() && !interrupted; ++k) {
      if (powers.size() > 0) {
        const auto own = map_vector(powers[k]);
        if (own.size() != input.base->rows()) {
          throw ArgumentError("weights of other rows");
        }
        input.base->set_weights(own);
      }
      input.base->set_positive(classes[k]);
      if (keep && (exact || k > 0 || powers.size() > 0)) {
        keep_labels(*input.base, kept);
      }
      const RowSource& source =
          keep ? static_cast<const RowSource&>(kept) : input.rows;
      const std::unique_ptr<RemoteRows> remote = read_remote(
          settings,
          r_list({{"machine", static_cast<int>(k)}, {"label", classes[k]}}));
      const Rcpp::List fit =
          direct ? method == "ep"
                       ? fit_exact_ep(features, kept, settings, k, user)
                       : fit_exact(features, kept, settings, user)
          : method == "ep"
              ? fit_ep(source, executor, settings, k, remote.get(), user)
          : method == "ecm" ? fit_mode(kept, executor, settings, user)
                            : fit_machine(source, batches, executor, settings,
                                          remote.get(), keep, user);
      interrupted = read<bool>(fit["status"], "interrupted");
      usable = fit.containsElementNamed("mean") &&
               (!interrupted || k + 1 == classes.size());
      fits[k] = fit;
    }
    return r_list({{"fits", fits},
                   {"interrupted", interrupted},
                   {"usable", usable},
                   {"kernel", features.kernel().log_parameters()},
                   {"z", features.kernel_columns().z()},
                   {"jitter", features.jitter()},
                   {"factor", features.factor()},
                   {"seconds", seconds_since(began)}});
  });
}

// Mean and variance of f for new rows, n x machines.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_predict_cpp(const Rcpp::List& data, const Rcpp::List& kernel,
                             const Rcpp::NumericMatrix& inducing, double nugget,
                             const Rcpp::List& machines, int threads) {
  return guarded([&] {
    FeatureData input(data, kernel, inducing, nugget, 0, threads);
    input.executor.ask();
    const Index m = input.rows.x_columns();
    std::vector<GaussianPosterior> q;
    for (R_xlen_t k = 0; k < machines.size(); ++k) {
      const CheckedList machine(machines[k], "the posterior of the fit");
      q.emplace_back(m, 0, 0);
      q.back().mean.x = machine.vector("mean", m);
      q.back().set_whitener(machine.matrix("whitener", m, m));
    }
    const ProcessMoments at = process_moments(input.rows, q, input.executor);
    return r_list({{"mean", at.mean}, {"var", at.variance}});
  });
}

// What the last `more` inducing points add to the bound of `machines`, which
// have the others, at the rows of `data`; NaN when interrupted.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_more_points_cpp(const Rcpp::List& data,
                                 const Rcpp::List& kernel,
                                 const Rcpp::NumericMatrix& inducing, int more,
                                 double nugget, const Rcpp::List& machines,
                                 const Rcpp::List& settings) {
  return guarded([&] {
    const std::vector<int> classes = read_classes(settings);
    FeatureData input(data, kernel, inducing, nugget, classes[0],
                      read<int>(settings, "threads"));
    UserCallback user(false);
    const Index m = input.rows.x_columns() - more;
    double gain = 0.0;
    for (std::size_t k = 0; k < classes.size(); ++k) {
      const CheckedList machine(machines[k], "the posterior of the fit");
      input.base->set_positive(classes[k]);
      gain += gain_of_more_points(
          input.rows, machine.vector("mean", m),
          machine.matrix("whitener", m, m), input.executor,
          read_mean_field_settings(settings), user.keep_going());
    }
    return r_list({{"gain", gain}});
  });
}

// phi_i'v for new rows and every column v of `points` (n x columns), and the
// rows' residual variances r.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_latent_cpp(const Rcpp::List& data, const Rcpp::List& kernel,
                            const Rcpp::NumericMatrix& inducing, double nugget,
                            const Rcpp::NumericMatrix& points, int threads) {
  return guarded([&] {
    FeatureData input(data, kernel, inducing, nugget, 0, threads);
    input.executor.ask();
    const ProcessValues at =
        process_values(input.rows, map_matrix(points), input.executor.looks());
    return r_list({{"f", at.f}, {"residual", at.residual}});
  });
}

// Moments over draws of the process at the inducing points, `points` m x draws.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_draw_moments_cpp(const Rcpp::List& data,
                                  const Rcpp::List& kernel,
                                  const Rcpp::NumericMatrix& inducing,
                                  double nugget,
                                  const Rcpp::NumericMatrix& points,
                                  const Rcpp::CharacterVector& links,
                                  int threads) {
  return guarded([&] {
    FeatureData input(data, kernel, inducing, nugget, 0, threads);
    input.executor.ask();
    if (points.nrow() != input.rows.x_columns()) {
      throw ArgumentError("points of another process");
    }
    return moments_list(process_moments(input.rows, map_matrix(points),
                                        read_links(links), input.executor));
  });
}
