# spectra, inclusion along the curve: peaks at which two groups of simulated spectra differ, by a
# Markov prior of inclusion. The dissertation's curves are a picture; ours are four Gaussian peaks.

about <- list(
  title = "spectra, inclusion along the curve", where = "Figure 4.3",
  minutes = c(quick = 0.5, paper = 5),
  sizes = c(quick = "10 sets; 10,000 + 10,000 sweeps", paper = "20 sets; 100,000 + 100,000 sweeps")
)

# The peaks apart are of the mean over sets.
run <- function() {
  out <- spectra_numbers(0)
  near <- function(at) mean(attr(out, "raw")[at + (-2:2)])
  both(out, measured(
    "inclusion at the peak at 20" = near(20),
    "inclusion at the peaks at 60 and 80" = (near(60) + near(80)) / 2
  ))
}

draw <- draw_spectra
