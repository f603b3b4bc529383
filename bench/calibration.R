# Whether probabilities mean what they say, and what tuning is worth, at the
# defaults and on rows that were left out.
#   probability  slope of calibration and calibration in the large of bsvm() and
#                gpsvm(), log-loss beside e1071 and kernlab with probabilities
#   tuned        error, log-loss and time of gpsvm() beside a tuned e1071::svm()
# BAYESKERNEL_SPLITS, 5: splits of the rows, 70 of 100 for training, at most 400;
# BAYESKERNEL_PARTS=tuned runs one part.
source("bench/helpers.R")
library(bayeskernel)

splits <- as.integer(setting("SPLITS", 5))

table_of <- function(frame, response) {
  x <- frame[setdiff(names(frame), response)]
  list(
    x = stats::model.matrix(~., x)[, -1, drop = FALSE],
    y = droplevels(factor(frame[[response]]))
  )
}

sets <- list(
  "breast cancer" = function() raetsch_data("breast_cancer"),
  diabetis = function() raetsch_data("diabetis"),
  "flare solar" = function() raetsch_data("flare_solar"),
  german = function() raetsch_data("german"),
  heart = function() raetsch_data("heart"),
  waveform = function() raetsch_data("waveform"),
  Pima = function() table_of(rbind(MASS::Pima.tr, MASS::Pima.te), "type"),
  biopsy = function() table_of(stats::na.omit(MASS::biopsy[-1]), "class"),
  balance = function() {
    table <- utils::read.csv(data_file("balance_scale.csv"))
    table_of(table, names(table)[vapply(table, is.character, NA)][1])
  },
  wine = function() {
    table <- utils::read.csv(data_file("wine.csv"))
    y <- intersect(c("class", "Class", "cultivar", "y"), names(table))[1]
    table_of(table, y)
  },
  iris = function() table_of(iris, "Species")
)

# Columns that vary, of training and other rows; the same shares of classes.
split_of <- function(data, number, most = 400) {
  set.seed(number)
  n <- length(data$y)
  own <- unlist(lapply(split(seq_len(n), data$y), function(rows) {
    sample(rows, round(min(0.7, most / n) * length(rows)))
  }))
  rest <- setdiff(seq_len(n), own)
  pair <- standardised_pair(data$x[own, , drop = FALSE], data$x[rest, , drop = FALSE])
  rest <- utils::head(rest, 2000)
  list(
    x = pair$x, y = data$y[own], new = pair$new[seq_along(rest), , drop = FALSE],
    truth = data$y[rest]
  )
}

loss_of <- function(prob, truth) {
  p <- prob[cbind(seq_along(truth), as.integer(truth))]
  -mean(log(pmax(p, 1e-15)))
}

# Slope of calibration: the power of the probabilities, divided by their sum,
# that has the highest likelihood; beside intercepts for the classes.
slope_of <- function(prob, truth) {
  eta <- log(pmax(prob, 1e-15))
  own <- cbind(seq_along(truth), as.integer(truth))
  k <- ncol(prob)
  minus <- function(par) {
    f <- par[1] * eta + rep(c(0, par[-1]), each = nrow(eta))
    top <- apply(f, 1, max)
    sum(top + log(rowSums(exp(f - top))) - f[own])
  }
  stats::optim(c(1, numeric(k - 1)), minus, method = "BFGS")$par[1]
}

in_the_large <- function(prob, truth) {
  max(abs(colMeans(prob) - tabulate(truth, ncol(prob)) / length(truth)))
}

probability_of <- function(fit, new, levels) {
  prob <- if (inherits(fit, "bayeskernel_fit")) {
    stats::predict(fit, new, type = "prob")
  } else if (inherits(fit, "ksvm")) {
    kernlab::predict(fit, new, type = "probabilities")
  } else {
    attr(stats::predict(fit, new, probability = TRUE), "probabilities")
  }
  prob[, levels, drop = FALSE]
}

svm_tuned <- function(x, y) {
  width <- 1 / ncol(x)
  found <- e1071::tune(
    e1071::svm, x, y,
    scale = FALSE, ranges = list(
      gamma = width * 4^(-2:1), cost = 4^(-1:4)
    ), tunecontrol = e1071::tune.control(cross = 5)
  )$best.parameters
  e1071::svm(
    x, y,
    scale = FALSE, probability = TRUE, gamma = found$gamma, cost = found$cost
  )
}

compare <- function(machines, sets, splits) {
  rows <- list()
  for (set in names(sets)) {
    data <- sets[[set]]()
    for (machine in names(machines)) {
      if (machine == "bsvm" && nlevels(data$y) > 2) next
      each <- lapply(seq_len(splits), function(number) {
        part <- split_of(data, number)
        set.seed(number)
        done <- timed(function() quietly(machines[[machine]](part$x, part$y)))
        prob <- quietly(probability_of(done$value, part$new, levels(data$y)))
        list(
          prob = prob, truth = part$truth, seconds = done$seconds,
          error = mean(max.col(prob, "first") != as.integer(part$truth)),
          log_loss = loss_of(prob, part$truth)
        )
      })
      mean_of <- function(name) mean(vapply(each, `[[`, 1, name))
      prob <- do.call(rbind, lapply(each, `[[`, "prob"))
      truth <- unlist(lapply(each, `[[`, "truth"))
      rows[[length(rows) + 1]] <- data.frame(
        set = set, machine = machine, error = mean_of("error"),
        log_loss = mean_of("log_loss"), slope = slope_of(prob, truth),
        large = in_the_large(prob, truth), seconds = mean_of("seconds")
      )
      print(rows[[length(rows)]], row.names = FALSE, digits = 3)
    }
  }
  do.call(rbind, rows)
}

ours <- list(
  bsvm = function(x, y) bsvm(x, y, threads = 1),
  gpsvm = function(x, y) gpsvm(x, y, threads = 1, seed = 1)
)
parts <- list(
  probability = function() {
    compare(c(ours, list(
      e1071 = function(x, y) e1071::svm(x, y, scale = FALSE, probability = TRUE),
      kernlab = function(x, y) {
        kernlab::ksvm(x, y, scaled = FALSE, prob.model = TRUE)
      }
    )), sets, splits)
  },
  tuned = function() {
    compare(c(ours["gpsvm"], list("svm, tuned" = svm_tuned)), sets, splits)
  }
)

print_machine()
wanted <- strsplit(setting("PARTS", "probability,tuned"), ",")[[1]]
for (part in wanted) {
  cat("\n", part, "\n", sep = "")
  print(parts[[part]](), row.names = FALSE, digits = 3)
}
