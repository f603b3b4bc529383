#include "gp/tune.hpp"

#include "ep/fit.hpp"
#include "ep/leave_one_out.hpp"
#include "error.hpp"
#include "gp/exact_ep.hpp"
#include "likelihood/family.hpp"
#include "linear/gaussian.hpp"
#include "prior/blocks.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
TuneValue TuneProblem::evaluate(const TunePoint& at, bool locations,
                                const MeanFieldSettings& settings,
                                const KeepGoing& keep_going) {
  const Features features(at.kernel, at.z, at.nugget);
  PackedRows rows;
  keep_rows(features, rows);
  TuneValue out;
  for (std::size_t k = 0; k < positive_.size(); ++k) {
    if (k > 0) {
      base_.set_positive(positive_[k]);
      keep_labels(base_, rows);
    }
    MeanFieldResult result;
    add(exact_ ? exact_machine(k, features, rows, settings, keep_going, result)
               : machine(k, features, rows, locations, settings, keep_going,
                         result),
        out.gradient);
    out.passes += result.passes;
    out.bound += result.bound.back();
  }
  return out;
}

TuneStart TuneProblem::point_projections(const TunePoint& at,
                                         const MeanFieldSettings& settings,
                                         const KeepGoing& keep_going) {
  const Kernel round = at.kernel.without_projections();
  const Features features(round, at.z, at.nugget);
  PackedRows rows;
  keep_rows(features, rows);
  const auto upper = features.factor().transpose();
  const Index d = at.z.rows();
  MatrixXd outer = MatrixXd::Zero(d, d);
  double bound = 0.0;
  for (std::size_t k = 0; k < positive_.size(); ++k) {
    base_.set_positive(positive_[k]);
    keep_labels(base_, rows);
    VectorXd direction;
    const auto run = [&](auto& fit) {
      const MeanFieldResult result = fit.run(settings, keep_going);
      if (result.interrupted) throw PassInterrupted();
      bound += result.bound.back();
    };
    if (exact_) {
      ExactFit fit(features.gram(), features.nugget(), rows.y, rows.weight);
      run(fit);
      direction = whitened(features, fit).mean;
    } else {
      const Prior prior = unit_prior(features.columns());
      MeanFieldFit fit(rows, prior, executor_, nullptr, nullptr, false);
      run(fit);
      direction = fit.posterior().mean.x;
    }
    upper.triangularView<Eigen::Upper>().solveInPlace(direction);
    add_slope_products(round, at.z, direction, at.z, outer);
  }
  const VectorXd mean = at.z.rowwise().mean();
  const VectorXd scale = ((at.z.colwise() - mean).rowwise().squaredNorm() /
                          static_cast<double>(at.z.cols()))
                             .array()
                             .sqrt()
                             .max(1e-12);
  return {along_slopes(at.kernel, outer, scale), bound};
}

void TuneProblem::keep_rows(const Features& features, PackedRows& rows) {
  base_.set_positive(positive_[0]);
  if (exact_) {
    keep_labels(base_, rows);
  } else {
    keep_features(FeatureRows(base_, features, executor_), rows);
  }
}

void TuneProblem::start_from(Messages messages) {
  const Index n = base_.rows();
  const Index machines = count_of(positive_);
  for (const MatrixXd* m : {&messages.kappa, &messages.b}) {
    if (m->rows() != n || m->cols() != machines) {
      throw ArgumentError("messages of other rows");
    }
  }
  messages_ = std::move(messages);
}

LeftOut TuneProblem::leave_one_out(const TunePoint& at,
                                   const EpSettings& settings,
                                   const KeepGoing& keep_going) {
  const Features features(at.kernel, at.z, at.nugget);
  PackedRows rows;
  base_.set_positive(positive_[0]);
  if (exact_) {
    exact_rows(base_.rows(), at.nugget, rows);
  } else {
    keep_features(FeatureRows(base_, features, executor_), rows);
  }
  const Prior prior = unit_prior(features.columns());
  LeftOut out;
  out.log_p.resize(rows.rows(), positive_.size());
  out.mean = out.variance = out.all_mean = out.all_variance = out.log_p;
  const bool warm = messages_.kappa.size() > 0;
  Messages next{out.log_p, out.log_p};
  for (std::size_t k = 0; k < positive_.size(); ++k) {
    base_.set_positive(positive_[k]);
    keep_labels(base_, rows);
    const auto run = [&](auto& fit) {
      fit.watch(keep_going);
      if (warm) fit.start_from(messages_.kappa.col(k), messages_.b.col(k));
      const EpResult result = fit.run(settings);
      out.passes += result.passes;
      out.converged = out.converged && result.converged;
      next.kappa.col(k) = fit.sites.kappa;
      next.b.col(k) = fit.sites.b;
      out.log_p.col(k) = fit.leave_one_out();
      const LeftOutMoments left_out = fit.left_out_moments();
      out.mean.col(k) = left_out.mean;
      out.variance.col(k) = left_out.variance;
      out.all_mean.col(k) = fit.sites.mean;
      // What the residual adds is in both.
      out.all_variance.col(k) =
          fit.sites.variance + left_out.variance - fit.sites.cavity_variance;
    };
    if (exact_) {
      ExactEp fit(features.gram(), rows, Family::hinge);
      run(fit);
    } else {
      EpFit fit(rows, prior, executor_, Family::hinge);
      run(fit);
    }
  }
  messages_ = std::move(next);
  return out;
}

BoundGradient TuneProblem::machine(std::size_t k, const Features& features,
                                   const PackedRows& rows, bool locations,
                                   const MeanFieldSettings& settings,
                                   const KeepGoing& keep_going,
                                   MeanFieldResult& result) {
  const Prior prior = unit_prior(features.columns());
  MeanFieldFit fit(rows, prior, executor_, nullptr, nullptr, false);
  result = fit.run(settings, keep_going, warm_[k] ? &*warm_[k] : nullptr);
  if (result.interrupted) throw PassInterrupted();
  warm_[k] = fit.warm_start();
  return BoundGradientPass(base_, features, executor_)
      .run(fit.posterior().mean.x, fit.posterior().theta_covariance(),
           locations);
}

BoundGradient TuneProblem::exact_machine(std::size_t k,
                                         const Features& features,
                                         const PackedRows& rows,
                                         const MeanFieldSettings& settings,
                                         const KeepGoing& keep_going,
                                         MeanFieldResult& result) {
  ExactFit fit(features.gram(), features.nugget(), rows.y, rows.weight);
  result = fit.run(settings, keep_going,
                   exact_warm_[k] ? &*exact_warm_[k] : nullptr);
  if (result.interrupted) throw PassInterrupted();
  exact_warm_[k] = fit.warm_start();
  const WhitenedPosterior q = whitened(features, fit);
  return exact_bound_gradient(features, q.mean,
                              q.whitener.transpose() * q.whitener,
                              fit.nugget_slope());
}

void TuneProblem::add(const BoundGradient& part, BoundGradient& total) {
  if (total.kernel.size() == 0) {
    total = part;
    return;
  }
  total.kernel += part.kernel;
  total.nugget += part.nugget;
  total.locations += part.locations;
}
}  // namespace bayeskernel
