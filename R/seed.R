# Evaluates with a generator of its own when a seed is given; R's generator is left as it was.
with_seed <- function(seed, code) {
  if (is.null(seed)) {
    return(code)
  }
  seed <- check_seed(seed)
  home <- globalenv()
  before <- home[[".Random.seed"]]
  on.exit(
    if (is.null(before)) {
      rm(".Random.seed", envir = home)
    } else {
      assign(".Random.seed", before, envir = home)
    }
  )
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  code
}

normal_matrix <- function(n, k) matrix(stats::rnorm(n * k), n, k)
