#include "sequential/particle.hpp"

#include "sequential/subset_prior.hpp"

namespace bayeskernel {
ParticleWork::ParticleWork(Index kmax)
    : beta(kmax + 2),
      row(kmax + 2),
      kmax_(kmax),
      plain_(kmax + 1),
      dots_(kmax + 2) {
  row.setZero();
}

void ParticleWork::load(const Particle& particle, const Grid& grid,
                        double power, double y, bool blind) {
  power_ = power;
  y_ = y;
  blind_ = blind;
  exact_ = false;
  rough_ = !grid.can_be_exact();
  fill(plain_, particle, grid);
  plain_.factor();
  if (plain_.lost()) try_exact(particle, grid);
}

NextRow ParticleWork::next(const Particle& particle, const Grid& grid) {
  for (Index j = 0; j <= particle.size(); ++j) {
    row[j] = grid.offered(column(particle, j));
  }
  return with([&](auto& gaussian) { return gaussian.next(row.data()); });
}

double ParticleWork::propose(const Particle& particle, const Grid& grid,
                             Index c, bool swapped) {
  if (!exact_) {
    fill_dots(dots_, particle, grid, c);
    const double change = plain_.add(dots_.data(), own_, response_, swapped);
    if (rough_ || !plain_.addition_lost()) return change;
    if (!try_exact(particle, grid)) return kImpossible;
    precise_->next(row.data());
    if (swapped) precise_->remove(removed_);
  }
  fill_dots(exact_dots_, particle, grid, c);
  const double change =
      precise_->add(exact_dots_.data(), exact_own_, exact_response_, swapped);
  return precise_->addition_lost() ? kImpossible : change;
}

NextRow ParticleWork::next_with(const Grid& grid, Index c,
                                const NextRow& without) {
  return with([&](auto& gaussian) {
    return gaussian.next_with(grid.offered(c + 1), without);
  });
}

void ParticleWork::accept(Particle& particle, const Grid& grid, Index c) {
  if (exact_) {
    precise_->commit_add(exact_dots_.data(), exact_own_, exact_response_);
  } else {
    plain_.commit_add(dots_.data(), own_, response_);
  }
  particle.centres.push_back(c);
  renew(particle, grid);
}

double ParticleWork::remove(Index position) {
  removed_ = position + 1;
  return with([&](auto& gaussian) { return gaussian.remove(removed_); });
}

void ParticleWork::drop(Particle& particle, const Grid& grid, Index position) {
  with([&](auto& gaussian) { gaussian.commit_remove(position + 1); });
  particle.centres[position] = particle.centres.back();
  particle.centres.pop_back();
  renew(particle, grid);
}

void ParticleWork::add_row(const Particle& particle, const Grid& grid,
                           double response) {
  for (Index j = 0; j <= particle.size(); ++j) {
    row[j] = grid.offered(column(particle, j));
  }
  power_ = 1.0;
  y_ = response;
  with([&](auto& gaussian) {
    gaussian.add_row(row.data(), response);
    gaussian.factor();
  });
  renew(particle, grid);
}

double ParticleWork::residual_square() {
  return with(
      [&](auto& gaussian) { return gaussian.residual_square(beta.data()); });
}

Index ParticleWork::vacant(const Particle& particle, Index r) {
  sorted = particle.centres;
  std::sort(sorted.begin(), sorted.end());
  for (const Index c : sorted) {
    if (c > r) break;
    ++r;
  }
  return r;
}

bool ParticleWork::try_exact(const Particle& particle, const Grid& grid) {
  if (!grid.ask_exact()) return false;
  if (!precise_) {
    precise_ = std::make_unique<FactoredGaussian<DoubleDouble>>(kmax_ + 1);
    exact_dots_.resize(static_cast<std::size_t>(kmax_ + 2));
  }
  exact_ = true;
  fill(*precise_, particle, grid);
  precise_->factor();
  return true;
}

void ParticleWork::fill_dots(VectorXd& to, const Particle& particle,
                             const Grid& grid, Index c) {
  for (Index j = 0; j <= particle.size(); ++j) {
    to[j] = product<double>(grid, column(particle, j), c + 1);
  }
  own_ = product<double>(grid, c + 1, c + 1);
  response_ = dot<double>(particle, grid, c + 1);
}

void ParticleWork::fill_dots(std::vector<DoubleDouble>& to,
                             const Particle& particle, const Grid& grid,
                             Index c) {
  for (Index j = 0; j <= particle.size(); ++j) {
    to[j] = product<DoubleDouble>(grid, column(particle, j), c + 1);
  }
  exact_own_ = product<DoubleDouble>(grid, c + 1, c + 1);
  exact_response_ = dot<DoubleDouble>(particle, grid, c + 1);
}
}  // namespace bayeskernel
