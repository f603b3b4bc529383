# Missing predictors beside an independent Gibbs sampler in plain R, in data that golden/missing has
# not; the sampler itself against the numbers there.

skip_if_not_installed("lme4")
slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")
source(test_path("reference", "missing-gibbs.R"), local = TRUE)

reference_data <- function(seed, family = "gaussian", share = 0.8, by = "mcar",
                           groups = 30, size = 7, constant = FALSE) {
  set.seed(seed)
  g <- gl(groups, size)
  z <- rnorm(length(g))
  x <- if (constant) {
    rnorm(groups)[g]
  } else {
    0.4 * z + sqrt(share) * rnorm(groups)[g] + sqrt(1 - share) * rnorm(length(g))
  }
  f <- 0.4 + 0.8 * x - 0.5 * z + 0.6 * rnorm(groups)[g]
  y <- switch(family,
    gaussian = f + rnorm(length(g)), probit = as.numeric(f + rnorm(length(g)) > 0),
    logit = as.numeric(f + rlogis(length(g)) > 0)
  )
  chance <- if (by == "mcar") 0.3 else plogis(1.5 * (y - mean(y)) - 1)
  if (constant) {
    x[(runif(groups) < 0.3)[g]] <- NA
  } else {
    x[runif(length(g)) < chance] <- NA
  }
  data.frame(y, x, z, g)
}

reference_fit <- function(d, family, ...) missing_gibbs(d$y, d$x, cbind(1, d$z), d$g, family, ...)

# As the golden folder's names have it: b0, b1 (x), b2 (z), sigma, sd_group.
reference_summary <- function(found) {
  columns <- c(b0 = "b1", b1 = "b_x", b2 = "b2", sigma = "sigma", sd_group = "sd_group")
  draws <- found$draws[, columns]
  colnames(draws) <- names(columns)
  list(
    mean = colMeans(draws), sd = apply(draws, 2, sd),
    mcse = stats::setNames(found$mcse[columns], names(columns))
  )
}

# The tolerances of the golden folder. Those of variances by "ep" are looked at apart: `variances`.
expect_as_reference <- function(d, family, method, found, label, variances = method != "ep") {
  want <- reference_summary(found)
  golden <- list(family = family, formula = y ~ x + z + (1 | g), data = d)
  if (family != "gaussian") golden$data$y <- factor(d$y)
  fit <- golden_missing_fit(golden, method)
  own <- golden_missing_estimates(fit)
  names <- names(want$mean)[want$sd > 0]
  if (!variances) names <- setdiff(names, c("sigma", "sd_group"))
  for (name in names) {
    slack <- if (method == "vb") 0.25 else 0.15
    expect_golden(
      own$mean[[name]], want$mean[[name]],
      slack * want$sd[[name]] + 4 * want$mcse[[name]], paste(label, name)
    )
    if (method != "vb") {
      expect_golden(
        own$sd[[name]], want$sd[[name]], 0.12 * want$sd[[name]], paste(label, "sd of", name)
      )
    }
  }
  invisible(fit)
}

test_that("the reference has the golden posteriors", {
  skip_if_not(slow, "BAYESKERNEL_SLOW is not true")
  skip_if_not_installed("jsonlite")
  for (case in golden_cases("missing")) {
    golden <- read_golden_missing(case)
    if (is.null(golden$mean)) next
    d <- golden$data
    found <- missing_gibbs(
      as.numeric(d$y) - (golden$family != "gaussian"), d$x, cbind(1, d$z), d$g,
      golden$family, sweeps = 8000
    )
    own <- reference_summary(found)
    law <- c(m0 = "m1", m1 = "m2", sd_x = "sd_x", sd_x_group = "sd_x_group")
    own$mean <- c(own$mean, structure(colMeans(found$draws[, law]), names = names(law)))
    own$mcse <- c(own$mcse, structure(found$mcse[law], names = names(law)))
    for (name in intersect(names(golden$mean), names(own$mean))) {
      # The last part is half a unit of a rounded constant, the noise of classes.
      error <- 4 * sqrt(own$mcse[[name]]^2 + golden$mcse[[name]]^2) + 1e-9
      expect_golden(own$mean[[name]], golden$mean[[name]], error, paste(case, name))
    }
    expect_gt(stats::cor(found$imputed, golden$imputed$mean), 0.998)
  }
})

