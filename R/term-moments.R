# Mean and sd of the values that are there.
observed_moments <- function(x) {
  intercept <- "(Intercept)" %in% utils::head(colnames(x), 1L)
  moments <- block_moments(x, ncol(x) - intercept)
  for (j in which(moments$missing > 0 & moments$missing < nrow(x))) {
    there <- column_moments_cpp(cbind(x[!is.na(x[, j]), j]))
    moments$mean[j] <- there$mean
    moments$sd[j] <- there$sd
  }
  moments
}

# Moments of a matrix by blocks of the size in which a row source with so many predictors is read,
# so that both give the same bits.
block_moments <- function(x, predictors = ncol(x)) {
  n <- nrow(x)
  size <- block_rows(predictors)
  if (n <= size) return(column_moments_cpp(x))
  all <- NULL
  missing <- numeric(ncol(x))
  for (first in seq(0, n - 1, by = size)) {
    rows <- min(size, n - first)
    moments <- column_moments_cpp(x, first, rows)
    missing <- missing + moments$missing
    all <- merge_moments(all, moments, rows)
  }
  finish_moments(all, missing)
}

# One block has the bits of column_moments_cpp().
finish_moments <- function(all, missing = numeric(length(all$mean))) {
  if (is.null(all$sd)) all$sd <- sqrt(all$squares / (all$n - 1))
  all$missing <- missing
  all
}

# Moments of all rows so far (the update of Chan, Golub and LeVeque 1983); `squares` is the sum of
# squared deviations.
merge_moments <- function(all, part, n) {
  squares <- part$sd^2 * (n - 1)
  if (is.null(all)) return(c(part[c("mean", "sd", "min", "max")], list(squares = squares, n = n)))
  gap <- part$mean - all$mean
  total <- all$n + n
  list(
    mean = all$mean + gap * (n / total), min = pmin(all$min, part$min),
    max = pmax(all$max, part$max),
    squares = all$squares + squares + gap^2 * (all$n * n / total), n = total
  )
}
