# Missing predictors beside (1 | g), missing by the response: bkm() against a Gibbs sampler in plain
# R that draws the missing values, their law and all parameters. Data as in bench/missing.R.
#
#   Rscript bench/missing-sampler.R [name=value ...]
#
#   family=gaussian,probit   kind=factor,group   method=ep,vb   sets=8   sweeps=15000
#   table=   file (csv): by family, kind and method the number of sets, and of the slope of x, the
#            noise and the spread of groups the mean and the largest difference of posterior means,
#            in the sampler's standard deviations, and the mean ratio of standard deviations
#
# Priors: coefficients N(0, 100^2), noise IG(.01, .01), spread of groups half a Cauchy variable; of
# the law: flat. The law of a number of a group is its regression on the mean of z; of a level: a
# Dirichlet law in each group, whose size is drawn, and z normal given the level.

library(bayeskernel)
source("bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE, width = 150)

chosen <- local({
  list(
    family = words("family", c("gaussian", "probit")), kind = words("kind", c("factor", "group")),
    method = words("method", c("ep", "vb")), sets = words("sets", 8),
    sweeps = words("sweeps", 15000), table = words("table", NULL),
    groups = 30, rows = 10
  )
})
source("bench/missing-data.R")

# The sampler -----------------------------------------------------------------

inverse_gamma <- function(shape, rate) 1 / stats::rgamma(1, shape, rate)

# Coefficients with the effects integrated out, then these.
draw_model <- function(x, y, g, noise, spread) {
  size <- tabulate(g)
  sum_x <- rowsum(x, g)
  sum_y <- rowsum(y, g)[, 1]
  h <- 1 / (size + noise / spread)
  root <- chol((crossprod(x) - crossprod(sum_x, sum_x * h)) / noise + diag(1e-4, ncol(x)))
  pull <- (crossprod(x, y) - crossprod(sum_x, sum_y * h)) / noise
  b <- drop(backsolve(root, backsolve(root, pull, transpose = TRUE) + stats::rnorm(ncol(x))))
  effects <- (sum_y - drop(sum_x %*% b)) * h + stats::rnorm(length(h)) * sqrt(noise * h)
  list(b = b, effects = effects)
}

draw_latent <- function(f, up) {
  u <- stats::runif(length(f))
  ifelse(up, f - stats::qnorm(u * stats::pnorm(f)), f + stats::qnorm(u * stats::pnorm(-f)))
}

# Numbers of groups: values with the effects integrated out, then their law.
start_groups <- function(d, g) {
  x <- d$x[match(seq_len(max(g)), g)]
  guide <- cbind(1, rowsum(d$z, g)[, 1] / tabulate(g))
  inverse <- solve(crossprod(guide))
  list(
    x = ifelse(is.na(x), mean(x, na.rm = TRUE), x), gone = is.na(x), guide = guide,
    inverse = inverse, law = c(0, 0), var = 1
  )
}

step_groups <- function(at, y, z, g, b, effects, noise, spread) {
  size <- tabulate(g)
  v <- spread + noise / size
  gap <- rowsum(y - b[1] - b[3] * z, g)[, 1] / size
  precision <- 1 / at$var + b[2]^2 / v
  mean <- (drop(at$guide %*% at$law) / at$var + b[2] * gap / v) / precision
  new <- mean + stats::rnorm(length(v)) / sqrt(precision)
  at$x[at$gone] <- new[at$gone]
  best <- drop(at$inverse %*% crossprod(at$guide, at$x))
  left <- sum((at$x - at$guide %*% best)^2)
  at$var <- inverse_gamma(0.01 + (length(v) - 2) / 2, 0.01 + left / 2)
  at$law <- best + sqrt(at$var) * drop(crossprod(chol(at$inverse), stats::rnorm(2)))
  at
}

columns_groups <- function(at, z, g) cbind(1, at$x[g], z)

# Levels of rows, then their law.
start_levels <- function(d, g) {
  code <- as.integer(d$x)
  gone <- which(is.na(code))
  code[gone] <- sample(3, length(gone), TRUE)
  list(code = code, gone = gone, p = matrix(1 / 3, max(g), 3), mean = numeric(3), sd = 1)
}

step_levels <- function(at, y, z, g, b, effects, noise, spread) {
  o <- at$gone
  rest <- (y - b[1] - b[4] * z - effects[g])[o]
  log_p <- log(at$p[g[o], ])
  for (k in 1:3) {
    log_p[, k] <- log_p[, k] + stats::dnorm(z[o], at$mean[k], at$sd, log = TRUE) +
      stats::dnorm(rest, c(0, b[2:3])[k], sqrt(noise), log = TRUE)
  }
  p <- exp(log_p - pmax(log_p[, 1], log_p[, 2], log_p[, 3]))
  p <- p / rowSums(p)
  u <- stats::runif(length(o))
  at$code[o] <- 1L + (u > p[, 1]) + (u > p[, 1] + p[, 2])
  groups <- max(g)
  counts <- matrix(tabulate((at$code - 1) * groups + g, 3 * groups), groups)
  share <- (colSums(counts) + 0.5) / sum(counts + 0.5 / groups)
  sizes <- exp(seq(log(0.3), log(3000), length.out = 60))
  value <- vapply(sizes, function(a) {
    sum(lgamma(a) - lgamma(a + rowSums(counts))) +
      sum(lgamma(rep(a * share, each = groups) + counts) - rep(lgamma(a * share), each = groups))
  }, 0)
  size <- sample(sizes, 1, prob = exp(value - max(value)))
  gamma <- stats::rgamma(3 * groups, counts + rep(size * share, each = groups)) + 1e-300
  at$p <- matrix(gamma, groups) / rowSums(matrix(gamma, groups))
  count <- tabulate(at$code, 3)
  at$mean <- stats::rnorm(3, rowsum(z, factor(at$code, 1:3))[, 1] / count, at$sd / sqrt(count))
  at$sd <- sqrt(inverse_gamma(length(z) / 2, sum((z - at$mean[at$code])^2) / 2))
  at
}

columns_levels <- function(at, z, g) cbind(1, at$code == 2, at$code == 3, z)

sampler <- function(d, kind, family, sweeps, warm = 1000) {
  g <- as.integer(d$g)
  n <- length(g)
  groups <- max(g)
  part <- switch(kind,
    group = list(start_groups, step_groups, columns_groups),
    factor = list(start_levels, step_levels, columns_levels)
  )
  at <- part[[1]](d, g)
  y <- if (family == "gaussian") d$y else 2 * as.integer(d$y) - 3
  up <- y > 0
  noise <- spread <- scale <- 1
  out <- NULL
  for (sweep in seq_len(sweeps + warm)) {
    x <- part[[3]](at, d$z, g)
    drawn <- draw_model(x, y, g, noise, spread)
    f <- drop(x %*% drawn$b) + drawn$effects[g]
    if (family == "gaussian") {
      noise <- inverse_gamma(0.01 + n / 2, 0.01 + sum((y - f)^2) / 2)
    } else {
      y <- draw_latent(f, up)
    }
    spread <- inverse_gamma((1 + groups) / 2, 1 / scale + sum(drawn$effects^2) / 2)
    scale <- inverse_gamma(1, 1 + 1 / spread)
    at <- part[[2]](at, y, d$z, g, drawn$b, drawn$effects, noise, spread)
    now <- c(slope = drawn$b[2], noise = sqrt(noise), groups = sqrt(spread))
    if (is.null(out)) out <- matrix(0, sweeps, 3, dimnames = list(NULL, names(now)))
    if (sweep > warm) out[sweep - warm, ] <- now
  }
  list(mean = colMeans(out), sd = apply(out, 2, stats::sd))
}

# The package -----------------------------------------------------------------

ours <- function(d, kind, family, method) {
  fit <- quietly(bkm(
    y ~ x + z + (1 | g), d, family = family, method = method, missing = "model",
    penalty = "none", standardize = FALSE, seed = 1,
    prior = bkm_prior(
      beta_var = 1e4, intercept_var = 1e4, sd_scale = 1, noise_shape = 0.01, noise_rate = 0.01,
      x_df = 1.02
    )
  ))
  table <- as.data.frame(tidy(fit))
  at <- c(2, match("sd__Observation", table$term), match("sd__(Intercept)", table$term))
  list(mean = table$estimate[at], sd = table$std.error[at])
}

# All -------------------------------------------------------------------------

cases <- expand.grid(
  set = seq_len(chosen$sets), family = chosen$family, kind = chosen$kind, stringsAsFactors = FALSE
)
rows <- lapply(seq_len(nrow(cases)), function(k) {
  cell <- c(cases[k, c("family", "kind")], mechanism = "y", share = 0.5)
  d <- remove_values(complete_data(cell, cases$set[k]), cell, cases$set[k])
  truth <- sampler(d, cell$kind, cell$family, chosen$sweeps)
  do.call(rbind, lapply(chosen$method, function(method) {
    own <- ours(d, cell$kind, cell$family, method)
    data.frame(
      family = cell$family, kind = cell$kind, method = method, set = cases$set[k],
      what = names(truth$mean), gap = (own$mean - truth$mean) / truth$sd,
      ratio = own$sd / truth$sd
    )
  }))
})
rows <- do.call(rbind, rows)
rows <- rows[is.finite(rows$gap), ]
keys <- rows[c("what", "method", "family", "kind")]
table <- do.call(rbind, lapply(split(rows, keys, drop = TRUE), function(own) {
  data.frame(
    own[1, c("family", "kind", "method", "what")], sets = nrow(own), mean = mean(own$gap),
    largest = max(abs(own$gap)), ratio = mean(own$ratio),
    version = format(utils::packageVersion("bayeskernel"))
  )
}))
print(table, row.names = FALSE, digits = 2)
if (!is.null(chosen$table)) utils::write.csv(table, chosen$table, row.names = FALSE)
