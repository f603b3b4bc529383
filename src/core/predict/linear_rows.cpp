#include "predict/linear_rows.hpp"

#include <Eigen/Core>
#include <cstddef>
#include <vector>

namespace bayeskernel {

std::vector<int> LinearRows::observed(const Pattern& pattern) const {
  std::vector<int> out;
  std::size_t next = 0;
  for (int j = 0; j < static_cast<int>(predictors.cols()); ++j) {
    if (next < pattern.predictors.size() && pattern.predictors[next] == j) {
      ++next;
    } else {
      out.push_back(j);
    }
  }
  return out;
}

}  // namespace bayeskernel
