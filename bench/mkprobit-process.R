# mkprobit() with the process prior at its defaults beside the paper's weights,
# gpsvm() and e1071::svm(), on the paper's sets (thirds left out, several
# splits) and on protein folds, whose division is given; its sizes and times.
#
#   Rscript bench/mkprobit-process.R                    all, one thread
#   Rscript bench/mkprobit-process.R sets 5 mkprobit    some sets' machines
#   Rscript bench/mkprobit-process.R table 2 [set ...]  a table with tuned machines
#   Rscript bench/mkprobit-process.R proteins | sizes

options(bayeskernel.progress = FALSE)
suppressPackageStartupMessages(library(bayeskernel))
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "helpers.R"))
source(file.path(here, "helpers-mkprobit.R"))

process_machines <- list(
  "mkprobit" = function(x, y, new) {
    fit <- suppressWarnings(mkprobit(x, y, threads = 1, seed = 1))
    predict(fit, new, type = "prob", threads = 1)
  },
  "mkprobit, weights" = function(x, y, new) {
    fit <- suppressWarnings(mkprobit(x, y, coefficients = "weights", threads = 1, seed = 1))
    predict(fit, new, type = "prob", threads = 1)
  },
  "gpsvm" = function(x, y, new) {
    fit <- suppressWarnings(gpsvm(x, y, threads = 1, seed = 1))
    predict(fit, new, type = "prob", threads = 1)
  },
  "e1071" = function(x, y, new) {
    fit <- e1071::svm(x, y, probability = TRUE)
    attr(predict(fit, new, probability = TRUE), "probabilities")
  }
)

# Stratified thirds, with a seed each.
third <- function(y, split) {
  set.seed(100 + split)
  unlist(lapply(split(seq_along(y), y), function(rows) {
    rows[sample.int(length(rows), max(1, round(length(rows) / 3)))]
  }), use.names = FALSE)
}

compare_sets <- function(sets, splits, machines) {
  for (set in sets) {
    data <- damoulas_data(set)
    if (is.null(data)) next
    y <- droplevels(factor(data$y))
    for (name in machines) {
      scores <- vapply(seq_len(splits), function(split) {
        out <- third(y, split)
        time <- proc.time()[["elapsed"]]
        prob <- process_machines[[name]](data$x[-out, ], y[-out], data$x[out, ])
        c(
          mean(colnames(prob)[max.col(prob, "first")] != y[out]),
          class_log_loss(y[out], prob), proc.time()[["elapsed"]] - time
        )
      }, numeric(3))
      cat(sprintf(
        "%-9s %-18s error %.3f (%.3f)  log-loss %.3f (%.3f)  %5.1f s\n", set, name,
        mean(scores[1, ]), sd(scores[1, ]), mean(scores[2, ]), sd(scores[2, ]), mean(scores[3, ])
      ))
    }
  }
}


# Machines that are tuned by five folds on the rows of the fit.
tuned_machines <- c(process_machines[c("mkprobit", "gpsvm")], list(
  "ksvm, tuned" = function(x, y, new) {
    width <- stats::median(kernlab::sigest(x, scaled = TRUE))
    grid <- expand.grid(C = 2^seq(-2, 8, 2), sigma = width * 4^(-1:1))
    error <- vapply(seq_len(nrow(grid)), function(k) {
      kernlab::cross(kernlab::ksvm(
        x, y, C = grid$C[k], kpar = list(sigma = grid$sigma[k]), cross = 5
      ))
    }, 0)
    best <- grid[which.min(error), ]
    fit <- kernlab::ksvm(x, y, C = best$C, kpar = list(sigma = best$sigma), prob.model = TRUE)
    kernlab::predict(fit, new, type = "probabilities")
  },
  "e1071, tuned" = function(x, y, new) {
    best <- e1071::tune.svm(
      x, y, cost = 2^seq(-2, 8, 2), gamma = 4^(-2:1) / ncol(x),
      tunecontrol = e1071::tune.control(cross = 5)
    )$best.parameters
    fit <- e1071::svm(x, y, cost = best$cost, gamma = best$gamma, probability = TRUE)
    attr(stats::predict(fit, new, probability = TRUE), "probabilities")
  }
))

# The power of the probabilities that the left-out rows would choose: above 1 these are too timid.
class_slope <- function(y, prob) {
  log_prob <- log(pmax(prob, 1e-15))
  loss <- function(power) {
    own <- power * log_prob
    top <- apply(own, 1L, max)
    chosen <- own[cbind(seq_along(y), match(as.character(y), colnames(prob)))]
    mean(top + log(rowSums(exp(own - top))) - chosen)
  }
  stats::optimize(loss, c(0.1, 10))$minimum
}

