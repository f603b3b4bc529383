# What the scripts of the papers share. A script says what it is in `about`, has a function run()
# that gives the numbers, one row a quantity, and may have draw() for its figure, of the raw results
# of a run, or draw_table(), of the numbers. `size` is set where a script is loaded.

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
  force(raw)
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
    data.frame(quantity = names(values), ours = unname(values), mc_error = NA_real_), raw = raw
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

# Points of a figure with their standard errors, which are stored with the results, and the figure.
curves <- function(line, x, y, error = NA_real_) {
  structure(data.frame(line, x, y, error), class = c("curves", "data.frame"))
}

# The standard error of a share of n rows.
share_error <- function(share, n) sqrt(share * (1 - share) / n)

draw_curves <- function(raw, xlab) {
  names <- unique(raw$line)
  colour <- bk_palette(length(names))
  old <- graphics::par(mar = c(4, 4.5, 2.5, 1), mgp = c(3, 0.8, 0))
  on.exit(graphics::par(old))
  raw$error[is.na(raw$error)] <- 0
  graphics::plot(
    raw$x, raw$y, type = "n", log = "x", las = 1, xlab = paste(xlab, "(log scale)"), ylab = "error",
    ylim = range(raw$y - 2 * raw$error, raw$y + 2 * raw$error)
  )
  # Pale bars below all points, as bars of several lines overlap.
  rank <- match(raw$line, names)
  graphics::segments(
    raw$x, raw$y - 2 * raw$error, raw$x, raw$y + 2 * raw$error, lwd = 2,
    col = grDevices::adjustcolor(colour[rank], 0.4)
  )
  for (k in seq_along(names)) {
    own <- raw[rank == k, ]
    own <- own[order(own$x), ]
    graphics::points(own$x, own$y, type = "b", pch = k, lwd = 1.5, col = colour[k])
  }
  corner <- graphics::par("usr")[c(1, 4)]
  graphics::legend(
    10^corner[1], corner[2], names, col = colour, pch = seq_along(names), bty = "n",
    ncol = length(names), xpd = NA, yjust = 0.1, cex = 0.9, x.intersp = 0.8,
    text.width = 1.15 * max(graphics::strwidth(names, cex = 0.9))
  )
}

