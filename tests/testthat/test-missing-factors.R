# Missing values of factors: rows with each level, by its probability.

vet <- function(n = 120, seed = 3) {
  set.seed(seed)
  d <- data.frame(
    f = factor(sample(c("a", "b", "c"), n, TRUE, c(0.5, 0.3, 0.2))),
    g = factor(rep_len(letters[1:8], n)), w = runif(n, -1, 1)
  )
  d$x <- rnorm(n) + 1.5 * (d$f == "b") - (d$f == "c")
  eta <- 0.8 * d$x + 1.2 * (d$f == "b") - d$w + rnorm(8)[d$g] / 2
  d$y <- factor(ifelse(eta + rlogis(n) > 0.5, "yes", "no"), c("no", "yes"))
  d$number <- 3 + 2 * eta + rnorm(n)
  d
}

with_holes <- function(d = vet()) {
  d$f[seq(4, nrow(d), 6)] <- NA
  d$x[seq(2, nrow(d), 10)] <- NA
  d
}

quiet_bkm <- function(...) flat(bkm)(..., threads = 1, missing = "model")

test_that("every completed row is the row of complete data", {
  full <- vet()
  d <- with_holes(full)
  formulas <- list(
    y ~ f, y ~ f * x + w, y ~ w + f:x + (1 + f | g), y ~ 0 + f + x + (x | g),
    y ~ s(w, k = 4) + f, y ~ gp(x) + f + (0 + f:x | g)
  )
  for (formula in formulas) {
    design <- bsvm_design(formula, d, missing = "model")
    truth <- bsvm_design(formula, full)
    model <- completion_model(design)
    rows <- rows_of_completions(design, design$info$holes$parts, model)
    # The true number in place of the nodes, at the true level.
    codes <- as.integer(full$f)[rows$atoms$row]
    at <- which(rows$atoms$codes[, 1] == codes)
    at <- at[!duplicated(rows$atoms$row[at])]
    row <- rows$atoms$row[at]
    known <- which(!is.na(d$x[row]))
    expect_gt(sum(is.na(d$f[row[known]])), 15)
    if (!length(rows$processes)) {
      expect_equal(unname(rows$x[at[known], ]), unname(truth$x[row[known], ]), tolerance = 1e-12)
    }
    for (t in seq_along(rows$random)) {
      expect_equal(
        unname(rows$random[[t]]$z[at[known], ]), unname(truth$random[[t]]$z[row[known], ])
      )
      expect_identical(rows$random[[t]]$group[at], truth$random[[t]]$group[row])
    }
    # A number that is missing enters what its level makes of it.
    if ("f:x" %in% attr(terms(formula), "term.labels") && !length(rows$processes)) {
      j <- match("x", design$holes$predictors)
      x <- design$holes$center[j] + design$holes$scale_x[j] * rows$atoms$predictors[, j]
      level <- c("a", "b", "c")[rows$atoms$codes[, 1]]
      expect_equal(unname(rows$x[, "fb:x"]), x * (level == "b"))
      expect_equal(unname(rows$x[, "fc:x"]), x * (level == "c"))
    }
    total <- rowsum(exp(rows$atoms$log_prior), rows$atoms$row)
    expect_equal(as.vector(total), rep(1, nrow(d)))
  }
})

test_that("centre and scale are those of the values that are there", {
  d <- with_holes()
  design <- bsvm_design(y ~ f + f:x, d, missing = "model")
  seen <- !is.na(d$f)
  expect_equal(design$center[[2]], mean(d$f[seen] == "b"))
  product <- ifelse(d$f == "b", d$x, 0)
  expect_equal(design$center[[5]], mean(product, na.rm = TRUE))
})

test_that("levels have the probabilities of Bayes' rule given predictors", {
  d <- vet(400)
  d$h <- factor(ifelse(d$x + rnorm(400) > 0, "up", "down"))
  holed <- d
  holed$f[1:100] <- NA
  design <- bsvm_design(y ~ f + x + h, holed, missing = "model")
  atoms <- rows_of_completions(design, design$info$holes$parts, completion_model(design))$atoms
  # Linear discriminants of the complete rows, where no number is missing.
  u <- cbind(d$x, d$h == "up")
  seen <- 101:400
  mean <- rowsum(u[seen, ], d$f[seen]) / as.vector(table(d$f[seen]))
  rest <- u[seen, ] - mean[d$f[seen], ]
  inverse <- solve(crossprod(rest) / 300)
  score <- vapply(1:3, function(k) {
    log(mean(d$f[seen] == levels(d$f)[k])) -
      mahalanobis(u[1:100, ], mean[k, ], inverse, inverted = TRUE) / 2
  }, numeric(100))
  expected <- exp(score) / rowSums(exp(score))
  found <- matrix(0, 100, 3)
  own <- atoms$row <= 100
  found[cbind(atoms$row, atoms$codes[, 1])[own, ]] <- exp(atoms$log_prior[own])
  # Incomplete rows tell about the model, too.
  expect_lt(max(abs(found - expected)), 0.06)
  expect_gt(cor(as.vector(found), as.vector(expected)), 0.99)
})

