# A Gibbs sampler, in plain R, of a model of the mean whose predictor x misses
# values and has effects of groups of its own:
#
#   eta_i = z_i'b + b_x x_i + u_g(i),        u_g ~ N(0, tau^2)
#   y_i   = eta_i + N(0, sigma^2), or y_i = 1 where eta_i + N(0, 1) > 0
#           (probit), or P(y_i = 1) = 1 / (1 + exp(-eta_i)) (logit), or with
#           exp(-2 rate max(1 -+ eta_i, 0)) for a likelihood (hinge)
#   x_i   = z_i'm + a_g(i) + N(0, s^2),      a_g ~ N(0, t^2)
#
# Coefficients b, b_x, m are N(0, 100^2), variances of noise inverse gamma
# (.01, .01), standard deviations of groups half a Cauchy variable of scale 1.
# It shares nothing with the package.

# `z` has the intercept. `group` NULL: no effects of groups. `x_groups`: the
# predictor has effects. `constant`: it has one value a group, whose law is that
# of the group's mean of z; its rows are missing together.
missing_gibbs <- function(y, x, z, group = NULL, family = "gaussian",
                          x_groups = !is.null(group), constant = FALSE,
                          sweeps = 5000, warmup = 1000, seed = 1, rate = 1) {
  set.seed(seed)
  z <- as.matrix(z)
  n <- length(y)
  p <- ncol(z)
  member <- if (is.null(group)) matrix(0, n, 0) else indicators(group)
  groups <- ncol(member)
  gap <- is.na(x)
  # What x's law is of: the groups' means where they have one value each.
  if (constant) {
    size <- colSums(member)
    mean_of <- t(member) / size
    law_z <- mean_of %*% z
    law_gap <- drop(mean_of %*% gap) > 0
    x_groups <- FALSE
  } else {
    mean_of <- NULL
    law_z <- z
    law_gap <- gap
  }
  law_member <- if (x_groups) member else matrix(0, nrow(law_z), 0)
  state <- list(
    x = ifelse(gap, mean(x, na.rm = TRUE), x), tau2 = 1, t2 = 1, s2 = 1,
    sigma2 = if (family == "gaussian") stats::var(y) else 1, tau_aux = 1,
    t_aux = 1
  )
  kept <- matrix(
    NA_real_, sweeps, 2 * p + 5,
    dimnames = list(NULL, c(
      "b_x", paste0("b", seq_len(p)), "sigma", "sd_group",
      paste0("m", seq_len(p)), "sd_x", "sd_x_group"
    ))
  )
  filled <- squares <- numeric(n)
  coefficients <- numeric(p + 1 + groups)
  for (sweep in seq_len(warmup + sweeps)) {
    # The response: latent numbers, or weights of them.
    design <- cbind(z, state$x, member)
    eta <- drop(design %*% coefficients)
    precision <- rep(1 / state$sigma2, n)
    target <- y
    if (family == "probit") {
      target <- one_sided_normal(eta, y)
    } else if (family == "logit") {
      precision <- polya_gamma_sum(eta)
      target <- (y - 0.5) / precision
    } else if (family == "hinge") {
      # A mixture of normal densities (Polson and Scott, 2011).
      side <- ifelse(y > 0.5, 1, -1)
      weight <- inverse_gaussian(1 / abs(rate * (1 - side * eta)))
      precision <- rate^2 * weight
      target <- side * (1 + 1 / (rate * weight))
    }
    prior <- rep(c(1e-4, 1 / state$tau2), c(p + 1, groups))
    coefficients <- draw_normal(design, target, precision, prior)
    u <- coefficients[-seq_len(p + 1)]
    if (family == "gaussian") {
      residual <- target - drop(design %*% coefficients)
      state$sigma2 <- inverse_gamma(0.01 + n / 2, 0.01 + sum(residual^2) / 2)
    }
    if (groups) {
      state$tau2 <- inverse_gamma(
        (groups + 1) / 2, sum(u^2) / 2 + 1 / state$tau_aux
      )
      state$tau_aux <- inverse_gamma(1, 1 + 1 / state$tau2)
    }
    # The law of the predictor.
    value <- if (constant) drop(mean_of %*% state$x) else state$x
    law <- draw_normal(
      cbind(law_z, law_member), value, rep(1 / state$s2, length(value)),
      rep(c(1e-4, 1 / state$t2), c(p, ncol(law_member)))
    )
    center <- drop(cbind(law_z, law_member) %*% law)
    state$s2 <- inverse_gamma(
      0.01 + length(value) / 2, 0.01 + sum((value - center)^2) / 2
    )
    if (x_groups) {
      state$t2 <- inverse_gamma(
        (groups + 1) / 2, sum(law[-seq_len(p)]^2) / 2 + 1 / state$t_aux
      )
      state$t_aux <- inverse_gamma(1, 1 + 1 / state$t2)
    }
    # Missing values given both.
    slope <- coefficients[p + 1]
    rest <- target - drop(cbind(z, member) %*% coefficients[-(p + 1)])
    weight <- precision * slope^2
    pull <- precision * slope * rest
    if (constant) {
      weight <- drop(crossprod(member, weight))
      pull <- drop(crossprod(member, pull))
    }
    spread <- 1 / (1 / state$s2 + weight)
    drawn <- stats::rnorm(
      length(value), spread * (center / state$s2 + pull), sqrt(spread)
    )
    if (constant) {
      state$x[gap] <- drop(member %*% drawn)[gap]
    } else {
      state$x[law_gap] <- drawn[law_gap]
    }
    if (sweep > warmup) {
      kept[sweep - warmup, ] <- c(
        slope, coefficients[seq_len(p)], sqrt(state$sigma2),
        if (groups) sqrt(state$tau2) else 0, law[seq_len(p)], sqrt(state$s2),
        if (x_groups) sqrt(state$t2) else 0
      )
      filled <- filled + state$x
      squares <- squares + state$x^2
    }
  }
  mean <- filled / sweeps
  list(
    draws = kept, row = which(gap), imputed = mean[gap],
    imputed_sd = sqrt(pmax(squares / sweeps - mean^2, 0))[gap],
    mcse = apply(kept, 2, batch_error)
  )
}