boxes <- function(rows, title = "", ylab = "error") {
  rows <- do.call(rbind, rows)
  colnames(rows) <- vapply(colnames(rows), function(name) {
    paste(strwrap(sub("^error, ", "", name), 14), collapse = "\n")
  }, "")
  old <- graphics::par(mar = c(4, 5, 2, 1), mgp = c(3.8, 1.4, 0))
  on.exit(graphics::par(old))
  graphics::boxplot(
    as.data.frame(rows, check.names = FALSE), main = title, ylab = ylab, col = "grey90", las = 1
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
  e1071::svm(x, y, kernel = "linear", cost = cost, scale = FALSE, fitted = FALSE)
}

# Luts and Ormerod, section 4.1; their costs are not given. Above these errors are the same.
tune_svm <- function(x, y, hold_outs, coarse = 2^seq(-7, 1, 2), fine = 2^seq(-1.5, 1.5, 0.5)) {
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

# Section 4.2; our copy of the paper lacks its generator. Labels y = sign(f + e),
# f = x1 - x2 + x3 - x4, e logistic, x standard normal.
simulate_linear <- function(n, p) {
  x <- matrix(stats::rnorm(n * p), n, p)
  f <- drop(x[, 1:4] %*% c(1, -1, 1, -1))
  list(x = x, y = factor(f + stats::rlogis(n) > 0, c(FALSE, TRUE)))
}

penalty_ber <- function(n, p, change = list(), hold_outs = pick(1, if (n < 200) 20 else 10, 100)) {
  train <- simulate_linear(n, p)
  test <- simulate_linear(1000, p)
  ber <- function(class) balanced_error(test$y, class)
  ours <- function(model, change = list()) {
    fit <- fit_as(bsvm, "luts2014", model, train$x, train$y, seed = 1, change = change)
    by_sign(fit, test$x, levels(test$y))
  }
  runs <- list(
    SVM = timed(function() {
      pair <- standardised_pair(train$x, test$x)
      predict(tune_svm(pair$x, train$y, hold_outs), pair$new)
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
    rows <- repeated(pick(2, if (n < 200) 40 else 20, 200), function(k) {
      e <- penalty_ber(n, p, short_chain())$errors
      c(e, "VB minus SVM" = e[["VB"]] - e[["SVM"]], "Gibbs minus VB" = e[["Gibbs"]] - e[["VB"]])
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
  old <- graphics::par(mfrow = c(1, length(raw)), mar = c(3, 5, 2, 1), mgp = c(3.8, 1, 0))
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
  fit_as(seqkr, "vermaak2004", model, data$x, data$y, seed = set, change = change)
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
  list(x = x[at, ], y = data$medv[at], new = x[-at, ], truth = data$medv[-at])
}

# Wenzel et al. ----------------------------------------------------------------

# The folds of the authors' scripts: contiguous, not shuffled; the last n %% 10 rows are in none.
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

# Means over folds of functions of x, y and new rows that give the probability of the second class.
fold_scores <- function(data, machines, folds = contiguous_folds(nrow(data$x))) {
  if (size == "tiny") folds <- folds[1:2]
  averaged(lapply(folds, function(test) {
    pair <- standardised_pair(data$x[-test, ], data$x[test, ])
    truth <- data$y[test] == levels(data$y)[2]
    unlist(lapply(machines, function(machine) {
      set.seed(1)
      done <- timed(function() machine(pair$x, data$y[-test], pair$new))
      p <- unname(done$value)
      c("error" = mean((p > 0.5) != truth), "Brier" = mean((p - truth)^2), "seconds" = done$seconds)
    }))
  }))
}

inducing_of <- function(y) min(100L, floor(0.2 * length(y)))

# inducing: "all", or a function of the classes.
gp_machine <- function(model, change = list(), link = NULL, inducing = inducing_of) {
  function(x, y, new) {
    points <- if (is.function(inducing)) inducing(y) else inducing
    fit <- fit_as(
      gpsvm, "wenzel2017", model, x, y, inducing = points, standardize = FALSE, seed = 1,
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
  fit <- e1071::svm(x, y, gamma = 1 / 25, scale = FALSE, probability = TRUE)
  attr(predict(fit, new, probability = TRUE), "probabilities")[, levels(y)[2]]
}

gp_classifier <- function(x, y, new) {
  fit <- kernlab::gausspr(x, y, kernel = kernlab::rbfdot(1 / 25), scaled = FALSE)
  kernlab::predict(fit, new, type = "probabilities")[, levels(y)[2]]
}

# Table 1 for one set. Its GPC takes hours for large ones.
table1 <- function(set) {
  data <- raetsch(set, pick(80, Inf, Inf))
  machines <- list(
    "S-BSVM" = gp_machine("stochastic"), "B-BSVM" = gp_machine("batch"),
    "S-BSVM, eq. 13 as printed" = gp_machine("stochastic", link = "printed"),
    "SVM + Platt" = platt_machine, "ECM" = gp_machine("ecm")
  )
  if (nrow(data$x) <= pick(1000, 1000, 5000)) machines[["GPC"]] <- gp_classifier
  machines[["gpsvm() at its defaults"]] <- function(x, y, new) {
    predict(gpsvm(x, y, seed = 1), new, type = "prob")[, 2]
  }
  out <- fold_scores(data, machines)
  # "machine.what" to "what, machine"
  out$quantity <- sub("^(.*)[.]([^.]*)$", "\\2, \\1", out$quantity)
  out
}

# Damoulas and Girolami ---------------------------------------------------------

random_folds <- function(n, k = 10) {
  fold <- sample(rep_len(seq_len(k), n))
  lapply(seq_len(k), function(f) which(fold == f))
}

# Table 2 for one set, in per cent: three kernels, and K nearest neighbors, plain and probabilistic,
# on the same ten folds.
table2 <- function(set) {
  data <- paper_data(set)
  if (size == "tiny") {
    set.seed(1)
    data <- data[sort(sample(nrow(data), min(nrow(data), 45))), ]
  }
  last <- ncol(data)
  x <- as.matrix(data[-last])
  y <- droplevels(factor(data[[last]]))
  kernels <- list("VB RBF" = rbf(), "VB L" = linear(), "VB P" = polynomial())
  set.seed(1)
  folds <- random_folds(nrow(x))
  # Large sets have fewer folds at size quick.
  if (nrow(x) > 400) folds <- folds[seq_len(pick(1, 4, 10))]
  if (size == "tiny") folds <- folds[1]
  start <- proc.time()
  out <- averaged(lapply(folds, function(test) {
    own <- droplevels(y[-test])
    varies <- apply(x[-test, , drop = FALSE], 2, stats::sd) > 0
    vapply(kernels, function(kernel) {
      fit <- fit_as(
        mkprobit, "damoulas2009", "single", x[-test, varies], own, kernel = kernel, seed = 1
      )
      new <- x[test, varies, drop = FALSE]
      100 * mean(as.character(predict(fit, new)) != y[test])
    }, 0)
  }))
  seconds <- sum((proc.time() - start)[1:2]) * 10 / length(folds)
  neighbors <- averaged(lapply(folds, function(test) {
    pair <- standardised_pair(x[-test, ], x[test, , drop = FALSE])
    own <- droplevels(y[-test])
    c(
      "K-nn" = wrong(nearest_class(pair$x, own, pair$new), y[test]),
      "PK-nn" = wrong(likely_class(pair$x, own, pair$new), y[test])
    )
  }))
  both(out, both(neighbors, measured("seconds, ten folds, all three" = seconds)))
}

# By the number of neighbors whose error is least where each row is left out.
nearest_class <- function(x, y, new) {
  counts <- seq_len(min(15, nrow(x) - 1))
  left_out <- vapply(counts, function(k) {
    set.seed(1)
    mean(class::knn.cv(x, y, k) != y)
  }, 0)
  set.seed(1)
  class::knn(x, new, y, counts[which.min(left_out)])
}

# Probabilistic neighbors of Holmes and Adams (2002): a class has odds exp(beta * share), its share
# among the K nearest. The posterior of K, uniform, and beta, half normal of variance 100, is summed
# over a grid in place of a chain.
likely_class <- function(x, y, new, beta = seq(0.5, 40, 0.5)) {
  rows <- seq_len(nrow(x))
  distances <- unname(as.matrix(stats::dist(rbind(x, new)))[, rows])
  distances[cbind(rows, rows)] <- Inf
  nearest <- t(apply(distances, 1, order))
  indicators <- diag(nlevels(y))[as.integer(y), , drop = FALSE]
  counts <- matrix(0, nrow(nearest), nlevels(y))
  fits <- lapply(rows[-1] - 1, function(k) {
    counts <<- counts + indicators[nearest[, k], ]
    odds <- exp(outer(counts / k, beta))
    total <- apply(odds, 3, rowSums)
    agree <- counts[cbind(rows, as.integer(y))] / k
    log_p <- outer(agree, beta) - log(total[rows, , drop = FALSE])
    log_posterior <- colSums(log_p) - beta^2 / 200
    top <- max(log_posterior)
    weights <- exp(log_posterior - top)
    risk <- vapply(seq_len(nlevels(y)), function(class) {
      drop((odds[-rows, class, ] / total[-rows, , drop = FALSE]) %*% weights)
    }, numeric(nrow(new)))
    list(top = top, risk = matrix(risk, nrow(new)))
  })
  tops <- vapply(fits, `[[`, 0, "top")
  risk <- Reduce(`+`, Map(function(fit, w) w * fit$risk, fits, exp(tops - max(tops))))
  levels(y)[max.col(risk, "first")]
}

# Two-sided p of two means over `count` trials each, by the two-sample t-test (Welch) of section 4.
printed_p <- function(means, deviations, count) {
  variances <- deviations^2 / count
  t <- diff(means) / sqrt(sum(variances))
  2 * stats::pt(-abs(t), sum(variances)^2 / sum(variances^2 / (count - 1)))
}

# Differences of columns of errors, a row a trial: their averages and p.
# pairs: named list of two columns each.
tested <- function(rows, pairs) {
  rows <- do.call(rbind, rows)
  differences <- vapply(pairs, function(pair) rows[, pair[1]] - rows[, pair[2]], rows[, 1])
  between <- vapply(pairs, paste, "", collapse = " against ")
  p <- vapply(pairs, function(pair) {
    printed_p(colMeans(rows[, pair]), apply(rows[, pair], 2, stats::sd), nrow(rows))
  }, 0)
  colnames(differences) <- vapply(pairs, paste, "", collapse = " minus ")
  both(averaged(differences), measured(stats::setNames(p, paste("p,", between))))
}

# The spaces as one.
joined_error <- function(trial, ..., change = list()) {
  trial$x <- list(all = do.call(cbind, unname(trial$x)))
  trial$new <- list(all = do.call(cbind, unname(trial$new)))
  single_errors(single_fits(trial, ..., change = change), trial)[["all"]]
}

# Twenty and twenty objects of each numeral.
numerals_trial <- function(data, k, count = pick(4, 20, 20)) {
  set.seed(k)
  classes <- if (size == "tiny") levels(data$class)[1:3] else levels(data$class)
  at <- lapply(classes, function(class) {
    sample(which(data$class == class), 2 * count)
  })
  train <- unlist(lapply(at, `[`, seq_len(count)))
  test <- unlist(lapply(at, `[`, -seq_len(count)))
  spaces <- function(rows) {
    out <- lapply(data[1:4], function(x) unclass(x)[rows, , drop = FALSE])
    lapply(out, function(x) `attributes<-`(x, list(dim = dim(x))))
  }
  list(
    x = spaces(train), y = factor(data$class[train], classes),
    new = spaces(test), truth = factor(data$class[test], classes)
  )
}

# Tables 8 and 9: quadratic kernels of views whose rows have norm 1; `errors` of the fits to each.
protein_errors <- function(errors) {
  data <- paper_data("protein")
  averaged(lapply(seq_len(pick(1, 5, 5)), function(k) {
    trial <- protein_trial(data, k)
    scales <- pick("class", "shared", "class")
    errors(single_fits(
      trial, kernel = polynomial(),
      change = list(standardize = FALSE, control = list(latent_scales = scales))
    ), trial)
  }))
}

# The published division of the proteins, then random ones of the same sizes.
protein_trial <- function(data, k) {
  train <- data$set == "train"
  if (k > 1) {
    set.seed(k)
    own <- logical(nrow(data))
    for (rows in split(seq_len(nrow(data)), data$class)) {
      own[sample(rows)[seq_len(sum(train[rows]))]] <- TRUE
    }
    train <- own
  }
  if (size == "tiny") {
    few <- data$class %in% levels(data$class)[c(1, 16, 3)]
    data <- data[few, ]
    train <- train[few]
  }
  class <- droplevels(data$class)
  spaces <- function(rows) {
    lapply(data[1:6], function(x) {
      x <- unclass(x)[rows, , drop = FALSE]
      `attributes<-`(x, list(dim = dim(x)))
    })
  }
  list(x = spaces(train), y = class[train], new = spaces(!train), truth = class[!train])
}

wrong <- function(class, truth) 100 * mean(as.character(class) != truth)

# A classifier on each space.
single_fits <- function(trial, ..., change = list(), model = "single") {
  lapply(stats::setNames(nm = names(trial$x)), function(space) {
    fit_as(mkprobit, "damoulas2009", model, trial$x[space], trial$y, seed = 1, ..., change = change)
  })
}

single_errors <- function(fits, trial) {
  vapply(names(fits), function(space) {
    wrong(predict(fits[[space]], trial$new[space]), trial$truth)
  }, 0)
}

rule_errors <- function(fits, trial) {
  new <- lapply(stats::setNames(nm = names(fits)), function(space) {
    trial$new[space]
  })
  rules <- c(Prod = "product", Sum = "mean", Max = "max", Maj = "majority")
  vapply(rules, function(rule) {
    wrong(predict(combine_classifiers(fits, rule), new), trial$truth)
  }, 0)
}

composite_models <- c(
  Bin = "binary", FixSum = "sum", WSum = "weighted_sum", FixProd = "product",
  WProd = "weighted_product"
)

composite_fit <- function(model, trial, ..., seed = 1, change = list()) {
  fit_as(mkprobit, "damoulas2009", model, trial$x, trial$y, seed = seed, ..., change = change)
}

composite_error <- function(model, trial, ..., change = list()) {
  wrong(predict(composite_fit(model, trial, ..., change = change), trial$new), trial$truth)
}

composite_errors <- function(trial, ..., change = list()) {
  vapply(composite_models, composite_error, 0, trial, ..., change = change)
}

# Shares of the spaces in the learned weights of a sum and of a product; by how much those of `main`
# are above the rest, on average; and the effective number of points of the importance sampler.
learned_shares <- function(trial, main, ...) {
  out <- lapply(c(sum = "weighted_sum", product = "weighted_product"), function(model) {
    fit <- composite_fit(model, trial, ...)
    w <- kernel_weights(fit)$mean
    w <- stats::setNames(w / sum(w), names(trial$x))
    named <- mean(w[main]) - mean(w[setdiff(names(w), main)])
    c(w, "named minus others" = named, "effective number of points" = fit$diagnostics$weights_ess)
  })
  out <- unlist(out)
  stats::setNames(out, sub(".", ", ", names(out), fixed = TRUE))
}

draw_inclusion <- function(p, ylab = "inclusion") {
  old <- graphics::par(mar = c(6.5, 4, 1, 1), las = 2)
  on.exit(graphics::par(old))
  graphics::barplot(
    p, ylab = ylab, ylim = c(0, max(1, p)), col = "grey30", border = NA, cex.names = 0.7
  )
}

# Bars of the shares in a sum and in a product, with two standard errors.
draw_shares <- function(x) {
  own <- x[!grepl("minus|points", x$quantity), ]
  spaces <- sub("sum, ", "", own$quantity[startsWith(own$quantity, "sum")])
  shares <- matrix(own$ours, ncol = 2, dimnames = list(spaces, c("sum", "product")))
  bars <- rbind(own$ours - 2 * own$mc_error, own$ours + 2 * own$mc_error)
  bars[is.na(bars)] <- 0
  old <- graphics::par(mar = c(2.5, 4, 1, 1))
  on.exit(graphics::par(old))
  at <- graphics::barplot(
    shares, beside = TRUE, las = 1, ylab = "share of the weights", ylim = c(0, 1.05 * max(bars)),
    col = grDevices::grey.colors(length(spaces), 0.5, 0.95), legend.text = TRUE,
    xlim = c(1, 2 * length(spaces) + 5), args.legend = list(bty = "n", cex = 0.9)
  )
  graphics::segments(at, bars[1, ], at, bars[2, ], lwd = 1.5)
}

# The same composites by the sampler.
by_sampler <- function() {
  list(
    method = "gibbs", chains = 1, ndraws = pick(30, 100, 1000),
    control = list(
      warmup = pick(30, 100, 1000), weights_method = NULL, is_target = "exact", tol = NULL,
      max_iter = NULL
    )
  )
}

# Neal's classes by the quadratic expansion of the two dimensions that matter; VB "after 100
# iterations", section 4.1.
neal_fit <- function(data, model) {
  change <- if (model == "gibbs") {
    pick(
      list(ndraws = 100, control = list(warmup = 50)),
      list(ndraws = 2000, control = list(warmup = 1000)), list()
    )
  } else {
    list(control = list(tol = 1e-12, max_iter = 100))
  }
  fit_as(
    mkprobit, "damoulas2009", model, data$x[, 1:2], data$y, kernel = basis(2), seed = 1,
    change = c(change, list(prior = mkprobit_prior(tau = 3, nu = 3)))
  )
}

# Its error on other rows and on the drawn objects, which are those of the fit; the figure is the
# boundaries.
neal_figure <- function(model) {
  data <- simulate_neal(400, 1)
  new <- simulate_neal(pick(200, 2000, 2000), 2)
  fit <- neal_fit(data, model)
  error <- wrong(predict(fit, new$x[, 1:2]), new$y)
  out <- measured(error = error, raw = list(data = data, fit = fit))
  out$mc_error <- 100 * sqrt(error / 100 * (1 - error / 100) / nrow(new$x))
  own <- wrong(predict(fit, data$x[, 1:2]), data$y)
  drawn <- measured("error on the 400 drawn objects" = own)
  drawn$mc_error <- sqrt(own * (100 - own) / 400)
  both(out, drawn)
}

draw_neal <- function(raw) {
  graphics::plot(raw$fit, "boundary", newdata = raw$data$x[, 1:2], y = raw$data$y)
}

# Neal's three classes in four dimensions, of which two matter.
simulate_neal <- function(n, seed) {
  set.seed(seed)
  x <- matrix(stats::runif(4 * n), n, dimnames = list(NULL, paste0("x", 1:4)))
  first <- (x[, 1] - 0.4)^2 / 0.35^2 + (x[, 2] - 0.5)^2 / 0.45^2 < 0.35
  second <- 0.8 * x[, 1] + 1.8 * x[, 2] < 0.6
  list(x = x, y = factor(ifelse(first, "a", ifelse(second, "b", "c"))))
}

# Ouyang -------------------------------------------------------------------------

# Friedman's functions 1 to 3 with the dissertation's noise, or without any. It prints 40 to 560 as
# the range of x2, which elsewhere is that times pi.
simulate_friedman <- function(number, n, noisy) {
  if (number == 1) {
    x <- matrix(stats::runif(10 * n), n)
    f <- 10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 + 10 * x[, 4] + 5 * x[, 5]
  } else {
    x <- cbind(
      stats::runif(n, 0, 100), stats::runif(n, 40 * pi, 560 * pi),
      stats::runif(n), stats::runif(n, 1, 11)
    )
    inner <- x[, 2] * x[, 3] - 1 / (x[, 2] * x[, 4])
    f <- if (number == 2) sqrt(x[, 1]^2 + inner^2) else atan(inner / x[, 1])
  }
  sd <- if (noisy) c(1, 125, 0.1)[number] else 0
  list(x = x, y = f + stats::rnorm(n, sd = sd))
}

# Half of the square of x1, x2 is inside the circle; other columns are noise.
simulate_circle <- function(p, n) {
  x <- matrix(stats::runif(n * p, -1, 1), n)
  list(x = x, y = +(rowSums(x[, 1:2]^2) <= 2 / pi))
}

# The dissertation's two sets of low rank.
simulate_low_rank <- function(set, n) {
  x <- matrix(stats::runif(4 * n, -1, 1), n, dimnames = list(NULL, paste0("x", 1:4)))
  y <- if (set == "D4in1") {
    s <- drop(x %*% c(1, 1, -1, -1))
    (s > -1 & s <= 0) | s > 1
  } else {
    (x[, 1] + x[, 2]) * (x[, 1] - x[, 3]) >= 0
  }
  list(x = x, y = +y)
}

numeric_set <- function(name) {
  data <- paper_data(name)
  last <- ncol(data)
  list(x = as.matrix(data[-last]), y = data[[last]])
}

# A run: training rows, and test rows whose response has no noise where it is simulated.
simulated_run <- function(simulate) {
  function(k) {
    set.seed(k)
    list(train = simulate(pick(40, 200, 200), TRUE), test = simulate(pick(100, 1000, 1000), FALSE))
  }
}

# The k-th of five parts of the rows, of another order after each fifth.
divided_run <- function(name) {
  data <- numeric_set(name)
  function(k) {
    set.seed((k - 1) %/% 5 + 1)
    part <- sample(rep_len(1:5, length(data$y)))
    test <- part == (k - 1) %% 5 + 1
    rows <- which(!test)
    if (size == "tiny") rows <- rows[seq(1, length(rows), length.out = 40)]
    list(
      train = list(x = data$x[rows, ], y = data$y[rows]),
      test = list(x = data$x[test, ], y = data$y[test])
    )
  }
}

kernels_of <- c(
  "equal" = "equal", "different" = "different",
  "select, equal" = "select_equal", "select, different" = "select_different"
)

bark_length <- function(sweeps = 1) {
  list(
    chains = 2, ndraws = pick(20, 500, 4000),
    control = list(warmup = pick(60, 10000 * sweeps, 2e6), thin = pick(2, 20 * sweeps, 500))
  )
}

bark_fit <- function(model, train, classes = FALSE, sweeps = 1, seed = 1) {
  fit_as(
    bark, "ouyang2008", model, train$x, train$y, family = if (classes) "binomial" else "gaussian",
    seed = seed, change = bark_length(sweeps)
  )
}

rhat_of_f <- function(fit) {
  table <- summary(fit)$parameters
  max(table[startsWith(rownames(table), "f["), "R-hat"])
}

svm_tuned <- function(train, new, classes) {
  y <- if (classes) factor(train$y, 0:1) else train$y
  fit <- e1071::tune.svm(
    train$x, y, gamma = c(0.1, 0.3, 1, 3) / ncol(train$x), cost = c(1, 10, 100),
    tunecontrol = e1071::tune.control(cross = 5)
  )$best.model
  f <- predict(fit, new)
  if (classes) +(f == "1") else unname(f)
}

bart <- function(train, new, classes) {
  f <- dbarts::bart(train$x, train$y, new, verbose = FALSE)
  if (classes) colMeans(stats::pnorm(f$yhat.test)) else f$yhat.test.mean
}

# The small run that tells whether stored results are stale does not turn on what else is installed.
peers_of <- function() {
  others <- size != "tiny" && requireNamespace("dbarts", quietly = TRUE)
  c(list(SVM = svm_tuned), if (others) list(BART = bart))
}

# Losses of every method in a run, and R-hat of the kernels' fits.
run_losses <- function(run, classes, sweeps = 1) {
  loss <- function(f) {
    if (classes) {
      100 * mean((f > 0.5) != run$test$y)
    } else {
      mean((f - run$test$y)^2)
    }
  }
  colnames(run$train$x) <- colnames(run$test$x) <- paste0("x", seq_len(ncol(run$train$x)))
  fits <- lapply(kernels_of, bark_fit, run$train, classes, sweeps)
  ours <- vapply(fits, function(fit) {
    loss(if (classes) {
      predict(fit, run$test$x, type = "prob")[, 2]
    } else {
      predict(fit, run$test$x)
    })
  }, 0)
  peers <- vapply(peers_of(), function(peer) {
    loss(peer(run$train, run$test$x, classes))
  }, 0)
  list(losses = c(ours, peers), rhat = max(vapply(fits, rhat_of_f, 0)))
}

# Table 3.1: losses over the smallest of a run, averaged. Table 3.2: per cent. A run has the mean
# losses of several folds where it is a whole cross-validation.
table3 <- function(draw_run, classes, repeats = 5, sweeps = 1, folds = 1) {
  runs <- lapply(seq_len(pick(1, repeats, 20)), function(k) {
    parts <- lapply((k - 1) * folds + seq_len(folds), function(part) {
      run_losses(draw_run(part), classes, sweeps)
    })
    list(
      losses = Reduce(`+`, lapply(parts, `[[`, "losses")) / folds,
      rhat = max(vapply(parts, `[[`, 0, "rhat"))
    )
  })
  out <- averaged(lapply(runs, function(run) {
    if (classes) run$losses else run$losses / min(run$losses)
  }))
  both(out, measured("largest R-hat of f" = max(vapply(runs, `[[`, 0, "rhat"))))
}

# Figure 2.1: error of projections of rank 1 to 3, in per cent.
figure2_1 <- function(draw_run) {
  averaged(lapply(seq_len(pick(1, 5, 20)), function(k) {
    run <- draw_run(k)
    wrong <- function(p) 100 * mean((p > 0.5) != run$test$y)
    ranks <- vapply(c("rank 1" = 1, "rank 2" = 2, "rank 3" = 3), function(r) {
      wrong(predict(projection_fit(run$train, r), run$test$x, type = "response"))
    }, 0)
    c(ranks, vapply(peers_of(), function(peer) {
      wrong(peer(run$train, run$test$x, TRUE))
    }, 0))
  }))
}

projection_fit <- function(train, rank) {
  fit_as(
    klr, "ouyang2008", "projection", train$x, factor(train$y, 0:1),
    rank = rank, seed = 1, change = list(
      chains = 2, ndraws = pick(20, 500, 1000), control = list(
        warmup = pick(60, 5000, 20000), thin = pick(2, 10, 20)
      )
    )
  )
}

draw_losses <- function(raw) boxes(raw)

# Two classes of spectra: Gaussian peaks of sd 3 at 20 (class 0 alone), 40 (both), 60 (both, twice
# as high in class 1) and 80 (class 1 alone).
simulate_spectra <- function(baseline = 0, n = 10, p = 100) {
  heights <- rbind(c(1, 1, 1, 0), c(0, 1, 2, 1))
  y <- rep(0:1, length.out = n)
  shapes <- exp(-outer(c(20, 40, 60, 80), seq_len(p), "-")^2 / 18)
  jitter <- exp(stats::rnorm(4 * n, 0, 0.1))
  x <- (heights[y + 1, ] * jitter) %*% shapes
  x <- x + matrix(stats::rnorm(n * p, 0, 0.05), n)
  # The constant by which one group lies above the other.
  x <- x + baseline * y
  colnames(x) <- seq_len(p)
  list(x = x, y = y)
}

spectra_inclusion <- function(baseline, set) {
  set.seed(set)
  data <- simulate_spectra(baseline)
  fit <- fit_as(
    bark, "ouyang2008", "select_equal", data$x, data$y,
    family = "binomial", structure = markov(q = 0.2, s = 0.15),
    standardize = FALSE, seed = 1, change = c(
      list(chains = 2), pick(
        list(ndraws = 20, control = list(warmup = 60, thin = 2)),
        list(ndraws = 500, control = list(warmup = 10000, thin = 20)),
        list(ndraws = 1000, control = list(warmup = 1e5, thin = 100))
      )
    )
  )
  inclusion(fit)
}

# Means over sets of spectra; the peaks apart are of the mean over sets.
spectra_numbers <- function(baseline) {
  sets <- lapply(seq_len(pick(1, 10, 20)), function(set) unname(spectra_inclusion(baseline, set)))
  near <- function(p, at) mean(p[at + (-2:2)])
  average <- Reduce(`+`, sets) / length(sets)
  both(averaged(lapply(sets, function(p) {
    differ <- mean(c(near(p, 20), near(p, 60), near(p, 80)))
    c(
      "inclusion at the differing peaks" = differ, "inclusion at the common peak" = near(p, 40),
      "inclusion between peaks" = mean(p[c(1:8, 28:32, 48:52, 68:72, 92:100)]),
      "common minus differing peaks" = near(p, 40) - differ
    )
  }), raw = average), measured(
    "inclusion at the peak at 20" = near(average, 20),
    "inclusion at the peaks at 60 and 80" = (near(average, 60) + near(average, 80)) / 2
  ))
}

draw_spectra <- function(raw) {
  old <- graphics::par(mar = c(4, 4, 1, 1), las = 1)
  on.exit(graphics::par(old))
  graphics::plot(
    raw, type = "h", lwd = 2, xlab = "location", ylab = "inclusion", ylim = c(0, max(raw))
  )
}

# Differences that the dissertation speaks of: the right rank is the best.
low_rank_losses <- function(set, right) {
  out <- figure2_1(simulated_run(function(n, noisy) simulate_low_rank(set, n)))
  differences(out, right, setdiff(out$quantity, right))
}

# The losses of the columns `first` minus those of `second`, of which one may be single.
differences <- function(out, first, second) {
  rows <- do.call(rbind, attr(out, "raw"))
  pairs <- cbind(first, second)
  apart <- rows[, pairs[, 1], drop = FALSE] - rows[, pairs[, 2], drop = FALSE]
  colnames(apart) <- paste(pairs[, 1], "minus", pairs[, 2])
  both(out, averaged(apart))
}

# Sliced average variance estimation (Cook and Weisberg 1991), a slice a class: of rows whose
# covariance is I the slices' covariances V, and the first eigenvectors of the mean (I - V)^2.
save_directions <- function(x, y, rank) {
  root <- chol(stats::cov(x))
  z <- x %*% solve(root)
  parts <- lapply(split(seq_along(y), y), function(rows) {
    off <- diag(ncol(z)) - stats::cov(z[rows, ])
    length(rows) / length(y) * off %*% off
  })
  vectors <- eigen(Reduce(`+`, parts), symmetric = TRUE)$vectors
  solve(root, vectors[, seq_len(rank), drop = FALSE])
}

unit <- function(direction) direction / sqrt(sum(direction^2)) * sign(direction[1])

# Error, in per cent, of linear discriminants of the projected rows, and of as many SAVE directions.
# Their standard errors are over the rows.
projection_numbers <- function(name, rank) {
  data <- numeric_set(name)
  if (size == "tiny") {
    rows <- seq(1, length(data$y), length.out = 60)
    data <- list(x = data$x[rows, ], y = data$y[rows])
  }
  x <- scale(data$x)
  directions <- projection(projection_fit(data, rank))$directions
  s <- x %*% as.matrix(directions)[, seq_len(rank)]
  sliced <- x %*% save_directions(x, data$y, rank)
  wrong <- function(z) {
    f <- stats::lm.fit(cbind(1, z), data$y)$fitted.values
    100 * ((f > 0.5) != data$y)
  }
  averaged(cbind(
    "wrong along the directions" = wrong(s), "wrong along SAVE directions" = wrong(sliced),
    "directions minus SAVE" = wrong(s) - wrong(sliced)
  ), raw = list(SAVE = sliced, klr = s, y = data$y))
}

# SAVE's first two directions on the left, those of the model on the right.
draw_projection <- function(raw) {
  old <- graphics::par(mfrow = c(1, 2), mar = c(4, 4, 2, 1), las = 1)
  on.exit(graphics::par(old))
  for (name in c("SAVE", "klr")) {
    graphics::plot(
      raw[[name]][, 1:2], cex = 0.7, col = c("#0072B2", "#D55E00")[raw$y + 1],
      pch = c(1, 19)[raw$y + 1],
      xlab = "direction 1", ylab = "direction 2", main = if (name == "klr") "klr()" else name
    )
  }
}

# Posterior means of kernel scales over their mean, by predictor.
# Fits that differ by their seed.
scales_of <- function(name, model, fits, sweeps = 1) {
  data <- numeric_set(name)
  if (size == "tiny") {
    rows <- seq(1, length(data$y), length.out = 50)
    data <- list(x = data$x[rows, ], y = data$y[rows])
  }
  lapply(seq_len(fits), function(seed) {
    bark_fit(model, data, all(data$y %in% 0:1), sweeps, seed)
  })
}
