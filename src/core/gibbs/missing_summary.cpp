#include "gibbs/missing_summary.hpp"

#include <numeric>

namespace bayeskernel {
namespace {
template <class Less>
std::vector<Index> sorted(std::size_t count, Less&& less) {
  std::vector<Index> out(count);
  std::iota(out.begin(), out.end(), Index{0});
  std::sort(out.begin(), out.end(), less);
  return out;
}

VectorXd pick(const ArrayXd& from, const std::vector<Index>& order) {
  VectorXd out(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) out[k] = from[order[k]];
  return out;
}
}  // namespace

MissingPlaces::MissingPlaces(const MissingPattern& missing,
                             const std::vector<Index>& order) {
  const std::vector<Index> of = missing.predictor_of_values();
  for (const auto& r : missing.rows) {
    for (Index j = 0; j < missing.width(r); ++j) {
      predictor.push_back(static_cast<int>(of[row.size()]) + 1);
      row.push_back(static_cast<int>(order[r.row]) + 1);
    }
  }
}

std::vector<Index> MissingPlaces::by_row() const {
  return sorted(row.size(), [&](Index a, Index b) {
    return row[a] != row[b] ? row[a] < row[b] : predictor[a] < predictor[b];
  });
}

ValueSummary summarize_values(const MissingAverages& all,
                              const MissingPlaces& places,
                              const ModelRecorder& recorder) {
  const std::vector<Index> order = places.by_row();
  ArrayXd mean = all.value.mean, variance = all.value.variance();
  ValueSummary out;
  for (const Index value : order) {
    const double scale = recorder.scale_of(value);
    mean[value] = recorder.center_of(value) + scale * mean[value];
    variance[value] *= scale * scale;
    out.row.push_back(places.row[value]);
    out.predictor.push_back(places.predictor[value]);
  }
  out.mean = pick(mean, order);
  out.variance = pick(variance, order);
  return out;
}

IncompleteRows summarize_rows(const MissingAverages& all,
                              const MissingPattern& missing,
                              const std::vector<Index>& order) {
  const auto row = [&](Index k) { return order[missing.rows[k].row]; };
  const std::vector<Index> places = sorted(
      missing.rows.size(), [&](Index a, Index b) { return row(a) < row(b); });
  IncompleteRows out;
  for (const Index k : places) out.row.push_back(static_cast<int>(row(k)) + 1);
  const auto put = [&](const RunningMoments& from, VectorXd& mean,
                       VectorXd& sd) {
    mean = pick(from.mean, places);
    sd = pick(from.variance().sqrt(), places);
  };
  out.mean = pick(all.f.mean, places);
  out.variance = pick(all.f.variance(), places);
  put(all.probit, out.probit, out.probit_sd);
  put(all.hinge, out.hinge, out.hinge_sd);
  if (all.logit.mean.size() > 0) put(all.logit, out.logit, out.logit_sd);
  return out;
}
}  // namespace bayeskernel
