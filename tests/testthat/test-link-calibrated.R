# The calibrated link: fitted to moments without the row, and what follows.

two_classes <- function(n = 200, slope = 1, base = -0.5, seed = 1) {
  set.seed(seed)
  d <- data.frame(x = rnorm(n), z = rnorm(n), g = gl(20, n / 20))
  d$y <- factor(ifelse(runif(n) < plogis(base + slope * d$x), "yes", "no"))
  d
}

log_loss_of <- function(p, y) -mean(log(ifelse(y, p, 1 - p)))

# By linear response, of a fit as in the test below.
vb_left_out <- function(d) {
  kept <- NULL
  model <- bayeskernel:::bsvm_model
  model$left_out <- function(fit, core, job, rows) {
    kept <<- bayeskernel:::linear_left_out(fit, core, job, rows)
  }
  front <- function(formula, data, method = "vb", penalty = 1,
                    prior = bsvm_prior(), standardize = FALSE, threads = 1) {
    bayeskernel:::fit_model(model, match.call(), environment())
  }
  suppressWarnings(front(y ~ x + z, d))
  kept
}

test_that("one-step moments without a row are those of a fit without it", {
  d <- two_classes(40)
  fit <- function(d, method) {
    # Nine rows of the rarer class may lie on the other side.
    suppressWarnings(bsvm(y ~ x + z, d,
      method = method, penalty = 1, threads = 1, standardize = FALSE
    ))
  }
  y <- ifelse(d$y == "yes", 1, -1)
  for (method in c("vb", "ep")) {
    refit <- vapply(1:40, function(i) {
      unlist(predict(fit(d[-i, ], method), d[i, ], type = "link", se.fit = TRUE))
    }, numeric(2))
    at <- predict(fit(d, method), d, type = "link", se.fit = TRUE)
    step <- if (method == "ep") {
      bayeskernel:::step_left_out(at$fit, at$se.fit^2, y, 1, mean_field = FALSE)
    } else {
      vb_left_out(d)
    }
    # What a row does to its own mean is up to 1.6 standard deviations here.
    moved <- at$fit - refit[1, ]
    slope <- coef(lm(I(at$fit - step$mean) ~ moved))[[2]]
    expect_gt(slope, 0.8)
    expect_lt(slope, 1.15)
    expect_lt(median(abs(step$mean - refit[1, ])), 0.25 * median(abs(moved)))
    expect_lt(abs(median(sqrt(step$var) / refit[2, ]) - 1), 0.05)
  }
})

test_that("copies are put back one by one", {
  m <- c(0.3, -1)
  v <- c(0.4, 0.2)
  # Sites of precision 0.6 and pull 0.5 a copy; three copies of the first row.
  copies <- c(3, 1)
  precision <- 1 / v - copies * 0.6
  out <- list(var = 1 / precision, mean = (m / v - copies * 0.5) / precision)
  found <- bayeskernel:::put_back_copies(out, m, v, copies)
  one <- 1 / v - 0.6
  expect_equal(found$var, 1 / one)
  expect_equal(found$mean, (m / v - 0.5) / one)
})

test_that("predictions are the formula, at every engine of bsvm()", {
  d <- two_classes()
  for (method in c("vb", "ep", "svi", "gibbs")) {
    fit <- suppressWarnings(bsvm(y ~ x + z, d,
      method = method, threads = 1, seed = 1, chains = 2,
      control = list(warmup = 200, progress = FALSE),
      ndraws = 200
    ))
    f <- predict(fit, d, type = "link", se.fit = TRUE)
    k <- fit$link$slope
    p <- plogis(fit$link$intercept + k * f$fit / sqrt(1 + pi * k^2 * f$se.fit^2 / 8))
    expect_equal(predict(fit, d, type = "response"), p)
    expect_equal(predict(fit, type = "response"), p, ignore_attr = TRUE)
    # Maximum likelihood of an intercept: mean P is near the share.
    expect_lt(abs(mean(p) - mean(d$y == "yes")), 0.02)
    answer <- predict(fit, d[1:4, ], type = "prob", se.fit = TRUE)
    draws <- predict(fit, d[1:4, ], type = "response", draws = TRUE, seed = 1)
    expect_equal(colMeans(draws), answer$fit[, 2], tolerance = 0.02, ignore_attr = TRUE)
    expect_equal(apply(draws, 2, sd), answer$se.fit, tolerance = 0.2, ignore_attr = TRUE)
    kept <- unserialize(serialize(fit, NULL))
    expect_identical(predict(kept, d), predict(fit, d))
  }
})

