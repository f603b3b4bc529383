// One stochastic step of the nonlinear machine, compiled by the test that needs
// it.
// [[Rcpp::depends(RcppEigen, BH)]]
// [[Rcpp::plugins(cpp17)]]
#include <Rcpp.h>

#include "rows/memory_readers.hpp"
#include "gp/features.hpp"
#include "linear/pass.hpp"
#include "linear/row_rules.hpp"
#include "linear/system.hpp"

// Of size rho from the prior on the rows named (1-based): the whitened q. The
// kernel is a sum of Gaussian ones, a row of `lengthscale` for each; x is n x d,
// z is d x m, y is 0 or 1.
// [[Rcpp::export]]
Rcpp::List gpsvm_step(const Rcpp::NumericMatrix& x,
                      const Rcpp::NumericVector& y,
                      const Rcpp::NumericMatrix& lengthscale,
                      const Rcpp::NumericVector& variance,
                      const Rcpp::NumericMatrix& z, double nugget,
                      const Rcpp::IntegerVector& members, double rho) {
  using namespace bayeskernel;
  using ConstMatrix = Eigen::Map<const Eigen::MatrixXd>;
  using ConstVector = Eigen::Map<const Eigen::VectorXd>;
  const ConstMatrix scales(lengthscale.begin(), lengthscale.nrow(),
                           lengthscale.ncol());
  std::vector<Kernel> parts;
  for (int k = 0; k < variance.size(); ++k) {
    parts.push_back(Kernel::rbf(scales.row(k).transpose(), variance[k]));
  }
  const Features features(parts.size() == 1 ? parts[0]
                                            : Kernel::sum(std::move(parts)),
                          ConstMatrix(z.begin(), z.nrow(), z.ncol()), nugget);
  Eigen::MatrixXd part_x(members.size(), x.ncol());
  Eigen::VectorXd part_y(members.size());
  for (int i = 0; i < members.size(); ++i) {
    for (int j = 0; j < x.ncol(); ++j) part_x(i, j) = x(members[i] - 1, j);
    part_y[i] = y[members[i] - 1];
  }
  MatrixReader reader(
      ConstMatrix(part_x.data(), part_x.rows(), part_x.cols()),
      ConstVector(part_y.data(), part_y.size()));
  StreamColumns columns;
  for (int j = 0; j < x.ncol(); ++j) columns.source.push_back(j);
  columns.center = Eigen::VectorXd::Zero(x.ncol());
  columns.scale = Eigen::VectorXd::Ones(x.ncol());
  const StreamedRows base(reader, columns, 1, false, features.columns());
  SerialExecutor executor;
  const FeatureRows rows(base, features, executor);
  const Prior prior = unit_prior(features.columns());
  const Index m = features.columns();
  // The prior, then A and h at it, rho times those of all rows.
  ArrowSystem system(m, 0, 0);
  GaussianPosterior q(m, 0, 0);
  Curvature curvature(m, 0, 0);
  ArrowVector shift(m, 0, 0);
  const auto move = [&] {
    system.factor(curvature, prior, prior.start());
    system.solve(shift, q.mean);
    q.set_covariance(system);
  };
  move();
  Moments at;
  at.q = &q;
  Sums sums(m, 0, 0);
  Pass(rows, executor).run(at, RowRules(RowModel()).later(), Second::none, sums);
  const double share = rho * static_cast<double>(x.nrow()) /
                       static_cast<double>(members.size());
  curvature.gram = share * sums.curvature.gram;
  shift.x = share * sums.linear.x;
  move();
  const auto& mean = q.mean.x;
  const Eigen::MatrixXd whitener = q.whitener();
  return Rcpp::List::create(
      Rcpp::Named("mean") =
          Rcpp::NumericVector(mean.data(), mean.data() + mean.size()),
      Rcpp::Named("whitener") = Rcpp::NumericMatrix(
          whitener.rows(), whitener.cols(), whitener.data()));
}
