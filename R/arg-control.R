# What only tunes an engine, or says how a run is made, is no argument of its own: it stands in
# `control`. For each model one function makes it, whose arguments are its entries and whose
# defaults are theirs; read_settings() spreads it among the settings. A new entry is an argument of
# that function, a line of its page, and a check among the model's arguments (or in
# `house_arguments`).

#' Control of bkm() and bsvm()
#'
#' What only tunes an engine or says how it is run, for the argument `control` of [bkm()] and
#' [bsvm()]. A plain list with some of these names does as well, `control = list(tol = 1e-8)`.
#'
#' @param warmup,thin For `"gibbs"`: discarded sweeps, default 1000; sweeps per
#'   kept draw, default 1.
#' @param resume A fit by a sampler to the same model and data. Its chains are continued until each
#'   holds `ndraws` draws in all. Chains that hold as many are left as they are.
#' @param tol,max_iter When to stop. For `"ep"`: once no site moves by more than `tol` posterior
#'   standard deviations, 1e-3. Each set of variances has at most `max_iter` passes, 100. For
#'   `"vb"`: once a step gains less than `tol * (1 + abs(elbo) / 1000)`, 1e-6, and at most
#'   `max_iter` passes over the data, 2000, which warns; a selection takes at most 40,000 passes in
#'   all. `NULL`, the default: these.
#' @param accelerate For variational methods: steps that use the curvature of
#'   [elbo()] and are extrapolated (default). `FALSE` gives plain coordinate
#'   ascent, which arrives at the same place more slowly.
#' @param starts For `"vb"` with selection: where the inclusion probabilities start, numbers in (0,
#'   1\], or `"marginal"`, where each column alone puts them; the fit with the highest [elbo()] is
#'   kept. `NULL`, the default, is `c(1, 0.5, 0.1, "marginal")`; the paper's is 1. Among more than
#'   500 columns, without random or smooth terms and modeled missing values, it starts from none.
#'   Columns enter where they raise the bound of the whole model. Those that can replace them are
#'   tried from the four starts, and columns change places while the bound rises. Where no
#'   column can be excluded, all are looked at, up to 3000 of them.
#' @param polish For `"vb"` with selection: where the inclusion probabilities that are reported
#'   ([inclusion()]) come from. `TRUE`, the default: four chains of the sampler from the optimum,
#'   whose 1000 draws the fit keeps. They have 50 + 250 sweeps, and more, up to 4000, where R-hat is
#'   above 1.05, of more than 100,000 numbers above 1.15. Above 1.2 there is a warning.
#'   Coefficients, predictions and all else are theirs,
#'   too. After a search from none it visits the columns that are in and those that can stand in for
#'   them, some 60; of more than 2000 columns the fit keeps draws of these alone. `"ep"`:
#'   expectation propagation with messages to the columns, on a grid of the scale of their Laplace
#'   prior (and of `rho`, where that is learned); it takes no random numbers, needs complete
#'   predictors and at most 1000 columns, and chooses `method = "vb"` where none is given. `FALSE`:
#'   the optimum's own, as in the paper.
#' @param batch_size,epochs For `"svi"`: rows of a minibatch, default max(256, 4 p) for p columns;
#'   stochastic passes over the rows before the full ones, default 1, and 0 for full ones alone.
#' @param keep_ranef Store draws of the random effects (default). `FALSE` saves
#'   memory with many groups; predictions then treat every group as new.
#' @param keep_imputed Store draws of the missing values too. Default `FALSE`:
#'   their means and standard deviations, which [imputed()] gives.
#' @param cluster A cluster such as [parallel::makePSOCKcluster()] makes, or a list of clusters.
#'   Clusters of packages parallelly, snow and mirai work, too. Its workers have bayeskernel
#'   installed. They share the chains or, where the model's page says so, the rows. The fit is the
#'   same as without.
#' @param progress Show progress and time left. For chains that run in rounds (`until`) each round
#'   has a line, and in a script these are all.
#' @param on_interrupt What Ctrl-C does: `"stop"` goes back to the prompt; `"keep"` returns the
#'   draws so far, or the state of the variational iteration, with a warning.
#' @param ... Not used: what is not among these arguments is an error.
#' @return A list of class `bayeskernel_control` with the arguments as elements.
#' @section Errors: `bayeskernel_error_argument`, which lists the entries.
#' @seealso [bkm()], [bsvm()], [bayeskernel-engines], [bayeskernel-large].
#' @examples
#' bkm_control(tol = 1e-8, max_iter = 500)
#' bsvm(am ~ wt, mtcars, method = "vb", control = list(tol = 1e-10))
#' @export
bkm_control <- function(warmup = 1000, thin = 1, resume = NULL, tol = NULL, max_iter = NULL,
                        accelerate = TRUE, starts = NULL, polish = TRUE, batch_size = NULL,
                        epochs = 1, keep_ranef = TRUE, keep_imputed = FALSE, cluster = NULL,
                        progress = getOption("bayeskernel.progress", interactive()),
                        on_interrupt = c("stop", "keep"), ...) {
  refuse_others(...)
  new_control("bkm", environment())
}

