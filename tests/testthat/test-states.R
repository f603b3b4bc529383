# A fit that goes on may have been read from a file: its state is untrusted.

leaves <- function(x, at = integer()) {
  if (!is.list(x)) return(list(at))
  unlist(lapply(seq_along(x), function(i) leaves(x[[i]], c(at, i))), FALSE)
}

expect_states_checked <- function(part, go_on) {
  for (at in leaves(part$state)) {
    value <- part$state[[at]]
    broken <- list("a", c(value, value, 1), NULL)
    if (length(value)) broken <- c(broken, list(value[-1], value * NaN))
    for (value in broken) {
      damaged <- part
      damaged$state[[at]] <- value
      expect_bk_error(go_on(stamped(damaged)), "argument")
    }
  }
  damaged <- part
  damaged$state <- part$state[1]
  expect_bk_error(go_on(stamped(damaged)), "argument")
  damaged <- part
  last <- length(part$state)
  for (at in leaves(part$state)) {
    name <- names(part$state[[at[-length(at)]]])[at[length(at)]]
    if (at[1] == last && identical(name, "sweep")) damaged$state[[at]] <- part$state[[at]] + 1
  }
  expect_bk_error(go_on(stamped(damaged)), "argument", "differ in sweeps")
}

test_that("damaged states of bsvm's chains are refused", {
  d <- grouped_data(48, 6)
  expect_states_checked(
    quick_gibbs(y ~ x1 + x2 + (1 | g), d, ndraws = 5),
    function(start) quick_gibbs(y ~ x1 + x2 + (1 | g), d, resume = start)
  )
  d$x1[1:4] <- NA
  fit <- function(...) {
    may_give_up(quick_gibbs(y ~ x1 + x2, d, select = TRUE, missing = "model", ...))
  }
  expect_states_checked(fit(ndraws = 5), function(start) fit(resume = start))
})

test_that("damaged states of gpsvm's chains are refused", {
  d <- curved_data(40)
  fit <- function(...) quick_process(y ~ x1 + x2, d, inducing = 8, ...)
  expect_states_checked(fit(ndraws = 5), function(start) fit(resume = start))
})
