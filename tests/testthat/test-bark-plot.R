# Pictures of bark(): every type that applies is drawn and says what it drew.

d <- bark_data()
fits <- list(
  number = quick_bark(y ~ a + b + g, d),
  chosen = quick_bark(y ~ a + b + g, d, select = TRUE),
  two = quick_bark(two ~ a + g, d, family = "binomial"),
  three = quick_bark(three ~ a + g, d, family = "ordinal"),
  blocks = quick_bark(bark_matrix(d), d$y, select = TRUE, structure = markov(0.4, 0.3))
)

test_that("the default is the most telling one", {
  expect_equal(telling_picture(pictures(fits$number)), "partial")
  expect_equal(telling_picture(pictures(fits$chosen)), "inclusion")
  expect_equal(telling_picture(pictures(quick_bark(y ~ a, d))), "partial")
})

test_that("types that do not apply name those that do", {
  refuse <- function(code, what) expect_bark_refusal(code, "argument", what)
  for (fit in fits[c("chosen", "blocks")]) expect_gt(drawn(plot(fit, "inclusion"))$calls, 5)
  refuse(plot(fits$number, "inclusion"), "no selection")
  refuse(plot(fits$number, "calibration"), "fit")
  refuse(plot(fits$number, "boundary"), "partial")
  refuse(plot(fits$number, "trace", pars = "beta"), "sigma")
  refuse(plot(fits$number, "partial", pars = "gu"), "\\bg\\b")
  refuse(plot(fits$chosen, pars = "zz"), "gu")
  refuse(plot(fits$two, "calibration", bins = 1), "bins")
  refuse(plot(fits$number, "fit", newdata = d["a"]), "`b`|b, g|missing")
  refuse(plot(fits$number, "fit", newdata = d[c("a", "b", "g")]), "response")
})

test_that("partial dependence averages predictions", {
  table <- drawn(plot(fits$number, "partial", newdata = d[1:20, ], pars = "g", threads = 1))$value
  expect_equal(as.character(table$value), c("u", "v", "w"))
  for (k in 1:3) {
    rows <- transform(d[1:20, ], g = levels(d$g)[k])
    direct <- mean(predict(fits$number, rows))
    expect_equal(table$fit[k], direct)
    expect_true(table$lwr[k] < direct && direct < table$upr[k])
  }
  # Probabilities of three classes are averages and nothing else.
  table <- drawn(plot(fits$three, "partial", newdata = d[1:20, ], pars = "g", threads = 1))$value
  rows <- transform(d[1:20, ], g = "v")
  expect_equal(table$fit[table$value == "v"], unname(colMeans(predict(fits$three, rows, "prob"))))
  curve <- drawn(plot(fits$two, "partial", pars = "a", threads = 1))$value
  expect_equal(range(curve$value), range(d$a), tolerance = 0.05)
  expect_true(all(curve$lwr <= curve$fit & curve$fit <= curve$upr))
  expect_true(all(curve$lwr >= 0 & curve$upr <= 1))
})

test_that("\"fit\" shows observed values beside fitted ones", {
  table <- drawn(plot(fits$number, "fit"))$value
  expect_equal(table$observed, d$y)
  expect_equal(table$fit, fitted(fits$number))
  expect_true(all(table$lwr < table$fit & table$fit < table$upr))
  new <- drawn(plot(fits$number, "fit", newdata = d[1:9, c("a", "b", "g")], y = d$y[1:9]))$value
  expect_equal(new$observed, d$y[1:9])
  expect_equal(drawn(plot(fits$number, "fit", newdata = d[1:9, ]))$value, new)
})

test_that("calibration takes labels from the new rows or from y", {
  by_frame <- drawn(plot(fits$two, "calibration", newdata = d, bins = 4))$value
  expect_equal(
    by_frame, drawn(plot(fits$two, "calibration", newdata = d, y = d$two, bins = 4))$value
  )
  expect_equal(by_frame, calibration(d$two, predict(fits$two, d, "prob"), 4))
  expect_equal(
    drawn(plot(fits$three, "fit", bins = 4))$value, calibration(d$three, fitted(fits$three), 4)
  )
  expect_bark_refusal(
    plot(fits$two, "calibration", newdata = d, y = rep("yes", 60)), "response", "yes"
  )
})

test_that("names that are numbers become the axis of an ordered inclusion", {
  along <- fits$blocks
  along$columns <- c("1000.5", "1002")
  along <- stamped(along)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  plot(along)
  expect_gt(graphics::par("usr")[1], 1000)
  plot(fits$blocks)
  expect_lt(graphics::par("usr")[2], 3)
})
