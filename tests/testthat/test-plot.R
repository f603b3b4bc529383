# What pictures have in common over models, and those of many rows.

d <- grouped_data()
set.seed(2)
wide <- matrix(rnorm(80 * 60), 80, dimnames = list(NULL, sprintf("v%d", 1:60)))
wide[, 1:2] <- as.matrix(scale(d[c("x1", "x2")]))
linear <- bsvm(wide, d$y, threads = 1)
chosen <- bsvm(
  wide, d$y,
  select = TRUE, prior = bsvm_prior(rho = 0.1), threads = 1
)
number <- quick_bark(x2 ~ x1, d)

# Every text that a plot puts on its device.
texts <- function(code) {
  file <- tempfile(fileext = ".svg")
  on.exit(unlink(file))
  grDevices::pdf(NULL)
  grDevices::dev.control("enable")
  force(code)
  record <- grDevices::recordPlot()[[1]]
  grDevices::dev.off()
  unlist(lapply(record, function(call) {
    Filter(is.character, as.list(call[[2]])[-1])
  }))
}

test_that("pictures of many rows show the largest and count the others", {
  seen <- texts(plot(linear))
  expect_true(any(grepl("30 not shown", seen)))
  expect_true(any(grepl("^v1 $", seen)) && any(grepl("^v2 $", seen)))
  seen <- texts(plot(chosen))
  expect_true(any(grepl("more columns, at most", seen)))
  expect_true(any(grepl("^v2 $", seen)))
  expect_true(all(c("positive effect", "negative effect") %in% seen))
  # What the user names is what is shown.
  seen <- texts(plot(linear, pars = c("v50", "v3")))
  expect_true(all(c("v50 ", "v3 ") %in% seen) && !("v1 " %in% seen))
})

test_that("positive, negative and unclear effects have colours of their own", {
  shades <- shade_of(c(0, 0.5, 1))
  expect_length(unique(shades), 3L)
  expect_false("#FFFFFF" %in% shades)
})

test_that("eight classes have eight colours, and more have numbers", {
  expect_length(unique(bk_palette(8)), 8L)
  rgb <- t(grDevices::col2rgb(bk_palette(8)))
  expect_gt(min(dist(rgb)), 45)
  set.seed(3)
  x <- matrix(runif(400, -2, 2), 200, dimnames = list(NULL, c("a", "b")))
  angle <- atan2(x[, 2], x[, 1])
  y <- cut(angle, seq(-pi, pi, length.out = 10), paste0("class", 1:9))
  fit <- gpsvm(x, y, inducing = 15, seed = 1, threads = 1)
  seen <- texts(plot(fit, newdata = x, y = y))
  expect_true(all(paste(1:9, paste0("class", 1:9)) %in% seen))
})

test_that("titles are one text or an expression", {
  for (fit in list(linear, number)) {
    for (bad in list(1, NA_character_, c("a", "b"), list("a"), mean)) {
      expect_bk_error(plot(fit, main = bad), "argument", "main")
    }
    expect_true("mine" %in% texts(plot(fit, main = "mine")))
    grDevices::pdf(NULL)
    expect_error(plot(fit, main = quote(alpha^2)), NA)
    grDevices::dev.off()
  }
})

test_that("names are cut only where there is no room", {
  grDevices::pdf(NULL, width = 7)
  on.exit(grDevices::dev.off())
  graphics::plot.new()
  name <- "treatmenttreatment_of_the_arm:gendermale"
  expect_identical(margin_labels(name, 2, 0.85), name)
  expect_lt(nchar(margin_labels(strrep("wide_", 30), 2, 0.85)), 70)
  kept <- graphics::par("mar")[2]
  margin_labels("a", 2, 0.85)
  expect_lt(graphics::par("mar")[2], kept)
})

test_that("partial dependence of ordered classes has bands", {
  d <- bark_data()
  fit <- quick_bark(three ~ a + g, d, family = "ordinal")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (pars in list("a", "g", NULL)) {
    table <- plot(fit, "partial", pars = pars, threads = 1)
    expect_true(all(table$lwr < table$upr))
    expect_gt(mean(table$lwr <= table$fit & table$fit <= table$upr), 0.95)
    sums <- tapply(table$fit, list(table$predictor, table$value), sum)
    expect_equal(as.vector(sums[!is.na(sums)]), rep(1, sum(!is.na(sums))))
  }
})

test_that("an inclusion path is drawn with no names, and with one prior", {
  fit <- bsvm(
    wide[, 1:4], d$y,
    select = TRUE, prior = bsvm_prior(rho = 0.3), threads = 1
  )
  # Nor does the package have to be attached.
  fit$call[[1]] <- quote(no_such_function)
  path <- inclusion_path(fit, c(0.5, 0.1))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_error(plot(path, names = 0), NA)
  expect_error(plot(inclusion_path(fit, 0.1)), NA)
  expect_bk_error(plot(path, main = 3), "argument", "main")
  expect_bk_error(plot(path, names = -1), "argument", "names")
})

test_that("every picture applies, or says why it does not", {
  fits <- list(
    linear, chosen, number, quick_gibbs(y ~ x1 + (1 | g), d),
    bsvm(y ~ s(x1, k = 4), d, threads = 1),
    gpsvm(y ~ x1 + x2, d, inducing = 8, threads = 1)
  )
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (fit in fits) {
    known <- pictures(fit)
    for (type in names(known)) {
      if (refusal(known[[type]], list()) == "") {
        expect_error(plot(fit, type, threads = 1), NA)
      } else {
        expect_bk_error(plot(fit, type), "argument", "Accepted: ")
      }
    }
  }
})
