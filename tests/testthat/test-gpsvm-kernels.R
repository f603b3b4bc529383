# gpsvm() with kernels of some columns, of angles and of categories.

season <- local({
  set.seed(7)
  n <- 110
  d <- data.frame(
    lon = runif(n, 0, 90), month = sample(1:48, n, TRUE),
    site = factor(sample(c("hill", "lake", "town"), n, TRUE))
  )
  level <- c(hill = -1, lake = 1, town = 0)[as.character(d$site)]
  f <- 2 * sin(2 * pi * d$month / 12) + level + (d$lon - 45) / 40
  d$y <- factor(f + rnorm(n) / 3 > 0, labels = c("no", "yes"))
  d
})

machine <- function(kernel, ..., formula = y ~ ., data = season,
                    method = "vb", tune = FALSE, inducing = 20) {
  flat(gpsvm)(
    formula, data, kernel = kernel, method = method, tune = tune, inducing = inducing, seed = 1,
    threads = 1, ...
  )
}

prob_of <- function(fit, ...) predict(fit, season, type = "prob", ...)

test_that("a kernel of one column is that of a fit to this column", {
  for (leaf in list(matern, rbf, linear)) {
    one <- machine(leaf(columns = "lon"), inducing = "all")
    other <- machine(leaf(), inducing = "all", formula = y ~ lon)
    expect_equal(prob_of(one), prob_of(other), tolerance = 1e-6)
    expect_equal(unname(kernel_parameters(one)), unname(kernel_parameters(other)))
  }
  wide <- machine(matern(ard = TRUE, columns = c("month", "site")))
  expect_named(kernel_parameters(wide), c(
    "variance", "lengthscale.month", "lengthscale.sitehill",
    "lengthscale.sitelake", "lengthscale.sitetown"
  ))
})

test_that("the period is in units of the predictor, standardised or not", {
  kernel <- periodic(12, 0.8, columns = "month")
  fits <- lapply(c(TRUE, FALSE), function(standardize) {
    machine(kernel, standardize = standardize, inducing = "all")
  })
  expect_equal(prob_of(fits[[1]]), prob_of(fits[[2]]), tolerance = 1e-6)
  expect_identical(kernel_parameters(fits[[1]])[["period"]], 12)
  later <- transform(season, month = month + 12 * 5)
  expect_equal(predict(fits[[1]], later, "prob"), prob_of(fits[[1]]), tolerance = 1e-8)
  # The kernel of a fit means the same on raw columns and in another fit.
  raw <- as.matrix(season[1:6, c("lon", "month")])
  expect_equal(
    kernel_matrix(fits[[1]]$kernel, raw, threads = 1),
    kernel_matrix(periodic(12, 0.8, columns = 2), raw, threads = 1)
  )
  again <- machine(
    fits[[1]]$kernel, formula = y ~ month, inducing = "all",
    data = transform(season, month = 1 * month)
  )
  expect_equal(prob_of(again), prob_of(fits[[1]]), tolerance = 1e-6)
})

test_that("Matern length-scales and a period are tuned by bound, loo, folds", {
  kernel <- rbf(columns = "lon") * matern(5 / 2, columns = "site") +
    periodic(10.5, columns = "month")
  before <- machine(kernel)
  after <- machine(kernel, tune = "bound")
  expect_gt(last_bound(after), last_bound(before) + 5)
  expect_lt(abs(last_bound(after) - after$tuned$bound), 0.01)
  found <- kernel_parameters(after)
  expect_named(found, c(
    "rbf.variance", "rbf.lengthscale", "matern.variance", "matern.lengthscale",
    "periodic.variance", "periodic.lengthscale", "periodic.period"
  ))
  expect_lt(abs(found[["periodic.period"]] - 12), 0.7)
  expect_gt(mean(predict(after, season) == season$y), 0.9)
  # No period near by is better.
  best <- last_bound(machine(after$kernel, tol = 1e-9))
  for (step in c(0.97, 1.03)) {
    moved <- found
    moved["periodic.period"] <- step * found["periodic.period"]
    other <- machine(update_kernel(after$kernel, log(moved)), tol = 1e-9)
    expect_lt(last_bound(other), best)
  }
  small <- season[1:60, ]
  loo <- machine(
    matern(1 / 2) + periodic(12, columns = "month"), data = small,
    method = "ep", tune = "loo", inducing = 10
  )
  expect_true(all(is.finite(kernel_parameters(loo))))
  expect_gte(kernel_parameters(loo)[["periodic.period"]], 6)
  expect_lte(kernel_parameters(loo)[["periodic.period"]], 24)
  folds <- machine(
    matern() * periodic(12, columns = "month"), data = small, tune = "cv", inducing = 10
  )
  expect_identical(kernel_parameters(folds)[["periodic.period"]], 12)
  expect_equal(nrow(folds$tuned$grid), 20)
})

