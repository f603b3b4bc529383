# As a model frame names them: terms() puts some names into backticks.
variable_names <- function(terms) vapply(as.list(attr(terms, "variables"))[-1L], deparse1, "")

read_terms <- function(formula, data) {
  tryCatch(stats::terms(formula, data = data), error = function(e) {
    bk_abort(
      "argument", "The formula cannot be read.", sprintf("Found: %s.", deparse1(formula)),
      conditionMessage(e), "Accepted: terms joined by +, -, *, :, / and ^, see formula().",
      column = "formula"
    )
  })
}

formula_operators <- c("+", "-", "*", "/", ":", "^", "%in%", "(", "|", "||")

# Calls with a wanted head, among the operands of formula operators only.
find_terms <- function(expr, wanted) {
  terms <- sum_terms(expr)$terms
  if (length(terms) > 1L) return(unlist(lapply(terms, find_terms, wanted = wanted)))
  if (!is.call(expr)) return(NULL)
  head <- deparse1(expr[[1]])
  if (wanted(head)) return(list(expr))
  if (head %in% formula_operators) unlist(lapply(as.list(expr)[-1L], find_terms, wanted = wanted))
}

# The sum of what is left of these terms; NULL if nothing is.
join_terms <- function(terms, signs) {
  sum <- NULL
  for (k in which(!vapply(terms, is.null, NA))) {
    sum <- if (!is.null(sum)) {
      call(signs[k], sum, terms[[k]])
    } else if (signs[k] == "-") {
      call("-", terms[[k]])
    } else {
      terms[[k]]
    }
  }
  sum
}

# The terms of a sum, from left to right, and their signs. A sum of some hundreds is so deep a call
# that recursion exhausts R's stack. A term that is subtracted stays with all to its left if it is
# `special`.
sum_terms <- function(expr, special = function(term) FALSE) {
  terms <- list()
  signs <- character()
  while (is.call(expr) && length(expr) == 3L) {
    sign <- deparse1(expr[[1]])
    if (sign != "+" && (sign != "-" || special(expr[[3]]))) break
    terms[[length(terms) + 1L]] <- expr[[3]]
    signs[[length(signs) + 1L]] <- sign
    expr <- expr[[2]]
  }
  list(terms = c(list(expr), rev(terms)), signs = c("+", rev(signs)))
}

# --- random terms (columns | group) ------------------------------------------

# Reading one bar, numbering its groups, and its design columns. Nothing here has n x m entries,
# sparse or not.

# `leaves` are the factors whose combination is the group: one for `g`, two for `class:school`.
read_bar <- function(bar, env) {
  leaves <- if (is.name(bar[[3]])) list(bar[[3]]) else split_group(bar[[3]])
  heads <- vapply(leaves, function(leaf) {
    if (is.call(leaf)) deparse1(leaf[[1]]) else ""
  }, "")
  if (any(heads %in% formula_operators) || "." %in% all.names(bar[[2]])) abort_bar(call("(", bar))
  list(
    terms = read_terms(stats::as.formula(call("~", bar[[2]]), env), NULL),
    leaves = leaves, label = deparse1(bar[[3]]), text = deparse1(bar)
  )
}

abort_bar <- function(term) {
  bk_abort(
    "argument", fit_header("Random term `%s` is not understood.", deparse1(term)),
    "Accepted: (1 | g), (x | g), (x || g), (1 | a / b), (1 | a:b).",
    "Give crossed groups as two terms, (1 | a) + (1 | b).", column = deparse1(term)
  )
}

split_group <- function(expr) {
  if (is.call(expr) && identical(expr[[1]], as.name("("))) {
    split_group(expr[[2]])
  } else if (is.call(expr) && identical(expr[[1]], as.name(":"))) {
    c(split_group(expr[[2]]), split_group(expr[[3]]))
  } else {
    list(expr)
  }
}

# The same effect of the same group twice cannot be told apart.
check_distinct_bars <- function(bars) {
  effects <- lapply(bars, function(bar) {
    columns <- attr(bar$terms, "term.labels")
    if (attr(bar$terms, "intercept") == 1L) columns <- c("1", columns)
    paste(rep_len(columns, length(columns)), "|", bar$label)
  })
  twice <- unlist(effects)[duplicated(unlist(effects))]
  if (length(twice)) {
    bk_abort(
      "argument", fit_header("Random effect `%s` is in two terms.", twice[1]),
      paste("Terms:", list_some(vapply(bars, `[[`, "", "text"))),
      "Join them into one, such as (1 + x | g), or drop one.", column = twice[1], found = twice
    )
  }
}

