# What a user of stats, lme4 or rstanarm would ask of a fit. Cases: see helper-contract.R.

named_rows <- function(one) {
  data <- one$data[1:5, ]
  row.names(data) <- letters[1:5]
  one$new(data)
}

# Does `code` raise a classed error that says what is missing?
expect_refusal <- function(code, kind = "argument", info = NULL) {
  expect_error(code, class = paste0("bayeskernel_error_", kind), info = info)
}

# Has the fit draws? A posterior mode has neither draws nor a distribution.
can_draw <- function(object) object$method != "ecm"

test_that("type response is the probability of the positive class or a mean", {
  for_each_case(function(one, object, new) {
    response <- predict(object, new, type = "response")
    if (one$two) {
      expect_equal(response, predict(object, new, type = "prob")[, 2], info = one$name)
    } else if (one$classes) {
      expect_equal(response, predict(object, new, type = "prob"), info = one$name)
    } else {
      expect_equal(response, predict(object, new), info = one$name)
      expect_equal(response, predict(object, new, type = "link"))
      expect_refusal(predict(object, new, type = "prob"), info = one$name)
      expect_refusal(predict(object, new, type = "class"), info = one$name)
    }
  })
})

test_that("names of rows are kept", {
  for_each_case(function(one, object, new) {
    rows <- named_rows(one)
    for (type in c(if (one$classes) c("class", "prob"), "link", "response")) {
      out <- predict(object, rows, type = type)
      names <- if (is.matrix(out)) rownames(out) else names(out)
      expect_equal(names, letters[1:5], info = paste(one$name, type))
    }
    if (one$two || !one$classes) {
      out <- predict(object, rows, "link", interval = "credible", seed = 1)
      expect_equal(rownames(out), letters[1:5], info = one$name)
      se <- predict(object, rows, "link", se.fit = TRUE)
      expect_equal(names(se$se.fit), letters[1:5], info = one$name)
    }
  })
})

test_that("a probability has a standard deviation, on new and on own rows", {
  for_each_case(function(one, object, new) {
    own <- predict(object, type = "prob", se.fit = TRUE)
    others <- predict(object, new, type = "prob", se.fit = TRUE)
    expect_equal(own, others, tolerance = if (one$dense) 1e-4 else 1e-8, info = one$name)
    expect_length(own$se.fit, 80L)
    expect_true(all(own$se.fit >= 0 & own$se.fit <= 0.5), info = one$name)
  }, two = TRUE)
})

test_that("the standard deviation of a probability is that of its draws", {
  for_each_case(function(one, object, new) {
    if (!can_draw(object)) return(invisible())
    sd <- predict(object, new, type = "prob", se.fit = TRUE)$se.fit
    draws <- do.call(rbind, lapply(1:20, function(seed) {
      predict(object, new, type = "prob", draws = TRUE, seed = seed)
    }))
    expect_equal(mean(sd), mean(apply(draws, 2L, stats::sd)), tolerance = 0.05, info = one$name)
  }, two = TRUE)
})

test_that("intervals hold the mean and widen with their level", {
  for_each_case(function(one, object, new) {
    if (one$classes && !one$two) return(invisible())
    ask <- function(level, interval = "credible", rows = new) {
      predict(object, rows, type = "link", interval = interval, level = level, seed = 1)
    }
    if (!can_draw(object)) return(invisible())
    narrow <- ask(0.5)
    wide <- ask(0.99)
    expect_equal(colnames(wide), c("fit", "lwr", "upr"), info = one$name)
    expect_equal(
      unname(wide[, "fit"]), unname(predict(object, new, type = "link")),
      tolerance = 1e-8, info = one$name
    )
    expect_true(all(wide[, "lwr"] < wide[, "fit"]), info = one$name)
    expect_true(all(wide[, "fit"] < wide[, "upr"]), info = one$name)
    expect_true(all(wide[, "lwr"] <= narrow[, "lwr"]), info = one$name)
    expect_true(all(narrow[, "upr"] <= wide[, "upr"]), info = one$name)
    if (one$classes) {
      expect_refusal(ask(0.9, "prediction"), info = one$name)
      prob <- predict(object, new, type = "prob", interval = "credible", seed = 1)[, "fit", ]
      expect_equal(
        unname(prob), unname(predict(object, new, type = "prob")), tolerance = 1e-8, info = one$name
      )
    } else {
      prediction <- ask(0.99, "prediction")
      width <- function(limits) limits[, "upr"] - limits[, "lwr"]
      expect_true(all(width(prediction) > width(wide)))
    }
    expect_refusal(ask(2), info = one$name)
    expect_equal(dim(ask(0.9, rows = one$new(one$data[0, ]))), c(0L, 3L))
  })
})

