# What separates the classes. The likelihood of a coefficient, or of the variance of random effects,
# then has its supremum at infinity, and the prior alone says how large it is. What is found here is
# exact: ranges and tables first, and of columns together whether a direction exists along which no
# row of one class lies beyond any of the other.

# Warns once, and names what separates. A prior that the user has typed is what he wants, unless
# coefficients have run away under it.
warn_separation <- function(theta, sure, fit, job, large = 30) {
  wild <- length(theta) > 0L && max(abs(theta)) >= large
  # Did the user say how large coefficients may be?
  chosen <- !isTRUE(fit$prior$by_column) || is.numeric(fit$penalty) ||
    !is.null(fit$prior$var_shape) || !is.null(fit$prior$var_rate) ||
    !is.null(job$data$selection) &&
      (!is.null(fit$prior$slab_shape) || !is.null(fit$prior$slab_rate))
  if (!wild && chosen) return(invisible())
  # Of columns that were looked at because they say most.
  # As many columns as rows are what a machine and a selection are made for.
  wide <- !is_pseudo(fit) && is.null(job$data$selection)
  found <- if (!isTRUE(job$design$screened)) find_separation(job$design, wide)
  if (is.null(found) && length(sure) > 0L && all(sure > 0)) {
    # Of rows in a file there is but the smallest margin.
    few <- length(theta) < (job$design$n %||% 0)
    if (wild || (!is.null(job$data$path) && few)) {
      found <- list(details = "The fit takes every row to its own class.")
    }
  }
  if (is.null(found)) return(invisible())
  bk_warn(
    "separation", "The classes are separated by the predictors.", found$details,
    if (wild) {
      sprintf("The prior alone limits the coefficients, up to %.3g on its scale.", max(abs(theta)))
    } else {
      "The prior alone limits the effects of these."
    },
    separation_remedy(fit, !is.null(job$data$selection)), columns = found$columns,
    levels = found$levels, groups = found$groups
  )
}

separation_remedy <- function(fit, selects) {
  maker <- sub("_prior$", "", class(fit$prior)[1])
  if (selects) {
    name <- if (maker == "bkm") "slab" else "var"
    return(sprintf(
      "Say how large selected coefficients are, `prior = %s_prior(%s_shape = 2, %s_rate = 2)`.",
      maker, name, name
    ))
  }
  rare <- paste("large variances unlikely,", "`prior = %s_prior(var_shape = %d, var_rate = %d)`.")
  if (identical(fit$penalty, "learn")) {
    sprintf(paste("Hold the penalty, `penalty = 1`, or make", rare), maker, 10L, 10L)
  } else if (is.numeric(fit$penalty)) {
    "Raise `penalty`."
  } else if (length(fit$smooths) > 0L || has_groups(fit)) {
    sprintf(
      paste("Choose a prior of your own, `prior = %s_prior(beta_var = 1)`, or make", rare),
      maker, maker, 2L, 2L
    )
  } else {
    sprintf("Use `penalty = 1`, or `prior = %s_prior(beta_var = 1)`.", maker)
  }
}

# NULL, or `details`, a line for each finding, and `columns`, `levels` ("a = c") and `groups`, the
# labels of random terms. NULL without rows in memory. `wide`: say it of as many columns as rows.
find_separation <- function(design, wide = FALSE) {
  used <- design$weights > 0
  if (length(design$y) == 0L || nrow(design$lean$x %||% design$x) == 0L) return(NULL)
  y <- design$y > 0
  if (!any(y[used]) || all(y[used])) return(NULL)
  levels <- list(rows = FALSE)
  if (length(design$xlevels)) levels <- separating_levels(design, y, used)
  at <- linear_columns(design)
  columns <- separating_columns(design, y, used, at)
  rest <- used & !levels$rows & !columns$rows
  together <- separating_together(design, y, rest, at, wide)
  groups <- separating_groups(design, y, used)
  details <- c(
    levels$details, columns$details,
    if (length(together)) sprintf("Together: %s.", list_some(together)),
    if (length(groups)) sprintf("Each level of `%s` has rows of one class.", groups)
  )
  if (length(details) == 0L) return(NULL)
  if (length(details) > 6L) {
    details <- c(details[1:5], sprintf("... and %d more.", length(details) - 5L))
  }
  list(
    details = details, columns = c(columns$names, together), levels = levels$names, groups = groups
  )
}

