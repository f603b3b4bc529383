# What the standard errors and probabilities of the support vector machines are
# worth: simulations behind the figures of help("svm-posterior").
#   Rscript bench/trust.R level [sets]       coverage at the defaults
#   Rscript bench/trust.R bars [sets]        the same with random intercepts
#   Rscript bench/trust.R imbalance [sets]   rare classes
# Each takes a minute or so for a hundred sets.

suppressMessages(library(bayeskernel))

slopes <- c(x1 = 1, x2 = 0.5, x3 = 0, x4 = 0)

# Correlated predictors; labels by a logistic model, some of them flipped.
make_rows <- function(n, intercept = 0, flipped = 0, sd_group = 0, size = 1) {
  x <- matrix(rnorm(4 * n), n, dimnames = list(NULL, names(slopes)))
  x <- x %*% chol(0.3 + 0.7 * diag(4))
  colnames(x) <- names(slopes)
  group <- rep(seq_len(n / size), each = size)
  f <- intercept + drop(x %*% slopes) + sd_group * rnorm(n / size)[group]
  y <- runif(n) < plogis(f)
  swap <- runif(n) < flipped
  data.frame(x, y = xor(y, swap), group = factor(group))
}

cases <- list(
  balanced = list(), rare = list(intercept = -1.75),
  "rare, balanced weights" = list(intercept = -1.75, weights = "balanced"),
  flipped = list(flipped = 0.15)
)

fit_case <- function(data, weights = "none", ...) {
  flat(bsvm)(y ~ x1 + x2 + x3 + x4, data, class_weights = weights, threads = 1, ...)
}

# What fits to more and more rows tend to.
limit_of <- function(case, rows = 3e5) {
  set.seed(1)
  data <- do.call(make_rows, c(list(rows), case[names(case) != "weights"]))
  coef(fit_case(data, case$weights %||% "none", method = "vb"))[-1]
}
`%||%` <- function(x, y) if (is.null(x)) y else x

covered <- function(fit, type, truth) {
  ends <- confint(fit, names(slopes), type = type)
  ends[, 1] <= truth & truth <= ends[, 2]
}

level <- function(sets, sizes = c(100, 200, 1000), method = "ep") {
  for (name in names(cases)) {
    case <- cases[[name]]
    truth <- limit_of(case)
    cat(sprintf("%s: limits %s\n", name, paste(round(truth, 3), collapse = " ")))
    for (n in sizes) {
      types <- c("sandwich", "posterior")
      hits <- array(NA, c(sets, 4, 2), list(NULL, names(slopes), types))
      lost <- logical(sets)
      for (s in seq_len(sets)) {
        set.seed(1000 + s)
        data <- do.call(make_rows, c(list(n), case[names(case) != "weights"]))
        fit <- suppressWarnings(fit_case(data, case$weights %||% "none", method = method))
        for (type in types) hits[s, , type] <- covered(fit, type, truth)
        lost[s] <- length(fit$given_up) > 0
      }
      share <- apply(hits, 2:3, mean)
      cat(sprintf(
        "  n %4d  sandwich: nulls rejected %.3f, others covered %.3f; posterior: %.3f, %.3f\n", n,
        1 - mean(share[3:4, 1]), mean(share[1:2, 1]), 1 - mean(share[3:4, 2]), mean(share[1:2, 2])
      ))
      if (any(lost)) {
        cat(sprintf(
          "          %d gave a class up: nulls rejected %.3f, in the others %.3f\n",
          sum(lost), 1 - mean(hits[lost, 3:4, 1]), 1 - mean(hits[!lost, 3:4, 1])
        ))
      }
    }
  }
}

