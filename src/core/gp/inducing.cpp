#include "gp/inducing.hpp"

#include <set>

#include "error.hpp"
#include "math/kmeans.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
namespace detail {
MatrixXd distinct_columns(const MatrixRef& x, Index count, Stream& stream) {
  const auto before = [&](Index a, Index b) {
    const auto u = x.col(a), v = x.col(b);
    return std::lexicographical_compare(u.data(), u.data() + u.size(), v.data(),
                                        v.data() + v.size());
  };
  const Index n = x.cols();
  std::set<Index, decltype(before)> seen(before);
  std::vector<Index> order(n), kept;
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = 0; i < n && count_of(kept) < count; ++i) {
    if (n > count) {
      std::swap(order[i], order[i + uniform_index(stream, n - i)]);
    }
    if (seen.insert(order[i]).second) kept.push_back(order[i]);
  }
  MatrixXd out(x.rows(), count_of(kept));
  for (Index j = 0; j < out.cols(); ++j) out.col(j) = x.col(kept[j]);
  return out;
}

Index Lottery::operator()(Stream& stream) const {
  const double* end = sum_.data() + sum_.size();
  const double ticket = stream.uniform() * end[-1];
  // Never a mass of 0, not even where rounding makes the ticket the total.
  const double* at = std::upper_bound(sum_.data(), end, ticket);
  if (at == end) at = std::lower_bound(sum_.data(), end, end[-1]);
  return at - sum_.data();
}

VectorXd squared_distances(const MatrixRef& x, const VectorXd& from) {
  VectorXd out(x.cols());
  for (Index i = 0; i < x.cols(); ++i) out[i] = (x.col(i) - from).squaredNorm();
  return out;
}

Stream seeding_stream(const InducingSettings& settings, Index seed) {
  return Stream(settings.seed, 0, Purpose::inducing,
                static_cast<std::uint64_t>(seed), 0);
}

Index first_seed(const MatrixRef& x, const InducingSettings& settings) {
  Stream stream = seeding_stream(settings, 0);
  return uniform_index(stream, x.cols());
}

MatrixXd exact_seeds(const MatrixRef& x, const InducingSettings& settings) {
  MatrixXd seeds(x.rows(), settings.count);
  seeds.col(0) = x.col(first_seed(x, settings));
  VectorXd distance = squared_distances(x, seeds.col(0));
  Index m = 1;
  for (; m < settings.count; ++m) {
    const Lottery lottery(distance);
    if (!(lottery.total() > 0.0)) break;
    Stream stream = seeding_stream(settings, m);
    seeds.col(m) = x.col(lottery(stream));
    distance = distance.cwiseMin(squared_distances(x, seeds.col(m)));
  }
  return seeds.leftCols(m);
}

MatrixXd chain_seeds(const MatrixRef& x, const InducingSettings& settings) {
  const Index n = x.cols(), chain = settings.chain;
  MatrixXd seeds(x.rows(), settings.count);
  Centres ready(x.rowwise().mean(), settings.count);
  seeds.col(0) = x.col(first_seed(x, settings));
  ready.push_back(seeds.col(0));
  VectorXd proposal = squared_distances(x, seeds.col(0));
  const double total = proposal.sum();
  if (!(total > 0.0)) return seeds.leftCols(1);
  proposal = (proposal / (2.0 * total)).array() + 0.5 / static_cast<double>(n);
  const Lottery lottery(proposal);

  MatrixXd candidates(x.rows(), chain);
  std::vector<Index> row(chain);
  std::vector<int> label(chain);
  for (Index m = 1; m < settings.count; ++m) {
    Stream stream = seeding_stream(settings, m);
    for (Index k = 0; k < chain; ++k) {
      row[k] = lottery(stream);
      candidates.col(k) = x.col(row[k]);
    }
    ready.nearest(candidates, label.data());
    Index now = 0;
    double distance_now = 0.0;
    for (Index k = 0; k < chain; ++k) {
      const double distance =
          (candidates.col(k) - seeds.col(label[k])).squaredNorm();
      const double forward = distance * proposal[row[now]];
      const double backward = distance_now * proposal[row[k]];
      if (k == 0 || forward > stream.uniform() * backward) {
        now = k;
        distance_now = distance;
      }
    }
    if (!(distance_now > 0.0)) continue;
    seeds.col(ready.size()) = candidates.col(now);
    ready.push_back(candidates.col(now));
  }
  return seeds.leftCols(ready.size());
}

