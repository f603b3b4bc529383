# What separates the classes, and the default prior that then limits effects.

set.seed(3)
n <- 200L
d <- data.frame(
  x = rnorm(n), w = rnorm(n), one = rep(1:0, c(1L, n - 1L)),
  a = factor(rep(c("a", "b", "c", "a"), 50)), g = factor(rep(1:20, 10)),
  h = factor(rep(1:20, each = 10)), id = factor(seq_len(n))
)
d$o <- factor(rbinom(n, 1, 0.5))
d$level <- factor(ifelse(d$a == "c", 1, rbinom(n, 1, 0.5)))
d$whole <- factor(rep(0:1, 100)[as.integer(d$h)])
d$z <- d$x > 0
d$both <- factor(d$x + 2 * d$w > 0.1)

separation_of <- function(code) {
  found <- list()
  withCallingHandlers(code, warning = function(w) {
    kind <- class(w)[1]
    if (kind %in% paste0("bayeskernel_warning_", c("separation", "identification"))) {
      found[[length(found) + 1L]] <<- w
    }
    invokeRestart("muffleWarning")
  })
  found
}

fits <- function(formula, data, method, family) {
  settings <- list(formula, data, method = method, threads = 1, seed = 1, progress = FALSE)
  if (method == "gibbs") settings <- c(settings, chains = 2, warmup = 100, ndraws = 100)
  if (family == "bsvm") {
    do.call(flat(bsvm), settings)
  } else {
    do.call(flat(bkm), c(settings, family = family))
  }
}

test_that("columns, levels and groups that separate are named, once", {
  for (family in c("bsvm", "hinge", "logit", "probit")) {
    for (method in c("ep", "vb", "gibbs", "svi")) {
      label <- paste(family, method)
      said <- function(formula) {
        found <- separation_of(fits(formula, d, method, family))
        expect_length(found, 1L)
        expect_s3_class(found[[1]], "bayeskernel_warning_separation")
        found[[1]]
      }
      expect_identical(said(level ~ x + a)$levels, "a = c", label = label)
      expect_identical(said(o ~ x + one + (1 | g))$columns, "one", label = label)
      expect_identical(said(whole ~ x + (1 | h))$groups, "h", label = label)
      expect_identical(said(z ~ x)$columns, "x", label = label)
      expect_length(separation_of(fits(o ~ x + w + a + (1 | g), d, method, family)), 0L)
    }
  }
})

test_that("a reference level, and columns together, are found", {
  turned <- transform(d, a = relevel(a, "c"))
  found <- separation_of(fits(level ~ a, turned, "ep", "logit"))[[1]]
  expect_identical(found$levels, "a = c")
  found <- separation_of(fits(both ~ x + w, d, "ep", "logit"))[[1]]
  expect_setequal(found$columns, c("x", "w"))
})

# By brute force: directions at right angles to two rows span all faces of the cone that could be.
separable <- function(a) {
  pairs <- utils::combn(nrow(a), 2L)
  normal <- rbind(
    a[pairs[1, ], 2] * a[pairs[2, ], 3] - a[pairs[1, ], 3] * a[pairs[2, ], 2],
    a[pairs[1, ], 3] * a[pairs[2, ], 1] - a[pairs[1, ], 1] * a[pairs[2, ], 3],
    a[pairs[1, ], 1] * a[pairs[2, ], 2] - a[pairs[1, ], 2] * a[pairs[2, ], 1]
  )
  side <- a %*% cbind(normal, -normal)
  any(colSums(side < -1e-9) == 0 & colSums(side > 1e-9) > 0)
}

test_that("the decision is that of all faces of the cone", {
  set.seed(8)
  answers <- replicate(150, {
    x <- matrix(round(rnorm(24), 1), 12)
    y <- ifelse(x[, 1] + x[, 2] + rnorm(12, sd = 0.8) > 0, 1, -1)
    if (abs(sum(y)) == 12) return(c(FALSE, FALSE))
    a <- cbind(1, x) * y
    c(separable(a), !is.null(separating_direction(a)))
  })
  expect_identical(answers[2, ], answers[1, ])
  expect_gt(sum(answers[1, ]), 20)
  expect_lt(sum(answers[1, ]), 130)
})

test_that("nothing is said of ordinary sets", {
  flowers <- droplevels(iris[iris$Species != "setosa", ])
  births <- transform(infert, case = factor(case))
  for (family in c("logit", "hinge")) {
    expect_length(separation_of(fits(Species ~ ., flowers, "ep", family)), 0L)
    expect_length(separation_of(fits(
      case ~ education + age + parity + induced + spontaneous, births, "ep", family
    )), 0L)
  }
})

test_that("coefficients of what separates stay within the default prior", {
  quiet <- function(...) suppressWarnings(fits(...))
  for (family in c("bsvm", "logit")) {
    for (method in c("ep", "vb", "gibbs")) {
      fit <- quiet(level ~ x + a + (1 | g), d, method, family)
      expect_lt(abs(coef(fit)[["ac"]]), 25)
      fit <- quiet(o ~ x + one + (1 | g), d, method, family)
      expect_lt(abs(coef(fit)[["one"]]), 50)
    }
  }
  # A variance that was typed is meant.
  old <- bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01)
  fit <- suppressWarnings(bsvm(level ~ x + a + (1 | g), d, prior = old, threads = 1))
  expect_gt(abs(coef(fit)[["ac"]]), 1000)
})

