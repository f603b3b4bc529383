# mkprobit() with the process prior at its defaults beside the paper's weights,
# gpsvm() and e1071::svm(), on the paper's sets (thirds left out, several
# splits) and on protein folds, whose division is given; its sizes and times.
#
#   Rscript bench/mkprobit-process.R                    all, one thread
#   Rscript bench/mkprobit-process.R sets 5 mkprobit    some sets' machines
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
    fit <- suppressWarnings(mkprobit(
      x, y, coefficients = "weights", threads = 1, seed = 1
    ))
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
        prob <- process_machines[[name]](
          data$x[-out, ], y[-out], data$x[out, ]
        )
        c(
          mean(colnames(prob)[max.col(prob, "first")] != y[out]),
          class_log_loss(y[out], prob), proc.time()[["elapsed"]] - time
        )
      }, numeric(3))
      cat(sprintf(
        "%-9s %-18s error %.3f (%.3f)  log-loss %.3f (%.3f)  %5.1f s\n", set,
        name, mean(scores[1, ]), sd(scores[1, ]), mean(scores[2, ]),
        sd(scores[2, ]), mean(scores[3, ])
      ))
    }
  }
}


arguments <- commandArgs(TRUE)
what <- if (length(arguments)) arguments[1L] else "all"
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
