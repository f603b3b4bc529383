# Random intercepts of mkprobit(): a process more, with kernel 1 within a group.

grouped_process <- function(..., groups = 0.7) {
  flat(mkprobit)(
    ..., tune = FALSE, tol = 1e-13, max_iter = 20000, seed = 1, threads = 1,
    prior = mkprobit_prior(variance = 2, intercept = 1.5, groups = groups)
  )
}

grouped_clouds <- function(n = 40, groups = 5, effect = 1, noise = 0.8, seed = 4) {
  set.seed(seed)
  g <- rep(seq_len(groups), length.out = n)
  by <- matrix(rnorm(3 * groups, sd = effect), groups)
  u <- rnorm(n)
  v <- rnorm(n)
  f <- cbind(u, v, -u) + by[g, ] + matrix(rnorm(3 * n, sd = noise), n)
  data.frame(y = factor(letters[max.col(f)], letters[1:3]), u = u, v = v, g = factor(g))
}

# d log P(class i | m) / d m by plain quadrature, with latent responses of sd s.
cone <- function(m, i, s = rep(1, length(m))) {
  stats::integrate(function(u) {
    vapply(u, function(one) {
      stats::dnorm(one) * prod(stats::pnorm((s[i] * one + m[i] - m[-i]) / s[-i]))
    }, 0)
  }, -9, 9, rel.tol = 1e-10)$value
}
cone_slope <- function(m, i) {
  vapply(seq_along(m), function(c) {
    step <- replace(numeric(length(m)), c, 1e-4)
    (log(cone(m + step, i)) - log(cone(m - step, i))) / 2e-4
  }, 0)
}

dense_cov <- function(a, b, known = TRUE, group = 0.7) {
  x <- as.matrix(a[c("u", "v")])
  z <- as.matrix(b[c("u", "v")])
  square <- outer(rowSums(x^2), rowSums(z^2), `+`) - 2 * tcrossprod(x, z)
  same <- if (known) outer(as.character(a$g), as.character(b$g), `==`) else 0
  2 * exp(-square / (2 * 0.9^2)) + 1.5^2 + group * same
}

test_that("a random intercept is a kernel of the groups, by dense algebra", {
  data <- grouped_clouds()
  fit <- grouped_process(y ~ u + v + (1 | g), data, kernel = rbf(0.9), standardize = FALSE)
  f <- predict(fit, type = "link")
  slope <- t(vapply(seq_len(nrow(data)), function(n) {
    cone_slope(f[n, ], as.integer(data$y)[n])
  }, numeric(3)))
  k <- dense_cov(data, data)
  expect_equal(unname(f), unname(k %*% slope), tolerance = 1e-5)
  new <- data.frame(u = c(0.3, -1, 0.3, 9), v = c(0, 0.4, 0, 9), g = c("2", "5", "new", "other"))
  check <- function(re.form, known, whole) {
    cross <- dense_cov(data, new, known)
    var <- whole - colSums(cross * solve(k + diag(nrow(data)), cross))
    mean <- crossprod(cross, slope)
    found <- predict(fit, new, type = "link", se.fit = TRUE, re.form = re.form)
    expect_equal(unname(found$fit), unname(mean), tolerance = 1e-5)
    expect_equal(unname(found$se.fit^2), matrix(var, 4, 3), tolerance = 1e-6)
    prob <- predict(fit, new, type = "prob", re.form = re.form)
    right <- t(vapply(1:4, function(row) {
      vapply(1:3, function(i) cone(mean[row, ], i, rep(sqrt(1 + var[row]), 3)), 0)
    }, numeric(3)))
    expect_equal(unname(prob), right, tolerance = 1e-5)
  }
  check(NULL, TRUE, 2 + 1.5^2 + 0.7)
  check("new", FALSE, 2 + 1.5^2 + 0.7)
  check(NA, FALSE, 2 + 1.5^2)
  # Without its groups a row need not name one.
  expect_equal(
    predict(fit, new[c("u", "v")], type = "prob", re.form = NA),
    predict(fit, new, type = "prob", re.form = NA)
  )
  home <- tempfile()
  saveRDS(fit, home)
  expect_identical(predict(readRDS(home), new, type = "prob"), predict(fit, new, type = "prob"))
})

