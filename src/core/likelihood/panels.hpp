// Gauss-Legendre panels for what a row's likelihood meets: cut where it bends,
// more and more widely about 0, and about the mode of a density by its width.
#pragma once

#include <array>

#include "eigen.hpp"

namespace bayeskernel {
class MarginPanels {
 public:
  using Nodes = Eigen::Array<double, 16, 1>;

  MarginPanels();

  // visit(middle, half, node, log_weight) for every panel of (low, high): its
  // nodes are middle + half * node, their weights half * exp(log_weight).
  template <class Visit>
  void for_nodes(double low, double high, double mode, double width,
                 Visit&& visit) const {
    std::array<double, 24> cut;
    std::size_t size = 0;
    const auto about = [&](double centre, double unit) {
      cut[size++] = centre;
      for (const double multiple : {1.0, 3.0, 7.0, 16.0, 40.0}) {
        cut[size++] = centre - multiple * unit;
        cut[size++] = centre + multiple * unit;
      }
    };
    about(0.0, 1.0);
    about(mode, width);
    cut[size++] = high;
    cut[size++] = low;
    std::sort(cut.begin(), cut.end());
    double from = low;
    for (const double to : cut) {
      if (!(to > from)) continue;
      if (to > high) break;
      visit(0.5 * (from + to), 0.5 * (to - from), node_, log_weight_);
      from = to;
    }
  }

 private:
  Nodes node_, log_weight_;
};
}  // namespace bayeskernel
