# bark() beside the package of the dissertation's author, CRAN's bark, in one
# run on one core: iterations a second, and effective samples a second of the
# regression function and of sigma, on Friedman 1 and Circle 5; then the
# dissertation's 4,000,000 iterations, and at equal CPU time dbarts.
#
#   Rscript bench/bark.R
#
# BAYESKERNEL_PARTS chooses of cells (eighteen sets, ten splits, peers and runs of
# given length, to a file), show (its tables), length (how long a run helps), cran, defaults (both packages by theirs), long,
# dbarts, agree (how long four chains take to an R-hat of f of 1.01 on Friedman
# 1 to 3), and rank, the table of twelve sets with ranger, a support vector
# machine and a Gaussian process, too. BAYESKERNEL_CRAN sets the iterations of
# each chain of CRAN's package (default 40000 after 40000, some eight minutes in
# all), BAYESKERNEL_REPEATS the data sets of the comparisons with dbarts, and
# the splits of the ranks, BAYESKERNEL_SWEEPS the sweeps of a chain there,
# BAYESKERNEL_LIMIT the CPU seconds of a run after which a peer gives up to
# agree. Effective samples are medians over the same ten rows. They are counted
# twice: within chains (coda), which takes a chain that stays in one
# configuration of kernels for a good one, and over four chains (the bulk ESS of
# package posterior), which sees that chains disagree.
#
# f stands for its mean given everything but the coefficients. For regressions
# CRAN's package does not give it: it adds the prior precisions of coefficients
# to the eigenvalues of K'K as if they belonged to its eigenvectors. So its f is
# computed from its draws of kernels, scales and precision, as ours is. Without
# it, noise would count as effective samples. For classes there is nothing to
# compute it from, since it does not keep its latent responses: its f stands as
# it is, drawn by the same shortcut, and is that of another law.

library(bayeskernel)
source("bench/helpers.R")
source("bench/helpers-bark.R")

jobs <- list(
  "Friedman 1, d" = list(set = "friedman", type = "d"),
  "Friedman 1, se" = list(set = "friedman", type = "se"),
  "Circle 5, se" = list(set = "circle", type = "se")
)

draw_data <- function(set, n = 200, seed = 1, number = 1) {
  set.seed(seed)
  if (set == "friedman") {
    return(c(simulate_friedman(number, n), family = "gaussian"))
  }
  c(simulate_circle(5, n), family = "binomial")
}

# Draws x chains x rows of f to effective samples, and to the largest R-hat.
effective <- function(f) {
  rows <- seq_len(dim(f)[3])
  within <- vapply(rows, function(k) {
    sum(apply(f[, , k, drop = FALSE], 2, coda::effectiveSize))
  }, numeric(1))
  over <- vapply(rows, function(k) posterior::ess_bulk(f[, , k]), numeric(1))
  rhat <- vapply(rows, function(k) posterior::rhat(f[, , k]), numeric(1))
  c(within = median(within), over = median(over), rhat = max(rhat))
}

effective_of_fit <- function(fit) {
  effective(fit$draws[, , startsWith(dimnames(fit$draws)[[3]], "f[")])
}

run_ours <- function(data, type, ndraws = 4000, thin = 100, warmup = 1e5) {
  arguments <- list(
    x = data$x, y = data$y, family = data$family,
    scales = if (endsWith(type, "d")) "different" else "equal",
    select = startsWith(type, "s"), chains = 4, threads = 1,
    warmup = warmup, ndraws = ndraws, thin = thin, seed = 1, progress = FALSE
  )
  run <- timed(function() quietly(do.call(bark, arguments)))
  sweeps <- 4 * (warmup + ndraws * thin)
  list(
    iteration = run$seconds / sweeps, seconds = run$seconds,
    ess = effective_of_fit(run$value), rows = run$value$reference
  )
}

