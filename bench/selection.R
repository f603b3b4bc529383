# What selection and modelled missing values promise at their defaults:
#   1. noise columns let in at rho = .01, n = 200, p = 50:     at most 1 per cent
#   2. a null predictor, half missing, excluded from 0:        at most 20 per cent
#   3. p = 2000, n = 100: variational selection                at most 1 s,
#      the sampler without NaN, both naming the strong columns
#   4. Sonar: inclusions of the default and of a long chain    correlation >= .95
#   5. thousands of columns in blocks of 5 that correlate .9, ten of which have
#      an effect: CPU seconds, memory beyond x, blocks found, false ones, beside
#      cv.glmnet and, where installed, varbvs; SIZES, by default 500x1000
# Rscript bench/selection.R [part ...], parts of 1 to 5; SETS data sets in 1, 2.

source("bench/helpers.R")
library(bayeskernel)
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)
print_machine()
parts <- commandArgs(TRUE)
sets <- as.integer(Sys.getenv("SETS", "50"))
asked <- function(part) length(parts) == 0L || part %in% parts
cpu <- function(code) {
  time <- system.time(code)
  sum(time[c("user.self", "sys.self")])
}

sparse <- function(n, p, effects, seed, rho = 0) {
  set.seed(seed)
  x <- matrix(stats::rnorm(n * p), n, dimnames = list(NULL, paste0("x", seq_len(p))))
  if (rho > 0) x <- sqrt(1 - rho) * x + sqrt(rho) * stats::rnorm(n)
  f <- drop(x[, seq_along(effects), drop = FALSE] %*% effects)
  list(x = x, y = f + stats::rlogis(n) > 0)
}

if (asked("1")) {
  noise <- vapply(seq_len(sets), function(seed) {
    d <- sparse(200, 50, c(1, 0.5), seed)
    found <- inclusion(bsvm(d$x, d$y, select = TRUE, method = "vb"))
    c(
      mean = mean(found[-(1:2)]), share = mean(found[-(1:2)] > 0.5),
      strong = found[[1]], weak = found[[2]]
    )
  }, numeric(4))
  cat("1. noise columns, mean inclusion, share above 1/2, two signals:\n")
  print(round(rowMeans(noise), 4))
}

if (asked("2")) {
  excluded <- vapply(seq_len(sets), function(seed) {
    set.seed(seed)
    x <- stats::rnorm(300)
    z <- 0.5 * x + stats::rnorm(300)
    d <- data.frame(x = x, z = z, y = x + stats::rlogis(300) > 0)
    d$z[sample(300, 150)] <- NA
    fit <- bsvm(y ~ x + z, d, missing = "model", method = "vb", penalty = "none")
    limits <- confint(fit)["z", ]
    c(excluded = prod(limits) > 0, estimate = abs(coef(fit)[["z"]]), rate = fit$learning_rate)
  }, numeric(3))
  cat("2. null predictor, half missing: excluded from 0, mean |estimate|, rate\n")
  print(round(rowMeans(excluded), 3))
}

if (asked("3")) {
  d <- sparse(100, 2000, c(4, -4, 4, -4, 4), 1)
  time <- cpu(rate <- bsvm(d$x, d$y, select = TRUE, method = "vb")$learning_rate)
  vb <- cpu(fit <- bsvm(
    d$x, d$y, select = TRUE, method = "vb", learning_rate = rate,
    control = bsvm_control(polish = FALSE)
  ))
  cat(sprintf(
    "3. p = 2000, n = 100: selection %.2f s CPU; with rate (%.2f) and polish %.2f s\n",
    vb, rate, time
  ))
  long <- cpu(gibbs <- quietly(bsvm(
    d$x, d$y, select = TRUE, method = "gibbs", chains = 2, control = bsvm_control(warmup = 500),
    ndraws = 1000, learning_rate = rate, seed = 1
  )))
  polished <- bsvm(d$x, d$y, select = TRUE, method = "vb", learning_rate = rate)
  both <- cbind(vb = inclusion(fit), polished = inclusion(polished), gibbs = inclusion(gibbs))
  cat(sprintf("   the sampler %.1f s, NaN: %d\n", long, sum(is.nan(both))))
  print(round(both[order(-both[, "gibbs"])[1:8], ], 2))
}