double squared_distance_scale(const MatrixRef& x) {
  const Index n = x.cols(), half = n / 2;
  VectorXd middle(x.rows()), row(n);
  for (Index k = 0; k < x.rows(); ++k) {
    row = x.row(k);
    std::nth_element(row.data(), row.data() + half, row.data() + n);
    middle[k] = row[half];
  }
  VectorXd squared = squared_distances(x, middle);
  const double mean = squared.mean();
  std::nth_element(squared.data(), squared.data() + half, squared.data() + n);
  return 2.0 * (squared[half] > 0.0 ? squared[half] : mean);
}

MatrixXd drop_near_duplicates(MatrixXd centres, const MatrixRef& x) {
  const double near = 1e-10 * squared_distance_scale(x);
  Index kept = 0;
  for (Index j = 0; j < centres.cols(); ++j) {
    const VectorXd centre = centres.col(j);
    bool fresh = true;
    for (Index k = 0; k < kept && fresh; ++k) {
      fresh = (centres.col(k) - centre).squaredNorm() > near;
    }
    if (fresh) centres.col(kept++) = centre;
  }
  return centres.leftCols(kept);
}
}  // namespace detail

MatrixXd inducing_points(const MatrixRef& x, const InducingSettings& settings,
                         Executor& executor) {
  if (settings.count < 1 || settings.chain < 1) {
    throw ArgumentError("inducing points need a count and a chain above 0");
  }
  if (x.cols() < 1) throw ArgumentError("inducing points need rows");
  if (x.cols() <= settings.count || settings.method == InducingMethod::random) {
    Stream stream = detail::seeding_stream(settings, 0);
    return detail::drop_near_duplicates(
        detail::distinct_columns(x, settings.count, stream), x);
  }
  const bool exact = x.cols() < detail::kExactSeeding;
  MatrixXd centres = exact ? detail::exact_seeds(x, settings)
                           : detail::chain_seeds(x, settings);
  // Exact seeding ends early when the seeds are all the rows there are.
  if (!exact || centres.cols() == settings.count) {
    lloyd(x, settings.lloyd, centres, executor);
  }
  return detail::drop_near_duplicates(std::move(centres), x);
}

double median_distance(const MatrixRef& x, Index most) {
  const Index n = std::min(x.cols(), most);
  const Index pairs = n * (n - 1) / 2;
  if (pairs < 1) return 1.0;
  MatrixXd rows(x.rows(), n);
  for (Index i = 0; i < n; ++i) rows.col(i) = x.col(i * x.cols() / n);
  VectorXd squared(pairs);
  for (Index i = 1, at = 0; i < n; at += i++) {
    squared.segment(at, i) =
        detail::squared_distances(rows.leftCols(i), rows.col(i));
  }
  double* middle = squared.data() + pairs / 2;
  std::nth_element(squared.data(), middle, squared.data() + pairs);
  double median = std::sqrt(*middle);
  if (pairs % 2 == 0) {
    const double below = *std::max_element(squared.data(), middle);
    median = 0.5 * (median + std::sqrt(below));
  }
  if (median > 0.0) return median;
  const Index apart = (squared.array() > 0.0).count();
  if (apart == 0) return 1.0;
  return squared.array().sqrt().sum() / static_cast<double>(apart);
}
}  // namespace bayeskernel
