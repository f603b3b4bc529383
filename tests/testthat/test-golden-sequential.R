# The golden numbers of sequential kernel regression: every folder under golden/sequential that
# holds expected.json, itself included, whatever its sizes. Tolerances: README.md of
# that folder.

skip_if_not_installed("jsonlite")

golden_sequential_cases <- function() {
  root <- golden_folder("sequential")
  dirname(list.files(root, "^expected[.]json$", recursive = TRUE))
}

read_golden_sequential <- function(case) {
  folder <- file.path(golden_folder("sequential"), case)
  table <- function(name, ...) {
    utils::read.csv(file.path(folder, paste0(name, ".csv")), check.names = FALSE, ...)
  }
  subsets <- table("posterior_subsets", colClasses = c(centres = "character"))
  data <- table("data")
  predictors <- setdiff(names(data), "y")
  predictions <- table("predictions")
  list(
    expected = jsonlite::fromJSON(file.path(folder, "expected.json")),
    x = as.matrix(data[predictors]), y = data$y, subsets = subsets,
    sets = lapply(strsplit(subsets$centres, "_"), as.integer),
    new = as.matrix(predictions[predictors]), predictions = predictions, fitted = table("fitted")
  )
}

golden_sequential_fit <- function(golden, ..., lambda = golden$expected$lambda,
                                  kmax = golden$expected$kmax) {
  expected <- golden$expected
  flat(seqkr)(
    golden$x, golden$y, kernel = rbf(expected$width / sqrt(2)), order = "given",
    standardize = FALSE, seed = 1, threads = 2, progress = FALSE,
    prior = seqkr_prior(lambda, kmax, expected$sigma2_y, expected$sigma2_beta), ...
  )
}

for (case in golden_sequential_cases()) {
  golden <- read_golden_sequential(case)
  expected <- golden$expected
  subsets <- golden$subsets
  n <- length(golden$y)

  test_that(sprintf("sequential %s: every set of centres, to 1e-8", case), {
    expect_match(expected$kernel, "exp(-d^2/width^2)", fixed = TRUE)
    # A grid of the set's centres and a prior that asks for all of them: every particle is the set,
    # and nothing is random.
    size <- 0:min(expected$kmax, n)
    log_size <- size * log(expected$lambda) - lfactorial(size)
    log_size <- log_size - log(sum(exp(log_size)))
    moments <- Map(function(set, k) {
      fit <- if (k == 0L) {
        golden_sequential_fit(golden, particles = 2, kmax = 0)
      } else {
        golden_sequential_fit(
          golden, particles = 2, sweeps = 0, kmax = k, lambda = 1e13,
          grid = golden$x[set, , drop = FALSE], final_moves = 0, temper = FALSE
        )
      }
      at <- predict(fit, golden$new, se.fit = TRUE)
      list(log = log_evidence(fit), mean = at$fit, var = at$se.fit^2, fitted = fitted(fit))
    }, golden$sets, subsets$k)
    log_joint <- vapply(moments, `[[`, 1, "log") + log_size[subsets$k + 1L] - lchoose(n, subsets$k)
    expect_lt(max(abs(log_joint - subsets$log_joint)), 1e-8)
    prob <- exp(log_joint - max(log_joint))
    prob <- prob / sum(prob)
    expect_lt(max(abs(prob - subsets$prob)), 1e-8)
    total <- max(log_joint) + log(sum(exp(log_joint - max(log_joint))))
    expect_lt(abs(total - expected$log_evidence_by_t[n]), 1e-8)
    mix <- function(name) drop(vapply(moments, `[[`, numeric(NROW(golden$new)), name) %*% prob)
    mean <- mix("mean")
    square <- drop(vapply(moments, function(each) each$mean^2, numeric(NROW(golden$new))) %*% prob)
    expect_lt(max(abs(mean - golden$predictions$mean_f)), 1e-8)
    expect_lt(max(abs(mix("var") + square - mean^2 - golden$predictions$var_f)), 1e-8)
    own <- drop(vapply(moments, `[[`, numeric(n), "fitted") %*% prob)
    expect_lt(max(abs(own - golden$fitted$mmse)), 1e-8)
  })

  test_that(sprintf("sequential %s: 20000 particles", case), {
    fit <- golden_sequential_fit(golden, particles = 20000, sweeps = 1)
    expect_lt(max(abs(cumsum(log_evidence(fit, by_row = TRUE)) - expected$log_evidence_by_t)), 0.05)
    posterior <- fit$posterior
    of_particle <- rep(seq_along(posterior$size), posterior$size)
    centre <- posterior$grid_point[posterior$centre + 1L] + 1L
    found <- vapply(split(
      centre, factor(of_particle, seq_along(posterior$size))
    ), function(set) paste(sort(set), collapse = "_"), "")
    share <- as.vector(table(factor(found, subsets$centres))) / length(found)
    expect_equal(sum(share), 1)
    most <- if (nrow(subsets) > 100L) 0.06 else 0.04
    expect_lt(sum(abs(share - subsets$prob)) / 2, most)
    counts <- summary(fit)$kernels
    expect_lt(max(abs(counts$posterior - expected$prob_k)), 0.03)
    at <- predict(fit, golden$new, se.fit = TRUE)
    expect_lt(max(abs(at$fit - golden$predictions$mean_f)), 0.03)
    expect_lt(max(abs(at$se.fit^2 / golden$predictions$var_f - 1)), 0.1)
  })
}

test_that("there are golden numbers", {
  skip_if(length(golden_sequential_cases()) == 0L, "no golden numbers")
  expect_gt(length(golden_sequential_cases()), 0L)
})
