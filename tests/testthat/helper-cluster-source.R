# Rows of a data frame as parts that the workers of a cluster open.

some_cluster <- function(workers = 2) {
  cluster <- parallel::makePSOCKcluster(workers)
  parallel::clusterCall(cluster, .libPaths, .libPaths())
  cluster
}

# Rows of a data frame, cut before each row of `begin` but the first.
cut_open <- function(data, begin, y = "y") {
  open <- function(part, parts) {
    end <- c(begin, nrow(data) + 1)[part + 1] - 1
    bayeskernel::row_source(data[begin[part]:end, , drop = FALSE], y = y)
  }
  environment(open) <- list2env(list(data = data, begin = begin, y = y), parent = globalenv())
  open
}

rows_of_two <- function(n, seed) {
  set.seed(seed)
  d <- data.frame(a = rnorm(n), b = rnorm(n, 5, 3), c = rnorm(n))
  f <- d$a - (d$b - 5) / 3
  d$y <- ifelse(f + rlogis(n) > 0, "yes", "no")
  d$number <- f + rnorm(n)
  d
}

# The worker dies in its nth answer to a pass.
kill_in_pass <- function(cluster, worker, nth) {
  parallel::clusterCall(cluster[worker], function(nth) {
    pass <- bayeskernel:::worker_pass_cpp
    count <- 0
    utils::assignInNamespace("worker_pass_cpp", function(...) {
      count <<- count + 1
      if (count == nth) tools::pskill(Sys.getpid(), tools::SIGKILL)
      pass(...)
    }, "bayeskernel")
    NULL
  }, nth)
}

# All but how long it took and who was asked.
said <- function(fit) {
  fit$diagnostics$seconds <- NULL
  fit[setdiff(names(fit), c("elapsed", "call", "stamp"))]
}
