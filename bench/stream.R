# Data larger than memory: rows x 20 predictors from SQLite by method "svi",
# its memory above R's own, and its coefficients against the in-memory "vb".
#
#   Rscript bench/stream.R [rows, default 2e6]    from the root of the
#   repository; needs package RSQLite, Linux for the memory, 200 bytes of disk
#   and 1.5 kB of memory (for "vb") a row
#
# Streams of particles and extended fits, by part:
#
#   Rscript bench/stream.R evidence     seqkr(): the evidence of 20 designs
#   against sums over all sets, default fits of curves and surfaces

source("bench/helpers.R")
options(bayeskernel.progress = FALSE)

parts <- list()
source("bench/stream-evidence.R")
asked <- intersect(commandArgs(TRUE), names(parts))
if (length(asked)) {
  library(bayeskernel)
  for (part in asked) parts[[part]]()
  quit()
}

p <- 20

make_database <- function(con, n) {
  DBI::dbExecute(con, "PRAGMA synchronous = OFF")
  for (done in seq(0, n - 1, by = 1e5)) {
    x <- matrix(rnorm(min(1e5, n - done) * p), ncol = p)
    colnames(x) <- paste0("x", seq_len(p))
    x[, 2] <- 50 + 10 * (x[, 1] + x[, 2])
    f <- x[, 1] - x[, 2] / 20 + 2.5 + drop(x[, 3:p] %*% slopes)
    label <- ifelse(f + rlogis(nrow(x)) > 0, "yes", "no")
    DBI::dbWriteTable(con, "rows", data.frame(x, label), append = TRUE)
  }
}
set.seed(1)
slopes <- rnorm(p - 2) / 4

# The fit runs in a process of its own, whose memory nothing else has touched.
fit_stream <- function(path) {
  library(bayeskernel)
  con <- DBI::dbConnect(RSQLite::SQLite(), path)
  # What loading and first use cost is R's own.
  small <- row_source(con, "select * from rows limit 1000", y = "label")
  bsvm(small, seed = 1, method = "vb")
  gc()
  before <- memory()
  rows <- row_source(con, "select * from rows", y = "label")
  seconds <- system.time(fit <- bsvm(rows, seed = 1))[["elapsed"]]
  fitted <- memory()
  predicting <- system.time(link <- predict(fit, rows, type = "link"))[["elapsed"]]
  list(
    fit = fit, seconds = seconds, predicting = predicting,
    memory = fitted[["peak"]] - before[["now"]], own = before[["now"]],
    correct = mean((link > 0) == (DBI::dbGetQuery(con, "select label from rows")$label == "yes"))
  )
}

arguments <- commandArgs(TRUE)
if (length(arguments) == 3L && arguments[1] == "fit") {
  saveRDS(fit_stream(arguments[2]), arguments[3])
  quit()
}

library(bayeskernel)
print_machine()
n <- if (length(arguments) > 0) as.numeric(arguments[1]) else 2e6
path <- tempfile(fileext = ".sqlite")
con <- DBI::dbConnect(RSQLite::SQLite(), path)
cat(sprintf(
  "%.0f rows x %d into SQLite: %.1f s, %.0f MB\n", n, p,
  system.time(make_database(con, n))[["elapsed"]], file.size(path) / 2^20
))
answer <- tempfile(fileext = ".rds")
status <- system2(
  file.path(R.home("bin"), "Rscript"), c("bench/stream.R", "fit", shQuote(path), shQuote(answer))
)
stopifnot(status == 0)
stream <- readRDS(answer)
d <- stream$fit$diagnostics
cat(sprintf(
  paste(
    "svi from SQLite: %.1f s in all, %.1f s of it the core (%d epoch of %.0f",
    "steps, %d passes, converged: %s)\n"
  ),
  stream$seconds, d$seconds, d$epochs, d$steps, d$passes, d$converged
))
cat(sprintf(
  "memory above R's own %.0f MB: %.0f MB, limit 300 MB: %s\n", stream$own,
  stream$memory, if (stream$memory <= 300) "met" else "SHORT"
))
cat(sprintf("predict() on the source: %.1f s, %.4f correct\n", stream$predicting, stream$correct))

all <- DBI::dbReadTable(con, "rows")
label <- factor(all$label)
all$label <- NULL
all <- as.matrix(all)
seconds <- system.time(vb <- bsvm(all, label, method = "vb"))[["elapsed"]]
sd <- sqrt(diag(vcov(vb)))
gap <- abs(coef(stream$fit) - coef(vb)) / sd
cat(sprintf(
  "vb in memory: %.1f s, %.1f s of it the core, %d passes\n", seconds,
  vb$diagnostics$seconds, vb$diagnostics$passes
))
cat(sprintf(
  paste(
    "largest |coefficient - vb's| / posterior sd: %.2g, limit 0.01: %s;",
    "ratio of sds %.6f to %.6f\n"
  ),
  max(gap), if (max(gap) <= 0.01) "met" else "SHORT",
  min(sqrt(diag(vcov(stream$fit))) / sd),
  max(sqrt(diag(vcov(stream$fit))) / sd)
))
DBI::dbDisconnect(con)
unlink(c(path, answer))
