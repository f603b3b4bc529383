#' Inference engines: which method when
#'
#' | `method` | what it is | when |
#' |---|---|---|
#' | `"ep"` | expectation propagation | default: fast, standard deviations as the sampler's |
#' | `"vb"` | mean-field variational Bayes | with `select`; standard deviations too small |
#' | `"gibbs"` | Gibbs sampler | slowest, without approximation |
#' | `"svi"` | stochastic variational steps | rows in a [row_source()]; ends where `"vb"` does |
#'
#' What can be combined in [bkm()] and [bsvm()]:
#'
#' | | `"ep"` | `"vb"` | `"gibbs"` | `"svi"` |
#' |---|---|---|---|---|
#' | fixed and penalized terms, weights, offsets | yes | yes | yes | yes |
#' | random effects, smooths, processes ([gp()]) | yes | yes | yes | yes |
#' | correlated units, `cov` ([bkm()]) | yes | yes | yes | yes |
#' | modeled missing predictors, numbers and factors | yes | yes | yes | no |
#' | selection | inclusion of a `"vb"` fit, `polish = "ep"` | yes | yes | no |
#' | selection by terms, `inclusion = "term"` of the prior | no | with `polish = TRUE` | yes | no |
#'
#' Not together: processes and selection; factors that miss values and
#' selection; processes whose variables miss values and `"gibbs"`.
#'
#' For [gpsvm()]:
#'
#' | `method` | what it is | when |
#' |---|---|---|
#' | `"ep"` | expectation propagation | default up to 5e7 rows times inducing points |
#' | `"vb"` | variational Bayes by full passes | the method of the paper |
#' | `"svi"` | stochastic steps, then full passes | default for more; ends where `"vb"` does |
#' | `"svi"`, `max_iter = 0` | stochastic steps alone | millions of rows, prediction only |
#' | `"gibbs"` | Gibbs sampler | slowest, without approximation |
#' | `"ecm"` | posterior mode, a classical support vector machine | to compare |
#'
#' `inducing = "all"` is the exact process, for at most 5000 rows.
#'
#' [bark()] and [klr()] have one engine each, reversible jump Markov chains (`"rjmcmc"`), whose
#' number of kernels changes. [seqkr()] has one, too: particles (`"smc"`) that read the rows once.
#'
#' @section Expectation propagation in bkm() and bsvm(): EP replaces the likelihood of each row by a
#'   Gaussian factor with the same moments. Up to eight variances are averaged over by their
#'   evidence (the noise is one; `(x | g)` has three). With more, and with [gp()] terms under the
#'   hinge, they have inverse gamma factors as with `"vb"`, and standard deviations may be too
#'   small; `print()` says so. EP underestimates group variances when most groups have one class; a
#'   quadrature correction is applied. The fit has leave-one-out densities, see
#'   [logLik()][logLik.bayeskernel_fit], and an evidence, see [log_evidence()]. For small models
#'   `print()` reports a check by importance sampling. If EP does not converge, a warning is issued
#'   and the `"vb"` fit is returned. Limits of [bkm()] with random intercepts differ from the
#'   sampler's by 3 % of the length of the interval or less, its Monte Carlo error included.
#'
#' @section Variational Bayes in bkm() and bsvm(): `"vb"` treats coefficients and variances as
#'   independent. Its standard deviations are too small with learned variances, and inclusion
#'   probabilities too extreme; see the table. With `select` they are corrected by a short run of
#'   the sampler.
#'
#' @section The sampler in bkm() and bsvm(): `"gibbs"` draws from the posterior, with Polya-Gamma
#'   variables for `"logit"` and normal ones for `"probit"`. Weights of a probit model have to be
#'   whole. If the summary says that `"ep"` understates a group variance, use `"gibbs"`.
#'
#' @section Engines of gpsvm(): `"ep"` and `"vb"` cost the same; only `"ep"` has the right standard
#'   deviations and leave-one-out predictions (`fit$loo`). `fit$log_evidence` is that of a
#'   pseudo-likelihood and must not choose kernels. If EP does not converge, a warning is issued and
#'   the `"vb"` fit is returned.
#'
#' @section How far standard deviations of `"vb"` fall short: They are a half to two thirds of the
#'   sampler's with a hinge loss and in [mkprobit()], and 0.96 or more of them in [bkm()]. Standard
#'   errors of [bsvm()] are sandwiches by default, which are right with `"vb"`, too, unless the
#'   classes are separated.
#'
#' @references
#' Minka, T. P. (2001). Expectation propagation for approximate Bayesian inference. *Uncertainty in
#' Artificial Intelligence* 17, 362-369.
#'
#' Polson, N. G., Scott, J. G. and Windle, J. (2013). Bayesian inference for logistic models using
#' Polya-Gamma latent variables. *Journal of the American Statistical Association* 108, 1339-1349.
#'
#' Albert, J. H. and Chib, S. (1993). Bayesian analysis of binary and polychotomous response data.
#' *Journal of the American Statistical Association* 88, 669-679.
#'
#' @seealso [bayeskernel], the map of the package; [bayeskernel-diagnostics], [bayeskernel-large];
#'   [bkm_control()], [gpsvm_control()]; `vignette("choosing-a-model")`.
#'
#' @name bayeskernel-engines
NULL

