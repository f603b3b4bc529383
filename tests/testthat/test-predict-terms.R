# What terms add to f, against lm(), lme4 and mgcv.

set.seed(11)
d <- data.frame(
  x = rnorm(240, 3), z = runif(240), f = gl(4, 60, labels = letters[1:4]),
  g = factor(rep(1:12, 20)), o = rnorm(240)
)
d$u <- d$x - 2 + as.integer(d$f) / 3 + sin(6 * d$z) + rnorm(12)[d$g] / 2 + rnorm(240) / 2
d$y <- d$u > median(d$u)
vague <- bkm_prior(beta_var = 1e6)
flat <- bkm(u ~ log(x + 4) * z + f, d, prior = vague, penalty = "none", threads = 1)
fits <- list(
  flat = flat,
  every = bkm(
    u ~ x + f + s(z, k = 5) + gp(x) + (1 + z | g) + offset(o), d, method = "vb", threads = 1
  ),
  grid = bkm(y ~ x + f + s(z, k = 5) + (1 | g), d, threads = 1),
  select = bsvm(y ~ x + z + f, d, select = TRUE, threads = 1),
  wide = bkm(
    matrix(rnorm(240 * 30), 30, dimnames = list(NULL, paste0("v", 1:240))), d$u[1:30], threads = 1
  ),
  draws = quick_gibbs(y ~ poly(x, 2) + f + (1 | g), d),
  holes = bsvm(
    y ~ x + z + (1 | g), transform(d, z = replace(z, 5, NA)),
    missing = "model", method = "vb", threads = 1
  )
)
rows_of <- function(name) {
  if (name == "wide") {
    matrix(rnorm(960), 4, dimnames = list(NULL, paste0("v", 1:240)))
  } else {
    d[c(3, 70, 150, 239), ]
  }
}
offset_of <- function(name, rows) if (name == "every") rows$o else 0

test_that("fixed terms are those of lm(), with their standard errors", {
  by_lm <- lm(u ~ log(x + 4) * z + f, d)
  rows <- rows_of("flat")
  x <- model.matrix(delete.response(terms(by_lm)), rows)
  out <- predict(flat, rows, type = "terms", se = TRUE)
  assign <- attr(model.matrix(by_lm), "assign")
  labels <- attr(terms(by_lm), "term.labels")
  expect_identical(colnames(out$fit), labels)
  for (t in seq_along(labels)) {
    own <- x[, assign == t, drop = FALSE]
    expect_equal(
      unname(out$fit[, t]), unname(drop(own %*% coef(by_lm)[assign == t])), tolerance = 2e-3
    )
    v <- vcov(by_lm)[assign == t, assign == t]
    expect_equal(
      unname(out$se.fit[, t]), unname(sqrt(rowSums((own %*% v) * own))), tolerance = 0.02
    )
  }
  expect_equal(attr(out$fit, "constant"), coef(by_lm)[[1]], tolerance = 2e-3)
})

test_that("smooths and groups are those of mgcv and lme4", {
  skip_if_not_installed("lme4")
  fit <- bkm(u ~ x + s(z) + (1 | g), d, threads = 1)
  by_gam <- mgcv::gam(u ~ x + s(z) + s(g, bs = "re"), data = d, method = "REML")
  rows <- d[c(3, 70, 150, 239), ]
  out <- predict(fit, rows, type = "terms", se.fit = TRUE)
  expected <- predict(by_gam, rows, type = "terms", se.fit = TRUE)
  expect_identical(colnames(out$fit), c("x", "s(z)", "(1 | g)"))
  # The two differ in their priors of variances.
  expect_equal(unname(out$fit), unname(expected$fit), tolerance = 0.1, ignore_attr = TRUE)
  expect_equal(unname(out$se.fit[, 1]), unname(expected$se.fit[, 1]), tolerance = 0.05)
  expect_equal(unname(out$se.fit[, 2]), unname(expected$se.fit[, 2]), tolerance = 0.25)
  expect_equal(unname(out$se.fit[, 3]), unname(expected$se.fit[, 3]), tolerance = 0.15)
  expect_equal(
    unname(predict(fit, rows, type = "link", exclude = "(1 | g)")),
    unname(c(predict(by_gam, rows, exclude = "s(g)"))), tolerance = 0.02
  )
  # The group alone names its terms.
  without <- predict(fit, rows, type = "link", exclude = "(1 | g)")
  expect_identical(predict(fit, rows, type = "link", exclude = "g"), without)
  expect_identical(predict(fit, rows, type = "link", exclude = "1|g"), without)
  expect_bk_error(predict(fit, rows, type = "link", exclude = "z"), "argument", "exclude")
})

