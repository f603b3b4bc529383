# Whether probabilities mean what they say, and what tuning is worth, at the
# defaults and on rows that were left out.
#   probability  slope of calibration and calibration in the large of bsvm() and
#                gpsvm(), log-loss beside e1071 and kernlab with probabilities;
#                (multi)nomial regression, to see what is due to few rows
#   truth        the same on simulated rows, 5000 of them left out: how far a
#                slope is from 1 for the rows of the fit alone, over many fits
#   tuned        error, log-loss and time of gpsvm() beside a tuned e1071::svm()
# BAYESKERNEL_SPLITS, 5: splits of the rows, 70 of 100 for training, at most 400;
# BAYESKERNEL_PARTS=tuned runs one part, BAYESKERNEL_SETS="iris;glass" those sets.
source("bench/helpers.R")
library(bayeskernel)

splits <- as.integer(setting("SPLITS", 5))

table_of <- function(frame, response) {
  x <- frame[setdiff(names(frame), response)]
  list(
    x = stats::model.matrix(~., x)[, -1, drop = FALSE], y = droplevels(factor(frame[[response]]))
  )
}

package_data <- function(name, package) {
  get(utils::data(list = name, package = package, envir = environment()))
}
mlbench_data <- function(name) package_data(name, "mlbench")
kernlab_data <- function(name) package_data(name, "kernlab")
acath_columns <- c("sex", "age", "cad.dur", "choleste", "sigdz")

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
  iris = function() table_of(iris, "Species"),
  vehicle = function() table_of(mlbench_data("Vehicle"), "Class"),
  glass = function() table_of(mlbench_data("Glass"), "Type"),
  # Two thousand rows and more, most of them held out: what is seen here of the probabilities is
  # theirs and not the sample's.
  acath = function() table_of(stats::na.omit(acath_data()[acath_columns]), "sigdz"),
  "susy, 8 columns" = function() susy_sample()[c("x", "y")],
  splice = function() raetsch_data("splice"),
  spam = function() {
    data <- table_of(kernlab_data("spam"), "type")
    list(x = log(data$x + 0.1), y = data$y)
  },
  "insurance, 6 %" = function() {
    table <- kernlab_data("ticdata")
    list(x = data.matrix(table[names(table) != "CARAVAN"]), y = table$CARAVAN)
  },
  DNA = function() table_of(mlbench_data("DNA"), "Class"),
  satellite = function() table_of(mlbench_data("Satellite"), "classes"),
  "digits, 10 classes" = function() {
    table <- utils::read.csv(data_file("mfeat_kar.csv.gz"))
    table_of(table, names(table)[ncol(table)])
  },
  # Those of its seven classes that 400 rows hold.
  shuttle = function() {
    table <- mlbench_data("Shuttle")
    table_of(table[table$Class %in% c("Rad.Flow", "High", "Bypass"), ], "Class")
  },
  letters = function() table_of(mlbench_data("LetterRecognition"), "lettr")
)

# Columns that vary, of training and other rows; the same shares of classes.
split_of <- function(data, number, most = 400) {
  set.seed(number)
  n <- length(data$y)
  own <- unlist(lapply(split(seq_len(n), data$y), function(rows) {
    sample(rows, round(min(0.7, most / n) * length(rows)))
  }))
  rest <- setdiff(seq_len(n), own)
  if (length(rest) > 2000) rest <- sample(rest, 2000)
  pair <- standardised_pair(data$x[own, , drop = FALSE], data$x[rest, , drop = FALSE])
  list(x = pair$x, y = data$y[own], new = pair$new, truth = data$y[rest])
}

loss_of <- function(prob, truth) {
  p <- prob[cbind(seq_along(truth), as.integer(truth))]
  -mean(log(pmax(p, 1e-15)))
}

# Slope of calibration: the power of the probabilities, divided by their sum, that has the highest
# likelihood; beside intercepts for the classes.
slope_of <- function(prob, truth) {
  eta <- log(pmax(prob, 1e-15))
  own <- cbind(seq_along(truth), as.integer(truth))
  k <- ncol(prob)
  minus <- function(par) {
    f <- par[1] * eta + rep(c(0, par[-1]), each = nrow(eta))
    top <- apply(f, 1, max)
    sum(top + log(rowSums(exp(f - top))) - f[own])
  }
  found <- stats::optim(c(1, numeric(k - 1)), minus, method = "BFGS", hessian = TRUE)
  # Where all rows are certain nothing is known of it.
  information <- qr(found$hessian)
  se <- if (information$rank == k) sqrt(solve(information)[1, 1]) else NA
  c(slope = found$par[1], se = se)
}

in_the_large <- function(prob, truth) {
  max(abs(colMeans(prob) - tabulate(truth, ncol(prob)) / length(truth)))
}