#' @rdname bkm_control
#' @export
bsvm_control <- function(warmup = 1000, thin = 1, resume = NULL, tol = NULL, max_iter = NULL,
                         accelerate = TRUE, starts = NULL, polish = TRUE, batch_size = NULL,
                         epochs = 1, keep_ranef = TRUE, keep_imputed = FALSE, cluster = NULL,
                         progress = getOption("bayeskernel.progress", interactive()),
                         on_interrupt = c("stop", "keep"), ...) {
  refuse_others(...)
  new_control("bsvm", environment())
}

#' Control of gpsvm()
#'
#' What only tunes an engine or says how it is run, for the argument `control`
#' of [gpsvm()]. A plain list with some of these names does as well.
#'
#' @inheritParams bkm_control
#' @param tol,max_iter Variational engines: stop when a pass gains less than
#'   `tol * (1 + abs(elbo) / 1000)`; cap on full passes, default 500, which warns. For `"svi"`,
#'   `max_iter = 0` takes the stochastic steps alone. For `"ep"`: once no site moves by more than
#'   `tol` standard deviations, default 1e-3. For `"ecm"`: relative change of the objective.
#' @param batch_size,epochs,rate,epoch_tol For `"svi"`: rows of a minibatch, default max(256, 4 m,
#'   min(n / 400, 2048)) for m inducing points; most stochastic passes over the rows, default 1; the
#'   step size, `"rm"` for (t + 1)^-0.7 with averaging of the last half, or `"adaptive"` for the
#'   rule of Ranganath et al. (2013), never below the other; and, if above 0, the relative change of
#'   the averaged bound at which the epochs end early.
#' @param kernel_steps For `"svi"` and two classes: after so many stochastic steps one of the
#'   kernel's parameters and of the inducing points, along the gradient of the bound, in the first
#'   half of the steps; 0 (default) for none. The paper has 10. Then `tune` is `FALSE` unless it is
#'   given.
#' @param tune_rows Most rows that `tune` looks at, default 10000; not asked for
#'   by name, 1000. Where rows x m^2 is above 1e8 it has fewer inducing points
#'   than the fit, but a hundred, unless they are given or moved.
#' @param optimize_inducing With `tune = "bound"`, which it then is: move the
#'   inducing points too, after the kernel. Default `FALSE`.
#' @param seeding How inducing points are found: `"kmeans"`, AFK-MC2 seeding and
#'   ten Lloyd steps on a sample of rows, each column in units of its
#'   length-scale where these differ, or `"random"` rows.
#' @param cluster A cluster of package parallel, with bayeskernel installed on
#'   its workers. They share the rows (`"ep"`, `"vb"`, `"svi"`), which are sent
#'   once; after that only sums travel, whose size does not grow with n, and at
#'   the end of `"ep"` seven numbers of every row; or the chains (`"gibbs"`).
#' @param on_interrupt What Ctrl-C does: `"stop"` goes back to the prompt;
#'   `"keep"` returns the draws so far, or the state of the variational
#'   iteration, with a warning, and ends tuning where it is.
#' @inherit bkm_control return
#' @inheritSection bkm_control Errors
#' @seealso [gpsvm()], [gpsvm_prior()], [bayeskernel-engines], [bayeskernel-large].
#' @examples
#' gpsvm_control(seeding = "random", tol = 1e-8)
#' @export
gpsvm_control <- function(warmup = 1000, thin = 1, resume = NULL, tol = NULL, max_iter = 500,
                          accelerate = TRUE, batch_size = NULL, epochs = 1,
                          rate = c("rm", "adaptive"), epoch_tol = 0, kernel_steps = 0,
                          tune_rows = 10000,
                          optimize_inducing = FALSE, seeding = c("kmeans", "random"),
                          cluster = NULL,
                          progress = getOption("bayeskernel.progress", interactive()),
                          on_interrupt = c("stop", "keep"), ...) {
  refuse_others(...)
  new_control("gpsvm", environment())
}

