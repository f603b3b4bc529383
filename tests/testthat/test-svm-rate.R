# Learning rate and class weights of support vector machines.

rate_data <- function(n = 150, intercept = 0, seed = 1) {
  with_seed(seed, {
    d <- data.frame(x = rnorm(n), z = rnorm(n))
    d$y <- factor(ifelse(intercept + d$x + rlogis(n) > 0, "yes", "no"))
    d
  })
}

test_that("a rate is a power of every row", {
  d <- rate_data()
  for (method in c("vb", "ep")) {
    fit <- function(...) flat(bsvm)(y ~ x + z, d, method = method, penalty = 1, threads = 1, ...)
    expect_equal(coef(fit(learning_rate = 0.4)), coef(fit(weights = rep(0.4, 150))))
    expect_equal(fit(learning_rate = 0.4)$weights, rep(1, 150))
  }
  kernel <- function(...) {
    flat(gpsvm)(y ~ x + z, d, method = "vb", tune = FALSE, seed = 1, threads = 1, ...)
  }
  expect_equal(kernel(learning_rate = 0.4)$fitted$mean, kernel(weights = rep(0.4, 150))$fitted$mean)
})

test_that("the calibrated rate is the one that its fit implies", {
  d <- rate_data(300)
  fit <- bsvm(y ~ x + z, d,
    method = "ep", learning_rate = "calibrated", threads = 1, penalty = "none"
  )
  rate <- fit$learning_rate
  expect_true(fit$calibrated)
  expect_gt(rate, 0.2)
  expect_lt(rate, 0.45)
  expect_equal(fit$sandwich$rate, 1, tolerance = 0.05)
  expect_match(facts(fit)[["Learning rate"]], "calibrated")
  # The spread of the posterior is then that of the estimates.
  expect_equal(sqrt(diag(vcov(fit))), sqrt(diag(vcov(fit, type = "posterior"))), tolerance = 0.25)
  # One rate for all engines.
  for (method in c("vb", "gibbs", "svi")) {
    other <- bsvm(y ~ x + z, d,
      method = method, learning_rate = "calibrated", threads = 1,
      penalty = "none", ndraws = 400, seed = 1
    )
    expect_equal(other$learning_rate, rate, tolerance = 1e-6)
  }
})

test_that("the rate of selection and of missing values is found beside them", {
  d <- rate_data(200)
  d$w <- with_seed(3, rnorm(200))
  selected <- bsvm(y ~ ., d,
    select = TRUE, method = "vb", learning_rate = "calibrated", threads = 1
  )
  expect_gt(selected$learning_rate, 0.15)
  expect_lt(selected$learning_rate, 0.5)
  holes <- d
  holes$z[1:60] <- NA
  complete <- bsvm(y ~ x + z, holes,
    missing = "omit", learning_rate = "calibrated", threads = 1, method = "ep"
  )
  modelled <- bsvm(y ~ x + z, holes,
    missing = "model", learning_rate = "calibrated", threads = 1, method = "vb"
  )
  expect_equal(modelled$learning_rate, complete$learning_rate, tolerance = 0.05)
  holes$z[7:200] <- NA
  holes$z[1:6] <- 1:6
  expect_bk_error(
    bsvm(y ~ x + z, holes, missing = "model", learning_rate = "calibrated",
      threads = 1, method = "vb"
    ), "argument", "complete"
  )
})

test_that("a process has a calibrated rate, machines together", {
  d <- rate_data(100)
  fit <- gpsvm(y ~ x + z, d,
    learning_rate = "calibrated", seed = 1, threads = 1, method = "vb",
    tune = FALSE
  )
  expect_gt(fit$learning_rate, 0.15)
  expect_lt(fit$learning_rate, 0.6)
  three <- iris
  three$Species <- with_seed(1, sample(three$Species))
  many <- gpsvm(Species ~ Sepal.Length + Petal.Width, three,
    learning_rate = "calibrated", class_weights = "balanced", seed = 1,
    threads = 1, method = "vb", tune = FALSE
  )
  expect_gt(many$learning_rate, 0.05)
  expect_lt(many$learning_rate, 0.6)
})

