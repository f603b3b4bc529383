// Single moves and densities of klr()'s sampler at given states, compiled by
// the tests that need them. Rows and kernels are counted from 0.
// [[Rcpp::depends(RcppEigen, BH)]]
// [[Rcpp::plugins(cpp17)]]
#include <Rcpp.h>

#include "klr/chain.hpp"
#include "klr/save.hpp"

using namespace bayeskernel;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

static Eigen::Map<const MatrixXd> as_matrix(SEXP x) {
  return Eigen::Map<const MatrixXd>(REAL(x), Rf_nrows(x), Rf_ncols(x));
}
static std::vector<double> as_numbers(SEXP x) {
  return Rcpp::as<std::vector<double>>(x);
}
static Rcpp::NumericMatrix to_matrix(const MatrixXd& m) {
  return Rcpp::NumericMatrix(static_cast<int>(m.rows()),
                             static_cast<int>(m.cols()), m.data());
}

static LowRankPrior as_prior(const Rcpp::List& from, bool continuous) {
  const auto number = [&](const char* name) {
    return Rcpp::as<double>(from[name]);
  };
  LowRankPrior out;
  out.alpha = number("alpha");
  out.epsilon = number("eps");
  out.gamma_shape = number("a_g");
  out.gamma_rate = number("b_g");
  out.mean_location = number("mm");
  out.mean_scale = std::sqrt(number("sm2"));
  out.precision_shape = number("a_s");
  out.precision_rate = number("b_s");
  out.intercept_rate = number("b0");
  out.max_kernels = static_cast<Index>(number("Jmax"));
  out.continuous = continuous;
  return out;
}

// A chain at a state: b0, U, mu, tau, beta, chi, lam (kernels x rank), and
// variance, of the coefficients with the intercept's, or none.
struct At {
  At(SEXP x, SEXP signs, const Rcpp::List& constants, const Rcpp::List& state)
      : data(as_matrix(x)),
        prior(as_prior(constants, Rf_xlength(state["variance"]) > 0)),
        chain(data, as_numbers(signs), prior, as_matrix(state["U"]).cols(), 1,
              0, 0) {
    LowRankCheckpoint from = chain.checkpoint();
    from.frame = as_matrix(state["U"]);
    for (const double at : as_numbers(state["chi"])) {
      from.centre.push_back(static_cast<Index>(at));
    }
    from.log_lambda = as_matrix(state["lam"]).array().log().matrix().transpose();
    from.coefficient = as_numbers(state["beta"]);
    from.coefficient.insert(from.coefficient.begin(),
                            Rcpp::as<double>(state["b0"]));
    from.variance = as_numbers(state["variance"]);
    from.mu = Rcpp::as<double>(state["mu"]);
    from.tau = Rcpp::as<double>(state["tau"]);
    chain.restore(from);
  }

  LowRankData data;
  LowRankPrior prior;
  LowRankChain chain;
};

// [[Rcpp::export]]
Rcpp::List lowrank_state(SEXP x, SEXP signs, Rcpp::List constants,
                         Rcpp::List state) {
  At at(x, signs, constants, state);
  const Index n = at.data.rows(), kernels = at.chain.basis.kernels();
  MatrixXd k(n, kernels);
  for (Index j = 0; j < kernels; ++j) {
    k.col(j) = Eigen::Map<const VectorXd>(at.chain.basis.column(j + 1), n);
  }
  const double* f = at.chain.f();
  const auto mean = at.chain.moves().mean_law();
  const auto precision = at.chain.moves().precision_law();
  std::vector<double> next;
  for (Index j = 0; j < at.prior.max_kernels; ++j) {
    next.push_back(at.prior.log_next(j));
  }
  return Rcpp::List::create(
      Rcpp::Named("K") = to_matrix(k),
      Rcpp::Named("f") = Rcpp::NumericVector(f, f + n),
      Rcpp::Named("loglik") = at.chain.log_likelihood(),
      Rcpp::Named("mu_mean") = mean[0],
      Rcpp::Named("mu_var") = 1.0 / mean[1],
      Rcpp::Named("tau_shape") = precision[0],
      Rcpp::Named("tau_rate") = precision[1],
      Rcpp::Named("log_next") = next);
}