#' Control of mkprobit()
#'
#' What only tunes an engine or says how it is run, for the argument `control`
#' of [mkprobit()]. A plain list with some of these names does as well.
#'
#' @inheritParams bkm_control
#' @param weights_method How variational Bayes learns the weights of `coefficients = "weights"`. The
#'   sampler draws them, and a process has `"loo"` alone.
#'   * `"loo"` (default): each object is predicted from the others. The weights of a sum may have
#'     any size; subsets have probabilities. Above ten kernels the search of subsets is greedy.
#'   * `"profile"` (default with `tune`): the bound is maximized over the weights. Those of a sum
#'     add up to 1.
#'   * `"map"`: the mode of the weights given the rest, pass by pass.
#'   * `"is"`: their posterior in the bound, by importance sampling. It has standard deviations and
#'     limits. With `tune` the length-scales have a posterior, too. All subsets of at
#'     most ten kernels are weighed within one fit.
#'   * `"slice"`: the same for a sum, by steps of a sampler.
#'   * `"enumerate"`: subsets (`combine = "binary"`), with a fit each, by the bound.
#' @param class_weights For a process: `"none"` (default), `"balanced"`, which gives every class
#'   the same share of the likelihood, or positive numbers named by classes. The likelihood of a row
#'   is raised to the weight of its class. With `method = "vb"`.
#' @param latent_scales For `coefficients = "weights"`: the precision of the coefficients. `"class"`
#'   has one for every class and regressor, and each pass factorizes a matrix for each class.
#'   `"shared"` has one for every regressor, and one matrix a pass. `"fixed"` has `alpha0` of the
#'   prior, and one matrix in all.
#' @param sparse For `coefficients = "weights"`. `TRUE`: a prior that shrinks regressors
#'   (multi-class relevance vectors). Variational Bayes leaves out regressors whose precision has
#'   grown beyond all bounds. It does so for each class, or with `latent_scales = "shared"` for all
#'   classes at once. `print()` and the element `relevant` of the fit say how many are left. The
#'   bound is then known up to a constant, and its trace begins anew where regressors leave.
#' @param bias Add a constant to the function of each class. `NULL`, the default,
#'   is `TRUE` with a process and `FALSE` with `"weights"`, as in the paper.
#' @param normalize Divide every kernel by its mean over the diagonal: for
#'   polynomial kernels of raw columns, whose matrices are badly conditioned.
#' @param nodes Nodes of the quadrature over the truncated normal; `NULL`
#'   chooses by the number of classes, for an error below 1e-10. At most 10,000.
#' @param zeta_moment `"exact"`, or `"point"`, the paper's printed update, which
#'   drops a variance: for comparison only.
#' @param is_target What `"is"` weighs its points by: `"exact"`, or `"point"`, the paper's printed
#'   weights, which drop a variance: for comparison only.
#' @param tol,tolw,max_iter Variational Bayes stops once the bound changes by less than `tol` times
#'   itself and no coefficient by more than `tolw`. After `max_iter` passes it stops with a warning.
#'   Defaults are 0.001, as in the paper, no limit, and 100 passes. With `sparse` the bound has
#'   large constants, and they are 1e-6 and 2000 passes.
#' @param collapsed For `"gibbs"`: draw weights and length-scales with the
#'   coefficients integrated out, which mixes far better. Default `TRUE`.
#' @param allow_empty Count the empty subset, too.
#' @param force Tune length-scales together with learned weights of a product. The data do not
#'   distinguish the two.
#' @inherit bkm_control return
#' @inheritSection bkm_control Errors
#' @seealso [mkprobit()], [mkprobit_prior()], [kernel_weights()].
#' @examples
#' mkprobit_control(sparse = TRUE, latent_scales = "shared")
#' @section Learned weights with `coefficients = "weights"`: The bound of variational Bayes is
#'   loose, and the weights that it chooses favor small and smooth kernels. `"loo"` maximizes the
#'   leave-one-out log probability plus the log prior density of the log weights. Leave-one-out is
#'   computed by one Newton step, without refitting; some tens of fits are made in all. For more
#'   than some thousand objects or with `inducing`, `"profile"` costs less.
#'
#'   Standard deviations of `"is"` and `"slice"` are those of a factor of the posterior, given the
#'   means of the rest. They are too small, by far where weights and coefficients are correlated.
#'   `"is"` draws 3000 sets of weights once and weighs them anew in every pass, so that the bound
#'   rises. When fewer than 50 of them count, others are drawn near the mode, and the trace of the
#'   bound begins anew. Weights below some thousandths, where a kernel is out, are beyond the reach
#'   of such points. A product has 200 sets, each of which costs a product of matrices. Its kernels
#'   are taken at the mean weights, as in the paper, and the bound may fall. `"slice"` has no such
#'   limits; its bound has the error of simulation. The number of sets that count is
#'   `diagnostics$weights_ess` of the fit.
#'
#'   With `tune = TRUE`, `"is"` has the posterior of
#'   \eqn{\theta = 1 / (2 l^2)}{theta = 1/(2 l^2)} of each length-scale l, with the prior gamma of
#'   [mkprobit_prior()]; the kernels are taken at its mean. It is the element `theta_table` of the
#'   fit.
#'
#' @section The paper's choices: With `coefficients = "weights"`, as derived, which is the default,
#'   and as printed. Numbers in brackets are those of the paper.
#'   * Moments of y (7, 8): by quadrature; as printed, by simulation, they are not available.
#'   * Precisions (11, B.3): `zeta_moment = "exact"`, the mean of the squared coefficient; as
#'     printed `"point"`, its squared mean.
#'   * Coefficients (9, 10, B.2): the mean of K K' over the weights of a sum, and of 1 / zeta; as
#'     printed K at the mean weights, by `is_target = "point"`.
#'   * Weights beta (B.4): `weights_method = "is"`, `is_target = "exact"`, where points are weighed
#'     by exp E log p(y | W, beta) of the current pass; as printed `is_target = "point"`, by
#'     N(E y | E W k, I), and points of earlier passes keep their weights.
#'   * Length-scales theta (B.4): the same with `tune = TRUE`.
#'   * rho; pi, chi (B.4): by importance sampling, and in closed form given E log beta; as printed,
#'     by `is_target = "point"`, with log E beta. `mkprobit_prior(weight_hyper = "fixed")` holds
#'     them.
#'   * Subsets (3.1, B.4): `combine = "binary"`, `weights_method = "is"`, `is_target = "exact"`; as
#'     printed `"point"`.
#'   * Prediction (12, D.3): predictive variances; as printed, their inverses, it is not available.
#'   * Bound (E.5 to E.7): with every constant, and it rises in every pass; as printed, given the
#'     precisions, it is not available.
#'
#'   With `"point"` many points have no weight, a warning says so, and the bound rises in no
#'   particular way. Given the coefficients one subset has nearly all weight. With `"point"` it is
#'   the one where the fit begins, all kernels, because the coefficients suit it.
#'
#' @export
mkprobit_control <- function(warmup = 1000, thin = 1, resume = NULL, weights_method = NULL,
                             class_weights = c("none", "balanced"),
                             latent_scales = c("class", "shared", "fixed"), sparse = FALSE,
                             bias = NULL, normalize = FALSE, nodes = NULL,
                             zeta_moment = c("exact", "point"), is_target = c("exact", "point"),
                             tol = NULL, tolw = Inf, max_iter = NULL, accelerate = TRUE,
                             collapsed = TRUE, allow_empty = FALSE, force = FALSE, cluster = NULL,
                             progress = getOption("bayeskernel.progress", interactive()),
                             on_interrupt = c("stop", "keep"), ...) {
  refuse_others(...)
  new_control("mkprobit", environment())
}

