#' Bayesian kernel machines
#'
#' Bayesian models with kernels, random effects, smooth terms and missing predictors, by one formula
#' interface. Fast approximations are the default; samplers are there for comparison. This page is
#' the map: find your task, then open the help of the function or the page.
#'
#' @section Fit a model:
#' * Mixed logistic, probit or Gaussian regression: [bkm()]; `vignette("mixed-logit")`.
#' * Curves, surfaces and Gaussian processes with random effects: [bkm()] with [gp()];
#'   `vignette("mixed-kernels")`.
#' * Correlated units, such as relatives, neighbors and species: [bkm()] with `cov`.
#' * Missing predictors: [bkm()] or [bsvm()] with `missing = "model"`;
#'   `vignette("missing-predictors")`.
#' * Linear classification with few errors: [bsvm()]; `vignette("toenail")`.
#' * Variable selection: [bsvm()] or [bkm()] with `select = TRUE`; `vignette("spam")`. Along an
#'   axis, such as a spectrum: [bark()] with [markov()]; `vignette("structured-selection")`.
#' * Non-linear classification, two or more classes: [gpsvm()]; `vignette("nonlinear")`.
#' * Non-linear regression if some predictors are irrelevant: [bark()]; `vignette("bark")`.
#' * Ordered classes: [bark()] with an ordered factor.
#' * Many classes or many feature spaces: [mkprobit()]; `vignette("feature-spaces")`.
#' * Streaming data: [seqkr()], [extend()]; `vignette("streaming")`.
#' * A few linear combinations of the predictors: [klr()]; `vignette("dimension-reduction")`.
#' * Data larger than memory: [row_source()]; `vignette("large-data")`.
#'
#' @section Use a fit:
#' * Read estimates: [summary()][summary.bayeskernel_fit], [coef()][coef.bayeskernel_fit],
#'   [ranef()][ranef.bayeskernel_fit], [tidy()][tidy.bayeskernel_fit]; `vignette("bayeskernel")`.
#' * Predict, with intervals: [predict()][predict.bayeskernel_fit];
#'   `vignette("prediction-and-probabilities")`.
#' * Plot effects, residuals and calibration: [plot()][plot.bayeskernel_fit].
#' * Which predictors matter: [inclusion()], [compare_terms()], [exposure()], [kernel_weights()],
#'   [projection()].
#' * Compare models: [`anova()`][anova.bayeskernel_fit], [log_evidence()], [compare_terms()],
#'   [logLik()][logLik.bayeskernel_fit].
#' * Average effects and contrasts: [effects], with marginaleffects and emmeans.
#' * Check predictions: [calibration()], [brier_score()], [log_loss()], [auc()], [balanced_error()].
#' * Check a sampler: [bayeskernel-diagnostics], [rhat.bayeskernel_fit], [stop_at()].
#' * Draws for other packages: [draws],
#'   [rstantools::posterior_predict()][posterior_predict.bayeskernel_fit].
#' * Standard errors and probabilities of support vector machines: [svm-posterior].
#'
#' @section Background: [bayeskernel-engines] (which method when), [bayeskernel-large] (large data
#'   and clusters), [kernels], [fit-arguments] (common arguments and methods),
#'   [bayeskernel-glossary] (the words), `vignette("from-other-packages")` (lme4, mgcv, e1071 and
#'   others line by line).
#'
#' @section Options:
#' * `bayeskernel.threads`: worker threads of a fit, default 2. Results do not depend on it.
#' * `bayeskernel.progress`: whether to draw a progress bar, default `interactive()`.
#' * `bayeskernel.max_bytes`: the most memory that the draws of a run may take, by default what the
#'   computer has free, or a prediction, by default 8e9.
#' * `bayeskernel.effects`: `"draws"` or `"delta"`, see [effects].
#'
#' @section Errors and warnings:
#' Every error has class `bayeskernel_error` and before it a finer one:
#' `bayeskernel_error_response`, `_missing`, `_dimension`, `_prior`, `_kernel`, `_numeric`,
#' `_argument` or `_cluster`. Where they apply, the fields `column`, `row`, `found` and `expected`
#' of the condition say the same as its text. Warnings have class `bayeskernel_warning` and before
#' it `bayeskernel_warning_convergence`, `_dropped_column`, `_max_iter`, `_separation`, `_jitter`,
#' `_interrupt`, `_response`, `_effects`, `_prior`, `_given_up`, `_learning_rate`, `_link`,
#' `_kernel`, `_identification`, `_outlier`, `_outside` or `_weights`.
#'
#' @section Papers:
#' [published()] has the arguments of each paper, and [reproduce()] runs its tables and figures. The
#' package's site has an article for each.
#' * `"luts2014"`, [bsvm()]: Luts, J. and Ormerod, J. T. (2014). Mean field variational Bayesian
#'   inference for support vector machine classification. *Computational Statistics & Data
#'   Analysis* 73, 163-176. \doi{10.1016/j.csda.2013.10.030}
#' * `"wenzel2017"`, [gpsvm()]: Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017).
#'   Bayesian nonlinear support vector machines for big data. *ECML PKDD 2017*.
#'   \doi{10.1007/978-3-319-71249-9_19}
#' * `"damoulas2009"`, [mkprobit()]: Damoulas, T. and Girolami, M. A. (2009). Combining feature
#'   spaces for classification. *Pattern Recognition* 42, 2671-2683.
#'   \doi{10.1016/j.patcog.2009.04.002}
#' * `"ouyang2008"`, [bark()] and [klr()]: Ouyang, Z. (2008). *Bayesian additive regression
#'   kernels*. PhD thesis, Duke University.
#' * `"vermaak2004"`, [seqkr()]: Vermaak, J., Godsill, S. J. and Doucet, A. (2004). Sequential
#'   Bayesian kernel regression. *Advances in Neural Information Processing Systems* 16.
#'
#' @references
#' Polson, N. G. and Scott, S. L. (2011). Data augmentation for support vector machines. *Bayesian
#' Analysis* 6, 1-23. \doi{10.1214/11-BA601}
#'
#' @keywords internal
#' @useDynLib bayeskernel, .registration = TRUE
#' @importFrom Rcpp evalCpp
#' @importFrom RcppParallel RcppParallelLibs
#' @importFrom stats coef fitted formula model.frame nobs predict residuals
#' @importFrom stats terms vcov weights
"_PACKAGE"