# Levels of factors, the reference among them, whose rows have one class.
separating_levels <- function(design, y, used) {
  out <- list(names = character(), details = character(), rows = logical(length(y)))
  for (name in factors_alone(design)) {
    values <- as.character(design$frame[[name]])
    counts <- table(factor(values[used]), factor(y[used], levels = c(FALSE, TRUE)))
    # Most rows are alone in their level: one line says more than one for each of them.
    alone <- nrow(counts) > 5L && 2 * sum(rowSums(counts) == 1) > sum(counts)
    if (alone) {
      out$details <- c(out$details, sprintf(
        "`%s` has %d levels in %d rows. If it is an identifier leave it out, or use (1 | %s).",
        name, nrow(counts), sum(counts), name
      ))
    }
    for (level in rownames(counts)[counts[, 1] == 0 | counts[, 2] == 0]) {
      out$names <- c(out$names, sprintf("%s = %s", name, level))
      out$rows <- out$rows | values == level
      if (alone) next
      n <- sum(counts[level, ])
      class <- design$levels[1L + (counts[level, 2] > 0)]
      out$details <- c(out$details, sprintf(
        "`%s` = \"%s\": %s \"%s\".", name, level,
        if (n == 1) "its one row is" else sprintf("all %d rows are", n), class
      ))
    }
  }
  out
}

# Factors that are terms of their own beside an intercept, without missing values.
factors_alone <- function(design) {
  names <- intersect(names(design$xlevels), design$term_labels)
  if (!has_intercept(design)) names <- names[seq_len(min(1L, length(names)))]
  Filter(function(name) {
    values <- design$frame[[name]]
    length(values) == length(design$y) && !anyNA(values)
  }, names)
}

# Linear columns but the intercept; not those of smooths and processes, nor any with holes.
linear_columns <- function(design) {
  smooth <- unlist(lapply(design$smooths, `[[`, "blocks"))
  holed <- design$holes$use_column + 1L
  at <- design$lean$at %||% seq_len(ncol(design$x))
  known <- is.na(match(at, c(smooth, holed)))
  factors <- which(design$term_labels %in% names(design$xlevels))
  gaps <- vapply(design$term_labels[factors], function(name) anyNA(design$frame[[name]]), NA)
  # Columns of factors with missing values.
  known <- known & !(design$assign[at] %in% factors[gaps])
  which(known)
}

# Columns whose values of one class lie beyond those of the other; they may meet in one.
# `linear`: by linear_columns().
separating_columns <- function(design, y, used, linear) {
  x <- design$lean$x %||% design$x
  at <- design$lean$at %||% seq_len(ncol(design$x))
  intercept <- has_intercept(design)
  known <- if (length(design$xlevels)) match(factors_alone(design), design$term_labels)
  candidates <- Filter(function(j) {
    !(intercept && at[j] == 1L) && !(design$assign[at[j]] %in% known)
  }, linear)
  out <- list(names = character(), details = character(), rows = logical(length(y)))
  for (j in candidates) {
    low <- range(x[used & !y, j])
    high <- range(x[used & y, j])
    if (low[2] <= high[1] && low[1] < high[2]) {
      turn <- 1
    } else if (high[2] <= low[1] && high[1] < low[2]) {
      turn <- -1
    } else {
      next
    }
    between <- if (turn > 0) c(low[2], high[1]) else c(high[2], low[1])
    # Without an intercept the border is at 0.
    if (!intercept && (between[1] > 0 || between[2] < 0)) next
    name <- colnames(design$x)[at[j]]
    out$names <- c(out$names, name)
    out$rows <- out$rows | if (between[1] < between[2]) TRUE else x[, j] != between[1]
    out$details <- c(out$details, column_detail(
      name, x[used, j], between, design$levels[c(1.5 - turn / 2, 1.5 + turn / 2)]
    ))
  }
  out
}

