# Groups of rows in the model of predictors with missing values: the grouping
# factors of the formula, each once, whose effects on the predictors that miss
# values are normal.

# By grouping factor its first random term.
grouping_terms <- function(random) {
  labels <- vapply(random, `[[`, "", "label")
  which(!duplicated(labels))
}

# Codes of rows by such a term, 0 for a group that the fit has not seen.
group_codes <- function(random, terms) {
  lapply(terms, function(t) as.integer(random[[t]]$group))
}

# Of rows, those that a model of predictors knows.
model_codes <- function(model, random) {
  group_codes(random, lapply(model$groups, `[[`, "term"))
}

# Groups without rows are given none.
used_codes <- function(code) {
  used <- sort(unique(code[!is.na(code) & code > 0L]))
  list(code = match(code, used, nomatch = 0L), used = used)
}

# What groups are: a model by predictor_model_cpp(), of which effects are those
# of all groups of the fit again; a group without rows has the prior's.
expand_groups <- function(model, used, terms) {
  width <- length(model$where)
  model$groups <- Map(function(part, own, term) {
    size <- max(own, 0L)
    out <- list(
      mean = matrix(0, width, size),
      var = matrix(as.double(part$cov), width^2, size), cov = part$cov,
      term = term
    )
    out$mean[, own] <- part$mean
    out$var[, own] <- part$var
    out
  }, model$groups, used, terms)
  model
}

# How much more or less frequent levels of factors with missing values, and
# classes, are in a group: log of p(level | group) / p(level), for every group
# by a Dirichlet prior about p, whose size makes the levels that are seen most
# likely.
add_tilt <- function(model, codes, holes, class) {
  classes <- length(model$cov)
  values <- lapply(seq_along(holes$levels), function(f) holes$codes[, f])
  sizes <- lengths(holes$levels)
  if (classes > 1L) {
    values <- c(values, list(class))
    sizes <- c(sizes, classes)
  }
  if (length(values) == 0L) {
    return(model)
  }
  model$groups <- Map(function(part, code) {
    part$tilt <- unname(Map(function(value, size) {
      level_tilt(value, size, code, ncol(part$mean))
    }, values, sizes))
    part
  }, model$groups, codes)
  model
}

level_tilt <- function(value, size, code, groups) {
  keep <- !is.na(value) & code > 0L
  counts <- matrix(
    tabulate((code[keep] - 1L) * size + value[keep], size * groups), size
  )
  share <- (rowSums(counts) + 0.5) / (sum(counts) + 0.5 * size)
  total <- colSums(counts)
  fit <- function(log_size) {
    a <- exp(log_size)
    sum(lgamma(a) - lgamma(a + total)) +
      sum(lgamma(a * share + counts) - lgamma(a * share))
  }
  # Larger than this the groups are alike.
  most <- log(1e4)
  a <- exp(stats::optimize(fit, c(log(0.1), most), maximum = TRUE)$maximum)
  if (a > 0.5 * exp(most)) {
    return(matrix(0, size, groups))
  }
  p <- (counts + a * share) / rep(total + a, each = size)
  log(p) - log(share)
}
