# Fits of few passes, or of few draws, by default the paper's.
quick_mkprobit <- function(..., method = "vb", ndraws = 40, seed = 1, coefficients = "weights") {
  if (method == "vb") {
    return(flat(mkprobit)(
      ..., coefficients = coefficients, tol = 1e-12, tolw = 1e-9, max_iter = 20000, seed = seed,
        threads = 1
    ))
  }
  suppressWarnings(flat(mkprobit)(
    ..., coefficients = coefficients, method = method, chains = 2, warmup = 50, ndraws = ndraws,
      thin = 1,
    seed = seed, threads = 1, progress = FALSE
  ), classes = "bayeskernel_warning_convergence")
}

# Three classes in two spaces, which the second tells apart better.
two_spaces <- function(n = 45, seed = 1) {
  set.seed(seed)
  y <- factor(rep(c("a", "b", "c"), length.out = n))
  at <- as.integer(y)
  list(
    y = y, spaces = list(
      weak = cbind(u = at + rnorm(n, sd = 2), v = rnorm(n)),
      strong = cbind(p = cos(2 * at) + rnorm(n, sd = 0.5), q = sin(2 * at) + rnorm(n, sd = 0.5))
    )
  )
}

# E y of columns N(m, 1) in which row t is the largest, by quadrature.
cone_means <- function(m, t) {
  out <- m
  for (i in seq_len(ncol(m))) {
    e <- m[t[i], i] - m[-t[i], i]
    density <- function(u) dnorm(u) * vapply(u, function(u) prod(pnorm(u + e)), 0)
    z <- integrate(density, -9, 9, rel.tol = 1e-9)$value
    pull <- vapply(seq_along(e), function(j) {
      integrate(function(u) density(u) * dnorm(u + e[j]) / pnorm(u + e[j]), -9, 9)$value / z
    }, 0)
    out[-t[i], i] <- out[-t[i], i] - pull
    out[t[i], i] <- out[t[i], i] + sum(pull)
  }
  out
}