#' Convergence diagnostics: can the draws be trusted?
#'
#' `summary()` shows for every coefficient R-hat, the disagreement of chains (rank normalized and
#' split; above 1.05 they have not mixed), and the effective sample size, the smaller of bulk and
#' tails (below 100 intervals are rough). A fit warns once when one of its parameters fails either.
#'
#' * `plot(fit, "trace")` shows the chains; [coda::as.mcmc.list()] and
#'   [posterior::as_draws()] hand the draws to other diagnostics.
#' * Raise `warmup` and `ndraws`; `control = list(resume = fit)` goes on where a run ended.
#' * With selection a column that is never in has constant draws and no R-hat;
#'   look at the `inclusion[...]` variables of [bsvm()], which always move.
#' * Kernels of [bark()] and [klr()] come and go: R-hat is of what means the same in every draw,
#'   such as the noise, the number of kernels and the function itself at ten rows.
#' * A variational fit has a bound, [elbo()], which never falls; it warns when
#'   `max_iter` passes did not suffice.
#'
#' @seealso [rhat.bayeskernel_fit], [stop_at()], [plot()][plot.bayeskernel_fit],
#'   [summary()][summary.bayeskernel_fit]; [bark_control()] for the length of its runs;
#'   [bayeskernel-engines].
#'
#' @name bayeskernel-diagnostics
NULL

#' Large data: rows that do not fit in memory
#'
#' [row_source()] names the rows of a database query, of a matrix or of text files.
#' `bsvm(source)`, `gpsvm(source)` and `bkm(source, y ~ x + (1 | id))` read them in blocks.
#'
#' The first reading checks every value and writes the rows to a temporary file in [tempdir()], with
#' 8 bytes a value. Later passes read this file. So memory does not grow with the number of rows,
#' and the disk needs room. A query need not give its rows in one order. Predictors are standardized
#' by the moments of all rows. The result is that of the same rows in a matrix, bit by bit, with any
#' number of threads.
#'
#' `gpsvm(x, y)` standardizes rows in memory and computes their features in chunks of some 65,000.
#' The features are kept if they fit into 1 GB.
#'
#' @section Rows in a source with bkm(): Without a formula every column of the source is a
#'   predictor. A formula may have numeric columns, [gp()] terms of such columns, and one random
#'   term, as in `bkm(source, ~ x + gp(t) + (1 | id))`. Let the query or the file compute other
#'   terms: smooths, factors and expressions are refused.
#'
#'   For [gp()] terms inducing points and open length-scales come from 10,000 rows that are evenly
#'   spread over the source. Variances have inverse gamma factors.
#'
#'   With a random term the fit is that of the data frame. The column names the groups by text,
#'   numbers or logical values, and the rows of a group may be anywhere. The temporary file is then
#'   sorted by group, which needs its room on disk twice for a while. `"svi"` takes steps by whole
#'   groups. Memory grows with rows (`"ep"` only) and with columns times effects times groups. Above
#'   4e7 of the latter a fit is refused, or above `options(bayeskernel.group_numbers = )`.
#'   [fitted()] and leave-one-out densities need the rows in memory.
#'
#' @section Crossed random terms: One random term is eliminated exactly. The others are columns of
#'   the model, exact too, up to 500 columns in all, if rows times the square of their number is at
#'   most 5e9. With more the terms are crossed: their cost grows linearly in rows and levels, and
#'   the fit says so. `"gibbs"` then draws all effects jointly and is exact. `"vb"` has exact means,
#'   and standard deviations that are nearly those of the columns if levels meet at random. If two
#'   nested terms are both crossed with the exact one, the standard deviations of the outer one are
#'   too small. Selection, modeled missing predictors and `"svi"` keep the columns and are refused
#'   above 5,000 of them.
#'
#' @section Rows over the workers of a cluster: `control = list(cluster = )` shares rows in memory
#'   among the workers of a cluster of package parallel, with `"ep"`, `"vb"` and `"svi"`; `"gibbs"`
#'   shares its chains. Each worker keeps its rows, groups stay whole, and sums are sent at each
#'   pass. The fit is that of one process, bit by bit. Workers pay off if a pass takes a second or
#'   more, because a message takes some 40 ms.
#'
#'   Rows are shared in runs of 65,536, or of 16,384 with 256 columns or more. Fewer rows go to one
#'   worker, and nothing is gained. With many groups `"ep"` is no faster. Not shared are selection,
#'   two large crossed random terms, more columns than rows, rows in a source, and missing numeric
#'   predictors in `bsvm()`. Such fits are computed as without `cluster`.
#'
#'   Rows that are on several computers, or too many for one, need not be sent: each worker opens
#'   its own, see "Rows that never meet" in [row_source()].
#'
#'   On sockets every pass may wait up to a tenth of a second, unless both ends send at once:
#'   ```
#'   options(socketOptions = "no-delay")
#'   cluster <- parallel::makePSOCKcluster(2, rscript_args = c(
#'     "-e", shQuote("options(socketOptions = 'no-delay')")
#'   ))
#'   ```
#' @seealso [row_source()], [bkm_control()] and [gpsvm_control()] for `cluster`;
#'   [bayeskernel-engines]; `vignette("large-data")`.
#'
#' @name bayeskernel-large
NULL