test_that("balanced weights restore a rare class's slope; a warning says so", {
  d <- rate_data(600, -2.4, 2)
  given_up <- expect_warning(
    bsvm(y ~ x + z, d, method = "ep", threads = 1), class = "bayeskernel_warning_given_up"
  )
  expect_match(conditionMessage(given_up), "class_weights = \"balanced\"")
  expect_no_warning(balanced <- bsvm(y ~ x + z, d,
    method = "ep", threads = 1, class_weights = "balanced"
  ))
  expect_gt(coef(balanced)[["x"]], 0.6)
  share <- mean(d$y == "yes")
  expect_equal(balanced$class_weights, c(no = 1 / (1 - share), yes = 1 / share) / 2)
  named <- bsvm(y ~ x + z, d, method = "ep", threads = 1, class_weights = balanced$class_weights)
  expect_equal(coef(named), coef(balanced))
  expect_equal(balanced$weights, rep(1, 600))
  # Of each class against the rest.
  expect_warning(
    gpsvm(y ~ x + z, d, method = "vb", seed = 1, threads = 1, inducing = 20, tune = FALSE),
    class = "bayeskernel_warning_given_up"
  )
  even <- gpsvm(Species ~ ., iris[1:120, ],
    seed = 1, threads = 1, method = "vb", class_weights = "balanced",
    tune = FALSE
  )
  expect_equal(even$class_weights[["virginica"]], 120 / 40)
  alone <- gpsvm(Species == "virginica" ~ ., iris[1:120, ],
    seed = 1, threads = 1, method = "vb", class_weights = "balanced",
    tune = FALSE
  )
  expect_equal(unname(even$fitted$mean[, 3]), alone$fitted$mean, tolerance = 1e-3)
})

test_that("rates and weights that mean nothing are refused", {
  d <- rate_data(40)
  for (rate in list(0, -1, 10.5, NA_real_, Inf, c(1, 2), "auto", TRUE)) {
    expect_bk_error(
      bsvm(y ~ x, d, learning_rate = rate, threads = 1, method = "vb"), "argument", "learning_rate"
    )
    expect_bk_error(
      gpsvm(y ~ x, d, learning_rate = rate, threads = 1, method = "vb", tune = FALSE), "argument",
      "learning_rate"
    )
  }
  for (weights in list(
    c(maybe = 2), c(1, 2), c(yes = -1), c(yes = NA), c(yes = 1, yes = 2), "equal", list(yes = 1)
  )) {
    expect_bk_error(
      bsvm(y ~ x, d, class_weights = weights, threads = 1, method = "vb"), "argument",
      "class_weights"
    )
  }
  expect_bk_error(bkm(y ~ x, d, learning_rate = 0.5, threads = 1), "argument", "hinge")
  expect_bk_error(bkm(y ~ x, d, class_weights = "balanced", threads = 1), "argument", "hinge")
  for (f in list(bsvm, gpsvm)) {
    expect_bk_error(f(y ~ x, d, class_weights = c(1, 5), threads = 1), "argument", "as c[(]\"")
  }
  hinges <- hinge(class_weights = c(1, 5))
  expect_bk_error(bkm(y ~ x, d, family = hinges, threads = 1), "argument", "no names")
  expect_no_error(bkm(y ~ x, d, family = hinge(learning_rate = 1), threads = 1))
})

test_that("mean field that gave a class up has no standard errors of slopes", {
  d <- rate_data(600, -2.4, 2)
  fit <- may_give_up(bsvm(y ~ x + z, d, method = "vb", threads = 1))
  expect_identical(fit$given_up, "yes")
  expect_true(all(is.na(confint(fit))))
  expect_true(all(is.na(vcov(fit))))
  expect_false(anyNA(vcov(fit, type = "posterior")))
  expect_identical(facts(fit)[["Standard errors"]], "none")
  expect_match(paste(capture.output(summary(fit)), collapse = " "),
    "no standard errors with this method")
  table <- tidy(fit)
  expect_true(all(is.na(table$std.error[table$term %in% names(coef(fit))])))
  expect_false(anyNA(predict(fit, d[1:5, ], type = "prob")))
  # With the scale of the prior held there is nothing that runs away.
  held <- may_give_up(bsvm(y ~ x + z, d, method = "vb", penalty = 1, threads = 1))
  expect_false(anyNA(vcov(held)))
})
