# The arguments that make each model that of a paper, as calls: the table of the help page and the
# list that a user gets are both made from these. Where an argument stands in a prior or in the
# control, its row is named by both.

# A paper's model: its function and the arguments that differ.
# fitter: name of the function.
# ...: arguments, not evaluated.
published_model <- function(fitter, ...) {
  list(fitter = fitter, arguments = as.list(substitute(list(...)))[-1L])
}

# One of the four models of section 3.2.2.
published_bark <- function(scales, select) {
  eval(bquote(published_model(
    "bark", scales = .(scales), select = .(select), prior = bark_prior(gamma = 5, epsilon = 0.5),
    ndraws = 4000, until = NULL, control = bark_control(warmup = 2e6, thin = 500)
  )))
}

published_models <- list(
  luts2014 = list(
    penalty = published_model(
      "bsvm", method = "vb", penalty = "learn", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01)
    ),
    penalty_gibbs = published_model(
      "bsvm", method = "gibbs", penalty = "learn", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01),
      chains = 1, ndraws = 5000, control = bsvm_control(warmup = 5000)
    ),
    intercept = published_model(
      "bsvm", method = "vb", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01)
    ),
    intercept_gibbs = published_model(
      "bsvm", method = "gibbs", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01),
      chains = 1, ndraws = 5000, control = bsvm_control(warmup = 5000)
    ),
    selection = published_model(
      "bsvm", method = "vb", select = TRUE, learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01, rho = 0.01),
      control = bsvm_control(starts = 1, polish = FALSE)
    ),
    selection_gibbs = published_model(
      "bsvm", method = "gibbs", select = TRUE, learning_rate = 1,
      prior = bsvm_prior(
        beta_var = 1e8, var_shape = 0.01, var_rate = 0.01, rho = 0.01, inclusion = "column"
      ),
      chains = 1, ndraws = 50000, control = bsvm_control(warmup = 50000)
    ),
    missing = published_model(
      "bsvm", method = "vb", penalty = "learn", missing = "model", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01)
    ),
    missing_gibbs = published_model(
      "bsvm", method = "gibbs", penalty = "learn", missing = "model", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01), chains = 1,
      ndraws = 5000, control = bsvm_control(warmup = 5000)
    )
  ),
  wenzel2017 = list(
    batch = published_model("gpsvm", method = "vb", kernel = rbf(5 / sqrt(2)), tune = FALSE),
    stochastic = published_model(
      "gpsvm", method = "svi", kernel = rbf(5 / sqrt(2)), tune = FALSE,
      control = gpsvm_control(batch_size = 10, epochs = 2, rate = "adaptive", max_iter = 0)
    ),
    ecm = published_model("gpsvm", method = "ecm", kernel = rbf(5 / sqrt(2)), tune = FALSE),
    susy = published_model(
      "gpsvm", method = "svi", kernel = rbf(5 / sqrt(2)), inducing = 64, tune = FALSE,
      control = gpsvm_control(batch_size = 100, rate = "adaptive", max_iter = 0)
    )
  ),
  damoulas2009 = list(
    single = published_model(
      "mkprobit", coefficients = "weights", method = "vb",
      control = mkprobit_control(tol = 0.001, max_iter = 50)
    ),
    gibbs = published_model(
      "mkprobit", coefficients = "weights", method = "gibbs",
      prior = mkprobit_prior(tau = 3, nu = 3), chains = 1, ndraws = 90000,
      control = mkprobit_control(warmup = 10000)
    ),
    sum = published_model(
      "mkprobit", coefficients = "weights", method = "vb", combine = "sum",
      control = mkprobit_control(tol = 0.001, max_iter = 100)
    ),
    product = published_model(
      "mkprobit", coefficients = "weights", method = "vb", combine = "product",
      control = mkprobit_control(tol = 0.001, max_iter = 100)
    ),
    weighted_sum = published_model(
      "mkprobit", coefficients = "weights", method = "vb", combine = "sum",
      kernel_weights = "learn",
      control = mkprobit_control(tol = 0.001, max_iter = 100, weights_method = "is")
    ),
    weighted_product = published_model(
      "mkprobit", coefficients = "weights", method = "vb",
      combine = "product", kernel_weights = "learn",
      control = mkprobit_control(tol = 0.001, max_iter = 100, weights_method = "is")
    ),
    binary = published_model(
      "mkprobit", coefficients = "weights", method = "vb",
      combine = "binary", kernel_weights = "learn",
      control = mkprobit_control(tol = 0.001, max_iter = 100, weights_method = "enumerate")
    )
  ),
  ouyang2008 = list(
    equal = published_bark("equal", FALSE), different = published_bark("different", FALSE),
    select_equal = published_bark("equal", TRUE),
    select_different = published_bark("different", TRUE),
    projection = published_model("klr", until = NULL)
  ),
  vermaak2004 = list(
    sinc = published_model(
      "seqkr", kernel = rbf(1.6 / sqrt(2)), moves = "corrected", standardize = FALSE,
      prior = seqkr_prior(lambda = 1, kmax = 50), control = seqkr_control(ess = 1)
    ),
    sinc_rj = published_model(
      "seqkr", kernel = rbf(1.6 / sqrt(2)), moves = "rj", sweeps = 1, standardize = FALSE,
      prior = seqkr_prior(lambda = 1, kmax = 50), control = seqkr_control(ess = 1)
    ),
    boston = published_model(
      "seqkr", kernel = rbf(5 / sqrt(2)), moves = "rj", sweeps = 1,
      prior = seqkr_prior(lambda = 5, kmax = 50), control = seqkr_control(ess = 1)
    )
  )
)