indicators <- function(group) {
  out <- outer(as.integer(factor(group)), seq_len(nlevels(factor(group))), "==")
  storage.mode(out) <- "double"
  out
}

inverse_gamma <- function(shape, rate) 1 / stats::rgamma(1, shape, rate)

# Of shape 1, by Michael, Schucany and Haas (1976).
inverse_gaussian <- function(mean) {
  y <- stats::rnorm(length(mean))^2
  x <- mean + mean^2 * y / 2 - mean / 2 * sqrt(4 * mean * y + (mean * y)^2)
  # The difference of large means has no digits left: its limit.
  x <- ifelse(mean * y > 1e6, 1 / y, x)
  ifelse(stats::runif(length(mean)) <= mean / (mean + x), x, mean^2 / x)
}

# Coefficients of weighted rows under independent normal priors around 0.
draw_normal <- function(design, target, precision, prior) {
  root <- chol(crossprod(design, precision * design) + diag(prior, length(prior)))
  mean <- backsolve(
    root, crossprod(design, precision * target), transpose = TRUE
  )
  drop(backsolve(root, mean + stats::rnorm(length(prior))))
}

# N(eta, 1) on the side of the label, by the inverse of the nearer tail.
one_sided_normal <- function(eta, y) {
  side <- ifelse(y > 0.5, 1, -1)
  tail <- stats::pnorm(side * eta, log.p = TRUE)
  eta - side * stats::qnorm(tail + log(stats::runif(length(y))), log.p = TRUE)
}

# Polya-Gamma (1, c) as its sum of exponential variables, whose tail beyond
# `terms` has its mean.
polya_gamma_sum <- function(c, terms = 60L) {
  k <- seq_len(terms) - 0.5
  scale <- 1 / outer((c / (2 * pi))^2, k^2, "+")
  sum_of <- rowSums(
    scale * matrix(stats::rexp(length(scale)), length(c))
  ) / (2 * pi^2)
  expected <- ifelse(
    abs(c) < 1e-4, 0.25, tanh(c / 2) / (2 * ifelse(abs(c) < 1e-4, 1, c))
  )
  sum_of + expected - rowSums(scale) / (2 * pi^2)
}

# Monte Carlo standard error of a mean by 40 batches.
batch_error <- function(draws, batches = 40L) {
  size <- length(draws) %/% batches
  means <- colMeans(matrix(draws[seq_len(size * batches)], size))
  stats::sd(means) / sqrt(batches)
}
