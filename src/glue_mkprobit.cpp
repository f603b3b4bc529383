#include "glue_mkprobit.h"

#include "multinomial/components.hpp"
#include "multinomial/learning.hpp"
#include "multinomial/states.hpp"

using namespace bayeskernel;

namespace {
MultinomialSettings read_multinomial(const Rcpp::List& settings) {
  MultinomialSettings out;
  out.scales = read_scales(settings);
  out.alpha0 = read<double>(settings, "alpha0");
  out.tau = read<double>(settings, "tau");
  out.nu = read<double>(settings, "nu");
  out.sparse = read<bool>(settings, "sparse");
  out.point_moment = read<std::string>(settings, "zeta_moment") == "point";
  out.nodes = read<int>(settings, "nodes");
  out.tolerance = read<double>(settings, "tol");
  out.weight_tolerance = read<double>(settings, "tolw");
  out.max_passes = read<int>(settings, "max_iter");
  out.accelerate = read<bool>(settings, "accelerate");
  out.power = read_power(settings);
  return out;
}

Rcpp::List component_list(const KeptFit& from) {
  Rcpp::List out = r_list(
      {{"mean", from.mean}, {"alpha", from.alpha}, {"weights", from.weights}});
  if (from.whitener.empty()) {
    out["gram"] = to_r(from.gram);
  } else {
    out["whitener"] = to_r(from.whitener);
  }
  return out;
}

MultinomialPosterior read_component(const Rcpp::List& from,
                                    Executor& executor) {
  const CheckedList list(from, "the posterior of the fit");
  KeptFit out{map_matrix(list.element("mean")),
              map_matrix(list.element("alpha")),
              {},
              {},
              {}};
  const Index m = out.mean.cols(), rows = out.alpha.rows();
  if (out.alpha.cols() != m || (rows != 1 && rows != out.mean.rows()) ||
      !out.mean.allFinite() || !((out.alpha.array() > 0.0).all())) {
    list.refuse("alpha", "not of the right size");
  }
  if (list.has("whitener")) {
    const Rcpp::List whitener = from["whitener"];
    if (whitener.size() != rows) list.refuse("whitener", "damaged");
    for (const SEXP one : whitener) out.whitener.push_back(map_matrix(one));
  } else {
    out.gram = list.matrix("gram", m, m);
  }
  return posterior_of(out, executor);
}

std::vector<MultinomialComponent> read_posterior(const Rcpp::List& posterior,
                                                 Index sources,
                                                 Executor& executor) {
  const Rcpp::List components = posterior["components"];
  const auto probability = map_vector(posterior["probability"]);
  std::vector<MultinomialComponent> out;
  for (R_xlen_t k = 0; k < components.size(); ++k) {
    const CheckedList list(components[k], "the posterior of the fit");
    if (probability.size() != components.size()) {
      list.refuse("probability", "not of the right length");
    }
    MatrixXd spread(sources, 0), draws(sources, 0);
    if (list.has("spread")) {
      spread = map_matrix(list.element("spread"));
      draws = map_matrix(list.element("draws"));
      if (spread.rows() != sources || draws.rows() != sources ||
          draws.cols() == 0 || !spread.allFinite() || !draws.allFinite()) {
        list.refuse("spread", "not of the right size");
      }
    }
    out.push_back({list.vector("weights", sources), probability[k],
                   read_component(components[k], executor), spread, draws});
  }
  if (out.empty()) throw ArgumentError("the fit is damaged");
  return out;
}

// Draws of a sampler; R's memory is used where it is.
SampledLatent read_sampled(const Rcpp::List& posterior, Composite& composite) {
  const Index classes = read<int>(posterior, "classes");
  const Index s = composite.size();
  std::vector<SampledDraw> draws;
  Index lengthscales = 0;
  for (const SEXP chain : Rcpp::List(posterior["chains"])) {
    const CheckedList list(chain, "the draws of the fit");
    const auto mean = map_matrix(list.element("mean"));
    const auto weights = map_matrix(list.element("weights"));
    const auto theta = map_matrix(list.element("theta"));
    if (mean.rows() != classes * composite.regressors() ||
        weights.rows() != s || weights.cols() != mean.cols() ||
        theta.cols() != mean.cols() || !mean.allFinite() ||
        !weights.allFinite() || !theta.allFinite()) {
      list.refuse("mean", "not of the right size");
    }
    lengthscales = theta.rows();
    for (Index d = 0; d < mean.cols(); ++d) {
      draws.push_back({mean.data() + d * mean.rows(), weights.data() + d * s,
                       theta.data() + d * lengthscales});
    }
  }
  return SampledLatent(composite, classes, lengthscales, std::move(draws));
}

Rcpp::List predictions_list(const ClassPredictions& from) {
  Rcpp::List out = r_list({{"mean", from.mean},
                           {"var", from.variance},
                           {"prob", from.probability},
                           {"log_prob", from.log_probability}});
  if (from.probability_sd.size() > 0) {
    out["prob_sd"] = to_r(from.probability_sd);
  }
  return out;
}

// What a fit gives to R besides its posterior.
Rcpp::List fit_list(const FittedObjects& from, const Composite& composite) {
  Rcpp::List kernels(composite.size());
  for (Index k = 0; k < composite.size(); ++k) {
    kernels[k] = to_r(composite.source(k).log_parameters());
  }
  return r_list({{"mean", from.mean},
                 {"var", from.variance},
                 {"alpha", from.alpha},
                 {"y_mean", from.y},
                 {"latent", from.latent},
                 {"kernel", kernels}});
}

Rcpp::List weights_list(const VectorXd& mean, const VectorXd& sd, double ess,
                        const MatrixXd& draws, const MatrixXd& states,
                        const VectorXd& bound, const VectorXd& probability) {
  return r_list({{"mean", mean},
                 {"sd", sd},
                 {"ess", ess},
                 {"draws", draws},
                 {"states", states},
                 {"state_bound", bound},
                 {"state_probability", probability}});
}

Rcpp::List regression_status(const MultinomialResult& result) {
  Rcpp::List out = pass_status(result);
  out["qr"] = result.by_qr;
  out["active"] = static_cast<double>(result.active);
  out["advice"] = result.lost_digits ? "scale" : "";
  return out;
}

// What every kind of fit is made of.
struct Job {
  Job(const Rcpp::List& data, const Rcpp::List& settings)
      : composite(read_composite(data["sources"],
                                 read<std::string>(data, "combine"),
                                 read<bool>(data, "bias"))),
        binary(read<std::string>(data, "combine") == "binary"),
        classes(read<int>(data, "classes")),
        weights(read_weights(settings, composite.size())),
        control(read_multinomial(settings)),
        executor(read<int>(settings, "threads")),
        user(read<bool>(settings, "progress")),
        fit(read_classes(data["y"], composite.rows(), classes), classes,
            control, executor) {}

