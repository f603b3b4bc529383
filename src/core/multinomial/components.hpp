// Fits as they are kept and predicted from: one, or several with their
// probabilities, each for weights of its own.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "multinomial/design.hpp"
#include "multinomial/mean_field.hpp"
#include "multinomial/predict.hpp"
#include "multinomial/sources.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {
// The factors of a fit follow from G and the scales, which are infinite where a
// regressor left, or are kept where G is too badly conditioned.
struct KeptFit {
  MatrixXd mean, alpha, gram;
  VectorXd weights;
  std::vector<MatrixXd> whitener;  // one for each row of alpha, or none
};
KeptFit keep_fit(const MultinomialFit& fit, const VectorXd& weights,
                 bool by_qr);
MultinomialPosterior posterior_of(const KeptFit& kept, Executor& executor);

// Of the objects of a fit; alpha has a row for each class.
struct FittedObjects {
  MatrixXd mean, variance, alpha, y, latent;
};
FittedObjects fitted_objects(const MultinomialFit& fit, const Design& design);

struct MultinomialComponent {
  VectorXd weights;
  double probability;
  MultinomialPosterior q;
  MatrixXd spread;  // of weights that are not known, and draws of them:
  MatrixXd draws;   // spaces x directions, spaces x draws
};

// Objects x classes; standard deviations where draws are averaged.
struct ClassPredictions {
  MatrixXd mean, variance, probability, log_probability, probability_sd;
};
ClassPredictions predict_components(
    const std::vector<MultinomialComponent>& components,
    const Composite& composite, Index nodes, Executor& executor);

// f, classes x objects, by draws; `latent` sets that of draw d.
using LatentDraws = std::function<void(Index d, MatrixXd& f)>;

// W is drawn for all objects at once, each time from a component. These and
// `composite` outlive it.
LatentDraws draws_of_components(
    const std::vector<MultinomialComponent>& components,
    const Composite& composite, std::uint64_t seed);

// Draws of a sampler: W (classes x regressors), weights and, where these have a
// law, log length-scales, which are set in a composite of its own.
struct SampledDraw {
  const double *mean, *weights, *theta;
};
class SampledLatent {
 public:
  SampledLatent(Composite& composite, Index classes, Index lengthscales,
                std::vector<SampledDraw> draws);

  Index count() const { return count_of(draws_); }
  Index classes() const { return classes_; }
  void operator()(Index d, MatrixXd& f);

 private:
  void set_lengthscales(const double* theta);

  Composite& composite_;
  Index classes_, lengthscales_;
  std::vector<SampledDraw> draws_;
  VectorXd last_;
  MatrixXd k_;
  Composite::Scratch scratch_;
};

// log P(class | f) of every object: classes x objects.
void class_probabilities(const MatrixXd& f, Index nodes, Executor& executor,
                         MatrixXd& out);

// look() is called before every draw.
ClassPredictions average_draws(SampledLatent& draws, Index nodes,
                               Executor& executor,
                               const std::function<void()>& look);
}  // namespace bayeskernel
