# The same by the sampler: variables that are almost certainly in.

about <- list(
  title = "selection by Gibbs, spam", where = "Figure 3", data = "spam",
  minutes = c(quick = 1, paper = 30),
  sizes = c(quick = "1500 + 1500 of 50,000 + 50,000 sweeps", paper = "50,000 + 50,000 sweeps")
)

run <- function() {
  data <- paper_data("spam")
  if (size == "tiny") data <- data[seq(1, 4601, 8), c(1:20, 58)]
  fit <- fit_as(
    bsvm, "luts2014", "selection_gibbs", type ~ ., data,
    seed = 1, change = pick(
      short_chain(), list(ndraws = 1500, control = list(warmup = 1500)), list()
    )
  )
  vb <- fit_as(bsvm, "luts2014", "selection", type ~ ., data, seed = 1)
  p <- inclusion(fit)
  certain <- names(p)[p > 0.99]
  measured(
    "variables almost certainly in" = length(certain),
    "of these not in by VB" = sum(inclusion(vb)[certain] < 0.5),
    "inclusion, cs" = if ("cs" %in% names(p)) p[["cs"]] else NA_real_, raw = p
  )
}

draw <- draw_inclusion