# Random intercepts of sd 0 and 1; nulls are the same in every model.
bars <- function(sets, method = "ep") {
  for (sd in c(0, 1)) {
    for (shape in list(c(100, 5), c(200, 10))) {
      n <- prod(shape)
      types <- c("sandwich", "posterior")
      out <- array(NA, c(sets, 4, 2), list(NULL, names(slopes), types))
      ends <- NULL
      sigma <- numeric(sets)
      for (s in seq_len(sets)) {
        set.seed(2000 + s)
        data <- make_rows(n, sd_group = sd, size = shape[2])
        fit <- suppressWarnings(bsvm(
          y ~ x1 + x2 + x3 + x4 + (1 | group), data, threads = 1, method = method
        ))
        ends <- rbind(ends, coef(fit)[-1])
        sigma[s] <- attr(VarCorr(fit)[[1]], "stddev") / coef(fit)[["x1"]]
        for (type in types) {
          out[s, , type] <- sqrt(diag(vcov(fit, type = type)))[-1]
        }
      }
      middle <- matrix(colMeans(ends), sets, 4, byrow = TRUE)
      middle[, 3:4] <- 0
      share <- apply(abs(c(ends - middle) / out) < qnorm(0.975), 2:3, mean)
      cat(sprintf(
        "sd %g, %g groups of %g: sd / slope %.2f; nulls rejected %.3f (posterior %.3f), others cover their mean %.3f (%.3f)\n",
        sd, shape[1], shape[2], median(sigma), 1 - mean(share[3:4, 1]),
        1 - mean(share[3:4, 2]), mean(share[1:2, 1]), mean(share[1:2, 2])
      ))
    }
  }
}

# Slope 1 and two columns of noise, prevalences from .3 to .03, tested on 20,000.
imbalance <- function(sets, n = 1000, method = "ep") {
  for (share in c(0.5, 0.4, 0.3, 0.2, 0.09, 0.03)) {
    intercept <- uniroot(function(a) {
      mean(plogis(a + qnorm(ppoints(1000)))) - share
    }, c(-10, 10))$root
    draw <- function(n) {
      x <- matrix(rnorm(3 * n), n, dimnames = list(NULL, paste0("x", 1:3)))
      data.frame(x, y = runif(n) < plogis(intercept + x[, 1]))
    }
    out <- NULL
    for (s in seq_len(sets)) {
      set.seed(3000 + s)
      data <- draw(n)
      test <- draw(20000)
      logistic <- glm(y ~ ., binomial, data)
      warned <- FALSE
      plain <- withCallingHandlers(
        bsvm(y ~ ., data, threads = 1, method = method),
        bayeskernel_warning_given_up = function(w) {
          warned <<- TRUE
          invokeRestart("muffleWarning")
        }
      )
      balanced <- bsvm(y ~ ., data, class_weights = "balanced", threads = 1, method = method)
      score <- function(p) {
        p <- pmin(pmax(p, 1e-12), 1 - 1e-12)
        -mean(log(ifelse(test$y, p, 1 - p)))
      }
      ber <- function(yes) (mean(!yes[test$y]) + mean(yes[!test$y])) / 2
      p <- lapply(list(plain, balanced), predict, test, type = "response")
      f <- lapply(list(plain, balanced), predict, test, type = "link")
      q <- predict(logistic, test, type = "response")
      out <- rbind(out, c(
        slope_plain = coef(plain)[["x1"]], slope_balanced = coef(balanced)[["x1"]],
        slope_glm = coef(logistic)[["x1"]], loss_plain = score(p[[1]]),
        loss_balanced = score(p[[2]]), loss_glm = score(q), ber_plain = ber(f[[1]] > 0),
        ber_balanced = ber(f[[2]] > 0), ber_glm = ber(q > mean(data$y)), warned = warned
      ))
    }
    cat(sprintf("prevalence %g\n", share))
    print(round(colMeans(out), 3))
    lost <- out[, "slope_plain"] < out[, "slope_balanced"] / 2
    cat(sprintf(
      "warned in %d of %d fits that collapsed, in %d of %d others\n", sum(out[lost, "warned"]),
      sum(lost), sum(out[!lost, "warned"]), sum(!lost)
    ))
  }
}

given <- commandArgs(TRUE)
if (length(given)) {
  sets <- if (length(given) > 1L) as.integer(given[2]) else 100L
  switch(given[1],
    level = level(sets), bars = bars(sets), imbalance = imbalance(sets),
    stop("level, bars or imbalance")
  )
}
