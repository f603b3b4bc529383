# Functions that stand in for those of the package must live in its namespace.
in_package <- function(f) {
  environment(f) <- asNamespace("bayeskernel")
  f
}

caught <- function(code) tryCatch(code, condition = identity)

test_that("an error has its classes, its fields and a short first line", {
  error <- caught(bk_abort(
    "missing", "Column `age` has missing values.", c("Rows 3, 7.", "Remove."),
    column = "age", row = c(3, 7), found = NA, expected = "numbers"
  ))
  expect_s3_class(
    error, c("bayeskernel_error_missing", "bayeskernel_error", "error", "condition"), exact = TRUE
  )
  expect_identical(error$column, "age")
  expect_identical(error$row, c(3, 7))
  expect_identical(error$found, NA)
  expect_identical(error$expected, "numbers")
  expect_identical(
    conditionMessage(error), "Column `age` has missing values.\n* Rows 3, 7.\n* Remove."
  )
})

test_that("a warning has its classes and does not stop", {
  expect_bk_warning(
    after <- {
      bk_warn("max_iter", "Not there yet.", iterations = 5)
      "went on"
    },
    "max_iter", "Not there yet."
  )
  expect_identical(after, "went on")
  warned <- caught(bk_warn("jitter", "Singular.", size = 1e-8))
  expect_identical(warned$size, 1e-8)
  expect_s3_class(warned, "bayeskernel_warning")
})

test_that("an unknown kind is refused", {
  expect_error(bk_abort("typo", "x"), "error_kinds")
  expect_error(bk_warn("typo", "x"), "warning_kinds")
})

test_that("long details are wrapped below 80 columns", {
  message <- conditionMessage(caught(
    bk_abort("argument", "Header.", paste(rep("word", 60), collapse = " "))
  ))
  lines <- strsplit(message, "\n")[[1]]
  expect_gt(length(lines), 3)
  expect_true(all(nchar(lines) < 80))
})

test_that("the call is that of the user's function, not of a helper", {
  outer <- in_package(function(x) helper(x))
  helper <- in_package(function(x) check_count(x))
  environment(outer) <- list2env(list(helper = helper), parent = asNamespace("bayeskernel"))
  expect_identical(caught(helper(-1))$call, quote(helper(-1)))
  expect_identical(caught(bsvm_prior(beta_var = -1))$call, quote(bsvm_prior(beta_var = -1)))
})

test_that("the call of a method is shown as the call of its generic", {
  fit <- structure(list(method = "gibbs"), class = "bayeskernel_fit")
  expect_identical(caught(elbo(fit))$call, quote(elbo(fit)))
})

test_that("a constructor inside an argument is the call that is blamed", {
  wrapper <- in_package(function(prior) check_flag(prior))
  error <- caught(wrapper(bsvm_prior(beta_var = -1)))
  expect_identical(error$call, quote(bsvm_prior(beta_var = -1)))
})

test_that("a call that holds a whole data set is cut short", {
  checked <- in_package(function(x) check_count(x))
  big <- do.call("checked", list(matrix(0, 200, 200))) |> caught()
  expect_identical(big$call, quote(checked(...)))
  expect_null(caught(do.call(checked, list(-1)))$call)
})

test_that("a failure of the core becomes the classed error of the caller", {
  failed <- structure(
    list(kind = "numeric", message = "not positive definite"), class = "bayeskernel_core_error"
  )
  fitted <- in_package(function(x) core_call(x))
  error <- expect_bk_error(fitted(failed), "numeric", "not positive definite")
  expect_identical(error$call, quote(fitted(failed)))
  expect_identical(core_call(list(1)), list(1))
})

test_that("objects print where no function calls print(), as at the prompt", {
  # R prints a value of the prompt by a call whose frame is its own parent, and so does a promise of
  # an environment that belongs to no function.
  printed_at_prompt <- function(object) {
    prompt <- new.env()
    prompt$object <- object
    delayedAssign("shown", print(object), eval.env = prompt)
    setTimeLimit(elapsed = 10)
    on.exit(setTimeLimit())
    capture.output(shown)
  }
  expect_match(printed_at_prompt(rbf(2)), "rbf(lengthscale = 2", fixed = TRUE, all = FALSE)
  broken <- structure(list(), class = c("bsvm", "bayeskernel_fit"))
  expect_error(printed_at_prompt(broken), class = "bayeskernel_error")
})

test_that("an argument that cannot be computed is not called a broken fit", {
  d <- data.frame(y = rep(0:1, 10), x = rnorm(20))
  fit <- bsvm(y ~ x, d, method = "vb")
  expect_error(bsvm(y ~ x, not_there, method = "vb"), "'not_there' not found")
  expect_error(predict(fit, not_there), "'not_there' not found")
  expect_error(predict(fit, d[not_there, ]), "'not_there' not found")
  expect_error(auc(stop("mine"), 1), "mine")
  expect_error(bsvm(y ~ x, d, prior = bsvm_prior(foo = 1), method = "vb"), "It has: beta_var")
  theirs <- structure(list(message = "m", call = NULL), class = c("theirs", "error", "condition"))
  expect_error(predict(fit, stop(theirs)), class = "theirs")
  broken <- fit
  broken$posterior <- broken$design <- NULL
  expect_bk_error(predict(broken, d), "argument", "not whole")
})
