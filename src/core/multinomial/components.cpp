#include "multinomial/components.hpp"

#include "error.hpp"
#include "gibbs/running_moments.hpp"
#include "multinomial/conic.hpp"
#include "rng/categorical.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
namespace {
std::vector<Index> finite_places(const MatrixXd& alpha, Index row) {
  std::vector<Index> out;
  for (Index k = 0; k < alpha.cols(); ++k) {
    if (std::isfinite(alpha(row, k))) out.push_back(k);
  }
  return out;
}
}  // namespace

KeptFit keep_fit(const MultinomialFit& fit, const VectorXd& weights,
                 bool by_qr) {
  KeptFit out{fit.mean(), fit.used_alpha(), {}, weights, {}};
  for (Index r = 0; r < out.alpha.rows(); ++r) {
    std::vector<char> active(out.alpha.cols(), 0);
    for (const Index k : fit.active(r)) active[k] = 1;
    for (Index k = 0; k < out.alpha.cols(); ++k) {
      if (!active[k]) out.alpha(r, k) = std::numeric_limits<double>::infinity();
    }
  }
  if (!by_qr) {
    out.gram = fit.gram();
    return out;
  }
  for (Index c = 0; c < fit.factors(); ++c) {
    out.whitener.push_back(fit.factor(c).u());
  }
  return out;
}

MultinomialPosterior posterior_of(const KeptFit& kept, Executor& executor) {
  const Index rows = kept.alpha.rows(), m = kept.mean.cols();
  std::vector<RegressionFactor> factors(rows);
  executor.run(rows, [&](Index r) {
    std::vector<Index> active = finite_places(kept.alpha, r);
    if (kept.whitener.empty()) {
      factors[r].compute(kept.gram, kept.alpha.row(r).transpose(), active,
                         MatrixXd());
    } else {
      factors[r].restore(kept.whitener[r], std::move(active), m);
    }
  });
  return MultinomialPosterior(kept.mean, std::move(factors));
}

FittedObjects fitted_objects(const MultinomialFit& fit, const Design& design) {
  const Index c = fit.mean().rows();
  FittedObjects out{fit.mean(), fit.variance(), fit.alpha(), fit.y(),
                    MatrixXd(design.rows(), c)};
  if (out.alpha.rows() < c) out.alpha = out.alpha.replicate(c, 1).eval();
  Design::Scratch scratch;
  for (Index t = 0; t < design.tiles(); ++t) {
    out.latent.middleRows(design.begin(t), design.columns(t)).noalias() =
        design.tile(t, scratch).transpose() * fit.mean().transpose();
  }
  return out;
}

ClassPredictions predict_components(
    const std::vector<MultinomialComponent>& components,
    const Composite& composite, Index nodes, Executor& executor) {
  const Index c = components.front().q.classes(), n = composite.rows();
  ClassPredictions out{MatrixXd::Zero(n, c), MatrixXd::Zero(n, c),
                       MatrixXd::Zero(n, c), MatrixXd(), MatrixXd()};
  for (const MultinomialComponent& part : components) {
    const Design design(composite, part.weights, executor, 0.0);
    std::vector<Design> beyond;
    for (Index k = 0; k < part.spread.cols(); ++k) {
      beyond.emplace_back(composite, part.spread.col(k), executor, 0.0, 0.0);
    }
    const MultinomialMoments at =
        predict_classes(part.q, design, nodes, executor, beyond);
    if (components.size() == 1) {
      out.mean = at.mean.transpose();
      out.variance = at.variance.transpose();
      out.log_probability = at.log_prob.transpose();
      out.probability = out.log_probability.array().exp();
      return out;
    }
    const double p = part.probability;
    out.mean += p * at.mean.transpose();
    out.variance += p * (at.variance + at.mean.cwiseAbs2()).transpose();
    out.probability += p * MatrixXd(at.log_prob.transpose().array().exp());
  }
  out.variance = (out.variance - out.mean.cwiseAbs2()).cwiseMax(0.0);
  out.log_probability = out.probability.array().log();
  return out;
}

