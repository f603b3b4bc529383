# What only tunes an engine stands in `control`: as an object or as a list, with the same defaults,
# checks and fits.

set.seed(3)
d <- data.frame(a = stats::rnorm(40), b = stats::rnorm(40))
d$y <- factor(d$a + stats::rlogis(40) > 0)
d$z <- d$a + stats::rnorm(40)

fitters <- c("bkm", "bsvm", "gpsvm", "mkprobit", "bark", "klr", "seqkr")
methods_of <- function(name) {
  home <- asNamespace("bayeskernel")
  Filter(length, lapply(c("formula", "default", "row_source"), function(class) {
    get0(paste(name, class, sep = "."), home)
  }))
}

# mkprobit() has spaces and how they are combined beside what gpsvm() has.
test_that("no function that fits has more than 22 arguments", {
  for (name in fitters) {
    for (method in methods_of(name)) {
      expect_lte(length(formals(method)), 22)
      first <- names(formals(method))[1:2]
      expect_true(
        identical(first, c("formula", "data")) || identical(first, c("x", "y")) || first[1] == "x"
      )
      expect_true("control" %in% names(formals(method)), label = name)
    }
  }
})

test_that("an entry is an entry once, and no argument beside", {
  for (name in fitters) {
    entries <- names(own_formals(get(paste0(name, "_control"))))
    for (method in methods_of(name)) {
      expect_identical(intersect(entries, names(formals(method))), character())
    }
    model <- get(paste0(name, "_model"), asNamespace("bayeskernel"))
    expect_identical(setdiff(entries, names(c(house_arguments, model$arguments))), character())
  }
})

test_that("a list, an object and nothing are one control", {
  said <- function(...) {
    fit <- bsvm(y ~ a + b, d, method = "vb", threads = 1, ...)
    list(coef(fit), vcov(fit), fit$trace$elbo)
  }
  plain <- said()
  expect_identical(said(control = bsvm_control()), plain)
  expect_identical(said(control = list()), plain)
  expect_identical(said(control = NULL %||% list(tol = NULL)), plain)
  expect_identical(said(control = list(tol = 1e-6, max_iter = 2000)), plain)
  short <- suppressWarnings(said(control = list(max_iter = 2)))
  expect_lt(length(short[[3]]), length(plain[[3]]))
  expect_identical(suppressWarnings(said(control = bsvm_control(max_iter = 2))), short)
})

test_that("what is no entry is an error that lists them", {
  run <- function(...) bkm(y ~ a, d, threads = 1, ...)
  error <- expect_bk_error(run(control = list(toll = 1)), "argument", "`tol`")
  expect_match(conditionMessage(error), "batch_size", fixed = TRUE)
  for (wrong in list(1, "tol", NULL, bsvm_control(), list(1e-3), c(tol = 1))) {
    expect_bk_error(run(control = wrong), "argument", "control")
  }
  expect_bk_error(run(control = list(tol = 1, tol = 2)), "argument", "twice")
  for (code in expression(
    bkm_control(tol = -1), run(control = list(tol = -1)), gpsvm_control(seeding = "grid"),
    mkprobit_control(nodes = 2), bark_control(thin = 0), klr_control(warmup = NA),
    seqkr_control(resampling = "none"), bsvm_control(cluster = 1)
  )) {
    expect_error(eval(code), class = "bayeskernel_error")
  }
})

test_that("the error for a name that moved says where to", {
  says <- function(code, text) {
    error <- expect_bk_error(code, "argument")
    # Lines are wrapped.
    said <- gsub("\\s+", " ", conditionMessage(error))
    expect_match(said, text, fixed = TRUE)
  }
  says(bkm(y ~ a, d, tol = 1e-8), "control = bkm_control(tol = )")
  says(bsvm(y ~ a, d, keep_ranef = FALSE), "bsvm_control(keep_ranef = )")
  says(gpsvm(y ~ a, d, optimise_inducing = TRUE), "optimize_inducing = )")
  says(mkprobit(y ~ a, d, normalise = TRUE), "normalize = )")
  says(bark(z ~ a, d, warmup = 10), "bark_control(warmup = )")
  says(klr(y ~ a, d, start = 1), "klr_control(resume = )")
  says(seqkr(z ~ a, d, ess = 1), "seqkr_control(ess = )")
  says(bkm(y ~ a, d, class_weights = "balanced"), "hinge(class_weights = )")
  says(bkm(y ~ a, d, tolerance = 1e-8), "It has")
  says(bkm(y ~ a, d, maxit = 10), "bkm_control(max_iter = )")
})

test_that("update() changes single entries", {
  fit <- bsvm(y ~ a, d, method = "vb", threads = 1, control = list(tol = 1e-4))
  expect_identical(
    as.list(update(fit, control = list(max_iter = 300), evaluate = FALSE)$control),
    list(quote(list), tol = 1e-4, max_iter = 300)
  )
  expect_identical(
    coef(update(fit, control = bsvm_control(tol = 1e-9))),
    coef(bsvm(y ~ a, d, method = "vb", threads = 1, control = list(tol = 1e-9)))
  )
})

test_that("hinge() is bsvm() as a family", {
  own <- bsvm(
    y ~ a + b, d, learning_rate = 0.5, class_weights = "balanced", threads = 1, prior = bsvm_prior()
  )
  face <- bkm(
    y ~ a + b, d, threads = 1, penalty = own$penalty,
    family = hinge(learning_rate = 0.5, class_weights = "balanced")
  )
  expect_equal(face$learning_rate, 0.5)
  expect_equal(face$class_weights, own$class_weights)
  expect_identical(face$family, "hinge")
  expect_equal(
    coef(bkm(y ~ a, d, family = hinge(), threads = 1)),
    coef(bkm(y ~ a, d, family = "hinge", threads = 1))
  )
  expect_bk_error(hinge(learning_rate = 0), "argument", "learning_rate")
})

test_that("a control says what is not the default", {
  expect_output(print(bkm_control()), "bkm_control: defaults")
  expect_output(print(bkm_control(tol = 1e-5)), "bkm_control: tol = 1e-05")
})
