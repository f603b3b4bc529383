#include "gp/terms.hpp"

#include "gp/bound_gradient.hpp"
#include "kernel/columns.hpp"
#include "optim/maximise.hpp"
#include "parallel/scratch_pool.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
void process_features(const Features& features, const MatrixXd& x,
                      Executor& executor, MatrixXd& phi, VectorXd& open) {
  const Index n = x.cols(), tile = RowSource::kTileRows;
  phi.resize(features.columns(), n);
  open.resize(n);
  ScratchPool<Features::Scratch> pool;
  executor.run((n + tile - 1) / tile, [&](Index t) {
    auto loan = pool.borrow();
    const Index begin = t * tile, count = std::min(tile, n - begin);
    features.block(x.data() + begin * x.rows(), count, *loan,
                   phi.data() + begin * phi.rows(), open.data() + begin);
  });
}

VectorXd process_columns(const Features& features, const MatrixRef& x,
                         const VectorRef& by, const VectorRef& weight,
                         Executor& executor, Eigen::Ref<MatrixXd> out,
                         VectorXd& open) {
  const Index n = x.rows(), m = features.columns(), tile = RowSource::kTileRows;
  open.resize(n);
  struct Scratch {
    Features::Scratch features;
    MatrixXd x, phi;
  };
  ScratchPool<Scratch> pool;
  executor.run((n + tile - 1) / tile, [&](Index t) {
    auto loan = pool.borrow();
    Scratch& own = *loan;
    const Index begin = t * tile, count = std::min(tile, n - begin);
    own.x = x.middleRows(begin, count).transpose();
    own.phi.resize(m, count);
    features.block(own.x.data(), count, own.features, own.phi.data(),
                   open.data() + begin);
    out.middleRows(begin, count) = own.phi.transpose();
  });
  VectorXd centre = VectorXd::Zero(m);
  executor.run(m, [&](Index k) {
    auto column = out.col(k);
    if (weight.size() > 0) centre[k] = column.dot(weight);
    column.array() -= centre[k];
    if (by.size() > 0) column.array() *= by.array();
  });
  return centre;
}

bool ProcessTerms::projected(Index c) const {
  for (const Index k : terms_[c].kernel.multiplied_columns()) {
    if (k >= 0) return true;
  }
  return false;
}

VectorXd ProcessTerms::scale(Index c) const {
  const MatrixXd& x = terms_[c].x;
  const VectorXd mean = x.rowwise().mean();
  return ((x.colwise() - mean).rowwise().squaredNorm() /
          static_cast<double>(x.cols()))
      .array()
      .sqrt()
      .max(1e-12);
}

MatrixXd ProcessTerms::slope_products(Index c, const VectorXd& a) const {
  const ProcessTerm& term = terms_[c];
  const Features& features = *features_[c];
  const auto upper = features.factor().transpose();
  const VectorXd direction = upper.triangularView<Eigen::Upper>().solve(a);
  const Index d = term.x.rows(), n = term.x.cols();
  MatrixXd out = MatrixXd::Zero(d, d), x(d, RowSource::kTileRows);
  Index count = 0;
  for (Index i = 0; i < n; ++i) {
    if (term.multiple(i) != 0.0) x.col(count++) = term.x.col(i);
    if (count == x.cols() || (i + 1 == n && count > 0)) {
      add_slope_products(term.kernel, term.z, direction, x.leftCols(count),
                         out);
      count = 0;
    }
  }
  return out;
}

void ProcessTerms::write(PackedRows& rows, MatrixXd& relative) {
  relative.resize(rows.rows(), size());
  for (Index c = 0; c < size(); ++c) {
    const ProcessTerm& term = terms_[c];
    const Index m = term.columns();
    features_[c].emplace(term.kernel, term.z, 0.0);
    process_features(*features_[c], term.x, executor_, phi_[c], open_[c]);
    centre_[c] = term.centre_weight.size() > 0
                     ? VectorXd(phi_[c] * term.centre_weight)
                     : VectorXd::Zero(m);
    for (Index i = 0; i < rows.rows(); ++i) {
      const double b = term.multiple(i);
      rows.x.col(i).segment(term.first, m) = b * (phi_[c].col(i) - centre_[c]);
      relative(i, c) = b * b * open_[c][i];
    }
  }
}

