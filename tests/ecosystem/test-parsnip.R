# Engine "bayeskernel" of package parsnip against the functions that it calls.

for (package in c("parsnip", "workflows", "hardhat")) skip_if_not_installed(package)
old_threads <- options(bayeskernel.threads = 1L)

two <- droplevels(iris[51:150, ])
two$g <- factor(rep(1:10, 10))
formula <- Species ~ Petal.Length + Sepal.Width
specify <- function(model, mode, ...) {
  maker <- getExportedValue("parsnip", model)
  parsnip::set_mode(maker(engine = "bayeskernel", ...), mode)
}

test_that("classifiers give what predict() of their fit gives", {
  fits <- list(
    svm_rbf = function() gpsvm(formula, two),
    svm_poly = function() gpsvm(formula, two, kernel = polynomial()),
    svm_linear = function() bsvm(formula, two), logistic_reg = function() bkm(formula, two),
    gen_additive_mod = function() bkm(formula, two),
    multinom_reg = function() mkprobit(formula, two), bart = function() bark(formula, two)
  )
  rows <- two[c(3, 20, 77), ]
  for (model in names(fits)) {
    set.seed(1)
    fit <- parsnip::fit(specify(model, "classification"), formula, two)
    set.seed(1)
    direct <- fits[[model]]()
    expect_equal(predict(fit, rows)$.pred_class, unname(predict(direct, rows)), info = model)
    expect_equal(
      as.matrix(predict(fit, rows, type = "prob")),
      predict(direct, rows, type = "prob"), ignore_attr = TRUE, info = model
    )
    set.seed(2)
    limits <- predict(fit, rows, type = "conf_int", level = 0.8)
    set.seed(2)
    given <- predict(direct, rows, type = "prob", interval = "credible", level = 0.8)
    expect_equal(limits$.pred_lower_virginica, unname(given[, "lwr", "virginica"]), info = model)
    expect_equal(limits$.pred_upper_versicolor, unname(given[, "upr", "versicolor"]), info = model)
    expect_equal(predict(fit, rows, type = "raw"), predict(direct, rows, type = "link"))
  }
})

test_that("regressions give means and both intervals", {
  formula <- Sepal.Length ~ Petal.Length + Sepal.Width
  rows <- two[c(3, 20, 77), ]
  for (model in c("linear_reg", "gen_additive_mod", "bart")) {
    direct_of <- if (model == "bart") bark else bkm
    set.seed(1)
    fit <- parsnip::fit(specify(model, "regression"), formula, two)
    set.seed(1)
    direct <- direct_of(formula, two)
    expect_equal(predict(fit, rows)$.pred, unname(predict(direct, rows)), info = model)
    for (kind in c(conf_int = "credible", pred_int = "prediction")) {
      type <- c(credible = "conf_int", prediction = "pred_int")[[kind]]
      set.seed(2)
      limits <- predict(fit, rows, type = type, level = 0.9)
      set.seed(2)
      given <- predict(direct, rows, interval = kind, level = 0.9)
      expect_equal(limits$.pred_lower, unname(given[, "lwr"]), info = model)
      expect_equal(limits$.pred_upper, unname(given[, "upr"]), info = model)
    }
  }
})

test_that("three classes, smooths and factors", {
  fit <- parsnip::fit(specify("multinom_reg", "classification"), Species ~ Petal.Width, iris)
  prob <- predict(fit, iris[c(1, 60, 120), ], type = "prob")
  expect_named(prob, paste0(".pred_", levels(iris$Species)))
  expect_equal(rowSums(prob), rep(1, 3), ignore_attr = TRUE)
  formula <- Sepal.Length ~ s(Petal.Length) + g
  fit <- parsnip::fit(specify("gen_additive_mod", "regression"), formula, two)
  expect_equal(
    predict(fit, two[1:3, ])$.pred, unname(predict(bkm(formula, two), two[1:3, ]))
  )
})

