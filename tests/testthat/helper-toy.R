# A model of the smallest kind, let in by its facts and the generics that the
# house asks: a linear regression, flat prior, noise at the residual variance.
toy <- function(x, ...) UseMethod("toy")
toy.formula <- function(formula, data, ...) {
  bayeskernel:::fit_model(toy_model, match.call(), environment(), ...)
}
toy_columns <- function(x, fit) {
  cbind(rep(1, nrow(x)), sweep(sweep(x, 2, fit$center), 2, fit$scale, "/"))
}
toy_moments <- function(q, x) {
  list(mean = drop(x %*% q$mean), var = rowSums((x %*% q$cov) * x))
}
toy_model <- list(
  name = "toy", title = "Linear regression", methods = "exact",
  exact = "exact", families = "gaussian", linear = FALSE,
  arguments = function() list(), rows = list(
    linear = FALSE, weights = FALSE, response = function(settings) "gaussian"
  ),
  job = function(rows, settings) {
    x <- rows$data$x[, rows$data$source, drop = FALSE]
    list(settings = settings, x = toy_columns(x, rows), y = rows$y)
  },
  run = function(job) {
    inverse <- chol2inv(chol(crossprod(job$x)))
    mean <- drop(inverse %*% crossprod(job$x, job$y))
    sigma2 <- sum((job$y - job$x %*% mean)^2) / (nrow(job$x) - ncol(job$x))
    list(mean = mean, cov = sigma2 * inverse, sigma = sqrt(sigma2))
  },
  collect = function(fit, core, job, rows) {
    fit[c("family", "posterior")] <- list("gaussian", core)
    fit$fitted <- toy_moments(core, job$x)
    fit$diagnostics <- list(converged = TRUE, passes = 1, seconds = 0)
    fit
  }
)
toy_methods <- list(
  model_of = function(object) toy_model,
  latent = function(object, rows = NULL, links = NULL, threads = 1) {
    if (is.null(rows)) return(object$fitted)
    x <- toy_columns(rows$x[, object$used, drop = FALSE], object$transform)
    toy_moments(object$posterior, x)
  },
  latent_draws = function(object, rows = NULL, take = NULL, response = 0, ...) {
    f <- toy_methods$latent(object, rows)
    sd <- sqrt(f$var + response * object$posterior$sigma^2)
    n <- if (is.null(take)) 1000L else take
    z <- matrix(rnorm(n * length(sd)), n)
    list(f = t(t(z) * sd + f$mean), mean = f$mean, sigma = rep(1, n))
  },
  parameters = function(object, level = 0.95) {
    q <- object$posterior
    mean <- stats::setNames(q$mean, c("constant", object$columns))
    bayeskernel:::parameter_rows("parameter", bayeskernel:::coef_table(
      mean, sqrt(diag(q$cov)), level = level
    ))
  }, facts = function(object) list(title = "Linear regression", Rows = object$n)
)
for (name in names(toy_methods)) {
  registerS3method(name, "toy", toy_methods[[name]], asNamespace("bayeskernel"))
}
