// The sampler of mkprobit(), and what predictions from its draws need.
#include "glue_chains.h"
#include "glue_mkprobit.h"
#include "multinomial/gibbs.hpp"

using namespace bayeskernel;

namespace {
MultinomialGibbsSettings read_gibbs(const Rcpp::List& settings,
                                    const std::string& combine) {
  MultinomialGibbsSettings out;
  out.scales = read_scales(settings);
  out.alpha0 = read<double>(settings, "alpha0");
  out.tau = read<double>(settings, "tau");
  out.nu = read<double>(settings, "nu");
  const Rcpp::NumericVector prior = settings["prior_weights"];
  const Rcpp::NumericVector theta = settings["prior_theta"];
  if (read<bool>(settings, "infer_weights")) {
    out.weights = combine == "product"  ? WeightPrior::gamma
                  : combine == "binary" ? WeightPrior::bernoulli
                                        : WeightPrior::dirichlet;
    out.first = prior[0];
    if (prior.size() > 1) out.second = prior[1];
    out.held = read<bool>(settings, "held_hyper");
  }
  out.lengthscales = read<bool>(settings, "tune");
  out.collapsed = read<bool>(settings, "collapsed");
  out.theta_shape = theta[0];
  out.theta_rate = theta[1];
  return out;
}

Rcpp::List checkpoint_list(const MultinomialCheckpoint& from) {
  return r_list({{"y", from.y},
                 {"w", from.w},
                 {"alpha", from.alpha},
                 {"weights", from.weights},
                 {"first", from.first},
                 {"second", from.second},
                 {"log_lengthscales", from.log_parameters},
                 {"steps", from.log_steps},
                 {"sweep", static_cast<double>(from.sweeps)}});
}

MultinomialCheckpoint read_checkpoint(SEXP from, const MultinomialChain& chain,
                                      const ChainPlan& plan) {
  const CheckedList list(from, kState);
  MultinomialCheckpoint out = chain.checkpoint();
  const auto matrix = [&](const char* name, MatrixXd& to) {
    to = MatrixXd(list.matrix(name, to.rows(), to.cols()));
  };
  const auto vector = [&](const char* name, VectorXd& to) {
    to = VectorXd(list.vector(name, to.size()));
  };
  matrix("y", out.y);
  matrix("w", out.w);
  matrix("alpha", out.alpha);
  vector("weights", out.weights);
  vector("first", out.first);
  vector("second", out.second);
  vector("log_lengthscales", out.log_parameters);
  vector("steps", out.log_steps);
  if (!(out.alpha.array() > 0.0).all()) list.refuse("alpha", "out of range");
  if ((out.weights.array() < 0.0).any()) list.refuse("weights", "negative");
  if (!(out.first.array() > 0.0).all() || !(out.second.array() > 0.0).all()) {
    list.refuse("first", "out of range");
  }
  if ((out.log_parameters.array().abs() > 30.0).any()) {
    list.refuse("log_lengthscales", "out of range");
  }
  out.sweeps = list.index("sweep", 0.0, static_cast<double>(plan.sweeps()));
  return out;
}

// Where the draws of all chains go.
class MultinomialRecord : public MoveRecord<MultinomialChain, MultinomialMove> {
 public:
  MultinomialRecord(const ChainRun<MultinomialChain>& run,
                    const MultinomialGibbsSettings& set,
                    std::vector<Index> reference)
      : MoveRecord(run),
        set_(set),
        reference_(std::move(reference)),
        names_(scalar_names()),
        scalars_(run.plan().draws, run.chains(), count_of(names_)) {
    const MultinomialChain& chain = run.chain(0);
    const Index draws = run.plan().draws;
    for (Index k = 0; k < run.chains(); ++k) {
      mean_.emplace_back(MatrixXd::Zero(chain.state.w.size(), draws));
      weights_.emplace_back(MatrixXd::Zero(chain.state.weights.size(), draws));
      theta_.emplace_back(
          MatrixXd::Zero(chain.log_lengthscales().size(), draws));
    }
  }

