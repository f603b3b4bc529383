// The multinomial probit model on a design by variational Bayes (Damoulas and
// Girolami 2009, section 3): q(Y) q(W) q(alpha), with
//   y_cn ~ N(w_c k_n, 1), t_n = argmax_c y_cn, w_cm ~ N(0, 1 / alpha_cm),
//   alpha_cm ~ Gamma(tau, rate nu), of each class, shared, or fixed.
// Against the print: the scales see E w^2, not the square of the mean (eq. 11),
// and the bound has the prior and the entropy of alpha, without which it is
// not monotone (appendix E is conditional on them).
#pragma once

#include "eigen.hpp"
#include "multinomial/conic.hpp"
#include "multinomial/design.hpp"
#include "multinomial/regression.hpp"
#include "optim/anderson.hpp"
#include "optim/ascent.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"

namespace bayeskernel {
enum class LatentScales { by_class, shared, fixed };

struct MultinomialSettings {
  LatentScales scales = LatentScales::by_class;
  double alpha0 = 1.0, tau = 1.0, nu = 1.0;
  bool sparse = false;        // regressors with large E alpha leave
  bool point_moment = false;  // w^2 in place of E w^2, as printed
  Index nodes = 0;
  double tolerance = 1e-3;  // of the bound, relative
  double weight_tolerance = std::numeric_limits<double>::infinity();  // of W
  int max_passes = 100;
  bool accelerate = true;
  VectorXd power;  // of the likelihood of each object; empty: 1
};

struct MultinomialResult : MeanFieldResult {
  bool by_qr = false;        // a factor needed the QR decomposition
  bool lost_digits = false;  // stopped: the bound fell, numerically
  Index active = 0;          // regressors of all classes that are left
};

// What an iteration begins with: alpha and E Y. Of a fit, where the next one
// may start.
struct MultinomialStart {
  MatrixXd alpha;  // C x M, or 1 x M
  MatrixXd y;      // C x N
};

class MultinomialFit {
 public:
  // `classes` of the objects: 0 .. C - 1.
  MultinomialFit(const std::vector<Index>& classes, Index n_classes,
                 const MultinomialSettings& settings, Executor& executor)
      : t_(classes), c_(n_classes), set_(settings), executor_(executor) {}

  // Iterates on a design from its first state (alpha0; Y from means 0), or
  // from another. `beyond`: where the weights of the kernels are not known,
  // E K K' less the design's; it outlives the fit.
  MultinomialResult run(const Design& design, const KeepGoing& keep_going,
                        const MultinomialStart* start = nullptr,
                        const MatrixXd* beyond = nullptr);

  // Other settings of the iteration from now on.
  void change(const MultinomialSettings& settings) { set_ = settings; }
  const MultinomialSettings& settings() const { return set_; }
  const std::vector<Index>& labels() const { return t_; }

  // q(w_c) = N(mean, V_c), whose factors follow from gram() and used_alpha().
  const MatrixXd& mean() const { return mean_; }          // C x M
  const MatrixXd& variance() const { return variance_; }  // C x M
  const MatrixXd& alpha() const { return alpha_; }        // E alpha
  const MatrixXd& used_alpha() const { return used_; }    // that V has
  const MatrixXd& y() const { return accepted_y_; }       // E Y, C x N
  const MatrixXd& gram() const { return gram_; }
  double bound() const { return bound_; }
  MultinomialStart state() const { return {alpha_, accepted_y_}; }
  const std::vector<Index>& active(Index c) const {
    return active_[shared() ? 0 : c];
  }
  bool shared() const { return set_.scales != LatentScales::by_class; }

  // The factor of V_c (of all classes when shared) at the state that stands.
  RegressionFactor factor(Index c) const;
  Index factors() const { return shared() ? 1 : c_; }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // What q(W) and q(alpha) are made of.
  struct Inputs {
    MatrixXd s;      // E Y K'
    MatrixXd alpha;  // that V is made with
  };

  // Of a plain step, E Y K' belongs to a Y; the mean needs that Y after a QR.
  void begin(const MultinomialStart* start);

  // One round: q(W), q(alpha), q(Y), the bound.
  void iterate(const Inputs& input);

  // A plain step lowers the bound by rounding alone, unless digits are lost.
  void check_fall(double best, MultinomialResult& result) const;

  // The input that follows `input`; whether it is not the plain next_.
  bool extrapolate(int memory, std::optional<Anderson>& anderson,
                   Inputs& input);

  bool powers() const { return set_.power.size() > 0; }

  // What the QR decomposition takes apart, none where E K K' has more in it.
  const MatrixXd& tall_design() const {
    if (beyond_ != nullptr) return none_;
    return powers() ? tall_ : design_->matrix();
  }

  // E y_c that goes with that.
  VectorXd tall_response(Index c) const {
    VectorXd out = accepted_y_.row(c).transpose();
    if (powers()) out.array() *= set_.power.array().sqrt();
    return out;
  }

  // Where log Z is nearly flat, so that EM crawls: (G + A) W of half a step of
  // Newton's from `input`, whose gradient is next_.s - input.s, with the
  // curvature of each class at the mean when it was found. Half, since that of
  // all classes together is at most twice their own.
  bool find_curvature();
  void curved_step(const Inputs& input, Inputs& out);

  void regress(const Inputs& input);

  double fixed_terms();

  // q(alpha), and all terms of the bound with alpha in them.
  double scales();

  static double square(double x) { return x * x; }

  // q(Y) from the means W K (0 at first); s becomes E Y K'. The sum of log Z.
  double latent(MatrixXd& s);

  // E Y K' of the Y at hand, and what tile `t`, of columns k, has of it.
  void product(MatrixXd& s);
  MatrixXd pulled(Index t, const MatrixRef& k);

  // The state that was evaluated stands; true when regressors left it.
  bool accept();

  // Whether a regressor has w = 0 but for noise and a precision that has gone
  // where that of w = 0 goes: with 1 / V = alpha + s to the root of count s /
  // (2 nu), which for nu = 1e-6 is far below the 1e6 of the theory.
  bool irrelevant(Index r, Index k) const;

  Index active_count() const;

  // Scales in their logarithms.
  void pack(const Inputs& from, VectorXd& out) const;
  void unpack(const VectorXd& from, Inputs& out) const;

  struct Scratch {
    Design::Scratch design;
    std::optional<ConicRule> rule;
    MatrixXd mean;
  };

  std::vector<Index> t_;
  Index c_;
  MultinomialSettings set_;
  Executor& executor_;
  const Design* design_ = nullptr;
  const MatrixXd* beyond_ = nullptr;
  MatrixXd none_, tall_;
  MatrixXd gram_, mean_, variance_, alpha_, used_, y_, accepted_y_, proposed_s_;
  std::vector<std::vector<Index>> active_;
  Inputs next_;
  RegressionFactor common_;
  std::vector<RegressionFactor> curved_;
  bool fixed_ready_ = false, by_qr_ = false;
  double bound_ = 0.0, regression_terms_ = 0.0;
  ScratchPool<Scratch> pool_;
  ScratchPool<RegressionFactor> factors_;
};
}  // namespace bayeskernel
