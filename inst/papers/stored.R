# What tools/reproduce stores of a run, and whether the code still gives it.

# The numbers of a run of seconds of the same code: fewer repetitions, rows and sweeps. Other
# defaults, other data or other code give other numbers.
fingerprint <- function(paper, item) {
  result <- run_item(paper, item, "tiny", 1L, 1L)
  ran <- result$verdict != "not run"
  stats::setNames(signif(result$ours[ran], 6), result$quantity[ran])
}

# Times are no numbers to compare.
is_time <- function(quantity) grepl("seconds|times as", quantity)

# Rows of results.csv: numbers, the points of a figure of curves, the fingerprint. This
# has a row of its own for each quantity of the small run, which may have others than the stored.
results_table <- function(x, digits) {
  how <- attr(x, "how")
  digits <- digits[!is_time(names(digits))]
  row <- function(kind, quantity, ours, mc_error) {
    data.frame(
      item = attr(x, "item"), kind = kind, quantity = quantity, ours = ours, mc_error = mc_error,
      size = how$size, seed = how$seed, version = how$version, seconds = round(how$seconds, 1)
    )
  }
  raw <- attr(x, "raw")
  ran <- x$verdict != "not run"
  rbind(
    row("result", x$quantity[ran], x$ours[ran], x$mc_error[ran]),
    if (inherits(raw, "curves")) row("figure", paste(raw$line, "at", raw$x), raw$y, raw$error),
    # An item of times alone has none.
    if (length(digits)) row("fingerprint", names(digits), unname(digits), NA_real_)
  )
}

# Quantities whose small run gives other digits than are stored.
# digits: what fingerprint() gives now.
# Returns their names; all where nothing is stored.
stale_digits <- function(paper, item, digits = fingerprint(paper, item)) {
  digits <- digits[!is_time(names(digits))]
  table <- stored_results(paper)
  stored <- table[table$item == item & table$kind == "fingerprint", ]
  before <- stored$ours[match(names(digits), stored$quantity)]
  same <- (is.na(before) & is.na(digits) & names(digits) %in%
    stored$quantity) | (!is.na(before) & !is.na(digits) &
    abs(before - digits) <= 1e-4 * pmax(abs(before), 1e-3))
  union(names(digits)[!same], setdiff(stored$quantity, names(digits)))
}
