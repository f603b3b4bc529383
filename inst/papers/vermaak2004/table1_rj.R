# The same posterior by reversible jumps, one a row, and by the defaults of seqkr() with the paper's
# kernel.

about <- list(
  title = "sinc, reversible jumps", where = "Table 1", minutes = c(quick = 0.3, paper = 0.3),
  repetitions = c(quick = 25, paper = 25)
)

run <- function() {
  defaults <- sinc_numbers("sinc_rj", list(sweeps = 3, control = list(ess = 0.5)))
  defaults$quantity <- paste0(defaults$quantity, ", three jumps a row")
  both(sinc_numbers("sinc_rj"), defaults)
}
