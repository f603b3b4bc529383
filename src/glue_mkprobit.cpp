#include "glue_mkprobit.h"

#include <cstdint>
#include <optional>

#include "gibbs/running_moments.hpp"
#include "multinomial/learning.hpp"

namespace {

using bayeskernel::Design;
using bayeskernel::Executor;
using bayeskernel::MultinomialFit;
using bayeskernel::MultinomialPosterior;
using bayeskernel::MultinomialResult;
using bayeskernel::MultinomialSettings;
using bayeskernel::RegressionFactor;
using bayeskernel::uniform_index;

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
  return out;
}

// What prediction needs of a fit: its factors follow from G and the scales,
// which are 0-infinite where a regressor left, or are kept where G is too badly
// conditioned.
Rcpp::List component_list(const MultinomialFit& fit, const VectorXd& weights,
                          bool by_qr) {
  MatrixXd alpha = fit.used_alpha();
  for (Index r = 0; r < alpha.rows(); ++r) {
    std::vector<char> active(alpha.cols(), 0);
    for (const Index k : fit.active(r)) active[k] = 1;
    for (Index k = 0; k < alpha.cols(); ++k) {
      if (!active[k]) alpha(r, k) = R_PosInf;
    }
  }
  Rcpp::List out =
      r_list({{"mean", fit.mean()}, {"alpha", alpha}, {"weights", weights}});
  if (!by_qr) {
    out["gram"] = to_r(fit.gram());
    return out;
  }
  Rcpp::List whitener(fit.factors());
  for (Index c = 0; c < fit.factors(); ++c) {
    whitener[c] = to_r(fit.factor(c).u());
  }
  out["whitener"] = whitener;
  return out;
}

MultinomialPosterior read_component(const Rcpp::List& from,
                                    Executor& executor) {
  const char* what = "the posterior of the fit";
  const CheckedList list(from, what);
  const auto mean = map_matrix(list.element("mean"));
  const auto alpha = map_matrix(list.element("alpha"));
  const Index m = mean.cols(), rows = alpha.rows();
  if (alpha.cols() != m || (rows != 1 && rows != mean.rows()) ||
      !mean.allFinite() || !((alpha.array() > 0.0).all())) {
    list.refuse("alpha", "not of the right size");
  }
  std::vector<RegressionFactor> factors(rows);
  const bool known = from.containsElementNamed("whitener");
  const MatrixXd gram =
      known ? MatrixXd() : MatrixXd(list.matrix("gram", m, m));
  executor.run(rows, [&](Index r) {
    std::vector<Index> active;
    for (Index k = 0; k < m; ++k) {
      if (std::isfinite(alpha(r, k))) active.push_back(k);
    }
    if (!known) {
      factors[r].compute(gram, alpha.row(r).transpose(), active, MatrixXd());
    }
  });
  if (known) {
    const Rcpp::List whitener = from["whitener"];
    if (whitener.size() != rows) list.refuse("whitener", "damaged");
    for (Index r = 0; r < rows; ++r) {
      std::vector<Index> active;
      for (Index k = 0; k < m; ++k) {
        if (std::isfinite(alpha(r, k))) active.push_back(k);
      }
      factors[r].restore(map_matrix(whitener[r]), active, m);
    }
  }
  return MultinomialPosterior(mean, std::move(factors));
}

struct Component {
  VectorXd weights;
  double probability;
  MultinomialPosterior q;
  MatrixXd spread;  // of weights that are not known, and draws of them:
  MatrixXd draws;   // spaces x directions, spaces x draws
};