#' Glossary: words of this package
#'
#' * **calibration**: whether predicted probabilities are observed frequencies, see [calibration()].
#' * **chain**: one run of a sampler from its own start; fits have four by default.
#' * **collapsed**: a classifier that predicts only the common class; a warning is issued.
#' * **conditional prediction**: for a known group, with its own effect.
#' * **draw**: one sample of all parameters from the posterior.
#' * **effective sample size**: the number of independent draws with the same precision.
#' * **EP**: expectation propagation: each row's likelihood is replaced by a Gaussian factor, a
#'   site, until all agree.
#' * **ELBO, bound**: the quantity that variational Bayes maximizes; a lower bound of the log
#'   evidence.
#' * **epoch**: one pass over the rows in small batches, with `"svi"`.
#' * **evidence**: the probability of the data under a model; compares models with a likelihood, see
#'   [log_evidence()].
#'   Its logarithm is printed; larger is better.
#' * **f, latent value**: the linear predictor or function of a row, before the link.
#' * **feature space**: one group of columns, or one kernel matrix, that describes all objects.
#' * **hinge loss**: the loss of support vector machines, zero if y f is at least 1.
#' * **hyperparameter**: a parameter of a prior or of a kernel, as a length-scale; given, tuned or
#'   drawn.
#' * **inclusion probability**: the posterior probability that a predictor is in the model, see
#'   [inclusion()].
#' * **inducing points**: places that represent a Gaussian process, for large data.
#' * **iteration, sweep**: one update of every parameter by a sampler.
#' * **kernel**: a function of two rows that says how similar they are, see [kernels].
#' * **learning rate**: the power to which the likelihood is taken; 1 is the ordinary posterior.
#' * **leave-one-out (LOO)**: the prediction of a row by the other rows. The printed number is the
#'   sum of the log predictive densities of all rows; larger is better.
#' * **length-scale**: the distance over which a function changes; long if a predictor hardly
#'   matters.
#' * **link**: how f becomes a probability; for support vector machines calibrated on left-out rows.
#' * **marginal prediction**: for a new group, averaged over the distribution of groups.
#' * **missing value**: `NA` in a predictor; `missing = "model"` averages over it, see [imputed()].
#' * **particle**: one weighted sample of a particle filter, in `seqkr()`.
#' * **pass**: one update with all rows, of EP or variational Bayes.
#' * **penalty**: the prior precision of the coefficients, which shrinks them towards 0.
#' * **polish**: a short run of the sampler that corrects a variational selection.
#' * **pseudo-likelihood**: a loss used as a likelihood; it is not a probability of the response.
#' * **R-hat**: compares chains with one another; 1 if they agree.
#' * **sandwich**: standard errors that hold although the likelihood is not the true one.
#' * **separated**: classes that some function of the predictors predicts without error.
#' * **smooth**: a curve `s(x)`, as in mgcv.
#' * **stacking**: weights of chains by their prediction of left-out rows.
#' * **streaming data**: rows that arrive over time; `seqkr()`, `extend()`.
#' * **threshold**: the probability above which the positive class is predicted, 0.5 by default.
#' * **variational Bayes (VB)**: the posterior is approximated by a product of simple distributions.
#' * **warm-up**: iterations at the start of a chain that are discarded.
#'
#' @seealso [bayeskernel], the map of the package.
#' @name bayeskernel-glossary
#' @aliases glossary
NULL