test_that("numbers with groups and by the response are the reference's", {
  skip_if_not(slow, "BAYESKERNEL_SLOW is not true")
  cases <- list(
    list(seed = 1, family = "gaussian", share = 0.5, by = "y"),
    list(seed = 2, family = "gaussian", share = 0, by = "y"),
    list(seed = 3, family = "probit", share = 0.5, by = "y"),
    list(seed = 4, family = "logit", share = 0.8, by = "mcar")
  )
  for (case in cases) {
    d <- do.call(reference_data, case)
    found <- reference_fit(d, case$family, sweeps = 8000)
    for (method in c("ep", "vb")) {
      expect_as_reference(
        d, case$family, method, found, paste(case$family, "share", case$share, case$by, method)
      )
    }
  }
})

# The coefficients of a machine are those of its loss, here at a rate that both have: those of data
# without holes are to be compared at that rate, too.
test_that("the hinge in groups has the posterior of its loss", {
  skip_if_not(slow, "BAYESKERNEL_SLOW is not true")
  for (by in c("mcar", "y")) {
    d <- reference_data(6, "logit", by = by, size = 10)
    found <- reference_fit(d, "hinge", rate = 0.3, sweeps = 8000)
    want <- reference_summary(found)
    golden <- list(
      family = hinge(0.3), formula = y ~ x + z + (1 | g), data = transform(d, y = factor(y))
    )
    for (method in c("ep", "gibbs")) {
      fit <- golden_missing_fit(golden, method)
      own <- golden_missing_estimates(fit)
      for (name in c("b0", "b1", "b2", "sd_group")) {
        expect_golden(
          own$mean[[name]], want$mean[[name]], 0.15 * want$sd[[name]] + 4 * want$mcse[[name]],
          paste("hinge", by, method, name)
        )
      }
      at <- imputed(fit)
      at <- at$mean[match(found$row, at$row)]
      expect_gt(stats::cor(at, found$imputed), 0.995)
      expect_lt(mean(abs(at - found$imputed)), 0.05 * stats::sd(d$x, na.rm = TRUE))
    }
  }
})

test_that("a value of a group is completed once", {
  skip_if_not(slow, "BAYESKERNEL_SLOW is not true")
  for (family in c("gaussian", "probit")) {
    d <- reference_data(5, family, constant = TRUE)
    found <- reference_fit(d, family, constant = TRUE, sweeps = 8000)
    for (method in c("ep", "gibbs", "vb")) {
      fit <- expect_as_reference(
        d, family, method, found, paste("value of a group,", family, method)
      )
      own <- imputed(fit)
      spread <- tapply(own$mean, d$g[own$row], function(v) diff(range(v)))
      expect_lt(max(spread, na.rm = TRUE), 1e-8)
      expect_gt(stats::cor(own$mean[match(found$row, own$row)], found$imputed), 0.99)
    }
  }
})

test_that("variances by expectation propagation are the reference's", {
  skip_if_not(slow, "BAYESKERNEL_SLOW is not true")
  d <- reference_data(1, "gaussian", share = 0.5, by = "y")
  found <- reference_fit(d, "gaussian", sweeps = 8000)
  expect_as_reference(d, "gaussian", "ep", found, "by y", variances = TRUE)
  d <- reference_data(5, "probit", constant = TRUE)
  found <- reference_fit(d, "probit", constant = TRUE, sweeps = 8000)
  expect_as_reference(d, "probit", "ep", found, "of a group", variances = TRUE)
})