#' Control of bark()
#'
#' What only says how the chains are run, for the argument `control` of
#' [bark()]. A plain list with some of these names does as well.
#'
#' @inheritParams bkm_control
#' @param warmup,thin Discarded sweeps, and sweeps per kept draw. `NULL`, the
#'   default: as the length of a run says, see [bark()].
#' @inherit bkm_control return
#' @inheritSection bkm_control Errors
#' @seealso [bark()], [bark_prior()], [stop_at()], [bayeskernel-diagnostics].
#' @examples
#' bark_control(warmup = 2000, thin = 10)
#' @section How chains start: Chains of a regression start from 30 kernels (fewer with less than 120
#'   rows), chains of a classification from random kernels. All begin with every predictor in the
#'   model. The posterior is often bimodal and chains rarely switch modes, so three quarters of the
#'   warm-up of a regression are a search: many short runs begin, and the better half continues
#'   until one is left. With more than 1500 rows chains begin on 500 of them; this is a start only,
#'   and all later moves are exact. Prior variances v of coefficients with \eqn{\phi v n >
#'   10^{14}}{phi v n > 1e14} are left out. Only a response without noise needs them.
#'
#' @section Length of a run of bark(): An iteration (sweep) is one jump and a few other moves. By
#'   default four chains have 25,000 sweeps each, half of them warm-up. If an R-hat is then above
#'   1.05 they have 50,000, and then 100,000 in all (50,000 with more than 300 rows). Draws are 500
#'   a chain from the second half of all sweeps. With n above 1500 rows there is one round of
#'   60,000,000 / n sweeps, at least 5000, with 250 draws a chain. Chains need not agree by then:
#'   they are stacked, and a warning, [print()] and [summary()] say how far their predictions
#'   differ. For questions about parameters use `until = stop_at(rhat = 1.01)`: rounds of 100,000
#'   sweeps or more, at most 1,600,000 a chain.
#'
#' @section Weights in bark(): Weights of classes are repeated rows in every respect: the chain has
#'   a latent response for each of them. In a regression, the coefficients given the
#'   kernels and sigma are those of rows that are repeated as often as whole weights say. Sigma is
#'   not: n rows determine it, whatever they weigh. In [bkm()] and [gpsvm()] weights
#'   are powers of the likelihood, for sigma, too. New rows have none: `predict()` has a new
#'   response of weight 1, of variance sigma^2. `simulate()`, `log_lik()`, `loo()` and Pearson
#'   residuals of the rows of the fit have theirs.
#'
#' @section Stacking: Chains that stay at different modes are no sample of one
#'   posterior, and equal weights are those of chance. With `chain_weights =
#'   "stacking"` they are the ones with the largest log score, \eqn{\sum_i \log
#'   \sum_k w_k p_k(y_i | y_{-i})}{sum(log(sum(w_k p_k(y_i | others))))}, over
#'   the rows (Yao, Vehtari and Gelman, 2022), and a Dirichlet(2, ..., 2) prior: as if each chain
#'   were best on a row more. The density of a row given the others is known for
#'   the kernels of each draw of a regression, whose coefficients are integrated out; of classes it
#'   is that given f. Draws of a chain are weighted for the absence of the row by truncated
#'   importance sampling. The weights are `fit$chain_weights`. Predictions, [summary()], [print()],
#'   inclusion probabilities, plots and simulations take draws of a chain in proportion to its
#'   weight. `fit$draws`, R-hat and effective sample sizes stay those of the chains as sampled. What
#'   R-hat says remains true: the warning stays, and longer chains are better. Chains that agree
#'   keep equal weights.
#'
#' @section Draws of bark(): Variables of `fit$draws`: `sigma`, the standard deviation of the noise
#'   on the scale of the data, of weight 1, and `phi`, its precision for the standardized response
#'   (regressions); `J`, the number of kernels, and `m`, at how many places they are; `d`, the
#'   number of predictors in the model (`select = TRUE`); `T`, the sum of the kernel scales;
#'   `log_lik`, the log density of the standardized (or latent) response with the coefficients
#'   integrated out; `epsilon`, the scale of the coefficients, where [bark_prior()] has it learned;
#'   `q0`, `q1`, the probabilities of [markov()], if it has hyper-priors; `cut[k]`, cut points;
#'   `f[k]`, the function at the rows `fit$reference`, at most ten, on the scale of the data: its
#'   mean given the rest of the draw (`predict(fit, draws = TRUE)` draws the coefficients, too);
#'   `lambda[name]`, the scale of a predictor, 0 while it is not in the model, or with several
#'   vectors `lambda[k,name]`, the one of vector k: these trade places, so that [summary()] and
#'   plots have for each draw the mean over its kernels, and `T` is the sum of all;
#'   `Sigma[g:(Intercept),(Intercept)]`, the variance of the effects of the factor g, and
#'   `b[(Intercept) g:level]`, these; `sigma2[linear]` and `beta[name]`, the variance and the
#'   coefficients of the linear part. The latter are for a unit of the predictor, their variance for
#'   one standard deviation. They are no slopes of f, to which the kernels add theirs: `slope[name]`
#'   of [summary()] and [tidy()] is that of the plane which is closest to f over the rows of the
#'   fit.
#'
#' @references
#' Holmes, C. C. and Held, L. (2006). Bayesian auxiliary variable models for
#' binary and multinomial regression. *Bayesian Analysis* 1, 145-168.
#'
#' Yao, Y., Vehtari, A. and Gelman, A. (2022). Stacking for non-mixing Bayesian computations: the
#' curse and blessing of multimodal posteriors. *Journal of Machine Learning Research* 23 (79),
#' 1-45.
#'
#' Ionides, E. L. (2008). Truncated importance sampling. *Journal of
#' Computational and Graphical Statistics* 17, 295-311.
#'
#' @export
bark_control <- function(warmup = NULL, thin = NULL, resume = NULL, cluster = NULL,
                         progress = getOption("bayeskernel.progress", interactive()),
                         on_interrupt = c("stop", "keep"), ...) {
  refuse_others(...)
  new_control("bark", environment())
}

