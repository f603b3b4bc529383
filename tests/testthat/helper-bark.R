# Short chains: what is tested does not depend on their having mixed.
quick_bark <- function(..., ndraws = 40, chains = 2, warmup = 300, thin = 5,
                       threads = 1, seed = 11) {
  suppressWarnings(
    flat(bark)(
      ..., ndraws = ndraws, chains = chains, warmup = warmup, thin = thin, threads = threads,
      seed = seed, progress = FALSE
    ),
    classes = "bayeskernel_warning_convergence"
  )
}

# A response of every kind that depends on a number and on a factor; another number that matters to
# none.
bark_data <- function(n = 60, seed = 3) {
  set.seed(seed)
  d <- data.frame(
    a = runif(n, -2, 2), b = rnorm(n, 50, 10), g = factor(rep_len(c("u", "v", "w"), n))
  )
  f <- sin(2 * d$a) + (d$g == "v")
  d$y <- 100 + 10 * (f + rnorm(n) / 5)
  d$two <- factor(ifelse(f + rnorm(n) / 5 > 0.3, "hi", "lo"), c("lo", "hi"))
  d$three <- cut(d$y, c(-Inf, 98, 108, Inf), c("low", "mid", "high"), ordered_result = TRUE)
  d
}

bark_matrix <- function(data) as.matrix(data[c("a", "b")])

# Kernels at rows of `own` in plain R, the constant at 0: rows of x x kernels. Places of the second
# vector of scales follow those of the first.
plain_columns <- function(x, own, at, lambda) {
  out <- vapply(at, function(i) {
    if (i == 0) return(rep(1, nrow(x)))
    scale <- if (i <= nrow(own)) seq_len(ncol(own)) else ncol(own) + seq_len(ncol(own))
    centre <- if (i <= nrow(own)) i else i - nrow(own)
    exp(-drop((x - rep(own[centre, ], each = nrow(x)))^2 %*% lambda[scale]))
  }, numeric(nrow(x)))
  matrix(out, nrow(x))
}

# The kernel and the posterior of the coefficients in plain R: moments of f at new rows for every
# draw of a fit, on the scale of the model.
plain_bark_moments <- function(fit, x_train, x_new) {
  draws <- bark_core_draws(fit)
  last <- cumsum(draws$kernels$size)
  kernel <- function(x, at, lambda) plain_columns(x, fit$posterior$x, at, lambda)
  moments <- lapply(seq_along(last), function(k) {
    own <- last[k] - draws$kernels$size[k] + seq_len(draws$kernels$size[k])
    at <- draws$kernels$location[own]
    if (length(at) == 0) return(cbind(numeric(nrow(x_new)), 0))
    lambda <- draws$lambda[k, ]
    gram <- draws$phi[k] * crossprod(kernel(x_train, at, lambda))
    sigma <- solve(gram + diag(1 / draws$kernels$variance[own], length(own)))
    new <- kernel(x_new, at, lambda)
    cbind(new %*% draws$kernels$mean[own], rowSums((new %*% sigma) * new))
  })
  pick <- function(j) {
    matrix(vapply(moments, function(m) m[, j], numeric(nrow(x_new))),
      ncol = nrow(x_new), byrow = TRUE
    )
  }
  list(mean = pick(1), var = pick(2), phi = draws$phi, cuts = draws$cuts)
}

# Rows of a data frame on the scale of the model.
bark_scaled <- function(fit, newdata) scaled_predictors(fit, new_rows(fit, newdata)$x)

expect_bark_refusal <- function(code, kind, regexp) {
  condition <- expect_bk_error(code, kind, regexp)
  text <- conditionMessage(condition)
  expect_lt(nchar(strsplit(text, "\n")[[1]][1]), 80)
  expect_match(text, "\n\\* ")
  expect_match(
    deparse(conditionCall(condition))[1], "bark|levy|markov|predict|plot|inclusion|summary|quick"
  )
  invisible(condition)
}