VectorXd ProcessTerms::gradient(Index c, const PackedRows& rows,
                                const GaussianPosterior& q,
                                const ArrowSystem& system, const RowSlopes& at,
                                double variance) const {
  const ProcessTerm& term = terms_[c];
  const Features& features = *features_[c];
  const Index n = rows.rows(), m = term.columns();
  const MatrixXd covariance = q.theta_covariance();
  const auto own = covariance.middleRows(term.first, m);
  const auto coefficients = q.mean.x.segment(term.first, m);
  // By phi: through the column, of which the centre is a part.
  MatrixXd g(m, n), centred;
  for (const TileSpan& span : rows.tiles()) {
    const Index begin = span.row_begin, count = span.rows();
    centred = rows.x.middleCols(begin, count);
    rows.for_groups(span, [&](Index group, Index from, Index to) {
      const Index r = rows.z_columns();
      centred.middleCols(from, to - from).noalias() -=
          system.loading().middleCols(group * r, r) *
          rows.z.middleCols(begin + from, to - from);
    });
    auto part = g.middleCols(begin, count);
    part.noalias() = own * centred;
    for (Index i = 0; i < count; ++i) {
      const Index row = begin + i;
      part.col(i) = term.multiple(row) * (at.gradient[row] * coefficients -
                                          at.kappa[row] * part.col(i));
    }
  }
  if (term.centre_weight.size() > 0) {
    const VectorXd total = g.rowwise().sum();
    g.noalias() -= total * term.centre_weight.transpose();
  }
  // Through the residual.
  VectorXd weight(n);
  for (Index i = 0; i < n; ++i) {
    const double b = term.multiple(i);
    weight[i] = variance * b * b * at.residual[i];
    g.col(i) -= 2.0 * weight[i] * phi_[c].col(i);
  }
  BoundGradient out;
  out.kernel = VectorXd::Zero(features.kernel().parameters());
  // phi = L^-1 k; of L the lower triangle with half the diagonal.
  MatrixXd inner = -g * phi_[c].transpose();
  inner.triangularView<Eigen::StrictlyUpper>().setZero();
  inner.diagonal() *= 0.5;
  inner = (0.5 * (inner + inner.transpose())).eval();
  const KernelColumns& columns = features.kernel_columns();
  KernelColumns::Scratch scratch;
  MatrixXd k(m, RowSource::kTileRows);
  const auto upper = features.factor().transpose();
  upper.triangularView<Eigen::Upper>().solveInPlace(g);
  for (Index begin = 0; begin < n; begin += RowSource::kTileRows) {
    const Index count = std::min<Index>(RowSource::kTileRows, n - begin);
    const double* x = term.x.data() + begin * term.x.rows();
    columns.block(x, count, scratch, k.data());
    columns.add_gradient(x, count, g.data() + begin * m, k.data(), scratch,
                         out.kernel);
    columns.add_diagonal_gradient(x, count, weight.data() + begin, scratch,
                                  out.kernel);
  }
  add_kernel_matrix_gradient(features, inner, out);
  return out.kernel;
}

ProcessLearning::ProcessLearning(PackedRows& rows, const Prior& prior,
                                 const RowModel& model, ProcessTerms& terms,
                                 Executor& executor)
    : rows_(rows),
      prior_(prior),
      model_(model),
      terms_(terms),
      executor_(executor) {
  for (Index c = 0; c < terms.size(); ++c) {
    const Kernel& kernel = terms.term(c).kernel;
    const std::vector<Index> columns = kernel.multiplied_columns();
    const std::vector<Index> family = kernel.families();
    const VectorXd scale = terms.scale(c);
    Index last = -1;
    for (const Index k : terms.term(c).free) {
      if (family[k] != last) families_.emplace_back();
      last = family[k];
      families_.back().push_back(size());
      const Index column = columns[k];
      places_.push_back({c, k, column < 0 ? 1.0 : scale[column], column >= 0});
    }
  }
  start_ = centre_ = coordinates();
  for (Index k = 0; k < size(); ++k) {
    if (places_[k].entry) centre_[k] = 0.0;
  }
}

bool ProcessLearning::has_siblings(Index k) const {
  if (places_[k].entry) return false;
  return std::count_if(places_.begin(), places_.end(), [&](const Place& place) {
           return place.term == places_[k].term && !place.entry;
         }) > 1;
}

auto ProcessLearning::run(const MeanFieldSettings& settings, int most,
                          const std::vector<double>& factor,
                          const KeepGoing& keep_going) -> Result {
  Result result;
  if (size() == 0) return result;
  keep_going_ = keep_going;
  settings_ = settings;
  result_ = &result;
  VectorXd gradient(size()), best = start_;
  try {
    point_projections(factor);
    best = start_;
    double value = -std::numeric_limits<double>::infinity();
    const auto look = [&](const VectorXd& at) {
      warm_.reset();
      const double found = evaluate(at, gradient);
      if (!(found > value)) return;
      value = found;
      best = at;
      kept_ = warm_;
    };
    for (const double f : factor) look(stretched(f));
    for (Index k = 0; k < size(); ++k) {
      if (!has_siblings(k)) continue;
      for (const double f : factor) {
        VectorXd at = best;
        at[k] = start_[k] + std::log(f);
        if (at[k] < best[k]) look(at);
      }
    }
    warm_ = kept_;
    const Maximum maximum =
        maximise([&](const VectorXd& at,
                     VectorXd& slope) { return evaluate(at, slope); },
                 best, 1e-2, most, [] { return true; });
    best = maximum.at;
    result.bound = maximum.value;
    result.converged = maximum.converged;
  } catch (const PassInterrupted&) {
    result.interrupted = true;
  }
  set(best);
  return result;
}

