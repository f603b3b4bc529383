#include "klr/moves.hpp"

#include "rng/categorical.hpp"

namespace bayeskernel {
double LowRankMoves::birth(double parameter) {
  const Index kernels = basis_.kernels();
  return likelihood_.add(parameter) + prior_.log_next(kernels) +
         log_ways(kernels, parameter);
}

double LowRankMoves::death(Index j) {
  const Index kernels = basis_.kernels() - 1;
  return likelihood_.remove(j) - prior_.log_next(kernels) -
         log_ways(kernels, likelihood_.parameter(j));
}

double LowRankMoves::coefficient(Index j, double b) {
  return likelihood_.set_parameter(j, b) +
         (1.0 + prior_.alpha) *
             std::log(std::abs(likelihood_.parameter(j) / b));
}

double LowRankMoves::variance(Index j, double v) {
  const double from = 1.0 / likelihood_.parameter(j), to = 1.0 / v;
  return likelihood_.set_parameter(j, v) +
         prior_.varphi_shape() * std::log(to / from) -
         prior_.varphi_rate() * (to - from);
}

double LowRankMoves::scales(Index j) {
  double change = 0.0;
  for (Index l = 0; l < basis_.rank(); ++l) {
    change += scale_density(basis_.tried_log_lambda()[l]) -
              scale_density(basis_.log_lambda(j, l));
  }
  basis_.try_column();
  return likelihood_.replace(j) + change;
}

double LowRankMoves::scales(Index j, double log_g) {
  const double parameter = likelihood_.parameter(j);
  const double to =
      parameter * std::exp(prior_.continuous ? 2.0 * log_g : log_g);
  if (!valid(to) || !(prior_.continuous || std::abs(to) > prior_.epsilon)) {
    return kNeverAccepted;
  }
  // With the Jacobian.
  double change = -prior_.alpha * log_g;
  if (prior_.continuous) {
    change -= prior_.varphi_rate() * (1.0 / to - 1.0 / parameter);
  }
  for (Index l = 0; l < basis_.rank(); ++l) {
    change += scale_density(basis_.tried_log_lambda()[l]) -
              scale_density(basis_.log_lambda(j, l));
  }
  return likelihood_.replace(j, to) + change + chosen_again(j, to);
}

double LowRankMoves::intercept(double b) {
  return likelihood_.set_parameter(0, b) -
         prior_.intercept_rate *
             (std::abs(b) - std::abs(likelihood_.parameter(0)));
}

double LowRankMoves::frame() {
  basis_.propose_frame();
  return likelihood_.change_all();
}

void LowRankMoves::jump(Stream& stream) {
  const auto probability = prior_.move_probability(basis_.kernels());
  const double u = stream.uniform();
  const double log_u = -stream.exponential();
  if (u < probability[0]) {
    draw_kernel(stream);
    const double parameter = draw_parameter(stream);
    const double ratio = valid(parameter) ? birth(parameter) : kNeverAccepted;
    if (tally_.decide(Move::birth, ratio, log_u)) likelihood_.accept_add();
  } else if (u < probability[0] + probability[1]) {
    const Index j = any_kernel(stream);
    if (tally_.decide(Move::death, death(j), log_u)) {
      likelihood_.accept_remove(j);
    }
  } else if (basis_.kernels() > 0) {
    update(stream);
  }
}

void LowRankMoves::draw_kernel(Stream& stream) {
  basis_.tried_centre() = uniform_index(stream, basis_.data().rows());
  for (Index l = 0; l < basis_.rank(); ++l) {
    basis_.tried_log_lambda()[l] = mu + stream.normal() / std::sqrt(tau);
  }
  basis_.try_column();
}

double LowRankMoves::draw_parameter(Stream& stream) const {
  if (!prior_.continuous) return prior_.draw_coefficient(stream);
  const double log_varphi = log_gamma_variate(stream, prior_.varphi_shape()) -
                            std::log(prior_.varphi_rate());
  return std::exp(-log_varphi);
}

void LowRankMoves::step_parameter(Stream& stream) {
  const Index j = some_kernel(stream);
  const double log_u = -stream.exponential();
  const double from = likelihood_.parameter(j);
  const bool factor = prior_.continuous || by_size_;
  RandomWalkStep& step =
      factor && !prior_.continuous ? tally_.size : tally_.coefficient;
  const double walk = step.sd() * stream.normal();
  double to = from * std::exp(walk), ratio = kNeverAccepted;
  if (!factor) {
    // v wraps from 1 to -1, where b is +epsilon and -epsilon.
    const double v = prior_.uniform_scale(from) + walk;
    to = prior_.coefficient(v - 2.0 * std::floor(0.5 * (v + 1.0)));
  }
  if (valid(to) && prior_.continuous) {
    ratio = variance(j, to) + chosen_again(j, to);
  } else if (valid(to) && std::abs(to) >= prior_.epsilon) {
    ratio = likelihood_.set_parameter(j, to) + chosen_again(j, to) -
            (factor ? prior_.alpha * walk : 0.0);
  }
  if (tally_.walk(&step == &tally_.size ? Move::size : Move::coefficient, step,
                  ratio, log_u)) {
    likelihood_.accept_parameter(j);
  }
}

void LowRankMoves::step_centre(Stream& stream) {
  const Index j = some_kernel(stream);
  const double log_u = -stream.exponential();
  basis_.try_from(j);
  const Index rows = basis_.data().rows();
  if (rows < 2) return;
  const bool near = stream.uniform() < 0.5;
  double ways = 0.0;
  if (near) {
    const double sum = sum_but(basis_.column(j), basis_.centre(j));
    if (!(sum > 0.0)) return;
    basis_.tried_centre() =
        draw_but(basis_.column(j), basis_.centre(j), sum * stream.uniform());
    const Index to = basis_.tried_centre();
    ways = std::log(sum / sum_but(basis_.try_column(), to));
  } else {
    basis_.tried_centre() = uniform_index(stream, rows);
    basis_.try_column();
  }
  const double ratio = likelihood_.replace(j) + ways;
  if (tally_.decide(near ? Move::neighbour : Move::centre, ratio, log_u)) {
    likelihood_.accept_replace(j);
  }
}

void LowRankMoves::step_scale(Index l, Stream& stream) {
  const Index j = some_kernel(stream);
  const double log_u = -stream.exponential();
  basis_.try_from(j);
  basis_.tried_log_lambda()[l] += tally_.scale.sd() * stream.normal();
  if (tally_.walk(Move::scale, tally_.scale, scales(j), log_u)) {
    likelihood_.accept_replace(j);
  }
}

void LowRankMoves::step_ridge(Stream& stream) {
  const Index j = some_kernel(stream);
  const Index row = uniform_index(stream, basis_.data().rows());
  const double log_u = -stream.exponential();
  basis_.try_from(j);
  const double shift = tally_.ridge.sd() * stream.normal();
  basis_.tried_log_lambda().array() += shift;
  const double from = basis_.column(j)[row], to = basis_.try_column()[row];
  const double ratio =
      from > 0.0 && to > 0.0 ? scales(j, std::log(from / to)) : kNeverAccepted;
  if (tally_.walk(Move::ridge, tally_.ridge, ratio, log_u)) {
    likelihood_.accept_replace(j);
  }
}

void LowRankMoves::step_scales(Stream& stream) {
  const Index j = some_kernel(stream);
  const double log_u = -stream.exponential();
  basis_.try_from(j);
  for (Index l = 0; l < basis_.rank(); ++l) {
    basis_.tried_log_lambda()[l] += tally_.scales.sd() * stream.normal();
  }
  if (tally_.walk(Move::scales, tally_.scales, scales(j), log_u)) {
    likelihood_.accept_replace(j);
  }
}

void LowRankMoves::step_shift(Stream& stream) {
  const double log_u = -stream.exponential();
  const double shift = tally_.shift.sd() * stream.normal();
  const double from = (mu - prior_.mean_location) / prior_.mean_scale;
  const double to = from + shift / prior_.mean_scale;
  basis_.propose_shift(shift);
  const double ratio = likelihood_.change_all() + 0.5 * (from * from - to * to);
  if (tally_.walk(Move::shift, tally_.shift, ratio, log_u)) {
    mu += shift;
    basis_.accept_shift();
    likelihood_.accept_all();
  }
}

void LowRankMoves::step_frame(Stream& stream) {
  const Index p = basis_.data().variables(), r = basis_.rank();
  if (p == 1) return;
  const double log_u = -stream.exponential();
  const double kind = stream.uniform();
  basis_.start_frame();
  auto& u = basis_.proposed_frame();
  if (r > 1 && kind < 0.25) {
    walk_.step_all(stream, tally_.frame.sd(), u);
    finish(Move::frame, &tally_.frame, frame(), log_u);
  } else if (r > 1 && kind < 0.5) {
    const Index l = uniform_index(stream, r), m = another(stream, l, r);
    FrameWalk::turn(l, m, tally_.turn.sd() * stream.normal(), u);
    finish(Move::turn, &tally_.turn, frame(), log_u);
  } else {
    const bool fresh = kind >= 1.0 - schedule_.fresh_fraction;
    const double step_size =
        fresh ? std::numeric_limits<double>::infinity() : tally_.column.sd();
    const Index l = uniform_index(stream, r);
    const bool made =
        r < p ? walk_.step_column(stream, l, step_size, u)
              : walk_.step_pair(stream, l, another(stream, l, r), step_size, u);
    const double ratio = made ? frame() : kNeverAccepted;
    if (fresh) {
      finish(Move::fresh, nullptr, ratio, log_u);
    } else {
      finish(Move::column, &tally_.column, ratio, log_u);
    }
  }
}

void LowRankMoves::step_intercept(Stream& stream) {
  const double log_u = -stream.exponential();
  const double b =
      likelihood_.parameter(0) + tally_.intercept.sd() * stream.normal();
  if (tally_.walk(Move::intercept, tally_.intercept, intercept(b), log_u)) {
    likelihood_.accept_parameter(0);
  }
}

std::array<double, 2> LowRankMoves::mean_law() const {
  double sum = 0.0;
  for_scales([&](double log_lambda) { sum += log_lambda; });
  const double own = 1.0 / (prior_.mean_scale * prior_.mean_scale);
  const double precision = scales_in_use() * tau + own;
  return {(tau * sum + own * prior_.mean_location) / precision, precision};
}

std::array<double, 2> LowRankMoves::precision_law() const {
  double square = 0.0;
  for_scales([&](double log_lambda) {
    square += (log_lambda - mu) * (log_lambda - mu);
  });
  return {prior_.precision_shape + 0.5 * scales_in_use(),
          prior_.precision_rate + 0.5 * square};
}

void LowRankMoves::draw_scale_prior(Stream& stream) {
  const auto mean = mean_law();
  mu = mean[0] + stream.normal() / std::sqrt(mean[1]);
  const auto law = precision_law();
  tau = std::max(gamma(stream, law[0], law[1]), kSmallestPrecision);
}

void LowRankMoves::polish() {
  basis_.start_frame();
  walk_.orthonormalise(basis_.proposed_frame());
  basis_.set_frame(basis_.proposed_frame());
  likelihood_.rebuild();
}

double LowRankMoves::log_ways(Index kernels, double parameter) const {
  return schedule_.update == LowRankSchedule::Update::kill
             ? log_kill_ways(prior_, kernels,
                             chance_inside(parameter, schedule_.kill_step,
                                           prior_.epsilon))
             : log_birth_ways(prior_, kernels);
}

double LowRankMoves::scale_density(double log_lambda) const {
  const double gap = log_lambda - mu;
  return -0.5 * tau * gap * gap;
}

Index LowRankMoves::some_kernel(Stream& stream) {
  by_size_ = stream.uniform() < 0.5;
  if (!by_size_) return any_kernel(stream);
  total_ = 0.0;
  for (Index j = 1; j <= basis_.kernels(); ++j) {
    total_ += size_of(likelihood_.parameter(j));
  }
  return 1 +
         categorical(total_ * stream.uniform(), basis_.kernels(), [&](Index j) {
           return size_of(likelihood_.parameter(j + 1));
         });
}

double LowRankMoves::chosen_again(Index j, double parameter) const {
  if (!by_size_) return 0.0;
  const double from = size_of(likelihood_.parameter(j)),
               to = size_of(parameter);
  return std::log(to / from * total_ / (total_ - from + to));
}

Index LowRankMoves::another(Stream& stream, Index l, Index r) {
  const Index m = uniform_index(stream, r - 1);
  return m < l ? m : m + 1;
}

void LowRankMoves::update(Stream& stream) {
  if (schedule_.update == LowRankSchedule::Update::wrapped ||
      prior_.continuous) {
    step_parameter(stream);
    return;
  }
  const Index j = any_kernel(stream);
  const double log_u = -stream.exponential();
  const double t = stream.normal() / std::sqrt(gamma(stream, 1.5, 1.5));
  const double b = likelihood_.parameter(j) + schedule_.kill_step * t;
  if (std::abs(b) > prior_.epsilon) {
    const double ratio = valid(b) ? coefficient(j, b) : kNeverAccepted;
    if (tally_.decide(Move::coefficient, ratio, log_u)) {
      likelihood_.accept_parameter(j);
    }
  } else if (schedule_.update == LowRankSchedule::Update::kill) {
    if (tally_.decide(Move::kill, death(j), log_u)) {
      likelihood_.accept_remove(j);
    }
  }
}

void LowRankMoves::finish(Move move, RandomWalkStep* step, double ratio,
                          double log_u) {
  const bool yes = step != nullptr ? tally_.walk(move, *step, ratio, log_u)
                                   : tally_.decide(move, ratio, log_u);
  if (!yes) return;
  basis_.accept_frame();
  likelihood_.accept_all();
}

double LowRankMoves::sum_but(const double* column, Index at) const {
  double sum = 0.0;
  for (Index i = 0; i < basis_.data().rows(); ++i) {
    sum += i == at ? 0.0 : column[i];
  }
  return sum;
}

Index LowRankMoves::draw_but(const double* column, Index at,
                             double left) const {
  Index found = at;
  for (Index i = 0; i < basis_.data().rows(); ++i) {
    if (i == at || !(column[i] > 0.0)) continue;
    found = i;
    left -= column[i];
    if (left < 0.0) break;
  }
  return found;
}
}  // namespace bayeskernel
