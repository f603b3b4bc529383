#include <bayeskernel/bsvm/draw_moments.hpp>
#include <bayeskernel/bsvm/linear_moments.hpp>
#include <bayeskernel/bsvm/problem.hpp>
#include <bayeskernel/bsvm/recorder.hpp>
#include <bayeskernel/chain/runner.hpp>
#include <bayeskernel/hinge/gibbs.hpp>
#include <bayeskernel/hinge/mean_field.hpp>
#include <bayeskernel/hinge/probability.hpp>
#include <chrono>

#include "glue_common.h"

using bayeskernel::Block;
using bayeskernel::Index;
using bayeskernel::MatrixXd;
using bayeskernel::VectorXd;

namespace {

bayeskernel::BsvmData read_data(const Rcpp::List& data) {
  bayeskernel::BsvmData out{map_matrix(data["x"]),
                            map_vector(data["center"]),
                            map_vector(data["scale"]),
                            map_vector(data["y"]),
                            map_vector(data["weights"]),
                            map_vector(data["offset"]),
                            {},
                            {},
                            {},
                            map_matrix(data["z"])};
  const Rcpp::List kept = data["kept"];
  for (Index t = 0; t < kept.size(); ++t) {
    const Rcpp::List term = kept[t];
    const Rcpp::IntegerVector group = term["group"];
    std::vector<int> codes(group.begin(), group.end());
    for (int& code : codes) --code;
    out.kept.push_back({std::move(codes), Rcpp::as<int>(term["members"]),
                        map_matrix(term["z"])});
  }
  const Index n = out.x.rows();
  out.order.resize(n);
  const Rcpp::IntegerVector group = data["group"];
  if (group.size() == 0) {
    for (Index i = 0; i < n; ++i) out.order[i] = i;
    return out;
  }
  const Index groups = Rcpp::as<int>(data["n_groups"]);
  out.group_begin.assign(groups + 1, 0);
  for (const int g : group) ++out.group_begin[g];
  for (Index g = 0; g < groups; ++g) out.group_begin[g + 1] += out.group_begin[g];
  std::vector<Index> next(out.group_begin.begin(), out.group_begin.end() - 1);
  for (Index i = 0; i < n; ++i) out.order[next[group[i] - 1]++] = i;
  return out;
}

bayeskernel::Prior read_prior(const Rcpp::List& prior) {
  bayeskernel::Prior out;
  out.precision = map_vector(prior["precision"]);
  out.mean = map_vector(prior["mean"]);
  const Rcpp::List blocks = prior["blocks"];
  for (Index l = 0; l < blocks.size(); ++l) {
    const Rcpp::List from = blocks[l];
    Block block;
    const std::string kind = Rcpp::as<std::string>(from["kind"]);
    block.kind = kind == "iid"    ? Block::Kind::iid
                 : kind == "held" ? Block::Kind::held
                                  : Block::Kind::unstructured;
    block.eliminated = Rcpp::as<bool>(from["eliminated"]);
    block.first = Rcpp::as<int>(from["first"]);
    block.members = Rcpp::as<int>(from["members"]);
    block.width = Rcpp::as<int>(from["width"]);
    if (block.kind == Block::Kind::iid) {
      block.shape = Rcpp::as<double>(from["shape"]);
      block.rate = Rcpp::as<double>(from["rate"]);
    } else if (block.kind == Block::Kind::held) {
      block.precision = Rcpp::as<double>(from["precision"]);
    } else {
      block.df = Rcpp::as<double>(from["df"]);
      block.scale = map_matrix(from["scale"]);
    }
    out.blocks.push_back(block);
  }
  return out;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// Threads pay off only above about this much work in a pass.
int useful_threads(const bayeskernel::PackedRows& rows, int threads) {
  const double width = static_cast<double>(rows.x.rows() + rows.z.rows());
  return static_cast<double>(rows.rows()) * width * width < 2e6 ? 1 : threads;
}

// E f and Var f in the order of the user's rows.
VectorXd restore_order(const VectorXd& v, const std::vector<Index>& order) {
  VectorXd out(v.size());
  for (Index i = 0; i < v.size(); ++i) out[order[i]] = v[i];
  return out;
}

Rcpp::List variance_list(const bayeskernel::Prior& prior,
                         const std::vector<bayeskernel::BlockPosterior>& q) {
  Rcpp::List out(prior.blocks.size());
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    if (prior.blocks[l].kind == Block::Kind::unstructured) {
      out[l] = Rcpp::List::create(Rcpp::Named("df") = q[l].df,
                                  Rcpp::Named("scale") = to_r(q[l].scale));
    } else {
      out[l] = Rcpp::List::create(Rcpp::Named("shape") = q[l].shape,
                                  Rcpp::Named("rate") = q[l].rate);
    }
  }
  return out;
}

Rcpp::List state_list(const bayeskernel::GibbsState& state) {
  return Rcpp::List::create(
      Rcpp::Named("x") = to_r(state.point.x),
      Rcpp::Named("group") = to_r(state.point.group),
      Rcpp::Named("precision") = to_r(state.precision),
      Rcpp::Named("sweep") = static_cast<double>(state.sweep));
}

void restore_state(const Rcpp::List& from, bayeskernel::GibbsState& state) {
  state.point.x = map_vector(from["x"]);
  state.point.group = map_matrix(from["group"]);
  const Rcpp::List precision = from["precision"];
  for (Index l = 0; l < precision.size(); ++l) {
    state.precision[l] = map_matrix(precision[l]);
  }
  state.sweep = static_cast<std::uint64_t>(Rcpp::as<double>(from["sweep"]));
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_vb_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                       const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const bayeskernel::BsvmData input = read_data(data);
    bayeskernel::Prior blocks = read_prior(prior);
    bayeskernel::PackedRows rows = bayeskernel::pack_rows(input);
    const bayeskernel::WideBlock wide = bayeskernel::reduce_wide(rows, blocks);
    rows.finish(input.group_begin);
    RcppParallelExecutor executor(
        useful_threads(rows, Rcpp::as<int>(settings["threads"])));
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    bayeskernel::MeanFieldFit fit(rows, blocks, executor);
    bayeskernel::MeanFieldSettings control;
    control.tolerance = Rcpp::as<double>(settings["tol"]);
    control.max_passes = Rcpp::as<int>(settings["max_iter"]);
    control.accelerate = Rcpp::as<bool>(settings["accelerate"]);
    const bayeskernel::MeanFieldResult result =
        fit.run(control, user.keep_going());
    const Index groups = rows.groups(), r = rows.z_columns();
    MatrixXd covariance(r, r * groups);
    for (Index g = 0; g < groups; ++g) {
      covariance.middleCols(g * r, r) = fit.posterior().group_covariance(g);
    }
    return Rcpp::List::create(
        Rcpp::Named("theta_mean") = to_r(fit.posterior().mean.x),
        Rcpp::Named("theta_cov") = to_r(fit.posterior().theta_covariance()),
        Rcpp::Named("group_mean") = to_r(fit.posterior().mean.group),
        Rcpp::Named("group_cov") = to_r(covariance),
        Rcpp::Named("loading") = to_r(fit.system().loading()),
        Rcpp::Named("schur") = to_r(fit.system().group_inverse()),
        Rcpp::Named("variance") = variance_list(blocks, fit.variances()),
        Rcpp::Named("precision") = to_r(fit.precisions()),
        Rcpp::Named("basis") = to_r(wide.basis),
        Rcpp::Named("basis_first") = static_cast<int>(wide.first),
        Rcpp::Named("mean") = to_r(restore_order(fit.mean(), input.order)),
        Rcpp::Named("variance_f") = to_r(restore_order(fit.variance(), input.order)),
        Rcpp::Named("status") = Rcpp::List::create(
            Rcpp::Named("bound") = result.bound,
            Rcpp::Named("passes") = result.passes,
            Rcpp::Named("rejected") = result.rejected,
            Rcpp::Named("converged") = result.converged,
            Rcpp::Named("interrupted") = result.interrupted,
            Rcpp::Named("largest_fall") = result.largest_fall,
            Rcpp::Named("jitter") = fit.system().jitter(),
            Rcpp::Named("seconds") = seconds_since(start)));
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_gibbs_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                          const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const bayeskernel::BsvmData input = read_data(data);
    bayeskernel::Prior blocks = read_prior(prior);
    bayeskernel::PackedRows rows = bayeskernel::pack_rows(input);
    const bayeskernel::WideBlock wide = bayeskernel::reduce_wide(rows, blocks);
    rows.finish(input.group_begin);
    const int threads = Rcpp::as<int>(settings["threads"]);
    const Rcpp::IntegerVector chain_id = settings["chain_id"];
    const int n_chains = chain_id.size();
    const std::uint64_t seed =
        static_cast<std::uint64_t>(Rcpp::as<double>(settings["seed"]));
    bayeskernel::ChainPlan plan;
    plan.warmup = static_cast<Index>(Rcpp::as<double>(settings["warmup"]));
    plan.draws = static_cast<Index>(Rcpp::as<double>(settings["draws"]));
    plan.thin = static_cast<Index>(Rcpp::as<double>(settings["thin"]));

    // Chains first: threads inside a chain only when chains are few.
    const bool by_chain = n_chains >= threads;
    RcppParallelExecutor outer(by_chain ? threads : 1);
    RcppParallelExecutor inner(by_chain ? 1 : useful_threads(rows, threads));
    std::vector<std::unique_ptr<bayeskernel::GibbsChain>> chains;
    std::vector<bayeskernel::GibbsChain*> pointers;
    const Rcpp::List resume = settings["states"];
    for (int c = 0; c < n_chains; ++c) {
      chains.push_back(std::make_unique<bayeskernel::GibbsChain>(
          rows, blocks, inner, seed, static_cast<std::uint64_t>(chain_id[c])));
      if (resume.size() > 0) restore_state(resume[c], chains.back()->state);
      pointers.push_back(chains.back().get());
    }

    std::vector<MatrixXd> transform;
    const Rcpp::List from = prior["transforms"];
    for (Index l = 0; l < from.size(); ++l) {
      transform.push_back(map_matrix(from[l]));
    }
    const bayeskernel::Recorder recorder(
        input.center, input.scale, Rcpp::as<bool>(settings["intercept"]),
        blocks, transform, wide, seed,
        Rcpp::as<bool>(settings["keep_ranef"]));
    const Index variables = recorder.variables();
    Rcpp::NumericVector draws(
        Rcpp::Dimension(plan.draws, n_chains, variables));
    double* out = draws.begin();
    const auto record = [&](Index c, Index k) {
      recorder.write(chains[c]->state, chains[c]->chain(),
                     out + k + plan.draws * c, plan.draws * n_chains);
    };
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    const bayeskernel::ChainStatus status = bayeskernel::run_chains(
        pointers, plan, outer, user.keep_going(), record);
    Rcpp::List states(n_chains);
    for (int c = 0; c < n_chains; ++c) states[c] = state_list(chains[c]->state);
    return Rcpp::List::create(
        Rcpp::Named("draws") = draws, Rcpp::Named("states") = states,
        Rcpp::Named("status") = Rcpp::List::create(
            Rcpp::Named("sweeps") = static_cast<double>(status.sweeps),
            Rcpp::Named("kept") = static_cast<double>(status.kept),
            Rcpp::Named("interrupted") = status.interrupted,
            Rcpp::Named("failure") = status.failure,
            Rcpp::Named("seconds") = seconds_since(start)));
  });
}

