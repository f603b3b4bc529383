#include "sequential/stream.hpp"

#include <chrono>

#include "math/interval_variance.hpp"
#include "math/normal.hpp"

namespace bayeskernel {
FilteredRows filter_rows(ParticleFilter& filter, const MatrixRef& x,
                         const VectorRef& y, const KeepGoing& keep_going) {
  using Clock = std::chrono::steady_clock;
  FilteredRows out;
  auto before = Clock::now();
  for (Index t = 0; t < x.cols() && !out.interrupted; ++t) {
    out.steps.push_back(filter.step(x.col(t).data(), y[t]));
    const auto now = Clock::now();
    out.steps.back().seconds =
        std::chrono::duration<double>(now - before).count();
    before = now;
    out.interrupted = !keep_going(
        {static_cast<double>(t + 1), static_cast<double>(x.cols()), "rows"});
  }
  return out;
}

ParticleColumns ParticleColumns::of(const std::vector<Particle>& particles) {
  ParticleColumns out;
  out.latent.resize(particles.empty() ? 0 : count_of(particles[0].latent),
                    count_of(particles));
  double* latent = out.latent.data();
  for (const Particle& particle : particles) {
    out.size.push_back(particle.size());
    out.centre.insert(out.centre.end(), particle.centres.begin(),
                      particle.centres.end());
    out.noise.push_back(particle.noise);
    out.coefficient_variance.push_back(particle.coefficient_variance);
    latent = std::copy(particle.latent.begin(), particle.latent.end(), latent);
  }
  return out;
}

std::vector<Particle> ParticleColumns::particles() const {
  std::vector<Particle> out;
  auto begin = centre.begin();
  for (std::size_t i = 0; i < size.size(); ++i) {
    Particle particle;
    particle.centres.assign(begin, begin + size[i]);
    begin += size[i];
    particle.noise = noise[i];
    particle.coefficient_variance = coefficient_variance[i];
    const double* z = latent.data() + static_cast<Index>(i) * latent.rows();
    particle.latent.assign(z, z + latent.rows());
    out.push_back(std::move(particle));
  }
  return out;
}

bool ParticleColumns::repeats() const {
  auto begin = centre.begin();
  for (const Index count : size) {
    std::vector<Index> sorted(begin, begin + count);
    begin += count;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return true;
    }
  }
  return false;
}

ParticleAverages particle_averages(const ParticlePosterior& posterior,
                                   const Kernel& kernel, const MatrixRef& x,
                                   bool classes, Executor& executor) {
  const Index n = x.cols(), count = count_of(posterior.size);
  const Index part = std::max<Index>(16, 2000000 / std::max<Index>(count, 1));
  const IntervalVariance variance;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  ParticleAverages out{VectorXd(n), VectorXd(n), VectorXd(classes ? n : 0),
                       VectorXd(classes ? n : 0)};
  for (Index first = 0; first < n; first += part) {
    const Index size = std::min(part, n - first);
    MatrixXd m(count, size), v(count, size);
    particle_moments(posterior, kernel, x.middleCols(first, size), executor, m,
                     v);
    for (Index i = 0; i < size; ++i) {
      const auto f = m.col(i).array();
      const double center = f.mean();
      out.mean[first + i] = center;
      out.variance[first + i] = v.col(i).mean() + (f - center).square().mean();
      if (!classes) continue;
      double sum = 0.0, squares = 0.0;
      for (Index p = 0; p < count; ++p) {
        const double chance = normal_cdf(m(p, i) / std::sqrt(1.0 + v(p, i)));
        sum += chance;
        squares += chance * chance + variance(-infinity, m(p, i), v(p, i));
      }
      sum /= static_cast<double>(count);
      out.probability[first + i] = sum;
      out.probability_sd[first + i] = std::sqrt(
          std::max(squares / static_cast<double>(count) - sum * sum, 0.0));
    }
  }
  return out;
}
}  // namespace bayeskernel