# Draws x rows of E(f | all but b, y), in units of the standardised response.
mean_of_f <- function(fit, data, rows) {
  x <- scale(data$x)
  y <- drop(scale(data$y))
  t(vapply(seq_len(nrow(fit$theta.nvec)), function(draw) {
    on <- which(fit$theta.nvec[draw, ] > 0)
    lambda <- rep_len(fit$theta.lambda[draw, ], ncol(x))
    scaled <- t(x) * sqrt(lambda)
    k <- vapply(on - 1, function(centre) {
      if (centre == 0) return(rep(1, nrow(x)))
      exp(-colSums((scaled - scaled[, centre])^2))
    }, numeric(nrow(x)))
    phi <- fit$theta.phi[draw]
    sd <- fit$theta.nvec[draw, on] / sqrt(fit$theta.varphi[draw, on])
    scaled_k <- k * rep(sd, each = nrow(k))
    a <- diag(length(on)) + phi * crossprod(scaled_k)
    drop(scaled_k[rows, , drop = FALSE] %*% solve(a, phi * crossprod(scaled_k, y)))
  }, numeric(length(rows))))
}

run_cran <- function(data, type, rows, kept = setting("CRAN", 40000), burn = 40000, every = 10) {
  run <- timed(function() {
    lapply(1:4, function(chain) {
      set.seed(chain)
      utils::capture.output(fit <- bark::bark_mat(
        data$x, data$y, data$x[rows, , drop = FALSE], type = type,
        classification = data$family == "binomial", keepevery = every,
        nburn = burn / every, nkeep = kept / every, printevery = 1e9
      ))
      fit
    })
  })
  f <- lapply(run$value, function(fit) {
    if (data$family == "binomial") {
      return(t(fit$yhat.test))
    }
    mean_of_f(fit, data, rows)
  })
  list(
    iteration = run$seconds / 4 / (burn + kept), seconds = run$seconds,
    ess = effective(aperm(simplify2array(f), c(1, 3, 2)))
  )
}

compare_cran <- function() {
  if (!has("bark")) {
    cat("package bark is not installed: no comparison\n")
    return(invisible())
  }
  rows <- list()
  for (name in names(jobs)) {
    data <- draw_data(jobs[[name]]$set)
    ours <- run_ours(data, jobs[[name]]$type)
    cran <- run_cran(data, jobs[[name]]$type, ours$rows)
    for (who in c("bark()", "CRAN")) {
      run <- if (who == "CRAN") cran else ours
      cat(sprintf(
        paste(
          "%-15s %-6s %7.1f us an iteration; effective samples of f a second",
          "within chains %.1f, over chains %.3f; R-hat at most %.2f\n"
        ),
        name, who, 1e6 * run$iteration, run$ess[["within"]] / run$seconds,
        run$ess[["over"]] / run$seconds, run$ess[["rhat"]]
      ))
    }
    rows <- c(rows, list(
      ratio_row(paste(name, "iteration"), "CRAN bark", ours$iteration,
        cran$iteration, 1 / 100, 1 / 200),
      ratio_row(paste(name, "f, within chains"), "CRAN bark",
        ours$seconds / ours$ess[["within"]],
        cran$seconds / cran$ess[["within"]], 1 / 100, 1 / 200),
      ratio_row(paste(name, "f, over chains"), "CRAN bark",
        ours$seconds / ours$ess[["over"]], cran$seconds / cran$ess[["over"]],
        1 / 100, 1 / 200)
    ))
  }
  print_ratios(rows, "Seconds of one core, for one iteration or sample")
}

# Friedman 1: ours by its default, and until R-hat is 1.01; CRAN's four chains with its scales,
# equal with selection, and different.
compare_defaults <- function() {
  data <- draw_data("friedman")
  show <- function(who, seconds, ess) {
    cat(sprintf(
      paste(
        "%-30s %6.1f s; effective draws of f a second within chains %.2f,",
        "over chains %.2f; R-hat at most %.3f\n"
      ),
      who, seconds, ess[["within"]] / seconds, ess[["over"]] / seconds,
      ess[["rhat"]]
    ))
  }
  for (goal in list("auto", stop_at(rhat = 1.01))) {
    run <- timed(function() quietly(bark(
      data$x, data$y, threads = 1, seed = 1, control = bark_control(progress = FALSE), until = goal
    )))
    show(
      sprintf("bark(), %.0f sweeps", run$value$diagnostics$sweeps),
      run$seconds, effective_of_fit(run$value)
    )
  }
  if (!has("bark")) return(invisible())
  for (type in c("se", "d")) {
    cran <- run_cran(data, type, run$value$reference, 1e4, 1e4, every = 100)
    show(paste("CRAN bark,", type), cran$seconds, cran$ess)
  }
}

