meadow <- function(n = 120) {
  i <- seq_len(n)
  data.frame(
    y = rep(0:1, length.out = n), x = 5 + sin(3 * i) + i / n, z = (i * 7 %% 31) / 31 + cos(i),
    age = 20 + 40 * ((i * 37) %% n) / n, f = factor(rep(c("a", "b", "c"), length.out = n)),
    g = rep(1:6, length.out = n), text = rep(c("u", "v"), length.out = n)
  )
}

smooth_formulas <- list(
  y ~ s(age), y ~ s(age, bs = "cr", k = 6), y ~ s(age, bs = "ps"), y ~ s(age, bs = "cc"),
  y ~ s(age, bs = "ts"), y ~ s(age, m = 1), y ~ z + s(age) + s(x) + (1 | g), y ~ f + s(age, by = f),
  y ~ s(age, by = z), y ~ text + s(age, by = text), y ~ s(x, z), y ~ t2(x, z),
  y ~ t2(x, z, age, k = 3), y ~ s(age, f, bs = "fs", k = 5), y ~ s(f, bs = "re"),
  y ~ s(log(age)) + f, y ~ 0 + s(age) + z, y ~ s(age, fx = TRUE), y ~ mgcv::s(age) - 1,
  y ~ s(age, pc = 40)
)

test_that("every column is fixed or in one block, in the order of the smooth", {
  d <- meadow()
  for (formula in smooth_formulas) {
    design <- bsvm_design(formula, d)
    expect_false(anyDuplicated(colnames(design$x)) > 0)
    at <- unlist(lapply(design$smooths, function(smooth) {
      expect_length(smooth$block_labels, length(smooth$blocks))
      c(smooth$fixed, unlist(smooth$blocks))
    }))
    ordinary <- sum(!is.na(design$assign))
    expect_identical(at, ordinary + seq_along(at))
    expect_identical(ncol(design$x), ordinary + length(at))
    blocks <- unlist(lapply(design$smooths, `[[`, "blocks"))
    expect_true(all(design$center[blocks] == 0))
    expect_true(all(design$scale[blocks] == 1))
    labels <- unlist(lapply(design$smooths, `[[`, "block_labels"))
    expect_false(anyDuplicated(labels) > 0)
  }
})

test_that("names, labels and variables are those of mgcv", {
  d <- meadow()
  design <- bsvm_design(y ~ s(age, k = 4) + f + s(x, by = f, k = 3), d)
  expect_identical(
    colnames(design$x)[1:6], c("(Intercept)", "fb", "fc", "s(age).fx1", "s(age).1", "s(age).2")
  )
  expect_identical(
    vapply(design$smooths, `[[`, "", "label"), c("s(age)", "s(x):fa", "s(x):fb", "s(x):fc")
  )
  expect_identical(design$smooths[[3]]$variables, "x")
  expect_identical(design$smooths[[3]][c("by", "level")], list(by = "f", level = "b"))
  both <- bsvm_design(y ~ t2(x, z, k = 4), d)$smooths[[1]]
  expect_identical(both$variables, c("x", "z"))
  expect_identical(both$block_labels, paste0("t2(x,z):", 1:3))
})

# The defining property: effects theta of these columns are the function that mgcv writes as X b,
# and the squares of a block are its penalty of b.
test_that("blocks carry the penalty of mgcv and nothing else", {
  skip_if_not_installed("mgcv")
  d <- meadow()
  set.seed(1)
  terms <- list(
    quote(s(age)), quote(s(age, bs = "cr")), quote(s(age, bs = "cc")), quote(s(age, m = 1)),
    quote(s(x, z)), quote(s(age, by = z)), quote(t2(x, z, k = 4)), quote(t2(x, z, age, k = 3)),
    quote(s(age, f, bs = "fs", k = 5))
  )
  for (term in terms) {
    design <- bsvm_design(as.formula(call("~", quote(y), term)), d)
    term[[1]] <- call("::", quote(mgcv), term[[1]])
    basis <- mgcv::smoothCon(eval(term), d, absorb.cons = TRUE, modCon = 3)[[1]]
    smooth <- design$smooths[[1]]
    expect_length(smooth$blocks, length(basis$S))
    at <- c(smooth$fixed, unlist(smooth$blocks))
    theta <- rnorm(length(at))
    b <- qr.solve(basis$X, design$x[, at] %*% theta)
    expect_equal(c(basis$X %*% b), c(design$x[, at] %*% theta), tolerance = 1e-6)
    for (l in seq_along(smooth$blocks)) {
      own <- match(smooth$blocks[[l]], at)
      expect_equal(c(crossprod(b, basis$S[[l]] %*% b)), sum(theta[own]^2), tolerance = 1e-5)
    }
  }
})

