# Plain R, entry by entry.
textbook_matrix <- function(k, x, z = x) {
  entry <- Vectorize(function(i, j) k(x[i, ], z[j, ]))
  outer(seq_len(nrow(x)), seq_len(nrow(z)), entry)
}

textbook_rbf <- function(lengthscale, variance = 1) {
  function(x, z) variance * exp(-sum((x - z)^2 / lengthscale^2) / 2)
}

points <- function(n, d, seed = 1) {
  set.seed(seed)
  matrix(rnorm(n * d), n, d)
}

# At 50 rows all pairs count for the median distance.
median_of <- function(x) median(dist(x))

test_that("every kernel has the values of its formula", {
  x <- points(13, 3)
  z <- points(6, 3, 2)
  expect_values <- function(kernel, k) {
    expect_equal(
      kernel_matrix(kernel, x, z, threads = 1), textbook_matrix(k, x, z), tolerance = 1e-13
    )
  }
  expect_values(rbf(1.3, 2), textbook_rbf(1.3, 2))
  expect_values(rbf(c(0.5, 1, 4)), textbook_rbf(c(0.5, 1, 4)))
  expect_values(rbf(1.3, ard = TRUE), textbook_rbf(1.3))
  expect_values(linear(0.4), function(x, z) 0.4 * sum(x * z))
  expect_values(polynomial(3, 0.5, 2), function(x, z) 2 * (sum(x * z) + 0.5)^3)
  expect_values(
    3 * (rbf(2) + linear()) * polynomial(), function(x, z) {
      3 * (textbook_rbf(2)(x, z) + sum(x * z)) * (sum(x * z) + 1)^2
    }
  )
  expect_values(
    rbf(2) + rbf(0.5) * linear() + 2 * rbf(1), function(x, z) {
      textbook_rbf(2)(x, z) + textbook_rbf(0.5)(x, z) * sum(x * z) + 2 * textbook_rbf(1)(x, z)
    }
  )
})

test_that("the paper's width is the length-scale times sqrt(2)", {
  x <- points(8, 2)
  expect_equal(
    kernel_matrix(rbf(5 / sqrt(2)), x, threads = 1), exp(-unname(as.matrix(dist(x)))^2 / 25)
  )
})

test_that("a length-scale left open is the median distance of x", {
  x <- points(50, 4)
  z <- points(9, 4, 2)
  expect_equal(
    kernel_matrix(rbf(), x, z, threads = 1), kernel_matrix(rbf(median_of(x)), x, z, threads = 1)
  )
  open <- kernel_matrix(rbf(ard = TRUE) * linear(), x, threads = 1)
  expect_equal(open, kernel_matrix(rbf(median_of(x)) * linear(), x, threads = 1))
})

test_that("a kernel matrix of x is exactly symmetric, semidefinite", {
  x <- points(60, 3)
  kernels <- list(
    rbf(0.7), rbf(c(0.3, 1, 9)), linear(), polynomial(3), polynomial(2, 0),
    rbf() * linear() + polynomial()
  )
  for (kernel in kernels) {
    k <- kernel_matrix(kernel, x, threads = 1)
    expect_identical(k, t(k))
    values <- eigen(k, symmetric = TRUE, only.values = TRUE)$values
    expect_gt(min(values), -1e-12 * max(values))
  }
  expect_identical(diag(kernel_matrix(rbf(0.7, 3), x, threads = 1)), rep(3, 60))
})

test_that("threads do not change a bit, and subsets are subsets", {
  x <- points(700, 5)
  z <- points(301, 5, 2)
  kernel <- rbf(2) + 0.5 * polynomial(3) * rbf(c(1, 2, 3, 4, 5))
  one <- kernel_matrix(kernel, x, z, threads = 1)
  expect_identical(kernel_matrix(kernel, x, z, threads = 2), one)
  expect_identical(kernel_matrix(kernel, x, z, threads = 4), one)
  some <- c(3, 200, 17)
  expect_identical(kernel_matrix(kernel, x, z[some, ], threads = 2), one[, some])
})

