// The multinomial probit model on composite designs by Gibbs sampling (Damoulas
// and Girolami 2009, appendix A). One sweep: the latent vectors, exactly; the
// length-scales and weights of the kernels with W integrated out,
//   y_c ~ N(0, I + K' A_c^-1 K)   (printed with A_c in place of its inverse),
// followed at once by W; the scales. Random walks are on logarithms and have
// the Jacobians that the print leaves out.
#pragma once

#include "eigen.hpp"
#include "mcmc/metropolis.hpp"
#include "multinomial/conic.hpp"
#include "multinomial/mean_field.hpp"
#include "multinomial/sources.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
// How weights of a composite are distributed.
enum class WeightPrior { fixed, dirichlet, gamma, bernoulli };

struct MultinomialGibbsSettings {
  LatentScales scales = LatentScales::by_class;
  double alpha0 = 1.0, tau = 1.0, nu = 1.0;
  WeightPrior weights = WeightPrior::fixed;
  bool lengthscales = false;
  bool collapsed = true;
  // dirichlet: rho_s ~ Gamma(first, second); gamma: beta_s ~ Gamma(pi_s,
  // chi_s), pi_s ~ Exp(first), chi_s ~ Exp(second); bernoulli: probability.
  double first = 1.0, second = 1.0;
  // rho_s = first, or pi_s = first and chi_s = second, in place of their
  // priors.
  bool held = false;
  double theta_shape = 1.0, theta_rate = 1.0;
};

enum class MultinomialMove { weight, refresh, flip, lengthscale, hyper, count };

const char* name_of(MultinomialMove move);

// Enough to go on from.
struct MultinomialCheckpoint {
  MatrixXd y, w, alpha;
  VectorXd weights, first, second;  // rho, or pi and chi
  VectorXd log_parameters, log_steps;
  Index sweeps = 0;
};

class MultinomialChain {
 public:
  using Settings = MultinomialGibbsSettings;

  // `composite` is a copy: chains have kernels of their own.
  MultinomialChain(Composite composite, std::vector<Index> classes,
                   Index n_classes, const VectorXd& weights,
                   const Settings& settings, std::uint64_t seed,
                   std::uint64_t chain, Index warmup);

  void sweep();
  Index sweeps() const { return sweeps_; }
  const ArrayXXd& acceptance() const { return moves.counts(); }

  MatrixXd latent() const { return state.w * now_.k; }
  const MatrixXd& design() const { return now_.k; }
  const Composite& composite() const { return composite_; }

  // Logarithms of the length-scales that are sampled.
  VectorXd log_lengthscales() const;

  // sum log P(t_n | W).
  double log_likelihood();

  MultinomialCheckpoint checkpoint() const;

  void restore(const MultinomialCheckpoint& from);

  // Kernels and design of other length-scales (a state that is set by hand).
  void set_log_lengthscales(const VectorXd& values);
  void rebuild();

  bool shared() const { return set_.scales != LatentScales::by_class; }

  std::vector<Index> t;
  MultinomialCheckpoint state;
  AcceptanceTable<MultinomialMove> moves;

 private:
  struct Place {
    Index source, parameter;
  };

  // A design with what follows from it, given the scales and Y.
  struct Kernels {
    MatrixXd k, gram;
    std::vector<MatrixXd> factor;  // lower, of I + D G D; one if shared
    MatrixXd whitened;             // L^-1 D K y_c', by class
    double log_det = 0.0;
    double log_density = 0.0;  // log p(Y | K, A)
    bool factored = false;     // for scales that are fixed
  };

  Stream stream(Purpose purpose, Index block) const;

  double log_lengthscale(const Place& at) const {
    return composite_.source(at.source).log_parameters()[at.parameter];
  }
  void set_log_lengthscale(const Place& at, double value);

  void build(const VectorXd& weights, Kernels& out);

  // log|Omega_c| = log|I + D G D|, y Omega^-1 y = |y|^2 - |L^-1 D K y'|^2.
  void factor(Kernels& at);

  // I + D G D, lower triangle.
  void scaled_gram(const MatrixXd& gram, MatrixXd& out) const;

  // What a kernel is worth: W integrated out, or given W.
  double worth(Kernels& at);
  double worth_now();

  void take_proposal();

  void draw_latent();

  void move_lengthscales();

  void move_weights();

  // Whether the kernels of `weights`, with this log ratio of the rest, are
  // taken.
  double proposal_ratio(const VectorXd& weights);

  // Along log(beta_s / beta_S); exponents rho_s: with the Jacobian.
  void walk_simplex(Stream& own, Index s);

  void walk_weight(Stream& own, Index s);

  // (pi, chi, beta) from their prior: out of the corridor pi, beta -> 0, where
  // the walk stalls.
  void refresh(Stream& own, Index s);

  void flip(Stream& own, Index s);

  void move_hyper();

  // w_c = D L'^-1 (L^-1 D K y_c' + z).
  void draw_regression();

  void draw_scales();

  Composite composite_;
  Index c_;
  Settings set_;
  std::uint64_t seed_, chain_;
  Index warmup_, sweeps_ = 0;
  ConicRule rule_;
  std::vector<Place> places_;
  std::vector<RandomWalkStep> weight_steps_, theta_steps_, hyper_steps_;
  Kernels now_, next_;
  bool latest_ = false;  // the factors of now_ are those of Y and the scales
  Composite::Scratch scratch_;
  MatrixXd mean_;
  VectorXd d_, own_w_;
};
}  // namespace bayeskernel