test_that("new rows equal the training rows, alone or together", {
  d <- meadow()
  for (formula in smooth_formulas) {
    design <- bsvm_design(formula, d)
    error <- function(rows) {
      new <- design_new(design$info, d[rows, -1])
      expect_identical(new$complete, rep(TRUE, length(rows)))
      max(abs(new$x - design$x[rows, , drop = FALSE]))
    }
    expect_lt(error(1:120), 1e-10)
    expect_lt(error(c(70, 3)), 1e-10)
    expect_lt(error(5), 1e-10)
    none <- design_new(design$info, d[0, ])$x
    expect_identical(dim(none), c(0L, ncol(design$x)))
  }
})

test_that("a row is incomplete where a variable of a smooth is missing", {
  d <- meadow()
  design <- bsvm_design(y ~ s(age) + f + s(x, by = f), d)
  new <- d[1:5, ]
  new$age[1] <- NA
  new$f[3] <- NA
  rows <- design_new(design$info, new)
  expect_identical(rows$complete, c(FALSE, TRUE, FALSE, TRUE, TRUE))
  expect_lt(max(abs(rows$x[c(2, 4, 5), ] - design$x[c(2, 4, 5), ])), 1e-10)
  new$age <- NA
  expect_identical(design_new(design$info, new)$complete, rep(FALSE, 5))
})

test_that("new values of the wrong kind are refused by name", {
  d <- meadow()
  info <- bsvm_design(y ~ text + s(age, by = text), d)$info
  refuse <- function(new, column) {
    error <- expect_bk_error(design_new(info, new), "argument")
    expect_identical(error$column, column)
  }
  refuse(transform(d, age = "old"), "age")
  refuse(transform(d, text = "w"), "text")
  refuse(d["text"], "age")
  expect_bk_error(design_new(info, transform(d, age = Inf)), "missing")
})

test_that("columns that the fixed part has already are dropped, blocks never", {
  d <- meadow()
  warning <- expect_bk_warning(
    design <- bsvm_design(y ~ age + s(age) + s(x) + (1 | g), d), "dropped_column"
  )
  expect_identical(warning$column, "s(age).fx1")
  expect_identical(design$dropped, "s(age).fx1")
  expect_identical(design$smooths[[1]]$fixed, integer())
  expect_identical(colnames(design$x)[design$smooths[[2]]$fixed], "s(x).fx1")
  expect_lt(max(abs(design_new(design$info, d)$x - design$x)), 1e-10)
  grid <- smooth_grid(design$info, 1, 10)
  expect_identical(grid$at, design$smooths[[1]]$blocks[[1]])
})

test_that("the dot leaves out the variables of smooths", {
  d <- meadow()[c("y", "x", "z", "age", "f")]
  design <- bsvm_design(y ~ . + s(age, by = f, k = 4), d)
  expect_identical(design$term_labels, c("x", "z", "f"))
  expect_identical(deparse1(design$formula), "y ~ x + z + f + s(age, by = f, k = 4)")
})

test_that("a grid covers the range of what was seen", {
  d <- meadow()
  design <- bsvm_design(
    y ~ s(age) + t2(x, z) + f + s(x, by = f) + s(age, by = z) + s(z, f, bs = "fs", k = 4), d,
    drop_aliased = FALSE
  )
  grid <- smooth_grid(design$info, 1)
  expect_identical(names(grid$data), "age")
  expect_equal(range(grid$data$age), range(d$age))
  expect_identical(dim(grid$columns), c(100L, 9L))
  expect_identical(colnames(design$x)[grid$at], colnames(grid$columns))
  # The same columns as design_new() computes for such rows.
  rows <- transform(d[rep(1, 100), ], age = grid$data$age)
  expect_equal(design_new(design$info, rows)$x[, grid$at], grid$columns, tolerance = 1e-10)
  surface <- smooth_grid(design$info, 2, 7)
  expect_identical(nrow(surface$data), 49L)
  expect_identical(names(surface$data), c("x", "z"))
  by_level <- smooth_grid(design$info, 4, 7)$data
  expect_identical(unique(as.character(by_level$f)), "b")
  expect_identical(unique(smooth_grid(design$info, 6, 7)$data$z), 1)
  expect_identical(nrow(smooth_grid(design$info, 7, 7)$data), 21L)
})