  Composite composite;
  bool binary;
  int classes;
  VectorXd weights;
  MultinomialSettings control;
  RcppParallelExecutor executor;
  UserCallback user;
  MultinomialFit fit;

  // What prediction needs.
  Rcpp::List posterior(const Rcpp::List& components,
                       const Rcpp::RObject& probability) const {
    return r_list({{"components", components},
                   {"probability", probability},
                   {"bias", composite.bias()},
                   {"classes", classes}});
  }
};

// Means, limits and draws of weights that have a posterior; what prediction
// needs of it goes to `component`.
Rcpp::List spread_list(const WeightPosterior& q, bool product,
                       Rcpp::List& component) {
  constexpr Index kDraws = 500;
  const Index s = q.mean().size();
  const MatrixXd draws = q.draws(kDraws);
  if (!product) {
    component["spread"] = to_r(q.spread());
    component["draws"] = to_r(draws);
  }
  if (q.binary()) {
    const VectorXd no_bound = VectorXd::Constant(q.share().size(), NA_REAL);
    return weights_list(
        q.mean(), q.covariance().diagonal().cwiseMax(0.0).cwiseSqrt(), NA_REAL,
        draws.transpose(), q.points().transpose(), no_bound, q.share());
  }
  VectorXd lower(s), median(s), upper(s);
  for (Index k = 0; k < s; ++k) {
    median[k] = q.quantile(k, 0.5);
    lower[k] = q.quantile(k, 0.025);
    upper[k] = q.quantile(k, 0.975);
  }
  Rcpp::List out = weights_list(
      q.mean(), q.covariance().diagonal().cwiseMax(0.0).cwiseSqrt(),
      q.effective(), draws.transpose(), MatrixXd(0, s), VectorXd(), VectorXd());
  out["median"] = to_r(median);
  out["lower"] = to_r(lower);
  out["upper"] = to_r(upper);
  return out;
}

constexpr Index kMatrices = 200;  // points that cost a product of matrices

WeightSettings read_spread(const Rcpp::List& settings, bool product) {
  const Rcpp::NumericVector prior = settings["prior_weights"];
  WeightSettings out;
  out.product = product;
  out.slice = read<std::string>(settings, "weights_method") == "slice";
  out.printed = read<std::string>(settings, "is_target") == "point";
  out.first = prior[0];
  out.second = prior.size() > 1 ? prior[1] : 1.0;
  out.held = read<bool>(settings, "held_hyper");
  if (product) out.points = kMatrices;
  out.seed = read<std::uint64_t>(settings, "seed");
  return out;
}

WeightSettings read_theta(const Rcpp::List& settings) {
  const Rcpp::NumericVector prior = settings["prior_theta"];
  WeightSettings out = read_spread(settings, true);
  out.first = prior[0];
  out.second = prior[1];
  out.held = true;
  out.seed += 1;
  return out;
}

// One composite: weights that are given, point estimates, or with a posterior.
Rcpp::List fit_composite(Job& job, const Rcpp::List& settings) {
  const std::string method = read<std::string>(settings, "weights_method");
  const bool spread = method == "is" || method == "slice";
  if (method != "fixed" && method != "map" && method != "profile" &&
      method != "loo" && !spread) {
    throw ArgumentError("no such way to learn weights");
  }
  const bool tune = read<bool>(settings, "tune");
  const bool learn = read<bool>(settings, "learn");
  const Rcpp::NumericVector weight_prior = settings["prior_weights"];
  const Rcpp::NumericVector theta_prior = settings["prior_theta"];
  KernelPrior prior;
  const bool product = job.composite.combination() == Combination::product;
  if (read<bool>(settings, "held_hyper")) {
    prior.weight_shape = weight_prior[0];
    if (product) prior.weight_rate = weight_prior[1];
  } else if (product) {
    prior.weight_rate = 1.0 / weight_prior[1];
  }
  prior.theta_shape = theta_prior[0];
  prior.theta_rate = theta_prior[1];
  KernelLearner learner(job.composite, job.weights, prior, {learn, tune},
                        job.fit, job.control, job.executor);
  MultinomialResult result;
  std::optional<WeightPosterior> q, scales;
  const bool own = read<bool>(settings, "own");
  SearchCheck check;
  if (spread) {
    WeightSettings own_law = read_spread(settings, product);
    own_law.binary = job.binary;
    own_law.empty = read<bool>(settings, "allow_empty");
    if (learn) q.emplace(job.composite.size(), own_law);
    if (tune) scales.emplace(learner.scale_count(), read_theta(settings));
    result =
        learner.spread({q ? &*q : nullptr, scales ? &*scales : nullptr,
                        read<std::string>(settings, "is_target") == "point"},
                       job.user.keep_going());
  } else if (method == "loo") {
    result = learner.left_out(own, job.user.keep_going());
  } else if (method != "fixed" || tune) {
    const auto search = [&] {
      return method == "map" ? learner.map(job.user.keep_going())
                             : learner.profile(job.user.keep_going());
    };
    result = learner.checked(search, own, tune, job.user.keep_going(), check);
  } else {
    result = learner.run(job.control, job.user.keep_going(), result);
  }
  const VectorXd& weights = learner.weights();
  const Index s = weights.size();
  Rcpp::List out =
      fit_list(fitted_objects(job.fit, learner.design()), job.composite);
  Rcpp::List component =
      component_list(keep_fit(job.fit, weights, result.by_qr));
  out["weights"] =
      q ? spread_list(*q, product, component)
        : weights_list(weights, VectorXd::Zero(s), NA_REAL, MatrixXd(0, s),
                       MatrixXd(0, s), VectorXd(), VectorXd());
  if (scales) {
    // The component is that of the weights.
    Rcpp::List unused;
    out["scales"] = spread_list(*scales, true, unused);
  }
  out["posterior"] =
      job.posterior(Rcpp::List::create(component), Rcpp::wrap(1.0));
  out["status"] = regression_status(result);
  if (!spread && !result.interrupted &&
      settings.containsElementNamed("left_out") &&
      read<bool>(settings, "left_out")) {
    const ClassMoments others =
        left_out_moments(job.fit, learner.design(), own, job.executor);
    const Index classes = others.mean.rows();
    MatrixXd log_prob(others.mean.cols(), classes);
    for (Index t = 0; t < classes; ++t) {
      const std::vector<Index> labels(job.fit.labels().size(), t);
      log_prob.col(t) = class_log_probability(
          others, labels, job.control.nodes, read<double>(settings, "sharpness"),
          job.executor);
    }
    out["left_out"] = to_r(log_prob);
  }
  if (!std::isnan(check.start)) {
    out["check"] = r_list({{"start", check.start},
                           {"found", check.found},
                           {"taken", check.taken}});
  }
  return out;
}

// Every pattern of weights 0 and 1, or those of a greedy search.
Rcpp::List fit_states(Job& job, const Rcpp::List& settings) {
  const Rcpp::NumericVector prior = settings["prior_weights"];
  StateFits fits;
  fits.run(job.composite, job.fit,
           {prior[0], read<bool>(settings, "allow_empty"),
            read<std::string>(settings, "weights_method") == "loo",
            read<bool>(settings, "own")},
           job.executor, job.user.keep_going());
  const MultinomialResult& result = fits.result();
  if (fits.states().empty()) {
    return r_list({{"status", pass_status(result)}});
  }
  const Index count = static_cast<Index>(fits.states().size());
  const Index s = job.composite.size();
  MatrixXd states(count, s);
  for (Index k = 0; k < count; ++k) states.row(k) = fits.states()[k];
  const VectorXd mean = fits.inclusion();
  const VectorXd sd =
      (mean.array() * (1.0 - mean.array())).cwiseMax(0.0).sqrt();
  Rcpp::List out = fit_list(fits.best(), job.composite), components;
  for (const KeptFit& one : fits.components()) {
    components.push_back(component_list(one));
  }
  out["posterior"] =
      job.posterior(components, to_r(fits.component_probability()));
  out["weights"] =
      weights_list(mean, sd, NA_REAL, MatrixXd(0, s), states,
                   VectorMap(fits.values().data(), count), fits.probability());
  out["status"] = regression_status(result);
  return out;
}
}  // namespace