LatentDraws draws_of_components(
    const std::vector<MultinomialComponent>& components,
    const Composite& composite, std::uint64_t seed) {
  struct Shared {
    std::vector<MatrixXd> k;
    Composite::Scratch scratch;
  };
  const auto shared = std::make_shared<Shared>();
  const Index n = composite.rows();
  for (const MultinomialComponent& part : components) {
    shared->k.emplace_back(composite.regressors(), n);
    composite.block(part.weights, 0, n, shared->scratch,
                    shared->k.back().data());
  }
  return [&components, &composite, seed, n, shared](Index d, MatrixXd& f) {
    Stream stream(seed, 0, Purpose::predict, static_cast<std::uint64_t>(d), 0);
    const Index at =
        categorical(stream.uniform(), count_of(components),
                    [&](Index k) { return components[k].probability; });
    const MultinomialComponent& part = components[at];
    const Index many = part.draws.cols();
    if (many > 0) {
      composite.block(part.draws.col(uniform_index(stream, many)), 0, n,
                      shared->scratch, shared->k[at].data());
    }
    f.noalias() = part.q.draw(stream) * shared->k[at];
  };
}

SampledLatent::SampledLatent(Composite& composite, Index classes,
                             Index lengthscales, std::vector<SampledDraw> draws)
    : composite_(composite),
      classes_(classes),
      lengthscales_(lengthscales),
      draws_(std::move(draws)) {
  Index places = 0;
  for (Index k = 0; k < composite.size(); ++k) {
    places += static_cast<Index>(composite.source(k).lengthscales().size());
  }
  if (lengthscales != 0 && lengthscales != places) {
    throw ArgumentError("the draws of the fit are damaged");
  }
}

void SampledLatent::operator()(Index d, MatrixXd& f) {
  const Index n = composite_.rows(), m = composite_.regressors();
  const VectorXd weights = VectorMap(draws_[d].weights, composite_.size());
  if (lengthscales_ > 0) set_lengthscales(draws_[d].theta);
  if (lengthscales_ > 0 || d == 0 || weights != last_) {
    k_.resize(m, n);
    composite_.block(weights, 0, n, scratch_, k_.data());
    last_ = weights;
  }
  f.noalias() = MatrixMap(draws_[d].mean, classes_, m) * k_;
}

void SampledLatent::set_lengthscales(const double* theta) {
  for (Index k = 0; k < composite_.size(); ++k) {
    Source& source = composite_.source(k);
    const std::vector<Index> places = source.lengthscales();
    if (places.empty()) continue;
    VectorXd all = source.log_parameters();
    for (const Index at : places) all[at] = *theta++;
    source.set_log_parameters(all);
  }
}

void class_probabilities(const MatrixXd& f, Index nodes, Executor& executor,
                         MatrixXd& out) {
  constexpr Index kBlock = 64;
  out.resize(f.rows(), f.cols());
  executor.run((f.cols() + kBlock - 1) / kBlock, [&](Index block) {
    ConicRule rule(f.rows(), nodes);
    const Index end = std::min(f.cols(), (block + 1) * kBlock);
    for (Index i = block * kBlock; i < end; ++i) {
      class_log_probabilities(rule, f.col(i).data(), out.col(i).data());
    }
  });
}

ClassPredictions average_draws(SampledLatent& draws, Index nodes,
                               Executor& executor,
                               const std::function<void()>& look) {
  RunningMoments latent, prob;
  MatrixXd f, log_prob;
  for (Index d = 0; d < draws.count(); ++d) {
    look();
    draws(d, f);
    class_probabilities(f, nodes, executor, log_prob);
    if (d == 0) latent = prob = RunningMoments(f.size());
    latent.add(Eigen::Map<const ArrayXd>(f.data(), f.size()));
    prob.add(Eigen::Map<const ArrayXd>(log_prob.data(), f.size()).exp());
  }
  const auto objects = [&](const ArrayXd& values) {
    return MatrixXd(MatrixMap(values.data(), f.rows(), f.cols()).transpose());
  };
  ClassPredictions out{objects(latent.mean), objects(latent.variance()),
                       objects(prob.mean), MatrixXd(),
                       objects(prob.variance().sqrt())};
  out.log_probability = out.probability.array().log();
  return out;
}
}  // namespace bayeskernel