test_that("terms add up, and those left out are gone", {
  for (name in names(fits)) {
    fit <- fits[[name]]
    rows <- rows_of(name)
    out <- predict(fit, rows, type = "terms")
    f <- predict(fit, rows, type = "link")
    expect_equal(
      rowSums(out) + attr(out, "constant") + offset_of(name, rows), f,
      ignore_attr = TRUE, tolerance = 1e-8, info = name
    )
    gone <- colnames(out)[2:3]
    if (name == "holes") gone <- colnames(out)[2]
    less <- rowSums(out[, gone, drop = FALSE])
    expect_equal(
      predict(fit, rows, type = "link", exclude = gone), f - less,
      ignore_attr = TRUE, tolerance = 1e-8, info = name
    )
    expect_equal(
      predict(fit, rows, type = "link", terms = gone), less + offset_of(name, rows),
      ignore_attr = TRUE, tolerance = 1e-8, info = name
    )
    part <- predict(fit, rows, type = "terms", exclude = gone, se.fit = TRUE)
    expect_identical(colnames(part$fit), setdiff(colnames(out), gone))
    expect_equal(part$fit, out[, colnames(part$fit), drop = FALSE], ignore_attr = TRUE)
    expect_true(all(part$se.fit >= 0))
    # Draws have the same mean.
    drawn <- predict(
      fit, rows, type = "link", exclude = gone, draws = TRUE,
      ndraws = if (is.null(fit$draws)) 4000, seed = 1
    )
    spread <- apply(drawn, 2, sd)
    expect_true(all(abs(colMeans(drawn) - (f - less)) < 0.15 * spread))
  }
})

test_that("rows need not have the columns of terms left out", {
  lacking <- list(
    flat = list("f", "f"), every = list(c("f", "s(z)", "(1 + z | g)"), c("f", "z", "g")),
    grid = list(c("(1|g)", "s(z)"), c("g", "z")), select = list("f", "f"), wide = list("v3", "v3"),
    draws = list("poly(x, 2)", "x"), holes = list("z", "z")
  )
  for (name in names(lacking)) {
    fit <- fits[[name]]
    rows <- as.data.frame(rows_of(name))
    gone <- lacking[[name]][[1]]
    less <- rows[setdiff(names(rows), lacking[[name]][[2]])]
    holed <- rows
    holed[lacking[[name]][[2]]] <- NA
    # With the values of the fit's own data, and without.
    bare <- fit
    bare[c("data", "stamp")] <- list(NULL)
    for (object in list(fit, bare)) {
      whole <- predict(object, rows, type = "link", exclude = gone)
      expect_equal(predict(object, less, type = "link", exclude = gone), whole, info = name)
      expect_equal(predict(object, holed, type = "link", exclude = gone), whole, info = name)
      expect_error(predict(object, less, type = "link"), class = "bayeskernel_error")
    }
  }
  out <- predict(fits$grid, d[1:5, "z", drop = FALSE], "terms", terms = "s(z)")
  expect_equal(dim(out), c(5L, 1L))
})

