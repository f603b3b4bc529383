#' Bayesian additive regression and classification kernels
#'
#' A regression function, or a probability, as a sum of an unknown number of Gaussian kernels at
#' rows of the data, each predictor with a scale of its own that may be zero (Ouyang, 2008, after
#' Clyde and Wolpert). Reversible jump Markov chains average over the number of kernels, their
#' places, their scales and the predictors in the model; coefficients are integrated out.
#'
#' @inheritParams fit-arguments
#' @param x A numeric matrix, n rows by p predictors, or a data frame of predictors; or, for the
#'   formula method, `formula`, in which bars are random intercepts, as in `y ~ a + b + (1 | g)`.
#' @param y Response, length n. For `"gaussian"` numeric; for `"binomial"` two classes as a factor
#'   (its second level is the positive class), text, logical, 0/1 or -1/+1; for `"ordinal"` an
#'   ordered factor. Levels without rows stay: of two classes they have probability 0, of ordered
#'   ones that of the prior of their cut points, which a message says.
#' @param family `NULL`, the default: what the response says, `"gaussian"`, regression with normal
#'   noise, of numbers; `"binomial"`, two classes by a probit link, of a factor, text or logical
#'   values; `"ordinal"`, ordered classes by cut points of the same latent function, of an ordered
#'   factor with more than two levels. Also [gaussian()] and [binomial()], as objects or functions.
#'   The link of classes is probit: `binomial("probit")`; an object that says logit, as `binomial()`
#'   does, is fitted by probit with a message. A numeric response of two codes, 0 and 1 or -1 and 1,
#'   has to be told apart: it is fitted with `family = "binomial"`, or `family = "gaussian"` given
#'   as such, and is an error otherwise.
#' @param scales `"different"`: every predictor has a kernel scale of its own;
#'   `"equal"`: all predictors in the model share one. `NULL`, the default:
#'   `"different"`, with `structure` `"equal"`.
#' @param select Whether predictors may leave the model. Default `FALSE`.
#' @param structure `NULL`, or [markov()]: predictors enter the model in blocks
#'   of neighbouring columns. Needs `select = TRUE` and `scales = "equal"`.
#' @param linear Whether a linear part stands beside the kernels: a coefficient for every column of
#'   the predictors, see there. Default `FALSE`. Not with `select = TRUE`.
#' @param prior Made by [bark_prior()]. `NULL`, the default: `bark_prior()` for
#'   a regression, and for classes `bark_prior(gamma = 5, epsilon = 0.5)`: labels of few rows are told apart
#'   by functions without bound, and chains that may find those get stuck there.
#' @param standardize Centre and scale the predictors (default `TRUE`). The response of a regression
#'   always is. Kernel scales refer to the standardised predictors.
#' @param weights Of a regression, positive, length n, default 1: the noise of
#'   row i has the variance \eqn{\sigma^2 / w_i}{sigma^2 / w}, as in
#'   [stats::lm()], and rows of weight 0 are left out. A mean of w observations
#'   has weight w. Of classes counts, whole numbers: how often each row occurs.
#' @param chains,ndraws Number of chains, kept draws per chain. With discarded sweeps and sweeps per
#'   kept draw, `warmup` and `thin` of [bark_control()], they are the length of a run. A sweep is
#'   one jump and a few other moves, so there have to be many. `NULL`: 4 chains, and by the default
#'   of `until` 12,500 sweeps of warmup and 500 draws 25 sweeps apart in the first round, fewer with
#'   many rows (see Length of a run); else 50,000, 1000 and 50.
#' @param until [stop_at()]: rounds of sweeps until the chains agree, the second half of all sweeps
#'   is kept, and a warning comes only at the cap. `NULL`: one round. `"auto"`, the default: one
#'   round where `warmup`, `ndraws`, `thin` or `resume` say how long to run, else as long as it
#'   helps predictions, three rounds at most (see Length of a run). `stop_at(rhat = 1.01)` asks for
#'   chains that agree, whatever it costs: rounds of 100,000 sweeps or more, at most 1,600,000 a
#'   chain.
#' @param chain_weights `"stacking"`: chains that disagree (an R-hat above 1.05)
#'   are weighted so that the mixture of their predictive densities of each row
#'   given the others is largest, see there; the default of several chains with
#'   `until`. Or `"equal"`, the default without. `NULL`: these. (`weights` are those of rows.)
#'
#' @return An object of class `c("bark", "bayeskernel_fit")`: a plain list that survives
#'   [saveRDS()], with `draws` (array, draws x chains x variables), `family`, `levels`, `columns`,
#'   `reference` (numbers of the rows at which the draws have f), `n`, `dropped`, `acceptance`
#'   (proposed and accepted moves by chain). The methods of every fit are listed in [fit-arguments].
#'
#' @section Model: \eqn{y_i = f(x_i) + e_i}{y_i = f(x_i) + e_i} with \eqn{e_i
#'   \sim N(0, 1 / (\phi w_i))}{e_i ~ N(0, 1 / (phi w_i))} for weights
#'   \eqn{w_i}{w_i}, or \eqn{P(y_i = 1) = \Phi(f(x_i))}{P(y_i = 1) =
#'   Phi(f(x_i))}, with \deqn{f(x) = \sum_j b_j \exp\{-\sum_l \lambda_l (x_l -
#'   c_{jl})^2\}}{f(x) = sum_j b_j exp(-sum_l lambda_l (x_l - c_jl)^2)} and
#'   centres \eqn{c_j}{c_j} among the rows of the data, whatever their weights,
#'   or a constant in place of a kernel. Where [bark_prior()] has several
#'   `vectors` of scales, as it has in a regression by default, each kernel j
#'   has those of one of them. A scale lambda is a length-scale of
#'   \eqn{1 / \sqrt{2 \lambda}}{1 / sqrt(2 lambda)} in [rbf()]. With ordered
#'   classes \eqn{P(y_i \le c) = \Phi(t_c - f(x_i))}{P(y_i <= c) = Phi(t_c -
#'   f(x_i))}, where \eqn{t_1 = 0}{t_1 = 0} and the gaps between cut points are
#'   exponential variables with mean 1.
#'
#' @section Random intercepts and a linear part: To f are added the effect
#'   \eqn{u_g \sim N(0, \tau^2)}{u_g ~ N(0, tau^2)} of the row's level of each
#'   factor in bars, and with `linear = TRUE` \eqn{\sum_l \beta_l x_l}{sum_l
#'   beta_l x_l}, \eqn{\beta_l \sim N(0, \tau^2)}{beta_l ~ N(0, tau^2)}, for the
#'   standardised predictors. Each of these blocks has a tau of its own, half t
#'   with 4 degrees of freedom and scale 1 on the scale of the standardised (or
#'   latent) response. Their coefficients are integrated out together with those
#'   of the kernels, and tau is drawn both given them and, by slice sampling,
#'   without them. `(1 | a) + (1 | b)` and `(1 | a / b)` are several factors;
#'   slopes, `(x | g)`, are refused, as are more than 200 levels in all: a draw
#'   of the coefficients takes the cube of their number. [ranef()], [VarCorr()]
#'   and `ngrps()` have what they have for [bsvm()]; `re.form` of [predict()]
#'   says what new rows take of the effects. A level that the fit has not seen
#'   has an effect of variance tau^2.
#'
#'   A linear part is no default: on Friedman's functions, 200 rows, default
#'   runs on five data sets each, it left the error of f on Friedman 1 as it was
#'   and raised it by 7 % on Friedman 2 and 4 % on Friedman 3; intervals of 90 %
#'   covered .02 more on the first and the last, .01 less on the second.
#'
#' @section Chains: Chains of a regression start from 30 kernels (fewer with less than 120 rows),
#'   each the best of 64 random places for what the earlier ones leave, and shed them; those of a
#'   classification from random kernels. All begin with every predictor in the model, but see
#'   [markov()], at the prior's mean scale, each further vector of scales at a tenth of the one
#'   before. While a run begins, the noise of a regression has at least a share of the variance of
#'   the response that falls from 1 to exp(-10): once a fit is good, its kernels hold the scales
#'   where they are.
#'
#'   Many wide kernels and fewer narrow ones are modes between which a chain goes once in some
#'   100,000 sweeps, but 7, 8, 12 and 3 of 40 runs of 1000 sweeps came to the better one on four
#'   data sets, where 2, 2, 10 and 2 of 12 of 50,000 did. So three quarters of the warmup of a
#'   regression are a search, each chain's own: 32 runs begin (64 in 102,400 sweeps of warmup or
#'   more, one in less than 536), and in stages that take as many sweeps each the half with the
#'   larger mean of the log likelihood and the log of the prior's factor for the reach of kernels
#'   goes on, until one is left. Of 96 chains on four data sets of Friedman's third function 83 were
#'   in the better mode after 50,000 sweeps; without the search, and the factor, 4 of 24 on two of
#'   these. A larger likelihood is not always a larger share of the posterior: on another data set
#'   all four chains left that mode for the wide one after 0.9 to 1.5 million sweeps.
#'
#'   Chains of a regression of more than 1500 rows begin with 10,000 sweeps on 500 of them, spread
#'   evenly over the rows in the order of the response; the kernels found there are where the warmup
#'   on all rows begins. That is a start and no more: every move of the chains of all rows is exact.
#'
#'   Chains that agree may still be in one of several modes. Raise `sweeps` of
#'   [stop_at()] where that matters. Prior variances v of coefficients with
#'   \eqn{\phi v n > 10^{14}}{phi v n > 1e14}, which only a response without noise
#'   asks for, are left out: doubles cannot hold them.
#'
#' @section Length of a run: The default run is as long as it helps predictions. Four chains have
#'   25,000 sweeps each, half of them warmup; where an R-hat is then above 1.05 they have 50,000,
#'   and then 100,000 in all (with more than 600 rows 50,000). Draws are 500 a chain from the second
#'   half of all sweeps. Chains need not agree by then: they are stacked, and where an R-hat is
#'   above 1.05 one warning, [print()] and [summary()] say how far their predictions differ. On ten
#'   regressions of `bench/bark.R` the loss of held-out rows after 25,000 and 50,000 sweeps was 1.05
#'   times that after 100,000 on Boston's houses (five splits) and 1.00 times on the others (twelve
#'   splits, from 0.96 to 1.04); intervals of 90 % covered .90 of new responses after each. Four
#'   times as many sweeps did not improve Boston's further.
#'
#'   Of more than 1500 rows, n, it is one round of 60,000,000 / n sweeps, 5000 at
#'   least, with 250 draws a chain, and weights of chains are those of 2000 rows:
#'   5,000 rows of 10 predictors take 20 seconds of one core, 20,000 70.
#'
#'   Whose questions are about parameters asks for more: `until = stop_at(rhat = 1.01)` has a first
#'   round of 100,000 sweeps a chain, and at most 1,600,000. By it R-hat came to 1.01 on 10, 10 and
#'   7 of ten data sets of Friedman's functions 1 to 3, at 540,000, 110,000 and 1,170,000 sweeps on
#'   average, but stayed at 1.1 to 1.7 on Boston's houses and body fat (`vignette("bark")`), where
#'   the cap is some 200 seconds of one core. With selection fewer agree that closely.
#'
#' @section Weights: Those of classes are repeated rows in all: the chain has a latent response for
#'   each of them. Of a regression, given the kernels and sigma, the coefficients, and with them f,
#'   are those of rows that are repeated as often as whole weights say. Sigma is not: n rows tell
#'   about it, whatever they weigh. In [bkm()] and [gpsvm()] weights are powers of the likelihood,
#'   for sigma, too. New rows have none: `predict()` has a new response of weight 1, of variance
#'   sigma^2. `simulate()`, `log_lik()`, `loo()` and Pearson residuals of the rows of the fit have
#'   theirs.
#'
#' @section Stacking: Chains that stay at different modes are no sample of one
#'   posterior, and equal weights are those of chance. With `chain_weights =
#'   "stacking"` they are the ones with the largest log score, \eqn{\sum_i \log
#'   \sum_k w_k p_k(y_i | y_{-i})}{sum(log(sum(w_k p_k(y_i | others))))}, over
#'   the rows (Yao, Vehtari and Gelman, 2022). The density of a row given the others is known for
#'   the kernels of each draw of a regression, whose coefficients are integrated out; of classes it
#'   is that given f. Draws of a chain are weighted for the absence of the row by truncated
#'   importance sampling. The weights are `fit$chain_weights`; predictions, [summary()], [print()],
#'   inclusion probabilities, pictures of f and all that is simulated from the fit take draws of a
#'   chain as often as they say, while `fit$draws`, R-hat and effective sample sizes stay those of
#'   the chains as they were sampled. What R-hat says remains true: the warning stays, and longer
#'   chains are better. Chains that agree keep equal weights.
#'
#' @section Draws: Variables of `fit$draws`: `sigma`, the standard deviation of the noise on the
#'   scale of the data, of weight 1, and `phi`, its precision for the standardised response
#'   (regressions); `J`, the number of kernels, and `m`, at how many places they are; `d`, the
#'   number of predictors in the model (`select = TRUE`); `T`, the sum of the kernel scales;
#'   `log_lik`, the log density of the standardised (or latent) response with the coefficients
#'   integrated out; `epsilon`, the scale of the coefficients, where [bark_prior()] has it learned;
#'   `q0`, `q1`, the probabilities of [markov()], if it has hyper-priors; `cut[k]`, cut points;
#'   `f[k]`, the function at the rows `fit$reference`, at most ten, on the scale of the data: its
#'   mean given the rest of the draw (`predict(fit, draws = TRUE)` draws the coefficients, too);
#'   `lambda[name]`, the scale of a predictor, 0 while it is not in the model, or with several
#'   vectors `lambda[k,name]`, the one of vector k: these trade places, so that [summary()] and
#'   pictures have for each draw the mean over its kernels, and `T` is the sum of all;
#'   `Sigma[g:(Intercept),(Intercept)]`, the variance of the effects of the factor g, and
#'   `b[(Intercept) g:level]`, these; `sigma2[linear]` and `beta[name]`, the variance and the
#'   coefficients of the linear part. The latter are for a unit of the predictor, their variance for
#'   one standard deviation. They are no slopes of f, to which the kernels beside them add theirs:
#'   `slope[name]` of [summary()] and [tidy()] is that of the plane which is closest to f over the
#'   rows of the fit.
#'
#' @section Errors: All inherit from `bayeskernel_error`: `_response`, `_missing`, `_dimension`,
#'   `_prior`, `_argument`, `_numeric`, `_cluster`. A constant column is dropped with a warning; a
#'   constant response is not scaled, with a warning.
#'
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, chapters 3 and 4.
#'
#'   Holmes, C. C. and Held, L. (2006). Bayesian auxiliary variable models for
#'   binary and multinomial regression. *Bayesian Analysis* 1, 145-168.
#'
#'   Yao, Y., Vehtari, A. and Gelman, A. (2022). Stacking for non-mixing
#'   Bayesian computations: the curse and blessing of multimodal posteriors.
#'   *Journal of Machine Learning Research* 23 (79), 1-45.
#'
#'   Ionides, E. L. (2008). Truncated importance sampling. *Journal of
#'   Computational and Graphical Statistics* 17, 295-311.
#'
#' @examples
#' set.seed(1)
#' d <- data.frame(a = runif(60, -2, 2), b = runif(60))
#' d$y <- sin(2 * d$a) + rnorm(60) / 5
#' # Shorter than the default, of four chains of 25,000 to 100,000 sweeps.
#' fit <- bark(y ~ a + b, d, select = TRUE, chains = 2,
#'   control = bark_control(warmup = 2000, thin = 10),
#'   ndraws = 200, until = stop_at(rhat = 1.1, sweeps = 1e6),
#'   threads = 1, seed = 1)
#' fit
#' inclusion(fit)
#' predict(fit, data.frame(a = c(0, 1), b = 0.5), interval = "prediction")
#' # A random intercept.
#' d$g <- gl(6, 10)
#' d$y <- d$y + c(-2, -1, 0, 0, 1, 2)[d$g]
#' grouped <- bark(y ~ a + (1 | g), d, chains = 2,
#'   control = bark_control(warmup = 2000, thin = 10), ndraws = 200,
#'   until = stop_at(rhat = 1.1, sweeps = 1e6), threads = 1, seed = 1)
#' ranef(grouped, condVar = FALSE)
#' predict(grouped, data.frame(a = 0, g = c("1", "new")), se.fit = TRUE)
#' @rdname bark
#' @export
bark.default <- function(x, y, family = NULL, scales = NULL, select = FALSE, structure = NULL,
                         linear = FALSE, prior = NULL, standardize = TRUE, weights = NULL,
                         na.action = stats::na.fail, chains = 4, ndraws = NULL, until = "auto",
                         chain_weights = NULL, seed = NULL,
                         threads = getOption("bayeskernel.threads", 2L), control = bark_control(),
                         model = TRUE, ...) {
  fit_model(bark_model, match.call(), environment(), ...)
}

