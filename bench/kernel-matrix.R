# Kernel matrices: entries per second of kernel_matrix() and of the core alone,
# beside kernlab and plain R in the same run.
#
#   Rscript bench/kernel-matrix.R    from the root of the repository

library(bayeskernel)
source("bench/helpers.R")
print_machine()

# The core without checks, transposition and names.
core_matrix <- getFromNamespace("kernel_matrix_cpp", "bayeskernel")
core_kernel <- getFromNamespace("kernel_to_core", "bayeskernel")

# Inner products by R's matrix product, then squared distances and exp.
plain_matrix <- function(x, z, lengthscale) {
  squares <- outer(rowSums(x^2), rowSums(z^2), "+") - 2 * tcrossprod(x, z)
  exp(-squares / (2 * lengthscale^2))
}

# CPU seconds of every way to make the same n x m matrix of d columns. They count the time that the
# system takes to hand out memory for the result.
compare <- function(n, m, d, lengthscale = 3) {
  x <- matrix(rnorm(n * d), n)
  z <- matrix(rnorm(m * d), m)
  kernel <- rbf(lengthscale)
  core <- core_kernel(kernel, d)
  columns <- list(t(x), t(z))
  ways <- list(
    "kernel_matrix()" = function() kernel_matrix(kernel, x, z, threads = 1),
    core = function() core_matrix(core, columns[[1]], columns[[2]], 1L)$values,
    "plain R" = function() plain_matrix(x, z, lengthscale)
  )
  if (has("kernlab")) {
    dot <- kernlab::rbfdot(sigma = 1 / (2 * lengthscale^2))
    ways$kernlab <- function() kernlab::kernelMatrix(dot, x, z)
  }
  values <- lapply(ways, function(way) unname(as.matrix(way())))
  gap <- vapply(values, function(v) max(abs(v - values$core)), numeric(1))
  seconds <- vapply(ways, cpu_seconds, numeric(1))
  cat(sprintf("\n%d x %d, %d columns, one thread\n", n, m, d))
  print(data.frame(
    ms = signif(1000 * seconds, 3), "million entries/s" = round(n * m / seconds / 1e6),
    "largest difference" = signif(gap, 2), check.names = FALSE
  ))
  lapply(intersect(names(ways), c("kernlab", "plain R")), function(peer) {
    ratio_row(
      sprintf("kernel_matrix() %d x %d", n, m), peer, seconds[["kernel_matrix()"]], seconds[[peer]]
    )
  })
}

set.seed(1)
print_ratios(c(compare(5000, 100, 21), compare(2000, 2000, 21)), "Ours / peer")

# The width of the arithmetic is fixed when the package is first used.
if (!nzchar(Sys.getenv("BAYESKERNEL_SIMD"))) {
  cat("\nBAYESKERNEL_SIMD=off shows what a machine without AVX2 does.\n")
}

x <- matrix(rnorm(5000 * 21), 5000)
wall <- vapply(1:2, function(threads) {
  wall_seconds(function() kernel_matrix(rbf(3), x, threads = threads))
}, numeric(1))
cat(sprintf(
  "\n5000 x 5000, wall: one thread %.3f s, two %.3f s: %.2f times faster\n",
  wall[1], wall[2], wall[1] / wall[2]
))
