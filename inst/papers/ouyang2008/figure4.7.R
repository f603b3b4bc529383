# spectra, a constant between the groups: peaks at which two groups of simulated spectra differ, by
# a Markov prior of inclusion. The dissertation's curves are a picture; ours are four Gaussian
# peaks.

about <- list(
  title = "spectra, a constant between the groups", where = "Figures 4.5 to 4.7",
  minutes = c(quick = 0.5, paper = 5),
  sizes = c(quick = "10 sets; 10,000 + 10,000 sweeps", paper = "20 sets; 100,000 + 100,000 sweeps")
)

run <- function() spectra_numbers(0.5)

draw <- draw_spectra