test_that("data frames count as matrices, row names are kept", {
  x <- points(4, 2)
  named <- x
  rownames(named) <- letters[1:4]
  plain <- kernel_matrix(rbf(1), x, threads = 1)
  expect_null(dimnames(plain))
  expect_identical(kernel_matrix(rbf(1), data.frame(x), threads = 1), plain)
  both <- kernel_matrix(rbf(1), named, threads = 1)
  expect_identical(dimnames(both), list(letters[1:4], letters[1:4]))
  expect_identical(unname(both), plain)
  half <- kernel_matrix(rbf(1), x, named[2:3, ], threads = 1)
  expect_identical(dimnames(half), list(NULL, c("b", "c")))
  frame <- data.frame(named)
  expect_identical(kernel_matrix(rbf(1), frame, threads = 1), both)
  none <- kernel_matrix(rbf(1), x, x[0, ], threads = 1)
  expect_identical(dim(none), c(4L, 0L))
})

test_that("rows far from the origin keep the digits of their distances", {
  x <- points(20, 3)
  expect_equal(
    kernel_matrix(rbf(1), x + 2^20, threads = 1),
    kernel_matrix(rbf(1), (x + 2^20) - 2^20, threads = 1), tolerance = 1e-12
  )
})

test_that("a precomputed matrix is checked and returned", {
  k <- crossprod(points(6, 4))
  dimnames(k) <- list(letters[1:4], letters[1:4])
  expect_identical(kernel_matrix(precomputed(), k), k)
  expect_bk_error(kernel_matrix(precomputed(), k[, 1:3]), "dimension", "4 rows and 3 columns")
  k[2, 3] <- k[2, 3] + 1
  expect_bk_error(kernel_matrix(precomputed(), k), "kernel", "(row 2, column 3|row 3, column 2)")
  expect_bk_error(kernel_matrix(precomputed(), diag(2), diag(2)), "argument")
  k[1, 1] <- NA
  expect_bk_error(kernel_matrix(precomputed(), k), "missing", "`a` has missing")
})

test_that("parameters out of range are errors of the kernel", {
  for (bad in list(0, -1, NA_real_, Inf, "a", numeric(), c(1, 0), matrix(1))) {
    expect_bk_error(rbf(bad), "kernel", "lengthscale")
    expect_bk_error(linear(bad), "kernel", "variance")
  }
  expect_bk_error(rbf(variance = 0), "kernel", "variance")
  expect_bk_error(rbf(ard = NA), "argument", "ard")
  for (bad in list(0, 1.5, -2, NA, c(1, 2))) expect_bk_error(polynomial(bad), "kernel", "degree")
  expect_bk_error(polynomial(offset = -0.1), "kernel", "offset")
  error <- tryCatch(rbf(-1), error = identity)
  expect_identical(error$call, quote(rbf(-1)))
  expect_identical(error$found, -1)
})

test_that("combinations that are no kernel are errors that show both sides", {
  expect_bk_error(rbf() + "a", "kernel", "kernel \\+ \"a\"")
  expect_bk_error(rbf() + 1, "kernel", "kernel \\+ 1")
  expect_bk_error(-2 * rbf(), "kernel", "-2 \\* kernel")
  expect_bk_error(rbf() * c(1, 2), "kernel")
  expect_bk_error(rbf() - rbf(), "kernel", "kernel - kernel")
  expect_bk_error(-rbf(), "kernel", "- kernel")
  expect_bk_error(rbf() + precomputed(), "kernel", "part of another")
  expect_bk_error(2 * precomputed(), "kernel", "part of another")
  error <- tryCatch(rbf(2) + "a", error = identity)
  expect_identical(error$call, quote(rbf(2) + "a"))
})