#' @rdname bark
#' @export
bark <- function(x, ...) UseMethod("bark")

#' @rdname bark
#' @export
bark.formula <- function(formula, data, family = NULL, scales = NULL, select = FALSE,
                         structure = NULL, linear = FALSE, prior = NULL, standardize = TRUE,
                         weights, subset, na.action = stats::na.fail, chains = 4, ndraws = NULL,
                         until = "auto", chain_weights = NULL, seed = NULL,
                         threads = getOption("bayeskernel.threads", 2L), control = bark_control(),
                         model = TRUE, ...) {
  fit_model(bark_model, match.call(), environment(), ...)
}

bark_arguments <- function() {
  list(
    family = or_null(check_family), scales = or_null(one_of("different", "equal")),
    select = check_flag, structure = function(x, name) x, linear = check_flag,
    chain_weights = or_null(one_of("stacking", "equal")), warmup = or_null(count_from(0)),
    ndraws = or_null(count_from(1)), thin = or_null(count_from(1)), until = check_auto_until
  )
}

# The name of a family that is given as in glm(): by name, as a function, or as an object. Of
# classes the link is probit, whatever an object says: one that says logit, as binomial() does, is
# told so.
check_family <- function(family, name, known = c("gaussian", "binomial", "ordinal")) {
  given <- glm_family(family)
  if (is.null(given)) {
    return(check_choice(family, known, name))
  }
  links <- list(gaussian = "identity", binomial = c("probit", "logit"))
  if (!(given$name %in% known && given$link %in% links[[given$name]])) {
    abort_family_link(given, name, paste(
      c("gaussian()", "binomial(\"probit\")", quoted(known)), collapse = ", "
    ))
  }
  if (given$named && given$link == "logit") {
    bk_inform(
      "link", "The link is probit, not logit: there is no other.",
      "binomial(\"probit\") says so; so does family = \"binomial\"."
    )
  }
  given$name
}

