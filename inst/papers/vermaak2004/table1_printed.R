# The same by the algorithm as it is printed, with its improper priors: no valid sampler, whatever
# the number of particles; at 250 of them its answers are near.

about <- list(
  title = "sinc, the printed weight", where = "Table 1", minutes = c(quick = 0.1, paper = 0.1),
  repetitions = c(quick = 25, paper = 25)
)

# Weight, prior and moves after the last row, which published() changes together, one by one.
run <- function() {
  improper <- published("vermaak2004", "sinc_printed")$prior
  moves <- published("vermaak2004", "sinc")$moves
  named <- function(suffix, model, change = list()) {
    out <- sinc_numbers(model, change)
    out$quantity <- paste0(out$quantity, suffix)
    out
  }
  after <- list(control = list(final_moves = seqkr_control()$final_moves))
  both(sinc_numbers("sinc_printed"), rbind(
    named(", moves after the last row", "sinc_printed", after),
    named(", moves after the last row and proper prior", "sinc", list(moves = "printed")),
    named(", correct weight", "sinc_printed", list(moves = moves)),
    named(", correct weight and moves after the last row", "sinc", list(prior = improper))
  ))
}
