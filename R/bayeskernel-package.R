#' Bayesian kernel machines
#'
#' [bkm()]: logistic, probit and normal models with fixed and random effects, smooths, Gaussian
#' processes ([gp()]), correlated units, selection and modelled missing predictors. [bsvm()]:
#' Bayesian linear support vector machines with fixed and random effects, smooths, selection and
#' modelled missing predictors. [gpsvm()]: nonlinear ones, with a Gaussian process on inducing
#' points and kernels such as [rbf()], from fifty rows to millions. All three by expectation
#' propagation, variational Bayes or Gibbs sampling. [bark()]: regression, two classes and ordered
#' classes by sums of an unknown number of kernels, by reversible jump sampling. [mkprobit()]: many
#' classes and many feature spaces, by combined kernels. [klr()]: two classes by kernels on a few
#' learned directions of the predictors. [seqkr()]: a number or two classes, row by row as they
#' come, by particles. See [bayeskernel-engines], [bayeskernel-diagnostics], [bayeskernel-large].
#'
#' @section Options:
#' * `bayeskernel.threads`: worker threads of a fit, default 2. Results do not depend on it.
#' * `bayeskernel.progress`: whether to draw a progress bar, default `interactive()`.
#' * `bayeskernel.max_bytes`: the most memory that the draws of a run, or a
#'   prediction, may take; by default what the computer has free.
#' * `bayeskernel.effects`: `"draws"` or `"delta"`, see [effects].
#'
#' @section Errors and warnings:
#' Every error has class `bayeskernel_error` and before it a finer one:
#' `bayeskernel_error_response`, `_missing`, `_dimension`, `_prior`, `_kernel`, `_numeric`,
#' `_argument` or `_cluster`. Where they apply, the fields `column`, `row`, `found` and `expected`
#' of the condition say the same as its text. Warnings have class `bayeskernel_warning` and before
#' it `bayeskernel_warning_convergence`, `_dropped_column`, `_max_iter`, `_separation`, `_jitter`,
#' `_interrupt`, `_response`, `_effects`, `_prior`, `_given_up`, `_learning_rate`, `_link`,
#' `_kernel`, `_identification`, `_outlier` or `_outside`.
#'
#' @references
#' Luts, J. and Ormerod, J. T. (2014). Mean field variational Bayesian inference
#' for support vector machine classification. *Computational Statistics & Data
#' Analysis* 73, 163-176. \doi{10.1016/j.csda.2013.10.030}
#'
#' Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017). Bayesian
#' nonlinear support vector machines for big data. *ECML PKDD 2017*.
#' \doi{10.1007/978-3-319-71249-9_19}
#'
#' Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD thesis, Duke University.
#'
#' @keywords internal
#' @useDynLib bayeskernel, .registration = TRUE
#' @importFrom Rcpp evalCpp
#' @importFrom RcppParallel RcppParallelLibs
#' @importFrom stats coef fitted formula model.frame nobs predict residuals
#' @importFrom stats terms vcov weights
"_PACKAGE"
