# A level of the response that no row has stays among the classes.

set.seed(1)
d <- data.frame(x = rnorm(80), z = rnorm(80))
d$y <- factor(ifelse(d$x + rnorm(80) > 0, "hi", "lo"), c("lo", "none", "hi"))
new <- d[1:3, ]
two <- transform(d, y = droplevels(y))

short <- list(
  bark = function(...) {
    flat(bark)(..., family = "binomial", chains = 1, warmup = 50, ndraws = 20, thin = 1)
  },
  klr = function(...) flat(klr)(..., chains = 1, warmup = 50, ndraws = 20),
  seqkr = function(...) flat(seqkr)(..., family = "binomial"),
  gpsvm = function(...) flat(gpsvm)(..., tune = FALSE), bsvm = bsvm, bkm = bkm,
  mkprobit = function(...) flat(mkprobit)(..., tune = FALSE)
)

for (name in names(short)) {
  test_that(paste("two classes of three levels:", name), {
    fit_to <- function(d) suppressWarnings(short[[name]](y ~ x + z, d, threads = 1, seed = 1))
    fit <- fit_to(d)
    plain <- fit_to(two)
    # The fit is that of two classes.
    expect_identical(fit$levels, c("lo", "hi"))
    p <- predict(fit, new, type = "prob", threads = 1)
    expect_identical(colnames(p), levels(d$y))
    expect_identical(p[, c("lo", "hi")], predict(plain, new, type = "prob", threads = 1))
    expect_true(all(p[, "none"] == 0))
    own <- predict(fit, type = "prob", threads = 1)
    expect_identical(colnames(own), levels(d$y))
    for (answer in list(predict(fit, new), predict(fit))) {
      expect_identical(levels(answer), levels(d$y))
    }
    expect_identical(as.character(predict(fit, new)), as.character(predict(plain, new)))
    expect_identical(predict(fit, new, type = "response"), predict(plain, new, type = "response"))
    limits <- predict(fit, new, type = "prob", interval = "credible", seed = 1)
    expect_identical(dim(limits), c(3L, 3L, 3L))
    expect_true(all(limits[, , "none"] == 0))
    # Measures are those of two classes.
    expect_equal(brier_score(d$y, own), brier_score(two$y, own[, c(1, 3)]))
    expect_equal(log_loss(d$y, own), log_loss(two$y, own[, c(1, 3)]))
    expect_equal(auc(d$y, own), auc(two$y, own[, "hi"]))
    expect_equal(calibration(d$y, own), calibration(two$y, own[, "hi"]))
    same <- c("error", "brier", "log_loss", "auc")
    expect_equal(
      summary(fit, newdata = d)$measures[same], summary(plain, newdata = two)$measures[same]
    )
    expect_length(summary(fit, newdata = d)$measures[same], 4L)
    # A new row of the level that the fit has not seen.
    seen <- summary(fit, newdata = new, y = c("lo", "none", "hi"))$measures
    expect_gt(seen$log_loss, -log(1e-15) / 3)
  })
}

test_that("more classes, and what has one answer for each", {
  flowers <- transform(iris, Species = factor(Species, c("other", levels(Species), "none")))
  expect_no_warning(many <- mkprobit(Species ~ ., flowers, tune = FALSE, threads = 1, seed = 1))
  expect_true(all(predict(many, iris[1:3, ], type = "prob")[, c("other", "none")] == 0))
  fit <- gpsvm(Species ~ ., flowers, tune = FALSE, threads = 1, seed = 1)
  plain <- gpsvm(Species ~ ., iris, tune = FALSE, threads = 1, seed = 1)
  # The error names what to do instead, which of two classes is that threshold.
  expect_error(
    predict(fit, iris, threshold = "prevalence"), "divide each column",
    class = "bayeskernel_error_argument"
  )
  few <- suppressWarnings(gpsvm(y ~ x + z, two, tune = FALSE, threads = 1, seed = 1))
  ratio <- predict(few, type = "prob") / rep(prop.table(table(two$y)), each = 80)
  expect_identical(
    as.character(predict(few, threshold = "prevalence")), levels(two$y)[max.col(ratio)]
  )
  p <- predict(fit, iris[1:3, ], type = "prob")
  expect_identical(colnames(p), levels(flowers$Species))
  expect_identical(p[, levels(iris$Species)], predict(plain, iris[1:3, ], type = "prob"))
  expect_true(all(p[, c("other", "none")] == 0))
  expect_identical(levels(predict(fit)), levels(flowers$Species))
  expect_identical(dim(table(predict(fit), flowers$Species)), c(5L, 5L))
  own <- predict(fit, type = "prob")
  expect_equal(
    brier_score(flowers$Species, own), brier_score(iris$Species, own[, levels(iris$Species)])
  )
  expect_equal(auc(flowers$Species, own), auc(iris$Species, own[, levels(iris$Species)]))
})

test_that("ordered classes keep the level, with a message", {
  latent <- d$x + rnorm(80) / 2
  run <- function(levels) {
    suppressWarnings(bark(
      y ~ x, transform(d, y = factor(
        as.character(cut(latent, c(-Inf, -0.5, 0.5, Inf), c("a", "b", "d"))), levels, ordered = TRUE
      )), family = "ordinal", chains = 2,
      control = list(warmup = 2000, thin = 4), ndraws = 500,
      threads = 1, seed = 1
    ))
  }
  expect_message(fit <- run(c("a", "b", "c", "d")), class = "bayeskernel_message_levels")
  expect_identical(fit$levels, c("a", "b", "c", "d"))
  expect_s3_class(predict(fit, new), "ordered")
  expect_identical(levels(predict(fit, new)), c("a", "b", "c", "d"))
  p <- predict(fit, d, type = "prob")
  expect_equal(unname(rowSums(p)), rep(1, 80))
  expect_true(all(p[, "c"] > 0))
  expect_lt(mean(p[, "c"]), 0.05)
  # Its gap is below that of the prior, an exponential law of mean 1, as no row is there.
  expect_no_message(full <- run(c("a", "b", "d")), class = "bayeskernel_message_levels")
  gap <- fit$draws[, , "cut[3]"] - fit$draws[, , "cut[2]"]
  expect_true(all(gap > 0) && mean(gap) < 1)
  q <- predict(full, d, type = "prob")
  expect_lt(max(abs(p[, "a"] - q[, "a"])), 0.1)
})

test_that("rows from a source declare levels, too", {
  blocks <- list(
    data.frame(x = d$x[1:40], y = d$y[1:40]), data.frame(x = d$x[41:80], y = d$y[41:80])
  )
  coder <- label_coder("y", FALSE)
  for (block in blocks) coder$code(block$y, 0)
  found <- coder$finish(80)
  expect_identical(found$levels, c("lo", "hi"))
  expect_identical(found$declared, levels(d$y))
})
