# A response says the family: no model needs one for a factor, text or logical values, and siblings
# agree.

set.seed(7)
d <- data.frame(a = stats::rnorm(40), b = stats::rnorm(40))
d$number <- d$a + stats::rnorm(40) / 2
d$two <- factor(ifelse(d$a + stats::rlogis(40) > 0, "yes", "no"))
d$three <- cut(d$number, c(-Inf, -0.4, 0.4, Inf), c("lo", "mid", "hi"))
d$order <- factor(d$three, ordered = TRUE)
d$pair <- factor(d$two, ordered = TRUE)

fitters <- list(
  bsvm = function(...) flat(bsvm)(..., threads = 1),
  bkm = function(...) flat(bkm)(..., threads = 1),
  gpsvm = function(...) flat(gpsvm)(..., tune = FALSE, threads = 1, seed = 1),
  mkprobit = function(...) flat(mkprobit)(..., threads = 1),
  bark = function(...) {
    flat(bark)(..., chains = 1, warmup = 50, ndraws = 20, thin = 1, threads = 1, seed = 1)
  },
  klr = function(...) {
    flat(klr)(..., chains = 1, warmup = 50, ndraws = 20, thin = 1, threads = 1, seed = 1, rank = 1)
  },
  seqkr = function(...) flat(seqkr)(..., particles = 20, threads = 1, seed = 1)
)
quiet <- function(code) suppressMessages(suppressWarnings(code))

test_that("two classes are two classes in every model, however they are coded", {
  d$text <- as.character(d$two)
  d$logical <- d$two == "yes"
  for (name in names(fitters)) {
    fit <- quiet(fitters[[name]](two ~ a + b, d))
    expect_identical(fit$levels, c("no", "yes"), label = name)
    p <- quiet(predict(fit, d, type = "prob"))
    expect_identical(colnames(p), c("no", "yes"), label = name)
    for (other in c("text", "logical", "pair")) {
      same <- quiet(fitters[[name]](stats::reformulate(c("a", "b"), other), d))
      expect_equal(
        unname(quiet(predict(same, d, type = "prob"))), unname(p), label = paste(name, other)
      )
    }
    x <- as.matrix(d[c("a", "b")])
    expect_equal(
      unname(quiet(predict(quiet(fitters[[name]](x, d$two)), x, type = "prob"))),
      unname(p), label = paste(name, "of a matrix")
    )
  }
})

test_that("a family that is typed is the one that the response says", {
  for (name in c("bark", "seqkr")) {
    expect_equal(
      predict(quiet(fitters[[name]](two ~ a, d)), d),
      predict(quiet(fitters[[name]](two ~ a, d, family = "binomial")), d)
    )
  }
  expect_equal(coef(fitters$bkm(two ~ a, d)), coef(fitters$bkm(two ~ a, d, family = "binomial")))
  expect_equal(
    quiet(fitters$bark(order ~ a, d))$draws,
    quiet(fitters$bark(order ~ a, d, family = "ordinal"))$draws
  )
})

test_that("more classes are those of models that have them, or name these", {
  expect_identical(quiet(fitters$bark(order ~ a, d))$family, "ordinal")
  for (name in c("gpsvm", "mkprobit")) {
    for (response in c("three", "order")) {
      fit <- quiet(fitters[[name]](stats::reformulate("a", response), d))
      expect_identical(fit$levels, levels(d$three))
    }
  }
  for (response in c("three", "order")) {
    formula <- stats::reformulate("a", response)
    for (name in c("bsvm", "bkm", "klr", "seqkr")) {
      expect_bk_error(fitters[[name]](formula, d), "response", "gpsvm()")
    }
    expect_bk_error(fitters$bkm(formula, d), "response", "mkprobit()")
  }
  expect_bk_error(fitters$bark(three ~ a, d), "response", "gpsvm()")
})

test_that("numbers are a regression where the model has it", {
  for (name in c("bkm", "bark", "seqkr")) {
    fit <- quiet(fitters[[name]](number ~ a, d))
    expect_identical(fit$family, "gaussian", label = name)
  }
  for (name in c("bsvm", "gpsvm", "mkprobit", "klr")) {
    expect_bk_error(fitters[[name]](number ~ a, d), "response")
  }
})

test_that("selection is by one method in both faces of the linear model", {
  for (fitter in list(bsvm, bkm)) {
    fit <- quiet(fitter(two ~ a + b, d, select = TRUE, threads = 1, seed = 1))
    expect_identical(fit$method, "vb")
  }
})
