# Predictors that are constant within groups and miss values of whole groups.

number <- function(x, digits = 2) paste(round(x, digits), collapse = " ")

# 30 groups of 10, x of the group with slope .8, missing for 30 % of groups or
# where the response of the group is large.
made_groups <- function(seed, by_y = FALSE) {
  set.seed(seed)
  g <- rep(1:30, each = 10)
  x <- rnorm(30)
  z <- rnorm(300)
  y <- 1 + 0.8 * x[g] + 0.5 * z + rnorm(30, 0, 0.5)[g] + rnorm(300, 0, 0.5)
  gone <- if (by_y) {
    which(runif(30) < plogis(-1 + 1.5 * (tapply(y, g, mean) - 1)))
  } else {
    sample(30, 9)
  }
  x[gone] <- NA
  data.frame(y, x = x[g], z, g = factor(g))
}

# Mean of the estimates of the slope and its standard deviation.
slopes <- function(method, by_y = FALSE, sets = 6) {
  all <- vapply(seq_len(sets), function(seed) {
    fit <- bkm(
      y ~ x + z + (1 | g), made_groups(seed, by_y),
      family = "gaussian", method = method, missing = "model", seed = 1,
      threads = 1
    )
    c(fixef(fit)[["x"]], sqrt(vcov(fit)["x", "x"]))
  }, numeric(2))
  number(rowMeans(all))
}

cases <- list(
  report(
    "A1", "slope of a predictor of groups, 30 % of groups missing, ep, 6 sets",
    "about .49, between .2 and .6", ".8 (sd .11)",
    function() slopes("ep")
  ),
  report(
    "A1", "the same by vb", "about .49", ".8", function() slopes("vb")
  ),
  report(
    "A1", "missing where the mean response of the group is large, gibbs, 3 sets",
    "too small", ".8", function() slopes("gibbs", TRUE, 3)
  ),
  report(
    "A1", "different imputed values of the 90 rows of 9 groups",
    "90", "9", function() {
      fit <- bkm(
        y ~ x + z + (1 | g), made_groups(1),
        family = "gaussian", method = "vb", missing = "model", threads = 1
      )
      length(unique(imputed(fit)$mean))
    }
  )
)