// See read_source() for data$sources; y: classes from 1.
// [[Rcpp::export(rng = false)]]
Rcpp::List mkprobit_vb_cpp(const Rcpp::List& data, const Rcpp::List& settings) {
  return guarded([&] {
    const auto began = std::chrono::steady_clock::now();
    Job job(data, settings);
    Rcpp::List out = read<bool>(settings, "states")
                         ? fit_states(job, settings)
                         : fit_composite(job, settings);
    Rcpp::List status = out["status"];
    status["seconds"] = seconds_since(began);
    out["status"] = status;
    out["usable"] = out.containsElementNamed("posterior");
    return out;
  });
}

// Latent functions and class probabilities of new objects, objects x classes.
// [[Rcpp::export(rng = false)]]
Rcpp::List mkprobit_predict_cpp(const Rcpp::List& posterior,
                                const Rcpp::List& sources,
                                const std::string& combine,
                                const Rcpp::List& settings) {
  return guarded([&] {
    RcppParallelExecutor executor(read<int>(settings, "threads"));
    executor.ask();
    Composite composite =
        read_composite(sources, combine, read<bool>(posterior, "bias"));
    const Index nodes = read<int>(settings, "nodes");
    if (posterior.containsElementNamed("chains")) {
      SampledLatent draws = read_sampled(posterior, composite);
      return predictions_list(
          average_draws(draws, nodes, executor, executor.looks()));
    }
    return predictions_list(predict_components(
        read_posterior(posterior, composite.size(), executor), composite, nodes,
        executor));
  });
}