test_that("without random effects means at an effect of zero", {
  for_each_case(function(one, object, new) {
    ask <- function(rows, ...) predict(object, rows, type = "link", ...)
    if (is.null(one$groups)) {
      expect_equal(ask(new, re.form = NA), ask(new), info = one$name)
      return(invisible())
    }
    # The mean of an unknown group is at zero too; its variance is larger.
    unknown <- new
    unknown[one$groups] <- "new"
    none <- ask(new, re.form = NA, se.fit = TRUE)
    apart <- ask(unknown, se.fit = TRUE)
    expect_equal(none$fit, apart$fit, tolerance = 1e-8, info = one$name)
    expect_true(all(none$se.fit < apart$se.fit), info = one$name)
    expect_equal(ask(new, re.form = ~0), none$fit)
    without <- new[setdiff(names(new), one$groups)]
    expect_equal(ask(without, re.form = NA), none$fit, info = one$name)
    expect_refusal(ask(new, re.form = ~x1), info = one$name)
  })
})

test_that("a new group widens the probability of fits of either kind", {
  for_each_case(function(one, object, new) {
    if (is.null(one$groups)) return(invisible())
    unknown <- new[1:8, ]
    unknown[one$groups] <- "new"
    ask <- function(...) predict(object, unknown, type = "prob", ...)
    sd <- ask(se.fit = TRUE)$se.fit
    draws <- ask(draws = TRUE, ndraws = 1000, seed = 1)
    # Few draws of a short chain, each with one new group: a third, as before, would be another
    # meaning.
    ratio <- mean(apply(draws, 2, stats::sd) / sd)
    expect_gt(ratio, 0.6)
    expect_lt(ratio, 1.6)
  }, two = TRUE)
})
test_that("intervals of coefficients are those of the summary", {
  for_each_case(function(one, object, new) {
    if (!one$linear) {
      grouped <- if (is.null(one$groups)) list(ranef, VarCorr)
      for (extract in c(list(coef, vcov, confint, fixef), grouped)) {
        expect_refusal(extract(object), info = one$name)
      }
      return(invisible())
    }
    limits <- confint(object)
    # Those of curves are there by name.
    plain <- grep("^(s|gp)[(]", names(coef(object)), invert = TRUE, value = TRUE)
    expect_equal(dimnames(limits), list(plain, c("2.5 %", "97.5 %")), info = one$name)
    expect_equal(rownames(confint(object, names(coef(object)))), names(coef(object)))
    summary <- summary(object)
    shown <- rbind(
      summary$coefficients[, 3:4, drop = FALSE], summary$selection[, 3:4, drop = FALSE]
    )
    expect_equal(limits, shown[plain, , drop = FALSE], tolerance = 1e-8, info = one$name)
    one_half <- confint(object, "x1", level = 0.5)
    expect_equal(dimnames(one_half), list("x1", c("25 %", "75 %")))
    if (!is.null(object$draws)) {
      draws <- as.matrix(object)[, "(Intercept)"]
      expect_equal(
        unname(confint(object, type = "posterior")["(Intercept)", ]),
        unname(stats::quantile(draws, c(0.025, 0.975))), tolerance = 1e-8, info = one$name
      )
    }
    expect_refusal(confint(object, "unheard"), info = one$name)
  })
})

test_that("random effects are counted and refused where there are none", {
  for_each_case(function(one, object, new) {
    count <- function() asNamespace("bayeskernel")$ngrps.bayeskernel_fit(object)
    if (is.null(one$groups)) {
      expect_refusal(count(), info = one$name)
      if (one$linear) expect_refusal(ranef(object), info = one$name)
      return(invisible())
    }
    expect_equal(count(), c(g = 8L), info = one$name)
    expect_equal(nrow(ranef(object)$g), 8L, info = one$name)
  })
})

