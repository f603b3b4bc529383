# Large designs: the stand-in for SUSY with a length-scale per column, beside
# lightgbm; inducing points against seconds and AUC; groups of three rows, and
# subjects with a surface, beside gpboost; 1e6 rows x 125 columns with subjects.
# Peers are left out where they are not installed.
#
#   Rscript bench/large.R                    from the root of the repository
#   BAYESKERNEL_PARTS=susy,points,groups,wide BAYESKERNEL_ROWS=5e6 Rscript ...
#
# Linux for the memory; every part needs up to 4 GB, "wide" with 10,000 subjects
# less than 3.

library(bayeskernel)
source("bench/helpers.R")
source("bench/helpers-bkm.R")
options(bayeskernel.threads = 2L, bayeskernel.progress = FALSE)
print_machine()
parts <- strsplit(setting("PARTS", "susy,points,groups,wide"), ",")[[1]]

# Wall-clock and CPU seconds, memory above what there was, MB.
measured <- function(run) {
  gc()
  reset_peak()
  before <- memory()
  time <- system.time(value <- quietly(run()))
  list(
    value = value, seconds = time[["elapsed"]], cpu = time[["user.self"]] + time[["sys.self"]],
    above_mb = memory()[["peak"]] - before[["now"]]
  )
}

show <- function(what, own, ...) {
  scores <- c(...)
  cat(sprintf(
    "%s: %.1f s, %.1f s of CPU, %.0f MB above the data%s\n", what, own$seconds, own$cpu,
    own$above_mb, paste0(", ", names(scores), sprintf(" %.4f", scores), collapse = "")
  ))
}

process <- function(data, m) {
  gpsvm(
    data$x, data$y, rbf(ard = TRUE), inducing = m, method = "svi",
    tune = "bound", control = gpsvm_control(tune_rows = 20000, max_iter = 0), seed = 1
  )
}

if ("susy" %in% parts) {
  n <- as.numeric(setting("ROWS", 5e6))
  new <- simulate_susy(1e5, seed = 2)
  data <- simulate_susy(n)
  data$f <- NULL
  cat(sprintf("\n%.0f x 18, best possible AUC %.4f\n", n, auc(new$y, new$f)))
  ours <- measured(function() process(data, 512))
  ours$auc <- auc(new$y, predict(ours$value, new$x, type = "link"))
  show("gpsvm svi, m = 512, one epoch", ours, AUC = ours$auc)
  if (has("lightgbm")) {
    peer <- measured(function() {
      lightgbm::lgb.train(
        list(
          objective = "binary", num_threads = 2L, verbosity = -1L,
          num_leaves = 31L, learning_rate = 0.1
        ),
        lightgbm::lgb.Dataset(data$x, label = as.numeric(data$y)), 500L
      )
    })
    show("lightgbm, 500 trees", peer, AUC = auc(new$y, predict(peer$value, new$x)))
    cat(sprintf("ours / lightgbm: %.2f of the CPU\n", ours$cpu / peer$cpu))
  }
  cat(sprintf(
    "AUC at least .872 in 600 s: %s\n",
    if (ours$auc >= 0.872 && ours$seconds <= 600) "met" else "SHORT"
  ))
  rm(data)
}

if ("points" %in% parts) {
  n <- as.numeric(setting("POINT_ROWS", 1e6))
  new <- simulate_susy(1e5, seed = 2)
  data <- simulate_susy(n)
  cat(sprintf("\n%.0f x 18 by inducing points\n", n))
  for (m in c(64, 128, 256, 512, 1024, 2048)) {
    own <- measured(function() process(data, m))
    show(
      sprintf("m = %d, of these %.1f s the epoch", m, own$value$elapsed[["core"]]),
      own, AUC = auc(new$y, predict(own$value, new$x, type = "link"))
    )
  }
  rm(data)
}

# --- groups, beside gpboost ---------------------------------------------------

beside_gpboost <- function(what, n, groups, fit) {
  set.seed(1)
  effects <- stats::rnorm(groups)
  train <- surface_data(n, groups, effects)
  known <- surface_data(2 * groups, groups, effects)
  new <- surface_data(30000, 10000, level = groups + seq_len(10000))
  losses <- function(p) {
    c("log-loss known" = probability_loss(known$y, p(known)), new = probability_loss(new$y, p(new)))
  }
  ours <- measured(function() fit(train))
  cat(sprintf("\n%s\n", what))
  show("bkm", ours, losses(function(rows) response(ours$value, rows)))
  if (has("gpboost")) {
    peer <- measured(function() {
      gpboost::gpboost(
        data = gpboost::gpb.Dataset(as.matrix(train[c("x1", "x2")]), label = train$y),
        gp_model = gpboost::GPModel(
          group_data = as.character(train$id), likelihood = "bernoulli_logit",
          num_parallel_threads = 2L
        ),
        nrounds = 100L, learning_rate = 0.1, num_leaves = 31L, verbose = 0L,
        num_threads = 2L
      )
    })
    show("gpboost, 100 trees", peer, losses(function(rows) {
      predict(
        peer$value, data = as.matrix(rows[c("x1", "x2")]), group_data_pred = as.character(rows$id),
        predict_var = FALSE, pred_latent = FALSE
      )$response_mean
    }))
    cat(sprintf("ours / gpboost: %.2f of the CPU\n", ours$cpu / peer$cpu))
  }
  show_truth <- losses(function(rows) plogis(rows$f))
  cat(sprintf("truth: known %.4f, new %.4f\n", show_truth[1], show_truth[2]))
}

if ("groups" %in% parts) {
  beside_gpboost("40,000 rows, 9,000 subjects, a surface", 40000, 9000,
    function(rows) bkm(y ~ gp(x1, x2) + (1 | id), rows)
  )
  beside_gpboost("300,000 groups of 3 rows, m = 64", 900000, 300000,
    function(rows) {
      bkm(y ~ gp(x1, x2, inducing = 64) + (1 | id), rows, method = "vb")
    }
  )
}

# --- 1e6 x 125 with subjects --------------------------------------------------

if ("wide" %in% parts) {
  n <- as.numeric(setting("WIDE_ROWS", 1e6))
  for (subjects in c(10000, 100000)) {
    set.seed(1)
    data <- surface_data(n, subjects)
    data$f <- NULL
    slopes <- rep_len(c(0.2, -0.1, 0, 0), 123)
    shift <- numeric(n)
    for (j in 1:123) {
      column <- stats::rnorm(n)
      shift <- shift + slopes[j] * column
      data[[paste0("z", j)]] <- column
    }
    data$y <- as.numeric(stats::runif(n) < stats::plogis(
      stats::qlogis(0.25 + 0.5 * data$y) + shift
    ))
    formula <- stats::reformulate(
      c(paste0("z", 1:123), "gp(x1, x2, inducing = 100)", "(1 | id)"), "y"
    )
    own <- measured(function() bkm(formula, data, method = "vb"))
    cat(sprintf(
      "\n%.0f rows x 125, %.0f subjects: %.0f s, %.0f s of CPU, %d passes\n",
      n, subjects, own$seconds, own$cpu, own$value$diagnostics$passes
    ))
    cat(sprintf("peak %.2f GB, data included; limits 600 s and 4 GB\n", memory()[["peak"]] / 1024))
    rm(own, data)
  }
}
