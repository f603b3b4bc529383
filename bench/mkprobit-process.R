# mkprobit() with the process prior at its defaults beside the paper's weights,
# gpsvm() and e1071::svm(), on the paper's sets (thirds left out, several
# splits) and on protein folds, whose division is given; its sizes and times.
#
#   Rscript bench/mkprobit-process.R                    all, one thread
#   Rscript bench/mkprobit-process.R sets 5 mkprobit    some sets' machines
#   Rscript bench/mkprobit-process.R table FILE 1:5 [set ...]  tuned machines beside it, a row a
#                                                       split added to a CSV file that lacks it
#   Rscript bench/mkprobit-process.R summary FILE       their means
#   Rscript bench/mkprobit-process.R proteins [job ...] | sizes [rows] | numerals [1:10]
#   Rscript bench/mkprobit-process.R divisions 1:4 [job ...]    proteins divided by chance

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

# Two thirds of the rows and the rest; of large sets 400, and 2000 of the rest.
divided <- function(y, split) {
  out <- third(y, split)
  own <- setdiff(seq_along(y), out)
  if (length(y) > 1000) {
    set.seed(100 + split)
    by <- split(own, y[own])
    own <- unlist(lapply(by, function(rows) {
      rows[sample.int(length(rows), max(2, round(400 * length(rows) / length(own))))]
    }), use.names = FALSE)
    out <- out[sample.int(length(out), min(length(out), 2000))]
  }
  list(own = own, out = out)
}

# Columns that vary among the rows of the fit.
varying <- function(x) apply(x, 2, function(column) length(unique(column)) > 1L)

# What a table has already.
had_rows <- function(file) {
  if (file.exists(file)) with(utils::read.csv(file), paste(set, split, machine))
}

add_to_table <- function(file, sets, splits) {
  for (set in sets) {
    data <- damoulas_data(set)
    if (is.null(data)) next
    y <- droplevels(factor(data$y))
    for (split in splits) {
      at <- divided(y, split)
      x <- data$x[, varying(data$x[at$own, ])]
      for (name in names(tuned_machines)) {
        if (paste(set, split, name) %in% had_rows(file)) next
        set.seed(split)
        time <- proc.time()
        prob <- tuned_machines[[name]](x[at$own, ], y[at$own], x[at$out, ])[, levels(y)]
        seconds <- sum((proc.time() - time)[c("user.self", "sys.self")])
        row <- data.frame(
          set = set, machine = name, split = split, rows = length(at$own), classes = nlevels(y),
          error = mean(levels(y)[max.col(prob, "first")] != y[at$out]),
          log_loss = class_log_loss(y[at$out], prob), slope = class_slope(y[at$out], prob),
          seconds = seconds, version = format(utils::packageVersion("bayeskernel"))
        )
        new <- !file.exists(file)
        utils::write.table(
          row, file, append = !new, sep = ",", row.names = FALSE, col.names = new
        )
      }
    }
  }
}

# Means over the splits that all machines have had.
show_table <- function(file) {
  table <- utils::read.csv(file)
  key <- paste(table$set, table$split)
  whole <- names(which(table(key) == length(tuned_machines)))
  table <- table[key %in% whole, ]
  table$splits <- 1
  means <- stats::aggregate(
    table[c("rows", "classes", "error", "log_loss", "slope", "seconds")],
    table[c("machine", "set")], mean
  )
  means$splits <- stats::aggregate(table["splits"], table[c("machine", "set")], sum)$splits
  means <- means[order(match(means$set, table$set)), ]
  cat("| set | rows, classes | splits | machine | error | log-loss | slope | CPU s |\n")
  cat("|---|---|---|---|---|---|---|---|\n")
  cat(sprintf(
    "| %s | %.0f, %.0f | %d | %s | %.3f | %.3f | %.2f | %.1f |\n", means$set, means$rows,
    means$classes, means$splits, means$machine, means$error, means$log_loss, means$slope,
    means$seconds
  ), sep = "")
}

# The given division of protein folds, or by chance as many of each class: single spaces, six of
# equal weight, learned sums and products.
compare_proteins <- function(which, division = NULL) {
  data <- protein_spaces()
  if (!is.null(division)) {
    set.seed(division)
    data$train <- stats::ave(data$train, data$y, FUN = function(own) own[sample.int(length(own))])
    cat("division", division, "\n")
  }
  train <- which(data$train)
  test <- which(!data$train)
  jobs <- list(
    composition = list(data$spaces["composition"]), structure = list(data$spaces["structure"]),
    six = list(data$spaces), twelve = list(protein_spaces(all = TRUE)$spaces),
    learned = list(data$spaces, kernel_weights = "learn"),
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

# Twenty and twenty objects of each numeral: percent error of learned sums and products, of single
# spaces and of their combined classifiers.
compare_numerals <- function(trials) {
  data <- mfeat_spaces()
  y <- factor(data$y)
  rows <- vapply(trials, function(trial) {
    set.seed(trial)
    drawn <- lapply(split(seq_along(y), y), sample, 40)
    train <- unlist(lapply(drawn, utils::head, 20))
    test <- unlist(lapply(drawn, utils::tail, 20))
    spaces <- spaces_at(data$spaces, train)
    new <- spaces_at(data$spaces, test)
    wrong <- function(class) 100 * mean(class != y[test])
    fit <- function(x, ...) suppressWarnings(mkprobit(x, y[train], threads = 1, seed = 1, ...))
    single <- lapply(stats::setNames(nm = names(spaces)), function(name) fit(spaces[name]))
    parts <- lapply(stats::setNames(nm = names(spaces)), function(name) new[name])
    rules <- c("product", "mean", "max", "majority")
    c(
      sum = wrong(predict(fit(spaces), new)),
      "learned sum" = wrong(predict(fit(spaces, kernel_weights = "learn"), new)),
      "learned product" = wrong(predict(
        fit(spaces, combine = "product", kernel_weights = "learn"), new
      )),
      mapply(function(fit, new) wrong(predict(fit, new)), single, parts),
      vapply(stats::setNames(nm = paste("classifiers,", rules)), function(rule) {
        wrong(predict(combine_classifiers(single, sub(".*, ", "", rule)), parts))
      }, 0)
    )
  }, numeric(3 + 2 * 4))
  print(round(cbind(error = rowMeans(rows), sd = apply(rows, 1, stats::sd)), 2))
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
  add_to_table(
    arguments[2L], if (length(arguments) > 3L) arguments[-(1:3)] else damoulas_sets$set,
    if (length(arguments) > 2L) eval(str2lang(arguments[3L])) else 1:2
  )
}
if (what == "summary") show_table(arguments[2L])
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
    c("composition", "structure", "six", "twelve", "learned", "product", "learned product")
  })
}
if (what == "divisions") {
  for (division in eval(str2lang(arguments[2L]))) {
    compare_proteins(if (length(arguments) > 2L) {
      arguments[-(1:2)]
    } else {
      c("composition", "six", "learned", "learned product")
    }, division)
  }
}
if (what == "numerals") {
  compare_numerals(if (length(arguments) > 1L) eval(str2lang(arguments[2L])) else 1:10)
}
if (what %in% c("all", "sizes")) {
  compare_sizes(if (length(arguments) > 1L) as.numeric(arguments[2L]) else 1e5)
}