test_that("constants of the formula's surroundings can be used", {
  in_function <- function(d) {
    size <- 5
    bsvm_design(y ~ s(I(age / size), k = size), d)
  }
  d <- meadow()
  design <- in_function(d)
  expect_identical(ncol(design$x), 5L)
  restored <- unserialize(serialize(design$info, NULL))
  expect_equal(design_new(restored, d)$x, design$x, tolerance = 1e-12)
})

test_that("what prediction needs holds no rows of the data", {
  stored <- function(n) {
    d <- meadow(n)
    ballast <- rnorm(n)
    d$age <- 20 + 40 * (seq_len(n) %% 50) / 50
    d$x <- round(d$x, 1)
    design <- bsvm_design(
      y ~ s(age) + s(x, bs = "cr") + t2(age, x, k = 4) + s(f, bs = "re") +
        s(age, f, bs = "fs", k = 4), d,
      drop_aliased = FALSE
    )
    length(serialize(design$info, NULL))
  }
  expect_lt(stored(20000), stored(500) + 500)
  # A thin plate spline keeps its knots, 2000 at most.
  many <- meadow(5000)
  many$age <- seq_len(5000) + 0
  info <- bsvm_design(y ~ s(age), many)$info
  expect_lt(length(serialize(info, NULL)), 300000)
})

test_that("columns are the same in a fresh process", {
  home <- system.file(package = "bayeskernel")
  skip_if_not(file.exists(file.path(home, "Meta", "package.rds")))
  skip_if_not_installed("callr")
  d <- meadow()
  design <- bsvm_design(y ~ s(age) + t2(x, z) + s(f, bs = "re"), d)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(list(info = design$info, new = d[1:9, -1]), file)
  there <- callr::r(function(file, lib) {
    suppressMessages(library(bayeskernel, lib.loc = lib))
    stored <- readRDS(file)
    design_new <- getNamespace("bayeskernel")$design_new
    design_new(stored$info, stored$new)$x
  }, list(file, dirname(home)))
  expect_equal(there, design$x[1:9, ], tolerance = 1e-12)
})

test_that("smooth terms that cannot be are refused by name", {
  d <- meadow()
  d$few <- rep(1:4, length.out = 120)
  d$hole <- replace(d$age, c(4, 9), NA)
  d$inf <- replace(d$age, 7, Inf)
  refuse <- function(formula, column, kind = "argument", ...) {
    error <- expect_bk_error(bsvm_design(formula, d, ...), kind)
    expect_identical(error$column, column)
    expect_match(conditionMessage(error), column, fixed = TRUE)
    expect_lt(nchar(strsplit(conditionMessage(error), "\n")[[1]][1]), 80)
  }
  refuse(y ~ te(x, z), "te(x, z)")
  refuse(y ~ x + ti(x, z) + (1 | g), "ti(x, z)")
  refuse(y ~ s(few), "s(few)")
  refuse(y ~ s(age, k = 1000), "s(age, k = 1000)")
  refuse(y ~ s(age, bs = "zz"), "s(age, bs = \"zz\")")
  refuse(y ~ s(age, bs = "ad"), "s(age, bs = \"ad\")")
  refuse(y ~ s(f), "s(f)")
  refuse(y ~ s(age, text), "s(age, text)")
  refuse(y ~ s(absent), "absent")
  refuse(y ~ s(age, by = absent), "absent")
  refuse(y ~ s(age, k = absent), "s(age, k = absent)")
  refuse(y ~ s(age, sp = 1), "s(age, sp = 1)")
  refuse(y ~ s(age, id = 1), "s(age, id = 1)")
  refuse(y ~ s(x, x), "s(x, x)")
  refuse(y ~ s(), "s()")
  refuse(y ~ s(age / 2), "s(age/2)")
  refuse(y ~ s(age) + x + s(age), "s(age)")
  refuse(y ~ f * s(x), "s(x)")
  refuse(y ~ x - s(z), "s(z)")
  refuse(y ~ (s(x) | g), "s(x)")
  refuse(y ~ s(hole), "hole", "missing")
  refuse(y ~ s(hole), "hole", "missing", missing = "model")
  refuse(y ~ s(age, by = hole), "hole", "missing", missing = "model")
  refuse(y ~ s(inf), "inf", "missing")
})

