# Matern, periodic and categorical kernels, and kernels on some columns.

plain <- function(k, x, z = x) {
  entry <- Vectorize(function(i, j) k(x[i, ], z[j, ]))
  unname(outer(seq_len(nrow(x)), seq_len(nrow(z)), entry))
}

named_points <- function(n, names, seed = 1) {
  set.seed(seed)
  matrix(rnorm(n * length(names)), n, dimnames = list(NULL, names))
}

distance <- function(x, z, l = 1) sqrt(sum((x - z)^2 / l^2))

plain_matern <- function(nu, l, v = 1) {
  function(x, z) {
    u <- sqrt(2 * nu) * distance(x, z, l)
    v * exp(-u) * switch(as.character(nu), "0.5" = 1, "1.5" = 1 + u, "2.5" = 1 + u + u^2 / 3)
  }
}

plain_periodic <- function(p, l, v = 1) {
  function(x, z) v * exp(-2 * sum(sin(pi * (x - z) / p)^2) / l^2)
}

test_that("Matern, periodic and categorical kernels have their formulas", {
  x <- named_points(11, c("a", "b", "c"))
  z <- named_points(5, c("a", "b", "c"), 2)
  expect_values <- function(kernel, k, x. = x, z. = z) {
    expect_equal(kernel_matrix(kernel, x., z., threads = 1), plain(k, x., z.), tolerance = 1e-13)
  }
  for (nu in c(1, 3, 5) / 2) {
    expect_values(matern(nu, 1.4, 2), plain_matern(nu, 1.4, 2))
    expect_values(matern(nu, 1:3), plain_matern(nu, 1:3))
    # The Bessel function that it is of.
    r <- sqrt(2 * nu) * as.matrix(dist(x)) / 0.8
    bessel <- 2^(1 - nu) / gamma(nu) * r^nu * besselK(r, nu)
    found <- kernel_matrix(matern(nu, 0.8), x, threads = 1)
    expect_equal(found[row(r) != col(r)], bessel[row(r) != col(r)])
  }
  expect_identical(matern(lengthscale = 2), matern(3 / 2, 2))
  expect_values(periodic(1.5, 0.7, 3), plain_periodic(1.5, 0.7, 3))
  expect_equal(
    kernel_matrix(periodic(1.5), x, z + 3, threads = 1),
    kernel_matrix(periodic(1.5, 1), x, z, threads = 1)
  )
  codes <- matrix(c(1, 2, 1, 2, 1, 1, 2, 2, 1, 1), 5)
  same <- function(x, z) 0.5 * all(x == z)
  expect_values(categorical(0.5), same, codes, codes)
  expect_values(
    0.25 * linear() * (2 * categorical()) + matern(5 / 2, 2),
    function(x, z) sum(x * z) * same(x, z) + plain_matern(2.5, 2)(x, z), codes, codes
  )
})

test_that("a kernel looks at the columns that it names", {
  x <- named_points(9, c("lon", "lat", "month"))
  z <- named_points(4, c("lon", "lat", "month"), 2)
  for (at in list(c("lon", "lat"), 1:2, c("lat", "month"), 3)) {
    for (leaf in list(rbf, linear, polynomial, categorical)) {
      expect_equal(
        kernel_matrix(leaf(columns = at), x, z, threads = 1),
        kernel_matrix(leaf(), x[, at, drop = FALSE], z[, at, drop = FALSE], threads = 1)
      )
    }
  }
  expect_equal(
    kernel_matrix(
      rbf(2, columns = c("lon", "lat")) * periodic(12, columns = "month") +
        matern(1 / 2, c(1, 3), columns = c(3, 1)),
      x, z, threads = 1
    ),
    plain(function(x, z) {
      exp(-sum((x - z)[1:2]^2) / 8) * exp(-2 * sin(pi * (x - z)[3] / 12)^2) +
        exp(-distance(x[c(3, 1)], z[c(3, 1)], c(1, 3)))
    }, x, z)
  )
  frame <- data.frame(g = c("a", "b", "a"), h = 1:3)
  expect_equal(
    unname(kernel_matrix(categorical(2, columns = "g"), frame)),
    2 * rbind(c(1, 0, 1), c(0, 1, 0), c(1, 0, 1))
  )
})

test_that("matrices of the new kernels are symmetric and semidefinite", {
  x <- cbind(named_points(60, c("a", "b", "c")), g = rep_len(1:4, 60))
  kernels <- list(
    matern(1 / 2), matern(3 / 2, c(0.2, 1, 3, 9)), matern(5 / 2, 0.4),
    periodic(0.9), periodic(2.5, 0.3, columns = c("a", "b")),
    categorical(columns = "g"), categorical(columns = "g") * matern(columns = 1)
  )
  for (kernel in kernels) {
    k <- kernel_matrix(kernel, x, threads = 1)
    expect_equal(k, t(k), tolerance = 1e-15)
    expect_true(all(diag(k) == 1))
    values <- eigen(k, symmetric = TRUE, only.values = TRUE)$values
    expect_gt(min(values), -1e-12 * max(values))
    expect_identical(kernel_matrix(kernel, x, threads = 2), k)
  }
})