test_that("effects of groups are what a known group adds to a function", {
  data <- grouped_clouds()
  fit <- grouped_process(y ~ u + v + (1 | g), data, kernel = rbf(0.9), standardize = FALSE)
  effects <- ranef(fit)
  new <- data.frame(u = 0.2, v = 0.1, g = as.character(1:5))
  added <- predict(fit, new, type = "link") - predict(fit, new, type = "link", re.form = NA)
  expect_equal(as.matrix(effects$g), added, tolerance = 1e-8, ignore_attr = TRUE)
  expect_identical(dimnames(effects$g), list(as.character(1:5), letters[1:3]))
  # u = 0.7 Z' a with K = cov(y) - 1: variance 0.7 - c' (K + I)^-1 c.
  cross <- 0.7 * outer(as.character(data$g), as.character(1:5), `==`)
  var <- 0.7 - colSums(cross * solve(dense_cov(data, data) + diag(nrow(data)), cross))
  expect_equal(attr(effects$g, "postVar")[2, 2, ], var, tolerance = 1e-6)
  expect_equal(VarCorr(fit)$g[1, 1], 0.7)
  expect_output(print(effects), "Random effects of g")
  expect_bk_error(
    ranef(mkprobit(y ~ u, data, tune = FALSE, threads = 1)), "argument", "no random effects"
  )
})

test_that("rows that are repeated, and every row an inducing object, change nothing", {
  data <- grouped_clouds()
  fit <- grouped_process(y ~ u + v + (1 | g), data, kernel = rbf(0.9), standardize = FALSE)
  every <- grouped_process(
    y ~ u + v + (1 | g), data, kernel = rbf(0.9), standardize = FALSE, inducing = 40
  )
  expect_equal(
    predict(every, data, type = "prob"), predict(fit, data, type = "prob"), tolerance = 1e-6
  )
  count <- rep(c(1, 2), 20)
  data$count <- count
  counted <- grouped_process(
    y ~ u + v + (1 | g), data, kernel = rbf(0.9), standardize = FALSE, weights = count
  )
  many <- grouped_process(
    y ~ u + v + (1 | g), data[rep(1:40, count), ], kernel = rbf(0.9), standardize = FALSE
  )
  expect_equal(
    predict(counted, data, type = "prob"), predict(many, data, type = "prob"), tolerance = 1e-5
  )
})

test_that("left-out rows tell how much groups differ", {
  data <- grouped_clouds(240, 8, effect = 2, noise = 1)
  new <- 161:240
  fit <- mkprobit(y ~ u + v + (1 | g), data[-new, ], threads = 1, seed = 1)
  plain <- mkprobit(y ~ u + v, data[-new, ], threads = 1, seed = 1)
  loss <- function(fit, ...) {
    p <- predict(fit, data[new, ], type = "prob", ...)
    -mean(log(p[cbind(seq_along(new), as.integer(data$y[new]))]))
  }
  expect_lt(loss(fit), loss(plain) - 0.1)
  expect_lt(loss(fit), loss(fit, re.form = NA) - 0.1)
  expect_output(print(fit), "\\(1 \\| g\\)")
  none <- grouped_clouds(160, 8, effect = 0, noise = 1)
  flat_fit <- mkprobit(y ~ u + v + (1 | g), none, threads = 1, seed = 1)
  expect_lt(flat_fit$process[["g"]], fit$process[["g"]] / 10)
})