# Numbers without a family are a regression, but not codes of classes.
settle_regression <- function(settings) {
  settings$family_said <- !is.null(settings$family)
  settings$family <- settings$family %||% "gaussian"
  settings
}

# What looks at several arguments.
settle_bark <- function(settings) {
  settings$scales <- settings$scales %||% if (is.null(settings$structure)) "different" else "equal"
  settings <- settle_until(settings, brief_goal(), c(
    warmup = 5e4, draws = 1000, thin = 50
  ), c(warmup = 12500, draws = 500, thin = 25))
  # Of a run whose length was said the chains are taken as they are.
  said <- is.null(settings$until) || settings$chains == 1L
  settings$chain_weights <- settings$chain_weights %||% if (said) "equal" else "stacking"
  settings <- settle_regression(settings)
  settings$prior <- settings$prior %||%
    if (settings$family == "gaussian") {
      bark_prior()
    } else {
      bark_prior(gamma = 5, epsilon = 0.5)
    }
  check_structure(settings$structure, settings$select, settings$scales)
  settings$prior["vectors"] <- list(scale_vectors(settings))
  if (settings$linear && settings$select) {
    bk_abort(
      "argument", "A linear part has all predictors: none is selected.",
      c("Found: linear = TRUE and select = TRUE.", "Accepted: one of them."),
      column = "linear", found = TRUE
    )
  }
  settings
}