test_that("a fit says what family it is of and what its noise is", {
  for_each_case(function(one, object, new) {
    family <- family(object)
    expect_s3_class(family, "family")
    expect_true(is.character(family$family) && is.character(family$link))
    if (one$classes) {
      expect_refusal(sigma(object), info = one$name)
    } else {
      expect_equal(family$family, "gaussian", info = one$name)
      expect_true(sigma(object) > 0 && length(sigma(object)) == 1L)
    }
    proper <- inherits(object, "bkm") && !is_pseudo(object)
    # Every fit has its rows: only a pseudo-likelihood has no deviance.
    if (is_pseudo(object)) {
      expect_refusal(deviance(object), info = one$name)
    } else {
      expect_true(is.finite(deviance(object)), info = one$name)
    }
    if (proper) {
      likelihood <- logLik(object)
      expect_true(is.finite(likelihood), info = one$name)
      expect_gt(attr(likelihood, "df"), 1)
      expect_true(is.finite(AIC(object)), info = one$name)
    } else {
      expect_refusal(logLik(object), info = one$name)
    }
  })
})

test_that("simulated responses look like the response", {
  data <- contract_data
  numbers <- a_number
  fits <- list(
    bkm(y ~ x1 + x2 + (1 | g), data, method = "vb", threads = 1),
    bkm(y ~ x1 + x2, numbers, method = "vb", threads = 1),
    suppressWarnings(bark(
      y ~ x1 + x2, numbers,
      chains = 1, control = list(warmup = 300, thin = 5), ndraws = 40, seed = 1, threads = 1
    ))
  )
  observed <- list(data$y, numbers$y, numbers$y)
  for (k in seq_along(fits)) {
    simulated <- simulate(fits[[k]], nsim = 3, seed = 1)
    expect_equal(dim(simulated), c(80L, 3L))
    expect_equal(names(simulated), paste0("sim_", 1:3))
    expect_false(is.null(attr(simulated, "seed")))
    expect_equal(simulated, simulate(fits[[k]], nsim = 3, seed = 1))
    expect_equal(levels(simulated$sim_1), levels(observed[[k]]))
    expect_gt(stats::cor(as.numeric(simulated$sim_1), as.numeric(observed[[k]])), 0.2)
  }
})

test_that("the rows of a formula come back from where it was typed", {
  data <- contract_data
  fits <- list(
    bsvm(y ~ x1 + x2 + (1 | g), data, threads = 1, method = "vb"),
    gpsvm(y ~ x1 + x2, data, inducing = 10, seed = 1, threads = 1, method = "vb", tune = FALSE),
    suppressWarnings(bark(
      y ~ x1 + x2, data, family = "binomial", chains = 1,
      control = list(warmup = 300, thin = 5, progress = FALSE), ndraws = 40, seed = 1, threads = 1
    ))
  )
  for (object in fits) {
    frame <- model.frame(object)
    expect_equal(nrow(frame), 80L)
    expect_equal(as.character(frame$y), as.character(data$y))
    expect_equal(unclass(frame$x1), data$x1)
    x <- model.matrix(object)
    expect_equal(nrow(x), 80L)
    expect_true(all(c("x1", "x2") %in% colnames(x)))
    expect_equal(unname(x[, "x2"]), data$x2)
    rows <- augment(object)
    expect_equal(nrow(rows), 80L)
    expect_equal(rows$.prob, unname(fitted(object)))
    expect_equal(as.character(rows$.class), as.character(predict(object)))
    fewer <- suppressWarnings(update(object, . ~ . - x1))
    expect_false("x1" %in% all.vars(formula(fewer)))
    some <- suppressWarnings(update(object, subset = 1:60))
    expect_equal(nobs(some), 60L)
    expect_equal(family(object)$family, family(fewer)$family)
  }
  for_each_case(function(one, object, new) {
    if (is.null(object$formula)) {
      expect_refusal(model.frame(object), info = one$name)
      expect_refusal(formula(object), info = one$name)
    } else {
      expect_s3_class(formula(object), "formula")
      expect_s3_class(terms(object), "terms")
    }
  })
})

test_that("tables have intervals when asked", {
  for_each_case(function(one, object, new) {
    table <- tidy(object, conf.int = TRUE)
    expect_true(
      all(c("term", "estimate", "conf.low", "conf.high") %in% names(table)), info = one$name
    )
    there <- !is.na(table$conf.low) & !is.na(table$conf.high)
    expect_true(all(table$conf.low[there] <= table$conf.high[there]))
    expect_false("conf.low" %in% names(tidy(object)), info = one$name)
    narrow <- tidy(object, conf.int = TRUE, conf.level = 0.5)
    expect_true(all(narrow$conf.low[there] >= table$conf.low[there]))
    expect_equal(nrow(glance(object)), 1L, info = one$name)
  })
})