# Posterior of a probit model of one factor, f of two levels, over all its completions: those that
# are alike to the rows are counted.
over_completions <- function(d, gone) {
  share <- mean(d$f == "b", na.rm = TRUE)
  zero <- gone[d$y[gone] == 0]
  one <- gone[d$y[gone] == 1]
  counts <- expand.grid(zero = 0:length(zero), one = 0:length(one))
  parts <- Map(function(i, j) {
    b <- as.double(d$f == "b")
    b[zero] <- as.double(seq_along(zero) <= i)
    b[one] <- as.double(seq_along(one) <= j)
    own <- grid_posterior(b, d$y, family = "probit", size = 120)
    own$log_weight <- own$log_evidence + dbinom(i, length(zero), share, log = TRUE) +
      dbinom(j, length(one), share, log = TRUE)
    own
  }, counts$zero, counts$one)
  log_weight <- vapply(parts, `[[`, 0, "log_weight")
  weight <- exp(log_weight - max(log_weight))
  weight <- weight / sum(weight)
  mean <- drop(vapply(parts, `[[`, c(0, 0), "mean") %*% weight)
  square <- vapply(parts, function(p) p$sd^2 + p$mean^2, c(0, 0)) %*% weight
  level <- colSums(weight * counts) / c(length(zero), length(one))
  list(mean = mean, sd = drop(sqrt(square - mean^2)), level_b = unname(level))
}

test_that("moments are those over all completions, by enumeration", {
  for (seed in 5:7) {
    set.seed(seed)
    d <- data.frame(f = factor(sample(c("a", "b"), 40, TRUE)))
    d$y <- rbinom(40, 1, pnorm(-0.4 + 0.8 * (d$f == "b")))
    gone <- seq(1, 40, 3)
    d$f[gone] <- NA
    exact <- over_completions(d, gone)
    level_b <- exact$level_b[1 + d$y[gone]]
    d$y <- factor(d$y)
    for (method in c("ep", "vb")) {
      fit <- quiet_bkm(
        y ~ f, d, "probit", method = method, standardize = FALSE,
        prior = bkm_prior(beta_var = 2.5^2, intercept_var = 100)
      )
      expect_lt(max(abs(unname(coef(fit)) - exact$mean) / exact$sd), 0.03)
      sd <- unname(sqrt(diag(vcov(fit))))
      expect_lt(max(abs(sd / exact$sd - 1)), 0.02)
      values <- imputed(fit)
      found <- values$mean[values$level == "b"]
      expect_lt(max(abs(found - level_b)), 0.02)
    }
  }
})

test_that("a factor without effect, half of it missing, has none", {
  runs <- vapply(1:40, function(seed) {
    set.seed(seed)
    n <- 300
    x <- rnorm(n)
    f <- factor(c("a", "b", "c")[1 + (x + rnorm(n) > 0) + (runif(n) < 0.3)])
    d <- data.frame(x, f, y = factor(rbinom(n, 1, plogis(-0.3 + 0.8 * x))))
    d$f[sample(n, 150)] <- NA
    fit <- quiet_bkm(y ~ f + x, d)
    limits <- confint(fit)[2:3, ]
    c(
      out = sum(limits[, 1] > 0 | limits[, 2] < 0),
      z = mean(coef(fit)[2:3] / sqrt(diag(vcov(fit)))[2:3])
    )
  }, c(out = 0, z = 0))
  # Of 80 intervals of level .95.
  expect_lte(sum(runs["out", ]), 9)
  expect_lt(abs(mean(runs["z", ])), 0.4)
})

