# Groups of rows in the model of predictors with missing values: the grouping factors of the
# formula, each once, whose effects on the predictors that miss values are normal.

# By grouping factor its first random term.
grouping_terms <- function(random) {
  labels <- vapply(random, `[[`, "", "label")
  which(!duplicated(labels))
}

# Codes of rows by such a term, 0 for a group that the fit has not seen.
group_codes <- function(random, terms) lapply(terms, function(t) as.integer(random[[t]]$group))

# Of n rows, those that a model of predictors knows; rows read without their groups have none of
# them.
model_codes <- function(model, random, n) {
  terms <- lapply(model$groups, `[[`, "term")
  if (length(random) == 0L) return(lapply(terms, function(t) integer(n)))
  group_codes(random, terms)
}

# Groups without rows are given none.
used_codes <- function(code) {
  used <- sort(unique(code[!is.na(code) & code > 0L]))
  list(code = match(code, used, nomatch = 0L), used = used)
}

# What groups are: a model by predictor_model_cpp(), of which effects are those of all groups of the
# fit again; a group without rows has the prior's.
expand_groups <- function(model, used, terms) {
  width <- length(model$where)
  model$groups <- Map(function(part, own, term) {
    size <- max(own, 0L)
    out <- list(
      mean = matrix(0, width, size), var = matrix(as.double(part$cov), width^2, size),
      cov = part$cov, term = term
    )
    out$mean[, own] <- part$mean
    out$var[, own] <- part$var
    out
  }, model$groups, used, terms)
  model
}

# How much more or less frequent levels of factors with missing values, and classes, are in a group:
# log of p(level | group) / p(level), for every group by a Dirichlet prior about p, whose size makes
# the levels that are seen most likely. `code`, of factors: a matrix; rows count by their `weight`.
# `row` of completions: what a row itself counts for tells nothing about it, and `apart` has what it
# takes from the log probability of each.
add_tilt <- function(model, codes, code, sizes, class, weight = NULL, row = NULL) {
  classes <- length(model$cov)
  values <- lapply(seq_along(sizes), function(f) code[, f])
  if (classes > 1L) {
    values <- c(values, list(class))
    sizes <- c(sizes, classes)
  }
  if (length(values) == 0L) return(model)
  apart <- 0
  model$groups <- Map(function(part, code) {
    each <- Map(function(value, size) {
      level_tilt(value, size, code, ncol(part$mean), weight, row)
    }, values, sizes)
    part$tilt <- unname(lapply(each, `[[`, "tilt"))
    apart <<- apart + Reduce(`+`, lapply(each, `[[`, "apart"))
    part
  }, model$groups, codes)
  if (!is.null(row)) model$apart <- list(row = row, code = code, value = apart)
  model
}

level_tilt <- function(value, size, code, groups, weight, row = NULL) {
  keep <- !is.na(value) & code > 0L
  counts <- matrix(0, size, groups)
  sums <- rowsum((weight %||% rep(1, length(value)))[keep], (code[keep] - 1L) * size + value[keep])
  counts[as.integer(rownames(sums))] <- sums
  share <- (rowSums(counts) + 0.5) / (sum(counts) + 0.5 * size)
  total <- colSums(counts)
  fit <- function(log_size) {
    a <- exp(log_size)
    sum(lgamma(a) - lgamma(a + total)) + sum(lgamma(a * share + counts) - lgamma(a * share))
  }
  # Larger than this the groups are alike.
  most <- log(1e4)
  a <- exp(stats::optimize(fit, c(log(0.1), most), maximum = TRUE)$maximum)
  if (a > 0.5 * exp(most)) return(list(tilt = matrix(0, size, groups), apart = 0))
  p <- (counts + a * share) / rep(total + a, each = size)
  apart <- 0
  if (!is.null(row)) {
    key <- (row - 1) * size + value
    sums <- rowsum(weight, key, reorder = FALSE)
    own <- sums[match(key, unique(key))]
    all <- counts[cbind(value, pmax(code, 1L))] + a * share[value]
    apart <- ifelse(keep, log1p(-pmin(own / all, 1 - 1e-8)), 0)
  }
  list(tilt = log(p) - log(share), apart = apart)
}

# Completions of rows of the fit, each less what it told of its group itself.
leave_own_levels <- function(atoms, apart) {
  sizes <- apply(apart$code, 2L, max)
  key <- function(row, code) combine_codes(c(list(row), asplit(code, 2L)), c(0, sizes))
  value <- apart$value[match(key(atoms$row, atoms$codes), key(apart$row, apart$code))]
  prior <- within_rows(atoms$log_prior + ifelse(is.na(value), 0, value), atoms$row)
  atoms$log_prior <- log(pmax(prior, 1e-300))
  atoms
}

