# spectra, inclusion along the curve: peaks at which two groups of simulated spectra differ, by a
# Markov prior of inclusion. The dissertation's curves are a picture; ours are four Gaussian peaks.

about <- list(
  title = "spectra, inclusion along the curve", where = "Figure 4.3",
  minutes = c(quick = 0.5, paper = 5)
)

run <- function() spectra_numbers(0)

draw <- draw_spectra
