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
