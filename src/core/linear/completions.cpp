#include "linear/completions.hpp"

namespace bayeskernel {
Index Completions::end(Index i) const {
  const Index n = count_of(unit);
  Index out = i + 1;
  while (out < n && unit[out] == unit[i]) ++out;
  return out;
}

double softmax(Index n, double* value) {
  if (n == 1) {
    const double only = value[0];
    value[0] = 1.0;
    return only;
  }
  const double most = *std::max_element(value, value + n);
  double sum = 0.0;
  for (Index k = 0; k < n; ++k) sum += value[k] = std::exp(value[k] - most);
  for (Index k = 0; k < n; ++k) value[k] /= sum;
  return most + std::log(sum);
}

double CompletionRule::tile(const TileSpan& span, const Tile& tile,
                            const double* m, const double* s,
                            RowNumbers out) const {
  const double* log_prior = units_.log_prior.data() + span.row_begin;
  double* rho = responsibility + span.row_begin;
  double bound = 0.0;
  for (Index begin = 0; begin < span.rows();) {
    const Index end = units_.end(span.row_begin + begin) - span.row_begin;
    for (Index i = begin; i < end; ++i) {
      const RowTerms row = rows_.row(tile.y[i], tile.weight[i], m[i], s[i]);
      out.kappa[i] = row.kappa;
      out.linear[i] = row.gradient;
      out.newton[i] = row.newton;
      rho[i] = log_prior[i] + (at_prior ? 0.0 : row.bound);
    }
    bound += softmax(end - begin, rho + begin);
    for (Index i = begin; i < end; ++i) {
      out.kappa[i] *= rho[i];
      out.linear[i] *= rho[i];
      out.newton[i] *= rho[i];
    }
    begin = end;
  }
  return bound;
}
}  // namespace bayeskernel
