// Numbers of single rows of the likelihood families.
// [[Rcpp::depends(RcppEigen, BH)]]
// [[Rcpp::plugins(cpp17)]]
#include <Rcpp.h>

#include "likelihood/bounds.hpp"
#include "likelihood/tilted.hpp"
#include "predict/link.hpp"
#include "rng/polya_gamma.hpp"
#include <string>

using namespace bayeskernel;

static Family family_named(const std::string& name) {
  if (name == "hinge") return Family::hinge;
  if (name == "probit") return Family::probit;
  if (name == "logit") return Family::logit;
  if (name == "gaussian") return Family::gaussian;
  Rcpp::stop("no family " + name);
}

// Columns logZ, alpha1, alpha2, kappa, b.
// [[Rcpp::export]]
Rcpp::NumericMatrix tilted_rows(const std::string& family,
                                const Rcpp::NumericVector& m,
                                const Rcpp::NumericVector& v,
                                const Rcpp::NumericVector& r,
                                const Rcpp::NumericVector& y,
                                const Rcpp::NumericVector& w,
                                const Rcpp::NumericVector& noise) {
  const TiltedMoments moments(family_named(family));
  Rcpp::NumericMatrix out(m.size(), 5);
  for (int i = 0; i < m.size(); ++i) {
    const Tilted at = moments(y[i], w[i], m[i], v[i] + r[i], noise[i]);
    const Site factor = site(at, m[i], v[i], r[i]);
    out(i, 0) = at.log_z;
    out(i, 1) = at.alpha1;
    out(i, 2) = at.alpha2;
    out(i, 3) = factor.kappa;
    out(i, 4) = factor.b;
  }
  return out;
}

// Columns bound, gradient, curvature, kappa, b.
// [[Rcpp::export]]
Rcpp::NumericMatrix bound_rows(const std::string& family, bool direct,
                               const Rcpp::NumericVector& m,
                               const Rcpp::NumericVector& s,
                               const Rcpp::NumericVector& y,
                               const Rcpp::NumericVector& w,
                               const Rcpp::NumericVector& precision,
                               const Rcpp::NumericVector& log_variance) {
  const Family f = family_named(family);
  const DirectTerms direct_terms;
  Rcpp::NumericMatrix out(m.size(), 5);
  for (int i = 0; i < m.size(); ++i) {
    const Noise noise{precision[i], log_variance[i]};
    const RowTerms row =
        direct ? direct_terms(f, y[i], w[i], m[i], s[i], noise)
               : augmented_terms(f, y[i], w[i], m[i], s[i], noise);
    out(i, 0) = row.bound;
    out(i, 1) = row.gradient;
    out(i, 2) = row.newton;
    out(i, 3) = row.kappa;
    out(i, 4) = row.gradient + row.kappa * m[i];
  }
  return out;
}

// E g(f), f ~ N(m, v).
// [[Rcpp::export]]
Rcpp::NumericVector link_means(const std::string& link,
                               const Rcpp::NumericVector& m,
                               const Rcpp::NumericVector& v) {
  const LinkCurve curve(link == "probit"  ? Link::probit
                        : link == "hinge" ? Link::hinge
                                          : Link::logit);
  Rcpp::NumericVector out(m.size());
  for (int i = 0; i < m.size(); ++i) out[i] = curve.mean(m[i], v[i]);
  return out;
}

// Columns mean and variance.
// [[Rcpp::export]]
Rcpp::NumericMatrix polya_gamma_table(const Rcpp::NumericVector& w,
                                      const Rcpp::NumericVector& c) {
  Rcpp::NumericMatrix out(w.size(), 2);
  for (int i = 0; i < w.size(); ++i) {
    const PolyaGammaMoments at = polya_gamma_moments(w[i], c[i]);
    out(i, 0) = at.mean;
    out(i, 1) = at.variance;
  }
  return out;
}

// [[Rcpp::export]]
Rcpp::NumericVector polya_gamma_draws(int n, double w, double c, double seed) {
  Stream stream(static_cast<std::uint64_t>(seed), 0, Purpose::latent, 0, 0);
  Rcpp::NumericVector out(n);
  for (double& x : out) x = polya_gamma(stream, w, c);
  return out;
}