  void operator()(Index c, Index k) {
    MultinomialChain& chain = run_.chain(c);
    const MultinomialCheckpoint& at = keep(c);
    mean_[c].col(k) = VectorMap(at.w.data(), at.w.size());
    weights_[c].col(k) = at.weights;
    theta_[c].col(k) = at.log_parameters;
    double* out = scalars_.at(c, k);
    const auto put = [&](double value) {
      *out = value;
      out += scalars_.stride();
    };
    const auto put_all = [&](const VectorXd& values) {
      for (Index j = 0; j < values.size(); ++j) put(values[j]);
    };
    put(chain.log_likelihood());
    if (set_.weights != WeightPrior::fixed) put_all(at.weights);
    if (set_.weights == WeightPrior::dirichlet && !set_.held) {
      put_all(at.first);
    }
    if (set_.weights == WeightPrior::gamma && !set_.held) {
      put_all(at.first);
      put_all(at.second);
    }
    put_all(-std::log(2.0) - 2.0 * at.log_parameters.array());
    for (const Index i : reference_) {
      VectorXd f = at.w * chain.design().col(i);
      f.array() -= f.mean();
      put_all(f);
    }
  }

  Rcpp::NumericVector scalars() const { return scalars_.values(); }
  const std::vector<std::string>& names() const { return names_; }
  Rcpp::List kernels() const {
    Rcpp::List out(run_.chains());
    for (Index c = 0; c < run_.chains(); ++c) {
      out[c] = r_list(
          {{"mean", mean_[c]}, {"weights", weights_[c]}, {"theta", theta_[c]}});
    }
    return out;
  }

 private:
  std::vector<std::string> scalar_names() const {
    const MultinomialChain& chain = run_.chain(0);
    const Index s = chain.state.weights.size(), c = chain.state.w.rows();
    std::vector<std::string> out{"log_lik"};
    const auto numbered = [&](const char* name, Index count) {
      for (Index k = 1; k <= count; ++k) {
        out.push_back(std::string(name) + "[" + std::to_string(k) + "]");
      }
    };
    if (set_.weights != WeightPrior::fixed) numbered("weight", s);
    if (set_.weights == WeightPrior::dirichlet && !set_.held) {
      numbered("rho", s);
    }
    if (set_.weights == WeightPrior::gamma && !set_.held) {
      numbered("pi", s);
      numbered("chi", s);
    }
    numbered("log_theta", chain.log_lengthscales().size());
    for (const Index i : reference_) {
      for (Index k = 1; k <= c; ++k) {
        out.push_back("f[" + std::to_string(i + 1) + "," + std::to_string(k) +
                      "]");
      }
    }
    return out;
  }

  MultinomialGibbsSettings set_;
  std::vector<Index> reference_;
  std::vector<std::string> names_;
  DrawArray scalars_;
  std::vector<MatrixXd> mean_, weights_, theta_;
};
}  // namespace

// See read_source() for data$sources; y: classes from 1.
// [[Rcpp::export(rng = false)]]
Rcpp::List mkprobit_gibbs_cpp(const Rcpp::List& data,
                              const Rcpp::List& settings) {
  return guarded([&] {
    ChainRun<MultinomialChain> run(settings);
    const std::string combine = read<std::string>(data, "combine");
    const int classes = read<int>(data, "classes");
    const Composite composite =
        read_composite(data["sources"], combine, read<bool>(data, "bias"));
    const std::vector<Index> t =
        read_classes(data["y"], composite.rows(), classes);
    const VectorXd weights = read_weights(settings, composite.size());
    const MultinomialGibbsSettings set = read_gibbs(settings, combine);
    std::vector<Index> reference;
    for (const int i : read<Rcpp::IntegerVector>(settings, "reference")) {
      if (i < 1 || i > composite.rows()) {
        throw ArgumentError("no such object to watch");
      }
      reference.push_back(i - 1);
    }
    const bool started = run.start(
        [&](std::uint64_t id) {
          return std::make_unique<MultinomialChain>(composite, t, classes,
                                                    weights, set, run.seed(),
                                                    id, run.plan().warmup);
        },
        [&](MultinomialChain& chain, R_xlen_t, SEXP from) {
          chain.restore(read_checkpoint(from, chain, run.plan()));
        },
        [](MultinomialChain&, std::uint64_t) {});
    if (!started) return run.interrupted();
    MultinomialRecord record(run, set, reference);
    run.run(record);
    return r_list({{"scalars", record.scalars()},
                   {"names", record.names()},
                   {"kernels", record.kernels()},
                   {"acceptance", record.acceptance()},
                   {"states", record.states(checkpoint_list)},
                   {"status", run.status()}});
  });
}