#' Control of klr()
#'
#' What only says how the chains are run, for the argument `control` of [klr()].
#' A plain list with some of these names does as well.
#'
#' @inheritParams bkm_control
#' @param warmup,thin Discarded sweeps, and sweeps per kept draw. `NULL`, the
#'   default: 20,000 and 20.
#' @inherit bkm_control return
#' @inheritSection bkm_control Errors
#' @seealso [klr()], [klr_prior()], [stop_at()].
#' @examples
#' klr_control(warmup = 2000, thin = 5)
#' @export
klr_control <- function(warmup = NULL, thin = NULL, resume = NULL, cluster = NULL,
                        progress = getOption("bayeskernel.progress", interactive()),
                        on_interrupt = c("stop", "keep"), ...) {
  refuse_others(...)
  new_control("klr", environment())
}

#' Control of seqkr()
#'
#' What only tunes the particles, for the argument `control` of [seqkr()]. A
#' plain list with some of these names does as well.
#'
#' @param ess Resample where the effective number of particles falls below this
#'   share of them, default 0.5; 1 resamples after every row, as the paper does.
#' @param resampling `"systematic"` (default), `"stratified"`, `"residual"` or `"multinomial"`.
#' @param temper Whether a row that would leave less than a tenth of the particles effective is
#'   brought in by parts (default; with `"rj"`): first its input as a candidate, then, in
#'   regressions, its response. Where that is depends on the particles, the estimate of the evidence
#'   is then slightly biased: an error of the order of 1 / `particles`.
#' @param grid_max Most candidates, default 5000. The inputs of later rows are no candidates, and
#'   time and memory a row stay the same from there on: an approximation for endless streams.
#' @param unique_grid Whether equal inputs count as one candidate; default
#'   `FALSE`, the prior as it is written.
#' @param final_moves Rounds of moves and draws of variances after the last row,
#'   on a copy: particles that resampling has made equal part, and what is left
#'   are draws from the posterior; default 5. Streams go on from before them.
#' @param move_rate Fraction c of birth and of death moves with `"corrected"` and `"printed"`: as
#'   many at most are births, and deaths. Above 0 and at most 0.5; default 0.25, the paper's.
#' @param progress Show progress and time left.
#' @param ... Not used: what is not among these arguments is an error.
#' @inherit bkm_control return
#' @inheritSection bkm_control Errors
#' @seealso [seqkr()], [seqkr_prior()].
#' @examples
#' seqkr_control(ess = 1, resampling = "residual")
#' @export
seqkr_control <- function(ess = 0.5,
                          resampling = c("systematic", "stratified", "residual", "multinomial"),
                          temper = TRUE, grid_max = 5000, unique_grid = FALSE, final_moves = 5,
                          move_rate = 0.25,
                          progress = getOption("bayeskernel.progress", interactive()), ...) {
  refuse_others(...)
  new_control("seqkr", environment())
}

