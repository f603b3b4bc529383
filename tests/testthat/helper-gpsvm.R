# Two classes that a curve divides, three if asked; predictors on different scales.
curved_data <- function(n = 120, classes = 2, seed = 1) {
  set.seed(seed)
  d <- data.frame(x1 = rnorm(n, 50, 10), x2 = rnorm(n))
  u <- (d$x1 - 50) / 10
  f <- u^2 + d$x2 - 1 + rnorm(n) / 3
  d$y <- if (classes == 2) {
    factor(ifelse(f > 0, "out", "in"), c("in", "out"))
  } else {
    cut(f, c(-Inf, -0.7, 0.7, Inf), c("low", "mid", "high"))
  }
  d
}

curved_matrix <- function(data) as.matrix(data[c("x1", "x2")])

# The variational posterior in plain R, from dense matrices: `k_mm` with its jitter, `k_nm`, and the
# diagonal `k_nn` with the nugget.
plain_gpsvm <- function(y, k_mm, k_nm, k_nn, weights = rep(1, length(y)),
                        passes = 5000, tol = 1e-13) {
  root <- t(chol(k_mm))
  phi <- t(forwardsolve(root, t(k_nm)))
  r <- pmax(k_nn - rowSums(phi^2), 0)
  m <- ncol(phi)
  a <- numeric(m)
  s <- diag(m)
  bound <- -Inf
  for (pass in seq_len(passes)) {
    mean <- drop(phi %*% a)
    var <- rowSums((phi %*% s) * phi) + r
    alpha <- (1 - y * mean)^2 + var
    last <- bound
    kl <- (sum(diag(s)) + sum(a^2) - m - determinant(s)$modulus[1]) / 2
    bound <- sum(weights * (-(1 - y * mean) - sqrt(alpha))) - kl
    if (abs(bound - last) < tol * (1 + abs(bound))) break
    w <- weights / sqrt(alpha)
    s <- chol2inv(chol(diag(m) + crossprod(phi * sqrt(w))))
    a <- drop(s %*% crossprod(phi, y * (w + weights)))
  }
  list(
    bound = bound, a = a, s = s, mean = mean, var = var, alpha = alpha,
    root = root, phi = phi, r = r
  )
}

# K(z, z) with the jitter of the package, K(x, z), diagonal of K(x, x).
plain_kernels <- function(kernel, x, z, nugget = 0, jitter = 1e-6) {
  k_mm <- kernel_matrix(kernel, z, threads = 1)
  diag(k_mm) <- diag(k_mm) + jitter * mean(diag(k_mm))
  list(
    k_mm = k_mm, k_nm = kernel_matrix(kernel, x, z, threads = 1),
    k_nn = diag(kernel_matrix(kernel, x, threads = 1)) + nugget
  )
}

# Short chains: what is tested does not depend on their having mixed.
quick_process <- function(..., tune = FALSE, ndraws = 40) {
  suppressWarnings(
    flat(gpsvm)(
      ..., method = "gibbs", chains = 2, warmup = 40, ndraws = ndraws, seed = 11, threads = 1,
      progress = FALSE, tune = tune
    ),
    classes = "bayeskernel_warning_convergence"
  )
}

last_bound <- function(fit) utils::tail(elbo(fit), 1)

# The message says what is wrong with what, offers something that would do, and carries the user's
# call.
expect_process_refusal <- function(code, kind, regexp) {
  condition <- expect_error(code, regexp, class = paste0("bayeskernel_error_", kind))
  text <- conditionMessage(condition)
  expect_lt(nchar(strsplit(text, "\n")[[1]][1]), 80)
  expect_match(text, "\n\\* ")
  expect_match(deparse(conditionCall(condition))[1], "gpsvm|predict|summary|plot")
  invisible(condition)
}