test_that("what these kernels cannot be is an error of the kernel", {
  for (bad in list(0, 1, 2.25, NA, "3/2", c(0.5, 1.5), Inf)) {
    expect_bk_error(matern(bad), "kernel", "nu")
  }
  for (bad in list(0, -1, NA_real_, Inf, "a", numeric(), c(1, 2))) {
    expect_bk_error(periodic(bad), "kernel", "period")
    expect_bk_error(periodic(1, bad), "kernel", "lengthscale")
    expect_bk_error(categorical(bad), "kernel", "variance")
  }
  expect_bk_error(matern(lengthscale = -1), "kernel", "lengthscale")
  for (bad in list(0, 1.5, "a"[0], c("a", "a"), NA, TRUE, list(1), matrix(1), mean)) {
    expect_bk_error(rbf(columns = bad), "kernel", "columns")
    expect_bk_error(categorical(columns = bad), "kernel", "columns")
  }
  x <- named_points(5, c("a", "b"))
  expect_bk_error(kernel_matrix(rbf(columns = c("a", "zz")), x), "kernel", "zz.*\n.*a, b|a, b")
  expect_bk_error(kernel_matrix(rbf(columns = 3), x), "kernel", "Found: 3")
  expect_bk_error(kernel_matrix(linear(columns = "a"), unname(x)), "kernel", "numbers from 1")
  expect_bk_error(
    kernel_matrix(matern(1 / 2, 1:2, columns = "a"), x), "kernel", "2 length-scales for 1 column"
  )
  expect_bk_error(kernel_matrix(categorical(columns = 3), x), "kernel", "Found: 3")
  broken <- periodic()
  broken$period <- -1
  expect_bk_error(kernel_matrix(broken, x), "kernel")
  error <- tryCatch(matern(2), error = identity)
  expect_identical(error$call, quote(matern(2)))
  expect_bk_error(basis() + categorical(), "kernel", "basis")
})

test_that("format() gives the code, print() the formula", {
  for (kernel in list(
    matern(), matern(1 / 2, 2, 3), matern(5 / 2, ard = TRUE, columns = "a"), periodic(12),
    periodic(7, 0.5, 2, columns = c("a b", "c")), categorical(), categorical(2, columns = 3),
    rbf(columns = 1:3), linear(columns = "x") * (polynomial(columns = c("x", "y")) + categorical())
  )) {
    expect_identical(eval(parse(text = format(kernel))), kernel)
  }
  expect_output(print(matern(5 / 2)), "u\\^2 = 5")
  expect_output(print(periodic() + categorical()), "sin\\(pi .*\n.*all columns")
})

test_that("parameters go the way to the core and back, whatever their names", {
  kernel <- periodic(12, columns = "period") +
    matern(5 / 2, ard = TRUE, columns = c("variance", "month")) * categorical(3, columns = "month")
  expect_equal(
    kernel_parameters(kernel), c(
      periodic.variance = 1, periodic.lengthscale = NA, periodic.period = 12,
      matern.variance = 1, matern.lengthscale = NA, categorical.variance = 3
    )
  )
  names <- c("period", "month", "variance")
  placed <- resolve_lengthscale(
    place_columns(kernel, 3, names), function(columns) length(columns), 3, names
  )
  expect_equal(
    kernel_parameters(placed), c(
      periodic.variance = 1, periodic.lengthscale = 1, periodic.period = 12, matern.variance = 1,
      matern.lengthscale.variance = 2, matern.lengthscale.month = 2, categorical.variance = 3
    )
  )
  expect_identical(parameter_roles(placed), c(
    "variance", "lengthscale", "period", "variance", "lengthscale", "lengthscale", "variance"
  ))
  values <- c(2, 0.5, 3, 1.5, 0.7, 4, 0.3)
  updated <- update_kernel(placed, log(values))
  expect_equal(unname(kernel_parameters(updated)), values)
  x <- named_points(6, names)
  x[, "month"] <- rep(1:2, 3)
  expect_equal(
    kernel_matrix(updated, x, threads = 1),
    kernel_matrix(
      periodic(3, 0.5, 2, columns = 1) +
        matern(5 / 2, c(0.7, 4), 1.5, columns = 3:2) *
          categorical(0.3, columns = 2), unname(x), threads = 1
    )
  )
  # By names where there are names: the columns may have moved.
  expect_equal(
    kernel_matrix(updated, x, threads = 1), kernel_matrix(updated, x[, 3:1], threads = 1)
  )
  expect_identical(place_columns(placed, 3, names), placed)
})

test_that("an open length-scale is the median distance in its columns", {
  x <- named_points(50, c("a", "b", "c"))
  at <- c("c", "a")
  expect_equal(
    kernel_matrix(matern(columns = at), x, threads = 1),
    kernel_matrix(matern(lengthscale = median(dist(x[, at])), columns = at), x, threads = 1)
  )
})
