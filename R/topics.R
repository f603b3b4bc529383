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
#' | random effects, smooths | yes | yes | yes | rows in memory |
#' | modeled missing predictors | yes | yes | yes | no |
#' | factors among them | yes | yes | no | no |
#' | processes, [gp()] | yes | yes | yes | no |
#' | correlated units, `cov` ([bkm()]) | yes | yes | yes | rows in memory |
#' | selection | inclusion of a `"vb"` fit, `polish = "ep"` | yes | yes | no |
#' | selection by terms, `inclusion = "term"` of the prior | no | no | yes | no |
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
#'   and the `"vb"` fit is returned.
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
#' @section How far standard deviations of `"vb"` fall short: The table has them as a share of the
#'   sampler's: means over a few simulated sets of 120 or 200 rows.
#'
#'   | | coefficients | f of the rows | probabilities |
#'   |---|---|---|---|
#'   | [bsvm()], posterior | .51 to .55 | .52 to .55 | |
#'   | [bsvm()] with random intercepts, posterior | .64 to .66 | .62 to .63 | |
#'   | [gpsvm()], kernel chosen by each fit | | .61 to .71 | |
#'   | [mkprobit()], three classes | | | .64 to .69 |
#'   | [bkm()], probit or logit | .98 to 1.00 | | |
#'   | [bkm()], probit or logit, with random intercepts | .96 to .98 | .96 to .98 | |
#'   | [bkm()], gaussian, with random intercepts | .99 to 1.00 | 1.00 to 1.06 | |
#'
#'   Standard errors of [bsvm()] are sandwiches by default, which are right with `"vb"`, too, unless
#'   the classes are separated.
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
#' [row_source()] names the rows of a database query, of text files or of files by [write_rows()];
#' `bsvm(source)` reads them in blocks. The first reading checks every value and keeps the rows in a
#' temporary file of 8 bytes a value, in [tempdir()]; further passes read that file. So memory does
#' not grow with the number of rows, the disk must have room, and a query need not give its rows in
#' one order. [bkm()] takes a formula for them, with [gp()] terms and a random term,
#' `bkm(source, y ~ x + (1 | id))`.
#'
#' Predictors are standardized by the moments of all rows. Results do not depend on the number of
#' threads, and equal those of the same `method` for the same rows in a matrix bit by bit.
#'
#' `gpsvm(x, y)` copies no large matrix: rows are standardized, and their features computed, a chunk
#' of some 65,000 at a time. Features are kept if they fit into 1 GB.
#'
#' `gpsvm(..., control = list(cluster = ))` shares the rows among the workers of a cluster of
#' package parallel, once; at each pass every worker sends the sums of its shards, at most 16 in
#' all, of a size that depends on the number of inducing points alone. With `method = "ep"` the
#' sites of a row stay with its worker; what they say of the row comes back once, in the end. The
#' fit is that of one process, bit by bit.
#'
#' So does `cluster` with [bkm()] and [bsvm()] for rows in memory, with `"ep"`, `"vb"` and `"svi"`;
#' groups stay whole, and numbers of each group travel with the sums.
#'
#' On sockets every pass may wait up to a tenth of a second for the answer, unless
#' both ends send at once:
#' ```
#' options(socketOptions = "no-delay")
#' cluster <- parallel::makePSOCKcluster(2, rscript_args = c(
#'   "-e", shQuote("options(socketOptions = 'no-delay')")
#' ))
#' ```
#'
#' @section Rows in a source with bkm(): `bkm(source)` has every column of a [row_source()] as a
#'   predictor. With `formula`, `bkm(source, ~ gp(x1, x2) + z)`, or with the source as `data` of `y
#'   ~ gp(x1, x2) + z`, it has numeric columns and [gp()] terms of such columns, whose `by` is a
#'   number. Inducing points, and length-scales that are open, come from 10,000 rows evenly spread
#'   over the source, on whose standard deviations given length-scales are; columns of the processes
#'   are computed block by block at every reading, so that no feature is kept, in memory or on disk.
#'   Variances have inverse gamma factors, those of processes the value at the maximum, whatever
#'   their number.
#'
#'   One random term of a column, `(1 | id)` or `(x | id)`, may be added:
#'   `bkm(source, ~ x + gp(t) + (1 | id))`. The column names the groups by text, numbers or logical
#'   values; those of a text file that are all numbers are numbers. Rows of a group may be anywhere:
#'   the temporary file is sorted by group where they did not come so, for which it needs its room
#'   on disk twice for a while. With such a term a fit is that of the data frame, the grid of
#'   variances of `"ep"` and its evidence by group included; and `"svi"` takes steps by whole
#'   groups. In memory are numbers for each row with `"ep"`, many for each column of each effect of
#'   each group, and two chunks of rows, in which a group is never split: with 2e6 rows, 10 columns
#'   and 100,000 groups R took 0.45 GB with `"vb"` and 0.69 GB with `"ep"`. Above 4e7 columns times
#'   effects times groups a fit is refused: `options(bayeskernel.group_numbers = )` is that limit.
#'   Rows come without moments of their own: `fitted()` and leave-one-out densities need the rows in
#'   memory. The sandwich of family `"hinge"` is by group, of `"ep"`.
#'
#'   Other random terms, smooths, factors and expressions are refused: let the
#'   query or the file have computed columns, or give the rows as a data frame.
#'
#'   Rows in memory have such columns, too, where they would be more than 1e8 numbers with those of
#'   the other terms, with `"ep"` and `"vb"` and without missing values: together with any terms
#'   that these take; `"ep"` then has inverse gamma factors for all variances.
#'
#' @section Crossed random terms: Of several random terms one is eliminated exactly; the others are
#'   columns of the model, exact too, while they have at most 500 columns in all and rows times the
#'   square of their number is at most 5e9. Beyond that the terms are crossed: their cost grows
#'   linearly in rows and levels, and the fit says so. `"vb"` then keeps exact means, the fixed
#'   effects and one term (the inner one of nested terms) given all others; the levels of each
#'   further term are independent given the fixed effects and one direction that the levels of a
#'   term share, which matters least where levels meet at random: standard deviations are within
#'   about 1 per cent of those of the columns. If two nested terms are both crossed with the exact
#'   one, the standard deviations of the outer one are too small. `"gibbs"` draws all effects
#'   jointly and is exact. Selection, modeled missing predictors and `"svi"` keep the columns and
#'   are refused above 5,000 of them.
#'
#' @section Rows over the workers of a cluster: With `cluster` the methods `"ep"`, `"vb"` and
#'   `"svi"` share the rows in memory among the workers, `"gibbs"` its chains. Each worker keeps its
#'   rows, cut where groups of the random term with most effects begin, and sends sums at each pass,
#'   which are added in the order of the rows: the fit is that of one process, bit by bit. All
#'   terms, families and weights, and modeled missing predictors of families that are no hinge, may
#'   be there. Sums take p^2 numbers for p columns, at most 16 times, and of groups p + r numbers
#'   for each of their r effects, both ways; with [gp()] terms and `"vb"` a number a row comes back,
#'   too. With `"ep"` messages are exchanged once for each value of the variances, nine numbers a
#'   row at most; evidence by group and what is said of each row are computed here, as are the
#'   stochastic epochs of `"svi"`: with many groups `"ep"` is no faster. Rows are shared in runs of
#'   65,536, of 16,384 from 256 columns on: fewer go to one worker, and nothing is gained. See
#'   [bayeskernel-large] on sockets that do not wait.
#'
#'   Not shared are selection, random terms that are crossed and both large (with `"ep"` and `"vb"`,
#'   where they are eliminated together), more columns than rows, rows in a source, and missing
#'   numeric predictors in bsvm(): such fits are computed as without `cluster`.
#'
#' @section Workers of gpsvm(): Every pass waits for the slowest worker, and a message
#'   takes some 40 ms: workers pay off where a pass takes a second or more. For
#'   `"ep"` every worker keeps the sites of its rows, 56 bytes a row.
#'
#' @seealso [row_source()], [write_rows()], [bkm_control()] and [gpsvm_control()] for `cluster`;
#'   [bayeskernel-engines]; `vignette("large-data")`.
#'
#' @name bayeskernel-large
NULL