# The values as they were typed, once they have passed the checks that read_settings() makes of
# them.
new_control <- function(name, front) {
  checks <- utils::modifyList(house_arguments, get(paste0(name, "_model"), topenv())$arguments)
  defaults <- own_formals(paste0(name, "_control"))
  values <- mget(names(defaults), front)
  for (entry in names(values)) {
    open <- is.null(values[[entry]]) && is.null(defaults[[entry]])
    if (!open) checks[[entry]](values[[entry]], entry)
  }
  structure(values, class = c(paste0(name, "_control"), "bayeskernel_control"))
}

# The entries of a control that was given; `entries`: all that the model has.
read_control <- function(control, model, entries) {
  maker <- paste0(model, "_control")
  plain <- is.list(control) && !is.object(control)
  if (!plain && !inherits(control, maker)) {
    abort_argument(control, "control", sprintf("what %s() makes, or a named list", maker))
  }
  control <- unclass(control)
  known <- names(entries)
  alien <- setdiff(names(control) %||% rep("", length(control)), known)
  if (length(alien) || anyDuplicated(names(control))) {
    bk_abort(
      "argument", "`control` has entries that this function does not have.",
      if (length(alien)) {
        sprintf("Found: %s.", list_some(quoted(alien), 5L))
      } else {
        "Found: a name twice."
      },
      sprintf(
        "Instead of `%s` try %s.", alien, vapply(alien, nearest_argument, "", known)
      )[nzchar(vapply(alien, nearest_argument, "", known))],
      paste0("Accepted: ", paste(known, collapse = ", "), "."),
      column = "control", found = alien, expected = known
    )
  }
  control
}

