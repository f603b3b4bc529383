// Single moves and densities of bark()'s sampler at given states, compiled by
// the tests that need them.
// [[Rcpp::depends(RcppEigen, BH)]]
// [[Rcpp::plugins(cpp17)]]
#include <Rcpp.h>

#include "bark/chain.hpp"
#include "bark/structured_moves.hpp"
#include <limits>

namespace {
using namespace bayeskernel;
using Eigen::Index;
using Eigen::VectorXd;

Eigen::Map<const Eigen::MatrixXd> map_matrix(SEXP x) {
  const Rcpp::NumericMatrix m(x);
  return Eigen::Map<const Eigen::MatrixXd>(m.begin(), m.nrow(), m.ncol());
}

VectorXd read_vector(SEXP x) {
  const Rcpp::NumericVector v(x);
  return Eigen::Map<const VectorXd>(v.begin(), v.size());
}

Rcpp::NumericVector to_r(const VectorXd& v) {
  return Rcpp::NumericVector(v.data(), v.data() + v.size());
}

BarkPrior read_prior(const Rcpp::List& prior) {
  BarkPrior out;
  out.alpha = Rcpp::as<double>(prior["alpha"]);
  out.gamma = Rcpp::as<double>(prior["gamma"]);
  out.epsilon = Rcpp::as<double>(prior["epsilon"]);
  out.lambda_shape = Rcpp::as<double>(prior["lambda_shape"]);
  out.lambda_rate = Rcpp::as<double>(prior["lambda_rate"]);
  out.max_kernels = Rcpp::as<int>(prior["max_kernels"]);
  out.kill_power = Rcpp::as<int>(prior["kill_power"]);
  return out;
}

InclusionPrior read_inclusion(const Rcpp::List& prior,
                              const Rcpp::List& settings) {
  const Rcpp::NumericVector beta = prior["inclusion"];
  return settings.containsElementNamed("probability")
             ? InclusionPrior::known(
                   beta[0], beta[1],
                   Rcpp::as<double>(settings["probability"]))
             : InclusionPrior::beta(beta[0], beta[1]);
}

ScaleSetting read_setting(const Rcpp::List& settings) {
  ScaleSetting out;
  out.different = Rcpp::as<std::string>(settings["scales"]) == "different";
  out.select = Rcpp::as<bool>(settings["select"]);
  return out;
}

// State lists: loc (0 = intercept, i = row i), n, varphi, lambda, phi.
void load(const Rcpp::List& from, BarkState& state) {
  const Rcpp::IntegerVector location = from["loc"], count = from["n"];
  const Rcpp::NumericVector varphi = from["varphi"];
  state.population.restore(std::vector<Index>(location.begin(), location.end()),
                           std::vector<Index>(count.begin(), count.end()),
                           std::vector<double>(varphi.begin(), varphi.end()),
                           {});
  state.lambda = read_vector(from["lambda"]);
  for (Index l = 0; l < state.scales(); ++l) {
    state.delta[l] = state.lambda[l] > 0.0;
  }
  state.gaussian.set_precision(Rcpp::as<double>(from["phi"]));
  state.rebuild_all();
}

struct LoadedState {
  LoadedState(const Rcpp::List& data, const Rcpp::List& prior_list,
              const Rcpp::List& settings, const Rcpp::List& from)
      : rows(map_matrix(data["x"]), map_matrix(data["x"])),
        prior(read_prior(prior_list)),
        state(rows, prior, read_setting(settings),
              read_inclusion(prior_list, settings)) {
    const VectorXd y = read_vector(data["y"]);
    std::copy_n(y.data(), y.size(), state.response());
    load(from, state);
  }

  BarkData rows;
  BarkPrior prior;
  BarkState state;
};

// The ratio of the move `name` with the numbers it needs; both parts.
Rcpp::NumericVector ratio_of(const std::string& name, BarkState& state,
                             const Rcpp::List& move) {
  KernelMoves kernels(state);
  ScaleMoves scales(state);
  const auto index = [&](const char* key) {
    return static_cast<Index>(Rcpp::as<int>(move[key]));
  };
  const auto number = [&](const char* key) {
    return Rcpp::as<double>(move[key]);
  };
  const auto from_kernels = [&](double ratio) {
    return Rcpp::NumericVector::create(kernels.likelihood_change(), ratio);
  };
  const auto from_scales = [&](double ratio) {
    return Rcpp::NumericVector::create(scales.likelihood_change(), ratio);
  };
  if (name == "birth") {
    return from_kernels(kernels.birth(index("location"), number("varphi")));
  }
  if (name == "death") {
    return from_kernels(kernels.death(index("column")));
  }
  if (name == "relocate") {
    return from_kernels(
        kernels.relocate(index("column"), index("location"), number("varphi")));
  }
  if (name == "varphi") {
    return from_kernels(kernels.varphi(index("column"), number("varphi")));
  }
  if (name == "phi") {
    const double phi = number("phi");
    const double change =
        state.gaussian.log_marginal_at(phi) - state.gaussian.log_marginal();
    return Rcpp::NumericVector::create(
        change, change + state.prior.phi.log_step(state.phi(), phi));
  }
  if (name == "factor") {
    return from_scales(scales.common_factor(number("factor")));
  }
  if (name == "coordinate") {
    return from_scales(scales.coordinate(index("variable"), number("lambda")));
  }
  if (name == "flip_keep_lambda" || name == "flip_keep_total" ||
      name == "flip_empty") {
    const double fresh = name == "flip_empty" ? number("lambda") : 0.0;
    return from_scales(
        scales.replace(flipped(state.delta, index("variable")),
                       name == "flip_keep_total", fresh, 0.0));
  }
  if (name == "flip_different") {
    return from_scales(
        scales.flip_different(index("variable"), number("lambda")));
  }
  if (name == "swap") {
    return from_scales(scales.swap(index("active"), index("inactive")));
  }
  throw Error("unknown move " + name);
}

IndicatorVector read_indicators(const Rcpp::IntegerVector& delta) {
  return IndicatorVector(delta.begin(), delta.end());
}
}  // namespace