test_that("every family and method takes them, with holes in numbers too", {
  d <- with_holes()
  for (family in c("logit", "probit", "gaussian", "hinge")) {
    formula <- if (family == "gaussian") number ~ f * w + x + (1 | g) else y ~ f * w + x + (1 | g)
    for (method in c("ep", "vb")) {
      fit <- suppressWarnings(quiet_bkm(formula, d, family, method = method))
      expect_length(fitted(fit), nrow(d))
      expect_true(all(is.finite(coef(fit))))
      values <- imputed(fit)
      expect_identical(names(values), c("row", "column", "level", "mean", "sd"))
      own <- values[values$column == "f", ]
      expect_identical(unique(own$row), which(is.na(d$f)))
      expect_equal(as.vector(tapply(own$mean, own$row, sum)), rep(1, 20))
      expect_identical(own$level[1:3], c("a", "b", "c"))
      expect_equal(values$row[values$column == "x"], which(is.na(d$x)))
      new <- data.frame(f = c(NA, "b", NA), w = 0, x = c(1, NA, NA), g = c("a", NA, "new"))
      new$g[2] <- "b"
      p <- predict(fit, new, type = "link", se.fit = TRUE)
      expect_false(anyNA(unlist(p)))
    }
  }
})

test_that("predictions mix the levels, not the moments", {
  d <- with_holes(vet(300))
  fit <- quiet_bkm(y ~ f + x, d, "probit", method = "ep")
  new <- data.frame(f = NA_character_, x = c(-1, 0.5, 2))
  each <- vapply(c("a", "b", "c"), function(level) {
    predict(fit, transform(new, f = level), type = "prob")[, 2]
  }, numeric(3))
  model <- fit$holes$model
  x <- (new$x - fit$holes$center) / fit$holes$scale_x
  prior <- vapply(1:3, function(k) {
    model$share[k] * dnorm(x, model$mean[1, k], sqrt(model$cov[[1]][1, 1]))
  }, numeric(3))
  prior <- prior / rowSums(prior)
  expect_equal(
    unname(predict(fit, new, type = "prob")[, 2]), unname(rowSums(prior * each)), tolerance = 1e-6
  )
  mean <- vapply(c("a", "b", "c"), function(level) {
    predict(fit, transform(new, f = level), type = "link")
  }, numeric(3))
  expect_equal(
    unname(predict(fit, new, type = "link")), unname(rowSums(prior * mean)), tolerance = 1e-6
  )
  draws <- predict(fit, new, type = "prob", draws = TRUE, ndraws = 4000, seed = 1)
  expect_lt(max(abs(colMeans(draws) - rowSums(prior * each))), 0.03)
  # Rows alone, among others, in another order and of the fit.
  some <- d[c(4, 1, 10), ]
  all <- predict(fit, d, type = "prob")
  expect_equal(unname(predict(fit, some, type = "prob")), unname(all[c(4, 1, 10), ]))
  expect_equal(nrow(predict(fit, d[0, ], type = "prob")), 0L)
})

test_that("a factor is missing in processes, random slopes and text, too", {
  d <- with_holes()
  d$f <- as.character(d$f)
  kernel <- rbf(columns = "x") * categorical(columns = "f")
  fit <- quiet_bkm(number ~ gp(x, f, kernel = kernel) + w, d, "gaussian")
  new <- data.frame(f = c(NA, "a", "b", "c"), x = 0.3, w = 0)
  p <- predict(fit, new)
  expect_gte(p[[1]], min(p[-1]))
  expect_lte(p[[1]], max(p[-1]))
  slopes <- quiet_bkm(number ~ x + f + (0 + f | g), d, "gaussian")
  expect_equal(nrow(imputed(slopes)), sum(is.na(d$x)) + 3L * sum(is.na(d$f)))
  d$flag <- d$w > 0
  d$flag[c(5, 60)] <- NA
  logical <- quiet_bkm(number ~ flag + f, d, "gaussian")
  values <- imputed(logical)
  expect_identical(unique(values$level[values$column == "flag"]), c("FALSE", "TRUE"))
  new <- data.frame(flag = NA, f = NA)
  expect_true(is.finite(predict(logical, new)))
})

test_that("the summary counts missing factors once a row", {
  d <- with_holes()
  fit <- quiet_bkm(y ~ f + x, d)
  text <- paste(capture.output(print(fit)), collapse = " ")
  expect_match(text, "f 20 values modeled")
  expect_match(text, "x 12 values modeled")
})

test_that("bsvm() takes them by mean field", {
  d <- with_holes()
  fit <- suppressWarnings(bsvm(y ~ f + x, d, missing = "model", method = "vb", threads = 1))
  expect_identical(sum(imputed(fit)$column == "f"), 60L)
  expect_false(anyNA(predict(fit, d, type = "prob")))
})