#' Glossary: words of this package
#'
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
#' * **evidence**: the probability of the data under a model; compares models with a likelihood.
#' * **f, latent value**: the linear predictor or function of a row, before the link.
#' * **feature space**: one group of columns, or one kernel matrix, that describes all objects.
#' * **hinge loss**: the loss of support vector machines, zero if y f is at least 1.
#' * **inclusion probability**: the posterior probability that a predictor is in the model.
#' * **inducing points**: places that represent a Gaussian process, for large data.
#' * **iteration, sweep**: one update of every parameter by a sampler.
#' * **kernel**: a function of two rows that says how similar they are.
#' * **learning rate**: the power to which the likelihood is taken; 1 is the ordinary posterior.
#' * **leave-one-out (LOO)**: the prediction of a row by the other rows.
#' * **length-scale**: the distance over which a function changes; long if a predictor hardly
#'   matters.
#' * **link**: how f becomes a probability; for support vector machines calibrated on left-out rows.
#' * **marginal prediction**: for a new group, averaged over the distribution of groups.
#' * **missing value**: `NA` in a predictor; `missing = "model"` averages over it.
#' * **particle**: one weighted sample of a particle filter, in `seqkr()`.
#' * **pass**: one update with all rows, of EP or variational Bayes.
#' * **polish**: a short run of the sampler that corrects a variational selection.
#' * **pseudo-likelihood**: a loss used as a likelihood; it is not a probability of the response.
#' * **R-hat**: compares chains with one another; 1 if they agree.
#' * **sandwich**: standard errors that hold although the likelihood is not the true one.
#' * **separated**: classes that some function of the predictors predicts without error.
#' * **smooth**: a curve `s(x)`, as in mgcv.
#' * **stacking**: weights of chains by their prediction of left-out rows.
#' * **streaming data**: rows that arrive over time; `seqkr()`, `extend()`.
#' * **variational Bayes (VB)**: the posterior is approximated by a product of simple distributions.
#' * **warm-up**: iterations at the start of a chain that are discarded.
#'
#' @seealso [bayeskernel], the map of the package.
#' @name bayeskernel-glossary
#' @aliases glossary
NULL
