#include "ep/row_worker.hpp"

#include "error.hpp"

namespace bayeskernel {
const std::vector<std::pair<const char*, SiteMember>>& site_members() {
  static const std::vector<std::pair<const char*, SiteMember>> out = {
      {"kappa", &SiteRows::kappa},
      {"b", &SiteRows::b},
      {"mean", &SiteRows::mean},
      {"variance", &SiteRows::variance},
      {"cavity_mean", &SiteRows::cavity_mean},
      {"cavity_variance", &SiteRows::cavity_variance},
      {"log_z", &SiteRows::log_z},
      {"residual_slope", &SiteRows::residual_slope},
      {"share", &SiteRows::responsibility}};
  return out;
}

RowWorker::RowWorker(const RowSource& rows, Executor& executor,
                     const RowModel& model, Index first, bool row_moments)
    : rows_(rows),
      executor_(executor),
      model_(model),
      first_(first),
      row_moments_(row_moments),
      rules_(model),
      responsibilities_(model.family, model.completions),
      pass_(rows, executor),
      eliminated_(rows.x_columns(), rows.z_columns(), rows.groups()),
      q_(rows.x_columns(), rows.z_columns(), rows.groups()),
      groups_(rows.x_columns(), rows.z_columns(), rows.groups()) {
  at_.q = &q_;
}

RowReply RowWorker::run(const RowRequest& request,
                        const std::vector<Index>& begin) {
  set_q(request);
  switch (request.step) {
    case RowStep::start:
    case RowStep::mean_field:
      return mean_field(request, begin);
    case RowStep::moments:
      return moments(request);
    case RowStep::cold:
    case RowStep::warm:
    case RowStep::update:
      return sites(request, begin);
    case RowStep::messages:
      return messages();
    case RowStep::set_messages:
      open_sites(false);
      sites_.kappa = request.site_kappa;
      sites_.b = request.site_b;
      return RowReply();
    case RowStep::left_out:
    case RowStep::leave_one_out:
      return left_out(request.step == RowStep::left_out);
    case RowStep::response:
      return response(begin);
    case RowStep::influence:
      return influence();
    case RowStep::jackknife:
      return jackknife(request, begin);
    case RowStep::minibatch:
      return minibatch(request);
    case RowStep::keep_messages:
    case RowStep::combine_messages:
    case RowStep::take_messages:
      return copies(request);
    case RowStep::group_evidence:
      return group_evidence(request, begin);
  }
  return RowReply();
}

void RowWorker::set_q(const RowRequest& request) {
  if (model_.open != nullptr && !request.precision.empty()) {
    model_.open->set(request.precision);
  }
  if (!request.mean) return;
  q_.mean.x = *request.mean;
  MatrixXd whitened_loading;
  if (rows_.groups() > 0) {
    q_.mean.group = request.effects;
    eliminated_.adopt(request.loading, request.inverse);
    whitened_loading = request.whitened_loading;
  }
  q_.set_covariance(request.whitener, whitened_loading, eliminated_);
}

void RowWorker::set_noise(double precision) {
  NoisePosterior noise;
  noise.precision = precision;
  rules_.set_noise(noise.noise());
  responsibility_.setZero(model_.completions != nullptr ? rows_.rows() : 0);
  rules_.set_responsibility(responsibility_);
}

void RowWorker::open_sites(bool anew) {
  if (!anew && site_pass_) return;
  sites_ = SiteRows(rows_.rows(), row_moments_);
  if (model_.open != nullptr) {
    sites_.residual_slope = VectorXd::Zero(rows_.rows());
  }
  if (model_.completions != nullptr) {
    sites_.responsibility = model_.completions->log_prior.array().exp();
  }
  site_pass_.emplace(rows_, executor_, model_.family, sites_,
                     &responsibilities_);
  site_pass_->rule.origin = first_;
}

void RowWorker::scale_sites(double noise_variance) {
  SiteRule& rule = site_pass_->rule;
  const double factor = rule.noise_variance / noise_variance;
  rule.noise_variance = noise_variance;
  if (row_moments_ || model_.family != Family::gaussian) return;
  sites_.kappa *= factor;
  sites_.b *= factor;
}

RowReply RowWorker::mean_field(const RowRequest& request,
                               const std::vector<Index>& begin) {
  set_noise(request.noise);
  const bool start = request.step == RowStep::start;
  const Rule& rule = start ? rules_.start() : rules_.later();
  RowStore store;
  VectorXd kappa;
  if (request.kappa) {
    kappa.resize(rows_.rows());
    store.kappa = kappa.data();
  }
  RowReply out = shards(begin, [&](Index from, Index to, ShardReply& reply) {
    pass_.run_shard(from, to, start ? Moments() : at_, rule,
                    request.newton ? rules_.later().second() : Second::none,
                    reply.sums, groups_, store);
  });
  out.rows.emplace_back("kappa", std::move(kappa));
  return out;
}

RowReply RowWorker::minibatch(const RowRequest& request) {
  if (!batches_) {
    batches_ = std::make_unique<Batches>(rows_, executor_, request.batches);
  }
  batches_->at.seek(request.batch, request.chunk);
  set_noise(request.noise);
  const bool start = !request.mean;
  RowReply out;
  out.shards.emplace_back();
  batches_->pass.run(start ? Moments() : at_,
                     start ? rules_.start() : rules_.later(), Second::none,
                     out.shards.back().sums);
  out.groups = &groups_;
  return out;
}

RowReply RowWorker::moments(const RowRequest& request) {
  set_noise(request.noise);
  VectorXd mean(rows_.rows()), variance(rows_.rows());
  RowStore store;
  store.mean = mean.data();
  store.variance = variance.data();
  Sums sums;
  pass_.run(at_, rules_.later(), Second::none, sums, store, Gather::nothing);
  RowReply out;
  out.rows = {
      {"mean", mean}, {"variance", variance}, {"share", responsibility_}};
  return out;
}

RowReply RowWorker::sites(const RowRequest& request,
                          const std::vector<Index>& begin) {
  const SiteStep step = request.step == RowStep::cold   ? SiteStep::cold
                        : request.step == RowStep::warm ? SiteStep::warm
                                                        : SiteStep::update;
  open_sites(step == SiteStep::cold);
  site_pass_->rule.damping = request.damping;
  scale_sites(request.noise);
  return shards(begin, [&](Index from, Index to, ShardReply& reply) {
    site_pass_->run_shard(step, from, to, at_, reply.sums, groups_);
    reply.total = site_pass_->rule.shard(from, to);
  });
}

RowReply RowWorker::copies(const RowRequest& request) {
  open_sites(false);
  scale_sites(request.noise);
  for (const int number : request.forget) copies_.erase(number);
  std::vector<const SiteMessages*> from;
  for (const int number : request.copies) {
    const auto found = copies_.find(number);
    if (found == copies_.end()) throw ArgumentError("there is no such copy");
    from.push_back(&found->second);
  }
  bool whole = true;
  if (request.step == RowStep::keep_messages) {
    copies_[request.to] = {sites_.kappa, sites_.b};
  } else if (from.empty() || from.size() != request.copy_weights.size()) {
    throw ArgumentError("copies of messages are lacking");
  } else if (request.step == RowStep::combine_messages) {
    whole = combine(from, request.copy_weights, copies_[request.to]);
  } else {
    sites_.kappa = from[0]->kappa;
    sites_.b = from[0]->b;
  }
  RowReply out;
  out.rows.emplace_back("lost", VectorXd::Constant(1, whole ? 0.0 : 1.0));
  return out;
}

RowReply RowWorker::group_evidence(const RowRequest& request,
                                   const std::vector<Index>& begin) {
  if (!site_pass_ || !row_moments_) {
    throw ArgumentError("there are no moments of rows");
  }
  if (!evidence_) {
    evidence_ = std::make_unique<GroupEvidence>(rows_, executor_, model_.family,
                                                sites_);
  }
  evidence_->set(q_, request.axes);
  RowReply out = shards(begin, [&](Index from, Index to, ShardReply& reply) {
    reply.sums.linear.x = evidence_->shard(from, to);
  });
  out.groups = nullptr;
  return out;
}

RowReply RowWorker::messages() const {
  RowReply out;
  for (const auto& [name, member] : site_members()) {
    out.rows.emplace_back(name, sites_.*member);
  }
  return out;
}

RowReply RowWorker::left_out(bool moments) const {
  if (!site_pass_) throw ArgumentError("there are no messages");
  RowReply out;
  out.rows = {{"loo", leave_one_out(rows_, site_pass_->rule, sites_)}};
  if (!moments) return out;
  const LeftOutMoments at = left_out_moments(rows_, sites_);
  const RowInfluence own = site_influence(sites_);
  out.rows.insert(out.rows.end(), {{"left_out_mean", at.mean},
                                   {"left_out_var", at.variance},
                                   {"mean", own.mean},
                                   {"var", own.variance},
                                   {"kappa", own.kappa},
                                   {"gradient", own.gradient}});
  return out;
}

RowReply RowWorker::response(const std::vector<Index>& begin) {
  if (!response_) response_ = std::make_unique<Response>(rows_);
  RowReply out = shards(begin, [&](Index from, Index to, ShardReply& reply) {
    pass_.run_shard(from, to, at_, response_->rule, Second::none, reply.sums,
                    groups_);
  });
  out.change = response_->rule.change();
  return out;
}

RowReply RowWorker::influence() {
  if (!response_) throw ArgumentError("there is no response");
  const RowInfluence own = std::move(response_->influence);
  response_.reset();
  RowReply out;
  out.rows = {{"mean", own.mean},
              {"var", own.variance},
              {"kappa", own.kappa},
              {"gradient", own.gradient}};
  return out;
}

// Its totals are of all rows here.
RowReply RowWorker::jackknife(const RowRequest& request,
                              const std::vector<Index>& begin) {
  if (!site_pass_) throw ArgumentError("there are no messages");
  scale_sites(request.noise);
  const JackknifeRule rule(rows_, sites_);
  // Groups go as a whole, and leave the sums of a pass as they were.
  const bool grouped = rows_.groups() > 0;
  RowReply out = shards(begin, [&](Index from, Index to, ShardReply& reply) {
    pass_.run_shard(from, to, at_, rule, Second::none, reply.sums, groups_,
                    RowStore(), grouped ? Gather::nothing : Gather::all);
  });
  out.groups = nullptr;
  if (grouped) {
    out.shards[0].sums.curvature.gram =
        GroupGradients(rows_, executor_).run(q_, sites_);
  }
  const JackknifeRule::Total total = rule.total();
  out.rows.emplace_back(
      "totals",
      Eigen::Vector3d(total.curvature, total.variation, total.margin));
  return out;
}

template <class Run>
RowReply RowWorker::shards(const std::vector<Index>& begin, Run&& run) {
  RowReply out;
  for (std::size_t s = 0; s + 1 < begin.size(); ++s) {
    out.shards.emplace_back();
    run(begin[s], begin[s + 1], out.shards.back());
  }
  out.groups = &groups_;
  return out;
}
}  // namespace bayeskernel