test_that("left out, a calibrated link is better than probit", {
  d <- two_classes(300, slope = 0.7)
  new <- two_classes(4000, slope = 0.7, seed = 2)
  y <- new$y == "yes"
  for (fit in list(
    bsvm(y ~ x + z, d, threads = 1, method = "vb"),
    gpsvm(y ~ x + z, d, threads = 1, seed = 1, method = "ep", tune = FALSE)
  )) {
    p <- predict(fit, new, type = "response")
    probit <- predict(fit, new, type = "response", link = "probit")
    expect_lt(log_loss_of(p, y), log_loss_of(probit, y))
    slope <- coef(glm(y ~ qlogis(p), family = binomial))[[2]]
    expect_gt(slope, 0.75)
    expect_lt(slope, 1.35)
  }
})

test_that("probabilities of a class that was given up are those of its ranks", {
  loss <- vapply(1:4, function(seed) {
    d <- two_classes(500, base = -2.2, seed = seed)
    new <- two_classes(4000, base = -2.2, seed = seed + 100)
    y <- new$y == "yes"
    fit <- suppressWarnings(bsvm(y ~ x + z, d, threads = 1))
    expect_identical(fit$given_up, "yes")
    expect_gt(fit$link$offset, 0)
    p <- predict(fit, new, type = "response")
    expect_lt(abs(mean(p) - mean(y)), 0.04)
    # Draws and standard errors are of the same probabilities.
    four <- c(which.min(p), 1, 2, which.max(p))
    answer <- predict(fit, new[four, ], type = "prob", se.fit = TRUE)
    draws <- predict(fit, new[four, ], type = "response", draws = TRUE, seed = 1)
    expect_equal(colMeans(draws), answer$fit[, 2], tolerance = 0.1, ignore_attr = TRUE)
    glm <- glm(y ~ x + z, binomial, d)
    c(
      ours = log_loss_of(p, y), glm = log_loss_of(predict(glm, new, type = "response"), y),
      none = log_loss_of(rep(mean(y), length(y)), y),
      slope = coef(glm(y ~ qlogis(p), family = binomial))[[2]]
    )
  }, numeric(4))
  loss <- rowMeans(loss)
  # By the formula with the variances it was that of no predictors.
  expect_lt(loss[["ours"]], loss[["glm"]] + 0.1 * (loss[["none"]] - loss[["glm"]]))
  expect_gt(loss[["slope"]], 0.8)
  expect_lt(loss[["slope"]], 1.3)
})

test_that("variances count where the margins vary", {
  skip_if_not_installed("MASS")
  set.seed(7)
  fitted <- sample(200, 140)
  fit <- gpsvm(sex ~ FL + RW + CL + CW + BD, MASS::crabs[fitted, ], threads = 1, seed = 1)
  # A row of mean 4.3 and sd 4.0 had a probability of 8e-7 for its class.
  new <- MASS::crabs[-fitted, ]
  expect_lt(log_loss_of(predict(fit, new, type = "response"), new$sex == "M"), 0.25)
})