test_that("every picture is drawn or says why not", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for_each_case(function(one, object, new) {
    expect_error(plot(object), NA)
    known <- asNamespace("bayeskernel")$pictures(object)
    drawable <- character()
    for (type in names(known)) {
      picture <- known[[type]]
      # What it needs may be at hand.
      needs <- picture$needs
      if (is.function(needs)) needs <- needs(list())
      if (is.null(picture$reason) && is.null(needs)) {
        drawable <- c(drawable, type)
        out <- drawn(plot(object, type))
        expect_gt(out$calls, 5)
        expect_true(out$restored, info = paste(one$name, type))
      } else {
        error <- expect_refusal(plot(object, type), info = one$name)
        expect_match(conditionMessage(error), "Accepted: ")
        why <- if (is.null(picture$reason)) picture$ask else picture$reason
        expect_match(
          gsub("\\s+", " ", conditionMessage(error)), gsub("\\s+", " ", why), fixed = TRUE
        )
      }
    }
    expect_gt(length(drawable), 0)
    if (one$classes) {
      expect_error(plot(object, "calibration", newdata = new, y = one$data[[one$response]]), NA)
    }
    unknown <- expect_refusal(plot(object, "portrait"), info = one$name)
    for (type in drawable) expect_match(conditionMessage(unknown), quoted(type), fixed = TRUE)
    expect_refusal(plot(object, main = 1:3), info = one$name)
  })
})

test_that("draws in the form of rstantools", {
  skip_if_not_installed("rstantools")
  for_each_case(function(one, object, new) {
    if (!can_draw(object)) {
      expect_refusal(rstantools::posterior_linpred(object, newdata = new))
      return(invisible())
    }
    linpred <- rstantools::posterior_linpred(object, newdata = new, ndraws = 8, seed = 1)
    classes <- if (one$classes && !one$two) nlevels(one$data$y)
    ordered <- identical(object$family, "ordinal")
    expect_equal(dim(linpred), c(8L, 80L, if (!ordered) classes), info = one$name)
    epred <- rstantools::posterior_epred(object, new, ndraws = 8, seed = 1)
    expect_equal(dim(epred), c(8L, 80L, classes), info = one$name)
    if (one$classes) expect_true(all(epred >= 0 & epred <= 1))
    if (is_pseudo(object)) {
      expect_refusal(rstantools::posterior_predict(object, new))
    } else {
      response <- rstantools::posterior_predict(object, new, ndraws = 8, seed = 1)
      expect_equal(dim(response), c(8L, 80L), info = one$name)
      if (one$two) expect_setequal(c(response), c(0, 1))
    }
    limits <- rstantools::posterior_interval(object, prob = 0.5)
    expect_equal(colnames(limits), c("25%", "75%"), info = one$name)
    expect_true(all(limits[, 1] <= limits[, 2], na.rm = TRUE))
  })
})

test_that("priors are told in one place", {
  skip_if_not_installed("rstantools")
  for_each_case(function(one, object, new) {
    prior <- rstantools::prior_summary(object)
    expect_gt(length(capture.output(print(prior))), 1L)
  })
})

test_that("a pseudo-likelihood has no log-likelihood, and says so", {
  skip_if_not_installed("rstantools")
  skip_if_not_installed("loo")
  for_each_case(function(one, object, new) {
    if (is_pseudo(object)) {
      expect_refusal(rstantools::log_lik(object), info = one$name)
      score <- fit_quality(object)$loo
      if (is.null(score) || !is.null(object$units)) {
        error <- expect_refusal(loo::loo(object), info = one$name)
        expect_match(conditionMessage(error), "likelihood", info = one$name)
      } else {
        expect_equal(loo::loo(object)$estimates["elpd_loo", "Estimate"], score, info = one$name)
      }
      return(invisible())
    }
    values <- rstantools::log_lik(object, newdata = one$data)
    expect_equal(ncol(values), 80L, info = one$name)
    expect_true(all(is.finite(values)), info = one$name)
  })
})

