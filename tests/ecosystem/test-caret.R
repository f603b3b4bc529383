test_that("caret's generic hands labels to calibration()", {
  skip_if_not_installed("caret")
  suppressWarnings(loadNamespace("caret"))
  p <- seq(0.05, 0.95, length.out = 40)
  y <- rep(c(FALSE, TRUE, FALSE, TRUE), 10)
  expect_identical(caret::calibration(y, p, bins = 3), calibration(y, p, bins = 3))
  expect_error(calibration(y ~ p), "caret", class = "bayeskernel_error_argument")
})