test_that("no class of a row unlike those left out is impossible where variances hardly count", {
  set.seed(2)
  y <- rep_len(1:5, 300)
  m <- matrix(rnorm(1500, -20, 6), 300)
  m[cbind(1:300, y)] <- rnorm(300, -2, 5)
  v <- matrix(runif(1500, 20, 150), 300)
  link <- bayeskernel:::calibrate_link(list(mean = m, var = v, y = y - 1L), 5, 1)
  expect_gt(min(link$offset), 0)
  far <- rbind(c(-40, -15, -15, -15, 0), 0)
  p <- bayeskernel:::calibrated_probability(link, far, 100 + 0 * far)
  # It was 5e-11 by the curve alone; half a row of each class is added.
  expect_gt(p[1, 1], 1 / 605)
  expect_lt(p[1, 1], 1.01 / 605)
  expect_equal(rowSums(p), c(1, 1))
  f <- array(rep(far, each = 2000) + 10 * rnorm(20000), c(2000, 2, 5))
  draws <- bayeskernel:::calibrated_draws(link, f)
  expect_gte(min(draws), 1 / 605)
  at <- apply(f, 2:3, mean)
  v <- apply(f, 2:3, function(f) mean((f - mean(f))^2))
  p <- bayeskernel:::calibrated_probability(link, at, v)
  expect_equal(apply(draws, 2:3, mean), p, tolerance = 1e-3)
  # A saved fit of before has no such share.
  link$lapse <- NULL
  expect_lt(bayeskernel:::calibrated_probability(link, far, 100 + 0 * far)[1, 1], 1e-9)
})

test_that("of eleven classes no true one has a probability near 0", {
  skip_on_cran()
  skip_if_not_installed("mlbench")
  data(Vowel, package = "mlbench", envir = environment())
  set.seed(1)
  out <- sample(990, 330)
  # The kernel that is tuned.
  fit <- gpsvm(Class ~ ., Vowel[-out, ],
    tune = FALSE, kernel = rbf(lengthscale = 7.06, variance = 1546), seed = 1, threads = 1
  )
  expect_gt(min(fit$link$offset), 0)
  own <- function(link) {
    p <- predict(fit, Vowel[out, ], type = "prob", link = link)
    p[cbind(1:330, as.integer(Vowel$Class[out]))]
  }
  p <- own("calibrated")
  # It was 1.1e-8, and the mean log-loss 0.71, above probit's 0.60.
  expect_gt(min(p), 1 / (2 * 660 + 11) - 1e-12)
  expect_lt(-mean(log(p)), -mean(log(own("probit"))) - 0.1)
})

test_that("more classes have one slope and an intercept each", {
  fit <- gpsvm(Species ~ ., iris, threads = 1, seed = 1, tune = FALSE, method = "vb")
  expect_length(fit$link$intercept, 3)
  expect_equal(sum(fit$link$intercept), 0, tolerance = 1e-5)
  p <- predict(fit, iris[c(1, 60, 140), ], type = "prob")
  expect_equal(rowSums(p), rep(1, 3), ignore_attr = TRUE)
  expect_identical(max.col(p), 1:3)
  draws <- rstantools::posterior_epred(fit, iris[c(1, 60, 140), ], seed = 1)
  expect_equal(apply(draws, 2:3, mean), p, tolerance = 0.1, ignore_attr = TRUE)
  few <- gpsvm(Species ~ ., iris[c(1:20, 51:70, 101:120), ],
    threads = 1, seed = 1, tune = FALSE, method = "vb"
  )
  expect_null(few$link$slope)
  expect_error(
    predict(few, type = "prob", link = "calibrated"), "30 rows",
    class = "bayeskernel_error_argument"
  )
})

test_that("rare classes are found by thresholds", {
  d <- two_classes(400, base = -2)
  fit <- suppressWarnings(bsvm(y ~ x + z, d, threads = 1, method = "vb"))
  p <- predict(fit, d, type = "response")
  f <- predict(fit, d, type = "link")
  flagged <- predict(fit, d, threshold = "prevalence") == "yes"
  expect_identical(unname(flagged), unname(p >= mean(d$y == "yes")))
  expect_gt(mean(flagged), 0.1)
  expect_lt(mean(flagged), 0.6)
  expect_identical(unname(predict(fit, d, threshold = "margin") == "yes"), unname(f >= 0))
  expect_identical(unname(predict(fit, d, threshold = 0.2) == "yes"), unname(p >= 0.2))
  expect_error(predict(fit, d, threshold = "median"), class = "bayeskernel_error_argument")
})

