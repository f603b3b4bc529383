# Shared by the scripts of this folder and by vignettes/*_precompute.R:
# timing, scores, data, and the protocol of the tuned support vector machine.

# Median CPU seconds of one call of `run`. Quick calls are repeated until a
# measurement lasts `least` seconds, since the clock ticks in milliseconds.
cpu_seconds <- function(run, times = 5, least = 0.2) {
  once <- function(count) {
    before <- proc.time()
    for (i in seq_len(count)) run()
    sum((proc.time() - before)[c("user.self", "sys.self")]) / count
  }
  first <- once(1)
  count <- max(1, ceiling(least / max(first, 1e-3)))
  if (count == 1 && times == 1) {
    return(first)
  }
  median(vapply(seq_len(times), function(i) once(count), numeric(1)))
}

wall_seconds <- function(run, times = 3) {
  median(vapply(seq_len(times), function(i) {
    system.time(run())[["elapsed"]]
  }, numeric(1)))
}

# The value of one call beside its CPU seconds.
timed <- function(run) {
  value <- NULL
  seconds <- cpu_seconds(function() value <<- run(), times = 1, least = 0)
  list(value = value, seconds = seconds)
}

has <- function(package) requireNamespace(package, quietly = TRUE)

quietly <- function(expr) suppressMessages(suppressWarnings(expr))

# A number or a word from the environment, e.g. BAYESKERNEL_SPLITS=2.
setting <- function(name, default) {
  value <- Sys.getenv(paste0("BAYESKERNEL_", name), NA)
  if (is.na(value)) default else methods::as(value, class(default))
}

# Timings mean little on a busy machine, so each script says how busy it was.
print_machine <- function() {
  load <- tryCatch(
    strsplit(readLines("/proc/loadavg", 1), " ")[[1]][1],
    error = function(e) "unknown", warning = function(w) "unknown"
  )
  cat(sprintf(
    "%s, bayeskernel %s, %d cores, load average at the start %s\n",
    R.version.string, utils::packageVersion("bayeskernel"),
    parallel::detectCores(), load
  ))
}

# One row a comparison; `demand` and `stretch` are ratios ours / peer.
ratio_row <- function(work, peer, ours_s, peer_s, demand = NA, stretch = NA) {
  data.frame(
    work = work, peer = peer, ours_s = ours_s, peer_s = peer_s,
    ratio = ours_s / peer_s, demand = demand, stretch = stretch
  )
}

print_ratios <- function(rows, title) {
  if (length(rows) == 0) {
    return(invisible())
  }
  table <- do.call(rbind, rows)
  fraction <- function(ratio) {
    ifelse(is.na(ratio), "",
      ifelse(ratio < 0.5, paste0("1/", signif(1 / ratio, 3)), signif(ratio, 3))
    )
  }
  verdict <- with(table, ifelse(is.na(demand), "",
    ifelse(ratio <= stretch, "stretch",
      ifelse(ratio <= demand, "demand", "SHORT")
    )
  ))
  cat("\n", title, "\n", sep = "")
  width <- options(width = 120)
  on.exit(options(width))
  print(
    data.frame(
      work = table$work, peer = table$peer,
      ours_s = signif(table$ours_s, 3), peer_s = signif(table$peer_s, 3),
      ratio = fraction(table$ratio), demand = fraction(table$demand),
      stretch = fraction(table$stretch), reached = verdict
    ),
    row.names = FALSE, right = FALSE
  )
}

print_limit <- function(what, seconds, limit) {
  cat(sprintf(
    "%-58s %9.4f s, limit %g s: %s\n", what, seconds, limit,
    if (seconds <= limit) "met" else "SHORT"
  ))
}

# Scores -----------------------------------------------------------------

class_of <- function(prob, threshold, levels) {
  factor(levels[1 + (prob >= threshold)], levels)
}

log_loss <- function(truth, prob) {
  prob <- pmin(pmax(prob, 1e-15), 1 - 1e-15)
  -mean(ifelse(truth, log(prob), log1p(-prob)))
}

brier <- function(truth, prob) mean((prob - truth)^2)

