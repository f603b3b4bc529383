# Kernels: names of objects, variances of new rows, weights and their priors,
# tuning, defaults, advice.

percent <- function(x) sprintf("%.2f", x)

named_kernel <- local({
  x <- scale(as.matrix(iris[, 1:4]))
  rownames(x) <- paste0("flower", 1:150)
  exp(-as.matrix(dist(x))^2 / 2)
})

accuracy <- function(fit_to, columns = rev(train), rows = NULL) {
  set.seed(1)
  train <- sample(150, 90)
  new <- setdiff(1:150, train)
  fit <- fit_to(
    named_kernel[train, train], iris$Species[train],
    kernel = precomputed(), threads = 1, seed = 1
  )
  values <- if (is.null(rows)) named_kernel[new, columns] else {
    named_kernel[train, new]
  }
  percent(mean(predict(fit, values) == iris$Species[new]))
}

first_line <- function(code) {
  tryCatch(
    {
      force(code)
      "nothing said"
    },
    error = function(e) sub("\n.*", "", conditionMessage(e))
  )
}

folds <- function() {
  folder <- Sys.getenv("BAYESKERNEL_DATA", "shared/data")
  f <- utils::read.csv(file.path(folder, "protein_fold_features.csv"))
  train <- f$set == "train"
  list(x = as.matrix(f[, 4:23]), y = factor(f$fold), train = train)
}

cases <- list(
  report(
    "A3", "accuracy, columns of named kernel values reversed: gpsvm, mkprobit",
    "0.30 0.30", "as in their order, 0.98 0.97", function() {
      paste(accuracy(gpsvm), accuracy(mkprobit))
    }
  ),
  report(
    "A3", "named kernel values transposed", "0.30 or a width",
    "an error that asks", function() first_line(accuracy(gpsvm, rows = TRUE))
  ),
  report(
    "A3", "gpsvm() of a matrix that is not positive definite",
    "a numeric error without the eigenvalue", "the eigenvalue, -0.1",
    function() {
      tryCatch(
        gpsvm(
          named_kernel - 0.1 * diag(150), iris$Species,
          kernel = precomputed(), threads = 1
        ),
        error = function(e) strsplit(conditionMessage(e), "\n")[[1]][2]
      )
    }
  ),
  report(
    "A9", "mkprobit(tune = TRUE), test error of 27 protein folds (composition)",
    "0.885 (untuned 0.648)", "not above untuned", function() {
      d <- folds()
      wrong <- function(tune) {
        fit <- mkprobit(
          d$x[d$train, ], d$y[d$train], coefficients = "weights", tune = tune,
          threads = 1, seed = 1
        )
        percent(mean(predict(fit, d$x[!d$train, ]) != d$y[!d$train]))
      }
      sprintf("%s (untuned %s)", wrong(TRUE), wrong(FALSE))
    }
  ),
  report(
    "A12", "product weights under Ga(3, 2): quartiles, kernels that say nothing",
    "cannot be asked for",
    paste(format(stats::qgamma(1:3 / 4, 3, 2), digits = 3), collapse = " "),
    function() {
      ones <- matrix(1, 30, 30)
      fit <- mkprobit(
        list(a = ones, b = ones), factor(rep(1:3, 10)),
        kernel = precomputed(), combine = "product", coefficients = "weights",
        kernel_weights = "learn", prior = mkprobit_prior(weights = c(3, 2), weight_hyper = "fixed"),
        method = "gibbs", chains = 2,
        control = mkprobit_control(warmup = 100, progress = FALSE), ndraws = 1000, seed = 1,
        threads = 1
      )
      format(stats::quantile(
        as.matrix(fit)[, "weight[a]"], 1:3 / 4, names = FALSE
      ), digits = 3)
    }
  ),
  report(
    "12e", "own rows of a kernel whose diagonal varies, largest difference in P",
    "0.28", "0, or a warning", function() {
      z <- cbind(1, as.matrix(iris[1:100, 1:4]))
      y <- replace(droplevels(iris$Species[1:100]), seq(3, 100, 7), "setosa")
      k <- unname(tcrossprod(z))
      fit <- gpsvm(k, y, kernel = precomputed(), threads = 1)
      format(max(abs(
        predict(fit, k, "prob") - predict(fit, type = "prob")
      )), digits = 2)
    }
  ),
  report(
    "12f", "gpsvm(inducing = \"all\"), 500 rows: tuned by", "nothing",
    "loo, on as many rows as seconds allow", function() {
      set.seed(3)
      x <- matrix(rnorm(1000), 500)
      y <- rbinom(500, 1, plogis(4 * sin(2 * x[, 1]) + 2 * x[, 2]))
      fit <- gpsvm(x, y, inducing = "all", threads = 1, seed = 1)
      paste(fit$tuned$by, "on", fit$tuned$rows, "rows")
    }
  ),
  report("19", "inducing points of gp(x), 30 rows", "6", "30", function() {
    d <- data.frame(x = seq(0, 1, length.out = 30))
    d$y <- sin(6 * d$x) + cos(1:30) / 5
    fit <- bkm(y ~ gp(x), d, threads = 1)
    nrow(fit$design$smooths[[1]]$process$z)
  }),
  report(
    "20", "gpsvm(linear()) on iris, error of two divisions", "0.18 0.14",
    "that of a machine with a constant", function() {
      vapply(1:2, function(k) {
        set.seed(k)
        o <- sample(150, 100)
        x <- as.matrix(iris[, 1:4])
        fit <- suppressWarnings(gpsvm(
          x[o, ], iris$Species[o], kernel = linear(), threads = 1, seed = 1
        ))
        percent(mean(predict(fit, x[-o, ]) != iris$Species[-o]))
      }, "")
    }
  ),
  report(
    "20", "gpsvm(n ~ x), 100 numbers", "it has 100 classes, not two",
    "numbers name no classes", function() {
      d <- data.frame(n = rnorm(100), x = rnorm(100))
      first_line(gpsvm(n ~ x, d))
    }
  ),
  report(
    "17", "mkprobit(sparse = TRUE) with nothing left", "0.5 in silence",
    "a warning", function() {
      set.seed(1)
      x <- matrix(rnorm(80), 40)
      tryCatch(
        {
          mkprobit(
            x, rep(0:1, 20), coefficients = "weights",
            control = mkprobit_control(sparse = TRUE),
            threads = 1
          )
          "nothing said"
        },
        warning = function(w) sub("\n.*", "", conditionMessage(w))
      )
    }
  )
)