# Workers that find the package where this process found it, and stop with the test.
local_workers <- function(count, env = parent.frame()) {
  home <- system.file(package = "bayeskernel")
  testthat::skip_if_not(file.exists(file.path(home, "Meta", "package.rds")))
  # An answer of some thousand numbers waits a tenth of a second otherwise.
  old <- options(socketOptions = "no-delay")
  on.exit(options(old))
  cluster <- parallel::makePSOCKcluster(count, rscript_args = c(
    "-e", shQuote("options(socketOptions = 'no-delay')")
  ))
  # One that a test has killed cannot be told to stop.
  stop_workers <- function() {
    for (node in cluster) {
      one <- structure(list(node), class = class(cluster))
      tryCatch(parallel::stopCluster(one), error = function(e) close(node$con))
    }
  }
  do.call(on.exit, list(as.call(list(stop_workers)), add = TRUE), envir = env)
  parallel::clusterCall(cluster, eval, call(".libPaths", .libPaths()))
  cluster
}

# The collapsed bound at the q of a fit, in plain R, for rows on the scale of the model.
bound_of <- function(fit, x, y) {
  machine <- fit$posterior$machines[[1]]
  core <- gpsvm_latent_cpp(
    list(
      type = "matrix", x = unname(x), labels = numeric(), weights = numeric(),
      source = seq_len(ncol(x)), center = unname(fit$transform$center),
      scale = unname(fit$transform$scale)
    ),
    fit$posterior$kernel, fit$posterior$z, fit$posterior$nugget, diag(ncol(fit$posterior$z)), 1L
  )
  mean <- drop(core$f %*% machine$mean)
  var <- rowSums((core$f %*% t(machine$whitener))^2) + core$residual
  s <- crossprod(machine$whitener)
  kl <- (sum(diag(s)) + sum(machine$mean^2) - ncol(s) - determinant(s)$modulus[1]) / 2
  sum(-(1 - y * mean) - sqrt((1 - y * mean)^2 + var)) - kl
}

# Maximum of sum(alpha) - alpha' Y K Y alpha / 2 over 0 <= alpha <= 2, one coordinate at a time: the
# machine of cost 2 without offset. Returns Y alpha.
hinge_dual <- function(k, y, rounds = 20000) {
  alpha <- numeric(length(y))
  f <- numeric(length(y))
  for (round in seq_len(rounds)) {
    largest <- 0
    for (i in seq_along(y)) {
      new <- min(max(alpha[i] + (1 - y[i] * f[i]) / k[i, i], 0), 2)
      step <- new - alpha[i]
      if (step != 0) {
        f <- f + k[, i] * (y[i] * step)
        alpha[i] <- new
        largest <- max(largest, abs(step))
      }
    }
    if (largest < 1e-12) break
  }
  y * alpha
}

# Moments of g ~ N(0, k) under the pseudo-likelihood of f = g + e with e ~ N(0, nugget), for two or
# three rows, by sums over a grid.
process_grid <- function(k, y, nugget = 0) {
  n <- length(y)
  points <- if (n < 3) 401 else 101
  half <- 7 * sqrt(max(diag(k)))
  g <- seq(-half, half, length.out = points)
  likelihood <- function(y) {
    if (nugget == 0) return(exp(-2 * pmax(1 - y * g, 0)))
    # E exp(-2 max(1 - y f, 0)), f ~ N(g, nugget), with y f ~ N(y g, nugget).
    s <- sqrt(nugget)
    m <- y * g
    stats::pnorm((m - 1) / s) + exp(-2 * (1 - m) + 2 * nugget) * stats::pnorm((1 - m) / s - 2 * s)
  }
  at <- as.matrix(expand.grid(rep(list(g), n)))
  prior <- exp(-rowSums((at %*% solve(k)) * at) / 2) / sqrt(det(2 * pi * k))
  weight <- prior * Reduce(`*`, expand.grid(lapply(y, likelihood)))
  evidence <- sum(weight) * (g[2] - g[1])^n
  weight <- weight / sum(weight)
  mean <- colSums(weight * at)
  list(evidence = evidence, mean = mean, sd = sqrt(colSums(weight * at^2) - mean^2))
}