test_that("counts and weights are rows", {
  d <- two_classes(120)
  d$x <- round(d$x)
  d$z <- 0 + (d$z > 0)
  cells <- aggregate(cbind(yes = y == "yes", no = y == "no") ~ x + z, d, sum)
  both <- function(method) {
    fit <- function(formula, data) {
      bsvm(formula, data, penalty = 1, threads = 1, method = method, standardize = FALSE)
    }
    list(fit(y ~ x + z, d)$link, fit(cbind(yes, no) ~ x + z, cells)$link)
  }
  # The posterior of mean field is the same, that of a site for several rows nearly.
  link <- both("vb")
  expect_equal(link[[2]]$slope, link[[1]]$slope, tolerance = 1e-3)
  expect_equal(link[[2]]$intercept, link[[1]]$intercept, tolerance = 1e-2)
  link <- both("ep")
  expect_lt(abs(log(link[[2]]$slope / link[[1]]$slope)), 0.15)
})

test_that("a link that cannot be had falls back, or says why", {
  d <- two_classes(20)
  d$y <- factor(rep(c("no", "yes"), c(18, 2)))
  fit <- suppressWarnings(bsvm(y ~ x, d, penalty = 1, threads = 1, method = "vb"))
  expect_null(fit$link$slope)
  expect_identical(predict(fit, d, type = "prob"), predict(fit, d, type = "prob", link = "probit"))
  # As made by an earlier version.
  old <- bsvm(y ~ x + z, two_classes(60), threads = 1, method = "vb")
  old$link <- old$stamp <- NULL
  expect_identical(predict(old, d, type = "prob"), predict(old, d, type = "prob", link = "probit"))
  expect_error(
    predict(old, d, type = "prob", link = "calibrated"), "no longer has the rows",
    class = "bayeskernel_error_argument"
  )
  now <- bsvm(y ~ x + z, two_classes(60), threads = 1, method = "vb")
  now$link <- list(intercept = NaN, slope = 1)
  expect_error(predict(now, d), class = "bayeskernel_error_argument")
})

test_that("missing predictors, selection, groups and row sources have it", {
  d <- two_classes(200)
  holes <- d
  holes$z[1:60] <- NA
  source <- row_source(as.matrix(cbind(d[c("x", "z")], y = d$y == "yes")), y = "y")
  quiet <- function(fit) suppressWarnings(fit)
  fits <- list(
    quiet(bsvm(y ~ x + z, holes, missing = "model", method = "vb", threads = 1)),
    quiet(bkm(y ~ x + z, holes, missing = "model", family = "hinge", threads = 1)),
    quiet(bsvm(y ~ x + z, d, select = TRUE, method = "vb", threads = 1)),
    quiet(bsvm(y ~ x + z + (1 | g), d, method = "vb", threads = 1)),
    quiet(bsvm(source, threads = 1, seed = 1)),
    quiet(gpsvm(source, threads = 1, seed = 1, method = "vb", tune = FALSE))
  )
  for (fit in fits) {
    expect_gt(fit$link$slope, 0.2)
    expect_lt(fit$link$slope, 5)
    p <- predict(fit, d, type = "response")
    expect_lt(log_loss_of(p, d$y == "yes"), 0.68)
  }
})

test_that("of many rows a share of each class is used, whatever the threads", {
  set.seed(3)
  y <- factor(rbinom(50000, 1, 0.01))
  at <- bayeskernel:::sample_classes(y, 1)
  expect_lte(length(at$rows), 20000)
  expect_equal(sum(y == 1), sum(y[at$rows] == 1))
  expect_equal(sum(at$times), 50000)
  expect_identical(at, bayeskernel:::sample_classes(y, 1))
})