test_that("kernel_matrix() says what does not fit", {
  x <- points(5, 2)
  expect_bk_error(kernel_matrix(rbf(1:3), x), "kernel", "3 length-scales for 2 columns")
  expect_bk_error(kernel_matrix(rbf() + rbf(1:3), x), "kernel", "3 length-scales")
  expect_bk_error(kernel_matrix(mean, x), "kernel", "a kernel such as")
  expect_bk_error(kernel_matrix(rbf(), x, cbind(x, 1)), "dimension", "2 and 3")
  expect_bk_error(kernel_matrix(rbf(), x[, 0]), "dimension", "no columns")
  expect_bk_error(kernel_matrix(rbf(), 1:3), "argument", "numeric matrix")
  expect_bk_error(kernel_matrix(rbf(), iris), "argument", "columns are numbers")
  expect_bk_error(kernel_matrix(rbf(), x, threads = 0), "argument", "threads")
  y <- x
  y[3, 2] <- NA
  expect_bk_error(kernel_matrix(rbf(), y), "missing", "first in row 3")
  y[3, 2] <- Inf
  expect_bk_error(kernel_matrix(rbf(), x, y), "missing", "`z\\[, 2\\]`.*infinite")
  error <- tryCatch(kernel_matrix(rbf(1:3), x), error = identity)
  expect_identical(error$call, quote(kernel_matrix(rbf(1:3), x)))
})

test_that("format() gives the code that makes the kernel", {
  for (kernel in list(
    rbf(), rbf(2, 3), rbf(ard = TRUE), rbf(c(1, 2)), rbf(c(a = 1, b = 0.5)),
    linear(0.1), polynomial(3, 0, 2), precomputed(),
    rbf(1) + linear() * (polynomial() + rbf(2)), 2 * (rbf() + linear())
  )) {
    expect_identical(eval(parse(text = format(kernel))), kernel)
  }
  expect_match(format(rbf(1:9)), "5, 6, ... 3 more")
})

test_that("print() shows the kernel and what its terms mean", {
  kernel <- rbf(2) + linear() + rbf(c(1, 2))
  expect_output(print(kernel), "Kernel: +rbf\\(lengthscale = 2, variance = 1\\)")
  expect_output(print(kernel), "linear: +variance \\* x'z")
  shown <- capture.output(returned <- print(kernel))
  expect_identical(returned, kernel)
  expect_length(grep("^rbf:", shown), 2)
  expect_true(all(nchar(capture.output(print(kernel * kernel * kernel))) < 80))
})

test_that("parameters are named by term and go the way to the core and back", {
  expect_identical(kernel_parameters(rbf(2, 3)), c(variance = 3, lengthscale = 2))
  expect_identical(
    kernel_parameters(rbf(c(a = 1, b = 2)) * linear(5) + rbf(ard = TRUE)),
    c(
      rbf1.variance = 1, rbf1.lengthscale.a = 1, rbf1.lengthscale.b = 2,
      linear.variance = 5, rbf2.variance = 1, rbf2.lengthscale = NA
    )
  )
  expect_identical(
    kernel_parameters(rbf(1:2)), c(variance = 1, lengthscale.1 = 1, lengthscale.2 = 2)
  )
  expect_identical(unname(kernel_parameters(precomputed())), numeric())
  expect_bk_error(kernel_parameters(2), "kernel")
  open <- rbf(ard = TRUE) + polynomial() * rbf()
  kernel <- resolve_lengthscale(open, 1.5, 3, c("u", "v", "w"))
  expect_named(
    kernel_parameters(kernel), c(
      "rbf1.variance", "rbf1.lengthscale.u", "rbf1.lengthscale.v", "rbf1.lengthscale.w",
      "polynomial.variance", "rbf2.variance", "rbf2.lengthscale"
    )
  )
  values <- c(2, 3, 4, 5, 6, 7, 8)
  updated <- update_kernel(kernel, log(values))
  expect_equal(unname(kernel_parameters(updated)), values)
  x <- points(4, 3)
  expect_equal(
    kernel_matrix(updated, x, threads = 1),
    kernel_matrix(rbf(3:5, 2) + polynomial(variance = 6) * rbf(8, 7), x, threads = 1)
  )
})