long_runs <- function() {
  boston <- MASS::Boston
  sets <- list(
    "Friedman 1, 4e6 iterations" = c(draw_data("friedman"), limit = 30),
    "Boston, 4e6 iterations" = list(
      x = as.matrix(boston[, -14]), y = boston$medv, family = "gaussian", limit = 90
    )
  )
  for (name in names(sets)) {
    data <- sets[[name]]
    run <- timed(function() quietly(bark(
      data$x, data$y, chains = 1, threads = 1,
      control = bark_control(warmup = 2e6, thin = 500, progress = FALSE), ndraws = 4000, seed = 1
    )))
    print_limit(name, run$seconds, data$limit)
  }
}

# Root mean squared errors of noiseless f (Friedman) or held-out y (Boston), with chains as long as
# the forest of dbarts takes.
compare_dbarts <- function(repeats = setting("REPEATS", 3)) {
  if (!has("dbarts")) {
    cat("package dbarts is not installed: no comparison\n")
    return(invisible())
  }
  sets <- lapply(1:3, function(number) {
    function(r) {
      set.seed(r)
      train <- simulate_friedman(number, 200)
      test <- simulate_friedman(number, 1000, noisy = FALSE)
      list(x = train$x, y = train$y, newx = test$x, newy = test$y)
    }
  })
  names(sets) <- paste("Friedman", 1:3)
  sets$Boston <- function(r) {
    set.seed(100 + r)
    out <- sample(506, 101)
    x <- as.matrix(MASS::Boston[, -14])
    y <- MASS::Boston$medv
    list(x = x[-out, ], y = y[-out], newx = x[out, ], newy = y[out])
  }
  for (name in names(sets)) {
    scores <- vapply(seq_len(repeats), function(r) {
      one_race(sets[[name]](r), name == "Boston")
    }, numeric(5))
    mean_of <- rowMeans(scores)
    cat(sprintf(
      paste0(
        "%-11s RMSE bark %.3f, dbarts %.3f (%.2f of it); ",
        "CPU %.2f s, %.2f s; 90 %% intervals cover %.2f\n"
      ),
      name, mean_of[1], mean_of[2], mean_of[1] / mean_of[2], mean_of[3],
      mean_of[4], mean_of[5]
    ))
  }
}

one_race <- function(data, held_out) {
  rmse <- function(f) sqrt(mean((f - data$newy)^2))
  peer <- timed(function() quietly(dbarts::bart(
    data$x, data$y, data$newx, verbose = FALSE, keeptrees = FALSE
  )))
  fit_sweeps <- function(sweeps) {
    bark(
      data$x, data$y, chains = 4, threads = 1,
      control = bark_control(warmup = sweeps / 2, thin = max(1, round(sweeps / 1000)), progress = FALSE),
      ndraws = 250, seed = 1
    )
  }
  # What a fit costs whatever its length, and what a sweep costs.
  tried <- c(10000, 40000)
  seconds <- vapply(tried, function(sweeps) {
    timed(function() quietly(fit_sweeps(sweeps)))$seconds
  }, numeric(1))
  fixed <- seconds[1] - tried[1] * diff(seconds) / diff(tried)
  sweeps <- 0.9 * (peer$seconds - fixed) * diff(tried) / diff(seconds)
  sweeps <- max(1000, round(sweeps, -3))
  ours <- timed(function() {
    fit <- quietly(fit_sweeps(sweeps))
    list(fit = fit, f = predict(fit, data$newx, threads = 1))
  })
  cover <- NA
  if (!held_out) {
    ci <- predict(ours$value$fit, data$newx,
      interval = "credible", level = 0.9, seed = 1, threads = 1)
    cover <- mean(ci[, "lwr"] <= data$newy & data$newy <= ci[, "upr"])
  }
  c(rmse(ours$value$f), rmse(peer$value$yhat.test.mean), ours$seconds, peer$seconds, cover)
}