test_that("the prior is that of standardized columns, a dummy's share 1 %", {
  rows <- 1000L
  y <- rep(0:1, rows / 2)
  x <- cbind(a = seq_len(rows) / 7, b = rep(1:0, c(2, rows - 2)))
  for (standardize in c(TRUE, FALSE)) {
    design <- design_from_matrix(x, y, standardize = standardize)
    found <- 1 / linear_blocks(
      design, "none", family_prior(bkm_prior(), "logit"), integer(),
      standardize = standardize, family = "logit"
    )$precision
    sd <- sqrt(found[-1]) / design$scale[-1]
    expect_equal(unname(sd), c(2.5 / sd(x[, 1]), 2.5 / sqrt(0.01 * 0.99)))
  }
})

test_that("a numeric response moves by less than 1 % of an sd, in any unit", {
  flat <- bkm_prior(beta_var = 1e8, intercept_var = 1e8)
  fit <- function(data, prior = bkm_prior()) {
    bkm(
      mpg ~ wt + hp + qsec, data, penalty = "none", method = "vb", prior = prior,
      control = list(tol = 1e-12), threads = 1
    )
  }
  own <- fit(mtcars)
  sd <- sqrt(diag(vcov(own)))
  expect_lt(max(abs(coef(own) - coef(fit(mtcars, flat))) / sd), 0.01)
  other <- fit(transform(mtcars, mpg = 1e6 * mpg, wt = wt / 1e4))
  expect_equal(unname(coef(other)), unname(coef(own) * 1e6 * c(1, 1e4, 1, 1)), tolerance = 1e-6)
})

test_that("a random intercept with a level for each row is said", {
  for (method in c("ep", "vb", "gibbs", "svi")) {
    found <- separation_of(fits(w ~ x + (1 | id), d, method, "gaussian"))
    expect_s3_class(found[[1]], "bayeskernel_warning_identification")
    expect_identical(found[[1]]$groups, "id")
  }
  found <- separation_of(fits(o ~ x + (1 | id), d, "ep", "logit"))
  expect_length(found, 1L)
  expect_s3_class(found[[1]], "bayeskernel_warning_identification")
})

test_that("with selection the warning comes once, and its advice can be taken", {
  d <- data.frame(x = c(-5:-1, 1:5), z = c(1, -1), y = rep(c(FALSE, TRUE), each = 5))
  for (model in list(bkm, bsvm)) {
    given <- character()
    withCallingHandlers(
      model(y ~ x + z, d, select = TRUE, threads = 1, seed = 1),
      bayeskernel_warning_separation = function(w) {
        given <<- c(given, conditionMessage(w))
        invokeRestart("muffleWarning")
      }
    )
    expect_length(given, 1L)
    expect_no_match(given, "penalty = 1")
    prior <- eval(str2lang(regmatches(
      gsub("\\s+", " ", given), regexpr("b[a-z]+_prior[(][^)]*[)]", gsub("\\s+", " ", given))
    )))
    expect_no_warning(
      model(y ~ x + z, d, select = TRUE, threads = 1, seed = 1, prior = prior),
      class = "bayeskernel_warning_separation"
    )
  }
})

test_that("the prior that the warning advises shrinks more than the default", {
  d <- data.frame(x = c(-5:-1, 1:5), y = rep(c(FALSE, TRUE), each = 5))
  for (model in list(bkm, bsvm)) {
    expect_warning(
      plain <- model(y ~ x, d, penalty = "none", threads = 1), "_prior(beta_var = 1)", fixed = TRUE
    )
    prior <- if (inherits(plain, "bsvm")) bsvm_prior(beta_var = 1) else bkm_prior(beta_var = 1)
    advised <- model(y ~ x, d, penalty = "none", prior = prior, threads = 1)
    expect_lt(coef(advised)[["x"]], 0.7 * coef(plain)[["x"]])
  }
})

test_that("draws of a selection that disagree are warned of, whatever began them", {
  table <- data.frame(variable = "a", rhat = 1.3, ess_bulk = 20, ess_tail = 20)
  expect_warning(
    warn_convergence(table, min_ess = 0), "method = \"gibbs\"",
    class = "bayeskernel_warning_convergence"
  )
  table$rhat <- 1.01
  expect_no_warning(warn_convergence(table, min_ess = 0))
})

test_that("an identifier among the predictors is one line, and is called one", {
  rows <- data.frame(y = rep(c("a", "b"), 20), x = sin(1:40), id = sprintf("p%02d", 1:40))
  seen <- tryCatch(bkm(y ~ x + id, rows, threads = 1), bayeskernel_warning_separation = identity)
  expect_match(conditionMessage(seen), "`id` has 40 levels in 40 rows", fixed = TRUE)
  expect_match(conditionMessage(seen), "(1 | id)", fixed = TRUE)
  expect_false(grepl("its one row is", conditionMessage(seen)))
  expect_length(seen$levels, 40)
})

test_that("as many columns as rows separate any classes", {
  for (p in c(29, 30, 50)) {
    x <- with_seed(p, matrix(stats::rnorm(30 * p), 30))
    expect_warning(
      bkm(x, rep(0:1, 15), threads = 1), sprintf("%d in all", p),
      class = "bayeskernel_warning_separation"
    )
  }
  twice <- x[rep(1:15, 2), ]
  expect_no_warning(bkm(twice, rep(0:1, each = 15), threads = 1))
})
