not_a_scalar <- list(
  NULL, NA, NaN, c(1, 2), numeric(), "1", list(1), factor("1"), matrix(1),
  TRUE, quote(x), sum, Inf, -Inf
)

test_that("check_number takes finite numbers of its interval only", {
  for (x in not_a_scalar) expect_bk_error(check_number(x), "argument")
  expect_identical(check_number(2L), 2)
  expect_identical(check_number(c(a = 1.5)), 1.5)
  expect_identical(check_number(0, 0, 1), 0)
  expect_bk_error(check_number(0, 0, 1, closed = FALSE), "argument", "above 0")
  expect_bk_error(check_number(1, 0, 1, closed = c(TRUE, FALSE)), "argument")
  expect_bk_error(check_number(-1, 0), "argument", "of at least 0")
  expect_bk_error(check_number(2, 0, 1), "argument", "at most 1")
})

test_that("check_count takes whole numbers only", {
  for (x in not_a_scalar) expect_bk_error(check_count(x), "argument")
  expect_bk_error(check_count(1.5), "argument", "1.5")
  expect_bk_error(check_count(0), "argument", "at least 1")
  expect_bk_error(check_count(1e10), "argument")
  expect_bk_error(check_count(5, upper = 4), "argument", "from 1 to 4")
  expect_identical(check_count(0, 0), 0L)
  expect_identical(check_count(1e3), 1000L)
})

test_that("check_flag takes TRUE and FALSE only", {
  for (x in list(NULL, NA, c(TRUE, FALSE), 1, "TRUE", logical())) {
    expect_bk_error(check_flag(x), "argument", "TRUE or FALSE")
  }
  expect_true(check_flag(TRUE))
  expect_false(check_flag(FALSE))
})

test_that("check_choice takes one of its choices, by default the first", {
  choices <- c("vb", "gibbs")
  expect_identical(check_choice("gibbs", choices), "gibbs")
  expect_identical(check_choice(choices, choices), "vb")
  for (x in list(NULL, NA, NA_character_, "v", 1, rev(choices), factor("vb"))) {
    expect_bk_error(check_choice(x, choices), "argument", "\"vb\", \"gibbs\"")
  }
})

test_that("an error names the argument, what was found, what is accepted", {
  draws <- 0
  error <- expect_bk_error(check_count(draws), "argument", "`draws`")
  expect_identical(error$column, "draws")
  expect_identical(error$found, 0)
  expect_match(error$expected, "at least 1")
  error <- expect_bk_error(check_number("a", name = "beta_var", kind = "prior"), "prior", "\"a\"")
  expect_identical(error$column, "beta_var")
})

test_that("set.seed() decides the seed that NULL takes", {
  set.seed(4)
  first <- check_seed(NULL)
  set.seed(4)
  expect_identical(check_seed(NULL), first)
  expect_false(identical(check_seed(NULL), first))
  state <- .Random.seed
  expect_identical(check_seed(7), 7L)
  expect_identical(.Random.seed, state)
  for (x in list(-1, 0.5, NA, Inf, 1:2, "1")) expect_bk_error(check_seed(x), "argument", "`seed`")
})

test_that("threads and clusters are checked", {
  expect_identical(check_threads(2), 2L)
  for (x in list(0, -1, 1.5, NULL, NA, 1e9)) {
    expect_bk_error(check_threads(x), "argument", "`threads`")
  }
  expect_null(check_cluster(NULL))
  expect_bk_error(check_cluster(2), "cluster", "makePSOCKcluster")
})

test_that("arguments that nobody reads are an error that names them", {
  f <- function(x, ...) check_no_dots(...)
  expect_null(f(1))
  error <- expect_bk_error(f(1, chians = 2), "argument", "\"chians\"")
  expect_identical(error$found, "chians")
  expect_bk_error(f(1, 2, 3), "argument", "2 without a name")
})

test_that("any value can be described in one short line", {
  values <- c(
    not_a_scalar, list(mtcars, strrep("x", 500), 1:1000, letters, NA_character_, Sys.Date())
  )
  for (x in values) {
    text <- describe_value(x)
    expect_length(text, 1)
    expect_lt(nchar(text), 100)
  }
  expect_identical(describe_value(-1), "-1")
  expect_identical(describe_value(c("a", NA)), "a character vector of length 2, \"a\" NA")
})

test_that("an unknown argument brings the nearest, and those that there are", {
  f <- function(x, method, max_iter, threads, penalty, ...) check_no_dots(...)
  environment(f) <- asNamespace("bayeskernel")
  meant <- c(
    metod = "method", iter = "max_iter", cores = "threads", cost = "penalty",
    Method = "method", max.iter = "max_iter", n_threads = "threads"
  )
  for (name in names(meant)) {
    error <- expect_bk_error(
      do.call(f, stats::setNames(list(1), name)), "argument",
      sprintf("Instead of `%s` try `%s`", name, meant[[name]])
    )
    expect_match(conditionMessage(error), "x, method, max_iter, threads, penalty")
    expect_identical(error$found, name)
  }
  for (name in c("re_formula", "which")) {
    theirs <- stats::setNames(list(1), name)
    g <- function(type, re.form, ...) check_no_dots(...)
    environment(g) <- asNamespace("bayeskernel")
    expect_bk_error(do.call(g, theirs), "argument", sprintf("Instead of `%s` try", name))
  }
  expect_bk_error(f(family = binomial), "argument", "try bkm\\(\\) or bark")
  expect_bk_error(f(nAGQ = 0), "argument", "leaving it out")
  expect_bk_error(f(allow.new.levels = TRUE), "argument", "new groups")
  expect_bk_error(gpsvm(y ~ x, cost = 1,
    method = "vb", tune = FALSE), "argument", "`cost` try `kernel = rbf[(]")
  # Two letters of four are another word.
  g <- function(x, tune, ...) check_no_dots(...)
  environment(g) <- asNamespace("bayeskernel")
  expect_no_match(conditionMessage(expect_bk_error(g(tipe = 1), "argument", "tipe")), "Instead")
  expect_bk_error(g(tone = 1), "argument", "try `tune`")
  error <- expect_bk_error(f(zzz = stop("never")), "argument", "zzz")
  expect_no_match(conditionMessage(error), "Instead")
  d <- data.frame(y = gl(2, 5), x = 1:10)
  expect_bk_error(bsvm(y ~ x, d, metod = "vb", method = "vb"), "argument", "`method`")
  expect_bk_error(gpsvm(y ~ x, d, cores = 2, method = "vb", tune = FALSE), "argument", "`threads`")
})