test_that("main arguments mean what kernlab and glmnet say", {
  spec <- specify("svm_rbf", "classification", cost = 3, rbf_sigma = 0.2)
  kernel <- parsnip::fit(spec, formula, two)$fit$kernel
  x <- scale(two[c("Petal.Length", "Sepal.Width")])
  value <- exp(-0.2 * sum((x[1, ] - x[9, ])^2))
  expect_equal(kernel_matrix(kernel, x[c(1, 9), ])[1, 2], 3 / 2 * value, tolerance = 1e-10)

  spec <- specify("svm_poly", "classification", cost = 3, degree = 3, scale_factor = 0.4)
  kernel <- parsnip::fit(spec, formula, two)$fit$kernel
  value <- (0.4 * sum(x[1, ] * x[9, ]) + 1)^3
  expect_equal(kernel_matrix(kernel, x[c(1, 9), ])[1, 2], 3 / 2 * value, tolerance = 1e-10)

  # Posterior modes of a linear machine of cost C: of C sum hinge + |b|^2 / 2.
  fit <- parsnip::fit(specify("svm_linear", "classification", cost = 4), formula, two)
  expect_equal(coef(fit$fit), coef(bsvm(formula, two, penalty = 0.5)))
  fit <- parsnip::fit(specify("logistic_reg", "classification", penalty = 0.03), formula, two)
  expect_equal(coef(fit$fit), coef(bkm(formula, two, penalty = 3)))
})

test_that("main arguments without a meaning are refused", {
  refused <- list(
    list("svm_rbf", margin = 0.1), list("logistic_reg", mixture = 0.5),
    list("multinom_reg", penalty = 1), list("gen_additive_mod", adjust_deg_free = 2),
    list("bart", trees = 50), list("bart", prior_terminal_node_coef = 0.9)
  )
  for (case in refused) {
    spec <- do.call(specify, c(case[1], "classification", case[-1]))
    expect_error(
      parsnip::fit(spec, formula, two), class = "bayeskernel_error_argument"
    )
  }
  spec <- specify("svm_rbf", "classification", cost = 1)
  spec <- parsnip::set_engine(spec, "bayeskernel", kernel = matern())
  expect_error(parsnip::fit(spec, formula, two), "kernel once")
})

test_that("bars come through workflows, weights through hardhat", {
  bars <- Species ~ Petal.Length + (1 | g)
  flow <- workflows::workflow()
  flow <- workflows::add_variables(flow, Species, c(Petal.Length, g),
    blueprint = hardhat::default_xy_blueprint(allow_novel_levels = TRUE)
  )
  flow <- workflows::add_model(flow, specify("logistic_reg", "classification"), formula = bars)
  fit <- parsnip::fit(flow, two)
  rows <- transform(two[1:2, ], g = c("1", "new"))
  expect_equal(
    predict(fit, rows, type = "prob")$.pred_virginica,
    unname(predict(bkm(bars, two), rows, type = "prob")[, "virginica"])
  )
  two$count <- rep(1:2, 50)
  fit <- parsnip::fit(
    specify("logistic_reg", "classification"), formula, two,
    case_weights = hardhat::importance_weights(two$count)
  )
  expect_equal(coef(fit$fit), coef(bkm(formula, two, weights = count)))
})

test_that("a grid is tuned without a failed fit", {
  for (package in c("tune", "rsample", "yardstick", "dials")) skip_if_not_installed(package)
  set.seed(1)
  spec <- specify("svm_rbf", "classification", cost = tune::tune(), rbf_sigma = tune::tune())
  found <- tune::tune_grid(
    workflows::workflow(formula, spec), rsample::vfold_cv(two, 3),
    grid = expand.grid(cost = c(0.5, 8), rbf_sigma = c(0.02, 0.2)),
    metrics = yardstick::metric_set(yardstick::mn_log_loss)
  )
  expect_false("error" %in% tune::collect_notes(found)$type)
  expect_true(all(is.finite(tune::collect_metrics(found)$mean)))
})

test_that("a fit survives saveRDS", {
  fit <- parsnip::fit(specify("svm_rbf", "classification"), formula, two)
  file <- tempfile()
  saveRDS(fit, file)
  expect_equal(predict(readRDS(file), two[1:3, ]), predict(fit, two[1:3, ]))
})

options(old_threads)