test_that("moments without a row are those that its hinge makes the row's", {
  mean <- c(-1, 0.3, 2, -40)
  var <- c(0.1, 1, 4, 4)
  power <- c(1, 1, 0.3, 2)
  tilted <- tilt_hinge(mean, var, 2 * power)
  for (k in 1:3) {
    law <- function(f) dnorm(f, mean[k], sqrt(var[k])) * exp(-2 * power[k] * pmax(1 - f, 0))
    moment <- function(g) {
      integrate(function(f) g(f) * law(f), -40, 40, subdivisions = 2000L, rel.tol = 1e-10)$value
    }
    z <- moment(function(f) 1)
    found <- moment(identity) / z
    expect_equal(tilted$mean[k], found, tolerance = 1e-7)
    expect_equal(tilted$var[k], moment(function(f) (f - found)^2) / z, tolerance = 1e-7)
  }
  for (sign in c(-1, 1)) {
    back <- hinge_cavity(sign * tilted$mean, tilted$var, sign, power)
    expect_equal(back$mean, sign * mean, tolerance = 1e-5)
    expect_equal(back$var, var, tolerance = 1e-5)
  }
})

test_that("a sampler with groups of their own has probabilities, too", {
  set.seed(4)
  d <- data.frame(x = stats::rnorm(600), g = gl(100, 6))
  f <- d$x - 1 + 3 * stats::rnorm(100)[d$g]
  d$y <- f + stats::rlogis(600) > 0
  other <- f + stats::rlogis(600) > 0
  loss <- function(fit) {
    p <- predict(fit, d, type = "response")
    -mean(log(ifelse(other, p, 1 - p)))
  }
  drawn <- quick_gibbs(y ~ x + (1 | g), d)
  expect_lt(loss(drawn), loss(bsvm(y ~ x + (1 | g), d, threads = 1)) + 0.02)
})

grouped <- function(groups, size = 6, sd = 3, base = -2.5, seed = 1) {
  set.seed(seed)
  g <- gl(groups, size)
  d <- data.frame(x = rnorm(groups * size), w = rnorm(groups)[g], g = factor(paste0(seed, ".", g)))
  f <- base + d$x + 0.7 * d$w + sd * rnorm(groups)[g]
  d$y <- f + rlogis(groups * size) > 0
  d
}

test_that("rows of new groups have a link of their own, which is calibrated", {
  slope <- function(found, p) abs(log(coef(glm(found$y ~ qlogis(found[[p]]), binomial))[[2]]))
  large <- function(found, p) abs(mean(found[[p]]) - mean(found$y))
  both <- lapply(list(c(sd = 3, base = -2.5), c(sd = 1, base = -0.5)), function(law) {
    data <- function(groups, seed) grouped(groups, 6, law[["sd"]], law[["base"]], seed)
    found <- do.call(rbind, lapply(1:6, function(seed) {
      fit <- bsvm(y ~ x + w + (1 | g), data(100, seed), threads = 1)
      new <- data(400, 100 + seed)
      known <- fit
      known$link$new <- known$stamp <- NULL
      data.frame(
        y = new$y, p = predict(fit, new, type = "response"),
        before = predict(known, new, type = "response")
      )
    }))
    expect_lt(slope(found, "p"), log(1.3))
    expect_lt(large(found, "p"), 0.02)
    # The link of known groups takes the variance of a new one for what it is.
    expect_lt(slope(found, "before"), log(1.4))
    found
  })
  few <- both[[2]]
  expect_gt(log_loss_of(few$before, few$y) - log_loss_of(few$p, few$y), 0.005)
  expect_lt(slope(few, "p"), slope(few, "before"))
  # With a large variance those of known groups are too low by more.
  expect_lt(large(both[[1]], "p"), large(both[[1]], "before"))
})

