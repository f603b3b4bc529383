#include "multinomial/left_out.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "eigen.hpp"
#include "multinomial/design.hpp"
#include "multinomial/mean_field.hpp"
#include "multinomial/regression.hpp"
#include "parallel/executor.hpp"
#include "simd/gram.hpp"
#include "simd/lower_product.hpp"

namespace bayeskernel {

namespace detail {

LeftOutClass::LeftOutClass(RegressionFactor factor, bool own)
    : factor_(std::move(factor)), product_(factor_.u()) {
  place_.assign(static_cast<std::size_t>(factor_.variance().size()), -1);
  const std::vector<Index>& active = factor_.active();
  for (std::size_t j = 0; own && j < active.size(); ++j) {
    place_[static_cast<std::size_t>(active[j])] = static_cast<Index>(j);
  }
}

void LeftOutClass::find(const Eigen::Ref<const MatrixXd>& k, Index first,
                        VectorXd& variance, VectorXd& pull) const {
  const std::vector<Index>& active = factor_.active();
  const Index m = static_cast<Index>(active.size()), n = k.cols();
  MatrixXd own(m, n), image(m, n);
  for (Index j = 0; j < m; ++j) own.row(j) = k.row(active[j]);
  variance = pull = VectorXd::Zero(n);
  if (m == 0) return;
  product_.apply(own.data(), n, image.data(), variance.data());
  for (Index i = 0; i < n; ++i) {
    const Index at = first + i < static_cast<Index>(place_.size())
                         ? place_[static_cast<std::size_t>(first + i)]
                         : -1;
    if (at < 0) continue;
    const double both =
        image.col(i).tail(m - at).dot(factor_.u().col(at).tail(m - at));
    pull[i] = both / factor_.variance()[first + i];
    variance[i] -= both * pull[i];
  }
}

}  // namespace detail

VectorXd left_out(const MultinomialFit& fit, const Design& design, bool own,
                  Executor& executor) {
  return left_out_probability(fit, left_out_moments(fit, design, own, executor),
                              1.0, executor);
}

}  // namespace bayeskernel