test_that("the rows of the fit, a missing value and row names", {
  for (name in setdiff(names(fits), c("wide", "holes"))) {
    expect_equal(
      predict(fits[[name]], type = "terms"), predict(fits[[name]], d, type = "terms"), info = name
    )
  }
  rows <- d[1:3, ]
  rownames(rows) <- c("one", "two", "three")
  rows$z[2] <- NA
  out <- predict(flat, rows, type = "terms", se.fit = TRUE)
  expect_identical(rownames(out$fit), rownames(rows))
  expect_true(all(is.na(out$se.fit[2, ])))
  expect_false(anyNA(out$fit[-2, ]))
  expect_true(all(is.na(predict(fits$holes, rows, type = "terms")[2, ])))
  expect_false(anyNA(predict(fits$holes, rows, type = "link")))
  excluded <- bkm(
    u ~ x + z, transform(d, x = replace(x, 4, NA)), na.action = na.exclude, threads = 1
  )
  expect_identical(dim(predict(excluded, type = "terms")), c(240L, 2L))
  expect_true(all(is.na(predict(excluded, type = "terms")[4, ])))
  expect_length(predict(excluded, type = "link", exclude = "z"), 240)
  expect_identical(nrow(predict(flat, d[0, ], type = "terms")), 0L)
})

test_that("what has no terms says so", {
  gp <- gpsvm(y ~ x + z, d[1:60, ], inducing = 10, threads = 1, seed = 1)
  expect_bk_error(predict(gp, d, type = "terms"), "argument", "no sum of terms")
  expect_bk_error(predict(gp, d, exclude = "x"), "argument", "no sum of terms")
  expect_bk_error(predict(flat, d, exclude = "w"), "argument", "exclude")
  expect_bk_error(predict(flat, d, terms = 1), "argument", "terms")
  expect_bk_error(predict(flat, d, type = "terms", draws = TRUE), "argument", "draws")
  expect_bk_error(predict(flat, d, type = "terms", interval = "credible"), "argument", "interval")
})

test_that("short names of arguments are understood", {
  whole <- predict(flat, d[1:3, ], se.fit = TRUE)
  expect_equal(predict(flat, d[1:3, ], se = TRUE), whole)
  expect_equal(predict(flat, new = d[1:3, ], se = TRUE), whole)
})

test_that("terms are columns times their draws, or their coefficients, with their sd", {
  set.seed(1)
  data <- data.frame(a = rnorm(60), b = rnorm(60), c = factor(rep(c("u", "v", "w"), 20)))
  data$y <- data$a + rnorm(60)
  design <- model.matrix(~ a + b + c, data)
  fit <- bkm(
    y ~ a + b + c, data, family = "gaussian", method = "gibbs", ndraws = 200, seed = 1, threads = 1
  )
  terms <- predict(fit, data, type = "terms", se.fit = TRUE)
  b <- do.call(rbind, lapply(seq_len(dim(fit$draws)[2]), function(chain) {
    fit$draws[, chain, colnames(design)]
  }))
  each <- list(a = 2, b = 3, c = 4:5)
  for (name in names(each)) {
    f <- tcrossprod(b[, each[[name]], drop = FALSE], design[, each[[name]], drop = FALSE])
    expect_equal(terms$fit[, name], colMeans(f), tolerance = 1e-10, ignore_attr = TRUE)
    expect_equal(terms$se.fit[, name], apply(f, 2, sd), tolerance = 1e-10, ignore_attr = TRUE)
  }
  # Of a machine with the posterior's sd, whose vcov() is the sandwich.
  two <- transform(data, y = factor(y > 0))
  fit <- bsvm(y ~ a + b, two, threads = 1)
  terms <- predict(fit, two, type = "terms", se.fit = TRUE)
  sd <- sqrt(diag(vcov(fit, type = "posterior")))[c("a", "b")]
  expect_equal(
    terms$se.fit, abs(design[, 2:3]) * rep(sd, each = 60), tolerance = 1e-10, ignore_attr = TRUE
  )
})