#' The arguments of a paper's model
#'
#' Defaults of this package are not always those of the papers whose models it has. `published()`
#' gives the arguments that make a model the paper's, to be put into a call by [do.call()].
#'
#' Arguments that the tables below do not have are at the default, which is then
#' the paper's. Where a paper gives no number, the reason says so.
#'
#' @param paper `"luts2014"` ([bsvm()]), `"wenzel2017"` ([gpsvm()]), `"damoulas2009"`
#'   ([mkprobit()]), `"ouyang2008"` ([bark()], [klr()]) or `"vermaak2004"` ([seqkr()]).
#' @param model The model of that paper, one of the first column of its table.
#' @return A named list of arguments. Without `model` a data frame with the columns `paper`,
#'   `model`, `fitter`, `argument`, `default`, `published`, `why`, of the paper or of all papers.
#' @eval published_sections()
#' @section Errors: `bayeskernel_error_argument`, which lists the papers, or the models of one.
#' @references
#' Damoulas, T. and Girolami, M. A. (2009). Combining feature spaces for
#' classification. *Pattern Recognition* 42, 2671-2683.
#'
#' Luts, J. and Ormerod, J. T. (2014). Mean field variational Bayesian inference for support vector
#' machine classification. *Computational Statistics & Data Analysis* 73, 163-176.
#'
#' Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD thesis, Duke University.
#'
#' Vermaak, J., Godsill, S. J. and Doucet, A. (2004). Sequential Bayesian kernel
#' regression. *Advances in Neural Information Processing Systems* 16.
#'
#' Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017). Bayesian nonlinear support vector
#' machines for big data. *Machine Learning and Knowledge Discovery in Databases*, 307-322.
#' @seealso [reproduce()] for the papers' tables and figures.
#' @examples
#' published("luts2014", "penalty")
#' own <- list(factor(am) ~ wt + hp, mtcars)
#' fit <- do.call(bsvm, c(own, published("luts2014", "penalty")))
#' published("vermaak2004")[c("model", "argument", "published", "why")]
#' @export
published <- function(paper = NULL, model = NULL) {
  if (is.null(paper)) {
    if (!is.null(model)) abort_argument(paper, "paper", "a paper, where `model` is given")
    tables <- lapply(names(published_models), published)
    return(do.call(rbind, tables))
  }
  paper <- check_choice(paper, names(published_models), "paper")
  if (is.null(model)) return(data.frame(paper = paper, published_table(paper)))
  models <- published_models[[paper]]
  model <- check_choice(model, names(models), "model")
  lapply(models[[model]]$arguments, eval, topenv())
}
