# The default run of bark(): seconds, what it says of chains that disagree, and
# many rows.

seconds_of <- function(...) {
  time <- system.time(fit <- suppressWarnings(bark(
    ..., seed = 1, threads = 1, control = bark_control(progress = FALSE)
  )))
  list(fit = fit, cpu = sum(time[1:2]))
}

cases <- list(
  report(
    "36.1", "bark(Ozone ~ ., airquality), CPU seconds by default, R-hat",
    "87 s", "at most 5 s", function() {
      air <- stats::na.omit(airquality)
      run <- seconds_of(Ozone ~ ., air)
      sprintf(
        "%.1f s, %.0f sweeps a chain, R-hat %.2f", run$cpu,
        run$fit$diagnostics$sweeps, max(run$fit$diagnostics$table$rhat, na.rm = TRUE)
      )
    }
  ),
  report(
    "36.1", "bark(medv ~ ., MASS::Boston), and what it says",
    "416 s and \"The chains do NOT yet agree\"",
    "at most 15 s; how far predictions differ", function() {
      run <- seconds_of(medv ~ ., MASS::Boston)
      sprintf(
        "%.1f s. %s", run$cpu,
        paste(bayeskernel:::until_line(run$fit$diagnostics), collapse = " ")
      )
    }
  ),
  report(
    "36.3", "bark() on 3,000 x 10 (5,000 take as long, in fewer sweeps)",
    "100,000 sweeps, minutes", "seconds; sd of the noise 1", function() {
      set.seed(1)
      x <- matrix(stats::runif(3e4), 3000)
      f <- 10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 +
        10 * x[, 4] + 5 * x[, 5]
      run <- seconds_of(x, f + stats::rnorm(3000))
      sprintf(
        "%.0f s, RMSE of f %.3f, sd of the noise %.3f", run$cpu,
        sqrt(mean((stats::fitted(run$fit) - f)^2)),
        mean(run$fit$draws[, , "sigma"])
      )
    }
  ),
  report(
    "36.5", "progress of rounds in a script", "a bar that moves, no round",
    "a line a round", function() {
      lines <- character()
      air <- stats::na.omit(airquality)
      withCallingHandlers(
        suppressWarnings(bark(
          Ozone ~ Wind + Temp, air,
          control = bark_control(warmup = 500, thin = 5, progress = TRUE), ndraws = 100,
          until = stop_at(rhat = 1.0001, sweeps = 2000), seed = 1
        )),
        message = function(m) {
          lines <<- c(lines, trimws(conditionMessage(m)))
          invokeRestart("muffleMessage")
        }
      )
      paste(lines, collapse = " | ")
    }
  )
)