auc <- function(truth, score) {
  positive <- sum(truth)
  negative <- length(truth) - positive
  ranks <- sum(rank(score)[truth])
  (ranks - positive * (positive + 1) / 2) / positive / negative
}

# Data -------------------------------------------------------------------

toenail_formula <- outcome ~ time * treatment + (1 | patientID)

toenail_data <- function() {
  home <- new.env()
  utils::data("toenail", package = "HSAUR3", envir = home)
  home$toenail
}

spam_data <- function() {
  home <- new.env()
  utils::data("spam", package = "kernlab", envir = home)
  home$spam
}

# Patients of Duke University with chest pain, as Vanderbilt's department of
# biostatistics gives them out: from the folder BAYESKERNEL_DATA, else from the
# user's cache, into which they are fetched once.
acath_data <- function() {
  folder <- Sys.getenv("BAYESKERNEL_DATA")
  cache <- tools::R_user_dir("bayeskernel", "cache")
  file <- file.path(if (nzchar(folder)) folder else cache, "acath.csv")
  if (file.exists(file)) {
    return(checked_acath(utils::read.csv(file)))
  }
  if (nzchar(folder)) stop("BAYESKERNEL_DATA has no acath.csv")
  fetched <- tempfile(fileext = ".sav")
  on.exit(unlink(fetched))
  utils::download.file(
    "https://hbiostat.org/data/repo/acath.sav", fetched, mode = "wb"
  )
  home <- new.env()
  load(fetched, home)
  data <- checked_acath(home$acath)
  dir.create(cache, recursive = TRUE, showWarnings = FALSE)
  utils::write.csv(data, file, row.names = FALSE)
  data
}

# The table with its rows in one order, so that splits do not depend on where
# it came from. The checksum is of the content: copies differ in the order of
# rows and columns, not in a cell.
checked_acath <- function(data) {
  columns <- c("sex", "age", "cad.dur", "choleste", "tvdlm", "sigdz")
  data <- data.frame(lapply(data[columns], as.integer))
  data <- data[do.call(order, data), ]
  rownames(data) <- NULL
  text <- tempfile()
  on.exit(unlink(text))
  writeBin(charToRaw(paste0(
    do.call(paste, c(data, sep = ",")), "\n", collapse = ""
  )), text)
  if (tools::md5sum(text) != "1c43af642bc762538082fb542334fd0b") {
    stop("acath.csv is not the table of 3504 patients that is expected")
  }
  data
}

acath_formula <- sigdz ~ sex + age + log(cad.dur + 1) + log(choleste)

# Section 4.5: test rows have their cholesterol measured. A quarter of all
# rows, drawn among those, is the test set; the other rows, complete or not,
# are for training.
acath_test_rows <- function(data) {
  complete <- which(!is.na(data$choleste))
  sort(sample(complete, round(0.25 * nrow(data))))
}

# Multiple imputation with the defaults of mice: data frames of the transformed
# columns, in the order of acath_formula.
mice_completed <- function(data, seed, m = 5) {
  columns <- stats::model.frame(acath_formula, data, na.action = stats::na.pass)
  names(columns) <- c("sigdz", "sex", "age", "log_duration", "log_cholesterol")
  imputed <- mice::mice(columns, m = m, seed = seed, printFlag = FALSE)
  mice::complete(imputed, "all")
}

three_quarters <- function(n) sort(sample(n, round(0.75 * n)))

# Columns of the fixed part, standardised by the training rows.
standardised_design <- function(data, train) {
  x <- stats::model.matrix(~ time * treatment, data)[, -1]
  center <- colMeans(x[train, ])
  spread <- apply(x[train, ], 2, stats::sd)
  scale(x, center, spread)
}

# Section 4.2; the paper's own generator is lost. Labels y = sign(f + e),
# f = x1 - x2 + x3 - x4, e logistic, x standard normal.
simulate_linear <- function(n, p) {
  x <- matrix(stats::rnorm(n * p), n, p)
  f <- drop(x[, 1:4] %*% c(1, -1, 1, -1))
  list(x = x, y = factor(f + stats::rlogis(n) > 0, c(FALSE, TRUE)))
}