// Latent functions or class probabilities by draws: draws x objects x classes.
// From q, W is drawn for all objects at once, each from a component; draws of
// a sampler are taken one by one. `added` in settings: added to the functions,
// or empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List mkprobit_draws_cpp(const Rcpp::List& posterior,
                              const Rcpp::List& sources,
                              const std::string& combine,
                              const Rcpp::List& settings) {
  return guarded([&] {
    RcppParallelExecutor executor(read<int>(settings, "threads"));
    executor.ask();
    Composite composite =
        read_composite(sources, combine, read<bool>(posterior, "bias"));
    const Index nodes = read<int>(settings, "nodes");
    const bool link = read<std::string>(settings, "type") == "link";
    const Index c = read<int>(posterior, "classes"), n = composite.rows();
    const Rcpp::NumericVector added = settings["added"];
    const auto collect = [&](Index count, auto&& latent) {
      Rcpp::NumericVector out(Rcpp::Dimension(count, n, c));
      double* to = out.begin();
      if (added.size() != 0 && added.size() != out.size()) {
        throw bayeskernel::ArgumentError("what is added has another size");
      }
      MatrixXd f, log_prob;
      for (Index d = 0; d < count; ++d) {
        executor.look();
        latent(d, f);
        if (added.size() != 0) {
          for (Index k = 0; k < c; ++k) {
            for (Index i = 0; i < n; ++i) {
              f(k, i) += added[d + count * (i + n * k)];
            }
          }
        }
        if (!link) {
          class_probabilities(f, nodes, executor, log_prob);
          f = log_prob.array().exp();
        }
        for (Index k = 0; k < c; ++k) {
          for (Index i = 0; i < n; ++i) to[d + count * (i + n * k)] = f(k, i);
        }
      }
      return r_list({{"values", out}});
    };
    if (posterior.containsElementNamed("chains")) {
      SampledLatent draws = read_sampled(posterior, composite);
      return collect(draws.count(), draws);
    }
    const std::vector<MultinomialComponent> components =
        read_posterior(posterior, composite.size(), executor);
    return collect(read<int>(settings, "draws"),
                   draws_of_components(components, composite,
                                       read<std::uint64_t>(settings, "seed")));
  });
}
