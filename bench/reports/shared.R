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

# Mean of the estimates of the slope, with missing groups and from the others.
slopes <- function(method, by_y = FALSE, sets = 2) {
  all <- vapply(seq_len(sets), function(seed) {
    d <- made_groups(seed, by_y)
    slope <- function(data, method) {
      fixef(bkm(
        y ~ x + z + (1 | g), data,
        family = "gaussian", method = method, missing = "model", seed = 1,
        threads = 1
      ))[["x"]]
    }
    c(slope(d, method), slope(droplevels(stats::na.omit(d)), "vb"))
  }, numeric(2))
  number(rowMeans(all))
}

cases <- list(
  report(
    "A1", "slope of a predictor of groups, 30 % missing, vb; other groups alone",
    ".27 (0.6.0, mean of 40 sets)", "much alike; .8 over many sets",
    function() slopes("vb")
  ),
  report(
    "A1", "the same by ep", ".27 (0.6.0)", "as above", function() slopes("ep")
  ),
  report(
    "A1", "missing where the response of the group is large, gibbs",
    ".23 (0.6.0, vb)", ".8 over many sets; other groups alone are biased",
    function() slopes("gibbs", TRUE)
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