test_that("bounds of length-scales mean distances, in their own columns", {
  kernel <- resolve_lengthscale(place_columns(rbf(columns = 1) + periodic(3) + linear(), 2), 2, 2)
  process <- list(kernel = kernel, nugget = 0.5, medians = c(0.9, 1, NA))
  box <- tuning_box(kernel_parameters(kernel), process, gpsvm_prior())
  lower <- c(0.01, 0.05 * 0.9, 0.01, 0.05, 1.5, 0.01, 1e-6)
  upper <- c(1e4, 20 * 0.9, 1e4, 20, 6, 1e4, 10)
  expect_equal(unname(exp(box$lower)), lower)
  expect_equal(unname(exp(box$upper)), upper)
  given <- tuning_box(kernel_parameters(kernel), process, gpsvm_prior(lengthscale = c(1, 3)))
  lower[2] <- 1
  expect_equal(unname(exp(given$lower)), lower)
})

test_that("categories agree across inducing points, formulas and codes", {
  kernel <- rbf(1, columns = "month") * categorical(columns = "site") +
    categorical(0.5, columns = "site")
  fit <- machine(kernel)
  # Its points are rows.
  points <- fit$inducing
  sites <- points[, c("sitehill", "sitelake", "sitetown")]
  expect_true(all(rowSums(sites > 0.5) == 1))
  expect_true(all(round(points[, "month"], 8) %in% season$month))
  expect_gt(nrow(points), 10)
  # The same process from codes, with all rows as points.
  coded <- transform(season, site = as.integer(site))
  both <- list(machine(kernel, inducing = "all"), machine(kernel, inducing = "all", data = coded))
  expect_equal(prob_of(both[[1]]), predict(both[[2]], coded, "prob"), tolerance = 1e-6)
  # Points given on the scale of the data agree with rows.
  given <- machine(kernel, data = coded, inducing = unique(as.matrix(
    coded[c("lon", "month", "site")]
  )))
  expect_equal(predict(given, coded, "prob"), predict(both[[2]], coded, "prob"), tolerance = 1e-3)
  only <- machine(categorical(columns = "site"))
  prob <- prob_of(only)[, "yes"]
  expect_length(unique(round(prob, 6)), 3)
  expect_bk_error(
    machine(kernel, optimize_inducing = TRUE, tune = "bound"), "kernel", "cannot be moved"
  )
})

test_that("columns that a model does not have are an error of the kernel", {
  expect_bk_error(machine(rbf(columns = "year")), "kernel", "year")
  expect_bk_error(machine(rbf(columns = 9)), "kernel", "Found: 9")
  expect_bk_error(
    quick_seqkr(
      y ~ lon, season, family = "binomial", kernel = rbf(columns = "month")
    ), "kernel", "month"
  )
  expect_bk_error(
    mkprobit(y ~ lon, season, kernel = rbf(columns = "month"), threads = 1), "kernel", "month"
  )
  expect_bk_error(seqkr(y ~ lon, season, kernel = basis(), threads = 1), "kernel", "basis")
  # Numbers count what was given, though a constant column is left out.
  x <- cbind(a = season$lon, b = 1, c = season$month)
  fit <- suppressWarnings(gpsvm(
    x, season$y, rbf(columns = 3), method = "vb", tune = FALSE, inducing = 10, seed = 1, threads = 1
  ))
  expect_named(fit$kernel$columns, "c")
  expect_bk_error(suppressWarnings(gpsvm(
    x, season$y, rbf(columns = 2), tune = FALSE, threads = 1
  )), "kernel", "Found: 2")
})