if (asked("4")) {
  skip <- !requireNamespace("mlbench", quietly = TRUE)
  if (skip) {
    cat("4. Sonar: package mlbench is not installed\n")
  } else {
    utils::data("Sonar", package = "mlbench", envir = environment())
    time <- cpu(fit <- bsvm(Class ~ ., Sonar, select = TRUE, method = "vb"))
    long <- quietly(bsvm(Class ~ ., Sonar,
      select = TRUE, method = "gibbs", chains = 4,
      control = bsvm_control(warmup = 1000), ndraws = 4000,
      learning_rate = fit$learning_rate, seed = 2
    ))
    cat(sprintf(
      "4. Sonar: correlation %.3f, mean error %.4f, rate %.2f, %.1f s\n",
      stats::cor(inclusion(fit), inclusion(long)),
      mean(abs(inclusion(fit) - inclusion(long))), fit$learning_rate, time
    ))
    cat("   largest range over the streams:", max(attr(inclusion(fit), "range")), "\n")
  }
}

# Columns in blocks of 5, ten of which have one with an effect.
block_columns <- function(n, p, family) {
  set.seed(1)
  x <- matrix(0, n, p, dimnames = list(NULL, paste0("x", seq_len(p))))
  for (b in seq_len(p / 5)) {
    own <- sqrt(0.1) * stats::rnorm(5 * n) + sqrt(0.9) * stats::rnorm(n)
    x[, 5 * b - 4:0] <- own
  }
  true <- 5 * floor(seq(0, p / 5 - 1, length.out = 10)) + 3
  f <- drop(x[, true] %*% rep(c(1, -1), 5))
  y <- if (family == "gaussian") {
    f + stats::rnorm(n)
  } else {
    factor(1.5 * f + stats::rlogis(n) > 0)
  }
  list(x = x, y = y, true = true)
}

if (asked("5")) {
  lasso <- function(d, family) {
    peer <- if (family == "gaussian") "gaussian" else "binomial"
    fit <- glmnet::cv.glmnet(d$x, d$y, family = peer)
    which(drop(as.matrix(stats::coef(fit, s = "lambda.1se")))[-1] != 0)
  }
  spike <- function(d, family) {
    peer <- if (family == "gaussian") "gaussian" else "binomial"
    y <- if (is.factor(d$y)) as.numeric(d$y) - 1 else d$y
    fit <- varbvs::varbvs(d$x, NULL, y, family = peer, verbose = FALSE)
    which(fit$pip > 0.5)
  }
  ours <- function(polish) {
    function(d, family) {
      fit <- bkm(
        d$x, d$y, family = family, select = TRUE, method = "vb",
        control = bkm_control(polish = polish)
      )
      which(inclusion(fit) > 0.5)
    }
  }
  methods <- list(
    "bkm vb" = ours(TRUE), "bkm vb, polish = FALSE" = ours(FALSE),
    "cv.glmnet, one se" = if (has("glmnet")) lasso, "varbvs" = if (has("varbvs")) spike
  )
  sizes <- strsplit(Sys.getenv("SIZES", "500x1000"), ",")[[1]]
  for (size in strsplit(sizes, "x")) {
    for (family in c("gaussian", "logit")) {
      d <- block_columns(as.integer(size[1]), as.integer(size[2]), family)
      block <- function(at) unique((at - 1) %/% 5)
      cat(sprintf("5. %s x %s, %s\n", size[1], size[2], family))
      for (name in names(Filter(Negate(is.null), methods))) {
        gc(FALSE)
        before <- memory()[["now"]]
        reset_peak()
        seconds <- cpu(at <- quietly(methods[[name]](d, family)))
        beyond <- memory()[["peak"]] - before
        cat(sprintf(
          "   %-24s %7.1f s %6.0f MB, %2d of 10 blocks, %d false, %d columns\n", name, seconds,
          beyond, length(intersect(block(at), block(d$true))),
          length(setdiff(block(at), block(d$true))), length(at)
        ))
      }
    }
  }
}
