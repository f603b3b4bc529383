# What the scripts of the papers share. A script says what it is in `about`, has
# a function run() that gives the numbers, one row a quantity, and may have
# draw() for its figure. `size` is set where a script is loaded.

pick <- function(tiny, quick, paper) {
  switch(size, tiny = tiny, quick = quick, paper = paper)
}

# A fit with the arguments of a paper; `change` has those of another size.
fit_as <- function(fitter, paper, model, ..., change = list()) {
  arguments <- published(paper, model)
  control <- c(unclass(arguments$control))
  control[names(change$control)] <- change$control
  arguments[names(change)] <- change
  if (length(control)) arguments$control <- control
  do.call(fitter, c(list(...), arguments))
}

# Means over repetitions (rows) and their standard errors, a row a quantity.
averaged <- function(rows, raw = rows) {
  rows <- if (is.list(rows) && !is.data.frame(rows)) {
    do.call(rbind, rows)
  } else {
    as.matrix(rows)
  }
  count <- nrow(rows)
  structure(
    data.frame(
      quantity = colnames(rows), ours = unname(colMeans(rows, na.rm = TRUE)),
      mc_error = if (count > 1) {
        unname(apply(rows, 2, stats::sd, na.rm = TRUE)) / sqrt(count)
      } else {
        NA_real_
      }
    ),
    raw = raw
  )
}

# Numbers that are not means.
measured <- function(..., raw = NULL) {
  values <- c(...)
  structure(
    data.frame(
      quantity = names(values), ours = unname(values), mc_error = NA_real_
    ),
    raw = raw
  )
}

both <- function(first, second) {
  structure(rbind(first, second), raw = attr(first, "raw"))
}

# CPU seconds, of one run.
timed <- function(run) {
  seconds <- sum(system.time(value <- run())[1:2])
  list(value = value, seconds = max(seconds, 0.001))
}

repeated <- function(count, run) {
  lapply(seq_len(count), function(k) {
    set.seed(k)
    run(k)
  })
}

boxes <- function(rows, title = "", ylab = "error") {
  rows <- do.call(rbind, rows)
  graphics::boxplot(
    as.data.frame(rows, check.names = FALSE),
    main = title, ylab = ylab, col = "grey90", las = 1
  )
}

three_quarters <- function(n) sort(sample(n, round(0.75 * n)))

probability <- function(fit, new, ...) {
  predict(fit, new, type = "prob", ...)[, 2]
}

# The paper's class: the sign of the posterior mean of f.
by_sign <- function(fit, new, levels) {
  factor(predict(fit, new, type = "link") > 0, c(FALSE, TRUE), levels)
}

# Linear support vector machine, cost by two grids of hold-outs --------------

fit_svm <- function(x, y, cost) {
  e1071::svm(x, y, kernel = "linear", cost = cost, scale = FALSE)
}

# Luts and Ormerod, section 4.1; their costs are not given.
tune_svm <- function(x, y, hold_outs, coarse = 2^seq(-5, 5, 2),
                     fine = 2^seq(-1.5, 1.5, 0.5)) {
  error <- function(costs) {
    rowMeans(vapply(seq_len(hold_outs), function(h) {
      inner <- three_quarters(length(y))
      if (length(unique(y[inner])) < 2) {
        return(rep(NA_real_, length(costs)))
      }
      vapply(costs, function(cost) {
        fit <- fit_svm(x[inner, , drop = FALSE], y[inner], cost)
        mean(predict(fit, x[-inner, , drop = FALSE]) != y[-inner])
      }, 0)
    }, numeric(length(costs))), na.rm = TRUE)
  }
  best <- coarse[which.min(error(coarse))]
  refined <- best * fine
  fit_svm(x, y, refined[which.min(error(refined))])
}

standardised_pair <- function(x, new) {
  center <- colMeans(x)
  spread <- apply(x, 2, stats::sd)
  varies <- spread > 0
  put <- function(x) {
    out <- scale(x[, varies, drop = FALSE], center[varies], spread[varies])
    matrix(out, nrow(x), dimnames = list(NULL, colnames(x)[varies]))
  }
  list(x = put(x), new = put(new))
}