# The run of a call that says nothing of its length: as long as it helps predictions, see
# bench/bark.R. Who asks for stop_at(rhat = 1.01) has longer rounds.
brief_goal <- function() {
  goal <- stop_at(rhat = most_rhat, sweeps = 1e5)
  goal$longer <- list(text = "stop_at(rhat = 1.01)", sweeps = 1.6e6)
  goal
}

# With more rows it has fewer rounds, as a sweep takes as long as there are rows; of many rows it is
# one round of fewer sweeps, and of fewer draws, as each is a product of all rows to predict by.
brief_run <- function(settings, n) {
  if (n <= most_whole) {
    if (n > 600L) settings$until$sweeps <- settings$until$sweeps / 2
    return(settings)
  }
  sweeps <- max(5000, round(6e7 / n))
  settings$draws <- 250L
  settings$thin <- as.integer(sweeps %/% 500)
  settings$warmup <- settings$thin * 250L
  settings$until$sweeps <- 2 * settings$warmup
  settings
}

# Whether it is a regression whose scale of the coefficients is learned.
learns_scale <- function(settings) {
  settings$family == "gaussian" && !is.null(settings$prior$scale)
}

# How many vectors of scales the kernels choose from.
scale_vectors <- function(settings) {
  vectors <- settings$prior$vectors
  free <- settings$scales == "different" && !settings$select
  if (free || (vectors %||% 1) == 1) {
    return(vectors %||% if (free && learns_scale(settings)) 2L else 1L)
  }
  bk_abort(
    "prior", "Several vectors of scales are those of all predictors.",
    c(
      sprintf(
        "Found: vectors = %d with scales = \"%s\", select = %s.", vectors,
        settings$scales, settings$select
      ),
      "Accepted: scales = \"different\", select = FALSE; or vectors = 1."
    ),
    column = "vectors", found = vectors, expected = 1L
  )
}