VectorXd ProcessLearning::coordinates() const {
  VectorXd out(size());
  for (Index k = 0; k < size(); ++k) {
    const Place& place = places_[k];
    out[k] = place.unit *
             terms_.term(place.term).kernel.log_parameters()[place.parameter];
  }
  return out;
}

VectorXd ProcessLearning::stretched(double factor) const {
  VectorXd out = start_;
  for (Index k = 0; k < size(); ++k) {
    if (places_[k].entry) {
      out[k] /= factor;
    } else {
      out[k] += std::log(factor);
    }
  }
  return out;
}

void ProcessLearning::point_projections(const std::vector<double>& factor) {
  const Index terms = terms_.size();
  std::vector<Kernel> found, at;
  bool any = false;
  for (Index c = 0; c < terms; ++c) {
    found.push_back(terms_.term(c).kernel);
    any = any || terms_.projected(c);
  }
  if (!any || factor.size() < 2) return;
  double best = -std::numeric_limits<double>::infinity();
  const auto put_found = [&] {
    for (Index c = 0; c < terms; ++c) terms_.set_kernel(c, found[c]);
  };
  for (const double f : factor) {
    put_found();
    set(stretched(f));
    at.clear();
    for (Index c = 0; c < terms; ++c) {
      at.push_back(terms_.term(c).kernel);
      terms_.set_kernel(c, at[c].without_projections());
    }
    warm_.reset();
    double value = 0.0;
    try {
      value = settle([&](const MeanFieldFit& fit, const ConditionalVariance&) {
        for (Index c = 0; c < terms; ++c) {
          const ProcessTerm& term = terms_.term(c);
          const VectorXd mean =
              fit.posterior().mean.x.segment(term.first, term.columns());
          at[c] = along_slopes(at[c], terms_.slope_products(c, mean),
                               terms_.scale(c));
        }
      });
    } catch (const PassInterrupted&) {
      put_found();
      throw;
    }
    if (value > best) {
      best = value;
      found = at;
    }
  }
  put_found();
  start_ = coordinates();
}

void ProcessLearning::set(const VectorXd& at) {
  for (Index c = 0; c < terms_.size(); ++c) {
    VectorXd all = terms_.term(c).kernel.log_parameters();
    for (Index k = 0; k < size(); ++k) {
      if (places_[k].term == c) {
        all[places_[k].parameter] = at[k] / places_[k].unit;
      }
    }
    terms_.set_log_parameters(c, all);
  }
}

double ProcessLearning::log_density(const VectorXd& at, VectorXd& slope) const {
  const VectorXd shift = (at - centre_) / kPriorSd;
  slope = -shift / kPriorSd;
  double out = -0.5 * shift.squaredNorm();
  for (const std::vector<Index>& family : families_) {
    const double others = static_cast<double>(family.size()) - 1.0;
    const double crowded = std::min(others * others / rows_.rows(), 1.0);
    double mean = 0.0;
    for (const Index k : family) mean += (at[k] - centre_[k]) / family.size();
    for (const Index k : family) {
      const double apart = at[k] - centre_[k] - mean;
      out -= 2.0 * crowded * apart * apart;
      slope[k] -= 4.0 * crowded * apart;
    }
  }
  return out;
}

double ProcessLearning::evaluate(const VectorXd& at, VectorXd& slope) {
  constexpr double kFar = 8.0;  // log ratio to the start
  for (Index k = 0; k < size(); ++k) {
    if (!places_[k].entry && std::abs(at[k] - centre_[k]) > kFar) {
      return nothing();
    }
  }
  set(at);
  VectorXd density_slope;
  const double density = log_density(at, density_slope);
  const double bound =
      settle([&](const MeanFieldFit& fit, const ConditionalVariance& open) {
        const VectorXd residual = -0.5 * fit.accepted().kappa;
        const ProcessTerms::RowSlopes rows{fit.accepted().linear,
                                           fit.accepted().kappa, residual};
        VectorXd gradient;
        Index last = -1;
        for (Index k = 0; k < size(); ++k) {
          const Index c = places_[k].term;
          if (c != last) {
            gradient = terms_.gradient(c, rows_, fit.posterior(), fit.system(),
                                       rows, open.variance(c));
            last = c;
          }
          slope[k] = gradient[places_[k].parameter] / places_[k].unit +
                     density_slope[k];
        }
      });
  if (std::isfinite(bound)) result_->slope = slope;
  return bound + density;
}
}  // namespace bayeskernel
