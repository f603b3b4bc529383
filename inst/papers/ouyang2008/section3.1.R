# The two approximations of the stable Levy measure, at the constants of section 3.4. bark() has the
# continuous one alone: its coefficients are mixtures of normals and are integrated out. The
# two-sided Pareto of the truncated one has no density near 0, so it is no such mixture and would
# need a sampler of the coefficients themselves, which klr() has for chapter 2.

about <- list(
  title = "truncated and continuous approximation", where = "Section 3.1, eq. 3.7 to 3.9",
  minutes = c(quick = 0.1, paper = 0.1)
)

run <- function() {
  measure <- levy(alpha = 1, gamma = 5, epsilon = 0.5)
  out <- both(
    measured(stats::setNames(
      measure$kernels, paste("expected kernels,", names(measure$kernels))
    )),
    measured(stats::setNames(measure$error, paste("squared error,", names(measure$error))))
  )
  # Formulas.
  out$mc_error <- 0
  out
}
