# seqkr() on the experiments of Vermaak, Godsill and Doucet (2004), beside
# kernlab in the same run, and on a stream of 100,000 rows.
#   Rscript bench/sequential.R
# BAYESKERNEL_SETS and BAYESKERNEL_SPLITS give fewer data sets and splits.

source(if (file.exists("bench/helpers.R")) {
  "bench/helpers.R"
} else {
  "../bench/helpers.R"
})
suppressMessages(library(bayeskernel))

sinc <- function(x) ifelse(x == 0, 1, sin(x) / x)

sinc_data <- function(set) {
  set.seed(100 + set)
  x <- seq(-10, 10, length.out = 50)
  list(x = cbind(x = x), y = sinc(x) + rnorm(50, sd = 0.1))
}
sinc_test <- cbind(x = seq(-10, 10, length.out = 1000))

sinc_fit <- function(data, set, ...) {
  quietly(flat(seqkr)(
    data$x, data$y, kernel = rbf(1.6 / sqrt(2)), standardize = FALSE, seed = set, ...
  ))
}

# Machines of kernlab with the same kernel, for the test rows.
kernlab_machines <- function(width) {
  if (!has("kernlab")) {
    return(list())
  }
  kernel <- kernlab::rbfdot(1 / width^2)
  list(
    rvm = function(x, y, new) {
      fit <- kernlab::rvm(x, y, kernel = kernel, verbosity = 0)
      list(fit = kernlab::predict(fit, new), size = length(fit@RVindex))
    },
    ksvm = function(x, y, new) {
      fit <- kernlab::ksvm(x, y, kernel = kernel, type = "eps-svr", scaled = FALSE)
      list(fit = kernlab::predict(fit, new), size = kernlab::nSV(fit))
    },
    gausspr = function(x, y, new) {
      fit <- kernlab::gausspr(
        x, y, kernel = kernel, variance.model = FALSE, var = 0.1, scaled = FALSE
      )
      list(fit = kernlab::predict(fit, new), size = NA)
    }
  )
}

peer_row <- function(machine, x, y, new) {
  out <- quietly(utils::capture.output(found <- timed(function() machine(x, y, new))))
  c(found$value, list(seconds = found$seconds))
}

# RMSE against the function itself: mean and spread over the data sets.
sinc_table <- function() {
  sets <- setting("SETS", 25)
  ours <- list(
    "rj, 1 jump a row" = list(sweeps = 1, ess = 1), "rj, 3 jumps a row" = list(sweeps = 3),
    "corrected" = list(moves = "corrected", ess = 1)
  )
  truth <- sinc(sinc_test)
  rows <- lapply(ours, function(own) {
    vapply(seq_len(sets), function(set) {
      data <- sinc_data(set)
      run <- timed(function() do.call(sinc_fit, c(list(data, set), own)))
      fit <- run$value
      c(
        rmse = sqrt(mean((predict(fit, sinc_test) - truth)^2)), kernels = mean(fit$posterior$size),
        sigma = sigma(fit), cpu = run$seconds, core = fit$diagnostics$seconds
      )
    }, numeric(5))
  })
  peers <- lapply(kernlab_machines(1.6), function(machine) {
    vapply(seq_len(sets), function(set) {
      data <- sinc_data(set)
      out <- peer_row(machine, data$x, data$y, sinc_test)
      c(
        rmse = sqrt(mean((out$fit - truth)^2)), kernels = out$size,
        sigma = NA, cpu = out$seconds, core = NA
      )
    }, numeric(5))
  })
  do.call(rbind, lapply(c(rows, peers), function(x) {
    c(rowMeans(x)[1], sd = sd(x["rmse", ]), rowMeans(x)[-1])
  }))
}

# RMSE by the number of particles.
particle_table <- function() {
  sets <- setting("SETS", 25)
  truth <- sinc(sinc_test)
  sizes <- c(25, 50, 100, 250, 500, 1000)
  out <- vapply(sizes, function(count) {
    rmse <- vapply(seq_len(sets), function(set) {
      fit <- sinc_fit(sinc_data(set), set, particles = count, sweeps = 1, ess = 1)
      sqrt(mean((predict(fit, sinc_test) - truth)^2))
    }, 1)
    c(rmse = mean(rmse), error = sd(rmse) / sqrt(sets))
  }, numeric(2))
  cbind(particles = sizes, t(out))
}

