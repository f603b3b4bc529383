# Shared by the scripts of this folder and by vignettes/precompute_*.R: timing, scores, data, and
# the protocol of the tuned support vector machine.

# This file, for processes of their own.
helpers_file <- normalizePath(
  Filter(file.exists, file.path(c(".", "..", "../.."), "bench/helpers.R"))[1]
)

# Of functions that hand on what they are given: flat(bsvm)(..., tol = 1e-8).
source(file.path(dirname(helpers_file), "../tests/testthat/helper-flat.R"))

# Median CPU seconds of one call of `run`. Quick calls are repeated until a measurement lasts
# `least` seconds, since the clock ticks in milliseconds.
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
timed <- function(run, least = 0) {
  value <- NULL
  seconds <- cpu_seconds(function() value <<- run(), times = 1, least = least)
  list(value = value, seconds = seconds)
}

has <- function(package) requireNamespace(package, quietly = TRUE)

quietly <- function(expr) suppressMessages(suppressWarnings(expr))

# A number or a word from the environment, e.g. BAYESKERNEL_SPLITS=2.
setting <- function(name, default) {
  value <- Sys.getenv(paste0("BAYESKERNEL_", name), NA)
  if (is.na(value)) default else methods::as(value, class(default))
}

# The functions `parts`, or those that BAYESKERNEL_PARTS names, one after another. What they return
# goes to `file` under their names; parts that are left out stay as it has them.
run_parts <- function(parts, file) {
  wanted <- setting("PARTS", paste(names(parts), collapse = ","))
  results <- if (file.exists(file)) readRDS(file) else list()
  for (part in strsplit(wanted, ",", fixed = TRUE)[[1]]) {
    message("part ", part)
    results[[part]] <- parts[[part]]()
    results$version <- as.character(utils::packageVersion("bayeskernel"))
    saveRDS(results, file, version = 2, compress = "xz")
  }
}

# The same for data frames, with a column `seed`: one table in a CSV file, with a column `part` and
# the version of each run. Columns that a part does not have are empty.
run_tables <- function(parts, file) {
  wanted <- setting("PARTS", paste(names(parts), collapse = ","))
  results <- if (file.exists(file)) utils::read.csv(file, check.names = FALSE)
  for (part in strsplit(wanted, ",", fixed = TRUE)[[1]]) {
    message("part ", part)
    tables <- list(results[results$part != part, ], data.frame(
      part = part, parts[[part]](), version = format(utils::packageVersion("bayeskernel")),
      check.names = FALSE
    ))
    columns <- unique(unlist(lapply(tables, names)))
    results <- do.call(rbind, lapply(tables, function(table) {
      table[setdiff(columns, names(table))] <- rep(NA, nrow(table))
      table[columns]
    }))
    utils::write.csv(results, file, row.names = FALSE, na = "")
  }
}

