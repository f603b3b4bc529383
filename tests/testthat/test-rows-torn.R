# A list of rows or of a posterior that has lost an element, or whose element is not of the rows, is
# an error that the core raises, never a read beyond its memory.

torn_lists <- function(x, path = character()) {
  out <- list()
  for (name in names(x)) {
    lost <- x
    lost[[name]] <- NULL
    out[[paste(c(path, name, "lost"), collapse = "$")]] <- lost
    value <- x[[name]]
    if (is.list(value)) {
      for (k in seq_along(value)) if (is.list(value[[k]])) {
        inner <- torn_lists(value[[k]], c(path, name, k))
        out <- c(out, lapply(inner, function(own) {
          x[[name]][[k]] <- own
          x
        }))
      }
    } else if (is.matrix(value) && length(value)) {
      x_short <- x
      x_short[[name]] <- value[-1L, , drop = FALSE]
      out[[paste(c(path, name, "short"), collapse = "$")]] <- x_short
    } else if (length(value) > 1L) {
      x_short <- x
      x_short[[name]] <- value[-1L]
      out[[paste(c(path, name, "short"), collapse = "$")]] <- x_short
    }
  }
  out
}

two_terms <- function() {
  set.seed(4)
  x <- matrix(rnorm(12), 6)
  rows <- list(
    x = x, offset = numeric(6), predictors = matrix(c(NA, x[-1L, 2]), 6),
    terms = list(list(
      z = matrix(1, 6, 1), group = c(1L, 2L, 2L, 1L, 0L, 1L),
      uses = list(
        row = integer(), column = integer(), predictor = integer(), base = numeric(),
        slope = numeric()
      )
    )),
    uses = list(row = 0L, column = 1L, predictor = 0L, base = 0.5, slope = 2),
    patterns = list(list(rows = 0L, predictors = 0L))
  )
  posterior <- list(
    center = c(0, 0), scale = c(1, 1), mean = c(0.4, -0.3), covariance = diag(2) / 5,
    gamma = numeric(), indicator_var = numeric(), basis = matrix(0, 0, 0), first = 0L,
    hidden_var = 0,
    terms = list(list(
      kind = "apart", mean = matrix(c(0.2, -0.1), 2), loading = matrix(0, 1, 0),
      covariance = matrix(c(0.3, 0.4), 1), index = integer(), unseen = matrix(0.7, 1, 1)
    )),
    precision = matrix(2, 1, 1), x_mean = 0.1, x_mean_cov = matrix(0.05, 1, 1)
  )
  list(rows = rows, posterior = posterior)
}

test_that("moments of a whole list are those by hand", {
  case <- two_terms()
  out <- core_call(linear_moments_cpp(case$rows, case$posterior, 1L))
  x <- case$rows$x
  x[1, 2] <- 0.5 + 2 * 0.1
  u <- c(0.2, -0.1, 0)[c(1, 2, 2, 1, 3, 1)]
  expect_equal(out$mean, drop(x %*% c(0.4, -0.3)) + u, tolerance = 1e-12)
  var <- rowSums(x^2) / 5 + c(0.3, 0.4, 0.7)[c(1, 2, 2, 1, 3, 1)]
  # The missing value: variance 1 / 2 and that of its mean, times the slope and E theta^2.
  var[1] <- var[1] + 4 * (1 / 2 + 0.05) * (0.3^2 + 1 / 5)
  expect_equal(out$var, var, tolerance = 1e-12)
})

test_that("torn rows and posteriors are errors", {
  case <- two_terms()
  # Elements that nothing is read from here.
  unread <- "^(gamma|indicator_var|basis)"
  for (part in names(case)) {
    lists <- torn_lists(case[[part]])
    expect_gt(length(lists), 15)
    for (name in names(lists)) {
      own <- case
      own[[part]] <- lists[[name]]
      if (grepl(unread, name) && !grepl("lost", name)) next
      expect_error(
        core_call(linear_moments_cpp(own$rows, own$posterior, 1L)),
        class = "bayeskernel_error", info = paste(part, name)
      )
    }
  }
})