test_that("a median is asked for only where a length-scale is open", {
  never <- function() stop("asked")
  kernel <- rbf(2) + linear()
  expect_identical(resolve_lengthscale(kernel, never(), 3), kernel)
  expect_error(resolve_lengthscale(kernel + rbf(), never(), 3), "asked")
})

test_that("the kernel of a fit has its parameters, the shortest scales first", {
  set.seed(1)
  x <- matrix(rnorm(160), 20, 8, dimnames = list(NULL, letters[1:8]))
  fit <- gpsvm(
    x, rep_len(0:1, 20), kernel = rbf(ard = TRUE), inducing = 5, threads = 1,
    seed = 1, method = "vb", tune = FALSE
  )
  expect_identical(kernel_parameters(fit), kernel_parameters(fit$kernel))
  expect_bk_error(
    kernel_parameters(bsvm(x, rep_len(0:1, 20), threads = 1, method = "vb")), "kernel", "bsvm"
  )
  scales <- stats::setNames(8:1, letters[1:8])
  expect_match(format(rbf(scales)), "c\\(h = 1, g = 2, .*c = 6, ... 2 longer\\)")
})

test_that("kernel values beyond the range of numbers are an error", {
  x <- cbind(c(1e150, 1e149))
  expect_bk_error(kernel_matrix(polynomial(3), x), "numeric", "Inf")
  expect_bk_error(kernel_matrix(linear(1e300) * linear(1e-300), x), "numeric", "range")
  expect_true(all(is.finite(kernel_matrix(rbf(1e140), x))))
})

test_that("a tenth kernel is one row of the table", {
  space <- asNamespace("bayeskernel")
  own <- space$kernel_kinds
  table <- function(kinds) {
    unlockBinding("kernel_kinds", space)
    assign("kernel_kinds", kinds, space)
    lockBinding("kernel_kinds", space)
  }
  on.exit(table(own))
  table(c(own, list(exponential = kernel_kind(
    own$matern$arguments[c("lengthscale", "variance", "ard")], "variance * exp(-d / lengthscale)",
    core = function(leaf) c(list(kind = "matern", nu = 0.5), leaf[names(leaf) != "kind"])
  ))))
  # A name by itself is a kernel everywhere.
  kernel <- as_kernel("exponential")
  expect_identical(format(kernel), "exponential(lengthscale = NULL, variance = 1)")
  expect_output(print(2 * kernel), "exp\\(-d / lengthscale\\)")
  set.seed(1)
  x <- matrix(rnorm(60), 30, dimnames = list(NULL, c("a", "b")))
  y <- x[, 1]^2 + x[, 2] + rnorm(30) / 3 > 1
  k <- kernel_matrix(new_leaf("exponential", lengthscale = 2, variance = 3), x, threads = 1)
  expect_equal(k, 3 * exp(-as.matrix(dist(x)) / 2), ignore_attr = TRUE)
  expect_bk_error(new_leaf("exponential", variance = -1), "kernel", "variance")
  tampered <- replace(kernel, "variance", -1)
  expect_bk_error(kernel_matrix(tampered, x), "kernel", "\"exponential\"")
  # It is learned as the same function by another name is.
  fit <- function(kernel) gpsvm(x, y, kernel, inducing = 8, tune = TRUE, threads = 1, seed = 1)
  one <- fit("exponential")
  other <- fit(matern(1 / 2))
  expect_identical(one$posterior, other$posterior)
  expect_identical(kernel_parameters(one), kernel_parameters(other))
  expect_identical(predict(one, x, type = "link"), predict(other, x, type = "link"))
})
