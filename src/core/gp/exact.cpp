#include "gp/exact.hpp"

#include "likelihood/rules.hpp"

namespace bayeskernel {
bool WeightedKernel::factor(const MatrixXd& k, const VectorXd& weight,
                            double nugget) {
  const Index n = k.rows();
  root = weight.cwiseSqrt();
  b.resize(n, n);
  for (Index j = 0; j < n; ++j) {
    const Index below = n - j;
    b.col(j).tail(below) =
        (k.col(j).tail(below).array() * root.tail(below).array()) * root[j];
  }
  b.diagonal().array() += 1.0 + nugget * weight.array();
  return factor_lower(b);
}

double WeightedKernel::log_det() const {
  return 2.0 * b.diagonal().array().log().sum();
}

double WeightedKernel::unseen(const MatrixXd& k, const MatrixXd& inverse,
                              Index i) const {
  const VectorXd column = root.cwiseProduct(k.col(i));
  return std::max(
      k(i, i) - (inverse.triangularView<Eigen::Lower>() * column).squaredNorm(),
      0.0);
}

VectorXd seen_through(const VectorXd& kappa, double nugget) {
  return kappa.array() / (1.0 + nugget * kappa.array());
}

RowInfluence exact_response(const MatrixXd& k, double nugget, const VectorXd& y,
                            const VectorXd& weight, const VectorXd& mean,
                            const VectorXd& variance) {
  const Index n = k.rows();
  RowInfluence out(n);
  VectorXd all = variance, kappa = VectorXd::Zero(n);  // of f
  WeightedKernel scaled;
  for (int pass = 0; pass < LinearResponse::kPasses; ++pass) {
    double change = 0.0;
    for (Index i = 0; i < n; ++i) {
      const RowTerms row = row_response(y[i], weight[i], mean[i], all[i]);
      change = std::max(change, std::abs(row.kappa - kappa[i]) * all[i]);
      kappa[i] = row.kappa;
      out.gradient[i] = row.gradient;
    }
    if (pass > 0 && change < LinearResponse::kTolerance) break;
    out.kappa = seen_through(kappa, nugget);
    if (!scaled.factor(k, out.kappa)) {
      throw NumericError("a precision matrix is not positive definite");
    }
    const MatrixXd inverse = invert_lower(scaled.b);
    for (Index i = 0; i < n; ++i) {
      out.variance[i] =
          out.kappa[i] * k(i, i) > 1e-4
              ? (1.0 - inverse.col(i).tail(n - i).squaredNorm()) / out.kappa[i]
              : scaled.unseen(k, inverse, i);
      const double open = 1.0 + nugget * kappa[i];
      all[i] = nugget / open + out.variance[i] / (open * open);
    }
  }
  out.mean = mean - nugget * out.gradient;
  return out;
}

MeanFieldResult ExactFit::run(const MeanFieldSettings& settings,
                              const KeepGoing& keep_going,
                              const ExactStart* warm) {
  MeanFieldResult result;
  warm_ = warm;
  start(result);
  ascend(*this, AscentSchedule(), settings, keep_going, result);
  const double* from = accepted_state_.data();
  alpha_ = VectorMap(from + n_, n_);
  kappa_ = VectorMap(from + 2 * n_, n_);
  return result;
}

VectorXd ExactFit::mean() const { return accepted_state_.head(n_); }

double ExactFit::nugget_slope() const {
  const auto kappa = kappa_.array();
  return 0.5 * (alpha_.array().square() -
                kappa * (1.0 - kappa * variance().array()))
                   .sum();
}

Index ExactFit::pack(VectorXd& accepted, VectorXd& proposal) {
  accepted = accepted_state_;
  proposal = state_;
  return n_;
}

void ExactFit::place(const VectorXd& alpha, const VectorXd& kappa,
                     VectorXd& to) const {
  to.resize(3 * n_);
  to.head(n_) = k_ * alpha + nugget_ * alpha;
  to.segment(n_, n_) = alpha;
  to.tail(n_) = kappa;
}

void ExactFit::start(MeanFieldResult& result) {
  if (warm_ != nullptr) {
    place(warm_->alpha, warm_->kappa, state_);
    accepted_state_ = state_;
    return;
  }
  accepted_.kappa = weight_;
  accepted_.gradient = 2.0 * weight_.cwiseProduct(y_);
  accepted_.newton = VectorXd::Zero(n_);
  accepted_.variance = VectorXd::Zero(n_);
  place(VectorXd::Zero(n_), weight_, accepted_state_);
  propose(1.0);
  ++result.passes;
}

bool ExactFit::restart(MeanFieldResult& result) {
  if (warm_ == nullptr) return false;
  warm_ = nullptr;
  start(result);
  return true;
}

bool ExactFit::evaluate(const Step&) {
  trial_bound_ = -std::numeric_limits<double>::infinity();
  const auto mean = state_.head(n_);
  const auto kappa = state_.tail(n_);
  if (!(kappa.minCoeff() >= 0.0) || !scaled_.factor(k_, kappa, nugget_)) {
    return false;
  }
  const double log_det = scaled_.log_det();
  const MatrixXd inverse = invert_lower(scaled_.b);
  const VectorXd diagonal = inverse.colwise().squaredNorm().transpose();
  for (VectorXd* v :
       {&trial_.kappa, &trial_.gradient, &trial_.newton, &trial_.variance}) {
    v->resize(n_);
  }
  double bound = -0.5 * (diagonal.sum() + mean.dot(state_.segment(n_, n_)) -
                         static_cast<double>(n_) + log_det);
  for (Index i = 0; i < n_; ++i) {
    const double s =
        kappa[i] > 0.0 ? std::max(1.0 - diagonal[i], 0.0) / kappa[i]
                       : nugget_ + scaled_.unseen(k_, inverse, i);
    const RowTerms row = mean_field(y_[i], weight_[i], mean[i], s);
    trial_.variance[i] = s;
    trial_.kappa[i] = row.kappa;
    trial_.gradient[i] = row.gradient;
    trial_.newton[i] = row.newton;
    bound += row.bound;
  }
  trial_bound_ = bound;
  return std::isfinite(bound);
}

bool ExactFit::accept() {
  std::swap(accepted_, trial_);
  accepted_state_ = state_;
  return false;
}

double ExactFit::propose(double damping) {
  const VectorXd alpha = accepted_state_.segment(n_, n_);
  const VectorXd gradient = accepted_.gradient - alpha;
  const VectorXd weight =
      damping * accepted_.kappa + (1.0 - damping) * accepted_.newton;
  if (!scaled_.factor(k_, weight, nugget_)) {
    throw NumericError("a precision matrix is not positive definite");
  }
  VectorXd step =
      scaled_.root.cwiseProduct(k_ * gradient + nugget_ * gradient);
  const MatrixXd& b = scaled_.b;
  b.triangularView<Eigen::Lower>().solveInPlace(step);
  b.triangularView<Eigen::Lower>().transpose().solveInPlace(step);
  step = gradient - scaled_.root.cwiseProduct(step);
  place(alpha + step, accepted_.kappa, state_);
  return 0.5 * gradient.dot(state_.head(n_) - accepted_state_.head(n_));
}
}  // namespace bayeskernel
