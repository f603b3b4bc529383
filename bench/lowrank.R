# klr() on the two simulations and the two data sets of Ouyang (2008), chapter 2,
# beside support vector machines and a tree ensemble in the same run: shares of
# wrong classes at ranks 1, 2 and 3, in both schemes of coefficients; and how
# fast the chains are.
#
#   Rscript bench/lowrank.R
#
# BAYESKERNEL_REPEATS (20) data sets or divisions of the rows, BAYESKERNEL_SWEEPS
# (40000) sweeps of a chain, half of them warmup, of two chains (the dissertation
# does not say how many it has);
# BAYESKERNEL_PARTS=simulated,chosen,real,directions,schemes,speed;
# BAYESKERNEL_RESULTS a file for what was found. Real data are divided, ranks
# chosen, and schemes compared, a quarter as often. Bank notes and WDBC are those
# of package mclust.

suppressMessages(library(bayeskernel))
source(if (file.exists("bench/helpers.R")) {
  "bench/helpers.R"
} else {
  "../bench/helpers.R"
})
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

repeats <- setting("REPEATS", 20)
sweeps <- setting("SWEEPS", 40000)
ranks <- 1:3
all_peers <- ouyang_peers()

# X uniform on [-1, 1]^4. D4in1: two strips along one direction; D4in2: the signs of two
# combinations agree.
simulate_low_rank <- function(set, n, seed) {
  set.seed(seed)
  x <- matrix(stats::runif(4 * n, -1, 1), n, dimnames = list(NULL, paste0("x", 1:4)))
  y <- if (set == "D4in1") {
    s <- drop(x %*% c(1, 1, -1, -1))
    (s > -1 & s <= 0) | s > 1
  } else {
    (x[, 1] + x[, 2]) * (x[, 1] - x[, 3]) >= 0
  }
  list(x = x, y = as.numeric(y))
}

run_klr <- function(x, y, rank, coefficients, chains = 2, ndraws = 1000) {
  quietly(klr(
    x, factor(y, 0:1), rank = rank, prior = klr_prior(coefficients = coefficients), chains = chains,
    control = klr_control(warmup = sweeps / 2, thin = max(1, sweeps / 2 / ndraws)), ndraws = ndraws,
    seed = 1
  ))
}

# Share of wrong classes of every method for new rows.
errors_of <- function(train, new, schemes = "truncated", peers = all_peers) {
  wrong <- function(prob) mean((prob > 0.5) != new$y)
  ours <- unlist(lapply(schemes, function(scheme) {
    vapply(stats::setNames(ranks, paste(scheme, ranks)), function(rank) {
      fit <- run_klr(train$x, train$y, rank, scheme)
      wrong(predict(fit, new$x, type = "response"))
    }, 0)
  }))
  c(ours, vapply(peers, function(peer) {
    wrong(quietly(peer(train$x, train$y, new$x, TRUE)))
  }, 0))
}

# Means over repeats and their standard errors.
table_of <- function(runs) {
  rbind(mean = rowMeans(runs), se = apply(runs, 1, stats::sd) / sqrt(ncol(runs)))
}

simulated <- function(repeats, ...) {
  lapply(stats::setNames(nm = c("D4in1", "D4in2")), function(set) {
    runs <- do.call(cbind, lapply(seq_len(repeats), function(k) {
      train <- simulate_low_rank(set, 200, k)
      new <- simulate_low_rank(set, 1000, 1000 + k)
      errors_of(train, new, ...)
    }))
    cat(set, ", wrong classes in per cent of ", repeats, " data sets\n", sep = "")
    print(round(100 * table_of(runs), 2))
    runs
  })
}

# Which rank cross-validation takes, and its log losses.
chosen <- function(repeats) {
  lapply(stats::setNames(nm = c("D4in1", "D4in2")), function(set) {
    found <- do.call(rbind, lapply(seq_len(repeats), function(k) {
      data <- simulate_low_rank(set, 200, k)
      fit <- run_klr(data$x, data$y, ranks, "truncated")
      cbind(set = k, fit$ranks, taken = fit$ranks$rank == fit$rank)
    }))
    cat(set, ", ranks by five-fold cross-validation\n", sep = "")
    print(found, digits = 3, row.names = FALSE)
    found
  })
}

