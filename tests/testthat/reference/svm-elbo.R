# The Bayesian SVM by dense algebra in plain R, slow and without a thought for
# speed: the bound in its general form, plain coordinate ascent (Luts and
# Ormerod 2014, Algorithms 1 to 4) and the plain Gibbs sampler (Appendices A-C).
#
# problem: C (n x d), y, w, offset; P0 and mu0 (d, 0 on columns of a block);
# blocks, each list(at = members x r matrix of columns, type, A, B | nu, S |
# precision).

svm_problem <- function(C, y, w = rep(1, nrow(C)), offset = numeric(nrow(C)),
                        P0, mu0 = numeric(ncol(C)), blocks = list()) {
  list(
    C = C, y = y, w = w, offset = offset, P0 = P0, mu0 = mu0, blocks = blocks
  )
}

block_moment <- function(block, q) {
  second <- q$Sigma + tcrossprod(q$mu)
  out <- 0
  for (m in seq_len(nrow(block$at))) {
    out <- out + second[block$at[m, ], block$at[m, ], drop = FALSE]
  }
  out
}

log_det <- function(a) as.numeric(determinant(as.matrix(a))$modulus)

log_gamma_r <- function(a, r) {
  r * (r - 1) / 4 * log(pi) + sum(lgamma(a - (seq_len(r) - 1) / 2))
}

# E log p - E log q for any q: mu, Sigma and, by block, list(A, B) or
# list(nu, S).
svm_elbo <- function(problem, q) {
  C <- problem$C
  d <- ncol(C)
  m <- problem$offset + drop(C %*% q$mu)
  s2 <- rowSums((C %*% q$Sigma) * C)
  slack <- 1 - problem$y * m
  out <- -sum(problem$w * (slack + sqrt(slack^2 + s2))) +
    log_det(q$Sigma) / 2 + d / 2 * (1 + log(2 * pi))
  fixed <- problem$P0 > 0
  out <- out + 0.5 * sum(
    log(problem$P0[fixed]) - log(2 * pi) - problem$P0[fixed] *
      ((q$mu - problem$mu0)^2 + diag(q$Sigma))[fixed]
  )
  for (l in seq_along(problem$blocks)) {
    block <- problem$blocks[[l]]
    v <- q$blocks[[l]]
    members <- nrow(block$at)
    r <- ncol(block$at)
    moment <- block_moment(block, q)
    constant <- -members * r / 2 * log(2 * pi)
    out <- out + switch(block$type,
      held = constant + members / 2 * log(block$precision) -
        block$precision * sum(moment) / 2,
      iid = {
        e_log <- log(v$B) - digamma(v$A)
        e_inv <- v$A / v$B
        constant - members / 2 * e_log - e_inv * sum(moment) / 2 +
          block$A * log(block$B) - lgamma(block$A) -
          (block$A + 1) * e_log - block$B * e_inv +
          v$A + log(v$B) + lgamma(v$A) - (1 + v$A) * digamma(v$A)
      },
      unstructured = {
        e_log <- log_det(v$S) - r * log(2) -
          sum(digamma((v$nu + 1 - seq_len(r)) / 2))
        e_inv <- v$nu * solve(v$S)
        density <- function(nu, S) {
          nu / 2 * log_det(S) - nu * r / 2 * log(2) - log_gamma_r(nu / 2, r) -
            (nu + r + 1) / 2 * e_log - sum(S * e_inv) / 2
        }
        constant - members / 2 * e_log - sum(moment * e_inv) / 2 +
          density(block$nu, block$S) - density(v$nu, v$S)
      }
    )
  }
  out
}

prior_precision <- function(problem, inverse) {
  out <- diag(problem$P0, length(problem$P0))
  for (l in seq_along(problem$blocks)) {
    at <- problem$blocks[[l]]$at
    for (m in seq_len(nrow(at))) out[at[m, ], at[m, ]] <- inverse[[l]]
  }
  out
}

start_precision <- function(problem) {
  lapply(problem$blocks, function(b) {
    if (b$type == "held") diag(b$precision, 1) else diag(1, ncol(b$at))
  })
}

svm_vb <- function(problem, tol = 1e-12, max_iter = 20000) {
  inverse <- start_precision(problem)
  c <- rep(1, length(problem$y))
  elbo <- numeric()
  for (iteration in seq_len(max_iter)) {
    kappa <- problem$w / c
    shift <- problem$y * (problem$w + kappa) - kappa * problem$offset
    Sigma <- solve(
      crossprod(problem$C, kappa * problem$C) +
        prior_precision(problem, inverse)
    )
    h <- crossprod(problem$C, shift) + problem$P0 * problem$mu0
    mu <- drop(Sigma %*% h)
    q <- list(mu = mu, Sigma = Sigma, blocks = list())
    for (l in seq_along(problem$blocks)) {
      block <- problem$blocks[[l]]
      moment <- block_moment(block, q)
      if (block$type == "iid") {
        v <- list(
          A = block$A + nrow(block$at) / 2, B = block$B + sum(moment) / 2
        )
        inverse[[l]] <- diag(v$A / v$B, 1)
      } else if (block$type == "unstructured") {
        v <- list(nu = block$nu + nrow(block$at), S = block$S + moment)
        inverse[[l]] <- v$nu * solve(v$S)
      } else {
        v <- list()
      }
      q$blocks[[l]] <- v
    }
    m <- problem$offset + drop(problem$C %*% mu)
    s2 <- rowSums((problem$C %*% Sigma) * problem$C)
    c <- pmax(sqrt((1 - problem$y * m)^2 + s2), 1e-8)
    elbo[iteration] <- svm_elbo(problem, q)
    if (iteration > 1 && elbo[iteration] - elbo[iteration - 1] < tol) break
  }
  c(q, list(elbo = elbo, m = m, s2 = s2))
}

# 1/a ~ InverseGaussian(1/r, 1) by the stable draw of section 6.
draw_latent <- function(r) {
  y <- stats::rnorm(length(r))^2
  larger <- r + y / 2 + sqrt(y * (4 * r + y)) / 2
  pmax(
    ifelse(
      stats::runif(length(r)) * (larger + r) <= larger, larger, r^2 / larger
    ),
    1e-12
  )
}

# One sweep of the textbook sampler: state = list(theta, inverse).
svm_sweep <- function(problem, state) {
  f <- problem$offset + drop(problem$C %*% state$theta)
  kappa <- problem$w^2 / draw_latent(problem$w * abs(1 - problem$y * f))
  shift <- problem$y * (problem$w + kappa) - kappa * problem$offset
  root <- chol(
    crossprod(problem$C, kappa * problem$C) +
      prior_precision(problem, state$inverse)
  )
  h <- crossprod(problem$C, shift) + problem$P0 * problem$mu0
  state$theta <- drop(backsolve(
    root, backsolve(root, h, transpose = TRUE) + stats::rnorm(length(h))
  ))
  for (l in seq_along(problem$blocks)) {
    block <- problem$blocks[[l]]
    u <- matrix(state$theta[block$at], nrow(block$at))
    if (block$type == "iid") {
      state$inverse[[l]][] <- stats::rgamma(
        1, block$A + length(u) / 2, block$B + sum(u^2) / 2
      )
    } else if (block$type == "unstructured") {
      state$inverse[[l]] <- stats::rWishart(
        1, block$nu + nrow(u), solve(block$S + crossprod(u))
      )[, , 1]
    }
  }
  state
}
