#include "rows/sums.hpp"

namespace bayeskernel {
Curvature::Curvature(Index p, Index r, Index groups)
    : gram(MatrixXd::Zero(p, p)),
      cross(MatrixXd::Zero(p, r * groups)),
      group_gram(MatrixXd::Zero(r, r * groups)) {}

ArrowVector::ArrowVector(Index p, Index r, Index groups)
    : x(VectorXd::Zero(p)), group(MatrixXd::Zero(r, groups)) {}

double ArrowVector::dot(const ArrowVector& other) const {
  return x.dot(other.x) + group.cwiseProduct(other.group).sum();
}

void add_product(const Curvature& curvature, const ArrowVector& point,
                 double sign, ArrowVector& out) {
  const Index r = point.group.rows();
  if (point.x.size() > 0) {
    out.x.noalias() +=
        sign * (curvature.gram.selfadjointView<Eigen::Lower>() * point.x);
    if (point.group.size() > 0) {
      out.x.noalias() += sign * (curvature.cross * point.effects());
      out.effects().noalias() += sign * (curvature.cross.transpose() * point.x);
    }
  }
  for (Index g = 0; g < point.group.cols(); ++g) {
    out.group.col(g).noalias() +=
        sign * (curvature.group_gram.middleCols(g * r, r) * point.group.col(g));
  }
}

void Sums::clear(Index p, bool with_newton, Gather what) {
  if (what == Gather::all) curvature.gram.setZero(p, p);
  if (with_newton) newton.gram.setZero(p, p);
  if (what != Gather::nothing) linear.x.setZero(p);
  bound = power = squares = 0.0;
  margin = std::numeric_limits<double>::infinity();
}

void Sums::add(const Sums& part, bool with_newton, Gather what) {
  if (what == Gather::all) curvature.gram += part.curvature.gram;
  if (with_newton) newton.gram += part.newton.gram;
  if (what != Gather::nothing) linear.x += part.linear.x;
  bound += part.bound;
  margin = std::min(margin, part.margin);
  power += part.power;
  squares += part.squares;
}

void Sums::scale(double factor) {
  curvature.gram *= factor;
  curvature.cross *= factor;
  curvature.group_gram *= factor;
  linear.x *= factor;
  linear.group *= factor;
}
}  // namespace bayeskernel