test_that("fits with these kernels survive saveRDS()", {
  fit <- machine(
    matern(1 / 2, columns = "lon") + periodic(12, columns = "month") *
      categorical(columns = "site"),
    method = "ep"
  )
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  expect_identical(prob_of(readRDS(file)), prob_of(fit))
  expect_output(print(fit), "periodic\\(period = 12")
  short <- quick_process(
    y ~ ., season, matern(5 / 2, columns = "lon") + categorical(columns = 2), inducing = 8
  )
  expect_true(all(is.finite(prob_of(short))))
})

test_that("seqkr() and mkprobit() take the new kernels", {
  kernel <- matern(5 / 2, columns = "lon") + periodic(12, columns = "month")
  fit <- quick_seqkr(y ~ lon + month, season, family = "binomial", kernel = kernel, particles = 20)
  expect_gt(mean(predict(fit, season) == season$y), 0.6)
  fit <- mkprobit(
    y ~ ., season, kernel = kernel * categorical(columns = "site") + kernel, tune = TRUE,
    control = list(normalize = TRUE), threads = 1, seed = 1
  )
  expect_gt(mean(predict(fit, season) == season$y), 0.85)
  expect_equal(unique(kernel_parameters(fit)[c("periodic1.period", "periodic2.period")]), 12)
})

test_that("inducing points are moved with a kernel that is whole", {
  fit <- gpsvm(
    y ~ lon + month, season, matern(5 / 2, 1.5),
    control = list(optimize_inducing = TRUE), method = "vb", inducing = 6, seed = 1, threads = 1
  )
  held <- machine(fit$kernel, formula = y ~ lon + month, inducing = 6)
  expect_gt(last_bound(fit), last_bound(held))
})

test_that("rows of a source know their columns and their scales", {
  path <- tempfile(fileext = ".csv")
  on.exit(unlink(path))
  d <- transform(season, site = as.integer(site))
  utils::write.csv(d, path, row.names = FALSE)
  kernel <- periodic(12, 0.8, columns = "month") +
    categorical(columns = "site") * rbf(1, columns = "lon")
  fit <- function(x, ...) {
    flat(gpsvm)(
      x, ..., kernel = kernel, method = "vb", tune = FALSE, inducing = "all", seed = 1, threads = 1
    )
  }
  columns <- c("lon", "month", "site")
  expect_equal(
    predict(fit(row_source(path, "y")), d[columns], "link"),
    predict(fit(as.matrix(d[columns]), d$y), d[columns], "link"),
    tolerance = 1e-6, ignore_attr = TRUE
  )
})

test_that("linear() alone has a constant, other kernels what they say", {
  set.seed(5)
  x <- matrix(rnorm(240), 120, 2)
  # Nine of ten rows are of one class: its boundary is far from the mean.
  y <- x[, 1] + x[, 2] / 2 > 1.4
  fit_to <- function(kernel) gpsvm(x, y, kernel = kernel, threads = 1, seed = 1)
  fit <- fit_to(linear())
  by_hand <- fit_to(polynomial(1))
  expect_equal(predict(fit, type = "link"), predict(by_hand, type = "link"), tolerance = 1e-10)
  # As columns with a constant in the linear model.
  wrong <- function(fit) mean(predict(fit, threshold = "margin") != y)
  expect_lt(wrong(fit), 0.06)
  expect_gt(wrong(fit_to(polynomial(1, offset = 0))), 0.08)
  twice <- fit_to(linear(2) + linear(1, columns = 1))
  expect_identical(vapply(kernel_leaves(twice$kernel), `[[`, "", "kind"), c("polynomial", "linear"))
})

