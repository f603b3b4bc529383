// Expectation propagation for the linear model at given block precisions and
// noise: q(theta, u) from the messages of the rows (sites.hpp) until these
// agree with the tilted moments. Log-concave rows keep every kappa >= 0, so
// that each pass is a positive definite solve.
//
// Minka (2001); Rasmussen and Williams (2006), algorithm 3.5; the evidence is
// their eq. 3.65.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "ep/leave_one_out.hpp"
#include "ep/selection_sites.hpp"
#include "ep/settle.hpp"
#include "ep/site_pass.hpp"
#include "ep/sites.hpp"
#include "likelihood/family.hpp"
#include "linear/completions.hpp"
#include "linear/conditional_variance.hpp"
#include "linear/gaussian.hpp"
#include "linear/moments.hpp"
#include "linear/system.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
struct SiteMessages {
  VectorXd kappa, b;
};

// sum weight * from, in their order. False where a message would lose its sign,
// beside that of the first.
bool combine(const std::vector<const SiteMessages*>& from,
             const std::vector<double>& weight, SiteMessages& out);

// Messages of rows that others keep, with copies by number: one of the messages
// as they are, a combination as above (-1: there is none), a copy that takes
// their place or is not needed any more. `group_evidence`: what the rows of
// groups add up to at the q of the last pass (group_evidence.hpp).
struct RemoteMessages {
  Index rows = 0;
  std::function<int()> keep;
  std::function<int(const std::vector<int>&, const std::vector<double>&)>
      combine;
  std::function<void(int)> take, forget;
  std::function<VectorXd(bool axes)> group_evidence;
};

struct RemoteCopy {
  RemoteCopy(const RemoteMessages& where, int number)
      : where(where), number(number) {}
  RemoteCopy(const RemoteCopy&) = delete;
  RemoteCopy& operator=(const RemoteCopy&) = delete;
  ~RemoteCopy() { where.forget(number); }

  const RemoteMessages& where;
  const int number;
};

// Messages and their sums: from where a fit may go on, also as a combination
// of others, since all of it is linear in the messages.
struct EpState : SiteMessages {
  std::shared_ptr<const RemoteCopy> copy;  // instead of the messages
  Curvature curvature;
  ArrowVector shift;  // sum (b - kappa offset) (x, z)
};

// The messages alone; `out` may be one of the states.
bool combine_messages(const std::vector<const EpState*>& from,
                      const std::vector<double>& weight, EpState& out);
// The sums alone.
void add_sums(const EpState& from, double weight, EpState& to);

// Messages of rows that others keep, and what goes with them: taken over from
// there, and handed over.
struct SiteMirror {
  std::function<void(SiteRows&)> fetch;
  std::function<void(const SiteRows&)> push;
};

class EpFit {
 public:
  // `completions`: rows are completions of incomplete ones. `open`: their
  // residuals are multiples of variances. `columns`: those whose prior is not
  // Gaussian, with messages that are part of `prior`, theirs.
  EpFit(const RowSource& rows, const Prior& prior, Executor& executor,
        Family family, const Completions* completions = nullptr,
        bool row_moments = true, ConditionalVariance* open = nullptr,
        SelectionSites* columns = nullptr);
  EpFit(const EpFit&) = delete;
  EpFit& operator=(const EpFit&) = delete;

  SiteRows sites;
  // Of row_evidence.hpp. Numbers by row; neighbours of one number are one row
  // of the data. Empty: each row is its own.
  std::vector<Index> units;
  // Whether leave-one-out integrates the effects of groups anew.
  bool whole_groups = false;

  // Interrupts are asked for inside passes, too, and leave by PassInterrupted.
  void watch(KeepGoing keep_going);
  // Hands the passes to who keeps the rows, and their messages. Without
  // `messages` there are no states.
  void delegate(RemoteSites remote,
                std::optional<RemoteMessages> messages = std::nullopt);
  // The same with a copy of the messages here, which follows each run, and
  // which a run begins with where it was changed.
  void delegate(RemoteSites remote, SiteMirror mirror);
  // Null: they are here.
  const RemoteMessages* remote_messages() const {
    return messages_ ? &*messages_ : nullptr;
  }
  const Completions* completions() const { return responsibilities_.units(); }
  // What the user is told: units done of a total.
  void progress(double done, double total) { progress_ = {done, total, "ep"}; }