test_that("arguments of other packages bring what to write here", {
  d <- data.frame(y = gl(2, 5), x = 1:10)
  typed <- list(
    # e1071, kernlab
    list(gpsvm, "gamma", "rbf\\(1 / sqrt\\(2 \\* gamma"), list(gpsvm, "C", "variance = C / 2"),
    list(gpsvm, "sigma", "kernlab's sigma"), list(bsvm, "cost", "penalty = 2 / C"),
    list(bsvm, "class.weights", "`class_weights`"), list(gpsvm, "prob.model", "every fit"),
    list(bkm, "cross", "loo"), list(bsvm, "sigma", "a kernel's width|gpsvm"),
    list(gpsvm, "type", "of predict"), list(bark, "type", "of predict"),
    # lme4, mgcv
    list(bkm, "nAGQ", "quadrature"), list(bkm, "REML", "averaged over"),
    list(bkm, "k", "s\\(x, k = 10"), list(bkm, "sp", "learned"), list(bkm, "gamma", "learned"),
    # brms
    list(bkm, "iter", "`ndraws`"), list(bkm, "cores", "`threads`"),
    list(bkm, "autocor", "cov = list"), list(bkm, "burnin", "control = bkm_control\\(warmup"),
    list(bkm, "adapt_delta", "`method`"),
    # dbarts, caret, glmnet
    list(bark, "ntree", "bark_prior\\(kernels"), list(bark, "k", "bark_prior\\(epsilon"),
    list(mkprobit, "ntree", "bark\\(\\)"), list(bark, "nskip", "warmup"),
    list(gpsvm, "trControl", "tune_grid"), list(bkm, "alpha", "ridge"),
    list(bkm, "lambda", "`penalty`"), list(bkm, "maxit", "max_iter")
  )
  for (case in typed) {
    arguments <- stats::setNames(list(y ~ x, d, 1), c("", "data", case[[2]]))
    expect_bk_error(do.call(case[[1]], arguments), "argument", sprintf(
      "Instead\\s+of\\s+`%s`\\s+try.*%s", gsub(".", "[.]", case[[2]], fixed = TRUE),
      gsub(" ", "\\\\s+", case[[3]])
    ))
  }
})

test_that("what a maker of priors, kernels or controls does not have brings what is meant", {
  typed <- list(
    list(bkm_prior, "beta_vr", "`beta_var`"), list(bsvm_prior, "prior_scale",
      "`beta_var`, a variance"),
    list(rbf, "gamma", "`lengthscale = 1 / sqrt\\(2 \\* gamma\\)`"),
    list(matern, "sigma", "kernlab's sigma"), list(polynomial, "coef0", "`offset`"),
    list(bkm_control, "wamup", "`warmup`"), list(stop_at, "r_hat", "`rhat`"),
    list(hinge, "class.weights", "`class_weights`"), list(markov, "hyperr", "`hyper`"),
    list(mnar, "slopes", "`slope`")
  )
  for (case in typed) {
    error <- expect_bk_error(
      do.call(case[[1]], stats::setNames(list(1), case[[2]])), "argument",
      sprintf("Instead\\s+of\\s+`%s`\\s+try.*%s", case[[2]], gsub(" ", "\\\\s+", case[[3]]))
    )
    expect_identical(error$found, case[[2]])
    expect_false("..." %in% error$expected)
  }
  # Within a call of a model and of a term, too, where the maker has its own arguments.
  d <- data.frame(y = gl(2, 5), x = 1:10)
  error <- expect_bk_error(gpsvm(y ~ x, d, kernel = rbf(gamma = 1)), "argument", "lengthscale")
  expect_true("ard" %in% error$expected)
  expect_bk_error(bkm(y ~ gp(x, kernel = rbf(gamma = 1)), d), "argument", "Instead of `gamma`")
  expect_bk_error(stop_at(1.01, 400, 10, 60, 5), "argument", "1 without a name")
})

test_that("every maker has an end for what it does not have", {
  makers <- grep("_(prior|control)$", getNamespaceExports("bayeskernel"), value = TRUE)
  for (maker in c(makers, names(kernel_kinds), "stop_at", "hinge", "levy", "markov")) {
    expect_bk_error(do.call(maker, list(zzz = 1)), "argument", "zzz")
  }
})

test_that("text that is no text of its encoding is shown, not fatal", {
  odd <- "caf\xe9"
  expect_match(fit_header("`%s` here", odd), "caf<e9>", fixed = TRUE)
  expect_bk_error(check_choice(odd, c("a", "b"), "type"), "argument", "xe9")
  expect_bk_error(bk_abort("argument", odd, odd), "argument", "<e9>")
})