column_detail <- function(name, x, between, classes) {
  beyond <- sum(x > between[1])
  below <- sum(x < between[2])
  if (between[1] == between[2] && min(beyond, below) == 0L) {
    n <- max(beyond, below)
    return(sprintf(
      "`%s`: %s not %s %s \"%s\".", name,
      if (n == 1L) "the one row that is" else sprintf("all %d rows that are", n),
      format(between[1], digits = 4), if (n == 1L) "is" else "are",
      classes[if (beyond > 0L) 2L else 1L]
    ))
  }
  sprintf(
    "`%s`: up to %s \"%s\", from %s \"%s\".", name, format(between[1], digits = 4), classes[1],
    format(between[2], digits = 4), classes[2]
  )
}

# Random intercepts of groups that have one class each. Of groups of one row see warn_single_rows().
separating_groups <- function(design, y, used) {
  labels <- vapply(design$random, function(term) {
    group <- term$group[used]
    mixed <- any(tapply(y[used], group, function(own) any(own) && !all(own)))
    if (!("(Intercept)" %in% term$columns) || mixed || !anyDuplicated(group)) {
      NA_character_
    } else {
      term$label
    }
  }, "")
  labels[!is.na(labels)]
}

# Columns that separate no class alone but do together, in the rows `rest`.
separating_together <- function(design, y, rest, at, wide = FALSE) {
  if (!any(y[rest]) || all(y[rest])) return(character())
  x <- design$lean$x %||% design$x
  names <- colnames(design$x)[(design$lean$at %||% seq_len(ncol(design$x)))[at]]
  rows <- which(rest)
  p <- length(at)
  if (p == 0L) return(character())
  # By as many columns as rows everything is separated, if the rows are independent.
  if (p >= length(rows)) {
    if (!wide || length(rows)^2 * p > 1e9) return(character())
    a <- signed_rows(x[rows, at, drop = FALSE], y[rows])
    if (qr(t(a))$rank == length(rows)) return(setdiff(names, "(Intercept)"))
    return(character())
  }
  few <- 20L * p + 500L
  if (length(rows) > 3L * few) {
    # Classes that overlap in some rows, and in all directions, do in all rows.
    some <- rows[as.integer(seq(1, length(rows), length.out = few))]
    a <- signed_rows(x[some, at, drop = FALSE], y[some])
    if (qr(a)$rank == p && is.null(separating_direction(a))) return(character())
    if (length(rows) * p^2 > 1e9) return(character())
  }
  direction <- separating_direction(signed_rows(x[rows, at, drop = FALSE], y[rows]))
  if (is.null(direction)) return(character())
  own <- abs(direction) > 1e-6 * max(abs(direction))
  setdiff(names[own], "(Intercept)")
}

# Rows with the sign of their class, columns without their means where there is an intercept, and of
# unit size.
signed_rows <- function(x, y) {
  x <- unname(x)
  constant <- apply(x, 2L, function(own) all(own == own[1L]))
  if (any(constant & x[1L, ] != 0)) {
    means <- colMeans(x)
    means[constant] <- 0
    x <- x - rep(means, each = nrow(x))
  }
  size <- sqrt(colMeans(x^2))
  size[!(size > 0)] <- 1
  x / rep(size, each = nrow(x)) * ifelse(y, 1, -1)
}

