# The cases, and how a model joins, are in helper-contract.R.

test_that("every generic has a method", {
  generics <- c(
    "print", "summary", "predict", "fitted", "residuals", "nobs", "formula",
    "terms", "model.frame", "weights", "plot", "elbo", "as.mcmc",
    "as.mcmc.list", "as.array", "as.matrix", "tidy", "glance", "augment"
  )
  of_linear <- c("coef", "vcov", "fixef", "ranef", "VarCorr")
  space <- asNamespace("bayeskernel")
  for_each_case(function(one, object, new) {
    for (generic in c(generics, if (one$linear) of_linear)) {
      found <- lapply(class(object), function(class) {
        getS3method(generic, class, optional = TRUE, envir = space)
      })
      expect_true(any(lengths(lapply(found, list)) & !vapply(
        found, is.null, NA
      )), info = paste(one$name, generic))
    }
  })
})

test_that("a fit is a plain list of the agreed class", {
  for_each_case(function(one, object, new) {
    expect_equal(class(object)[2], "bayeskernel_fit", info = one$name)
    expect_true(is.list(object), info = one$name)
    expect_false(any(rapply(unclass(object), function(x) {
      typeof(x) == "externalptr"
    }, how = "unlist")), info = one$name)
  })
})

test_that("probabilities are a matrix with the classes as columns", {
  for_each_case(function(one, object, new) {
    for (link in one$links) {
      p <- do.call(predict, c(list(object, new, type = "prob"), link = link))
      classes <- levels(one$data[[one$response]])
      expect_equal(dim(p), c(80L, length(classes)), info = one$name)
      expect_equal(colnames(p), classes)
      expect_true(all(p >= 0 & p <= 1), info = one$name)
      expect_equal(unname(rowSums(p)), rep(1, 80), tolerance = 1e-14)
    }
  }, classes = TRUE)
})

test_that("the class is the argmax of the probability", {
  for_each_case(function(one, object, new) {
    p <- predict(object, new, type = "prob")
    class <- predict(object, new)
    expect_s3_class(class, "factor")
    expect_equal(levels(class), colnames(p), info = one$name)
    expect_equal(as.character(class), colnames(p)[max.col(p, "last")], info = one$name)
  }, classes = TRUE)
})

test_that("fitted() is predict() on the rows of the fit", {
  for_each_case(function(one, object, new) {
    p <- answer_of(one, new)
    expected <- if (one$two) p[, 2] else p
    tolerance <- if (one$dense) 1e-5 else 1e-10
    expect_lt(max(abs(fitted(object) - expected)), tolerance)
    for (link in one$links) {
      expect_equal(
        do.call(answer_of, c(list(one), link = link)),
        do.call(answer_of, c(list(one, new), link = link)), tolerance = tolerance, info = one$name
      )
    }
    expect_equal(predict(object), predict(object, new), info = one$name)
    expect_equal(
      predict(object, type = "link", se.fit = TRUE),
      predict(object, new, type = "link", se.fit = TRUE), tolerance = tolerance, info = one$name
    )
  })
})

test_that("a missing predictor gives NA and keeps the row", {
  for_each_case(function(one, object, new) {
    holed <- one$data[1:6, ]
    holed$x1[2] <- NA
    holed$x2[5] <- NaN
    holed <- one$new(holed)
    unknown <- if (one$imputes) integer() else c(2L, 5L)
    for (type in c(if (one$classes) c("class", "prob"), "link")) {
      out <- as.matrix(predict(object, holed, type = type))
      expect_equal(nrow(out), 6L, info = one$name)
      expect_equal(which(is.na(out[, 1])), unknown, info = one$name)
    }
    if (!one$two) return(invisible())
    draws <- predict(object, holed, draws = TRUE, ndraws = 7, seed = 1)
    expect_equal(dim(draws), c(7L, 6L), info = one$name)
    expect_equal(which(is.na(draws[1, ])), unknown, info = one$name)
  })
})

