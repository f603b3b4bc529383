# What a user of stats, lme4 or rstanarm would ask of a fit. Cases: see
# helper-contract.R.

named_rows <- function(one) {
  data <- one$data[1:5, ]
  row.names(data) <- letters[1:5]
  one$new(data)
}

# Does `code` raise a classed error that says what is missing?
expect_refusal <- function(code, kind = "argument", info = NULL) {
  expect_error(
    code,
    class = paste0("bayeskernel_error_", kind), info = info
  )
}

# Has the fit draws? A posterior mode has neither draws nor a distribution.
can_draw <- function(object) object$method != "ecm"

test_that("type response is the probability of the positive class or a mean", {
  for_each_case(function(one, object, new) {
    response <- predict(object, new, type = "response")
    if (one$two) {
      expect_equal(
        response, predict(object, new, type = "prob")[, 2],
        info = one$name
      )
    } else if (one$classes) {
      expect_equal(
        response, predict(object, new, type = "prob"),
        info = one$name
      )
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

test_that("a probability has a standard deviation, on new rows and on its own", {
  for_each_case(function(one, object, new) {
    own <- predict(object, type = "prob", se.fit = TRUE)
    others <- predict(object, new, type = "prob", se.fit = TRUE)
    expect_equal(
      own, others,
      tolerance = if (one$dense) 1e-4 else 1e-8, info = one$name
    )
    expect_length(own$se.fit, 80L)
    expect_true(all(own$se.fit >= 0 & own$se.fit <= 0.5), info = one$name)
  }, two = TRUE)
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

test_that("intervals of coefficients are those of the summary", {
  for_each_case(function(one, object, new) {
    if (!one$linear) {
      for (extract in list(coef, vcov, confint, fixef, ranef, VarCorr)) {
        expect_refusal(extract(object), info = one$name)
      }
      return(invisible())
    }
    limits <- confint(object)
    expect_equal(dimnames(limits), list(
      names(coef(object)), c("2.5 %", "97.5 %")
    ), info = one$name)
    summary <- summary(object)
    shown <- rbind(
      summary$coefficients[, 3:4, drop = FALSE],
      summary$selection[, 3:4, drop = FALSE]
    )
    expect_equal(
      limits[rownames(shown), ], shown,
      tolerance = 1e-8, info = one$name
    )
    one_half <- confint(object, "x1", level = 0.5)
    expect_equal(dimnames(one_half), list("x1", c("25 %", "75 %")))
    if (!is.null(object$draws)) {
      draws <- as.matrix(object)[, "(Intercept)"]
      expect_equal(
        unname(limits["(Intercept)", ]),
        unname(stats::quantile(draws, c(0.025, 0.975))),
        tolerance = 1e-8, info = one$name
      )
    }
    expect_refusal(confint(object, "unheard"), info = one$name)
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
    if (inherits(object, "bark")) {
      expect_true(is.finite(deviance(object)), info = one$name)
    } else {
      expect_refusal(deviance(object), info = one$name)
    }
    expect_refusal(logLik(object), info = one$name)
  })
})

test_that("tables have intervals when asked", {
  for_each_case(function(one, object, new) {
    table <- tidy(object, conf.int = TRUE)
    expect_true(
      all(c("term", "estimate", "conf.low", "conf.high") %in% names(table)),
      info = one$name
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
    drawn <- 0
    for (type in names(known)) {
      picture <- known[[type]]
      if (is.null(picture$reason) && is.null(picture$needs)) {
        drawn <- drawn + 1
        expect_error(plot(object, type), NA)
      } else {
        error <- expect_refusal(plot(object, type), info = one$name)
        expect_match(conditionMessage(error), "Accepted: ")
        why <- if (is.null(picture$reason)) picture$ask else picture$reason
        expect_match(
          gsub("\\s+", " ", conditionMessage(error)), gsub("\\s+", " ", why),
          fixed = TRUE
        )
      }
    }
    expect_gt(drawn, 0)
    if (one$classes) {
      expect_error(
        plot(
          object, "calibration",
          newdata = new, y = one$data[[one$response]]
        ),
        NA
      )
    }
    unknown <- expect_refusal(plot(object, "portrait"), info = one$name)
    expect_match(conditionMessage(unknown), names(known)[1], fixed = TRUE)
    expect_refusal(plot(object, main = 1:3), info = one$name)
  })
})
