# Fits of rows with missing predictors against a Gibbs sampler and maximum likelihood: every case of
# golden/missing, whatever its family and its sizes. Tolerances: README.md
# of that folder.

skip_if_not_installed("jsonlite")
skip_if_not_installed("lme4")

cases <- golden_cases("missing")

test_that("there are golden numbers", {
  skip_if(length(cases) == 0L, "no golden files beside the tests")
  expect_gt(length(cases), 0L)
})

# The posterior mean is .07 to .09 standard errors from the maximum of which it has to be within .1:
# errors of simulation have to be small.
run <- function(golden, method) {
  if (method == "gibbs") {
    draws <- if (is.null(golden$maximum_likelihood)) 1500 else 12000
    suppressWarnings(
      golden_missing_fit(golden, method, chains = 4, warmup = 500, ndraws = draws),
      classes = "bayeskernel_warning_convergence"
    )
  } else {
    golden_missing_fit(golden, method)
  }
}

for (case in cases) {
  golden <- read_golden_missing(case)

  if (!is.null(golden$mean)) {
    for (method in c("ep", "gibbs", "vb")) {
      # One fit, made by the first test that asks.
      delayedAssign("fit", run(golden, method))

      test_that(paste(case, "by", method, "is the independent sampler's"), {
        found <- golden_missing_estimates(fit)
        names <- golden_missing_names(golden, found)
        expect_true(all(c("b0", "b1") %in% names))
        mean <- unlist(golden$mean)[names]
        sd <- unlist(golden$sd)[names]
        error <- unlist(golden$mcse)[names]
        if (is.null(error)) error <- 0
        slack <- if (method == "vb") 0.25 * sd else 0.15 * sd + 4 * error
        for (name in names) {
          expect_golden(
            found$mean[[name]], mean[[name]], slack[[name]], paste(case, method, "mean of", name)
          )
          # "vb" understates these and has no tolerance.
          if (method != "vb") {
            expect_golden(
              found$sd[[name]], sd[[name]], 0.12 * sd[[name]], paste(case, method, "sd of", name)
            )
          }
        }
      })

      if (!is.null(golden$imputed)) {
        test_that(paste(case, "by", method, "completes as the sampler does"), {
          want <- as.data.frame(golden$imputed)
          own <- imputed(fit)
          column <- either(want$column, unique(own$column))
          at <- match(paste(want$row, column), paste(own$row, own$column))
          expect_false(anyNA(at))
          expect_identical(length(at), nrow(own))
          found <- own$mean[at]
          for (name in unique(column)) {
            part <- column == name
            x <- golden$data[[name]]
            expect_gt(
              stats::cor(found[part], want$mean[part]), 0.995,
              label = paste(case, method, "correlation of", name)
            )
            expect_lt(
              mean(abs(found[part] - want$mean[part])), 0.05 * stats::sd(x, na.rm = TRUE),
              label = paste(case, method, "difference of", name)
            )
          }
        })
      }
    }
  }

  if (!is.null(golden$maximum_likelihood)) {
    best <- joint_normal_best(golden$formula, golden$data)
    want <- unlist(golden$maximum_likelihood)
    names <- grep("^b[0-9]+$", names(want), value = TRUE)

    test_that(paste(case, "has standard errors at the golden maximum"), {
      expect_golden(best$mean, want[names], 1e-3 * best$sd, "maximum")
      expect_golden(best$sigma, want[["sigma"]], 1e-4, "noise")
    })

    for (method in c("ep", "gibbs", "vb")) {
      test_that(paste(case, "by", method, "is near maximum likelihood"), {
        found <- golden_missing_estimates(run(golden, method))$mean[names]
        for (name in names) {
          expect_golden(
            found[[name]], want[[name]], 0.1 * best$sd[match(name, names)],
            paste(case, method, name)
          )
        }
      })
    }
  }
}