# One entry of `random` of the design, from a frame with 1 in the holes of the predictors that
# `mask` (n x predictors) marks, and a level in those of the factors that `gone` marks. The element
# `info` is what prediction needs of it; `made` and `cells` are for missing_model().
random_term <- function(bar, frame, standardize, rows, gaps, copies) {
  names <- vapply(bar$leaves, deparse1, "")
  group <- group_index(unclass(frame)[names], bar$label)
  z <- plain_model_matrix(bar$terms, frame)
  assign <- attr(z, "assign")
  slopes <- length(attr(bar$terms, "term.labels")) > 0L
  numeric_column <- if (slopes) is_numeric_column(bar$terms, assign, frame) else FALSE
  contrasts <- attr(z, "contrasts")
  attr(z, "assign") <- attr(z, "contrasts") <- NULL
  if (ncol(z) == 0L) abort_no_effect(bar)
  r <- ncol(z)
  center <- numeric(r)
  scale <- rep(1, r)
  made <- cells <- NULL
  if (!is.null(gaps)) {
    made <- predictor_columns(assign, bar$terms, colnames(gaps$mask))
    cells <- missing_cells(z, made, gaps$mask)
  }
  if (any(numeric_column)) {
    if (!is.null(gaps)) {
      z <- clear_factors(clear_missing(z, cells), assign, bar$terms, is.na(gaps$codes))
    }
    moments <- observed_moments(z, copies)
    check_columns(
      moments, z, colnames(z), rows, missing_allowed = length(cells$row) > 0L || anyNA(gaps$codes)
    )
    # A shift moves into the intercept of the same term, if it has one.
    shift <- "(Intercept)" %in% colnames(z) && r > 1L
    usable <- numeric_column & !constant_columns(moments) & standardize
    if (shift) center[usable] <- moments$mean[usable]
    scale[usable] <- moments$sd[usable]
    z <- fill_missing(z, moments, center)
  }
  list(
    label = bar$label, columns = colnames(z), group = group$group,
    levels = group$levels, z = z, center = center, scale = scale,
    type = if (r == 1L) "iid" else "unstructured", made = made, cells = cells,
    info = list(
      label = bar$label, columns = colnames(z), terms = bar$terms, contrasts = contrasts,
      leaves = names, leaf_levels = group$leaf_levels, codes = group$codes
    )
  )
}

abort_no_effect <- function(bar) {
  bk_abort(
    "argument", fit_header("Random term `(%s)` has no effect.", bar$text),
    "Accepted: an intercept or at least one variable, such as (1 | g).", column = bar$label
  )
}

# Columns made of factors and logicals alone are indicators and stay 0/1.
is_numeric_column <- function(terms, assign, frame) {
  factors <- attr(terms, "factors")
  numeric_variable <- vapply(variable_names(terms), function(name) {
    !(is.factor(frame[[name]]) || is.logical(frame[[name]]))
  }, NA)
  numeric_term <- colSums(factors[numeric_variable, , drop = FALSE] > 0) > 0
  c(FALSE, numeric_term)[assign + 1L]
}

# Numbers the combinations of the leaves that occur: group 1..m in the order of the first leaf, then
# the second. `codes` identifies a combination by its position in the product of the levels, so the
# product is never formed.
group_index <- function(leaves, label) {
  coded <- Map(code_values, leaves, names(leaves))
  sizes <- vapply(coded, function(leaf) length(leaf$levels), 1L)
  if (length(coded) == 1L) {
    levels <- coded[[1]]$levels
    group <- coded[[1]]$codes
    codes <- NULL
  } else {
    code <- combine_codes(lapply(coded, `[[`, "codes"), sizes)
    codes <- sort(unique(code))
    group <- match(code, codes)
    levels <- combined_labels(codes, lapply(coded, `[[`, "levels"), sizes)
  }
  if (length(levels) < 2L) {
    bk_abort(
      "argument", fit_header("Grouping factor `%s` has one level only.", label),
      paste0("Found: ", quoted(levels), " in all rows used."),
      "Accepted: at least two groups. Drop the term, or look at `subset`.",
      column = label, found = levels, expected = 2L
    )
  }
  list(group = group, levels = levels, leaf_levels = lapply(coded, `[[`, "levels"), codes = codes)
}

combine_codes <- function(codes, sizes) {
  code <- codes[[1]] - 1
  for (k in seq_along(codes)[-1L]) code <- code * sizes[k] + codes[[k]] - 1
  code
}

combined_labels <- function(codes, levels, sizes) {
  labels <- NULL
  for (k in rev(seq_along(levels))) {
    part <- levels[[k]][codes %% sizes[k] + 1]
    labels <- if (is.null(labels)) part else paste(part, labels, sep = ":")
    codes <- codes %/% sizes[k]
  }
  labels
}

# Codes 1..m of the values that occur, sorted, as text only once per value. Text sorts by code
# point, the same in every locale.
code_values <- function(x, name) {
  if (!is.atomic(x) || is.null(x) || length(dim(x)) > 1L) {
    abort_argument(x, name, "a grouping factor: factor, character, numeric or logical")
  }
  if (is.factor(x)) {
    used <- which(tabulate(x, nlevels(x)) > 0L)
    codes <- as.integer(x)
    if (length(used) < nlevels(x)) codes <- match(codes, used)
    return(list(codes = codes, levels = levels(x)[used]))
  }
  values <- if (is.character(x)) sorted_text(x, name) else sort(unique(x), method = "radix")
  list(codes = match(x, values), levels = group_text(values))
}

# 1e5 is the group "100000", as an integer or not.
group_text <- function(values) {
  out <- as.character(values)
  if (is.double(values)) {
    whole <- which(values == trunc(values) & abs(values) < 2^53)
    out[whole] <- sprintf("%.0f", values[whole])
  }
  out
}

# Group numbers of new rows: 0 for a combination that was not in the training data, NA where a leaf
# is missing.
group_new <- function(info, frame) {
  codes <- Map(function(name, known) {
    coded <- code_values(frame[[name]], name)
    at <- match(coded$levels, known, nomatch = 0L)
    c(at)[coded$codes]
  }, info$leaves, info$leaf_levels)
  if (length(codes) == 1L) return(codes[[1]])
  unknown <- Reduce(`|`, lapply(codes, `==`, 0L))
  sizes <- lengths(info$leaf_levels)
  group <- match(combine_codes(codes, sizes), info$codes, nomatch = 0L)
  group[is.na(unknown)] <- NA
  group[!is.na(unknown) & unknown] <- 0L
  group
}

# On the scale of the model.
scaled_term <- function(term) sweep(sweep(term$z, 2, term$center), 2, term$scale, "/")