# Ridge on the kernels of all rows with the same prior, its two variances by maximum likelihood.
all_kernels <- function(x, y, new, width) {
  distances <- function(a, b) {
    pmax(outer(rowSums(a^2), rowSums(b^2), "+") - 2 * tcrossprod(a, b), 0)
  }
  h <- cbind(1, exp(-distances(x, x) / width^2))
  e <- eigen(tcrossprod(h), symmetric = TRUE)
  z <- drop(crossprod(e$vectors, y))
  lost <- function(par) {
    v <- exp(par[1]) * pmax(e$values, 0) + exp(par[2])
    sum(log(v) + z^2 / v)
  }
  par <- exp(optim(c(0, -2), lost)$par)
  weight <- e$vectors %*% (z / (par[1] * pmax(e$values, 0) + par[2]))
  beta <- par[1] * crossprod(h, weight)
  drop(cbind(1, exp(-distances(new, x) / width^2)) %*% beta)
}

# Mean squared errors of held-out medv, in (1000 $)^2.
boston_table <- function(width = 5) {
  splits <- setting("SPLITS", 10)
  boston <- MASS::Boston
  x <- as.matrix(boston[, -14])
  y <- boston$medv
  each <- lapply(seq_len(splits), function(split) {
    set.seed(split)
    train <- sample(506, 300)
    center <- colMeans(x[train, ])
    scale <- apply(x[train, ], 2, sd)
    z <- sweep(sweep(x, 2, center), 2, scale, "/")
    u <- (y[train] - mean(y[train])) / sd(y[train])
    run <- timed(function() {
      quietly(seqkr(
        x[train, ], y[train], kernel = rbf(width / sqrt(2)), prior = seqkr_prior(lambda = 5),
        seed = split
      ))
    })
    fit <- run$value
    ours <- c(
      mse = mean((predict(fit, x[-train, ]) - y[-train])^2), kernels = mean(fit$posterior$size),
      cpu = run$seconds, core = fit$diagnostics$seconds
    )
    back <- function(f) mean((f * sd(y[train]) + mean(y[train]) - y[-train])^2)
    peers <- lapply(kernlab_machines(width), function(machine) {
      out <- peer_row(machine, z[train, ], u, z[-train, ])
      c(back(out$fit), out$size, out$seconds, NA)
    })
    ridge <- timed(function() all_kernels(z[train, ], u, z[-train, ], width))
    do.call(rbind, c(list(
      seqkr = ours, "all kernels" = c(back(ridge$value), 300, ridge$seconds, NA)
    ), peers))
  })
  Reduce(`+`, each) / splits
}

# CPU milliseconds a row along a stream whose grid is full after 500 rows.
stream_table <- function(rows = 1e5, block = 1e4) {
  set.seed(1)
  x <- cbind(x = runif(rows, -3, 3))
  y <- sin(2 * x[, 1]) + rnorm(rows, sd = 0.2)
  new <- cbind(x = seq(-2.5, 2.5, 0.01))
  score <- function(fit) {
    sqrt(mean((predict(fit, new) - sin(2 * new[, 1]))^2))
  }
  fit <- out <- NULL
  for (seen in seq(0, rows - 1, by = block)) {
    at <- seen + seq_len(block)
    run <- timed(function() {
      quietly(if (is.null(fit)) {
        seqkr(
          x[at, , drop = FALSE], y[at], kernel = rbf(0.7), order = "given",
          control = seqkr_control(grid_max = 500), seed = 1
        )
      } else {
        extend(fit, x[at, , drop = FALSE], y[at])
      })
    })
    fit <- run$value
    out <- rbind(out, c(
      rows = nobs(fit), ms = 1000 * run$seconds / block,
      mb = as.double(object.size(fit$state)) / 1e6, rmse = score(fit)
    ))
  }
  out
}

sequential_parts <- list(
  sinc = sinc_table, particles = particle_table, boston = boston_table, stream = stream_table
)

if (sys.nframe() == 0L) {
  print_machine()
  for (part in names(sequential_parts)) {
    cat("\n", part, "\n", sep = "")
    print(signif(sequential_parts[[part]](), 4))
  }
}
