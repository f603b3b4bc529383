# NA in the columns of a model matrix that are made with a missing factor.
clear_factors <- function(x, assign, terms, gone) {
  made <- predictor_columns(assign, terms, colnames(gone))$made
  for (name in names(made)) x[gone[, name], made[[name]]] <- NA
  x
}

clear_missing <- function(x, cells) {
  x[cbind(cells$row, cells$column)] <- NA
  x
}

# Cells (row, column) that depend on a hole, and the slope: the entry of x, which was computed with
# 1 in every hole. Where that is 0 the entry is known.
missing_cells <- function(x, columns, mask) {
  parts <- list()
  for (j in which(colSums(mask) > 0)) {
    rows <- which(mask[, j])
    for (k in columns$made[[j]]) {
      slope <- x[rows, k]
      used <- which(slope != 0)
      parts[[length(parts) + 1L]] <- list(
        row = rows[used], column = rep(k, length(used)),
        predictor = rep(j, length(used)), slope = slope[used]
      )
    }
  }
  bind_cells(parts)
}

bind_cells <- function(parts) {
  take <- function(name) unlist(lapply(parts, `[[`, name), use.names = FALSE)
  list(
    row = as.integer(take("row")), column = as.integer(take("column")),
    predictor = as.integer(take("predictor")), slope = as.double(take("slope"))
  )
}

# For each predictor the columns of a model matrix that are made with it, and the one that is the
# predictor itself, NA if there is none.
predictor_columns <- function(assign, terms, predictors) {
  factors <- term_factors(terms) > 0
  names <- variable_names(terms)
  alone <- colSums(factors) == 1L
  with <- lapply(stats::setNames(nm = predictors), function(name) {
    colSums(factors[names == name, , drop = FALSE]) > 0
  })
  list(
    made = lapply(with, function(own) which(c(FALSE, own)[assign + 1L])),
    itself = vapply(with, function(own) which(c(FALSE, own & alone)[assign + 1L])[1], 1L)
  )
}

term_factors <- function(terms) {
  factors <- attr(terms, "factors")
  if (length(factors) == 0L) matrix(0L, length(attr(terms, "variables")) - 1L, 0L) else factors
}