test_that("samplers and selection have the link of new groups, too", {
  d <- grouped(80)
  new <- grouped(50, seed = 9)
  sample <- function(...) {
    flat(bsvm)(
      y ~ x + w + (1 | g), d, method = "gibbs", seed = 1, threads = 1,
      warmup = 300, ndraws = 1000, chains = 2, ...
    )
  }
  other <- bsvm(y ~ x + w + (1 | g), d, threads = 1)
  selected <- bsvm(y ~ x + w + (1 | g), d, select = TRUE, threads = 1, seed = 1)
  fits <- list(sample(), sample(keep_ranef = FALSE), selected)
  # A selection is near a longer chain's of the same model, not near the fit with all columns: w is
  # out in most draws.
  others <- list(other, other, sample(select = TRUE))
  for (k in seq_along(fits)) {
    fit <- fits[[k]]
    p <- predict(fit, new, type = "response")
    expect_lt(max(abs(p - predict(others[[k]], new, type = "response"))), 0.05)
    fit$link$new <- fit$stamp <- NULL
    expect_gt(max(abs(p - predict(fit, new, type = "response"))), 0.02)
  }
})

test_that("every form of prediction has the link of its row", {
  d <- grouped(60)
  fit <- bsvm(y ~ x + w + (1 | g), d, threads = 1)
  rows <- rbind(d[1:2, ], transform(d[1:2, ], g = "another"))
  f <- predict(fit, rows, type = "link", se.fit = TRUE)
  by_hand <- function(link, k) bayeskernel:::calibrated_probability(link, f$fit[k], f$se.fit[k]^2)
  p <- c(by_hand(fit$link, 1:2), by_hand(fit$link$new, 3:4))
  expect_gt(max(abs(p - by_hand(fit$link, 1:4))), 0.01)
  expect_equal(predict(fit, rows, type = "response"), p)
  expect_equal(predict(fit, rows[1:2, ], type = "response", re.form = "new"), p[3:4])
  expect_equal(
    predict(fit, rows[3:4, ], type = "response", re.form = NA),
    predict(fit, rows[1:2, ], type = "response", re.form = NA)
  )
  answer <- predict(fit, rows, type = "prob", se.fit = TRUE)
  draws <- predict(fit, rows, type = "response", draws = TRUE, seed = 1)
  # The curve's mean is P to about .01; a thousand draws.
  noise <- 4 * apply(draws, 2, sd) / sqrt(nrow(draws))
  expect_true(all(abs(colMeans(draws) - p) < 0.01 + noise))
  expect_equal(apply(draws, 2, sd), answer$se.fit, tolerance = 0.1, ignore_attr = TRUE)
  limits <- predict(fit, rows, type = "response", interval = "credible", seed = 1)
  expect_equal(limits[, "fit"], p)
  expect_true(all(limits[, "lwr"] < p & p < limits[, "upr"]))
  # Of few groups it is not found; of known ones it is not used.
  expect_null(bsvm(y ~ x + w + (1 | g), grouped(20), threads = 1)$link$new)
})

test_that("moments of a new group are those of a fit without the group", {
  d <- grouped(40)
  kept <- NULL
  model <- bayeskernel:::bsvm_model
  model$left_out <- function(fit, core, job, rows) {
    kept <<- bayeskernel:::linear_left_out(fit, core, job, rows)
  }
  front <- function(formula, data, method = "ep", penalty = 1,
                    prior = bsvm_prior(), standardize = FALSE, threads = 1) {
    bayeskernel:::fit_model(model, match.call(), environment())
  }
  fit <- front(y ~ x + w + (1 | g), d)
  left <- kept$new$mean
  at <- predict(fit, d, type = "link", re.form = "new")
  own <- lapply(levels(d$g), function(g) which(d$g == g))
  apart <- unlist(lapply(own[1:12], function(rows) {
    predict(front(y ~ x + w + (1 | g), droplevels(d[-rows, ])), d[rows, ], type = "link")
  }))
  rows <- unlist(own[1:12])
  moved <- at[rows] - apart
  step <- at[rows] - left[rows]
  expect_gt(cor(step, moved), 0.9)
  slope <- coef(lm(step ~ moved))[[2]]
  expect_gt(slope, 0.7)
  expect_lt(slope, 1.3)
})

