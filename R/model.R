# A model is a list of its own facts and the methods of five internal generics,
# latent(), latent_draws(), parameters(), facts() and pictures(). Everything
# that users call on a fit is written once, for `bayeskernel_fit`, and asks
# these.

#' The facts of the model that a fit is of
#'
#' @param object A fit.
#' @return A list: `name`, of the function that fits; `title`, what print()
#'   calls the model; `methods`, engines, the first of them the default;
#'   `samplers`, those with draws; `links`, ways from f to a probability, the
#'   first of them the default; `families`, kinds of responses; `linear`,
#'   whether there are coefficients of predictors; and what fit_model() reads.
#' @noRd
model_of <- function(object) UseMethod("model_of")

#' @export
#' @noRd
model_of.bsvm <- function(object) bsvm_model

#' @export
#' @noRd
model_of.gpsvm <- function(object) gpsvm_model

#' @export
#' @noRd
model_of.bark <- function(object) bark_model

bsvm_model <- list(
  name = "bsvm", title = "Bayesian linear support vector machine",
  methods = c("vb", "gibbs", "svi"), samplers = "gibbs",
  links = c("probit", "hinge"), families = "binomial", linear = TRUE
)

gpsvm_model <- list(
  name = "gpsvm", title = "Bayesian nonlinear support vector machine",
  methods = c("vb", "svi", "gibbs", "ecm"), samplers = "gibbs",
  links = c("probit", "hinge"), families = c("binomial", "multinomial"),
  linear = FALSE
)

bark_model <- list(
  name = "bark", title = "Bayesian additive kernels",
  methods = "rjmcmc", samplers = "rjmcmc", links = "probit",
  families = c("gaussian", "binomial", "ordinal"), linear = FALSE
)