test_that("no rows give no predictions", {
  for_each_case(function(one, object, new) {
    none <- one$new(one$data[0, ])
    expect_length(predict(object, none), 0L)
    classes <- nlevels(one$data[[one$response]])
    expect_equal(NROW(answer_of(one, none)), 0L)
    if (one$classes) expect_equal(ncol(answer_of(one, none)), classes)
    expect_length(predict(object, none, type = "link"), 0L)
    if (!one$two) return(invisible())
    f <- predict(object, none, type = "prob", draws = TRUE, ndraws = 3)
    expect_equal(dim(f), c(3L, 0L), info = one$name)
    spread <- predict(object, none, type = "prob", se.fit = TRUE)
    expect_equal(lengths(spread), c(fit = 0L, se.fit = 0L), info = one$name)
    limits <- predict(object, none, type = "prob", interval = "credible")
    expect_equal(dim(limits), c(0L, 3L, 2L), info = one$name)
  })
})

test_that("predictions of a subset are a subset of the predictions", {
  some <- c(40, 3, 3, 77)
  for_each_case(function(one, object, new) {
    part <- one$new(one$data[some, ])
    expect_equal(
      as.matrix(answer_of(one, part)), as.matrix(answer_of(one, new))[some, , drop = FALSE],
      tolerance = 1e-12, info = one$name
    )
    whole <- as.matrix(predict(object, new, type = "link"))
    expect_equal(
      as.matrix(predict(object, part, type = "link")), whole[some, , drop = FALSE],
      tolerance = 1e-12, info = one$name
    )
  })
})

test_that("draws have a row a draw, and a seed reproduces them", {
  for_each_case(function(one, object, new) {
    f <- predict(object, new, draws = TRUE, ndraws = 9, seed = 2)
    expect_equal(dim(f), c(9L, 80L), info = one$name)
    expect_identical(f, predict(object, new, draws = TRUE, ndraws = 9, seed = 2))
    prob <- function(...) predict(object, new, "prob", draws = TRUE, ndraws = 9, seed = 2, ...)
    links <- links_of(object)
    curve <- if (links[1] == "logit") plogis else pnorm
    p <- if (links[1] == "calibrated") prob(link = "probit") else prob()
    expect_equal(p, curve(f), info = one$name)
    expect_identical(order(prob()[, 1]), order(p[, 1]), info = one$name)
  }, two = TRUE)
})

test_that("coefficients, covariances and draws share their names", {
  for_each_case(function(one, object, new) {
    b <- coef(object)
    v <- vcov(object)
    own <- seq_along(one$columns)
    expect_equal(names(b)[own], one$columns, info = one$name)
    expect_true(all(grepl("^(s|gp)[(]x2[)][.]", names(b)[-own])), info = one$name)
    expect_equal(dimnames(v), list(names(b), names(b)), info = one$name)
    expect_equal(v, t(v), tolerance = 1e-10, info = one$name)
    expect_true(all(eigen(v, TRUE, TRUE)$values > 0), info = one$name)
    draws <- as.matrix(object, ndraws = 5, seed = 1)
    expect_equal(colnames(draws)[seq_along(b)], names(b), info = one$name)
    expect_s3_class(as.mcmc.list(object), "mcmc.list")
  }, linear = TRUE)
})

test_that("the summary has the agreed columns", {
  for_each_case(function(one, object, new) {
    table <- summary(object)$coefficients
    expected <- c("Estimate", "SD", "2.5 %", "97.5 %")
    if (!is.null(object$draws)) expected <- c(expected, "R-hat", "ESS")
    expect_equal(colnames(table), expected, info = one$name)
    # Columns under selection have a table of their own.
    values <- expected
    selection <- summary(object)$selection
    table <- rbind(table[, values, drop = FALSE], selection[, values, drop = FALSE])
    expect_setequal(rownames(table), one$columns)
    shown <- rownames(table)
    expect_equal(table[, "Estimate"], coef(object)[shown], tolerance = 1e-10)
    expect_equal(table[, "SD"], sqrt(diag(vcov(object)))[shown], tolerance = 1e-8, info = one$name)
    expect_true(all(table[, 3] < table[, 1] & table[, 1] < table[, 4]))
  }, linear = TRUE)
})

