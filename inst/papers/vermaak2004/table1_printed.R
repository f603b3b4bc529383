# The same by the algorithm as it is printed, with its improper priors: no valid sampler, whatever
# the number of particles; at 250 of them its answers are near.

about <- list(
  title = "sinc, the printed weight", where = "Table 1", minutes = c(quick = 0.1, paper = 0.1),
  repetitions = c(quick = 25, paper = 25)
)

run <- function() sinc_numbers("sinc_printed")