test_that("a tilted hinge of any scale has its moments by quadrature", {
  # f = sd u: the two halves of exp(-a (1 - f)_+) N(f; m, sd^2) on a fine grid.
  by_grid <- function(m, sd, a) {
    u <- seq(-60, 60, length.out = 1e6)
    # Scales beyond 1e3 have their mass within a few 1 / a below 1 or above it.
    f <- if (m < 1) 1 + c(-rev(exp(u)), exp(u)) else m + sd * u
    width <- c(diff(f), 0)
    log_p <- dnorm(f, m, sd, log = TRUE) - a * pmax(1 - f, 0)
    p <- exp(log_p - max(log_p)) * width
    mean <- sum(p * f) / sum(p)
    c(mean, sum(p * (f - mean)^2) / sum(p))
  }
  for (case in list(c(0, 1, 1), c(-4, 3, 2), c(-1e5, 1e5, 2), c(1e9, 1e9, 2))) {
    got <- tilt_hinge(case[1], case[2]^2, case[3])
    expect_equal(
      unname(unlist(got)), by_grid(case[1], case[2], case[3]),
      tolerance = 1e-3, label = paste(case, collapse = " ")
    )
  }
  d <- data.frame(x = sin(1:100), h = gl(10, 10))
  d$y <- factor(rep(0:1, 50)[as.integer(d$h)])
  wide <- bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01)
  fit <- suppressWarnings(bsvm(
    y ~ x + (1 | h), d, method = "gibbs", prior = wide, ndraws = 200, threads = 1, seed = 1
  ))
  expect_true(all(is.finite(predict(fit, type = "prob"))))
})

test_that("a column that few rows have and that selection leaves open does not spoil the link", {
  rows <- function(seed, n = 600) {
    set.seed(seed)
    y <- rep(c("a", "b"), n / 2)
    s <- ifelse(y == "b", 1, -1)
    x <- matrix(rnorm(n * 6), n)
    x[, 1:2] <- x[, 1:2] + s %o% c(1, 0.7)
    rare <- function(class, share) ifelse(y == class & runif(n) < share, exp(rnorm(n, 0, 1.5)), 0)
    data.frame(y = factor(y), x, z = rare("a", 0.04), w = rare("b", 0.03))
  }
  d <- rows(3)
  new <- rows(4)
  fit <- suppressWarnings(bsvm(y ~ ., d, select = TRUE, seed = 1, threads = 1))
  p <- predict(fit, new, type = "prob")[, 2]
  loss <- function(p) -mean(log(ifelse(new$y == "b", p, 1 - p)))
  known <- glm(y ~ X1 + X2, binomial, d)
  expect_lt(loss(p), 1.05 * loss(predict(known, new, type = "response")))
  expect_gt(fit$link$slope, 0.5)
})

test_that("rows far from all others are not certain by either form of the link", {
  skip_if_not_installed("mlbench")
  data("Vehicle", package = "mlbench", envir = environment())
  set.seed(1)
  rows <- sample(nrow(Vehicle))
  new <- Vehicle[rows[401:846], ]
  fit <- gpsvm(Class ~ ., Vehicle[rows[1:400], ], inducing = 100, seed = 1, threads = 1)
  own <- predict(fit, new, type = "prob")[cbind(seq_along(new$Class), as.integer(new$Class))]
  # Six of these rows had probabilities of 1e-13 to 1e-6 where no variance counted.
  expect_gt(min(own), 1e-4)
  expect_lt(-mean(log(own)), 0.45)
})
