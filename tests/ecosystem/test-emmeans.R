test_that("classes made in the formula have contrasts on the scale of the response", {
  skip_if_not_installed("emmeans")
  rows <- data.frame(x = sin(1:60), g = gl(2, 1, 60), y = cos(1:60) + sin(1:60))
  plain <- bkm(above ~ x + g, transform(rows, above = y > 0), threads = 1)
  pairs_of <- function(fit) {
    as.data.frame(emmeans::emmeans(fit, pairwise ~ g, type = "response")$contrasts)
  }
  ratio <- exp(-coef(plain)[["g2"]])
  expect_equal(pairs_of(plain)$odds.ratio, ratio)
  expect_equal(pairs_of(bkm(factor(y > 0) ~ x + g, rows, threads = 1))$odds.ratio, ratio)
  expect_message(pairs_of(bkm(y > 0 ~ x + g, rows, threads = 1)), NA)
})
