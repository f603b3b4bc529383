# Kernel matrices whose rows and columns have names: these say which object is which. Numbers that
# are right are those of matrices in one order.

x <- scale(as.matrix(iris[, 1:4]))
rownames(x) <- paste0("flower", seq_len(150))
train <- seq(1, 150, by = 2)
new <- setdiff(seq_len(150), train)
y <- iris$Species
k <- exp(-as.matrix(dist(x))^2 / 2)
fits <- list(
  gpsvm = function(k, y, ...) flat(gpsvm)(k, y, kernel = precomputed(), threads = 1, seed = 1, ...),
  mkprobit = function(k, y, ...) {
    flat(mkprobit)(k, y, kernel = precomputed(), threads = 1, seed = 1, ...)
  }
)
same <- function(...) expect_equal(..., tolerance = 1e-10)

test_that("columns of new kernel values are found by name", {
  for (fit_to in fits) {
    fit <- fit_to(k[train, train], y[train])
    right <- predict(fit, unname(k[new, train]), "prob")
    for (columns in list(train, rev(train), seq_len(150))) {
      found <- predict(fit, k[new, columns], "prob")
      expect_identical(rownames(found), rownames(k)[new])
      same(unname(found), unname(right))
    }
    expect_bk_error(predict(fit, k[train, new]), "dimension", "transposed[?]")
    expect_bk_error(predict(fit, unname(k[train, new[1:40]])), "dimension", "transposed[?]")
    expect_bk_error(predict(fit, k[new, new]), "dimension", "not the training rows|transposed")
    # Numbers that R gave are names where they are those of the fit.
    plain <- k
    dimnames(plain) <- list(seq_len(150), seq_len(150))
    numbered <- fit_to(plain[train, train], y[train])
    same(unname(predict(numbered, plain[new, rev(train)], "prob")), unname(right))
    nameless <- fit_to(unname(k[train, train]), y[train])
    same(unname(predict(nameless, k[new, train], "prob")), unname(right))
  }
})

test_that("rows of the fit are matched with the names of the response", {
  turn <- rev(seq_along(train))
  named <- stats::setNames(y[train], rownames(k)[train])
  for (fit_to in fits) {
    right <- predict(fit_to(k[train, train], y[train]), type = "prob")
    found <- fit_to(k[train, train], named[turn])
    same(predict(found, type = "prob"), right)
    # Of a matrix whose columns alone are in another order.
    found <- fit_to(k[train, train][, turn], named)
    same(predict(found, type = "prob"), right)
    other <- stats::setNames(y[train], paste0("other", train))
    expect_bk_error(fit_to(k[train, train], other), "dimension", "same objects")
  }
  weights <- stats::setNames(rep(1:3, 25), rownames(k)[train])
  same(
    predict(fits$gpsvm(k[train, train], y[train], weights = weights[turn]), type = "prob"),
    predict(fits$gpsvm(k[train, train], y[train], weights = weights), type = "prob")
  )
})

test_that("spaces are matched with each other, also those of new rows", {
  other <- exp(-as.matrix(dist(x[, 1:2])))
  turn <- sample(seq_along(train))
  kernels <- list(precomputed(), precomputed(), rbf(), basis())
  spaces <- function(a, b, c, at) {
    list(a = k[a, at], b = other[b, at], c = x[c, 3:4], d = k[a, at] + other[a, at])
  }
  fit_to <- function(spaces, y = iris$Species[train], combine = "sum") {
    mkprobit(spaces, y, kernel = kernels, combine = combine, threads = 1, seed = 1)
  }
  fit <- fit_to(spaces(train, train, train, train))
  turned <- spaces(train, train, train, train)
  turned$b <- turned$b[turn, turn]
  turned$c <- turned$c[turn, ]
  again <- fit_to(turned)
  same(predict(again, type = "prob"), predict(fit, type = "prob"))
  right <- predict(fit, spaces(new, new, new, train), "prob")
  found <- predict(again, spaces(new, rev(new), rev(new), train), "prob")
  same(found, right)
  # Regressors, too.
  mixed <- spaces(new, new, new, train)
  mixed$d <- mixed$d[, rev(seq_along(train))]
  same(predict(fit, mixed, "prob"), right)
  turned$b <- unname(other[train, train])
  same(predict(fit_to(turned), type = "prob"), predict(fit, type = "prob"))
  rownames(turned$c) <- paste0("stone", train)
  expect_bk_error(fit_to(turned), "dimension", "same objects")
  # Numbers of rows of features are no names.
  by_number <- list(a = iris[train, 1:2], b = iris[rev(train), 3:4])
  expect_silent(mkprobit(by_number, y[train], threads = 1, seed = 1))
})

test_that("a matrix that is not positive definite has its eigenvalue", {
  uneven <- k[train, train] - 0.2 * diag(length(train))
  least <- min(eigen(uneven, TRUE, only.values = TRUE)$values)
  for (fit_to in fits) expect_bk_error(fit_to(uneven, y[train]), "kernel", sprintf("%.3g", least))
})

test_that("variances of new rows are given, found by name, or missed", {
  two <- which(y != "virginica")
  z <- cbind(1, as.matrix(iris[two, 1:4]))
  label <- droplevels(y[two])
  label[seq(3, 100, by = 7)] <- "setosa"
  linear <- tcrossprod(z)
  rownames(linear) <- colnames(linear) <- paste0("flower", two)
  fit <- gpsvm(linear, label, kernel = precomputed(), threads = 1)
  own <- unname(predict(fit, type = "prob"))
  near <- function(newdata, at = seq_along(two)) {
    expect_silent(found <- predict(fit, newdata, "prob"))
    expect_lt(max(abs(unname(found) - own[at, ])), 1e-3)
  }
  near(linear)
  near(unname(linear))
  near(linear[5:20, ], 5:20)
  near(cbind(unname(linear), diag(linear))[5:20, ], 5:20)
  near(cbind(linear, v = diag(linear))[5:20, c(100:1, 101)], 5:20)
  expect_warning(predict(fit, unname(linear)[5:20, ], "prob"), class = "bayeskernel_warning_kernel")
  # Of a constant diagonal nothing is to be said.
  constant <- gpsvm(unname(k[two, two]), label, kernel = precomputed(), threads = 1)
  expect_silent(predict(constant, unname(k[1:5, two])))
})
