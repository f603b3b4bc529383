# Printing that all models share. Lines are as long as the option `width` allows.

# Estimates share their decimals; R-hat has two and ESS none.
print_coef_table <- function(table, digits = max(3L, getOption("digits") - 4L), max_rows = 50L) {
  shown <- utils::head(table, max_rows)
  text <- format(shown, digits = digits)
  chances <- intersect(colnames(shown), c("Inclusion", "Prior"))
  values <- setdiff(colnames(shown), c("R-hat", "ESS", "Range", chances))
  text[, values] <- format_values(shown[, values, drop = FALSE], digits)
  if ("R-hat" %in% colnames(shown)) {
    text[, "R-hat"] <- formatC(shown[, "R-hat"], format = "f", digits = 2)
    text[, "ESS"] <- formatC(shown[, "ESS"], format = "f", digits = 0)
  }
  if ("Range" %in% colnames(shown)) text[, "Range"] <- format(shown[, "Range"], digits = 3)
  if (length(chances)) text[, chances] <- format_chances(shown[, chances])
  text[is.na(shown)] <- "-"
  # Names have what the numbers leave of a line.
  wide <- pmax(nchar(colnames(text)), apply(nchar(text), 2, max, 0L)) + 1L
  rownames(text) <- abbreviate_middle(rownames(shown), max(28L, text_width() - sum(wide)))
  print(text, quote = FALSE, right = TRUE)
  if (nrow(table) > max_rows) cat(sprintf("... and %d rows more\n", nrow(table) - max_rows))
  invisible(table)
}

# Probabilities to three decimals; what is smaller shows its size.
format_chances <- function(x) {
  small <- x > 0 & x < 0.0005
  out <- formatC(x, format = "f", digits = 3)
  out[small] <- formatC(x[small], format = "e", digits = 0)
  out
}

# Decimals that give the largest number `digits` significant digits and the smallest standard
# deviation one fewer, at least one, the same for all rows, unless sizes differ so much that every
# number needs its own, which then has `digits`.
format_values <- function(x, digits) {
  sd <- x[, "SD"]
  sd <- sd[is.finite(sd) & sd > 0]
  largest <- max(1, abs(x[is.finite(x)]))
  decimals <- max(
    0, digits - 1 - floor(log10(largest)),
    if (length(sd) > 0L) max(0, digits - 2) - floor(log10(min(sd)))
  )
  # One row that is tiny, an intercept's odds say, is no reason for all to have its decimals.
  wide <- decimals > digits + 2 || decimals + floor(log10(largest)) > digits + 5
  # Of what cannot be negative no estimate is shown as 0.
  found <- x[is.finite(x[, "Estimate"]), "Estimate"]
  wide <- wide || (all(x >= 0, na.rm = TRUE) && any(found > 0 & found < 0.5 * 10^-decimals))
  text <- if (wide) {
    formatC(x, digits = digits, format = "g")
  } else {
    formatC(x, digits = decimals, format = "f")
  }
  array(text, dim(x))
}

#' @export
print.bayeskernel_varcorr <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_varcorr(x, check_count(digits, 1L, 22L))
  invisible(x)
}

# One line a random column; correlations with the columns above it on its right.
print_varcorr <- function(x, digits) {
  sizes <- vapply(x, nrow, 1L)
  sd <- unlist(lapply(x, attr, "stddev"), use.names = FALSE)
  text <- cbind(
    Groups = unlist(Map(function(label, r) {
      c(label, rep("", r - 1L))
    }, abbreviate_middle(names(x)), sizes)),
    Name = abbreviate_middle(unlist(lapply(x, rownames), use.names = FALSE)),
    Variance = format(sd^2, digits = digits), Std.Dev. = format(sd, digits = digits)
  )
  if (any(sizes > 1L)) {
    rows <- lapply(x, function(block) {
      corr <- attr(block, "correlation")
      out <- matrix("", nrow(corr), max(sizes) - 1L)
      below <- lower.tri(corr)
      out[, seq_len(nrow(corr) - 1L)][below[, -nrow(corr)]] <- sprintf("%5.2f", corr[below])
      out
    })
    corr <- do.call(rbind, rows)
    colnames(corr) <- c("Corr", rep("", ncol(corr) - 1L))
    text <- cbind(text, corr)
  }
  noise <- attr(x, "sc")
  if (!is.null(noise)) {
    text <- rbind(text, "")
    sd <- c(sd, noise)
    text[nrow(text), 1L] <- "Residual"
    text[, 3:4] <- c(format(sd^2, digits = digits), format(sd, digits = digits))
  }
  text[, 1:2] <- format(text[, 1:2], justify = "left")
  heads <- c("Groups", "Name")
  colnames(text)[1:2] <- sprintf("%-*s", nchar(text[1, 1:2]), heads)
  rownames(text) <- rep("", nrow(text))
  print(text, quote = FALSE, right = TRUE)
}

#' @export
as.data.frame.bayeskernel_varcorr <- function(x, row.names = NULL, optional = FALSE, ...) {
  rows <- Map(function(label, block) {
    at <- which(lower.tri(block, diag = TRUE), arr.ind = TRUE)
    at <- at[order(at[, 1] != at[, 2]), , drop = FALSE]
    names <- rownames(block)
    single <- at[, 1] == at[, 2]
    sdcor <- attr(block, "correlation")[at]
    sdcor[single] <- attr(block, "stddev")[at[single, 1]]
    data.frame(
      grp = label, var1 = names[at[, 2]], var2 = ifelse(single, NA, names[at[, 1]]),
      vcov = block[at], sdcor = sdcor
    )
  }, names(x), x)
  noise <- attr(x, "sc")
  if (!is.null(noise)) {
    rows$Residual <- data.frame(
      grp = "Residual", var1 = NA, var2 = NA, vcov = noise^2, sdcor = noise
    )
  }
  out <- do.call(rbind, rows)
  rownames(out) <- row.names
  out
}
