# The sinc function: error, kernels and noise of the sequential algorithm, with the paper's moves
# under a valid weight.

about <- list(
  title = "sinc, the paper's moves", where = "Table 1", minutes = c(quick = 0.2, paper = 0.2),
  repetitions = c(quick = 25, paper = 25)
)

run <- function() sinc_numbers("sinc")
