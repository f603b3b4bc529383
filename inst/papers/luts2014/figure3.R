# Words that tell spam, by VB on all rows: which variables are in.

about <- list(
  title = "selection by VB, spam", where = "Figure 3", data = "spam",
  minutes = c(quick = 0.1, paper = 0.1)
)

run <- function() {
  data <- paper_data("spam")
  if (size == "tiny") data <- data[seq(1, 4601, 8), c(1:20, 58)]
  done <- timed(function() {
    fit_as(bsvm, "luts2014", "selection", type ~ ., data, seed = 1)
  })
  p <- inclusion(done$value)
  of <- function(name) if (name %in% names(p)) p[[name]] else NA_real_
  out <- measured(
    "variables in" = sum(p > 0.5), "inclusion, cs" = of("cs"), "inclusion, hpl" = of("hpl"),
    "inclusion, font" = of("font"), "inclusion, email" = of("email"),
    "inclusion, table" = of("table"), "seconds, VB" = done$seconds, raw = p
  )
  # Nothing is random but the time.
  out$mc_error[out$quantity != "seconds, VB"] <- 0
  out
}

draw <- draw_inclusion
