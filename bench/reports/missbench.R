# Missing predictors: golden numbers, refusals and curves.

missing_rows <- function(seed, n = 400) {
  set.seed(seed)
  z <- rnorm(n)
  x <- 0.5 * z + sqrt(0.75) * rnorm(n)
  y <- x^2 / 2 + 0.5 * z + rnorm(n) / 2
  x[runif(n) < plogis(1.5 * (y - mean(y)) - 1)] <- NA
  data.frame(y, x, z)
}

curve_error <- function(data, missing) {
  fit <- suppressMessages(suppressWarnings(
    bkm(y ~ gp(x) + z, data, missing = missing, threads = 1)
  ))
  at <- data.frame(x = seq(-1.5, 1.5, 0.1), z = 0)
  sqrt(mean((predict(fit, at) - at$x^2 / 2)^2))
}

missing_first <- function(formula) {
  error <- tryCatch(
    bkm(formula, missing_rows(1), missing = "model"), error = identity
  )
  text <- gsub("\n *", " ", conditionMessage(error))
  if (grepl("gp(x)", text, fixed = TRUE)) "names gp(x)" else text
}

# The means of golden/missing that lie beyond its tolerance.
golden_missing <- function(method) {
  folder <- "tests/testthat"
  scope <- new.env()
  scope$test_path <- testthat::test_path
  for (file in c("flat", "golden", "golden-missing")) {
    sys.source(file.path(folder, paste0("helper-", file, ".R")), scope)
  }
  scope$golden_folder <- function(part) file.path(folder, "golden", part)
  scope$tidy <- generics::tidy
  cases <- scope$golden_cases("missing")
  worst <- vapply(cases, function(case) {
    golden <- scope$read_golden_missing(case)
    found <- scope$golden_missing_estimates(
      scope$golden_missing_fit(golden, method)
    )$mean
    if (is.null(golden$mean)) {
      best <- scope$joint_normal_best(golden$formula, golden$data)
      max(abs(found[seq_along(best$mean)] - best$mean) / (0.1 * best$sd))
    } else {
      name <- intersect(names(found), names(golden$mean))
      name <- name[unlist(golden$sd[name]) > 0]
      gap <- abs(found[name] - unlist(golden$mean[name]))
      max(gap / (
        0.15 * unlist(golden$sd[name]) + 4 * unlist(golden$mcse[name])
      ))
    }
  }, 0)
  paste(sprintf("%s %.1f", cases, worst), collapse = ", ")
}

cases <- list(
  report(
    "A3", "golden/missing, \"ep\": the largest error in units of its tolerance",
    paste(
      "gaussian_by_y 17.6, gaussian_groups_by_y 28.2, gaussian_groups 7.6,",
      "probit_groups 1.0 (0.6.0)"
    ),
    "at most 1: a Gibbs sampler in plain R, and maximum likelihood",
    function() golden_missing("ep")
  ),
  report(
    "A3", "I(x^2) beside x, poly(x, 2), s(x) of an x that misses values",
    "impute, or leave the rows out", "names gp(x), which may miss values",
    function() {
      paste(vapply(
        c(y ~ x + I(x^2), y ~ poly(x, 2), y ~ s(x)), missing_first, ""
      ), collapse = "; ")
    }
  ),
  report(
    "A3", paste(
      "error of gp(x), f = x^2 / 2, 400 rows, x missing by the response, 3 data",
      "sets: missing = \"model\", complete rows"
    ),
    "0.055, 0.129 (0.6.0)", "\"model\" below the complete rows",
    function() {
      each <- vapply(1:3, function(seed) {
        data <- missing_rows(seed)
        vapply(c("model", "omit"), curve_error, 0, data = data)
      }, numeric(2))
      sprintf("%.3f, %.3f", mean(each[1, ]), mean(each[2, ]))
    }
  )
)
