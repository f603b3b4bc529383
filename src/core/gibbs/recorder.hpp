// Turns states of a Gibbs chain into draws on the scale of the data.
#pragma once

#include "eigen.hpp"
#include "linear/gibbs.hpp"
#include "prior/blocks.hpp"
#include "prior/wide_block.hpp"

namespace bayeskernel {
class Recorder {
 public:
  // `n_fixed` columns of x with their transforms; `transform[l]` maps the
  // members of block l to the scale of the data (empty: not a random term).
  Recorder(const VectorXd& center, const VectorXd& scale, bool intercept,
           const Prior& prior, std::vector<MatrixXd> transform,
           const WideBlock& wide, std::uint64_t seed, bool with_members,
           bool with_noise = false)
      : center_(center),
        scale_(scale),
        intercept_(intercept),
        prior_(prior),
        transform_(std::move(transform)),
        wide_(wide),
        seed_(seed),
        with_members_(with_members),
        with_noise_(with_noise) {}

  Index variables() const;

  // Writes variable v of the draw to out[v * stride].
  void write(const GibbsState& state, std::uint64_t chain, double* out,
             Index stride) const;

 private:
  bool is_random(std::size_t l) const { return transform_[l].size() > 0; }

  // theta of the wide block = Q theta' + (I - QQ') N(0, sigma^2 I).
  void complete(const GibbsState& state, std::uint64_t chain,
                VectorXd& theta) const;

  VectorXd center_, scale_;
  bool intercept_;
  const Prior& prior_;
  std::vector<MatrixXd> transform_;
  const WideBlock& wide_;
  std::uint64_t seed_;
  bool with_members_, with_noise_;
};
}  // namespace bayeskernel