test_that("print and summary fit on a screen", {
  for_each_case(function(one, object, new) {
    for (text in list(capture.output(print(object)), capture.output(print(summary(object))))) {
      expect_lt(max(nchar(text)), 80)
      expect_lt(length(text), 40)
      expect_gt(length(text), 6)
    }
  })
})

test_that("rows are counted and weighed as in glm()", {
  for_each_case(function(one, object, new) {
    expect_equal(nobs(object), 80L, info = one$name)
    expect_equal(weights(object), rep(1, 80), info = one$name)
    expect_length(residuals(object), 80L)
  })
})

test_that("tidy tables have their rows", {
  for_each_case(function(one, object, new) {
    if (one$linear) {
      fixed <- tidy(object, effects = "fixed")
      plain <- coef(object)[fixed$term]
      expect_equal(fixed$estimate, unname(plain))
      # The columns of a smooth are no effects of their own.
      of_smooths <- setdiff(names(coef(object)), fixed$term)
      expect_true(all(grepl("^(s|te|gp)\\(", of_smooths)), info = one$name)
    }
    expect_equal(glance(object)$nobs, 80L, info = one$name)
    rows <- augment(object, newdata = as.data.frame(new))
    expect_equal(nrow(rows), 80L, info = one$name)
    if (!one$classes) {
      expect_equal(rows$.fitted, fitted(object), tolerance = 1e-10)
      return(invisible())
    }
    expect_equal(rows$.class, predict(object, new), info = one$name)
    if (one$two) {
      expect_equal(rows$.prob, fitted(object), tolerance = if (one$dense) 1e-5 else 1e-10)
    } else {
      expect_equal(
        as.matrix(rows[paste0(".prob_", levels(one$data$y))]), fitted(object), tolerance = 1e-10,
        ignore_attr = TRUE
      )
    }
  })
})

test_that("update() with nothing new fits the same again", {
  data <- contract_data
  object <- bsvm(y ~ x1 + (1 | g), data, threads = 1, method = "vb")
  expect_equal(coef(update(object)), coef(object))
})

test_that("a fit holds no training data if it is told so", {
  # What may grow: a few numbers a row. 100 bytes a row are fewer than those of the data frame and
  # the design together.
  size <- function(object) {
    object$call <- NULL
    # A grid has as many points as it takes.
    object$posterior$points <- NULL
    length(serialize(object, NULL))
  }
  for_each_case(function(one, object, new) {
    if (one$dense) return(invisible())
    many <- one$data[rep(1:80, 10), ]
    grown <- (size(one$fit(many, model = FALSE)) - size(object)) / 720
    machines <- max(1, nlevels(one$data$y) * !one$two)
    expect_lt(grown, 100 * machines)
  })
})

test_that("a saved fit predicts the same in a fresh process", {
  home <- system.file(package = "bayeskernel")
  skip_if_not(file.exists(file.path(home, "Meta", "package.rds")))
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  answers <- function(cases) {
    lapply(cases, function(one) {
      list(
        predict(one$object, one$new), if (one$classes) predict(one$object, one$new, type = "prob"),
        predict(one$object, one$new, type = "link", se.fit = TRUE),
        if (one$two) predict(one$object, one$new, draws = TRUE, ndraws = 3, seed = 1)
      )
    })
  }
  stored <- lapply(contract_cases(), function(one) {
    list(object = one$object, new = one$new(one$data), two = one$two, classes = one$classes)
  })
  saveRDS(stored, file.path(folder, "cases.rds"))
  environment(answers) <- globalenv()
  saveRDS(answers, file.path(folder, "answers.rds"))
  script <- file.path(folder, "run.R")
  writeLines(c(
    sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")),
    sprintf("library(bayeskernel, lib.loc = %s)", deparse(dirname(home))),
    # One model is not in the package.
    sprintf("source(%s)", deparse(normalizePath(test_path("helper-toy.R")))),
    sprintf("setwd(%s)", deparse(folder)),
    "answers <- readRDS(\"answers.rds\")",
    "saveRDS(answers(readRDS(\"cases.rds\")), \"out.rds\")"
  ), script)
  status <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)))
  expect_equal(status, 0L)
  expect_identical(readRDS(file.path(folder, "out.rds")), answers(stored))
})