# A direction r with a r >= 0 in all rows and > 0 in some, or NULL. By Stiemke's lemma there is none
# if and only if the rows have a combination 0 with positive weights. 1 + mu are such weights where
# the least || a'(1 + mu) || over mu >= 0 is 0; otherwise what is left over is such a direction. By
# the active sets of Lawson and Hanson (1974).
separating_direction <- function(a, tol = 1e-8) {
  n <- nrow(a)
  p <- ncol(a)
  target <- colSums(a)
  size <- sqrt(sum(target^2))
  if (size <= tol * n) return(NULL)
  norms <- sqrt(rowSums(a^2))
  mu <- numeric(n)
  active <- integer()
  left <- target
  for (step in seq_len(10L * p + 50L)) {
    if (sqrt(sum(left^2)) <= tol * size) return(NULL)
    pull <- drop(a %*% left) / pmax(norms, 1e-300) / sqrt(sum(left^2))
    pull[active] <- 0
    enter <- which.min(pull)
    if (pull[enter] >= -1e-9) return(left)
    active <- c(active, enter)
    repeat {
      trial <- qr.coef(qr(t(a[active, , drop = FALSE])), -target)
      # A row that the others determine adds nothing.
      if (anyNA(trial)) {
        active <- active[!is.na(trial)]
        trial <- trial[!is.na(trial)]
        if (length(active) == 0L) break
      }
      bad <- trial <= 0
      if (!any(bad)) {
        mu[] <- 0
        mu[active] <- trial
        break
      }
      now <- mu[active]
      gap <- now - trial
      share <- min((now / gap)[bad & gap > 0], 1)
      now <- now + share * (trial - now)
      keep <- now > 1e-12 * max(now, 1e-300) & !(bad & now <= 1e-14)
      mu[] <- 0
      mu[active[keep]] <- now[keep]
      active <- active[keep]
      if (length(active) == 0L) break
    }
    left <- target + drop(crossprod(a[active, , drop = FALSE], mu[active]))
  }
  # Not settled: nothing is said.
  NULL
}

# A random intercept with one row for each level.
warn_single_rows <- function(fit, job) {
  design <- job$design
  used <- design$weights > 0
  if (length(design$y) == 0L) return(invisible())
  numeric <- fit$family == "gaussian"
  # Weights that differ tell the noise from the effects.
  if (numeric && length(unique(design$weights[used])) > 1L) return(invisible())
  for (term in design$random) {
    if (!("(Intercept)" %in% term$columns) || length(term$group) == 0L ||
      anyDuplicated(term$group[used])) {
      next
    }
    bk_warn(
      "identification", fit_header("Each level of `%s` has one row.", term$label),
      if (numeric) {
        c(
          "Its variance and that of the noise cannot be distinguished.",
          "Their sum is known; the prior alone says what share is whose."
        )
      } else {
        c(
          "The classes do not say how large its variance is: the prior does.",
          "Other effects grow with it, for they are given the level's own."
        )
      },
      "Leave the term out, or give levels with more rows.", groups = term$label
    )
  }
}

# Less than a fifth of the rows of the smaller class on its own side.
given_up_share <- 0.2

# `f`: means of the latent values of the rows, a column for each class beyond two; `codes`: numbers
# of their classes.
warn_given_up <- function(levels, codes, f, weights,
                          advice = "Use class_weights = \"balanced\".") {
  if (is.null(f)) return(invisible())
  f <- as.matrix(f)
  if (length(codes) == 0L || nrow(f) != length(codes) || anyNA(f)) return(invisible())
  if (is.null(weights)) weights <- rep(1, length(codes))
  # Where all weigh less than two rows the prior is what is seen, and check_weights() has warned.
  if (sum(weights) < 2) return(invisible())
  size <- vapply(seq_along(levels), function(k) sum(weights[codes == k]), 1)
  two <- length(levels) == 2L
  # A class that weighs more may take all rows, too.
  classes <- if (two) 1:2 else which(2 * size < sum(size))
  kept <- vapply(classes, function(k) {
    own <- codes == k
    side <- if (two) (f[own, 1] > 0) == (k == 2L) else f[own, k] > 0
    sum(weights[own][side])
  }, 1)
  lost <- which(kept < given_up_share * size[classes])
  if (length(lost) == 0L) return(invisible())
  bk_warn(
    "given_up", if (length(lost) == 1L) {
      sprintf(
        "The boundary leaves %.0f of %.0f rows of class \"%s\" on the side of that class.",
        kept[lost], size[classes[lost]], levels[classes[lost]]
      )
    } else {
      sprintf("In %d classes the fit leaves most rows to other classes.", length(lost))
    },
    if (length(lost) > 1L) paste0("Classes: ", list_some(quoted(levels[classes[lost]])), "."),
    paste(if (two) {
      "The fit has (nearly) collapsed to one class."
    } else {
      "Such a class is hardly ever predicted."
    }, advice),
    classes = levels[classes[lost]], kept = kept[lost]
  )
  invisible(levels[classes[lost]])
}