test_that("predictive checks draw", {
  skip_if_not_installed("bayesplot")
  data <- a_number
  object <- suppressWarnings(bark(
    y ~ x1 + x2, data,
    chains = 1, control = list(warmup = 300, thin = 5), ndraws = 40, seed = 1, threads = 1
  ))
  expect_s3_class(bayesplot::pp_check(object), "ggplot")
})

test_that("a sampler goes on where it stopped", {
  for_each_case(function(one, object, new) {
    if (is.null(object$draws)) {
      expect_refusal(one$fit(one$data, resume = object), info = one$name)
      return(invisible())
    }
    more <- one$fit(one$data, resume = object, ndraws = 60)
    expect_equal(dim(more$draws)[1], 60L, info = one$name)
    expect_equal(
      unname(more$draws[1:40, , ]), unname(object$draws), tolerance = 1e-12, info = one$name
    )
    broken <- object
    broken$state <- broken$posterior <- NULL
    expect_error(one$fit(one$data, resume = broken), class = "bayeskernel_error", info = one$name)
    expect_refusal(one$fit(one$data, resume = 3), info = one$name)
  })
})

test_that("an argument that is not there is told with its neighbour", {
  error <- expect_refusal(bsvm(y ~ x1, contract_data, metod = "gibbs", method = "vb"))
  expect_match(conditionMessage(error), "metod")
  expect_match(conditionMessage(error), "method")
  error <- expect_refusal(gpsvm(y ~ x1, contract_data, treads = 1, method = "vb", tune = FALSE))
  expect_match(conditionMessage(error), "threads")
})

# -- rows from a source ----------------------------------------------------

test_that("a fit to a row source answers as one to the matrix", {
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  file <- file.path(folder, "rows.csv")
  x <- as_predictors(contract_data)
  utils::write.csv(data.frame(x, y = as.integer(contract_data$y == "yes")), file, row.names = FALSE)
  source <- row_source(file, y = "y")
  rows <- as.data.frame(x)
  own <- list(
    list(
      bsvm(source, threads = 1, control = list(tol = 1e-12), method = "svi"),
      bsvm(x, contract_data$y, threads = 1, control = list(tol = 1e-12), method = "vb")
    ),
    list(
      bsvm(source, threads = 1, control = list(tol = 1e-8), penalty = "none"),
      bsvm(x, contract_data$y, threads = 1, control = list(tol = 1e-8), penalty = "none")
    ),
    list(
      gpsvm(
        source, inducing = points_of(contract_data), seed = 1, threads = 1,
        control = list(tol = 1e-12), method = "vb", tune = FALSE
      ),
      gpsvm(
        x, contract_data$y, inducing = points_of(contract_data), seed = 1, threads = 1,
        control = list(tol = 1e-12), method = "vb", tune = FALSE
      )
    )
  )
  for (pair in own) {
    object <- pair[[1]]
    inside <- pair[[2]]
    name <- class(object)[1]
    # The calibrated link of a source is that of a sample of its rows.
    ask <- function(...) predict(object, ..., link = "probit")
    same <- function(...) predict(inside, ..., link = "probit")
    for (type in c("link", "response")) {
      expect_equal(
        unname(ask(source, type = type)), unname(same(x, type = type)),
        tolerance = 1e-5, info = name
      )
      expect_equal(
        unname(ask(rows, type = type)), unname(same(x, type = type)), tolerance = 1e-5, info = name
      )
    }
    expect_equal(
      ask(source, "link", interval = "credible"), ask(rows, "link", interval = "credible"),
      ignore_attr = TRUE, info = name
    )
    expect_equal(
      ask(source, "prob", se.fit = TRUE), ask(rows, "prob", se.fit = TRUE),
      ignore_attr = TRUE, info = name
    )
    expect_equal(nobs(object), 80L, info = name)
    expect_equal(weights(object), rep(1, 80), info = name)
    expect_refusal(formula(object), info = name)
    expect_refusal(model.frame(object), info = name)
    expect_output(print(object))
    expect_output(print(summary(object)))
    expect_equal(nrow(glance(object)), 1L)
    expect_gt(nrow(tidy(object, conf.int = TRUE)), 0L)
    file <- tempfile(fileext = ".rds")
    saveRDS(object, file)
    expect_equal(predict(readRDS(file), rows, link = "probit"), ask(rows), info = name)
    unlink(file)
  }
})