test_that("kernels go by their names in every model", {
  x <- as.matrix(iris[seq(1, 150, 5), 1:4])
  y <- iris$Species[seq(1, 150, 5)]
  expect_equal(
    gpsvm(x, y, "rbf", threads = 1, seed = 1)$posterior,
    gpsvm(x, y, rbf(), threads = 1, seed = 1)$posterior
  )
  for (named in list("matern", matern)) {
    expect_equal(
      mkprobit(x, y, kernel = named, threads = 1)$coefficients,
      mkprobit(x, y, kernel = matern(), threads = 1)$coefficients
    )
  }
  spaces <- list(a = x[, 1:2], b = x[, 3:4])
  both <- mkprobit(spaces, y, kernel = c("rbf", "linear"), threads = 1)
  expect_identical(unname(vapply(both$kernel, `[[`, "", "kind")), c("rbf", "linear"))
  expect_equal(kernel_matrix("linear", x), kernel_matrix(linear(), x))
  expect_identical(
    seqkr(x[, 1:2], x[, 3], kernel = "rbf", particles = 10, seed = 1)$kernel,
    seqkr(x[, 1:2], x[, 3], kernel = rbf(), particles = 10, seed = 1)$kernel
  )
  d <- as.data.frame(x)
  expect_equal(
    coef(bkm(Sepal.Length ~ gp(Petal.Length, kernel = "rbf"), d, threads = 1)),
    coef(bkm(Sepal.Length ~ gp(Petal.Length), d, threads = 1))
  )
  expect_bk_error(gpsvm(x, y, "radius"), "kernel", "or its name")
  for (name in names(kernel_kinds)) {
    made <- match.fun(name)()
    expect_identical(as_kernel(name), made)
    expect_match(name, made$kind, fixed = TRUE)
    expect_bk_error(gpsvm(x, y, "radius"), "kernel", dQuote(name, FALSE))
  }
  expect_identical(rbf() + "linear", rbf() + linear())
  expect_identical("matern" * rbf(), matern() * rbf())
  expect_bk_error(rbf() + "radius", "kernel", "no operation")
})

test_that("columns of categorical matrices must agree", {
  x <- matrix(1:4, 2)
  expect_bk_error(kernel_matrix(categorical(), x, x[, 1, drop = FALSE]), "dimension", "2 and 1")
})

test_that("arguments of other packages are answered by what replaces them", {
  x <- matrix(rnorm(20), 10)
  says <- function(call, text) expect_bk_error(call, "argument", text)
  says(gpsvm(x, rep(0:1, 5), cost = 10), "rbf[(]variance = C / 2[)]")
  says(gpsvm(x, rep(0:1, 5), gamma = 1), "rbf[(]1 / sqrt[(]2 [*] gamma[)]")
  says(mkprobit(x, rep(0:1, 5), sigma = 1), "rbf[(]1 / sqrt[(]2 [*] sigma[)]")
  says(mkprobit(x, rep(0:1, 5), degree = 3), "polynomial[(]degree[)]")
  says(bsvm(x, rep(0:1, 5), gamma = 1), "kernel.s width is of gpsvm[(][)]")
  says(bsvm(x, rep(0:1, 5), C = 1), "penalty")
  d <- data.frame(n = rnorm(100), x = rnorm(100))
  expect_bk_error(gpsvm(n ~ x, d), "response", "100 values name no classes")
})

test_that("a kernel without a length-scale is said not to be tuned", {
  said <- function(kernel, ...) {
    capture.output(print(gpsvm(am ~ wt + hp, mtcars, kernel = kernel, threads = 1, seed = 1, ...)))
  }
  for (kernel in list(linear(), polynomial(2))) expect_match(said(kernel), "^Not tuned: ",
    all = FALSE)
  expect_no_match(said(rbf(1)), "Not tuned")
})

test_that("a kernel matrix of kernlab is not taken for predictors", {
  k <- structure(diag(20), class = "kernelMatrix")
  y <- rep(c("a", "b"), 10)
  expect_bk_error(gpsvm(k, y, threads = 1), "kernel", "precomputed\\(\\)")
})