test_that("messages about smooths name term and cure", {
  d <- meadow()
  d$few <- rep(1:4, length.out = 120)
  expect_snapshot(error = TRUE, {
    bsvm_design(y ~ te(x, z, k = 4), d)
    bsvm_design(y ~ s(few), d)
    bsvm_design(y ~ s(age, bs = "zz"), d)
    bsvm_design(y ~ s(age, bs = "ad"), d)
    bsvm_design(y ~ s(f), d)
    bsvm_design(y ~ f:s(x), d)
    bsvm_design(y ~ s(age, sp = 1), d)
    bsvm_design(y ~ s(age) + s(age), d)
  })
})

test_that("one new row has the columns that it has among others", {
  set.seed(3)
  data <- data.frame(x = runif(40), z = runif(40))
  data$y <- sin(4 * data$x) + data$z + rnorm(40) / 5
  terms <- c(
    "s(x, m = c(2, 0))", "s(x, bs = 'ts')", "s(x, z, bs = 'ds')", "t2(x, z)", "s(x, by = z)"
  )
  for (term in terms) {
    fit <- bkm(stats::reformulate(term, "y"), data, method = "vb", seed = 1, threads = 1)
    among <- unname(predict(fit, data[1:5, ]))
    alone <- vapply(1:5, function(i) unname(predict(fit, data[i, ])), 0)
    expect_equal(alone, among, tolerance = 1e-12, info = term)
  }
})

test_that("a smooth of two factors is drawn by their levels", {
  data <- expand.grid(a = gl(2, 1), b = gl(3, 1), copy = 1:5)
  data$y <- as.integer(data$a) + as.integer(data$b)^2 + sin(seq_len(nrow(data)))
  fit <- bkm(y ~ s(a, b, bs = "re"), data, method = "vb", seed = 1, threads = 1)
  expect_output(print(fit), "`s(a,b)` is a random effect: `(1 | a:b)` is faster", fixed = TRUE)
  pdf(NULL)
  on.exit(dev.off())
  expect_error(plot(fit, "smooth"), NA)
  panel <- smooth_panel(1L, fit)
  expect_identical(panel$kind, "f")
  # Shrunken means of the cells are in the order of the cells' means.
  means <- tapply(data$y, data[c("a", "b")], mean)
  expect_equal(order(panel$mean), order(c(means)))
})

test_that("the prior of a smooth does not depend on its basis", {
  set.seed(5)
  data <- data.frame(x = runif(150))
  truth <- sin(2 * pi * data$x) + data$x
  data$y <- truth + rnorm(150) / 3
  fits <- lapply(c("tp", "cr", "ps", "bs"), function(basis) {
    bkm(
      stats::as.formula(sprintf("y ~ s(x, bs = '%s', k = 20)", basis)), data, seed = 1, threads = 1
    )
  })
  # Log evidence, and fits as mgcv has them.
  evidence <- vapply(fits, function(fit) log_evidence(fit)[[1]], 0)
  expect_lt(diff(range(evidence)), 1.5)
  peer <- fitted(mgcv::gam(y ~ s(x, k = 20), data = data, method = "REML"))
  for (fit in fits) expect_lt(sqrt(mean((predict(fit) - peer)^2)), 0.03)
})

test_that("the prior of a smooth moves with the unit of its columns", {
  set.seed(6)
  data <- data.frame(x = runif(80), z = runif(80))
  data$y <- data$z * sin(4 * data$x) + rnorm(80) / 5
  data$big <- 1000 * data$z
  fit <- function(by) {
    bkm(stats::as.formula(sprintf("y ~ s(x, by = %s)", by)), data, seed = 1, threads = 1)
  }
  expect_equal(predict(fit("big")), predict(fit("z")), tolerance = 1e-4)
})

