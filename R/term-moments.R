# Mean and sd of the values that are there, of rows that count as often as `copies` says.
observed_moments <- function(x, copies = NULL) {
  intercept <- "(Intercept)" %in% utils::head(colnames(x), 1L)
  moments <- block_moments(x, ncol(x) - intercept)
  for (j in which(moments$missing > 0 & moments$missing < nrow(x))) {
    there <- column_moments_cpp(cbind(x[!is.na(x[, j]), j]))
    moments$mean[j] <- there$mean
    moments$sd[j] <- there$sd
  }
  if (is.null(copies)) moments else counted_moments(x, moments, copies)
}

# The moments with the mean and standard deviation of repeated rows.
counted_moments <- function(x, moments, copies) {
  if (is.null(copies)) return(moments)
  for (j in seq_len(ncol(x))) {
    there <- !is.na(x[, j])
    if (any(there)) {
      own <- weighted_moments(x[there, j], copies[there])
      moments$mean[j] <- own[1L]
      moments$sd[j] <- own[2L]
    }
  }
  moments
}

# Mean and standard deviation. A whole weight is so many rows.
weighted_moments <- function(x, weights) {
  total <- sum(weights)
  mean <- sum(weights * x) / total
  squares <- sum(weights * (x - mean)^2)
  n <- sum(weights > 0)
  left <- if (all(weights == trunc(weights))) total - 1 else total * (n - 1) / n
  c(mean, sqrt(squares / left))
}

# Numbers of rows as often as they count, at most `most` of them, spread evenly.
repeated_rows <- function(copies, most = max(length(copies), 1e5)) {
  total <- sum(copies)
  findInterval(seq(0.5, total - 0.5, length.out = min(total, most)), cumsum(c(0, copies)))
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