table_of_sets <- function(sets, splits) {
  cat("set,machine,splits,error,log_loss,slope,seconds,version\n")
  for (set in sets) {
    data <- damoulas_data(set)
    if (is.null(data)) next
    y <- droplevels(factor(data$y))
    for (name in names(tuned_machines)) {
      prob <- seconds <- NULL
      truth <- factor(character(), levels(y))
      for (split in seq_len(splits)) {
        out <- third(y, split)
        set.seed(split)
        time <- proc.time()
        own <- tuned_machines[[name]](data$x[-out, ], y[-out], data$x[out, ])
        seconds <- c(seconds, sum((proc.time() - time)[c("user.self", "sys.self")]))
        prob <- rbind(prob, own[, levels(y)])
        truth <- c(truth, y[out])
      }
      cat(sprintf(
        "%s,\"%s\",%d,%.3f,%.3f,%.2f,%.1f,%s\n", set, name, splits,
        mean(levels(y)[max.col(prob, "first")] != truth), class_log_loss(truth, prob),
        class_slope(truth, prob), mean(seconds), utils::packageVersion("bayeskernel")
      ))
    }
  }
}

# The given division of protein folds: single spaces, six of equal weight, learned sums and
# products.
compare_proteins <- function(which) {
  data <- protein_spaces()
  train <- which(data$train)
  test <- which(!data$train)
  jobs <- list(
    composition = list(data$spaces["composition"]), structure = list(data$spaces["structure"]),
    six = list(data$spaces), learned = list(data$spaces, kernel_weights = "learn"),
    product = list(data$spaces, combine = "product"),
    "learned product" = list(data$spaces, combine = "product", kernel_weights = "learn")
  )
  for (name in intersect(which, names(jobs))) {
    job <- jobs[[name]]
    time <- proc.time()
    fit <- suppressWarnings(do.call(mkprobit, c(
      list(spaces_at(job[[1L]], train), data$y[train], threads = 2, seed = 1), job[-1L]
    )))
    time <- proc.time() - time
    prob <- predict(fit, spaces_at(job[[1L]], test), type = "prob")
    cat(sprintf(
      "%-16s error %.3f  log-loss %.3f  %.1f s (%.1f of processors)\n", name,
      mean(colnames(prob)[max.col(prob, "first")] != data$y[test]),
      class_log_loss(data$y[test], prob), time[["elapsed"]], sum(time[c("user.self", "sys.self")])
    ))
  }
}

# 100,000 rows in three spaces and ten classes.
compare_sizes <- function(rows) {
  data <- simulate_spaces(rows, 10, 3)
  invisible(gc())
  reset_peak()
  before <- memory()
  time <- proc.time()
  fit <- suppressWarnings(mkprobit(data$x, data$y, inducing = 300, seed = 1, threads = 2))
  time <- proc.time() - time
  cat(sprintf(
    "%.0f rows, 10 classes, 300 objects: %.1f s (%.1f of processors), ",
    rows, time[["elapsed"]], sum(time[c("user.self", "sys.self")])
  ), sprintf(
    "%.0f MB above the data, %d passes\n",
    memory()[["peak"]] - before[["now"]], fit$diagnostics$passes
  ), sep = "")
}

arguments <- commandArgs(TRUE)
what <- if (length(arguments)) arguments[1L] else "all"
if (what == "table") {
  table_of_sets(
    if (length(arguments) > 2L) arguments[-(1:2)] else damoulas_sets$set,
    if (length(arguments) > 1L) as.integer(arguments[2L]) else 2L
  )
}
if (what %in% c("all", "sets")) {
  compare_sets(
    if (length(arguments) > 3L) {
      arguments[4L]
    } else {
      c("iris", "wine", "crabs", "glass", "balance", "vehicle")
    },
    if (length(arguments) > 1L) as.integer(arguments[2L]) else 5L,
    if (length(arguments) > 2L && arguments[3L] != "all") {
      arguments[3L]
    } else {
      names(process_machines)
    }
  )
}
if (what %in% c("all", "proteins")) {
  compare_proteins(if (length(arguments) > 1L) {
    arguments[-1L]
  } else {
    c("composition", "structure", "six", "learned", "product", "learned product")
  })
}
if (what %in% c("all", "sizes")) {
  compare_sizes(if (length(arguments) > 1L) as.numeric(arguments[2L]) else 1e5)
}