# Timings mean little on a busy machine, so each script says how busy it was.
print_machine <- function() {
  load <- tryCatch(
    strsplit(readLines("/proc/loadavg", 1), " ")[[1]][1],
    error = function(e) "unknown", warning = function(w) "unknown"
  )
  cat(sprintf(
    "%s, bayeskernel %s, %d cores, load average at the start %s\n", R.version.string,
    utils::packageVersion("bayeskernel"), parallel::detectCores(), load
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
    ifelse(ratio <= stretch, "stretch", ifelse(ratio <= demand, "demand", "SHORT"))
  ))
  cat("\n", title, "\n", sep = "")
  width <- options(width = 120)
  on.exit(options(width))
  print(
    data.frame(
      work = table$work, peer = table$peer, ours_s = signif(table$ours_s, 3),
      peer_s = signif(table$peer_s, 3), ratio = fraction(table$ratio),
      demand = fraction(table$demand), stretch = fraction(table$stretch), reached = verdict
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

# A file of the folder that the environment variable BAYESKERNEL_DATA names.
data_file <- function(name) {
  folder <- Sys.getenv("BAYESKERNEL_DATA")
  if (!nzchar(folder)) {
    stop("the environment variable BAYESKERNEL_DATA must name the folder of ", name)
  }
  file <- file.path(folder, name)
  if (!file.exists(file)) stop("BAYESKERNEL_DATA has no ", name)
  file
}

# Predictors and labels of a table whose last column is the label; the greater label, "1", is the
# positive class.
labelled_table <- function(file) {
  table <- utils::read.csv(file)
  last <- ncol(table)
  list(x = as.matrix(table[, -last]), y = factor(table[, last]))
}

raetsch_data <- function(set) {
  ending <- if (set == "waveform") ".csv.gz" else ".csv"
  labelled_table(data_file(paste0("raetsch_", set, ending)))
}

# The 8 low-level features of 11,000 collisions of SUSY, 10,000 for training.
susy_sample <- function() {
  table <- utils::read.csv(data_file("susy_lowlevel_11k.csv"))
  list(x = as.matrix(table[, 1:8]), y = factor(table$y), train = table$set == "train")
}

# Patients of Duke University with chest pain, as Vanderbilt's department of biostatistics gives
# them out: from the folder BAYESKERNEL_DATA, else from the user's cache, into which they are
# fetched once.
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
  utils::download.file("https://hbiostat.org/data/repo/acath.sav", fetched, mode = "wb")
  home <- new.env()
  load(fetched, home)
  data <- checked_acath(home$acath)
  dir.create(cache, recursive = TRUE, showWarnings = FALSE)
  utils::write.csv(data, file, row.names = FALSE)
  data
}

# The table with its rows in one order, so that splits do not depend on where it came from. The
# checksum is of the content: copies differ in the order of rows and columns, not in a cell.
checked_acath <- function(data) {
  columns <- c("sex", "age", "cad.dur", "choleste", "tvdlm", "sigdz")
  data <- data.frame(lapply(data[columns], as.integer))
  data <- data[do.call(order, data), ]
  rownames(data) <- NULL
  text <- tempfile()
  on.exit(unlink(text))
  writeBin(charToRaw(paste0(do.call(paste, c(data, sep = ",")), "\n", collapse = "")), text)
  if (tools::md5sum(text) != "1c43af642bc762538082fb542334fd0b") {
    stop("acath.csv is not the table of 3504 patients that is expected")
  }
  data
}

three_quarters <- function(n) sort(sample(n, round(0.75 * n)))

# The test rows of the folds of Wenzel et al.: contiguous, not shuffled; the last n %% 10 rows are
# in no test set.
contiguous_folds <- function(n, k = 10) {
  size <- n %/% k
  lapply(seq_len(k), function(fold) (fold - 1) * size + seq_len(size))
}

# Section 4.2; the paper's own generator is lost. Labels y = sign(f + e), f = x1 - x2 + x3 - x4, e
# logistic, x standard normal.
simulate_linear <- function(n, p) {
  x <- matrix(stats::rnorm(n * p), n, p)
  f <- drop(x[, 1:4] %*% c(1, -1, 1, -1))
  list(x = x, y = factor(f + stats::rlogis(n) > 0, c(FALSE, TRUE)))
}

# Nonlinear machines -------------------------------------------------------

# Functions of x, y (a factor of two levels), new rows and the width theta of the kernel exp(-|x -
# z|^2 / theta^2), NULL for the method's default. They give the predicted class and the probability
# of the second level. Given a width the machines get the cost 2 as well, which a kernel of variance
# 1 amounts to. All take their columns as they are.
nonlinear_machines <- function() {
  all <- list(
    gpsvm = function(x, y, new, theta = NULL, ..., method = "vb", tune = FALSE) {
      width <- if (!is.null(theta)) theta / sqrt(2)
      fit <- flat(bayeskernel::gpsvm)(
        x, y, bayeskernel::rbf(width), standardize = FALSE, ..., method = method, tune = tune
      )
      prob <- stats::predict(fit, new, type = "prob")[, 2]
      list(class = class_of(prob, 0.5, levels(y)), prob = prob)
    }
  )
  if (has("e1071")) {
    all$e1071 <- function(x, y, new, theta = NULL) {
      width <- if (!is.null(theta)) list(gamma = 1 / theta^2, cost = 2)
      fit <- do.call(e1071::svm, c(list(x, y, scale = FALSE, probability = TRUE), width))
      class <- stats::predict(fit, new, probability = TRUE)
      list(class = class, prob = attr(class, "probabilities")[, levels(y)[2]])
    }
  }
  if (has("kernlab")) {
    all$ksvm <- function(x, y, new, theta = NULL) {
      width <- if (!is.null(theta)) {
        list(kpar = list(sigma = 1 / theta^2), C = 2)
      }
      fit <- do.call(kernlab::ksvm, c(list(x, y, scaled = FALSE, prob.model = TRUE), width))
      list(
        class = kernlab::predict(fit, new),
        prob = kernlab::predict(fit, new, type = "probabilities")[, 2]
      )
    }
    all$gausspr <- function(x, y, new, theta = NULL) {
      width <- if (!is.null(theta)) list(kpar = list(sigma = 1 / theta^2))
      utils::capture.output(fit <- do.call(kernlab::gausspr, c(list(x, y, scaled = FALSE), width)))
      prob <- kernlab::predict(fit, new, type = "probabilities")[, 2]
      list(class = class_of(prob, 0.5, levels(y)), prob = prob)
    }
  }
  all
}

# New rows standardised like the rows of training, and columns that are constant there left out.
standardised_pair <- function(x, new) {
  center <- colMeans(x)
  spread <- apply(x, 2, stats::sd)
  varies <- spread > 0
  put <- function(x) {
    scale(x[, varies, drop = FALSE], center[varies], spread[varies])[, ]
  }
  list(x = put(x), new = put(new))
}

# One row a fold: error, Brier score, log loss, AUC and CPU seconds of fit and prediction; quick
# ones are timed over several runs. `machine` is called with x, y and the new rows, standardised by
# the training rows of the fold.
score_folds <- function(data, machine, folds = contiguous_folds(nrow(data$x)), seed = 1) {
  rows <- lapply(seq_along(folds), function(fold) {
    test <- folds[[fold]]
    pair <- standardised_pair(data$x[-test, ], data$x[test, ])
    set.seed(seed + fold)
    done <- timed(least = 0.05, function() {
      quietly(machine(pair$x, data$y[-test], pair$new))
    })
    truth <- data$y[test] == levels(data$y)[2]
    prob <- done$value$prob
    data.frame(
      fold = fold, error = mean(done$value$class != data$y[test]), brier = brier(truth, prob),
      log_loss = log_loss(truth, prob),
      auc = if (length(unique(truth)) == 2) auc(truth, prob) else NA, seconds = done$seconds
    )
  })
  do.call(rbind, rows)
}

# A stand-in for the collisions of SUSY: 18 columns, 8 of them independent standard normal, z, as
# low-level features, and 10 noisy functions of two of these each, as high-level ones: a sum for odd
# j, a length for even j. Labels y = sign(f + e), e logistic, f a smooth function of z with squares,
# products and a sine; 46 % are TRUE, and the AUC of f itself is 0.88. Made in blocks, so that
# memory stays near that of the result.
simulate_susy <- function(n, seed = 1, block = 1e5) {
  set.seed(seed)
  x <- matrix(0, n, 18)
  y <- logical(n)
  score <- numeric(n)
  for (start in seq(0, n - 1, by = block)) {
    rows <- start + seq_len(min(block, n - start))
    z <- matrix(stats::rnorm(length(rows) * 8), ncol = 8)
    f <- z[, 1] - 0.8 * z[, 2] + 0.6 * z[, 6] + 0.7 * (z[, 3]^2 - 1) +
      0.8 * z[, 4] * z[, 5] + 0.8 * sin(1.5 * z[, 7])
    f <- 1.15 * f - 0.25
    x[rows, 1:8] <- z
    for (j in 1:10) {
      a <- z[, (j - 1) %% 8 + 1]
      b <- z[, (j + 1) %% 8 + 1]
      made <- if (j %% 2 == 1) {
        (a + b) / sqrt(2)
      } else {
        (sqrt(a^2 + b^2) - sqrt(pi / 2)) / sqrt(2 - pi / 2)
      }
      x[rows, 8 + j] <- 0.9 * made + sqrt(0.19) * stats::rnorm(length(rows))
    }
    y[rows] <- f + stats::rlogis(length(rows)) > 0
    score[rows] <- f
  }
  colnames(x) <- c(paste0("low", 1:8), paste0("high", 1:10))
  list(x = x, y = y, f = score)
}

# Resident memory now and at its peak since the last reset, MB; Linux only.
memory <- function() {
  status <- readLines("/proc/self/status")
  field <- function(name) {
    line <- grep(paste0("^", name, ":"), status, value = TRUE)
    as.numeric(gsub("[^0-9]", "", line)) / 1024
  }
  c(now = field("VmRSS"), peak = field("VmHWM"))
}
reset_peak <- function() {
  tryCatch(writeLines("5", "/proc/self/clear_refs"), error = identity)
}

# The settings of the paper for SUSY.
fit_susy <- function(x, y, ..., tune = FALSE) {
  flat(bayeskernel::gpsvm)(
    x, y, bayeskernel::rbf(5 / sqrt(2)), inducing = 64, method = "svi", seed = 1, ..., tune = tune
  )
}

# One fit to the stand-in: wall-clock and CPU seconds, memory above what the process held before,
# data included, and scores on 100,000 other rows. To be run in a fresh process, whose memory
# nothing else has touched.
susy_run <- function(n, threads, ...) {
  new <- simulate_susy(1e5, seed = 2)
  data <- simulate_susy(n)
  data$f <- NULL
  fit_susy(data$x[1:1000, ], data$y[1:1000], threads = threads, ...)
  gc()
  reset_peak()
  before <- memory()
  time <- system.time(fit <- fit_susy(data$x, data$y, threads = threads, ...))
  after <- memory()
  prob <- stats::predict(fit, new$x, type = "prob", threads = threads)[, 2]
  d <- fit$diagnostics
  data.frame(
    n = n, threads = threads, seconds = time[["elapsed"]], core = fit$elapsed[["core"]],
    cpu = time[["user.self"]] + time[["sys.self"]], steps = d$steps, batch = d$batch_size,
    passes = d$passes, elbo = if (d$passes > 0) max(bayeskernel::elbo(fit)) else NA,
    data_mb = 8 * length(data$x) / 2^20, above_mb = after[["peak"]] - before[["now"]],
    auc = auc(new$y, stats::predict(fit, new$x, type = "link")), best_auc = auc(new$y, new$f),
    brier = brier(new$y, prob), error = mean((prob > 0.5) != new$y)
  )
}

susy_run_apart <- function(...) {
  callr::r(
    function(file, arguments) {
      source(file)
      options(bayeskernel.progress = FALSE)
      do.call(susy_run, arguments)
    },
    list(helpers_file, list(...))
  )
}

# The real collisions: our machine and its peers on their defaults.
susy_sample_scores <- function() {
  data <- susy_sample()
  machines <- nonlinear_machines()
  ours <- function(..., method = "vb", tune = FALSE) {
    function(x, y, new) {
      machines$gpsvm(x, y, new, theta = 5, threads = 1L, seed = 1L, ..., method = method, tune = tune)
    }
  }
  runs <- c(
    list(
      "gpsvm, m = 64" = ours(inducing = 64L),
      "gpsvm, m = 64, svi" = ours(inducing = 64L, method = "svi"),
      "gpsvm, m = 256" = ours(inducing = 256L),
      "logistic regression" = function(x, y, new) {
        fit <- stats::glm.fit(cbind(1, x), y == "1", family = stats::binomial())
        prob <- stats::plogis(drop(cbind(1, new) %*% fit$coefficients))
        list(class = class_of(prob, 0.5, levels(y)), prob = prob)
      }
    ),
    machines[intersect(c("e1071", "ksvm"), names(machines))]
  )
  folds <- list(which(!data$train))
  rows <- lapply(names(runs), function(name) {
    data.frame(machine = name, score_folds(data, runs[[name]], folds)[-1])
  })
  do.call(rbind, rows)
}

# The exponent of n in the time.
growth_exponent <- function(n, seconds) {
  stats::coef(stats::lm(log(seconds) ~ log(n)))[[2]]
}

# Selection ----------------------------------------------------------------

# Linear support vector machine, cost tuned -------------------------------

fit_svm <- function(x, y, cost, weights = NULL) {
  suppressWarnings(e1071::svm(
    x, y, kernel = "linear", cost = cost, scale = FALSE, class.weights = weights
  ))
}

# The two-stage grid of section 4.1: the hold-out error of each cost on a coarse grid, then on a
# finer one around the best. The paper uses 100 hold-outs a grid; its costs are not given.
tune_svm <- function(x, y, hold_outs = 5, coarse = 2^seq(-5, 5, 2), fine = 2^seq(-1.5, 1.5, 0.5)) {
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

# Additive kernels: data and peers of Ouyang (2008) --------------------------

# Friedman's functions 1 to 3 with the dissertation's noise, or without any.
simulate_friedman <- function(number, n, noisy = TRUE) {
  simulate <- list(
    mlbench::mlbench.friedman1, mlbench::mlbench.friedman2, mlbench::mlbench.friedman3
  )[[number]]
  z <- simulate(n, sd = if (noisy) c(1, 125, 0.1)[[number]] else 0)
  list(x = z$x, y = z$y)
}

# Half of the square of x1, x2 is inside the circle; other columns are noise.
simulate_circle <- function(p, n) {
  x <- matrix(stats::runif(n * p, -1, 1), n)
  list(x = x, y = as.integer(rowSums(x[, 1:2]^2) <= 2 / pi))
}

# Two classes of spectra, half each: Gaussian peaks of sd 3 at 20 (class 0 only), 40 (both), 60
# (both, twice as high in class 1) and 80 (class 1 only), on a baseline.
simulate_spectra <- function(n = 10, p = 100, baseline = 0) {
  centers <- c(20, 40, 60, 80)
  heights <- rbind(c(1, 1, 1, 0), c(0, 1, 2, 1))
  y <- rep(0:1, length.out = n)
  shapes <- exp(-outer(centers, seq_len(p), "-")^2 / 18)
  jitter <- exp(stats::rnorm(4 * n, 0, 0.1))
  x <- (heights[y + 1, ] * jitter) %*% shapes
  noise <- matrix(stats::rnorm(n * p, 0, 0.05), n)
  x <- baseline + x + noise
  colnames(x) <- seq_len(p)
  list(x = x, y = y)
}

ouyang_data <- function(set) {
  numbers <- function(x) vapply(x, function(v) {
    as.numeric(as.character(v))
  }, numeric(nrow(x)))
  table <- function(name) {
    data <- utils::read.csv(data_file(paste0(name, ".csv")))
    list(x = as.matrix(data[-ncol(data)]), y = data[[ncol(data)]])
  }
  packaged <- function(name, package) {
    home <- new.env()
    utils::data(list = name, package = package, envir = home)
    home[[name]]
  }
  switch(set,
    "Boston" = {
      data <- MASS::Boston
      list(x = as.matrix(data[-14]), y = data$medv)
    },
    "Body fat" = table("bodyfat"),
    "Basketball" = table("basketball"),
    "Bank" = {
      data <- packaged("banknote", "mclust")
      list(x = as.matrix(data[-1]), y = +(data$Status == "counterfeit"))
    },
    "WDBC" = {
      data <- packaged("wdbc", "mclust")
      list(x = as.matrix(data[3:32]), y = +(data$Diagnosis == "M"))
    },
    "Ionosphere" = {
      data <- packaged("Ionosphere", "mlbench")
      # The second column is constant.
      list(x = numbers(data[c(1, 3:34)]), y = +(data$Class == "good"))
    }
  )
}

# Functions of x, y (numbers, or 0 and 1 if `classes`) and new rows that give the mean response, or
# the probability of 1 (SVM: the class).
ouyang_peers <- function() {
  response <- function(y, classes) if (classes) factor(y, 0:1) else y
  number <- function(y, classes) if (classes) +(y == "1") else unname(y)
  all <- list()
  if (has("e1071")) {
    all[["SVM, tuned"]] <- function(x, y, new, classes) {
      fit <- e1071::tune.svm(
        x, response(y, classes), gamma = c(0.1, 0.3, 1, 3) / ncol(x),
        cost = c(1, 10, 100), tunecontrol = e1071::tune.control(cross = 5)
      )$best.model
      number(stats::predict(fit, new), classes)
    }
    all[["SVM, default"]] <- function(x, y, new, classes) {
      fit <- e1071::svm(x, response(y, classes))
      number(stats::predict(fit, new), classes)
    }
  }
  if (has("dbarts")) {
    all[["BART"]] <- function(x, y, new, classes) {
      fit <- dbarts::bart(x, y, new, verbose = FALSE)
      if (classes) colMeans(stats::pnorm(fit$yhat.test)) else fit$yhat.test.mean
    }
  }
  if (has("ranger")) {
    all[["ranger"]] <- function(x, y, new, classes) {
      fit <- ranger::ranger(x = x, y = response(y, classes), probability = classes, num.threads = 1)
      out <- stats::predict(fit, new, num.threads = 1)$predictions
      if (classes) out[, "1"] else out
    }
  }
  if (has("randomForest")) {
    all[["random forest"]] <- function(x, y, new, classes) {
      fit <- randomForest::randomForest(x, response(y, classes))
      if (classes) stats::predict(fit, new, type = "prob")[, "1"] else stats::predict(fit, new)
    }
  }
  all
}

# Largest R-hat of f at the reference rows of a fit by bark().
rhat_of_f <- function(fit) {
  table <- summary(fit)$parameters
  max(table[startsWith(rownames(table), "f["), "R-hat"])
}

# The argument `name=value` of a script, or `name=value,value`, of the default's class; as it is
# without one.
words <- function(name, default) {
  given <- strsplit(commandArgs(trailingOnly = TRUE), "=", fixed = TRUE)
  values <- stats::setNames(lapply(given, `[`, 2L), vapply(given, `[`, "", 1L))[[name]]
  if (is.null(values)) return(default)
  if (is.null(default)) return(values)
  methods::as(strsplit(values, ",", fixed = TRUE)[[1]], class(default))
}