# CPU seconds until four chains agree on f at the same ten rows, R-hat 1.01: bark() with
# stop_at(rhat = 1.01), all of its rounds, with what else it watches; of the peers the first of runs
# each twice as long as the one before, and only that run's seconds.
compare_agreement <- function(repeats = setting("REPEATS", 3),
                              goal = 1.01, limit = setting("LIMIT", 200)) {
  # Seconds and largest R-hat of the first that is good enough, or the last one.
  first_agreeing <- function(sample, iterations) {
    repeat {
      run <- sample(iterations)
      rhat <- run$ess[["rhat"]]
      if (rhat <= goal || run$seconds >= limit) {
        return(c(run$seconds, rhat))
      }
      iterations <- 2 * iterations
    }
  }
  for (number in 1:3) {
    for (r in seq_len(repeats)) {
      data <- draw_data("friedman", seed = r, number = number)
      ours <- timed(function() quietly(bark(
        data$x, data$y, seed = r, threads = 1, control = bark_control(progress = FALSE),
        until = stop_at(rhat = 1.01)
      )))
      rows <- ours$value$reference
      found <- list("bark()" = c(ours$seconds, rhat_of_f(ours$value)))
      if (has("dbarts")) {
        found$dbarts <- first_agreeing(function(iterations) {
          set.seed(r)
          run <- timed(function() dbarts::bart2(
            data$x, data$y, n.chains = 4, n.threads = 1, n.burn = iterations,
            n.samples = iterations, n.thin = iterations / 1000,
            combineChains = FALSE, keepTrees = FALSE, verbose = FALSE
          ))
          f <- aperm(run$value$yhat.train[, , rows], c(2, 1, 3))
          list(seconds = run$seconds, ess = effective(f))
        }, 1000)
      }
      if (has("bark")) {
        found$"CRAN bark" <- first_agreeing(function(iterations) {
          run_cran(data, "d", rows, iterations, iterations)
        }, 10000)
      }
      cat(sprintf("Friedman %d, data set %d:", number, r), sprintf(
        "%s %.1f s, R-hat of f %.3f;", names(found), vapply(found, `[`, 0, 1),
        vapply(found, `[`, 0, 2)
      ), "\n")
    }
  }
}

# Twelve sets, all methods on the same splits; see helpers-bark.R.
compare_ranks <- function(splits = setting("REPEATS", 3), most = setting("SWEEPS", 1e5)) {
  sets <- rank_sets()
  rows <- do.call(rbind, lapply(names(sets), function(set) {
    do.call(rbind, lapply(seq_len(splits), function(r) {
      rank_race(set, r, stop_at(rhat = 1.05, sweeps = most), sets = sets)
    }))
  }))
  table <- rank_table(rows)
  print(signif(table$loss, 3))
  print(c("mean rank" = round(table$mean_rank, 2)))
  own <- rows[rows$method == "bark()", ]
  print(stats::aggregate(
    cbind(sweeps, rhat, cover_f, cover_y, seconds) ~ set, own, mean, na.action = stats::na.pass
  ), digits = 3)
}

# Held-out loss, cover, R-hat of f and CPU seconds against the sweeps of a chain, chains stacked:
# runs of one round, by their length, after the default.
compare_lengths <- function(splits = setting("REPEATS", 2), most = setting("SWEEPS", 1e5)) {
  sets <- rank_sets()
  lengths <- 25000 * 2^(0:floor(log2(most / 25000)))
  rows <- do.call(rbind, lapply(names(sets), function(set) {
    do.call(rbind, lapply(seq_len(splits), function(r) {
      race <- function(...) rank_race(set, r, only = "bark()", sets = sets, ...)
      runs <- lapply(lengths, function(sweeps) {
        race(
          until = stop_at(rhat = 1 + 1e-9, sweeps = sweeps), warmup = sweeps / 2,
          ndraws = 500, thin = sweeps / 1000
        )
      })
      cbind(
        length = c("default", format(lengths, scientific = FALSE)),
        do.call(rbind, c(list(race()), runs))
      )
    }))
  }))
  print(stats::aggregate(
    cbind(loss, cover_f, cover_y, rhat, seconds) ~ length + set, rows, mean,
    na.action = stats::na.pass
  ), digits = 3)
}