  // Block precisions as Prior::start() has them; the noise of gaussian rows.
  void set(std::vector<MatrixXd> precision, double noise_variance);

  // From the messages at hand, or from the start. q is that of the last pass:
  // evidence, cavities and moments of rows belong to it, the messages are what
  // it makes of them.
  EpResult run(const EpSettings& settings);

  // q from the messages. Moves the mean by S times the gradient at it, which
  // does not cancel as h does.
  void solve();

  // One pass: the messages from the tilted moments at q, and log Z at q.
  void step(EpResult& result);

  // Messages to start from: of another prior, say, or of other columns. Not
  // where passes are run elsewhere.
  void start_from(const VectorXd& kappa, const VectorXd& b);

  EpState state() const;
  // In the memory of `out`.
  void save(EpState& out) const;
  void restore(EpState from) { take(from); }
  // `from` has other memory after it, and nothing of use in it.
  void take(EpState& from);

  // A draw from N(0, S) for `rhs` of zeros (system.hpp).
  template <class Normal>
  void sample_noise(const ArrowVector& rhs, Normal&& normal, ArrowVector& out) {
    system_.sample(rhs, normal, out);
  }

  // The approximate log p(y | precisions, noise), of the last pass; not a
  // bound.
  double log_z() const { return log_z_; }
  // What the responsibilities of completions add to it.
  double completion_part() const { return rule_.completions(); }
  // Sites stationary: d log Z / d log of the noise variance.
  double noise_slope() const {
    return 0.5 * (rule_.squares() / rule_.noise_variance - rule_.weight());
  }
  // sum w E(y - f)^2, sum w.
  double squares() const { return rule_.squares(); }
  double weight() const { return rule_.weight(); }

  const GaussianPosterior& posterior() const { return q_; }
  const ArrowSystem& system() const { return system_; }
  const std::vector<MatrixXd>& precisions() const { return precision_; }
  double noise_variance() const { return rule_.noise_variance; }
  const Prior& prior() const { return prior_; }
  const RowSource& rows() const { return rows_; }
  const ConditionalVariance* open() const { return open_; }
  Executor& executor() const { return executor_; }
  Family family() const { return family_; }
  bool residuals() const { return residuals_; }

  VectorXd leave_one_out() const {
    return bayeskernel::leave_one_out(rows_, rule_, sites);
  }
  LeftOutMoments left_out_moments() const {
    return bayeskernel::left_out_moments(rows_, sites);
  }

 private:
  // log|Lambda|.
  void read_prior();

  // The messages of gaussian rows are known.
  void scale_noise(double noise_variance);

  // By how much the new messages move the mean, in standard deviations: the
  // largest of theta, and the root mean square of all. Changes of many rows
  // that agree add up to more than that of any row.
  double mean_change();

  void ask() const;

  void start(EpResult& result);

  // (mu0'Lambda (mu - mu0) + log|S| + log|Lambda|) / 2.
  double prior_part() const;

  const RowSource& rows_;
  const Prior& prior_;
  Family family_;
  ConditionalVariance* open_;
  SelectionSites* columns_;
  Executor& executor_;
  Responsibilities responsibilities_;
  SitePass pass_;
  SiteRule& rule_;
  ArrowSystem system_;
  GaussianPosterior q_;
  Moments moments_;
  Sums sums_;
  ArrowVector gradient_, step_;
  std::vector<MatrixXd> precision_;
  double log_det_prior_ = 0.0;
  double log_z_ = 0.0;
  bool started_ = false;
  bool residuals_ = false;
  bool changed_ = false;  // the messages, beside passes
  SiteMirror mirror_;
  std::optional<RemoteMessages> messages_;
  KeepGoing keep_going_;
  Progress progress_{0.0, 0.0, "ep"};
};
}  // namespace bayeskernel
