// One stochastic step of the nonlinear machine, compiled by the test that needs
// it.
// [[Rcpp::depends(bayeskernel, RcppEigen, BH)]]
// [[Rcpp::plugins(cpp17)]]
#include <Rcpp.h>

#include <bayeskernel/data/memory_readers.hpp>
#include <bayeskernel/gpsvm/features.hpp>
#include <bayeskernel/hinge/stochastic.hpp>

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
  MatrixReader reader(ConstMatrix(x.begin(), x.nrow(), x.ncol()),
                      ConstVector(y.begin(), y.size()));
  StreamColumns columns;
  for (int j = 0; j < x.ncol(); ++j) columns.source.push_back(j);
  columns.center = Eigen::VectorXd::Zero(x.ncol());
  columns.scale = Eigen::VectorXd::Ones(x.ncol());
  const StreamedRows base(reader, columns, 1, false, features.columns());
  SerialExecutor executor;
  const FeatureRows rows(base, features, executor);
  const Prior prior = unit_prior(features.columns());
  StochasticFit fit(rows, prior, executor, StochasticSettings());
  std::vector<Index> chosen;
  for (const int i : members) chosen.push_back(i - 1);
  fit.step_from_prior(chosen, rho);
  const auto& mean = fit.posterior().mean.x;
  const Eigen::MatrixXd whitener = fit.posterior().whitener();
  return Rcpp::List::create(
      Rcpp::Named("mean") =
          Rcpp::NumericVector(mean.data(), mean.data() + mean.size()),
      Rcpp::Named("whitener") = Rcpp::NumericMatrix(
          whitener.rows(), whitener.cols(), whitener.data()));
}
