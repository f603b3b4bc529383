# A file may hold an object whose dimensions say more than there is.

# The fit, read from a file in which `element$...` is a matrix of 7 x 13 zeros that is said to have
# 7000 x 13000.
torn <- function(fit, at) {
  fit[[at]] <- matrix(0, 7, 13)
  text <- rawToChar(serialize(fit, NULL, ascii = TRUE))
  size <- "\n2\n7\n13\n"
  stopifnot(lengths(gregexpr(size, text, fixed = TRUE)) == 1L)
  unserialize(charToRaw(sub(size, "\n2\n7000\n13000\n", text, fixed = TRUE)))
}

test_that("a fit with a matrix that is shorter than it says is refused", {
  fits <- list(
    list(bkm(am ~ wt, mtcars, threads = 1), c("posterior", "theta_cov")),
    list(gpsvm(am ~ wt, mtcars, threads = 1, tune = FALSE), c("posterior", "z")),
    list(bsvm(am ~ wt, mtcars, threads = 1), c("posterior", "theta_cov")),
    list(suppressWarnings(bark(
      mpg ~ wt, mtcars, threads = 1, ndraws = 10, control = list(warmup = 10), chains = 1, seed = 1
    )), c("posterior", "x"))
  )
  for (case in fits) {
    bad <- torn(case[[1]], case[[2]])
    expect_identical(nrow(bad[[case[[2]]]]), 7000L)
    for (ask in list(function(x) predict(x, mtcars[1:2, ]), summary, vcov, coef, print, plot)) {
      error <- expect_bk_error(ask(bad), "argument")
      expect_identical(error$column, case[[2]][2])
    }
  }
})

test_that("what holds together is found so, at any depth", {
  expect_null(torn_element(list(a = 1, b = list(matrix(1:4, 2), c(x = 1)))))
  expect_null(torn_element(mtcars))
  fit <- mkprobit(Species ~ ., iris[c(1:10, 51:60, 101:110), ], threads = 1)
  expect_null(torn_element(fit))
})

test_that("nodes that a quadrature does not have are refused", {
  d <- iris[c(1:10, 51:60, 101:110), ]
  fit <- mkprobit(Species ~ ., d, threads = 1)
  for (nodes in list(2^31 - 1, -1, "many", NA, 1e9, c(9, 9))) {
    fit$posterior$nodes <- nodes
    error <- expect_bk_error(predict(fit, d[1:2, ]), "argument")
    expect_identical(error$column, "nodes")
  }
  expect_bk_error(mkprobit(Species ~ ., d, control = list(nodes = 1e9)), "argument")
})

test_that("a fit takes what a user adds, and gives up its data, but not a number of its own", {
  fit <- bkm(mpg ~ wt, mtcars, threads = 1)
  known <- predict(fit, mtcars[1:3, ])
  own <- fit
  own$label <- "first model"
  expect_identical(predict(own, mtcars[1:3, ]), known)
  lean <- fit
  lean$data <- NULL
  expect_identical(predict(lean, mtcars[1:3, ]), known)
  expect_identical(summary(lean)$coefficients, summary(fit)$coefficients)
  changed <- fit
  changed$transform$center[1] <- 3
  expect_bk_error(predict(changed, mtcars[1:3, ]), "argument", "transform")
  changed <- fit
  changed$posterior <- NULL
  expect_bk_error(predict(changed, mtcars[1:3, ]), "argument", "posterior")
})
