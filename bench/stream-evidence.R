# Part `evidence` of bench/stream.R.

# log N(y; 0, noise I + spread H H') by reflections of the rows.
rows_likelihood <- function(h, y, noise, spread) {
  factor <- qr(rbind(sqrt(spread / noise) * h, diag(ncol(h))), LAPACK = TRUE)
  left <- qr.qty(factor, c(y, numeric(ncol(h))))[-seq_len(ncol(h))]
  -0.5 * length(y) * log(2 * pi * noise) -
    sum(log(abs(diag(qr.R(factor))))) - 0.5 * sum(left^2) / noise
}

log_mean_exp <- function(x) max(x) + log(mean(exp(x - max(x))))

# The sum over all sets of candidates, Poisson(1) in number.
sets_evidence <- function(values, y, noise, spread) {
  g <- ncol(values)
  total <- sum(1 / factorial(0:g))
  terms <- unlist(lapply(0:g, function(size) {
    utils::combn(g, size, function(set) {
      rows_likelihood(
        cbind(1, values[, set, drop = FALSE]), y, noise, spread
      ) - log(factorial(size) * total * choose(g, size))
    })
  }))
  log_mean_exp(terms) + log(length(terms))
}

kernel_values <- function(kernel, x, at) {
  d <- abs(outer(x, at, "-")) / kernel$lengthscale
  switch(kernel$kind,
    rbf = exp(-d^2 / 2),
    if (kernel$nu == 0.5) {
      exp(-d)
    } else {
      (1 + sqrt(5) * d + 5 * d^2 / 3) * exp(-sqrt(5) * d)
    }
  )
}

known_variance_designs <- function() {
  expand.grid(
    n = c(20, 60), spread = c(1, 1e6),
    kernel = c("rbf(0.8)", "rbf(3)", "rbf(8)", "matern(2.5, 3)", "matern(0.5, 3)"),
    stringsAsFactors = FALSE
  )
}

score_known <- function(design, seeds = 30) {
  set.seed(7)
  x <- runif(design$n, -1.7, 1.7)
  y <- sin(1.5 * x) + rnorm(design$n, sd = 0.15)
  at <- c(-1.2, -0.3, 0.4, 1.3)
  kernel <- eval(parse(text = design$kernel))
  exact <- sets_evidence(kernel_values(kernel, x, at), y, 0.02, design$spread)
  found <- vapply(seq_len(seeds), function(seed) {
    quietly(seqkr(
      cbind(x), y, kernel = kernel, grid = cbind(x = at), order = "given",
      prior = seqkr_prior(lambda = 1, noise = 0.02, coef = design$spread),
      standardize = FALSE, seed = seed, particles = 200, sweeps = 30, threads = 1
    ))$log_evidence
  }, 0)
  ratio <- exp(found - exact)
  cbind(design, exact = exact, log_mean = log_mean_exp(found),
    mean = mean(ratio), error = sd(ratio) / sqrt(seeds))
}

# The best dense Gaussian process of the same kernel: all rows are centres, variances at their best.
# Sums over few centres stay about below.
dense_limit <- function(fit, x, y) {
  z <- scale(x)
  v <- exp(-as.matrix(dist(z))^2 / (2 * fit$kernel$lengthscale[1]^2))
  h <- cbind(1, v)
  unit <- (y - mean(y)) / sd(y)
  at <- function(p) -rows_likelihood(h, unit, exp(p[1]), exp(p[2]))
  -optim(c(-2, -2), at)$value - length(y) * log(sd(y))
}

surfaces <- list(
  wave = function(noise) list(
    truth = function(a, b) sin(4 * a) + b, draw = function(n) runif(n), noise = noise
  ),
  bowl = function(noise) list(
    truth = function(a, b) sin(2 * a) + b^2 / 2, draw = function(n) runif(n, -2, 2), noise = noise
  )
)

score_default <- function(name, noise, seed, ...) {
  design <- surfaces[[name]](noise)
  set.seed(seed)
  d <- data.frame(a = design$draw(200), b = design$draw(200))
  f <- design$truth(d$a, d$b)
  d$y <- f + rnorm(200, sd = noise)
  seconds <- system.time(
    fit <- quietly(flat(seqkr)(y ~ a + b, d, seed = seed, threads = 1, ...))
  )[[1]]
  limits <- as.matrix(predict(fit, d, type = "response", interval = "credible", level = 0.9))
  limits <- limits[, ncol(limits) - 1:0]
  data.frame(
    surface = name, noise = noise, seed = seed, lengthscale = round(fit$kernel$lengthscale[1], 2),
    evidence = round(fit$log_evidence, 1), dense = round(dense_limit(fit, d[1:2], d$y), 1),
    largest = round(max(fit$trace$steps$log_evidence), 2),
    rmse = round(sqrt(mean((fitted(fit) - f)^2)), 3),
    cover = round(mean(limits[, 1] <= f & f <= limits[, 2]), 2), seconds = round(seconds, 1)
  )
}

score_classes <- function(seed, ...) {
  set.seed(seed)
  d <- data.frame(a = runif(200, -2, 2), b = runif(200, -2, 2))
  truth <- pnorm(2 * (sin(2 * d$a) + d$b^2 / 2 - 0.6))
  d$y <- factor(ifelse(runif(200) < truth, "up", "down"))
  fit <- quietly(flat(seqkr)(y ~ a + b, d, family = "binomial", seed = seed, threads = 1, ...))
  prob <- predict(fit, d, type = "prob")[, "up"]
  process <- quietly(bkm(y ~ gp(a, b), d, family = "probit", threads = 1))
  smooth <- mgcv::gam(
    I(y == "up") ~ s(a, b), data = d, family = stats::binomial("probit"), method = "REML"
  )
  rmse <- function(prob) sqrt(mean((prob - truth)^2))
  c(
    lengthscale = fit$kernel$lengthscale[1], rmse = rmse(prob),
    gp = rmse(predict(process, d, type = "prob")[, "up"]), gam = rmse(fitted(smooth))
  )
}

# Default fits of version 0.6.0 had a log evidence of up to 29,286,572.
parts$evidence <- function() {
  cat("\nKnown variances: exp(log evidence) over the sum over all sets\n")
  designs <- known_variance_designs()
  table <- do.call(rbind, lapply(seq_len(nrow(designs)), function(i) {
    score_known(designs[i, ])
  }))
  table$z <- (table$mean - 1) / table$error
  print(format(table, digits = 3), row.names = FALSE)
  cat(sprintf("within 4 standard errors: %d of %d\n", sum(abs(table$z) < 4), nrow(table)))
  cat("\nDefault fits of 200 rows\n")
  print(do.call(rbind, lapply(1:3, function(seed) rbind(
    score_default("wave", 0.2, seed), score_default("wave", 0.05, seed),
    score_default("bowl", 0.3, seed)
  ))), row.names = FALSE)
  cat("\nThe bowl by rbf(1.2)\n")
  print(do.call(rbind, lapply(1:3, function(seed) {
    score_default("bowl", 0.3, seed, kernel = rbf(1.2))
  })), row.names = FALSE)
  cat("\nTwo classes, the bowl: RMSE of the probability\n")
  print(rbind(
    default = rowMeans(sapply(1:3, score_classes)),
    "rbf(1.2)" = rowMeans(sapply(1:3, score_classes, kernel = rbf(1.2)))
  ), digits = 3)
}