test_that("the order of rows does not matter", {
  set.seed(3)
  order <- sample(80)
  for_each_case(function(one, object, new) {
    again <- one$fit(one$data[order, ])
    if (one$linear) expect_equal(coef(again), coef(object), tolerance = 1e-5, info = one$name)
    expect_equal(
      as.matrix(fitted(again)), as.matrix(fitted(object))[order, , drop = FALSE], tolerance = 1e-5,
      info = one$name
    )
  }, only_exact = TRUE)
})

test_that("the order of columns does not matter", {
  for_each_case(function(one, object, new) {
    turned <- one$data[rev(names(one$data))]
    again <- one$fit(turned)
    if (one$linear) expect_equal(coef(again), coef(object), info = one$name)
    expect_equal(fitted(again), fitted(object), info = one$name)
    expect_equal(
      predict(object, one$new(turned), type = "link"), predict(object, new, type = "link"),
      info = one$name
    )
  })
  x <- as_predictors(contract_data)
  forward <- bsvm(x, contract_data$y, threads = 1, control = list(tol = 1e-12), method = "vb")
  back <- bsvm(x[, 2:1], contract_data$y, threads = 1, control = list(tol = 1e-12), method = "vb")
  expect_equal(coef(back)[names(coef(forward))], coef(forward), tolerance = 1e-5)
  # New columns are found by name.
  expect_equal(predict(forward, x[, 2:1]), predict(forward, x))
})

test_that("labels swapped flips the link and keeps the probabilities", {
  for_each_case(function(one, object, new) {
    swapped <- one$data
    swapped$y <- factor(swapped$y, rev(levels(swapped$y)))
    again <- one$fit(swapped)
    expect_equal(
      predict(again, new, type = "link"), -predict(object, new, type = "link"),
      tolerance = 1e-5, info = one$name
    )
    expect_equal(
      predict(again, new, type = "prob")[, levels(one$data$y)], predict(object, new, type = "prob"),
      tolerance = 1e-5, info = one$name
    )
  }, only_exact = TRUE, two = TRUE)
})

test_that("the unit of a predictor does not matter", {
  for_each_case(function(one, object, new) {
    scaled <- one$data
    # Where rounding errors grow into other decisions of a chain the new unit is one that makes
    # none.
    unit <- if (one$exact) 1000 else 1024
    scaled[one$scaled] <- scaled[one$scaled] * unit - if (one$exact) 5 else 0
    again <- one$fit(scaled)
    expect_equal(
      predict(again, one$new(scaled), type = "link"), predict(object, new, type = "link"),
      tolerance = 1e-5, info = one$name
    )
    if (one$linear) {
      expect_equal(coef(again)[["x1"]] * unit, coef(object)[["x1"]],
        tolerance = 1e-5, info = one$name
      )
    }
  })
})

test_that("formula and matrix interface agree", {
  cases <- contract_cases()
  names(cases) <- vapply(cases, `[[`, "", "name")
  object <- function(name) cases[[name]]$object
  expect_equal(coef(object("vb, fixed")), coef(object("vb, matrix")))
  expect_equal(vcov(object("vb, fixed")), vcov(object("vb, matrix")))
  expect_identical(as.array(object("gibbs, fixed")), as.array(object("gibbs, matrix")))
  expect_identical(object("gpsvm, vb")$posterior, object("gpsvm, matrix")$posterior)
})

