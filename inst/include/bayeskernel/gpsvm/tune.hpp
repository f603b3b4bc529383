// The bound as a function of the kernel's parameters, with q at its optimum:
// what type-II maximum likelihood climbs (gpsvm.md section 6). Each evaluation
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
#include "features.hpp"

namespace bayeskernel {

// theta ~ N(0, I) with m columns.
inline Prior unit_prior(Index m) {
  Prior out;
  out.precision = VectorXd::Ones(m);
  out.mean = VectorXd::Zero(m);
  return out;
}

// Labels and weights of the rows of `base`, for features that are kept.
inline void keep_labels(const RowSource& base, PackedRows& out) {
  out.y.resize(base.rows());
  out.weight.resize(base.rows());
  MatrixXd unused;
  for (Index c = 0; c < base.chunks(); ++c) {
    base.load(c, c + 1 < base.chunks() ? c + 1 : -1);
    const TileSpan span = base.chunk_span(c);
    const Tile tile = base.tile(span, unused);
    const Index n = span.row_end - span.row_begin;
    out.y.segment(span.row_begin, n) = tile.y;
    out.weight.segment(span.row_begin, n) = tile.weight;
  }
}

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
        warm_(positive_.size()) {}

  TuneValue evaluate(const TunePoint& at, bool locations,
                     const MeanFieldSettings& settings,
                     const KeepGoing& keep_going) {
    const Features features(at.kernel, at.z, at.nugget);
    const Prior prior = unit_prior(features.columns());
    PackedRows rows;
    if (exact_) {
      exact_features(features, rows);
    } else {
      keep_features(FeatureRows(base_, features, executor_), rows);
    }
    TuneValue out;
    for (std::size_t k = 0; k < positive_.size(); ++k) {
      if (positive_.size() > 1) base_.set_positive(positive_[k]);
      keep_labels(base_, rows);
      MeanFieldFit fit(rows, prior, executor_, exact_);
      const MeanFieldResult result =
          fit.run(settings, keep_going, warm_[k] ? &*warm_[k] : nullptr);
      if (result.interrupted) throw PassInterrupted();
      out.passes += result.passes;
      out.bound += result.bound.back();
      add(gradient(features, fit, rows, locations), out.gradient);
      warm_[k] = fit.state();
    }
    return out;
  }

 private:
  BoundGradient gradient(const Features& features, const MeanFieldFit& fit,
                         const PackedRows& rows, bool locations) {
    const VectorXd& a = fit.posterior().mean.x;
    const MatrixXd s = fit.posterior().theta_covariance();
    if (!exact_) {
      return BoundGradientPass(base_, features, executor_)
          .run(a, s, locations);
    }
    double kappa = 0.0;
    for (Index i = 0; i < rows.rows(); ++i) {
      kappa += mean_field(rows.y[i], rows.weight[i], fit.mean()[i],
                          fit.variance()[i])
                   .kappa;
    }
    return exact_bound_gradient(features, a, s, kappa);
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
};

}  // namespace bayeskernel

#endif