test_that("a saved fit predicts the same", {
  d <- with_holes()
  fit <- quiet_bkm(y ~ f + x, d)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), d, type = "prob"), predict(fit, d, type = "prob"))
})

test_that("what cannot be is refused with the reason", {
  d <- with_holes()
  refused <- function(code, kind, text) {
    expect_error(code, text, class = paste0("bayeskernel_error_", kind))
  }
  refused(
    quiet_bkm(y ~ f, transform(d, f = factor(NA, levels = c("a", "b")))), "missing", "every row"
  )
  one <- transform(d, f = factor(ifelse(is.na(f), NA, "a"), c("a", "b")))
  refused(quiet_bkm(y ~ f + w, one), "argument", "constant")
  refused(quiet_bkm(y ~ f, d, method = "svi"), "argument", "factors")
  refused(quiet_bkm(y ~ f + w, d, select = TRUE), "argument", "select")
  refused(quiet_bkm(y ~ w + (1 | f), d), "missing", "grouping")
  refused(quiet_bkm(y ~ f + gp(w, by = f), d), "missing", "by")
  refused(quiet_bkm(y ~ f + s(w, by = f, k = 4), d), "missing", "smooth")
  refused(quiet_bkm(y ~ f + I(f == "a"), d), "missing", "same variable")
  many <- transform(d, a = factor(rep_len(1:12, 120)))
  many$a[5] <- NA
  many$b <- rev(many$a)
  refused(quiet_bkm(y ~ a + b, many), "argument", "too many levels")
  expect_error(bkm(y ~ f, d, threads = 1), class = "bayeskernel_error_missing")
  fit <- quiet_bkm(y ~ f + w + g, d)
  refused(predict(fit, data.frame(f = "z", w = 0, g = "a")), "argument", "new level")
  # Of a factor that missed nothing in the fit nothing is known.
  expect_true(is.na(predict(fit, data.frame(f = "a", w = 0, g = NA), type = "link")))
})

test_that("levels that do not occur are no atoms", {
  d <- with_holes()
  levels(d$f) <- c("a", "b", "c")
  d$f <- factor(d$f, c("unused", "c", "a", "b"))
  fit <- quiet_bkm(y ~ f + x, d)
  expect_identical(unique(na.omit(imputed(fit)$level)), c("c", "a", "b"))
})

test_that("rows of weight 0 are those that are left out", {
  d <- with_holes()
  none <- quiet_bkm(y ~ f, d, weights = as.numeric(!is.na(f)), method = "ep")
  complete <- bkm(y ~ f, d[!is.na(d$f), ], method = "ep", threads = 1)
  expect_equal(coef(none), coef(complete), tolerance = 1e-4)
})

test_that("with a fifth of a factor missing estimates are near the whole's", {
  runs <- vapply(1:12, function(seed) {
    set.seed(seed)
    n <- 400
    x <- rnorm(n)
    f <- factor(c("a", "b", "c")[1 + (x + rnorm(n) > 0) + (runif(n) < 0.3)])
    eta <- -0.3 + 0.8 * x + c(0, 1, -1)[f]
    full <- data.frame(x, f, y = factor(rbinom(n, 1, plogis(eta))))
    holed <- full
    # More of large x.
    holed$f[runif(n) < plogis(-1.6 + 0.8 * x)] <- NA
    whole <- bkm(y ~ f + x, full, threads = 1)
    gap <- function(fit) sqrt(mean(((coef(fit) - coef(whole)) / sqrt(diag(vcov(whole))))^2))
    c(
      model = gap(quiet_bkm(y ~ f + x, holed)),
      complete = gap(bkm(y ~ f + x, holed[!is.na(holed$f), ], threads = 1)),
      share = mean(is.na(holed$f))
    )
  }, c(model = 0, complete = 0, share = 0))
  mean <- rowMeans(runs)
  expect_lt(abs(mean[["share"]] - 0.2), 0.03)
  # In standard errors of the whole's estimates.
  expect_lt(mean[["model"]], 0.55)
  expect_lt(mean[["model"]], 0.95 * mean[["complete"]])
  expect_gte(sum(runs["model", ] < runs["complete", ]), 8)
})