# All of it in cells, a set, a split and a run each, added to a file that a run which was cut goes on
# with: the default, the peers, and on the first BAYESKERNEL_LONG splits runs of given length. Few
# splits of all sets come before more.
run_cells <- function(splits = setting("REPEATS", 10), long = setting("LONG", 1),
                      file = setting("FILE", "bark-cells.csv")) {
  sets <- c(rank_sets(), more_rank_sets())
  done <- if (file.exists(file)) utils::read.csv(file)[c("set", "split", "run")]
  cell <- function(set, r, run, ...) {
    if (any(done$set == set & done$split == r & done$run == run)) return()
    rows <- tryCatch(rank_race(set, r, sets = sets, ...), error = function(e) {
      cat(set, r, run, conditionMessage(e), "\n")
    })
    if (is.null(rows)) return()
    utils::write.table(cbind(run = run, rows), file, sep = ",", row.names = FALSE,
      append = file.exists(file), col.names = !file.exists(file))
  }
  of_length <- function(set, r, sweeps) {
    cell(set, r, format(sweeps, scientific = FALSE), only = "bark()",
      until = stop_at(rhat = 1 + 1e-9, sweeps = sweeps), warmup = sweeps / 2, ndraws = 500,
      thin = sweeps / 1000)
  }
  for (r in seq_len(splits)) {
    for (set in names(sets)) {
      cell(set, r, "default", only = "bark()")
      for (peer in names(rank_peers())) cell(set, r, peer, only = peer)
    }
    for (sweeps in if (r <= long) c(10000, 25000, 100000, 400000)) {
      for (set in names(sets)) of_length(set, r, sweeps)
    }
  }
}

# What the file of cells says: mean loss by run, ranks at the default, cover, R-hat and seconds.
show_cells <- function(file = setting("FILE", "bark-cells.csv")) {
  rows <- utils::read.csv(file)
  by_length <- rows[rows$method == "bark()", ]
  for (what in c("loss", "cover_y", "cover_f", "rhat", "fit" = "seconds")) {
    pairs <- merge(by_length, unique(by_length[by_length$run == "400000", c("set", "split")]))
    if (!nrow(pairs)) break
    cat(what, "by sweeps of a chain, on the same splits\n")
    print(signif(tapply(pairs[[what]], list(pairs$set, pairs$run), mean), 3))
  }
  own <- rows[rows$run %in% c("default", names(rank_peers())), ]
  counts <- tapply(own$loss, list(own$set, own$split), length)
  whole <- which(counts == max(counts, na.rm = TRUE), arr.ind = TRUE)
  keep <- paste(rownames(counts)[whole[, 1]], colnames(counts)[whole[, 2]])
  own <- own[paste(own$set, own$split) %in% keep, ]
  for (sets in list(names(rank_sets()), unique(own$set))) {
    table <- rank_table(own[own$set %in% sets, ])
    print(signif(table$loss, 3))
    print(c("mean rank" = round(table$mean_rank, 2)))
  }
  print(signif(tapply(own$seconds, list(own$set, own$method), mean), 2))
  print(stats::aggregate(
    cbind(sweeps, rhat, cover_f, cover_y, seconds) ~ set, own[own$method == "bark()", ], mean,
    na.action = stats::na.pass
  ), digits = 3)
  print(table(own$set)[1:3])
}

parts <- list(
  cells = run_cells, show = show_cells, length = compare_lengths, cran = compare_cran, defaults = compare_defaults, long = long_runs,
  dbarts = compare_dbarts, agree = compare_agreement, rank = compare_ranks
)
print_machine()
wanted <- setting("PARTS", paste(names(parts), collapse = ","))
for (part in strsplit(wanted, ",")[[1]]) {
  parts[[part]]()
}