# Luts and Ormerod ------------------------------------------------------------

# Section 4.2; the paper's own generator is lost. Labels y = sign(f + e),
# f = x1 - x2 + x3 - x4, e logistic, x standard normal.
simulate_linear <- function(n, p) {
  x <- matrix(stats::rnorm(n * p), n, p)
  f <- drop(x[, 1:4] %*% c(1, -1, 1, -1))
  list(x = x, y = factor(f + stats::rlogis(n) > 0, c(FALSE, TRUE)))
}

penalty_ber <- function(n, p, change = list()) {
  train <- simulate_linear(n, p)
  test <- simulate_linear(1000, p)
  ber <- function(class) balanced_error(test$y, class)
  ours <- function(model, change = list()) {
    fit <- fit_as(
      bsvm, "luts2014", model, train$x, train$y,
      seed = 1, change = change
    )
    by_sign(fit, test$x, levels(test$y))
  }
  runs <- list(
    SVM = timed(function() {
      pair <- standardised_pair(train$x, test$x)
      predict(tune_svm(pair$x, train$y, pick(1, 2, 100)), pair$new)
    }),
    VB = timed(function() ours("penalty")),
    Gibbs = timed(function() ours("penalty_gibbs", change))
  )
  errors <- vapply(runs, function(run) ber(run$value), 0)
  list(errors = errors, seconds = vapply(runs, `[[`, 0, "seconds"))
}

short_chain <- function() {
  pick(
    list(ndraws = 200, control = list(warmup = 100)),
    list(ndraws = 1000, control = list(warmup = 1000)), list()
  )
}

# A panel a number of predictors, at one number of rows.
figure1 <- function(n) {
  columns <- pick(5, c(5, 10, 20, 50), c(5, 10, 20, 50))
  panels <- lapply(columns, function(p) {
    rows <- repeated(pick(2, 10, 200), function(k) {
      e <- penalty_ber(n, p, short_chain())$errors
      c(e, "VB minus SVM" = e[["VB"]] - e[["SVM"]],
        "Gibbs minus VB" = e[["Gibbs"]] - e[["VB"]])
    })
    out <- averaged(rows)
    out$quantity <- sprintf("BER, p = %d, %s", p, out$quantity)
    list(table = out, raw = do.call(rbind, rows)[, 1:3])
  })
  structure(
    do.call(rbind, lapply(panels, `[[`, "table")),
    raw = stats::setNames(lapply(panels, `[[`, "raw"), columns)
  )
}

draw_figure1 <- function(raw) {
  old <- graphics::par(mfrow = c(1, length(raw)))
  on.exit(graphics::par(old))
  for (p in names(raw)) {
    graphics::boxplot(
      as.data.frame(raw[[p]]),
      main = paste("p =", p), ylab = "balanced error", las = 1, col = "grey90"
    )
  }
}

# Vermaak, Godsill and Doucet --------------------------------------------------

sinc <- function(x) ifelse(x == 0, 1, sin(x) / x)

# Section 4.1: noise of 0.1 on 50 points from -10 to 10.
sinc_data <- function(set) {
  set.seed(100 + set)
  x <- seq(-10, 10, length.out = 50)
  list(x = cbind(x = x), y = sinc(x) + stats::rnorm(50, sd = 0.1))
}

sinc_test <- function() cbind(x = seq(-10, 10, length.out = 1000))

sinc_fit <- function(set, model = "sinc", change = list()) {
  data <- sinc_data(set)
  fit_as(
    seqkr, "vermaak2004", model, data$x, data$y,
    seed = set, change = change
  )
}

sinc_error <- function(f) sqrt(mean((f - sinc(sinc_test()))^2))

sinc_numbers <- function(model, change = list()) {
  averaged(lapply(seq_len(pick(1, 25, 25)), function(set) {
    fit <- sinc_fit(set, model, change)
    c(
      "test error" = sinc_error(predict(fit, sinc_test())),
      "kernels" = mean(fit$posterior$size), "noise" = sigma(fit)
    )
  }))
}

