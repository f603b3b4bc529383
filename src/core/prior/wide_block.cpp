#include "prior/wide_block.hpp"

#include <Eigen/QR>

namespace bayeskernel {
WideBlock reduce_wide(PackedRows& rows, Prior& prior) {
  WideBlock wide;
  const Index n = rows.x.cols(), p = rows.x.rows();
  if (static_cast<double>(p) <= 1.2 * static_cast<double>(n)) return wide;
  for (Block& block : prior.blocks) {
    const bool last = block.first + block.members == p;
    if (block.eliminated || block.width != 1 || block.members <= n || !last ||
        block.kind == Block::Kind::point) {
      continue;
    }
    wide.first = block.first;
    Eigen::HouseholderQR<MatrixXd> qr(rows.x.bottomRows(block.members));
    wide.basis = qr.householderQ() * MatrixXd::Identity(block.members, n);
    const MatrixXd reduced =
        qr.matrixQR().topRows(n).triangularView<Eigen::Upper>();
    MatrixXd x(block.first + n, n);
    x.topRows(block.first) = rows.x.topRows(block.first);
    x.bottomRows(n) = reduced;
    rows.x.swap(x);
    block.hidden = block.members - n;
    block.members = n;
    prior.precision.conservativeResize(block.first + n);
    prior.mean.conservativeResize(block.first + n);
    break;
  }
  return wide;
}
}  // namespace bayeskernel
