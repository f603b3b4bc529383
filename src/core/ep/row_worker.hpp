// Rows that are part of more, which their owner passes over when somebody asks:
// whole shards, whose sums are the reply. It keeps the messages of its rows,
// and at the end says what there is of each.
#pragma once

#include <map>
#include <string>

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "ep/group_evidence.hpp"
#include "ep/influence.hpp"
#include "ep/site_pass.hpp"
#include "linear/minibatches.hpp"
#include "linear/noise.hpp"
#include "linear/pass.hpp"
#include "linear/row_rules.hpp"

namespace bayeskernel {
enum class RowStep {
  start,  // mean field without q
  mean_field,
  moments,  // of f at q
  cold,     // messages: without q, at q, from tilted moments
  warm,
  update,
  messages,  // of each row
  set_messages,
  left_out,
  leave_one_out,  // of left_out the log probabilities alone
  response,       // a pass of linear response
  influence,      // where these have led; they are over
  jackknife,
  minibatch,      // mean field of one
  keep_messages,  // copies by number, see RemoteMessages
  combine_messages,
  take_messages,
  group_evidence
};

struct RowRequest {
  RowStep step = RowStep::start;
  bool newton = false, kappa = false;  // second derivatives; weights by row
  double noise = 1.0;                  // of mean field E[1 / v], of messages v
  double damping = 1.0;
  std::vector<MatrixXd> precision;  // of blocks, for what these leave open
  // q, if there is one; of the worker's own groups where it has any.
  std::optional<VectorXd> mean;
  MatrixXd whitener, effects, loading, inverse, whitened_loading;
  VectorXd site_kappa, site_b;
  // A minibatch of a chunk of the worker's rows.
  BatchPlace batch;
  Index chunk = 0;
  StochasticSettings batches;
  // Copies of messages: of which, and the number of the new one.
  std::vector<int> copies, forget;
  std::vector<double> copy_weights;
  int to = 0;
  bool axes = false;  // of the evidence of groups
};

struct ShardReply {
  Sums sums;
  SiteRule::Total total;
};

struct RowReply {
  std::vector<ShardReply> shards;
  const Sums* groups = nullptr;  // of all its groups; null: nothing was summed
  double change = 0.0;           // of a response
  std::vector<std::pair<std::string, VectorXd>> rows;
};

// What of messages there is by row.
using SiteMember = VectorXd SiteRows::*;
const std::vector<std::pair<const char*, SiteMember>>& site_members();

class RowWorker {
 public:
  // `first`: of these rows among all. Without `row_moments` there is of each
  // row its message alone.
  RowWorker(const RowSource& rows, Executor& executor, const RowModel& model,
            Index first, bool row_moments = true);
  RowWorker(const RowWorker&) = delete;
  RowWorker& operator=(const RowWorker&) = delete;

  // `begin`: the chunks, from 0, that the shards begin with, then their number.
  RowReply run(const RowRequest& request, const std::vector<Index>& begin);

 private:
  struct Batches {
    Batches(const RowSource& rows, Executor& executor,
            const StochasticSettings& settings)
        : at(rows, settings), pass(at.rows(), executor) {}
    Minibatches at;
    Pass pass;
  };
  struct Response {
    explicit Response(const RowSource& rows)
        : influence(rows.rows()), rule(rows, influence) {}
    RowInfluence influence;
    ResponseRule rule;
  };

  void set_q(const RowRequest& request);
  void set_noise(double noise);
  void open_sites(bool anew);
  // Where nobody sets the messages: those of Gaussian rows under another noise.
  void scale_sites(double noise_variance);

  RowReply mean_field(const RowRequest& request,
                      const std::vector<Index>& begin);
  RowReply minibatch(const RowRequest& request);
  RowReply copies(const RowRequest& request);
  RowReply group_evidence(const RowRequest& request,
                          const std::vector<Index>& begin);
  RowReply moments(const RowRequest& request);
  RowReply sites(const RowRequest& request, const std::vector<Index>& begin);
  RowReply messages() const;
  RowReply left_out(bool moments) const;
  RowReply response(const std::vector<Index>& begin);
  RowReply influence();
  RowReply jackknife(const RowRequest& request,
                     const std::vector<Index>& begin);

  // run(first chunk, last + 1, reply) of each shard.
  template <class Run>
  RowReply shards(const std::vector<Index>& begin, Run&& run);

  const RowSource& rows_;
  Executor& executor_;
  const RowModel model_;
  Index first_;
  bool row_moments_;
  RowRules rules_;
  Responsibilities responsibilities_;
  Pass pass_;
  EliminatedGroups eliminated_;
  GaussianPosterior q_;
  Sums groups_;
  Moments at_;
  VectorXd responsibility_;
  SiteRows sites_;
  std::optional<SitePass> site_pass_;
  std::unique_ptr<Response> response_;
  std::unique_ptr<Batches> batches_;
  std::map<int, SiteMessages> copies_;
  std::unique_ptr<GroupEvidence> evidence_;
};
}  // namespace bayeskernel