# From the joint model of predictors and response, the last of them, to that of the predictors.
# `by_row` has, of the rows of the fit, the effects of their groups given all that is seen but the
# row's own response, which the fit itself takes into account: `row`, mean (D x rows), var (D^2 x
# rows); `seen`, by factor, those given what is seen of the predictors alone.
leave_response <- function(model, x, codes, used) {
  last <- ncol(x)
  by_row <- effects_by_row(model, x, codes)
  width <- length(model$where)
  keep <- seq_len(width - 1L)
  square <- as.vector(matrix(seq_len(width^2), width)[keep, keep])
  model$mean <- model$mean[-last, , drop = FALSE]
  model$cov <- lapply(model$cov, function(s) s[-last, -last, drop = FALSE])
  model$where <- model$where[keep]
  model$groups <- lapply(model$groups, function(part) {
    part$mean <- part$mean[keep, , drop = FALSE]
    part$var <- part$var[square, , drop = FALSE]
    part$cov <- part$cov[keep, keep, drop = FALSE]
    part
  })
  model$by_row <- list(
    row = by_row$row, mean = by_row$mean[keep, , drop = FALSE],
    var = by_row$var[square, , drop = FALSE]
  )
  model$seen <- seen_effects(model, x[, -last, drop = FALSE], used)
  model
}

# The effects of groups given what is seen of the predictors alone.
seen_effects <- function(model, x, used) {
  bare <- model
  bare$groups <- Map(function(part, own) {
    part$mean <- part$mean[, own$used, drop = FALSE]
    part$var <- part$var[, own$used, drop = FALSE]
    part
  }, model$groups, used)
  bare <- core_call(predictor_effects_cpp(
    x, integer(), matrix(0L, nrow(x), 0L), bare, lapply(used, `[[`, "code")
  ))
  lapply(expand_groups(
    bare, lapply(used, `[[`, "used"), lapply(model$groups, `[[`, "term")
  )$groups, `[`, c("mean", "var"))
}

# The information of a row about the effects of its groups is that of what is seen of it, less the
# other factors' effects; here with the response taken out of it.
effects_by_row <- function(model, x, codes) {
  where <- model$where
  width <- length(where)
  gone <- is.na(x)
  rows <- which(rowSums(gone) > 0)
  shift <- Map(function(part, code) t(part$mean[, code[rows], drop = FALSE]), model$groups, codes)
  total <- Reduce(`+`, shift)
  mean <- matrix(0, width, length(rows))
  var <- matrix(0, width^2, length(rows))
  pattern <- apply(gone[rows, , drop = FALSE], 1L, function(g) paste(which(g), collapse = " "))
  for (own in split(seq_along(rows), pattern)) {
    seen <- which(!gone[rows[own[1L]], ])
    for (f in seq_along(codes)) {
      part <- model$groups[[f]]
      gap <- x[rows[own], , drop = FALSE] - rep(model$mean[, 1L], each = length(own))
      gap[, where] <- gap[, where] - total[own, ] + shift[[f]][own, ]
      all <- row_information(model$cov[[1L]], gap, seen, where)
      less <- row_information(model$cov[[1L]], gap, setdiff(seen, ncol(x)), where)
      group <- codes[[f]][rows[own]]
      for (g in unique(group)) {
        at <- which(group == g)
        precision <- solve(matrix(part$var[, g], width))
        left <- solve(precision - all$matrix + less$matrix)
        pull <- drop(precision %*% part$mean[, g]) + t(less$pull - all$pull)[, at, drop = FALSE]
        mean[, own[at]] <- mean[, own[at]] + left %*% pull
        var[, own[at]] <- var[, own[at]] + as.vector(left)
      }
    }
  }
  list(row = rows, mean = mean, var = var)
}

row_information <- function(cov, gap, seen, where) {
  width <- length(where)
  out <- list(matrix = matrix(0, width, width), pull = matrix(0, nrow(gap), width))
  at <- match(where, seen)
  there <- which(!is.na(at))
  if (length(there) == 0L) return(out)
  precision <- solve(cov[seen, seen, drop = FALSE])
  out$matrix[there, there] <- precision[at[there], at[there]]
  out$pull[, there] <- (gap[, seen, drop = FALSE] %*% precision)[, at[there]]
  out
}

# What atoms_cpp() reads of groups: of rows of the fit those of the rows themselves, where the model
# has them.
groups_of_completed <- function(model, rows) {
  by_row <- model$by_row
  if (is.null(by_row) || is.null(rows$y)) {
    return(list(model = model, codes = model_codes(model, rows$random, nrow(rows$holes$x))))
  }
  code <- integer(nrow(rows$holes$x))
  code[by_row$row] <- seq_along(by_row$row)
  model$groups <- list(list(mean = by_row$mean, var = by_row$var, cov = model$groups[[1L]]$cov))
  list(model = model, codes = list(code))
}
