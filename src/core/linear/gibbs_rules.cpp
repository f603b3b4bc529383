#include "linear/gibbs_rules.hpp"

#include "error.hpp"
#include "linear/moments.hpp"
#include "rng/polya_gamma.hpp"

namespace bayeskernel {
void GibbsRule::set(std::uint64_t sweep, VectorXd& latent, double noise) {
  sweep_ = sweep;
  latent_ = latent.data();
  noise_ = noise;
}

Stream GibbsRule::stream(const TileSpan& span) const {
  return Stream(seed_, chain_, Purpose::latent, sweep_,
                static_cast<std::uint64_t>(span.number));
}

double GibbsRule::draw_f(Stream& stream, double eta, double r, double k,
                         double b) {
  const double shrink = 1.0 / (1.0 + k * r);
  return shrink * (eta + r * b) + std::sqrt(r * shrink) * stream.normal();
}

void GibbsRule::put(const Tile& tile, Index i, double k, double b,
                    RowNumbers out) {
  const double shrink = 1.0 / (1.0 + k * tile.residual_of(i));
  out.kappa[i] = shrink * k;
  out.linear[i] = shrink * (b - k * tile.offset[i]);
}

double HingeGibbs::tile(const TileSpan& span, const Tile& tile, const double* m,
                        const double*, RowNumbers out) const {
  const Index n = span.rows();
  auto loan = pool_.borrow();
  Scratch& scratch = *loan;
  if (scratch.f.size() < n) {
    for (ArrayXd* v :
         {&scratch.f, &scratch.square, &scratch.uniform, &scratch.larger}) {
      v->resize(n);
    }
  }
  std::copy_n(m, n, scratch.f.data());
  Stream numbers = stream(span);
  add_residuals(span, tile, numbers, scratch.f.data());
  for (Index i = 0; i < n; ++i) {
    const double z = numbers.normal();
    scratch.square[i] = z * z;
    scratch.uniform[i] = numbers.uniform();
  }
  const auto y = tile.y.array(), w = tile.weight.array();
  auto r = scratch.f.head(n);
  Eigen::Map<ArrayXd> kappa(out.kappa, n);
  r = (w * (1.0 - y * r)).abs();
  hinge_latents(r, scratch.square.head(n), scratch.uniform.head(n),
                scratch.larger.head(n), kappa);
  kappa = w.square() / kappa;
  Eigen::Map<ArrayXd>(out.linear, n) =
      y * (w + kappa) - kappa * tile.offset.array();
  widen(span, tile, out);
  return 0.0;
}

void HingeGibbs::add_residuals(const TileSpan& span, const Tile& tile,
                               Stream& stream, double* f) const {
  for (Index i = 0; i < tile.residual.size(); ++i) {
    const double r = tile.residual[i], w = tile.weight[i];
    const double z = stream.normal();
    if (!(r > 0.0)) continue;
    if (w == 0.0) {
      f[i] += std::sqrt(r) * z;
      continue;
    }
    const double t = latent(span, i);
    const double observed = tile.y[i] * (1.0 + t * w);
    f[i] += r / (r + t) * (observed - f[i]) + std::sqrt(r * t / (r + t)) * z;
  }
}

void HingeGibbs::widen(const TileSpan& span, const Tile& tile,
                       RowNumbers out) const {
  for (Index i = 0; i < tile.residual.size(); ++i) {
    const double w = tile.weight[i];
    if (w == 0.0) continue;
    const double t = 1.0 / out.kappa[i];
    latent(span, i) = t;
    out.kappa[i] = 1.0 / (t + tile.residual[i]);
    out.linear[i] = out.kappa[i] * (tile.y[i] * (1.0 + t * w) - tile.offset[i]);
  }
}

double ProbitGibbs::tile(const TileSpan& span, const Tile& tile,
                         const double* m, const double*, RowNumbers out) const {
  Stream numbers = stream(span);
  for (Index i = 0; i < span.rows(); ++i) {
    const double w = tile.weight[i], r = tile.residual_of(i);
    double sum = 0.0;
    if (w == 1.0) {
      const double variance = 1.0 + r;
      sum = on_side(numbers, tile.y[i], m[i], std::sqrt(variance));
      out.kappa[i] = 1.0 / variance;
      out.linear[i] = (sum - tile.offset[i]) / variance;
      continue;
    }
    const bool shared = r > 0.0 && w > 0.0;
    const double f =
        shared ? draw_f(numbers, m[i], r, w, latent(span, i)) : m[i];
    for (double j = 0.0; j < w; j += 1.0) {
      sum += on_side(numbers, tile.y[i], f, 1.0);
    }
    if (shared) latent(span, i) = sum;
    put(tile, i, w, sum, out);
  }
  return 0.0;
}

double LogitGibbs::tile(const TileSpan& span, const Tile& tile, const double* m,
                        const double*, RowNumbers out) const {
  Stream numbers = stream(span);
  for (Index i = 0; i < span.rows(); ++i) {
    const double w = tile.weight[i], r = tile.residual_of(i);
    if (w == 0.0) {
      put(tile, i, 0.0, 0.0, out);
      continue;
    }
    const double b = 0.5 * w * tile.y[i];
    double f = m[i];
    if (r > 0.0) f = draw_f(numbers, f, r, latent(span, i), b);
    const double omega = polya_gamma(numbers, w, f);
    if (r > 0.0) latent(span, i) = omega;
    put(tile, i, omega, b, out);
  }
  return 0.0;
}

double GaussianGibbs::tile(const TileSpan& span, const Tile& tile,
                           const double*, const double*, RowNumbers out) const {
  for (Index i = 0; i < span.rows(); ++i) {
    const double k = tile.weight[i] * noise();
    put(tile, i, k, k * tile.y[i], out);
  }
  return 0.0;
}

std::unique_ptr<GibbsRule> make_gibbs_rule(Family family, std::uint64_t seed,
                                           std::uint64_t chain) {
  switch (family) {
    case Family::probit:
      return std::make_unique<ProbitGibbs>(seed, chain);
    case Family::logit:
      return std::make_unique<LogitGibbs>(seed, chain);
    case Family::gaussian:
      return std::make_unique<GaussianGibbs>(seed, chain);
    default:
      return std::make_unique<HingeGibbs>(seed, chain);
  }
}

double NoiseRule::tile(const TileSpan& span, const Tile& tile, const double* m,
                       const double*, RowNumbers) const {
  Stream numbers = stream(span);
  double sum = 0.0;
  for (Index i = 0; i < span.rows(); ++i) {
    const double w = tile.weight[i], r = tile.residual_of(i);
    const double k = w * noise();
    const double f =
        r > 0.0 ? draw_f(numbers, m[i], r, k, k * tile.y[i]) : m[i];
    sum += w * (tile.y[i] - f) * (tile.y[i] - f);
  }
  return sum;
}

void NoiseDraw::run(const ArrowVector& point, std::uint64_t sweep,
                    std::uint64_t block, double weight, double& precision) {
  if (!learned_) return;
  Moments at;
  at.point = &point;
  rule_.set(sweep, none_, precision);
  pass_.run(at, rule_, Second::none, sums_, RowStore(), Gather::nothing);
  Stream stream(seed_, chain_, Purpose::variance, sweep, block);
  const double draw = gamma(stream, prior_.shape + 0.5 * weight,
                            prior_.rate + 0.5 * sums_.bound);
  precision = std::min(std::max(draw, 1e-100), 1e100);
}

RowFacts check_rows(const RowSource& rows, Family family) {
  RowFacts out;
  const bool all = family == Family::probit || family == Family::gaussian;
  MatrixXd buffer;
  for (Index c = 0; c < rows.chunks(); ++c) {
    rows.load(c, -1);
    for (Index b = rows.chunk_begin(c); b < rows.chunk_begin(c + 1); ++b) {
      for (const TileSpan& span : rows.block_tiles(b)) {
        const Tile tile = rows.tile(span, buffer);
        out.residuals = tile.residual.size() > 0;
        if (!all) return out;
        out.weight += tile.weight.sum();
        const auto w = tile.weight.array();
        if (family == Family::probit && (w != w.floor()).any()) {
          throw ArgumentError(
              "the sampler takes whole numbers as weights of a probit "
              "likelihood: family \"logit\" or method \"ep\" takes any");
        }
      }
    }
  }
  return out;
}
}  // namespace bayeskernel
