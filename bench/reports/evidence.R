# The likelihood of a fit, leave-one-out, counts and variances of groups.
pairs_of <- function(groups, seed) {
  set.seed(seed)
  d <- data.frame(g = gl(groups, 2), x = rnorm(2 * groups))
  u <- 1.5 * rnorm(groups)
  d$y <- as.integer(0.5 * d$x + u[d$g] + rlogis(2 * groups) > 0)
  d
}
counts_of <- function() {
  set.seed(1)
  d <- data.frame(x = rnorm(20), n = 3 + rpois(20, 4))
  d$s <- rbinom(20, d$n, plogis(0.3 + d$x))
  d$f <- d$n - d$s
  d
}
wide <- bkm_prior(beta_var = 6.25)

cases <- list(
  report(
    "12b", "loo() of 30 pairs, probit, (1 | g)", "-40.61",
    "-41.70 by 60 refits", function() {
      fit <- bkm(y ~ x + (1 | g), pairs_of(30, 3), "probit",
        prior = wide, threads = 1
      )
      sprintf("%.2f", sum(loo::loo(fit)$pointwise[, 1]))
    }
  ),
  report(
    "12b", "p_D of 20 pairs, logit: ep, gibbs", "22.23 23.02",
    "both equal, by quadrature in test-group-evidence.R", function() {
      df <- vapply(c("ep", "gibbs"), function(method) {
        attr(logLik(bkm(y ~ x + (1 | g), pairs_of(20, 3), "logit",
          method = method, prior = wide, threads = 1, seed = 1
        )), "df")
      }, 1)
      sprintf("%.2f", df)
    }
  ),
  report(
    "A7", "20 rows of counts: nobs, fitted, loo", "40, 40, half rows left out",
    "20, 20, -32.87 by refits", function() {
      fit <- bkm(cbind(s, f) ~ x, counts_of(), "logit",
        prior = wide, threads = 1
      )
      sprintf(
        "%d, %d, %.2f", nobs(fit), length(fitted(fit)),
        sum(loo::loo(fit)$pointwise[, 1])
      )
    }
  ),
  report(
    "17", "loo() of a matrix with zero weights, vb", "-592.2", "-41.06",
    function() {
      x <- as.matrix(mtcars[c("wt", "hp")])
      w <- rep(0:1, 16)
      fit <- bkm(x, mtcars$mpg, weights = w, method = "vb", threads = 1)
      # The call is evaluated again where it was made.
      sprintf("%.2f", sum(loo::loo(fit, seed = 1)$pointwise[, 1]))
    }
  ),
  report(
    "A10", "sd(g) of VarCorr() and of summary()", "1.608 1.562", "the same",
    function() {
      fit <- bkm(y ~ x + (1 | g), pairs_of(30, 3), prior = wide, threads = 1)
      shown <- tidy(fit)
      sprintf(
        "%.3f %.3f", as.data.frame(VarCorr(fit))$sdcor[1],
        shown$estimate[shown$effect == "ran_pars"][1]
      )
    }
  )
)