test_that("places beyond the lists are errors", {
  case <- two_terms()
  refused <- function(change) {
    expect_error(
      core_call(linear_moments_cpp(change(case)$rows, change(case)$posterior, 1L)),
      "does not fit the rows"
    )
  }
  refused(function(a) {
    a$rows$uses$row <- 7L
    a
  })
  refused(function(a) {
    a$rows$uses$row <- 2L
    a
  })
  refused(function(a) {
    a$rows$uses$column <- 2L
    a
  })
  refused(function(a) {
    a$rows$uses$predictor <- 1L
    a
  })
  refused(function(a) {
    a$rows$terms[[1]]$group[3] <- 3L
    a
  })
  refused(function(a) {
    a$rows$terms[[1]]$group[3] <- -1L
    a
  })
  refused(function(a) {
    a$rows$patterns[[1]]$rows <- 9L
    a
  })
  refused(function(a) {
    a$posterior$terms[[1]]$kind <- "dense"
    a
  })
})

test_that("torn draws are errors", {
  rows <- two_terms()$rows
  set.seed(5)
  draws <- list(
    theta = matrix(rnorm(6), 3), x_mean = matrix(rnorm(3), 3), x_cov = matrix(1, 1, 3),
    terms = list(list(effects = matrix(rnorm(6), 3), covariance = matrix(1, 3, 1)))
  )
  moments <- function(rows, draws) core_call(draw_moments_cpp(rows, draws, "probit", 1L))
  expect_length(moments(rows, draws)$mean, 6)
  for (own in torn_lists(draws)) expect_error(moments(rows, own), class = "bayeskernel_error")
  for (own in torn_lists(rows)) expect_error(moments(own, draws), class = "bayeskernel_error")
  noise <- rnorm(2)
  rows$terms[[1]]$group[5] <- 1L
  expect_error(core_call(draw_values_cpp(rows, draws, noise, 1L)), class = "bayeskernel_error")
})

test_that("torn data and priors of a fit are errors", {
  set.seed(6)
  d <- data.frame(x = rnorm(40), z = rnorm(40), g = gl(4, 10))
  d$y <- factor(d$x + rnorm(40) > 0)
  kept <- NULL
  fit <- bsvm_vb_cpp
  replace <- function(by) utils::assignInNamespace("bsvm_vb_cpp", by, "bayeskernel")
  replace(function(data, prior, settings) {
    kept <<- list(data, prior, settings)
    fit(data, prior, settings)
  })
  on.exit(replace(fit))
  bsvm(y ~ x + z + (1 + x | g), d, method = "vb", threads = 1)
  whole <- core_call(fit(kept[[1]], kept[[2]], kept[[3]]))
  expect_true(all(is.finite(unlist(whole$theta_mean))))
  short <- function(x) if (is.matrix(x)) x[-1L, , drop = FALSE] else x[-1L]
  refused <- function(data = kept[[1]], prior = kept[[2]], info = "") {
    expect_error(core_call(fit(data, prior, kept[[3]])), class = "bayeskernel_error", info = info)
  }
  for (name in c("x", "center", "scale", "y", "weights", "offset", "group", "z")) {
    if (!length(kept[[1]][[name]])) next
    data <- kept[[1]]
    data[[name]] <- short(data[[name]])
    refused(data, info = name)
    data[[name]] <- NULL
    refused(data, info = paste(name, "lost"))
  }
  data <- kept[[1]]
  data$group[2] <- 99L
  refused(data, info = "a group that is none")
  data <- kept[[1]]
  data$kept <- list(list(group = rep(5L, 40), members = 4L, z = matrix(1, 40, 1)))
  refused(data, info = "a member that is none")
  for (name in c("precision", "mean")) {
    prior <- kept[[2]]
    prior[[name]] <- short(prior[[name]])
    refused(prior = prior, info = name)
  }
  prior <- kept[[2]]
  prior$blocks[[length(prior$blocks)]]$width <- NULL
  refused(prior = prior, info = "a block without width")
})
