# Draws into a file that is thrown away; `code` must leave par() as it was.
expect_draws <- function(code) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  before <- graphics::par(no.readonly = TRUE)
  force(code)
  after <- graphics::par(no.readonly = TRUE)
  grDevices::dev.off()
  # The coordinates of the last panel may change, nothing else.
  last <- c("usr", "xaxp", "yaxp")
  kept <- setdiff(names(before), last)
  expect_identical(after[kept], before[kept])
  expect_gt(file.size(file), 2000)
  unlink(file)
}

test_that("every figure is drawn and restores the graphical parameters", {
  set.seed(1)
  e <- c(a = 1, b = -2, "b[(Intercept) a_very_long_grouping_name:12]" = 0)
  expect_draws(plot_intervals(e, e - 1, e + 1))
  e <- rnorm(300)
  expect_draws(plot_intervals(e, e - 1, e + 1, reference = NULL))
  expect_draws(plot_traces(numbered_draws()))
  expect_draws(plot_traces(numbered_draws(1, 1, "a")))
  expect_draws(plot_bound(-exp(-(1:100) / 10)))
  expect_draws(plot_bound(-5))
  p <- runif(50)
  expect_draws(plot_calibration(structure(calibration_table(p, p > 0.5), probability = p)))
})

test_that("a calibration table counts and averages by bin", {
  p <- c(0, 0.05, 0.1, 0.55, 1)
  out <- calibration_table(p, c(0, 0, 1, 1, 1))
  expect_identical(out$rows, c(3L, 1L, 1L))
  expect_equal(out$predicted, c(0.05, 0.55, 1))
  expect_equal(out$observed, c(1 / 3, 1, 1))
  wilson <- suppressWarnings(prop.test(1, 3, correct = FALSE))$conf.int
  expect_equal(c(out$lower[1], out$upper[1]), as.vector(wilson))
})

test_that("titles end where their panel does, and every level has its name", {
  grDevices::pdf(NULL, 7, 5)
  on.exit(grDevices::dev.off())
  bk_looks(6)
  expect_gte(graphics::par("cex"), 0.83)
  long <- "gp(arithmetic):denominationother private schools of the county"
  wide <- function(title) graphics::strwidth(title$main, "inches", cex = title$size)
  room <- graphics::par("fin")[1] - graphics::par("mai")[2]
  expect_gt(wide(list(main = long, size = graphics::par("cex.main"))), room)
  expect_lte(wide(fit_title(long)), room)
  expect_identical(fit_title("s(x)")$main, "s(x)")
  expect_identical(fit_title(quote(x^2))$main, quote(x^2))
  # Names that have no room side by side stand upright.
  low <- graphics::par("mar")[1]
  level_panel(c("no", "yes"), 0:1, "", "")
  expect_identical(graphics::par("mar")[1], low)
  level_panel(month.name, 0:1, "", "")
  expect_gt(graphics::par("mar")[1], low)
})