# Splits of 300 and 206 rows; everything by the training rows.
boston_split <- function(split) {
  data <- paper_data("boston")
  x <- as.matrix(data[-14])
  set.seed(split)
  at <- sample(506, 300)
  if (size == "tiny") at <- at[1:60]
  list(
    x = x[at, ], y = data$medv[at], new = x[-at, ], truth = data$medv[-at]
  )
}

# Wenzel et al. ----------------------------------------------------------------

# The folds of the authors' scripts: contiguous, not shuffled; the last n %% 10
# rows are in none.
contiguous_folds <- function(n, k = 10) {
  size <- n %/% k
  lapply(seq_len(k), function(fold) (fold - 1) * size + seq_len(size))
}

raetsch <- function(set, most = Inf) {
  data <- paper_data(set)
  if (nrow(data) > most) {
    set.seed(1)
    data <- data[sort(sample(nrow(data), most)), ]
  }
  last <- ncol(data)
  list(x = as.matrix(data[-last]), y = factor(data[[last]]))
}

# Means over folds of functions of x, y and new rows that give the probability
# of the second class.
fold_scores <- function(data, machines, folds = contiguous_folds(nrow(data$x))) {
  if (size == "tiny") folds <- folds[1:2]
  averaged(lapply(folds, function(test) {
    pair <- standardised_pair(data$x[-test, ], data$x[test, ])
    truth <- data$y[test] == levels(data$y)[2]
    unlist(lapply(machines, function(machine) {
      set.seed(1)
      done <- timed(function() machine(pair$x, data$y[-test], pair$new))
      p <- unname(done$value)
      c(
        "error" = mean((p > 0.5) != truth), "Brier" = mean((p - truth)^2),
        "seconds" = done$seconds
      )
    }))
  }))
}

inducing_of <- function(y) min(100L, floor(0.2 * length(y)))

gp_machine <- function(model, change = list(), link = NULL) {
  function(x, y, new) {
    fit <- fit_as(
      gpsvm, "wenzel2017", model, x, y,
      inducing = inducing_of(y), standardize = FALSE, seed = 1,
      change = change
    )
    # Without `link` the integral of the printed one, whose root is missing.
    f <- predict(fit, new, type = "link", se.fit = TRUE)
    spread <- if (identical(link, "printed")) {
      1 + f$se.fit^2
    } else {
      sqrt(1 + f$se.fit^2)
    }
    stats::pnorm(f$fit / spread)
  }
}

platt_machine <- function(x, y, new) {
  fit <- e1071::svm(
    x, y,
    gamma = 1 / 25, scale = FALSE, probability = TRUE
  )
  attr(predict(fit, new, probability = TRUE), "probabilities")[, levels(y)[2]]
}

gp_classifier <- function(x, y, new) {
  fit <- kernlab::gausspr(
    x, y,
    kernel = kernlab::rbfdot(1 / 25), scaled = FALSE
  )
  kernlab::predict(fit, new, type = "probabilities")[, levels(y)[2]]
}

# Table 1 for one set. The rows of large ones are fewer at size quick.
table1 <- function(set, most = Inf) {
  data <- raetsch(set, pick(80, most, Inf))
  machines <- list(
    "S-BSVM" = gp_machine("stochastic"), "B-BSVM" = gp_machine("batch"),
    "S-BSVM, eq. 13 as printed" = gp_machine("stochastic", link = "printed"),
    "SVM + Platt" = platt_machine
  )
  if (nrow(data$x) <= pick(1000, 1000, 5000)) {
    machines[["ECM"]] <- gp_machine("ecm")
    machines[["GPC"]] <- gp_classifier
  }
  machines[["gpsvm() at its defaults"]] <- function(x, y, new) {
    predict(gpsvm(x, y, seed = 1), new, type = "prob")[, 2]
  }
  out <- fold_scores(data, machines)
  # "machine.what" to "what, machine"
  out$quantity <- sub("^(.*)[.]([^.]*)$", "\\2, \\1", out$quantity)
  out
}