# Entries of a control that differ from their defaults.
typed_entries <- function(control, name) {
  if (!is.object(control)) return(control)
  defaults <- unclass(get(paste0(name, "_control"))())
  control <- unclass(control)
  control[!mapply(identical, control, defaults[names(control)])]
}

# The control of a call with other values of some entries, for calls of our own.
changed_control <- function(control, ...) {
  control <- as.list(unclass(control))
  changes <- list(...)
  control[names(changes)] <- changes
  control
}

# What an argument is called now, as text for a message: `control`'s entries, and those that have
# another name.
moved_arguments <- function(model) {
  known <- names(own_formals(paste0(model$name, "_control")))
  text <- stats::setNames(sprintf("`control = %s_control(%s = )`", model$name, known), known)
  renamed <- c(
    draws = "`ndraws`", start = unname(text["resume"]),
    optimise_inducing = unname(text["optimize_inducing"]), normalise = unname(text["normalize"])
  )
  hinge <- if (identical(model$name, "bkm")) {
    c(
      learning_rate = "`family = hinge(learning_rate = )`",
      class_weights = "`family = hinge(class_weights = )`"
    )
  }
  c(text, renamed[!is.na(renamed)], hinge)
}

#' @export
print.bayeskernel_control <- function(x, ...) {
  name <- class(x)[1]
  own <- typed_entries(x, sub("_control$", "", name))
  if (length(own) == 0L) {
    cat(name, ": defaults\n", sep = "")
  } else {
    cat(name, ": ", paste(
      names(own), "=", vapply(own, function(value) {
        if (is.null(value)) "NULL" else describe_value(value)
      }, ""),
      collapse = ", "
    ), "\n", sep = "")
  }
  invisible(x)
}