test_that("a weight of two is the row twice", {
  twice <- contract_data[c(1:80, 1:20), ]
  weighted <- transform(contract_data, w = rep(c(2, 1), c(20, 60)))
  for (formula in list(y ~ x1 + x2, y ~ x1 + x2 + (1 | g))) {
    fit <- function(data, ..., method = "vb") {
      flat(bsvm)(
        formula, data, ..., standardize = FALSE, penalty = "none", threads = 1, tol = 1e-12,
        method = method
      )
    }
    one <- fit(weighted, weights = weighted$w)
    expect_equal(coef(one), coef(fit(twice)), tolerance = 1e-5)
    expect_equal(vcov(one), vcov(fit(twice)), tolerance = 1e-5)
    expect_equal(weights(one), weighted$w)
  }
  for (data in list(contract_data, three_classes)) {
    fit <- function(rows, weights = rep(1, length(rows))) {
      gpsvm(
        scale(as_predictors(data))[rows, ], data$y[rows],
        weights = weights, inducing = scale(as_predictors(data))[1:20, ],
        kernel = rbf(1, 2), standardize = FALSE, nugget = 0.1,
        control = list(tol = 1e-12, max_iter = 5000), threads = 1, method = "vb", tune = FALSE
      )
    }
    one <- fit(1:80, weighted$w)
    expect_equal(fit(c(1:80, 1:20))$posterior$machines, one$posterior$machines, tolerance = 1e-5)
    expect_equal(weights(one), weighted$w)
  }
})

test_that("rows of weight 0 have fitted values and no influence", {
  out <- c(2L, 50L)
  w <- replace(rep(1, 80), out, 0)
  for_each_case(function(one, object, new) {
    if (!model_of(object)$rows$weights) return()
    fit <- one$fit(transform(one$data, w = w), weights = w)
    left <- one$fit(one$data[-out, ])
    expect_equal(predict(fit, new), predict(left, new), info = one$name)
    own <- as.matrix(fitted(fit))
    expect_equal(own[-out, ], as.matrix(fitted(left))[, ], ignore_attr = TRUE, info = one$name)
    expect_false(anyNA(own), info = one$name)
    expect_length(residuals(fit), 80L)
    expect_equal(weights(fit), w, info = one$name)
    expect_equal(nobs(fit), 78L, info = one$name)
  })
})

test_that("responses of every form give the same fit", {
  forms <- list(
    contract_data$y == "yes", as.numeric(contract_data$y == "yes"),
    2 * (contract_data$y == "yes") - 1
  )
  for_each_case(function(one, object, new) {
    for (form in forms) {
      data <- one$data
      data$y <- form
      expect_equal(
        predict(one$fit(data), new, type = "link"), predict(object, new, type = "link"),
        info = one$name
      )
    }
  }, two = TRUE)
})

test_that("bad new data raise classed errors", {
  for_each_case(function(one, object, new) {
    lacking <- as.data.frame(new)[setdiff(colnames(new), "x2")]
    expect_bk_error(predict(object, lacking), "argument", "x2")
    expect_error(predict(object, "rows"), class = "bayeskernel_error")
    text <- transform(one$data, x1 = "high")
    expect_error(
      predict(object, if (is.matrix(new)) as.matrix(text) else text), class = "bayeskernel_error"
    )
    expect_bk_error(predict(object, new, type = "odds"), "argument", "odds")
    expect_bk_error(
      predict(object, new, link = "cauchit"), "argument",
      if (length(one$links) > 1) "cauchit" else "link"
    )
    if (one$linear) expect_bk_error(coef(object, scale = "log"), "argument", "scale")
    expect_bk_error(summary(object, decimals = 3), "argument", "decimals")
  })
})

test_that("errors name the call that the user typed", {
  for_each_case(function(one, object, new) {
    error <- tryCatch(predict(object, new, type = "odds"), error = identity)
    expect_equal(conditionCall(error)[[1]], quote(predict), info = one$name)
  })
})

test_that("prediction leaves R's generator alone when a seed is given", {
  for_each_case(function(one, object, new) {
    set.seed(8)
    before <- .Random.seed
    if (one$two) predict(object, new, draws = TRUE, ndraws = 2, seed = 1)
    answer_of(one, new)
    summary(object)
    expect_identical(.Random.seed, before, info = one$name)
  })
})