// Log ratio of one move, by its name in the golden file.
// [[Rcpp::export]]
Rcpp::List lowrank_move(SEXP x, SEXP signs, Rcpp::List constants,
                        Rcpp::List state, std::string kind, Rcpp::List move) {
  At at(x, signs, constants, state);
  LowRankMoves& moves = at.chain.moves();
  ProjectedBasis& basis = at.chain.basis;
  const auto number = [&](const char* name) {
    return Rcpp::as<double>(move[name]);
  };
  const auto column = [&](const char* name) {
    return static_cast<Index>(number(name));
  };
  double ratio = 0.0, back = 0.0;
  MatrixXd frame = basis.frame();
  if (kind == "birth_reject" || kind == "birth_combined") {
    at.chain.schedule.update = kind == "birth_combined"
                                   ? LowRankSchedule::Update::kill
                                   : LowRankSchedule::Update::refuse;
    basis.tried_centre() = column("new_chi");
    const std::vector<double> lambda = as_numbers(move["new_lambda"]);
    for (Index l = 0; l < basis.rank(); ++l) {
      basis.tried_log_lambda()[l] = std::log(lambda[l]);
    }
    basis.try_column();
    ratio = moves.birth(number("new_beta"));
    at.chain.likelihood().accept_add();
    back = moves.death(basis.kernels());
  } else if (kind == "lambda_logrw") {
    const Index j = column("j") + 1;
    basis.try_from(j);
    basis.tried_log_lambda()[column("l")] += std::log(number("factor"));
    ratio = moves.scales(j);
  } else if (kind == "b0") {
    ratio = moves.intercept(number("new"));
  } else if (kind == "beta") {
    ratio = moves.coefficient(column("j") + 1, number("new"));
  } else {
    FrameWalk walk(frame.rows(), frame.cols());
    if (kind == "U_column") {
      const std::vector<double> e = as_numbers(move["e"]);
      walk.step_column(column("column"), 1.0 / number("rho"),
                       Eigen::Map<const VectorXd>(e.data(), frame.rows()),
                       frame);
    } else {
      walk.step_all(1.0 / number("rho"), as_matrix(move["E"]), frame);
    }
    basis.proposed_frame() = frame;
    ratio = moves.frame();
  }
  return Rcpp::List::create(Rcpp::Named("log_ratio") = ratio,
                            Rcpp::Named("back") = back,
                            Rcpp::Named("U") = to_matrix(frame));
}

// [[Rcpp::export]]
double lowrank_integral(SEXP x, SEXP signs, Rcpp::List constants,
                        Rcpp::List state, std::vector<double> omega) {
  At at(x, signs, constants, state);
  for (std::size_t i = 0; i < omega.size(); ++i) {
    at.chain.integrated()->set_omega(static_cast<Index>(i), omega[i]);
  }
  at.chain.integrated()->rebuild();
  return at.chain.integrated()->log_integrated();
}

// [[Rcpp::export]]
Rcpp::NumericMatrix lowrank_save(SEXP x, SEXP signs, int rank) {
  const std::vector<double> y = as_numbers(signs);
  return to_matrix(save_frame(
      as_matrix(x),
      Eigen::Map<const VectorXd>(y.data(), static_cast<Index>(y.size())),
      rank));
}

// Draws of J, b_0, u_1^2, log lambda and b of the first kernel, NaN without
// one.
// [[Rcpp::export]]
Rcpp::NumericMatrix lowrank_chain(SEXP x, SEXP signs, Rcpp::List constants,
                                  int rank, int draws, int thin, int seed,
                                  int update) {
  const LowRankData data(as_matrix(x));
  const LowRankPrior prior = as_prior(constants, false);
  LowRankChain chain(data, as_numbers(signs), prior, rank,
                     static_cast<std::uint64_t>(seed), 1, 2000);
  chain.schedule.update = static_cast<LowRankSchedule::Update>(update);
  chain.start(MatrixXd::Identity(data.variables(), rank));
  for (int k = 0; k < 2000; ++k) chain.sweep();
  Rcpp::NumericMatrix out(draws, 5);
  for (int d = 0; d < draws; ++d) {
    for (int k = 0; k < thin; ++k) chain.sweep();
    const bool some = chain.basis.kernels() > 0;
    out(d, 0) = static_cast<double>(chain.basis.kernels());
    out(d, 1) = chain.coefficient(0);
    out(d, 2) = std::pow(chain.basis.frame()(0, 0), 2);
    out(d, 3) = some ? chain.basis.log_lambda(1, 0) : NAN;
    out(d, 4) = some ? chain.coefficient(1) : NAN;
  }
  return out;
}
