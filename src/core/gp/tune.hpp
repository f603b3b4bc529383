// The bound as a function of the kernel's parameters, with q at its optimum:
// what type-II maximum likelihood climbs; and the cavities of expectation
// propagation, which predict each row without it. Each evaluation starts from
// the whitened q, or the messages, of the one before, which stay close when the
// kernel moves.
//
// Wenzel et al. (2017), section 4.3 and eq. 12.
#pragma once

#include "eigen.hpp"
#include "ep/settle.hpp"
#include "gp/bound_gradient.hpp"
#include "gp/exact.hpp"
#include "gp/features.hpp"
#include "kernel/tree.hpp"
#include "linear/mean_field.hpp"
#include "optim/ascent.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "rows/rows.hpp"
#include "rows/streamed_rows.hpp"

namespace bayeskernel {
struct TunePoint {
  Kernel kernel;
  double nugget = 0.0;
  MatrixXd z;  // d x m
};

struct TuneStart {
  Kernel kernel;
  double bound = 0.0;
};

struct TuneValue {
  double bound = 0.0;
  BoundGradient gradient;
  int passes = 0;
};

// log p(y_i | other rows), y = +1 or -1 of each machine, the moments of f given
// these, and those given all rows: rows x machines.
struct LeftOut {
  MatrixXd log_p, mean, variance, all_mean, all_variance;
  int passes = 0;
  bool converged = true;
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
                     const KeepGoing& keep_going);

  // The kernel with its projections along the slopes of a fit with one
  // length-scale in the place of each (along_slopes()), and the bound of that
  // fit.
  TuneStart point_projections(const TunePoint& at,
                              const MeanFieldSettings& settings,
                              const KeepGoing& keep_going);

  // What leave_one_out() starts from: the messages of its last call, rows x
  // machines, empty before it; or others.
  struct Messages {
    MatrixXd kappa, b;
  };
  const Messages& messages() const { return messages_; }
  void start_from(Messages messages);

  LeftOut leave_one_out(const TunePoint& at, const EpSettings& settings,
                        const KeepGoing& keep_going);

 private:
  // Of the first machine.
  void keep_rows(const Features& features, PackedRows& rows);

  BoundGradient machine(std::size_t k, const Features& features,
                        const PackedRows& rows, bool locations,
                        const MeanFieldSettings& settings,
                        const KeepGoing& keep_going, MeanFieldResult& result);

  BoundGradient exact_machine(std::size_t k, const Features& features,
                              const PackedRows& rows,
                              const MeanFieldSettings& settings,
                              const KeepGoing& keep_going,
                              MeanFieldResult& result);

  static void add(const BoundGradient& part, BoundGradient& total);

  StreamedRows& base_;
  std::vector<int> positive_;
  bool exact_;
  Executor& executor_;
  std::vector<std::optional<MeanFieldStart>> warm_;
  std::vector<std::optional<ExactStart>> exact_warm_;
  Messages messages_;
};
}  // namespace bayeskernel
