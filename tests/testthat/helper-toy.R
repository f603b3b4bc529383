# A model of the smallest kind, let in by its facts and the generics that the house asks: a linear
# regression, flat prior, noise at the residual variance.
toy <- function(x, ...) UseMethod("toy")
toy.formula <- function(formula, data, model = TRUE, ...) {
  bayeskernel:::fit_model(toy_model, match.call(), environment(), ...)
}
toy_columns <- function(x, fit) cbind(constant = rep(1, nrow(x)), scale(x, fit$center, fit$scale))
toy_moments <- function(q, x) list(mean = drop(x %*% q$mean), var = rowSums((x %*% q$cov) * x))
toy_model <- list(
  name = "toy", methods = c(exact = "exact"),
  arguments = list(), rows = list(
    linear = FALSE, weights = FALSE, response = function(settings) "gaussian"
  ),
  job = function(rows, settings) {
    x <- rows$data$x[, rows$data$source, drop = FALSE]
    list(settings = settings, x = toy_columns(x, rows), y = rows$y)
  },
  run = function(job) {
    inverse <- solve(crossprod(job$x))
    mean <- drop(inverse %*% crossprod(job$x, job$y))
    sigma2 <- sum((job$y - job$x %*% mean)^2) / (nrow(job$x) - ncol(job$x))
    list(mean = mean, cov = sigma2 * inverse, sigma = sqrt(sigma2))
  },
  collect = function(fit, core, job, rows) {
    fitted <- toy_moments(core, job$x)
    fit[c("family", "posterior", "fitted")] <- list("gaussian", core, fitted)
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
    noise <- object$posterior$sigma
    sd <- sqrt(f$var + response * noise^2)
    n <- c(take, 1000)[1]
    z <- matrix(rnorm(n * length(sd)), n)
    list(f = t(t(z) * sd + f$mean), mean = f$mean, sigma = rep(noise, n))
  },
  parameters = function(object, level = 0.95) {
    q <- object$posterior
    bayeskernel:::parameter_rows("parameter", bayeskernel:::coef_table(
      c(q$mean, sigma = q$sigma), c(sqrt(diag(q$cov)), 0), level = level
    ))
  },
  facts = function(object, only = NULL) list(title = "Linear regression", Prior = "flat")
)
for (name in names(toy_methods)) {
  registerS3method(name, "toy", toy_methods[[name]], asNamespace("bayeskernel"))
}