probability_of <- function(fit, new, levels) {
  prob <- if (inherits(fit, "bayeskernel_fit")) {
    stats::predict(fit, new, type = "prob")
  } else if (inherits(fit, "multinom")) {
    p <- stats::predict(fit, data.frame(new), type = "probs")
    if (length(levels) > 2) p else structure(cbind(1 - p, p), dimnames = list(NULL, levels))
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
  e1071::svm(x, y, scale = FALSE, probability = TRUE, gamma = found$gamma, cost = found$cost)
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
          slope = slope_of(prob, part$truth)[["slope"]],
          error = mean(max.col(prob, "first") != as.integer(part$truth)),
          log_loss = loss_of(prob, part$truth)
        )
      })
      mean_of <- function(name) mean(vapply(each, `[[`, 1, name))
      prob <- do.call(rbind, lapply(each, `[[`, "prob"))
      truth <- unlist(lapply(each, `[[`, "truth"))
      slope <- slope_of(prob, truth)
      # Rows are left out several times: the error of as many as there are.
      again <- max(1, length(truth) / length(data$y))
      rows[[length(rows) + 1]] <- data.frame(
        set = set, machine = machine, error = mean_of("error"),
        log_loss = mean_of("log_loss"), slope = slope[["slope"]],
        se = slope[["se"]] * sqrt(again),
        sd = stats::sd(vapply(each, `[[`, 1, "slope")), large = in_the_large(prob, truth), seconds = mean_of("seconds")
      )
      print(rows[[length(rows)]], row.names = FALSE, digits = 3)
    }
  }
  do.call(rbind, rows)
}

# Ten columns, three with an effect, of two classes; classes of three columns.
drawn <- function(n, classes, shift) {
  x <- matrix(stats::rnorm(10 * n), n, dimnames = list(NULL, paste0("x", 1:10)))
  f <- if (classes == 2) {
    cbind(0, shift[2] + drop(x[, 1:3] %*% c(1, 0.7, -0.5)))
  } else {
    1.5 * x[, seq_len(classes)] + rep(shift, each = n)
  }
  prob <- exp(f - apply(f, 1, max))
  prob <- prob / rowSums(prob)
  pick <- apply(prob, 1, function(p) sample.int(classes, 1, prob = p))
  list(x = x, y = factor(pick, seq_len(classes)), prob = prob)
}

# One of the three waves of mlbench against the others; probabilities unknown.
one_wave <- function(class) {
  function(rows = 400) {
    wave <- mlbench::mlbench.waveform(rows)
    colnames(wave$x) <- paste0("x", seq_len(ncol(wave$x)))
    list(x = wave$x, y = factor(wave$classes == class))
  }
}

truth <- function(machines, fits) {
  # Functions of the number of rows, by default those of a fit.
  logistic <- function(n, shift) {
    function(rows = n) drawn(rows, length(shift), shift)
  }
  cases <- list(
    "100 rows" = logistic(100, c(0, 0)), "300 rows" = logistic(300, c(0, 0)),
    "300 rows, prevalence .2" = logistic(300, c(0, -1.75)),
    "300 rows, 3 classes" = logistic(300, c(0, 0, 0)),
    "300 rows, 3 classes, one rare" = logistic(300, c(0.5, 0, -1.5)),
    "waveform, 400 rows, 1 or not" = one_wave(1), "waveform, 400 rows, 2 or not" = one_wave(2)
  )
  rows <- list()
  for (case in names(cases)) {
    draw <- cases[[case]]
    out <- list()
    for (number in seq_len(fits)) {
      set.seed(number)
      data <- draw()
      test <- draw(5000)
      for (machine in names(machines)) {
        if (machine == "bsvm" && nlevels(data$y) > 2) next
        fit <- quietly(machines[[machine]](data$x, data$y))
        prob <- quietly(probability_of(fit, test$x, levels(data$y)))
        out[[machine]] <- rbind(out[[machine]], c(
          slope = slope_of(prob, test$y)[["slope"]],
          large = in_the_large(prob, test$y),
          excess = if (is.null(test$prob)) {
            NA
          } else {
            loss_of(prob, test$y) - loss_of(test$prob, test$y)
          }
        ))
      }
    }
    for (machine in names(out)) {
      at <- out[[machine]]
      rows[[length(rows) + 1]] <- data.frame(
        case = case, machine = machine, median = stats::median(at[, "slope"]),
        mean = mean(at[, "slope"]), sd = stats::sd(at[, "slope"]),
        large = mean(at[, "large"]), excess = mean(at[, "excess"])
      )
      print(rows[[length(rows)]], row.names = FALSE, digits = 3)
    }
  }
  do.call(rbind, rows)
}

regression <- function(x, y) {
  nnet::multinom(y ~ ., data.frame(x, y = y), trace = FALSE, maxit = 200)
}
ours <- list(
  bsvm = function(x, y) bsvm(x, y, threads = 1),
  gpsvm = function(x, y) gpsvm(x, y, threads = 1, seed = 1)
)
parts <- list(
  probability = function() {
    compare(c(ours, list(
      regression = regression,
      e1071 = function(x, y) e1071::svm(x, y, scale = FALSE, probability = TRUE),
      kernlab = function(x, y) {
        kernlab::ksvm(x, y, scaled = FALSE, prob.model = TRUE)
      }
    )), sets, splits)
  },
  truth = function() {
    truth(c(ours, list(regression = regression)), 5 * splits)
  },
  tuned = function() {
    compare(c(ours["gpsvm"], list("svm, tuned" = svm_tuned)), sets, splits)
  }
)

print_machine()
chosen <- strsplit(setting("SETS", paste(names(sets), collapse = ";")), ";")[[1]]
sets <- sets[chosen]
wanted <- strsplit(setting("PARTS", "probability,truth,tuned"), ",")[[1]]
for (part in wanted) {
  cat("\n", part, "\n", sep = "")
  print(parts[[part]](), row.names = FALSE, digits = 3)
}
