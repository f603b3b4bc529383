# Variances by expectation propagation: their number, limits, and what is said.

crossed <- function(seed, n, levels, sd, family = "gaussian", intercept = 0) {
  set.seed(seed)
  d <- data.frame(x = rnorm(n))
  f <- intercept + 0.5 * d$x
  for (k in seq_along(levels)) {
    g <- sample(levels[k], n, TRUE)
    d[[letters[k]]] <- factor(g)
    f <- f + (sd[k] * rnorm(levels[k]))[g]
  }
  d$y <- if (family == "gaussian") {
    f + rnorm(n)
  } else {
    rbinom(n, 1, if (family == "probit") pnorm(f) else plogis(f))
  }
  d
}

# Means over coefficients, and over standard deviations of groups, of the
# posterior sd by "ep" over that of the sampler.
sd_ratios <- function(d, formula, family, ndraws) {
  prior <- bkm_prior(beta_var = 25, intercept_var = 100, sd_scale = 2.5)
  table <- lapply(c("ep", "gibbs"), function(method) {
    more <- if (method == "gibbs") list(draws = ndraws, seed = 1)
    fit <- do.call(bkm, c(list(
      formula, d, family = family, method = method, prior = prior, threads = 1
    ), more))
    as.data.frame(tidy(fit, c("fixed", "ran_pars")))
  })
  ratio <- table[[1]]$std.error / table[[2]]$std.error
  fixed <- table[[1]]$effect == "fixed"
  sprintf(
    "coefficients %.2f, sds of groups %.2f", mean(ratio[fixed]),
    mean(ratio[!fixed])
  )
}

one_group <- function(sets, groups, rows, level = 0.95) {
  inside <- vapply(seq_len(sets), function(seed) {
    set.seed(seed)
    g <- rep(seq_len(groups), each = rows)
    d <- data.frame(g = factor(g), x = rnorm(groups * rows))
    d$y <- 1 + d$x + rnorm(groups, 0, 0.6)[g] + rnorm(groups * rows)
    fit <- bkm(y ~ x + (1 | g), d,
      family = "gaussian", method = "ep", threads = 1,
      prior = bkm_prior(beta_var = 1e4, intercept_var = 1e4, sd_scale = 2.5)
    )
    limits <- tidy(fit, "ran_pars", conf.int = TRUE, conf.level = level)[1, ]
    limits$conf.low < 0.6 && limits$conf.high > 0.6
  }, NA)
  sprintf("%.3f", mean(inside))
}

cases <- list(
  report(
    "A2", "321 rows, probit, five crossed intercepts: sd by ep / sampler",
    "coefficients 0.92, sds of groups 0.52", "1.00, 1.00 (long Gibbs)",
    function() {
      d <- crossed(
        1, 321, c(12, 10, 8, 15, 9), c(.8, .4, 1, 0, .6), "probit", -1
      )
      sd_ratios(
        d, y ~ x + (1 | a) + (1 | b) + (1 | c) + (1 | d) + (1 | e), "probit",
        4000
      )
    }
  ),
  report(
    "A2", "120 rows, gaussian, three crossed intercepts: the same",
    "coefficients 0.87, sds of groups 0.57", "1.00, 1.00 (long Gibbs)",
    function() {
      d <- crossed(2, 120, c(8, 6, 5), c(.8, .5, .3))
      sd_ratios(d, y ~ x + (1 | a) + (1 | b) + (1 | c), "gaussian", 20000)
    }
  ),
  report(
    "12a", "upper limits of sd(g) at 80, 90, 95, 99 %, 15 groups of 4",
    "0.771 0.775 0.779 1.160", "as the sampler's, in brackets",
    function() {
      set.seed(3)
      d <- data.frame(g = factor(rep(1:15, each = 4)), x = rnorm(60))
      d$y <- 1 + d$x + rnorm(15, 0, .6)[d$g] + rnorm(60)
      prior <- bkm_prior(beta_var = 25, intercept_var = 100, sd_scale = 2.5)
      upper <- vapply(c("ep", "gibbs"), function(method) {
        more <- if (method == "gibbs") list(draws = 20000, seed = 1)
        fit <- do.call(bkm, c(list(
          y ~ x + (1 | g), d, family = "gaussian", method = method,
          prior = prior, threads = 1
        ), more))
        vapply(c(.8, .9, .95, .99), function(level) {
          tidy(fit, "ran_pars", conf.int = TRUE, conf.level = level)$conf.high[1]
        }, 1)
      }, numeric(4))
      paste(
        paste(sprintf("%.3f", upper[, 1]), collapse = " "), "[",
        paste(sprintf("%.3f", upper[, 2]), collapse = " "), "]"
      )
    }
  ),
  report(
    "12a", "cover of the 95 % interval of sd(g), 15 groups of 4, 200 sets",
    "0.965", ".93-.97", function() one_group(200, 15, 4)
  ),
  report(
    "12a", "cover of the 95 % interval of sd(g), 30 groups of 10, 200 sets",
    "0.785", ".93-.97", function() one_group(200, 30, 10)
  ),
  report(
    "A11", "note that the variance of groups is too small, 80 and 70 groups",
    "said; sds are .96 of the sampler's", "not said",
    function() {
      set.seed(2)
      d <- data.frame(a = factor(sample(80, 321, TRUE)), x = rnorm(321))
      d$b <- factor(sample(70, 321, TRUE))
      f <- -1.6 + .4 * d$x + rnorm(80)[d$a] + rnorm(70)[d$b]
      d$y <- rbinom(321, 1, pnorm(f))
      fit <- bkm(
        y ~ x + (1 | a) + (1 | b), d, family = "probit", method = "ep",
        prior = bkm_prior(beta_var = 25, intercept_var = 100, sd_scale = 2.5),
        threads = 1
      )
      said <- any(grepl("one class", capture.output(print(summary(fit)))))
      if (said) "said" else "not said"
    }
  )
)
