#include "mcmc/tangents.hpp"

namespace bayeskernel {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFlat = 1e-10;

double crossing(const Tangent& a, const Tangent& b) {
  const double turn = a.slope - b.slope;
  if (!(turn > 0.0)) return 0.5 * (a.at + b.at);
  const double z = a.at + (b.value - a.value - b.slope * (b.at - a.at)) / turn;
  return std::clamp(z, a.at, b.at);
}
}  // namespace

void TangentHull::add(const Tangent& tangent) {
  const auto before = [](const Tangent& a, const Tangent& b) {
    return a.at < b.at || (a.at == b.at && a.slope > b.slope);
  };
  tangents_.insert(
      std::upper_bound(tangents_.begin(), tangents_.end(), tangent, before),
      tangent);
  if (tangents_.front().slope > 0.0 && tangents_.back().slope < 0.0) measure();
}

void TangentHull::measure() {
  pieces_.resize(tangents_.size());
  double low = -kInfinity, most = -kInfinity;
  for (std::size_t j = 0; j < tangents_.size(); ++j) {
    const Tangent& own = tangents_[j];
    const double high =
        j + 1 < tangents_.size() ? crossing(own, tangents_[j + 1]) : kInfinity;
    const double rate = std::abs(own.slope), width = high - low;
    // From the end where it is highest.
    const double top = own.slope > 0.0 ? high : low;
    pieces_[j] = {low, high, -kInfinity};
    if (width > 0.0 && rate * width < kFlat) {
      pieces_[j].log_mass = own.value + std::log(width);
    } else if (width > 0.0) {
      pieces_[j].log_mass = own.value + own.slope * (top - own.at) +
                            std::log(-std::expm1(-rate * width) / rate);
    }
    most = std::max(most, pieces_[j].log_mass);
    low = high;
  }
  double sum = 0.0;
  for (const Piece& piece : pieces_) sum += std::exp(piece.log_mass - most);
  log_mass_ = most + std::log(sum);
}

double TangentHull::log_density(double t) const {
  double least = kInfinity;
  for (const Tangent& own : tangents_) {
    least = std::min(least, own.value + own.slope * (t - own.at));
  }
  return least;
}

double TangentHull::draw(double pick, double u) const {
  std::size_t j = 0;
  for (; j + 1 < pieces_.size(); ++j) {
    pick -= std::exp(pieces_[j].log_mass - log_mass_);
    if (pick < 0.0) break;
  }
  while (j > 0 && pieces_[j].log_mass == -kInfinity) --j;
  const Piece& piece = pieces_[j];
  const double slope = tangents_[j].slope, rate = std::abs(slope);
  const double width = piece.high - piece.low;
  if (rate * width < kFlat) return piece.low + u * width;
  const double way = -std::log1p(u * std::expm1(-rate * width)) / rate;
  return slope > 0.0 ? piece.high - way : piece.low + way;
}
}  // namespace bayeskernel
