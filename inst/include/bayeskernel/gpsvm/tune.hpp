// The bound as a function of the kernel's parameters, with q at its optimum:
// what type-II maximum likelihood climbs. Each evaluation
// starts from the whitened q of the one before, which stays close when the
// kernel moves.
#ifndef BAYESKERNEL_GPSVM_TUNE_HPP
#define BAYESKERNEL_GPSVM_TUNE_HPP

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "../data/streamed_rows.hpp"
#include "../hinge/mean_field.hpp"
#include "bound_gradient.hpp"
#include "exact.hpp"
#include "features.hpp"

namespace bayeskernel {

struct TunePoint {
  Kernel kernel;
  double nugget = 0.0;
  MatrixXd z;  // d x m
};

struct TuneValue {
  double bound = 0.0;
  BoundGradient gradient;
  int passes = 0;
};

class TuneProblem {
 public:
  // One machine for each code of `positive`; the bounds are added. `exact`:
  // every row is an inducing point.
  TuneProblem(StreamedRows& base, std::vector<int> positive, bool exact,
              Executor& executor)
      : base_(base),
        positive_(std::move(positive)),
        exact_(exact),
        executor_(executor),
        warm_(positive_.size()),
        exact_warm_(positive_.size()) {}

  TuneValue evaluate(const TunePoint& at, bool locations,
                     const MeanFieldSettings& settings,
                     const KeepGoing& keep_going) {
    const Features features(at.kernel, at.z, at.nugget);
    PackedRows rows;
    base_.set_positive(positive_[0]);
    if (exact_) {
      keep_labels(base_, rows);
    } else {
      keep_features(FeatureRows(base_, features, executor_), rows);
    }
    TuneValue out;
    for (std::size_t k = 0; k < positive_.size(); ++k) {
      if (k > 0) {
        base_.set_positive(positive_[k]);
        keep_labels(base_, rows);
      }
      MeanFieldResult result;
      add(exact_
              ? exact_machine(k, features, rows, settings, keep_going, result)
              : machine(k, features, rows, locations, settings, keep_going,
                        result),
          out.gradient);
      out.passes += result.passes;
      out.bound += result.bound.back();
    }
    return out;
  }

 private:
  BoundGradient machine(std::size_t k, const Features& features,
                        const PackedRows& rows, bool locations,
                        const MeanFieldSettings& settings,
                        const KeepGoing& keep_going, MeanFieldResult& result) {
    const Prior prior = unit_prior(features.columns());
    MeanFieldFit fit(rows, prior, executor_, nullptr, nullptr, false);
    result = fit.run(settings, keep_going, warm_[k] ? &*warm_[k] : nullptr);
    if (result.interrupted) throw PassInterrupted();
    warm_[k] = fit.warm_start();
    return BoundGradientPass(base_, features, executor_)
        .run(fit.posterior().mean.x, fit.posterior().theta_covariance(),
             locations);
  }

  BoundGradient exact_machine(std::size_t k, const Features& features,
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
                                fit.next_kappa());
  }

  static void add(const BoundGradient& part, BoundGradient& total) {
    if (total.kernel.size() == 0) {
      total = part;
      return;
    }
    total.kernel += part.kernel;
    total.nugget += part.nugget;
    total.locations += part.locations;
  }

  StreamedRows& base_;
  std::vector<int> positive_;
  bool exact_;
  Executor& executor_;
  std::vector<std::optional<MeanFieldStart>> warm_;
  std::vector<std::optional<ExactStart>> exact_warm_;
};

}  // namespace bayeskernel

#endif