std::vector<Component> read_posterior(const Rcpp::List& posterior,
                                      Index sources, Executor& executor) {
  const Rcpp::List components = posterior["components"];
  const auto probability = map_vector(posterior["probability"]);
  std::vector<Component> out;
  for (R_xlen_t k = 0; k < components.size(); ++k) {
    const CheckedList list(components[k], "the posterior of the fit");
    if (probability.size() != components.size()) {
      list.refuse("probability", "not of the right length");
    }
    MatrixXd spread(sources, 0), draws(sources, 0);
    const Rcpp::List own = components[k];
    if (own.containsElementNamed("spread")) {
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
  if (out.empty()) throw bayeskernel::ArgumentError("the fit is damaged");
  return out;
}

bool has_bias(const Rcpp::List& posterior) {
  return read<bool>(posterior, "bias");
}

// Draws of a sampler: W, weights and log length-scales of each.
class SampledPosterior {
 public:
  SampledPosterior(const Rcpp::List& posterior, Composite& composite)
      : composite_(composite),
        c_(read<int>(posterior, "classes")),
        chains_(posterior["chains"]) {
    const Index m = composite.regressors(), s = composite.size();
    for (R_xlen_t k = 0; k < chains_.size(); ++k) {
      const CheckedList list(chains_[k], "the draws of the fit");
      const auto mean = map_matrix(list.element("mean"));
      const auto weights = map_matrix(list.element("weights"));
      const auto theta = map_matrix(list.element("theta"));
      if (mean.rows() != c_ * m || weights.rows() != s ||
          weights.cols() != mean.cols() || theta.cols() != mean.cols() ||
          !mean.allFinite() || !weights.allFinite() || !theta.allFinite()) {
        list.refuse("mean", "not of the right size");
      }
      for (Index d = 0; d < mean.cols(); ++d) {
        draws_.push_back({mean.data() + d * mean.rows(), weights.data() + d * s,
                          theta.data() + d * theta.rows()});
      }
      thetas_ = theta.rows();
    }
    Index places = 0;
    for (Index k = 0; k < s; ++k) {
      places += static_cast<Index>(composite.source(k).lengthscales().size());
    }
    if (thetas_ != 0 && thetas_ != places) {
      throw bayeskernel::ArgumentError("the draws of the fit are damaged");
    }
  }

  Index count() const { return static_cast<Index>(draws_.size()); }
  Index classes() const { return c_; }

  // f, classes x objects, of a draw.
  void latent(Index d, MatrixXd& f) {
    const Index n = composite_.rows(), m = composite_.regressors();
    const VectorXd weights =
        Eigen::Map<const VectorXd>(draws_[d].weights, composite_.size());
    if (thetas_ > 0) set_lengthscales(draws_[d].theta);
    if (thetas_ > 0 || d == 0 || weights != last_) {
      k_.resize(m, n);
      composite_.block(weights, 0, n, scratch_, k_.data());
      last_ = weights;
    }
    f.noalias() = Eigen::Map<const MatrixXd>(draws_[d].mean, c_, m) * k_;
  }

 private:
  struct Draw {
    const double *mean, *weights, *theta;
  };

  void set_lengthscales(const double* theta) {
    for (Index k = 0; k < composite_.size(); ++k) {
      Source& source = composite_.source(k);
      const std::vector<Index> places = source.lengthscales();
      if (places.empty()) continue;
      VectorXd all = source.log_parameters();
      for (const Index at : places) all[at] = *theta++;
      source.set_log_parameters(all);
    }
  }

  Composite& composite_;
  Index c_, thetas_ = 0;
  Rcpp::List chains_;
  std::vector<Draw> draws_;
  VectorXd last_;
  MatrixXd k_;
  Composite::Scratch scratch_;
};

// log P(class | f) of every object, in blocks: classes x objects.
void class_probabilities(const MatrixXd& f, Index nodes, Executor& executor,
                         MatrixXd& out) {
  constexpr Index kBlock = 64;
  out.resize(f.rows(), f.cols());
  executor.run((f.cols() + kBlock - 1) / kBlock, [&](Index block) {
    bayeskernel::ConicRule rule(f.rows(), nodes);
    const Index end = std::min(f.cols(), (block + 1) * kBlock);
    for (Index i = block * kBlock; i < end; ++i) {
      bayeskernel::class_log_probabilities(rule, f.col(i).data(),
                                           out.col(i).data());
    }
  });
}

// Averages over the draws of a sampler, objects x classes.
Rcpp::List predict_sampled(const Rcpp::List& posterior, Composite& composite,
                           Index nodes, Executor& executor,
                           UserCallback& user) {
  SampledPosterior draws(posterior, composite);
  const Index c = draws.classes(), n = composite.rows();
  bayeskernel::RunningMoments latent(c * n), prob(c * n);
  MatrixXd f, log_prob;
  for (Index d = 0; d < draws.count(); ++d) {
    if (user.interrupted()) {
      throw bayeskernel::PassInterrupted();
    }
    draws.latent(d, f);
    class_probabilities(f, nodes, executor, log_prob);
    latent.add(Eigen::Map<const Eigen::ArrayXd>(f.data(), f.size()));
    prob.add(Eigen::Map<const Eigen::ArrayXd>(log_prob.data(), f.size()).exp());
  }
  const auto objects = [&](const Eigen::ArrayXd& values) {
    return MatrixXd(
        Eigen::Map<const MatrixXd>(values.data(), c, n).transpose());
  };
  const MatrixXd mean = objects(prob.mean);
  return r_list({{"mean", objects(latent.mean)},
                 {"var", objects(latent.variance())},
                 {"prob", mean},
                 {"log_prob", MatrixXd(mean.array().log())},
                 {"prob_sd", objects(prob.variance().sqrt())}});
}

// What a fit gives to R besides its posterior.
Rcpp::List fit_list(const MultinomialFit& fit, const Design& design,
                    const Composite& composite) {
  const Index c = fit.mean().rows(), s = composite.size();
  MatrixXd alpha = fit.alpha(), latent(design.rows(), c);
  if (alpha.rows() < c) alpha = alpha.replicate(c, 1).eval();
  Design::Scratch scratch;
  for (Index t = 0; t < design.tiles(); ++t) {
    latent.middleRows(design.begin(t), design.columns(t)).noalias() =
        design.tile(t, scratch).transpose() * fit.mean().transpose();
  }
  Rcpp::List kernels(s);
  for (Index k = 0; k < s; ++k) {
    kernels[k] = to_r(composite.source(k).log_parameters());
  }
  return r_list({{"mean", fit.mean()},
                 {"var", fit.variance()},
                 {"alpha", alpha},
                 {"y_mean", fit.y()},
                 {"latent", latent},
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

// What every kind of fit is made of.
struct Job {
  Job(const Rcpp::List& data, const Rcpp::List& settings)
      : composite(read_composite(data["sources"],
                                 read<std::string>(data, "combine"),
                                 read<bool>(data, "bias"))),
        classes(read<int>(data, "classes")),
        weights(read_weights(settings, composite.size())),
        control(read_multinomial(settings)),
        executor(read<int>(settings, "threads")),
        user(read<bool>(settings, "progress")),
        fit(read_classes(data["y"], composite.rows(), classes), classes,
            control, executor) {}

  Composite composite;
  int classes;
  VectorXd weights;
  MultinomialSettings control;
  RcppParallelExecutor executor;
  UserCallback user;
  MultinomialFit fit;
};

// Means, limits and draws of weights that have a posterior; what prediction
// needs of it goes to `component`.
Rcpp::List spread_list(const bayeskernel::WeightPosterior& q, bool product,
                       Rcpp::List& component) {
  constexpr Index kDraws = 500;
  const Index s = q.mean().size();
  const MatrixXd draws = q.draws(kDraws);
  if (!product) {
    component["spread"] = to_r(q.spread());
    component["draws"] = to_r(draws);
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

bayeskernel::WeightSettings read_spread(const Rcpp::List& settings,
                                        bool product) {
  constexpr Index kProduct = 200;  // a product of matrices each
  const Rcpp::NumericVector prior = settings["prior_weights"];
  bayeskernel::WeightSettings out;
  out.product = product;
  out.slice = read<std::string>(settings, "weights_method") == "slice";
  out.first = prior[0];
  out.second = prior[1];
  out.held = read<bool>(settings, "held_hyper");
  if (product) out.points = kProduct;
  out.seed = read<std::uint64_t>(settings, "seed");
  return out;
}

// One composite: weights that are given, point estimates, or with a posterior.
Rcpp::List fit_composite(Job& job, const Rcpp::List& settings) {
  const std::string method = read<std::string>(settings, "weights_method");
  const bool spread = method == "is" || method == "slice";
  if (method != "fixed" && method != "map" && method != "profile" &&
      method != "loo" && !spread) {
    throw bayeskernel::ArgumentError("no such way to learn weights");
  }
  const bool tune = read<bool>(settings, "tune");
  const Rcpp::NumericVector weight_prior = settings["prior_weights"];
  const Rcpp::NumericVector theta_prior = settings["prior_theta"];
  bayeskernel::KernelPrior prior;
  const bool product = job.composite.combination() == Combination::product;
  if (read<bool>(settings, "held_hyper")) {
    prior.weight_shape = weight_prior[0];
    if (product) prior.weight_rate = weight_prior[1];
  } else if (product) {
    prior.weight_rate = 1.0 / weight_prior[1];
  }
  prior.theta_shape = theta_prior[0];
  prior.theta_rate = theta_prior[1];
  bayeskernel::KernelLearner learner(job.composite, job.weights, prior,
                                     {method != "fixed", tune}, job.fit,
                                     job.control, job.executor);
  MultinomialResult result;
  std::optional<bayeskernel::WeightPosterior> q;
  const bool own = read<bool>(settings, "own");
  bayeskernel::SearchCheck check;
  if (spread) {
    if (tune) {
      throw bayeskernel::ArgumentError("length-scales have no posterior");
    }
    q.emplace(job.composite.size(), read_spread(settings, product));
    result = learner.spread(*q, job.user.keep_going());
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
  Rcpp::List out = fit_list(job.fit, learner.design(), job.composite);
  Rcpp::List component = component_list(job.fit, weights, result.by_qr);
  out["weights"] =
      q ? spread_list(*q, product, component)
        : weights_list(weights, VectorXd::Zero(s), NA_REAL, MatrixXd(0, s),
                       MatrixXd(0, s), VectorXd(), VectorXd());
  out["components"] = Rcpp::List::create(component);
  out["probability"] = 1.0;
  out["status"] = pass_status(result);
  out["qr"] = result.by_qr;
  out["active"] = static_cast<double>(result.active);
  out["lost_digits"] = result.lost_digits;
  if (!std::isnan(check.start)) {
    out["check"] = r_list({{"start", check.start},
                           {"found", check.found},
                           {"taken", check.taken}});
  }
  return out;
}

// Every pattern of weights 0 and 1, or those of a greedy search.
Rcpp::List fit_states(Job& job, const Rcpp::List& settings) {
  constexpr Index kEnumerated = 10;
  constexpr double kNegligible = 14.0;  // of log probabilities
  const Index s = job.composite.size();
  const double on = read<Rcpp::NumericVector>(settings, "prior_weights")[0];
  const bool allow_empty = read<bool>(settings, "allow_empty");
  const bool loo = read<std::string>(settings, "weights_method") == "loo";
  const bool own = read<bool>(settings, "own");
  bayeskernel::StateSearch search;
  std::vector<Rcpp::List> components;
  MultinomialResult total;
  Rcpp::List best;
  double most = R_NegInf;
  const auto fit_at = [&](const VectorXd& state, bool& interrupted) {
    Design design(job.composite, state, job.executor);
    const MultinomialResult result = job.fit.run(design, job.user.keep_going());
    interrupted = result.interrupted || job.user.interrupted();
    total.passes += result.passes;
    total.rejected += result.rejected;
    total.by_qr = total.by_qr || result.by_qr;
    total.lost_digits = total.lost_digits || result.lost_digits;
    total.converged =
        (components.empty() || total.converged) && result.converged;
    total.largest_fall = std::max(total.largest_fall, result.largest_fall);
    const double worth =
        loo ? bayeskernel::left_out(job.fit, design, own, job.executor).sum()
            : job.fit.bound();
    const double value =
        worth + state.sum() * std::log(on) +
        (static_cast<double>(s) - state.sum()) * std::log1p(-on);
    components.push_back(value > most - kNegligible
                             ? component_list(job.fit, state, result.by_qr)
                             : Rcpp::List());
    if (value > most) {
      most = value;
      best = fit_list(job.fit, design, job.composite);
      total.bound = result.bound;
      total.active = result.active;
    }
    return value;
  };
  if (s <= kEnumerated) {
    search.enumerate(s, allow_empty, fit_at);
  } else {
    search.greedy(s, allow_empty, fit_at);
  }
  total.interrupted = search.interrupted;
  if (search.states.empty()) {
    return r_list({{"status", pass_status(total)}});
  }
  const Index count = static_cast<Index>(search.states.size());
  const VectorXd probability = search.probability();
  MatrixXd states(count, s);
  for (Index k = 0; k < count; ++k)
    states.row(k) = search.states[k].transpose();
  const VectorXd mean = states.transpose() * probability;
  const VectorXd sd =
      (mean.array() * (1.0 - mean.array())).cwiseMax(0.0).sqrt();
  Rcpp::List out = best, kept;
  std::vector<double> share;
  for (Index k = 0; k < count; ++k) {
    if (components[k].size() == 0 || probability[k] < 1e-6) continue;
    kept.push_back(components[k]);
    share.push_back(probability[k]);
  }
  VectorXd shares = Eigen::Map<VectorXd>(share.data(), kept.size());
  shares /= shares.sum();
  out["components"] = kept;
  out["probability"] = to_r(shares);
  out["weights"] = weights_list(
      mean, sd, NA_REAL, MatrixXd(0, s), states,
      Eigen::Map<const VectorXd>(search.values.data(), count), probability);
  out["status"] = pass_status(total);
  out["qr"] = total.by_qr;
  out["active"] = static_cast<double>(total.active);
  out["lost_digits"] = total.lost_digits;
  return out;
}

}  // namespace

// See read_source() for data$sources; y: classes from 1.
// [[Rcpp::export(rng = false)]]
Rcpp::List mkprobit_vb_cpp(const Rcpp::List& data, const Rcpp::List& settings) {
  return guarded([&] {
    const auto began = std::chrono::steady_clock::now();
    Job job(data, settings);
    const bool states = read<bool>(settings, "states");
    const Rcpp::List found =
        states ? fit_states(job, settings) : fit_composite(job, settings);
    Rcpp::List status = found["status"];
    status["seconds"] = seconds_since(began);
    if (!found.containsElementNamed("components")) {
      return r_list({{"status", status}, {"usable", false}});
    }
    status["qr"] = found["qr"];
    status["active"] = found["active"];
    status["advice"] = read<bool>(found, "lost_digits") ? "scale" : "";
    SEXP check = R_NilValue;
    if (found.containsElementNamed("check")) check = found["check"];
    return r_list({{"posterior", r_list({{"components", found["components"]},
                                         {"probability", found["probability"]},
                                         {"bias", job.composite.bias()},
                                         {"classes", job.classes}})},
                   {"mean", found["mean"]},
                   {"var", found["var"]},
                   {"alpha", found["alpha"]},
                   {"y_mean", found["y_mean"]},
                   {"latent", found["latent"]},
                   {"weights", found["weights"]},
                   {"kernel", found["kernel"]},
                   {"check", check},
                   {"status", status},
                   {"usable", true}});
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
    Composite composite = read_composite(sources, combine, has_bias(posterior));
    const Index nodes = read<int>(settings, "nodes");
    UserCallback user(false);
    if (posterior.containsElementNamed("chains")) {
      return predict_sampled(posterior, composite, nodes, executor, user);
    }
    const Index c = read<int>(posterior, "classes"), n = composite.rows();
    const std::vector<Component> components =
        read_posterior(posterior, composite.size(), executor);
    MatrixXd mean, second, prob, log_prob;
    for (const Component& part : components) {
      const Design design(composite, part.weights, executor, 0.0);
      std::vector<Design> beyond;
      for (Index k = 0; k < part.spread.cols(); ++k) {
        beyond.emplace_back(composite, part.spread.col(k), executor, 0.0, 0.0);
      }
      bayeskernel::MultinomialMoments at =
          bayeskernel::predict_classes(part.q, design, nodes, executor, beyond);
      if (components.size() == 1) {
        mean = at.mean.transpose();
        second = at.variance.transpose();
        log_prob = at.log_prob.transpose();
        prob = log_prob.array().exp();
        break;
      }
      if (mean.size() == 0) {
        mean.setZero(n, c);
        second.setZero(n, c);
        prob.setZero(n, c);
      }
      const double p = part.probability;
      mean += p * at.mean.transpose();
      second += p * (at.variance + at.mean.cwiseAbs2()).transpose();
      prob += p * MatrixXd(at.log_prob.transpose().array().exp());
    }
    if (components.size() > 1) {
      second = (second - mean.cwiseAbs2()).cwiseMax(0.0);
      log_prob = prob.array().log();
    }
    return r_list({{"mean", mean},
                   {"var", second},
                   {"prob", prob},
                   {"log_prob", log_prob}});
  });
}

// Latent functions or class probabilities by draws: draws x objects x classes.
// From q, W is drawn for all objects at once, each from a component; draws of
// a sampler are taken one by one.
// [[Rcpp::export(rng = false)]]
Rcpp::List mkprobit_draws_cpp(const Rcpp::List& posterior,
                              const Rcpp::List& sources,
                              const std::string& combine,
                              const Rcpp::List& settings) {
  return guarded([&] {
    RcppParallelExecutor executor(read<int>(settings, "threads"));
    executor.ask();
    Composite composite = read_composite(sources, combine, has_bias(posterior));
    const Index nodes = read<int>(settings, "nodes");
    const bool link = read<std::string>(settings, "type") == "link";
    const Index c = read<int>(posterior, "classes"), n = composite.rows();
    UserCallback user(false);
    const auto collect = [&](Index count, auto&& latent) {
      Rcpp::NumericVector out(Rcpp::Dimension(count, n, c));
      double* to = out.begin();
      MatrixXd f, log_prob;
      for (Index d = 0; d < count; ++d) {
        if (user.interrupted()) {
          throw bayeskernel::PassInterrupted();
        }
        latent(d, f);
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
      SampledPosterior draws(posterior, composite);
      return collect(draws.count(),
                     [&](Index d, MatrixXd& f) { draws.latent(d, f); });
    }
    const std::vector<Component> components =
        read_posterior(posterior, composite.size(), executor);
    std::vector<MatrixXd> k;
    Composite::Scratch scratch;
    for (const Component& part : components) {
      k.emplace_back(composite.regressors(), n);
      composite.block(part.weights, 0, n, scratch, k.back().data());
    }
    const auto seed = read<std::uint64_t>(settings, "seed");
    const Index count = read<int>(settings, "draws");
    return collect(count, [&](Index d, MatrixXd& f) {
      bayeskernel::Stream stream(seed, 0, bayeskernel::Purpose::predict,
                                 static_cast<std::uint64_t>(d), 0);
      double u = stream.uniform();
      std::size_t at = 0;
      while (at + 1 < components.size() && u > components[at].probability) {
        u -= components[at++].probability;
      }
      const Component& part = components[at];
      const Index many = part.draws.cols();
      if (many > 0) {
        composite.block(part.draws.col(uniform_index(stream, many)), 0, n,
                        scratch, k[at].data());
      }
      f.noalias() = part.q.draw(stream) * k[at];
    });
  });
}