// Log marginal likelihood, posterior mean and variances of the coefficients of
// a collapsed state.
// [[Rcpp::export]]
Rcpp::List bark_state_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                          const Rcpp::List& settings, const Rcpp::List& from) {
  LoadedState loaded(data, prior, settings, from);
  const auto& gaussian = loaded.state.gaussian;
  const Index m = gaussian.size();
  VectorXd mean(m), variance(m), first_row(m);
  for (Index j = 0; j < m; ++j) {
    mean[j] = gaussian.mean()[j];
    variance[j] = gaussian.posterior_variance(j);
    first_row[j] = loaded.state.basis.column(j)[0];
  }
  return Rcpp::List::create(Rcpp::Named("loglik") = gaussian.log_marginal(),
                            Rcpp::Named("mean") = to_r(mean),
                            Rcpp::Named("variance") = to_r(variance),
                            Rcpp::Named("first_row") = to_r(first_row));
}

// The likelihood's part and all of a log acceptance ratio. `move`: its name
// and what it proposes; columns and variables count from 0.
// [[Rcpp::export]]
Rcpp::List bark_ratio_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                          const Rcpp::List& settings, const Rcpp::List& from,
                          const Rcpp::List& move) {
  LoadedState loaded(data, prior, settings, from);
  const Rcpp::NumericVector parts =
      ratio_of(Rcpp::as<std::string>(move["name"]), loaded.state, move);
  return Rcpp::List::create(Rcpp::Named("dloglik") = parts[0],
                            Rcpp::Named("log_ratio") = parts[1]);
}

// z_i given the other latents, z'(I + KDK')^-1 z and the log density of z.
// Coefficients of given prior variances at given locations.
// [[Rcpp::export]]
Rcpp::List bark_probit_cpp(const Rcpp::NumericMatrix& x,
                           const std::vector<double>& z,
                           const std::vector<int>& location,
                           const std::vector<double>& variance,
                           const std::vector<double>& lambda) {
  const auto rows = map_matrix(x);
  const BarkData data(rows, rows);
  BarkPrior prior;
  prior.phi.kind = PrecisionPrior::Kind::fixed;
  BarkState state(data, prior, ScaleSetting{},
                  InclusionPrior::beta(1.0, 1.0));
  std::vector<double> varphi;
  for (const double v : variance) varphi.push_back(1.0 / v);
  state.population.restore(
      std::vector<Index>(location.begin(), location.end()),
      std::vector<Index>(location.size(), 1), varphi, {});
  state.lambda = Eigen::Map<const VectorXd>(
      lambda.data(), static_cast<Index>(lambda.size()));
  std::copy(z.begin(), z.end(), state.response());
  state.gaussian.set_precision(1.0);
  state.rebuild_all();
  LatentSweep latent(state, std::vector<int>(z.size(), 1), 2);
  latent.prepare();
  Rcpp::NumericVector mean(z.size()), spread(z.size());
  for (std::size_t i = 0; i < z.size(); ++i) {
    const auto given = latent.conditional(static_cast<Index>(i));
    mean[i] = given.mean;
    spread[i] = given.variance;
  }
  return Rcpp::List::create(
      Rcpp::Named("mean") = mean, Rcpp::Named("var") = spread,
      Rcpp::Named("quadratic") = state.gaussian.quadratic_form(),
      Rcpp::Named("loglik") = state.gaussian.log_marginal());
}

// log prior of indicators under the Markov chain.
// [[Rcpp::export]]
double bark_markov_cpp(const Rcpp::IntegerVector& delta, double q0, double q1) {
  return InclusionPrior::markov(q0, q1).log_prior(read_indicators(delta));
}

// log q(back) - log q(forward) of a typed flip ("flip") or of a block move
// ("block") that leads from one indicator vector to another; NaN if none does.
// [[Rcpp::export]]
double bark_proposal_cpp(const std::string& kind,
                         const Rcpp::IntegerVector& from,
                         const Rcpp::IntegerVector& to) {
  const IndicatorVector start = read_indicators(from), end = read_indicators(to);
  if (kind == "flip") {
    for (Index i = 0; i < static_cast<Index>(start.size()); ++i) {
      if (flipped(start, i) == end) {
        return typed_flip_log_ratio(start, i);
      }
    }
  } else {
    const auto menu = block_menu(start);
    for (const auto& move : menu) {
      for (Index k = 1; k <= move.longest; ++k) {
        IndicatorVector reached = start;
        move.apply(reached, k);
        if (reached == end) {
          return block_move_log_ratio(start, menu, move, k);
        }
      }
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}