# How many rows a kernel is to reach.
kernel_reach <- function(settings, n) {
  reach <- settings$prior$reach
  if (settings$select && (reach %||% 0) > 0) {
    bk_abort(
      "prior",
      "How far kernels reach is a prior of the scales of all predictors.",
      c(
        sprintf("Found: reach = %s with select = TRUE.", format(reach)),
        "Accepted: select = FALSE; or reach = 0."
      ),
      column = "reach", found = reach, expected = 0
    )
  }
  learned <- learns_scale(settings) && !settings$select
  reach %||% if (learned) min(60, n / 2) else 0
}

check_structure <- function(structure, select, scales) {
  if (is.null(structure)) {
    return(invisible())
  }
  if (!inherits(structure, "markov")) {
    abort_argument(structure, "structure", "NULL, or markov(q, s)", kind = "prior")
  }
  remade(structure, "structure", "markov")
  if (!select || scales != "equal") {
    bk_abort(
      "argument", "`structure` is a prior of selection with one scale.",
      c(
        sprintf("Found: select = %s, scales = \"%s\".", select, scales),
        "Accepted: select = TRUE, scales = \"equal\"."
      ),
      column = "structure", found = c(select, scales)
    )
  }
}

bark_model <- list(
  name = "bark", title = "Bayesian additive kernels",
  methods = "rjmcmc", samplers = "rjmcmc", links = "probit",
  families = c("gaussian", "binomial", "ordinal"), asks_response = TRUE,
  linear = FALSE,
  prior = "bark_prior", arguments = bark_arguments, settle = settle_bark,
  rows = list(
    linear = FALSE, intercepts = TRUE, weights = TRUE, noise_weights = TRUE,
    response = function(settings) settings$family
  ),
  job = bark_job, chains = bark_chains, draws = bark_draws,
  watched = watched_names, traced = watched_names,
  words = function(names) bark_words(names), collect = bark_collect,
  validate = validate_bark,
  free_state = c("location", "count", "varphi", "unit_column")
)