// E g(f) for f ~ N(m, s2), by row (svm.md section 8).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector hinge_probability_cpp(const Rcpp::NumericVector& m,
                                          const Rcpp::NumericVector& s2) {
  const bayeskernel::HingeProbability probability;
  Rcpp::NumericVector out(m.size());
  for (R_xlen_t i = 0; i < m.size(); ++i) {
    out[i] = Rcpp::NumericVector::is_na(m[i])
                 ? NA_REAL
                 : probability(m[i], std::sqrt(s2[i]));
  }
  return out;
}

// Mean and variance of f, mean and sd of the class probability, by row.
// [[Rcpp::export(rng = false)]]
Rcpp::List draw_moments_cpp(const Rcpp::NumericMatrix& x,
                            const Rcpp::NumericVector& offset,
                            const Rcpp::NumericMatrix& beta,
                            const Rcpp::List& terms, bool hinge, int threads) {
  return guarded([&] {
    std::vector<bayeskernel::TermDraws> draws;
    for (R_xlen_t t = 0; t < terms.size(); ++t) {
      const Rcpp::List term = terms[t];
      draws.push_back({map_matrix(term["z"]),
                       Rcpp::as<std::vector<int>>(term["group"]),
                       map_matrix(term["effects"]),
                       map_matrix(term["covariance"])});
    }
    RcppParallelExecutor executor(threads);
    const bayeskernel::DrawMoments moments = bayeskernel::draw_moments(
        map_matrix(x), map_vector(offset), map_matrix(beta), draws, hinge,
        executor);
    return Rcpp::List::create(to_r(moments.mean), to_r(moments.var),
                              to_r(moments.probability),
                              to_r(moments.probability_sd));
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List linear_moments_cpp(const Rcpp::NumericMatrix& x,
                              const Rcpp::NumericVector& center,
                              const Rcpp::NumericVector& scale,
                              const Rcpp::NumericVector& offset,
                              const Rcpp::NumericVector& mean,
                              const Rcpp::NumericMatrix& covariance,
                              int threads) {
  return guarded([&] {
    RcppParallelExecutor executor(threads);
    const bayeskernel::LinearMoments moments = bayeskernel::linear_moments(
        map_matrix(x), map_vector(center), map_vector(scale),
        map_vector(offset), map_vector(mean), map_matrix(covariance),
        executor);
    return Rcpp::List::create(Rcpp::Named("mean") = to_r(moments.mean),
                              Rcpp::Named("var") = to_r(moments.var));
  });
}