# y ~ x + (1 | g) of a factor with missing levels, by Gibbs sampling in plain R: flat coefficients,
# half Cauchy standard deviation of groups, IG(.01, .01).
plain_level_gibbs <- function(y, x, g, sweeps = 4000, warmup = 500) {
  n <- length(y)
  k <- nlevels(x)
  gone <- which(is.na(x))
  x <- as.integer(x)
  x[gone] <- sample.int(k, length(gone), TRUE)
  g <- as.integer(g)
  size <- tabulate(g)
  u <- numeric(length(size))
  noise <- tau <- 1
  kept <- matrix(0, sweeps, k)
  prob <- matrix(0, length(gone), k)
  for (s in seq_len(sweeps + warmup)) {
    share <- stats::rgamma(k, 0.5 + tabulate(x, k))
    count <- pmax(tabulate(x, k), 1)
    sums <- vapply(seq_len(k), function(l) sum((y - u[g])[x == l]), 0)
    mu <- stats::rnorm(k, sums / count, sqrt(noise / count))
    left <- y - mu[x]
    var <- 1 / (size / noise + 1 / tau)
    u <- stats::rnorm(length(size), var * rowsum(left, g) / noise, sqrt(var))
    noise <- 1 / stats::rgamma(1, 0.01 + n / 2, 0.01 + sum((left - u[g])^2) / 2)
    scale <- 1 / stats::rgamma(1, 1, 1 + 1 / tau)
    tau <- 1 / stats::rgamma(1, (length(u) + 1) / 2, sum(u^2) / 2 + 1 / scale)
    log_p <- outer((y - u[g])[gone], mu, function(a, b) -(a - b)^2 / 2 / noise)
    p <- exp(log_p) * rep(share, each = length(gone))
    p <- p / rowSums(p)
    x[gone] <- 1L + rowSums(stats::runif(length(gone)) > t(apply(p, 1, cumsum)))
    if (s > warmup) {
      kept[s - warmup, ] <- c(mu[1], mu[-1] - mu[1])
      prob <- prob + p
    }
  }
  list(draws = kept, prob = prob / sweeps)
}

test_that("method \"gibbs\" draws missing levels, beside groups too", {
  set.seed(3)
  g <- gl(20, 8)
  x <- factor(sample(c("a", "b", "c"), 160, TRUE))
  y <- c(0, 1.5, -1.5)[x] + 0.8 * rnorm(20)[g] + rnorm(160)
  x[runif(160) < 0.3] <- NA
  d <- data.frame(y, x, g)
  fit <- suppressWarnings(bkm(
    y ~ x + (1 | g), d, family = "gaussian", missing = "model",
    method = "gibbs", penalty = "none", standardize = FALSE, chains = 2,
    ndraws = 2000, control = list(warmup = 300), seed = 1, threads = 1,
    prior = bkm_prior(
      beta_var = 1e4, intercept_var = 1e4, sd_scale = 1, noise_shape = 0.01, noise_rate = 0.01
    )
  ), classes = "bayeskernel_warning_convergence")
  want <- plain_level_gibbs(y, x, g)
  sd <- apply(want$draws, 2, sd)
  # The shares of levels are estimates in the fit; errors of simulation are .05.
  expect_lt(max(abs(coef(fit) - colMeans(want$draws)) / sd), 0.25)
  expect_lt(max(abs(sqrt(diag(vcov(fit)))[1:3] / sd - 1)), 0.12)
  own <- imputed(fit)
  expect_identical(as.character(own$level[1:3]), c("a", "b", "c"))
  # Groups have shares of levels of their own in the fit, near those of all.
  prob <- matrix(own$mean, ncol = 3, byrow = TRUE)
  expect_lt(mean(abs(prob - want$prob)), 0.04)
  expect_gt(stats::cor(c(prob), c(want$prob)), 0.98)
  expect_length(fitted(fit), 160)
  new <- data.frame(x = factor(NA, levels(x)), g = g[1])
  expect_true(is.finite(predict(fit, new, type = "response")))
})

test_that("levels that miss by a Gaussian response are not biased", {
  gap <- vapply(1:4, function(seed) {
    set.seed(seed)
    n <- 400
    x <- factor(sample(c("a", "b", "c"), n, TRUE))
    z <- rnorm(n)
    y <- c(0, 1.5, -1.5)[x] - 0.5 * z + rnorm(n)
    d <- data.frame(y, x, z)
    full <- coef(bkm(y ~ x + z, d, penalty = "none", threads = 1))
    d$x[runif(n) < plogis(2 * y - 1)] <- NA
    coef(bkm(y ~ x + z, d, missing = "model", penalty = "none", threads = 1)) - full
  }, numeric(4))
  # .50, -.71, -.15 without the response in the law of the levels.
  expect_lt(max(abs(rowMeans(gap))), 0.12)
})
