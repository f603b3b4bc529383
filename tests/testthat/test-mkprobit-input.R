# What mkprobit() refuses, and how.

data <- two_spaces(18)
spaces <- data$spaces
y <- data$y

refuses <- function(kind, text, ...) {
  error <- expect_error(
    flat(mkprobit)(coefficients = "weights", ..., threads = 1, seed = 1),
    class = paste0("bayeskernel_error_", kind)
  )
  expect_match(conditionMessage(error), text)
}

test_that("spaces must have the same rows, names and a kernel each", {
  refuses("dimension", "18", list(a = spaces$weak, b = spaces$strong[-1, ]), y)
  refuses("dimension", "17 labels", spaces, y[-1])
  refuses("argument", "names", unname(spaces), y)
  refuses("argument", "names", setNames(spaces, c("a", "a")), y)
  refuses("argument", "x", list(), y)
  refuses("kernel", "3 kernels", spaces, y, kernel = list(rbf(), rbf(), rbf()))
  refuses("kernel", "kernel", spaces, y, kernel = "radius")
  refuses("argument", "weak", list(weak = 1:18, b = spaces$strong), y)
})

test_that("kernel matrices are symmetric and positive semi-definite", {
  k <- kernel_matrix(rbf(1), spaces$weak)
  uneven <- k
  uneven[2, 1] <- 5
  refuses("kernel", "symmetric", list(k = uneven), y, kernel = precomputed())
  refuses("dimension", "square", list(k = k[, -1]), y, kernel = precomputed())
  refuses("kernel", "eigenvalue", list(k = k - diag(18)), y, kernel = precomputed())
  # A rank of two is enough.
  fit <- mkprobit(
    coefficients = "weights", list(k = tcrossprod(spaces$weak)), y, kernel = precomputed(),
    threads = 1, seed = 1
  )
  expect_s3_class(fit, "mkprobit")
  expect_bk_error(predict(fit, k[1:3, 1:4]), "dimension", "18")
})

test_that("composites that make no sense are refused", {
  refuses("kernel", "regressors", spaces, y, kernel = list(basis(), rbf()))
  refuses(
    "kernel", "weak: 2, wide: 3", list(
      weak = spaces$weak, wide = cbind(spaces$strong, r = 1:18)
    ), y,
    kernel = basis()
  )
  refuses("kernel", "negative", spaces, y, combine = "product", kernel = list(rbf(), linear()))
  refuses("kernel", "negative", spaces, y, combine = "product", kernel = list(rbf(), polynomial(3)))
  refuses(
    "kernel", "negative", list(k = tcrossprod(spaces$weak), b = spaces$strong), y,
    combine = "product", kernel = list(precomputed(), rbf())
  )
  refuses("argument", "single", spaces[1], y, kernel_weights = "learn")
  refuses(
    "argument", "force", spaces, y, combine = "product", kernel_weights = "learn", tune = TRUE
  )
  refuses("argument", "2 numbers", spaces, y, kernel_weights = c(1, 2, 3))
  refuses("argument", "at least 0", spaces, y, kernel_weights = c(1, -2))
  refuses("argument", "0 or 1", spaces, y, combine = "binary", kernel_weights = c(1, 0.5))
  refuses("argument", "profile", spaces, y,
    combine = "sum", kernel_weights = "learn", weights_method = "enumerate"
  )
  refuses("argument", "\"is\"", spaces, y,
    combine = "product", kernel_weights = "learn", weights_method = "slice"
  )
  refuses("argument", "enumerate", spaces, y,
    combine = "binary", kernel_weights = "learn", weights_method = "slice"
  )
  refuses("argument", "gibbs", spaces, y,
    kernel_weights = "learn", weights_method = "slice", tune = TRUE
  )
  refuses("argument", "weights_method = \"is\"", spaces, y,
    kernel_weights = "learn", is_target = "point"
  )
  refuses("argument", "length-scale", spaces, y, kernel = linear(), tune = TRUE)
  refuses("dimension", "inducing", spaces, y, inducing = 50)
  refuses("prior", "weights", spaces, y, prior = mkprobit_prior(weights = 0.2))
  refuses("prior", "mkprobit_prior", spaces, y, prior = gpsvm_prior())
})

test_that("responses and gaps are told", {
  refuses("response", "one class", spaces, rep("a", 18))
  refuses("response", "numeric|numbers", spaces, rnorm(18))
  holed <- spaces
  holed$strong[3, 1] <- NA
  refuses("missing", "strong", holed, y)
  infinite <- spaces
  infinite$weak[2, 1] <- Inf
  refuses("missing", "u", infinite, y)
  fit <- mkprobit(coefficients = "weights", holed, y, na.action = na.exclude, threads = 1, seed = 1)
  expect_equal(nobs(fit), 17L)
  expect_equal(which(is.na(fitted(fit)[, 1])), 3L)
  expect_equal(which(is.na(predict(fit, holed))), 3L)
})

test_that("new rows must have the spaces of the fit", {
  fit <- mkprobit(coefficients = "weights", spaces, y, threads = 1, seed = 1)
  expect_bk_error(predict(fit, spaces["weak"]), "argument", "strong")
  expect_bk_error(predict(fit, spaces$weak), "argument", "strong")
  uneven <- spaces
  uneven$weak <- uneven$weak[1:4, ]
  expect_bk_error(predict(fit, uneven), "dimension", "4")
  expect_length(predict(fit, lapply(spaces, head, 0)), 0L)
  expect_bk_error(predict(fit, spaces, type = "logprob", se.fit = TRUE), "argument", "prob")
  expect_bk_error(kernel_weights(gpsvm(
    spaces$weak, y == "a", threads = 1, seed = 1, method = "vb", tune = FALSE
  )), "argument", "mkprobit")
})

test_that("kernels of mkprobit() alone are told to others", {
  expect_bk_error(
    gpsvm(spaces$weak, y == "a", kernel = basis(),
      method = "vb", tune = FALSE), "kernel", "mkprobit"
  )
  expect_bk_error(rbf() + basis(), "kernel", "basis")
  for (kernel in list(2 * categorical(), categorical(columns = 1))) {
    expect_bk_error(
      mkprobit(coefficients = "weights", list(g = gl(2, 9)), gl(2, 9), kernel = kernel), "kernel",
      "categorical"
    )
  }
  expect_bk_error(basis(0), "kernel", "degree")
})