# Learned directions at the ranks of figures 2.2 to 2.4, and the rows in them.
directions <- function() {
  fits <- list(
    D4in1 = list(data = simulate_low_rank("D4in1", 200, 1), rank = 1),
    Bank = list(data = ouyang_data("Bank"), rank = 2),
    WDBC = list(data = ouyang_data("WDBC"), rank = 3)
  )
  lapply(fits, function(own) {
    fit <- run_klr(own$data$x, own$data$y, own$rank, "truncated", chains = 4)
    found <- projection(fit)
    found$angles <- apply(found$angles, 2, stats::quantile, c(0.5, 0.9))
    found$coordinates <- signif(found$coordinates, 4)
    found$mean <- NULL
    print(found$directions, digits = 2)
    c(unclass(found), list(
      y = own$data$y, prob = signif(fit$fitted$prob, 3), prob_sd = signif(fit$fitted$prob_sd, 3),
      rhat = max(fit$diagnostics$table$rhat, na.rm = TRUE)
    ))
  })
}

# Both ways with coefficients, on a quarter of the data sets.
schemes <- function() {
  simulated(ceiling(repeats / 4), c("truncated", "continuous"), peers = list())
}

# Five parts of the rows, each predicted from the others.
real <- function(repeats) {
  lapply(stats::setNames(nm = c("Bank", "WDBC")), function(set) {
    data <- ouyang_data(set)
    n <- nrow(data$x)
    runs <- do.call(cbind, lapply(seq_len(repeats), function(k) {
      set.seed(k)
      fold <- sample(rep_len(1:5, n))
      parts <- vapply(1:5, function(own) {
        at <- fold == own
        pick <- function(rows) list(x = data$x[rows, ], y = data$y[rows])
        sum(at) * errors_of(pick(!at), pick(at))
      }, numeric(length(ranks) + length(all_peers)))
      rowSums(parts) / n
    }))
    rownames(runs) <- c(paste("truncated", ranks), names(all_peers))
    cat(set, ", wrong classes in per cent, five parts of the rows\n", sep = "")
    print(round(100 * table_of(runs), 2))
    runs
  })
}

# Sweeps a CPU second of a chain, and effective draws a second of f over four chains, medians over
# ten rows.
speed <- function() {
  rows <- expand.grid(
    set = c("D4in1", "D4in2"), coefficients = c("truncated", "continuous"),
    rank = 1:2, stringsAsFactors = FALSE
  )
  found <- lapply(seq_len(nrow(rows)), function(k) {
    data <- simulate_low_rank(rows$set[k], 200, 1)
    run <- timed(function() {
      run_klr(data$x, data$y, rows$rank[k], rows$coefficients[k], chains = 4)
    })
    table <- summary(run$value)$parameters
    f <- startsWith(rownames(table), "f[")
    data.frame(
      sweeps_a_second = round(4 * sweeps / run$seconds),
      kernels = mean(run$value$draws[, , "J"]),
      ess_a_second = stats::median(table[f, "ESS"]) / run$seconds,
      rhat_f = max(table[f, "R-hat"]),
      rhat = max(run$value$diagnostics$table$rhat, na.rm = TRUE)
    )
  })
  print(cbind(rows, do.call(rbind, found)), digits = 3)
}

lowrank_parts <- list(
  simulated = function() simulated(repeats), chosen = function() chosen(ceiling(repeats / 4)),
  real = function() real(ceiling(repeats / 4)), directions = directions, schemes = schemes,
  speed = speed
)

if (sys.nframe() == 0L) {
  print_machine()
  run_parts(lowrank_parts, setting("RESULTS", tempfile(fileext = ".rds")))
}