# Columns standard normal with correlation r^|j - k|; `effects` belong to
# columns spread evenly over all p, `true`, and y = sign(f + e), e logistic.
simulate_sparse <- function(n, p, effects, correlation = 0) {
  x <- matrix(stats::rnorm(n * p), n, p)
  for (k in seq_len(p)[-1]) {
    x[, k] <- correlation * x[, k - 1] + sqrt(1 - correlation^2) * x[, k]
  }
  colnames(x) <- paste0("x", seq_len(p))
  true <- round(seq(1, p, length.out = length(effects)))
  f <- drop(x[, true] %*% effects)
  list(
    x = x, true = true,
    y = factor(f + stats::rlogis(n) > 0, c(FALSE, TRUE))
  )
}

# Selection ----------------------------------------------------------------

kept_by_bsvm <- function(x, y, ...) {
  fit <- quietly(bayeskernel::bsvm(x, y, select = TRUE, ...))
  unname(which(bayeskernel::inclusion(fit) > 0.5))
}

kept_by_lasso <- function(x, y, rule) {
  fit <- quietly(glmnet::cv.glmnet(x, y, family = "binomial"))
  which(stats::coef(fit, s = rule)[-1] != 0)
}

# Spike-and-slab variational Bayes for the logistic model.
kept_by_varbvs <- function(x, y) {
  fit <- quietly(varbvs::varbvs(
    x, NULL, as.numeric(y) - 1, family = "binomial", verbose = FALSE
  ))
  unname(which(fit$pip > 0.5))
}

# Functions of x and y that give the columns kept; peers where installed.
selectors <- function() {
  all <- list(
    "bsvm vb" = kept_by_bsvm,
    "bsvm vb, four starts" = function(x, y) {
      kept_by_bsvm(x, y, starts = c(1, 0.5, 0.1, 0.01))
    },
    "bsvm gibbs" = function(x, y) {
      kept_by_bsvm(x, y, method = "gibbs", chains = 2, draws = 2000, seed = 1)
    }
  )
  if (has("glmnet")) {
    all[["cv.glmnet, one se"]] <- function(x, y) {
      kept_by_lasso(x, y, "lambda.1se")
    }
    all[["cv.glmnet, minimum"]] <- function(x, y) {
      kept_by_lasso(x, y, "lambda.min")
    }
  }
  if (has("varbvs")) all[["varbvs"]] <- kept_by_varbvs
  all
}

# Seconds, false selections and misses of one of them on simulated data.
score_selection <- function(selector, set) {
  done <- timed(function() selector(set$x, set$y))
  c(
    seconds = done$seconds, false = length(setdiff(done$value, set$true)),
    missed = length(setdiff(set$true, done$value))
  )
}

# Linear support vector machine, cost tuned -------------------------------

fit_svm <- function(x, y, cost, weights = NULL) {
  suppressWarnings(e1071::svm(
    x, y, kernel = "linear", cost = cost, scale = FALSE,
    class.weights = weights
  ))
}

# The two-stage grid of section 4.1: the hold-out error of each cost on a
# coarse grid, then on a finer one around the best. The paper uses 100
# hold-outs a grid; its costs are not given.
tune_svm <- function(x, y, hold_outs = 5, coarse = 2^seq(-5, 5, 2),
                     fine = 2^seq(-1.5, 1.5, 0.5)) {
  error <- function(costs) {
    rowMeans(vapply(seq_len(hold_outs), function(h) {
      inner <- three_quarters(length(y))
      if (length(unique(y[inner])) < 2) {
        return(rep(NA_real_, length(costs)))
      }
      vapply(costs, function(cost) {
        fit <- fit_svm(x[inner, , drop = FALSE], y[inner], cost)
        mean(stats::predict(fit, x[-inner, , drop = FALSE]) != y[-inner])
      }, numeric(1))
    }, numeric(length(costs))), na.rm = TRUE)
  }
  best <- coarse[which.min(error(coarse))]
  refined <- best * fine
  cost <- refined[which.min(error(refined))]
  list(fit = fit_svm(x, y, cost), cost = cost)
}

# Weights that give both classes the same total.
balancing_weights <- function(y) {
  count <- table(y)
  stats::setNames(as.numeric(length(y) / (2 * count)), names(count))
}