test_that("effective degrees of freedom are those of mgcv's penalized fit", {
  skip_if_not_installed("mgcv")
  set.seed(1)
  n <- 300
  d <- data.frame(x = runif(n))
  d$y <- sin(6 * d$x) + rnorm(n, sd = 0.3)
  fit <- bkm(y ~ s(x), d, family = "gaussian", threads = 1)
  own <- summary(fit)$smooths["s(x)", "edf"]
  # The intercept is not counted.
  peer <- sum(mgcv::gam(y ~ s(x), data = d, method = "REML")$edf) - 1
  expect_lt(abs(own - peer), 0.5)
  text <- capture.output(print(fit))
  expect_false(any(grepl("fx1", text)))
  expect_lt(which(text == "")[1], 6)
})

test_that("lines are as long as the width allows", {
  d <- data.frame(x = seq_len(60) / 60, second_predictor = rep(c(0, 1), 30))
  d$y <- d$x + rep(c(0, 0.1, -0.1), 20)
  fit <- bkm(y ~ x + second_predictor, d, family = "gaussian", threads = 1)
  longest <- function(width) {
    old <- options(width = width)
    on.exit(options(old))
    max(nchar(capture.output(print(fit))))
  }
  expect_lt(longest(50), 51)
  expect_gt(longest(120), 80)
})

test_that("tidy() has one row a smooth, none for its columns", {
  set.seed(3)
  d <- data.frame(x = rnorm(80), z = rnorm(80), g = gl(8, 10))
  d$y <- sin(2 * d$x) + d$z + rlogis(80) > 0
  d$number <- sin(2 * d$x) + d$z + rnorm(80)
  for (fit in list(
    bkm(y ~ s(x) + z + (1 | g), d, threads = 1), bsvm(y ~ s(x) + z, d, threads = 1),
    bkm(number ~ s(x) + z, d, method = "vb", threads = 1)
  )) {
    shown <- tidy(fit, conf.int = TRUE)
    expect_identical(shown$term[shown$effect == "fixed"], c("(Intercept)", "z"))
    expect_identical(shown$term[shown$effect == "smooth"], "s(x)")
    expect_identical(tidy(fit, "fixed")$term, c("(Intercept)", "z"))
    expect_false("edf" %in% names(tidy(fit, "fixed")))
    own <- tidy(fit, "smooth")
    expect_equal(own$edf, unname(smooth_table(fit)[, "edf"]))
    expect_true(own$edf > 1 && own$edf < 9)
    expect_true("sd__s(x)" %in% tidy(fit, "ran_pars")$term)
  }
  surface <- bkm(y ~ gp(x, z), d, threads = 1)
  expect_identical(tidy(surface, "fixed")$term, "(Intercept)")
  expect_true(any(tidy(surface)$effect == "ran_pars"))
})

test_that("print() says along which smooth residuals are correlated", {
  set.seed(1)
  d <- data.frame(x = runif(300), g = gl(2, 150))
  d$y <- ifelse(d$g == "1", sin(60 * d$x), d$x) + rnorm(300) / 3
  hint <- "Residuals along s\\(x\\):g1 are correlated: try a larger k, k = 20"
  fit <- bkm(y ~ s(x, by = g), d, threads = 1)
  expect_output(print(fit), hint)
  expect_output(print(summary(fit)), hint)
  enough <- bkm(y ~ s(x, by = g, k = 50), d, threads = 1)
  expect_false(any(grepl("correlated", capture.output(print(enough)))))
})

test_that("degrees of freedom are those of complete rows, nearly, where values are missing", {
  # They were -3006: the variance of a coefficient is wider than its prior's where that is small.
  set.seed(1)
  d <- data.frame(x = runif(400), z = rnorm(400))
  d$y <- factor(rbinom(400, 1, plogis(2 * d$x + d$z)))
  whole <- smooth_table(bkm(y ~ s(x) + z, d, threads = 1))
  d$z[1:80] <- NA
  own <- smooth_table(bkm(y ~ s(x) + z, d, missing = "model", seed = 1, threads = 1))
  expect_gt(own[, "edf"], 1)
  expect_lt(abs(own[, "edf"] - whole[, "edf"]), 0.5)
})
