// Posterior mode of f by expectation conditional maximisation: a_i = |1 - y_i
// f_i|, then f given a, for f_i = x_i'theta + e_i with theta ~ N(0, I) and e_i
// ~ N(0, r_i). The fixed point is the hinge-loss machine: 2 sum w (1 - y f)_+ +
// theta'theta / 2 + sum e^2 / (2 r). Sublinear near the margin: it stops when
// the objective does. Cost of a pass: n p^2.
#pragma once

#include "eigen.hpp"
#include "likelihood/rules.hpp"
#include "linear/pass.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
struct ModeSettings {
  double tolerance = 1e-8;  // relative change of the objective
  int max_passes = 2000;
};

struct ModeResult {
  VectorXd theta, f;
  MatrixXd whitener;  // U with U'U = (I + X' diag(kappa) X)^-1 at the last a
  std::vector<double> objective;
  bool converged = false;
  bool interrupted = false;
};

// f is known; y (1 + a / w) is an observation of it with variance a / w^2.
class ModeRule final : public Rule {
 public:
  explicit ModeRule(const VectorXd& f) : f_(f) {}

  double tile(const TileSpan& span, const Tile& tile, const double*,
              const double*, RowNumbers out) const override;

 private:
  const VectorXd& f_;
};

class ModeFit {
 public:
  // Rows in memory, without groups.
  ModeFit(const PackedRows& rows, Executor& executor)
      : rows_(rows),
        pass_(rows, executor),
        sums_(rows.x_columns(), 0, 0),
        kappa_(rows.rows()),
        linear_(rows.rows()) {}

  ModeResult run(const ModeSettings& settings, const KeepGoing& keep_going);

 private:
  double residual(Index i) const {
    return rows_.residual.size() > 0 ? rows_.residual[i] : 0.0;
  }

  void step(ModeResult& out);

  double objective(const ModeResult& at) const;

  const PackedRows& rows_;
  Pass pass_;
  Sums sums_;
  VectorXd kappa_, linear_;
  Eigen::LLT<MatrixXd> llt_;
};
}  // namespace bayeskernel
