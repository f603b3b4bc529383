# Variational selection among thousands of columns.

block_set <- function(n, p, family) {
  set.seed(1)
  x <- matrix(0, n, p, dimnames = list(NULL, paste0("x", seq_len(p))))
  for (b in seq_len(p / 5)) {
    x[, 5 * b - 4:0] <- sqrt(0.1) * stats::rnorm(5 * n) +
      sqrt(0.9) * stats::rnorm(n)
  }
  true <- 5 * floor(seq(0, p / 5 - 1, length.out = 10)) + 3
  f <- drop(x[, true] %*% rep(c(1, -1), 5))
  y <- if (family == "gaussian") {
    f + stats::rnorm(n)
  } else {
    factor(1.5 * f + stats::rlogis(n) > 0)
  }
  list(x = x, y = y, block = (true - 1) %/% 5)
}

block_report <- function(n, p, family, ...) {
  d <- block_set(n, p, family)
  time <- system.time(fit <- bkm(
    d$x, d$y, family = family, select = TRUE, method = "vb", threads = 1, ...
  ))
  found <- unique((which(inclusion(fit) > 0.5) - 1) %/% 5)
  sprintf(
    "%.1f CPU s, %d of 10 blocks, %d false, bound %.2f",
    sum(time[c("user.self", "sys.self")]), length(intersect(found, d$block)),
    length(setdiff(found, d$block)), max(elbo(fit))
  )
}

cases <- list(
  report(
    "6", "bkm vb, gaussian, 500 x 1000",
    "some 20 s", "2 s, 10 blocks, none false",
    function() block_report(500, 1000, "gaussian")
  ),
  report(
    "6", "bkm vb, logit, 500 x 1000",
    "some 40 s", "2 s, 10 blocks, none false",
    function() block_report(500, 1000, "logit")
  ),
  report(
    "6", "bkm vb, logit, 500 x 3000", "51 s", "10 blocks, none false",
    function() block_report(500, 3000, "logit")
  ),
  report(
    "6", "select = ~ . - x1 among 800 columns", "C stack usage",
    "799 columns", function() {
      d <- block_set(100, 800, "gaussian")
      fit <- bkm(
        d$x, d$y, family = "gaussian", select = ~ . - x1, method = "vb",
        control = bkm_control(polish = FALSE), threads = 1
      )
      sprintf("%d columns", length(inclusion(fit)))
    }
  )
)
