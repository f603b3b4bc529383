# The slow runs of the vignette "large-data". Run in this folder; writes
# large-data_results.csv.
#
#   Rscript precompute_large-data.R
#
# It takes some minutes, 2 GB of memory and 1 GB of disk, and needs packages callr and RSQLite, and
# Linux for the memory. A trial with fewer rows, and some parts only:
#   BAYESKERNEL_ROWS=2e5 BAYESKERNEL_PARTS=growth \
#   BAYESKERNEL_RESULTS=trial.csv Rscript precompute_large-data.R
# A part that is left out stays as the results file has it.

library(bayeskernel)
source("../bench/helpers.R")
options(bayeskernel.progress = FALSE)

results_file <- setting("RESULTS", "large-data_results.csv")
most <- setting("ROWS", 2e6)

# Time, memory and scores against the rows ------------------------------------

# Processes of their own, so that each has its own peak of memory.
run_growth <- function() {
  sizes <- c(1e5, 3e5, 1e6, 2e6)
  sizes <- sizes[sizes <= most]
  rows <- lapply(sizes, function(n) {
    message(n, " rows")
    rbind(
      data.frame(run = "epoch", susy_run_apart(n, 2L, max_iter = 0)),
      data.frame(run = "converged", susy_run_apart(n, 2L))
    )
  })
  data.frame(do.call(rbind, rows), seed = 1)
}

# What more inducing points or tuning gain, and the straight line.
run_rivals <- function() {
  n <- min(most, 1e6)
  train <- simulate_susy(n)
  test <- simulate_susy(1e5, seed = 2)
  one_epoch <- function(what, m, kernel, tune = FALSE) {
    message(what)
    done <- timed(function() {
      gpsvm(
        train$x, train$y, kernel, inducing = m, method = "svi",
        control = gpsvm_control(max_iter = 0),
        tune = tune, seed = 1, threads = 1L
      )
    })
    data.frame(
      what = what, seconds = done$seconds,
      auc = auc(test$y, predict(done$value, test$x, type = "link"))
    )
  }
  rows <- lapply(c(16, 32, 64, 128, 256), function(m) {
    one_epoch(paste(m, "inducing points"), m, rbf(5 / sqrt(2)))
  })
  rows[[6]] <- one_epoch("64, tuned, one length-scale", 64, rbf(), TRUE)
  rows[[7]] <- one_epoch(
    "64, tuned, a length-scale each column", 64, rbf(ard = TRUE), TRUE
  )
  glm <- timed(function() {
    glm.fit(cbind(1, train$x), as.numeric(train$y), family = binomial())
  })
  rows[[8]] <- data.frame(
    what = "logistic regression, glm.fit()", seconds = glm$seconds,
    auc = auc(test$y, drop(cbind(1, test$x) %*% glm$value$coefficients))
  )
  data.frame(n = n, do.call(rbind, rows), seed = 1)
}

# A database ------------------------------------------------------------------

# The same rows in memory and from SQLite, where the process never holds them.
run_sqlite <- function() {
  n <- min(most, 1e6)
  path <- tempfile(fileext = ".sqlite")
  on.exit(unlink(path))
  callr::r(function(path, n, file) {
    source(file)
    data <- simulate_susy(n)
    con <- DBI::dbConnect(RSQLite::SQLite(), path)
    DBI::dbExecute(con, "PRAGMA synchronous = OFF")
    DBI::dbWriteTable(con, "events", data.frame(data$x, signal = data$y + 0L))
    DBI::dbDisconnect(con)
  }, list(path, n, helpers_file))
  found <- callr::r(function(path, n, file) {
    source(file)
    options(bayeskernel.progress = FALSE)
    con <- DBI::dbConnect(RSQLite::SQLite(), path)
    query <- "select * from events"
    few <- bayeskernel::row_source(con, paste(query, "limit 1000"), "signal")
    fit_source <- function(rows) {
      bayeskernel::gpsvm(
        rows, kernel = bayeskernel::rbf(5 / sqrt(2)), inducing = 64,
        method = "svi", seed = 1, threads = 2L, tune = FALSE
      )
    }
    fit_source(few)
    gc()
    reset_peak()
    before <- memory()
    rows <- bayeskernel::row_source(con, query, "signal")
    seconds <- system.time(fit <- fit_source(rows))[["elapsed"]]
    above <- memory()[["peak"]] - before[["now"]]
    list(
      n = n, seconds = seconds, core = fit$elapsed[["core"]],
      above_mb = above, file_mb = file.size(path) / 2^20,
      posterior = fit$posterior
    )
  }, list(path, n, helpers_file))
  data <- simulate_susy(n)
  fit <- NULL
  found$in_memory <- system.time({
    fit <- fit_susy(data$x, data$y + 0L, threads = 2L)
  })[["elapsed"]]
  found$identical <- identical(found$posterior, fit$posterior)
  found$posterior <- NULL
  data.frame(found, seed = 1)
}

# Workers ---------------------------------------------------------------------

run_workers <- function() {
  n <- min(most, 3e5)
  data <- simulate_susy(n)
  rows <- lapply(0:2, function(workers) {
    message(workers, " workers")
    cluster <- if (workers > 0) parallel::makeCluster(workers)
    on.exit(if (!is.null(cluster)) parallel::stopCluster(cluster))
    seconds <- system.time({
      fit <- fit_susy(data$x, data$y, threads = 1L, cluster = cluster)
    })[["elapsed"]]
    list(
      row = data.frame(
        workers = workers, seconds = seconds, core = fit$elapsed[["core"]],
        elbo = max(elbo(fit))
      ),
      posterior = fit$posterior
    )
  })
  data.frame(
    n = n, do.call(rbind, lapply(rows, `[[`, "row")),
    identical = vapply(rows, function(row) {
      identical(row$posterior, rows[[1]]$posterior)
    }, logical(1)), seed = 1
  )
}

run_tables(list(
  growth = run_growth, rivals = run_rivals, sqlite = run_sqlite, workers = run_workers
), results_file)
