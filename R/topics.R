#' Inference engines: which method when
#'
#' | `method` | what it is | when |
#' |---|---|---|
#' | `"ep"` | expectation propagation | the default of [bkm()] and [bsvm()], also for rows in a
#' [row_source()], of which it keeps 16 bytes each: milliseconds, standard deviations as those of
#' the sampler |
#' | `"vb"` | mean-field variational Bayes | the method of the papers on support vector machines,
#' and the default with `select`: milliseconds, good predictions; its posterior's standard
#' deviations are too small, inclusion probabilities too extreme |
#' | `"gibbs"` | draws from the posterior | intervals, inclusion probabilities and imputed values
#' that are to be believed |
#' | `"svi"` | stochastic variational steps, then full passes | rows in a [row_source()] in half the
#' time and without memory; the answer is that of `"vb"` |
#'
#' What can be combined in [bkm()] and [bsvm()]:
#'
#' | | `"ep"` | `"vb"` | `"gibbs"` | `"svi"` |
#' |---|---|---|---|---|
#' | fixed and penalized terms, weights, offsets | yes | yes | yes | yes |
#' | random effects, smooths | yes | yes | yes | rows in memory |
#' | modelled missing predictors | yes | yes | yes | no |
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
#' | `"ep"` | expectation propagation | up to some 5e7 rows times inducing points: the default
#' there; standard deviations as those of the sampler |
#' | `"vb"` | variational Bayes by full passes | the papers' method |
#' | `"svi"` | an epoch of stochastic steps, then full passes | more; the answer is that of `"vb"`,
#' after a few passes less |
#' | `"svi"`, `max_iter = 0` | stochastic steps alone | millions of rows, prediction only, seconds |
#' | `"gibbs"` | draws from the posterior | the posterior's own standard deviations; every sweep is
#' a pass over all rows |
#' | `"ecm"` | the posterior mode, a classical support vector machine | to compare |
#'
#' `inducing = "all"` is the exact process, for at most 5000 rows.
#'
#' [bark()], for regressions and for classes, has one engine: reversible jump Markov chains
#' (`"rjmcmc"`) over sums of kernels, with selection among predictors, for some thousand rows. So
#' has [klr()], for two classes and a few directions among some dozens of predictors, with two
#' schemes of coefficients, see [klr_prior()]: `"truncated"`, whose sweeps take a fifth of the time,
#' and `"continuous"`, whose sweeps get farther each.
#'
#' [seqkr()], too, has one engine: particles (`"smc"`) that go over the rows
#' once and on with more of them by [extend()].
#'
#' How far standard deviations of `"vb"` fall short, as a share of the sampler's
#' (means over three or four simulated sets: 200 rows, three predictors, 20
#' groups of 10; of [gpsvm()] and [mkprobit()] 120 rows, two predictors):
#'
#' | | coefficients | f of the rows | probabilities |
#' |---|---|---|---|
#' | [bsvm()], posterior | .51 to .55 | .52 to .55 | |
#' | [bsvm()] with random intercepts, posterior | .64 to .66 | .62 to .63 | |
#' | [gpsvm()], kernel chosen by each fit | | .61 to .71 | |
#' | [mkprobit()], three classes | | | .64 to .69 |
#' | [bkm()], probit or logit | .98 to 1.00 | | |
#' | [bkm()], probit or logit, with random intercepts | .96 to .98 | .96 to .98 | |
#' | [bkm()], gaussian, with random intercepts | .99 to 1.00 | 1.00 to 1.06 | |
#'
#' Standard errors of [bsvm()] that are shown by default are sandwiches, which
#' `"vb"` has as `"ep"` has them, but where the classes are separated: there its
#' posterior was a hundredth of the sampler's (a slope's .36 against 280).
#'
#' Over data sets from the model's joint density, 90 % intervals of imputed values and of smooth
#' curves covered 90 % with `"gibbs"`, and 79 % and 75 % with `"vb"`, with ten rows each.
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
#' @name bayeskernel-large
NULL
