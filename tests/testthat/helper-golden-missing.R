# The models of golden/missing. What is fitted follows from a case's formula, family and columns,
# never from its name, its sizes or its seeds.

read_golden_missing <- function(case) {
  path <- file.path(golden_folder("missing"), case)
  out <- jsonlite::fromJSON(paste0(path, ".json"))
  out$family <- either(out$family, sub("_.*", "", case))
  data <- utils::read.csv(paste0(path, "_data.csv"), stringsAsFactors = TRUE)
  # A formula that is not written out has the columns as its terms.
  groups <- intersect(c("g", "group"), names(data))
  terms <- c(setdiff(names(data), c("y", groups)), sprintf("(1 | %s)", groups))
  out$formula <- if (is.null(out$formula)) {
    stats::reformulate(terms, "y")
  } else {
    stats::as.formula(out$formula)
  }
  bars <- lme4::findbars(out$formula)
  out$groups <- unique(unlist(lapply(bars, function(bar) all.vars(bar[[3]]))))
  data[out$groups] <- lapply(data[out$groups], factor)
  if (out$family != "gaussian") data$y <- factor(data$y)
  out$data <- data
  out
}

# Priors of the golden folder: coefficients N(0, 100^2), inverse gamma variance of the noise, and,
# for half a Cauchy variable of scale 1, half a t variable of that scale. That of the covariance of
# the predictors is the widest there is.
golden_missing_fit <- function(golden, method, ...) {
  predictors <- golden$data[setdiff(names(golden$data), c("y", golden$groups))]
  flat(bkm)(
    golden$formula, golden$data,
    family = golden$family, method = method, missing = "model",
    penalty = "none", standardize = FALSE, seed = 1, threads = 1,
    progress = FALSE,
    prior = bkm_prior(
      beta_var = 1e4, intercept_var = 1e4, sd_scale = 1, noise_shape = 0.01,
      noise_rate = 0.01, x_df = sum(vapply(predictors, is.numeric, NA)) - 0.98
    ), ...
  )
}

# Estimates and their standard deviations under the names of the golden folder: b0, b1, ... in the
# order of the columns, sigma and sd_group.
golden_missing_estimates <- function(fit) {
  table <- as.data.frame(tidy(fit))
  fixed <- table$effect == "fixed"
  noise <- table$group %in% "Residual"
  groups <- startsWith(table$term, "sd__") & !noise
  name <- rep("other", nrow(table))
  name[fixed] <- paste0("b", seq_len(sum(fixed)) - 1L)
  name[noise] <- "sigma"
  name[groups] <- if (sum(groups) == 1L) "sd_group" else paste0("sd_", table$group[groups])
  list(mean = stats::setNames(table$estimate, name), sd = stats::setNames(table$std.error, name))
}

# Those of the golden numbers that a fit estimates.
golden_missing_names <- function(golden, found) {
  names <- intersect(names(golden$mean), names(found$mean))
  names[unlist(golden$sd[names]) > 0]
}

# Minus the log likelihood of a normal response and a normal predictor that misses values, at mean
# coefficients, those of the predictor, and log standard deviations: a row without its predictor has
# the response's marginal law.
joint_normal_loss <- function(theta, y, x, z) {
  p <- ncol(z)
  b <- theta[seq_len(p)]
  slope <- theta[p + 1L]
  mean <- drop(z %*% theta[p + 1L + seq_len(p)])
  sd <- exp(theta[2L * p + 2L])
  noise <- exp(theta[2L * p + 3L])
  gap <- is.na(x)
  rest <- drop(z %*% b)
  -sum(
    stats::dnorm(y[gap], (rest + slope * mean)[gap], sqrt(noise^2 + slope^2 * sd^2), TRUE)
  ) - sum(
    stats::dnorm(x, mean, sd, TRUE)[!gap] + stats::dnorm(y, rest + slope * x, noise, TRUE)[!gap]
  )
}

# The best coefficients and their standard errors by that likelihood, for a model of numbers one of
# which misses values.
joint_normal_best <- function(formula, data) {
  frame <- stats::model.frame(formula, data, na.action = stats::na.pass)
  columns <- stats::model.matrix(formula, frame)
  at <- which(colSums(is.na(columns)) > 0)
  stopifnot(length(at) == 1L)
  x <- columns[, at]
  z <- columns[, -at, drop = FALSE]
  y <- stats::model.response(frame)
  p <- ncol(z)
  own <- stats::lm.fit(z[!is.na(x), , drop = FALSE], x[!is.na(x)])
  both <- stats::lm.fit(cbind(z, x)[!is.na(x), , drop = FALSE], y[!is.na(x)])
  start <- c(
    both$coefficients, own$coefficients, log(stats::sd(own$residuals)),
    log(stats::sd(both$residuals))
  )
  best <- stats::optim(
    start, joint_normal_loss, method = "BFGS", hessian = TRUE, y = y, x = x,
    z = z, control = list(reltol = 1e-14, maxit = 1000)
  )
  order <- append(seq_len(p), p + 1L, at - 1L)
  list(
    mean = unname(best$par[order]), sd = unname(sqrt(diag(solve(best$hessian)))[order]),
    sigma = exp(unname(best$par[2L * p + 3L]))
  )
}