test_that("groups within groups, two classes, and the sampler", {
  data <- grouped_clouds(60, 6)
  data$h <- factor(rep(1:2, each = 30))
  nested <- mkprobit(y ~ u + (1 | h / g), data, tune = FALSE, threads = 1, seed = 1)
  expect_length(nested$process, 5)
  expect_equal(rowSums(predict(nested, data, type = "prob")), rep(1, 60), ignore_attr = TRUE)
  data$two <- data$y == "a"
  two <- mkprobit(two ~ u + v + (1 | g), data, tune = FALSE, threads = 1, seed = 1)
  p <- predict(two, data, type = "prob", re.form = NA)
  expect_true(all(is.finite(p)))
  sampled <- suppressWarnings(grouped_process(
    y ~ u + v + (1 | g), data, kernel = rbf(0.9), standardize = FALSE, method = "gibbs",
    chains = 2, warmup = 100, ndraws = 1500, thin = 1
  ))
  # The sampler and the bound have one prior: of a new group far off nothing but that is left.
  far <- data.frame(u = 99, v = 99, g = "new")
  expect_equal(
    unname(predict(sampled, far, type = "prob")),
    unname(predict(sampled, transform(far, u = -99), type = "prob")), tolerance = 0.05
  )
  fit <- grouped_process(y ~ u + v + (1 | g), data, kernel = rbf(0.9), standardize = FALSE)
  gap <- predict(sampled, data, type = "prob") - predict(fit, data, type = "prob")
  expect_lt(mean(abs(gap)), 0.08)
})

test_that("random terms that cannot be are refused", {
  data <- grouped_clouds()
  expect_bk_error(mkprobit(y ~ u + (u | g), data, threads = 1), "argument", "random slopes")
  expect_bk_error(
    mkprobit(y ~ u + (1 | g), data, coefficients = "weights", threads = 1), "argument",
    "coefficients = \"process\""
  )
  expect_bk_error(bkm(y ~ u + (1 | g), data, threads = 1), "response", "mkprobit\\(\\)")
  old <- options(bayeskernel.max_bytes = 8e3)
  on.exit(options(old))
  expect_bk_error(
    mkprobit(y ~ u + (1 | g), data, inducing = 30, tune = FALSE, threads = 1), "argument",
    "fewer levels"
  )
})

test_that("draws and intervals have the effect of a new group, one for all of its rows", {
  data <- grouped_clouds(60, 6)
  fit <- grouped_process(y ~ u + v + (1 | g), data, kernel = rbf(0.9), standardize = FALSE)
  new <- data.frame(u = 0.2, v = 0.1, g = c("x", "x", "z"))
  f <- predict(fit, new, type = "link", draws = TRUE, ndraws = 4000, seed = 1)
  # Rows differ by what the process leaves open at them, which is next to nothing.
  expect_lt(max(abs(f[, 1, ] - f[, 2, ])), 0.01)
  gap <- f[, 1, ] - f[, 3, ]
  expect_equal(mean(gap^2), 2 * 0.7, tolerance = 0.05)
  # The probability that a class's latent response is the largest, given the functions.
  p <- predict(fit, new, type = "prob", draws = TRUE, ndraws = 4000, seed = 1)
  for (k in 1:3) {
    expect_lt(max(abs(p[1:50, 3, k] - apply(f[1:50, 3, ], 1, cone, k))), 1e-3)
  }
  # Averages of draws are the probabilities that integrate over the group.
  expect_equal(
    apply(p, 2:3, mean), predict(fit, new, type = "prob"), tolerance = 0.03, ignore_attr = TRUE
  )
  table <- plot_data(fit, "partial", pars = "u", re.form = "new", level = 0.9, threads = 1)
  at <- table$value[1]
  rows <- transform(data, u = at, g = "new")
  by_row <- predict(fit, rows, type = "prob", draws = TRUE, ndraws = 4000, seed = 2)
  whole <- apply(by_row, c(1, 3), mean)
  limits <- apply(whole, 2, quantile, c(0.05, 0.95))
  first <- table[table$value == at, ]
  expect_lt(max(abs(rbind(first$lwr, first$upr) - limits)), 0.06)
  expect_gt(min(diff(limits)), 0.2)
})
