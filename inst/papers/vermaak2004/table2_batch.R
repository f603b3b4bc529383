# Relevance and support vectors on the same divisions of Boston. The paper copies its figures from a
# table whose divisions are others.

about <- list(
  title = "Boston, batch methods", where = "Table 2", data = "boston",
  minutes = c(quick = 0.16, paper = 0.5), packages = c("MASS", "kernlab"),
  sizes = c(quick = "5 of 10 divisions", paper = "10 divisions")
)

run <- function() {
  kernel <- kernlab::rbfdot(1 / 5^2)
  averaged(lapply(seq_len(pick(1, 5, 10)), function(split) {
    data <- boston_split(split)
    pair <- standardised_pair(data$x, data$new)
    y <- (data$y - mean(data$y)) / stats::sd(data$y)
    mse <- function(fit) {
      f <- drop(kernlab::predict(fit, pair$new))
      mean((f * stats::sd(data$y) + mean(data$y) - data$truth)^2)
    }
    rvm <- kernlab::rvm(pair$x, y, kernel = kernel, verbosity = 0)
    svm <- kernlab::ksvm(pair$x, y, kernel = kernel, type = "eps-svr", scaled = FALSE)
    kernels <- length(methods::slot(rvm, "RVindex"))
    # Its error minus those of both, and its kernels minus those of RVM.
    apart <- function(moves) {
      own <- fit_as(
        seqkr, "vermaak2004", "boston", data$x, data$y, seed = split,
        change = c(list(moves = moves), pick(list(particles = 20), list(), list()))
      )
      error <- mean((predict(own, data$new) - data$truth)^2)
      c(error - mse(rvm), error - mse(svm), mean(own$posterior$size) - kernels)
    }
    printed <- apart("printed")
    jumps <- apart("rj")
    c(
      "test error, RVM" = mse(rvm), "kernels, RVM" = kernels,
      "test error, SVM" = mse(svm), "kernels, SVM" = kernlab::nSV(svm),
      "test error, sequential minus RVM" = printed[1],
      "test error, sequential minus SVM" = printed[2],
      "kernels, sequential minus RVM" = printed[3],
      "test error, reversible jumps minus RVM" = jumps[1],
      "test error, reversible jumps minus SVM" = jumps[2],
      "kernels, reversible jumps minus RVM" = jumps[3],
      "test error, all kernels" = mean(
        (all_kernels(pair, y) * stats::sd(data$y) + mean(data$y) - data$truth)^2
      )
    )
  }))
}

# Ridge regression on the kernels at all rows and a constant, the variances by maximum likelihood:
# what a choice of kernels can hope for.
all_kernels <- function(pair, y, width = 5) {
  columns <- function(x) {
    distance <- outer(rowSums(x^2), rowSums(pair$x^2), "+") - 2 * tcrossprod(x, pair$x)
    cbind(1, exp(-pmax(distance, 0) / width^2))
  }
  h <- columns(pair$x)
  parts <- eigen(tcrossprod(h), symmetric = TRUE)
  z <- drop(crossprod(parts$vectors, y))
  lost <- function(par) {
    v <- exp(par[1]) * pmax(parts$values, 0) + exp(par[2])
    sum(log(v) + z^2 / v)
  }
  par <- exp(stats::optim(c(0, -2), lost)$par)
  weight <- parts$vectors %*% (z / (par[1] * pmax(parts$values, 0) + par[2]))
  drop(columns(pair$new) %*% (par[1] * crossprod(h, weight)))
}
