# Labels of classes, and responses in numbers: one reader for the responses of fits, for rows that
# are read block by block, and for labels of new rows.

# What a model can be fitted to: the most classes, whether rows may be counts, and which model suits
# what it does not take. "any" is the response of bkm() without a family, "binary" and "number" with
# one.
response_kinds <- local({
  numbers <- "For a regression of numbers use bkm() or bark()."
  ordered <- "For more classes in order use family = \"ordinal\"."
  free <- paste(
    "More classes without an order are beyond bark(): gpsvm() takes them. If",
    "they have an order, make them factor(ordered = TRUE) and use", "family = \"ordinal\"."
  )
  binary <- list(
    most = 2, counts = TRUE,
    numbers = "For a regression of numbers use family = \"gaussian\".",
    many = paste(
      "bkm() has two classes: for more use mkprobit(), one model of all, also with",
      "(1 | g), or gpsvm(), a classifier for each; bark() for ordered ones."
    )
  )
  list(
    any = binary, binary = binary,
    two = list(
      most = 2, counts = TRUE, numbers = numbers, many = "For more than two classes use gpsvm()."
    ),
    many = list(most = Inf, counts = TRUE, numbers = numbers),
    classes = list(most = Inf, counts = FALSE, numbers = numbers),
    file = list(
      most = 2, counts = FALSE, numbers = numbers,
      many = "For more than two classes use gpsvm() on a matrix."
    ),
    file_any = list(most = 2, counts = FALSE, numbers = binary$numbers, many = binary$numbers),
    binomial = list(
      most = 2, counts = FALSE, numbers = "For numbers use family = \"gaussian\".", many = free,
      ordered = ordered
    ),
    sequence = list(
      most = 2, counts = FALSE, numbers = "For numbers use family = \"gaussian\".",
      many = "For more than two classes use gpsvm()."
    ),
    pair = list(
      most = 2, counts = FALSE, numbers = numbers, many = "For more than two classes use gpsvm()."
    ),
    ordinal = list(most = Inf, counts = FALSE, declared = TRUE)
  )
})

# The response of a fit.
# kind: one of names(response_kinds), or `"gaussian"` and `"number"` for numbers.
# name: what the user called it.
# rows: maps its rows to those of the data, `NULL` for all.
# Returns a list of `y`, `levels`, the classes of the model, and, where a factor has levels beside
#   these, `declared`, all of its levels. The classes are those that occur, of "ordinal" all levels.
#   `y` is -1 and +1 for "two", "pair" and "binary", numbers of classes from 0 for "many" and from 1
#   for the families "binomial" and "ordinal" and for "classes", and the response for "gaussian",
#   without levels.
read_response <- function(y, name, kind = "two", rows = NULL) {
  if (is.matrix(y)) y <- one_column(y)
  if (kind == "any") kind <- if (is_measured(y)) "number" else "binary"
  if (kind %in% c("gaussian", "number")) {
    return(list(y = read_numbers(y, name, rows, kind), levels = NULL))
  }
  if (kind == "ordinal" && !is.ordered(y)) {
    abort_family(
      y, name, "ordinal", "an ordered factor",
      sprintf("Say the order: factor(%s, levels, ordered = TRUE).", name)
    )
  }
  out <- read_classes(y, name, response_kinds[[kind]], rows)
  out$y <- switch(kind, two = , pair = , binary = 2 * out$y - 3, many = out$y - 1, as.double(out$y))
  out
}

# scale() and as.matrix() make matrices of one column.
one_column <- function(y) if (is.matrix(y) && is.atomic(y) && ncol(y) == 1L) as.vector(y) else y

# Numbers that cannot be codes of two classes.
is_measured <- function(y) {
  is.numeric(y) && !is.factor(y) && length(dim(y)) <= 1L &&
    is.null(declared_levels(y)) && length(unique(y[!is.na(y)])) > 2L
}

read_numbers <- function(y, name, rows, kind) {
  if (!is.numeric(y) || is.factor(y) || length(dim(y)) > 1L) {
    own <- kind == "number"
    abort_family(
      y, name, "gaussian", "a numeric vector, one value a row",
      if (is.ordered(y) && nlevels(y) > 2L) {
        "For ordered classes use bark(family = \"ordinal\")."
      } else if (is.factor(y) && nlevels(y) > 2L) {
        if (own) response_kinds$binary$many else "For more than two classes use gpsvm()."
      } else if (is_counts(y) && own) {
        "For cbind(successes, failures) use family = \"logit\"."
      } else if (is.factor(y) || is.logical(y) || is.character(y)) {
        sprintf("For two classes use family = \"%s\".", if (own) "logit" else "binomial")
      }
    )
  }
  y <- as.double(y)
  check_labels_there(y, name, rows)
  y
}

# Numbers of the classes that occur, and their names.
read_classes <- function(y, name, kind, rows) {
  refuse_label_type(y, name, kind)
  check_labels_there(y, name, rows)
  levels <- declared_levels(y)
  if (is.null(levels)) abort_numbers(unique(as.vector(y)), name, kind, length(y))
  codes <- match_levels(y, levels)
  used <- which(tabulate(codes, length(levels)) > 0L)
  if (length(used) < 2L) abort_one_class(name, levels[used], length(y))
  if (length(used) > kind$most) {
    row <- match(TRUE, codes %in% used[-(1:2)])
    abort_many_classes(name, levels[used], kind, original_rows(row, rows), is.ordered(y))
  }
  # A class without rows has its prior.
  if (isTRUE(kind$declared)) used <- seq_along(levels)
  if (length(used) == length(levels)) return(list(y = codes, levels = levels))
  list(y = match(codes, used), levels = levels[used], declared = levels)
}

# Levels that no row has ------------------------------------------------------

# They stay: a model of the classes that occur says 0 of them.

# All classes that the response of a fit declared.
class_levels <- function(object) object$declared %||% object$levels

# The classes of the model, then levels that no row has: what labels of new rows are numbers of.
known_levels <- function(object) union(object$levels, class_levels(object))

# An answer with a column for every declared class, `empty` where the model has none: a matrix of
# the classes, an array whose last dimension they are, or a list of these.
with_declared <- function(object, x, empty = 0) {
  if (is.null(object$declared)) return(x)
  if (is.list(x)) return(lapply(x, function(part) with_declared(object, part, empty)))
  size <- dim(x)
  last <- length(size)
  if (last < 2L || !identical(dimnames(x)[[last]], object$levels)) return(x)
  # Whole slices of the last dimension follow one another.
  at <- match(object$declared, object$levels)
  flat <- matrix(x, ncol = size[last])
  out <- flat[, at, drop = FALSE]
  out[, is.na(at)] <- ifelse(is.na(flat[, 1]), NA, empty)
  array(out, c(size[-last], length(at)), c(dimnames(x)[-last], list(object$declared)))
}

# A message of the levels of an ordinal response that no row has.
inform_empty_levels <- function(rows) {
  empty <- tabulate(rows$y, length(rows$levels)) == 0L
  if (any(empty)) {
    bk_inform(
      "levels", fit_header("Response `%s` has levels without rows.", rows$response),
      sprintf("Found: no row of %s.", list_some(quoted(rows$levels[empty]))),
      "They stay in the model: their cut points have their prior.",
      "Leave them out by droplevels().", column = rows$response, found = rows$levels[empty]
    )
  }
}

# A message of numbers without a family that look like counts, or like shares of as many trials as
# the weights say. Codes of two classes are refused by the models themselves.
inform_counts <- function(rows) {
  y <- rows$y
  whole <- function(x) is.numeric(x) && all(abs(x - round(x)) < 1e-6, na.rm = TRUE)
  if (!is.numeric(y) || !all(y >= 0, na.rm = TRUE) || all(y %in% c(0, 1, NA))) {
    return(invisible())
  }
  name <- rows$response %||% "y"
  shares <- length(rows$weights) == length(y) && all(y <= 1, na.rm = TRUE) && whole(rows$weights) &&
    whole(y * rows$weights)
  if (!shares && !(whole(y) && falls_off(y))) return(invisible())
  looks <- if (shares) "shares of trials" else "counts"
  bk_inform(
    "response", fit_header(paste0("Response `%s` looks like ", looks, "."), name),
    if (shares) {
      sprintf("For a logistic model use bkm() with response %s, no weights.", count_pair(name))
    } else {
      c(
        "Successes in a known number of trials: cbind(successes, failures) in bkm().",
        "There are no models of counts here: see glm(), gam() of mgcv, glmmTMB() or brm()."
      )
    },
    "It is fitted as gaussian; family = \"gaussian\" says that this is meant.", column = name
  )
}

# Counts with zeros are small or have a long tail at the right. Ages and scores of many items are
# not, and amounts of money are larger.
falls_off <- function(y) {
  y <- y[!is.na(y)]
  away <- y - mean(y)
  any(y == 0) && mean(y) < 100 && (mean(y) < 5 || mean(away^3) > 0.5 * mean(away^2)^1.5)
}

# cbind() of what is divided, and the rest.
count_pair <- function(name) {
  typed <- tryCatch(str2lang(name), error = function(e) NULL)
  if (!is.call(typed) || !identical(typed[[1L]], quote(`/`))) return("cbind(successes, failures)")
  deparse1(bquote(cbind(.(typed[[2L]]), .(typed[[3L]]) - .(typed[[2L]]))))
}

# The classes that labels can have by their kind, in order; NULL for numbers that are no codes. Text
# sorts by code point, the same in every locale.
declared_levels <- function(y) {
  if (is.factor(y)) {
    levels(y)
  } else if (is.logical(y)) {
    c("FALSE", "TRUE")
  } else if (is.character(y)) {
    sorted_text(y, "y")
  } else if (all(y %in% c(0, 1, NA))) {
    c("0", "1")
  } else if (all(y %in% c(-1, 1, NA))) {
    c("-1", "1")
  }
}

# Of labels whose declared levels are these.
match_levels <- function(y, levels) {
  if (is.factor(y)) {
    as.integer(y)
  } else if (is.logical(y)) {
    as.integer(y) + 1L
  } else {
    match(y, if (is.numeric(y)) as.numeric(levels) else levels)
  }
}

# Labels of rows whose classes are known already: numbers of `levels`, NA for a missing label.
# Logical values, 0/1 and -1/+1 mean each other.
known_codes <- function(y, levels) {
  refuse_label_type(y, "y", list())
  distinct <- if (is.factor(y)) levels(y) else as.character(unique(y))
  codes <- match(distinct, levels)
  codings <- list(c("FALSE", "TRUE"), c("0", "1"), c("-1", "1"))
  if (list(levels) %in% codings) {
    fits <- Find(function(coding) all(distinct %in% c(coding, NA)), codings)
    if (anyNA(codes) && !is.null(fits)) codes <- match(distinct, fits)
  }
  codes <- codes[if (is.factor(y)) as.integer(y) else match(as.character(y), distinct)]
  strange <- which(is.na(codes) & !is.na(y))
  if (length(strange)) {
    bk_abort(
      "response", "`y` has labels that the fit does not know.",
      sprintf(
        "Found: %s, first in row %d.",
        list_some(quoted(unique(as.character(y[strange])))), strange[1]
      ),
      paste0("Accepted: ", list_some(quoted(levels)), "."), column = "y", row = strange[1],
      found = unique(y[strange]), expected = levels
    )
  }
  codes
}

# The left side of the formula in new rows, NULL where it cannot be computed.
response_at <- function(object, newdata) {
  left <- object$design$left %||% read_text(object$response, names(newdata))
  env <- if (is.null(object$formula)) emptyenv() else environment(object$formula)
  tryCatch(eval(left, newdata, env), error = function(e) NULL)
}

# The number of the class of each of `n` new rows. `y` may be a vector, the name of a column, or
# NULL: what the formula has on its left. `declared`: with the levels that no row of the fit has,
# see known_levels().
new_labels <- function(object, newdata, y, n, declared) {
  columns <- if (is.list(newdata)) names(newdata)
  if (is_string(y) && n != 1L && !is.null(columns)) {
    if (!(y %in% columns)) {
      abort_argument(y, "y", paste("labels, or one of the columns", list_some(columns)))
    }
    y <- newdata[[y]]
  } else if (is.null(y) && !is.null(columns) && !is.null(object$response)) {
    y <- response_at(object, newdata)
  }
  if (is.null(y) || !is.atomic(y)) {
    bk_abort(
      "argument", "The labels of `newdata` are not known.", paste("Found:", describe_value(y)),
      sprintf("Give `y`: one label for each of the %d rows.", n), column = "y", found = class(y),
      expected = n
    )
  }
  if (NROW(y) != n) abort_length("y", NROW(y), n)
  known_codes(y, if (declared) known_levels(object) else object$levels)
}

# Counts -----------------------------------------------------------------------

is_counts <- function(y) is.matrix(y) && !is.object(y) && is.numeric(y) && ncol(y) == 2L

# cbind(successes, failures): each row becomes a row of either class whose weights are its counts,
# none for a count of zero. `at` are the rows that they come from. NULL if the response is no such
# matrix. `each` is how often such a row counts, NULL for once.
spread_counts <- function(y, name, n, kind, weights) {
  if (!is_counts(y) || !isTRUE(response_kinds[[kind]]$counts)) return(NULL)
  check_labels_there(y, name)
  wrong <- which(rowSums(y < 0 | y != trunc(y)) > 0)
  if (nrow(y) != n || length(wrong)) {
    found <- y[wrong[1], ]
    bk_abort(
      "response", fit_header("Response `%s` is not a pair of counts.", name),
      if (length(wrong)) {
        sprintf("Found: %s and %s in row %d.", format(found[[1]]), format(found[[2]]), wrong[1])
      } else {
        sprintf("Found: a matrix with 2 columns and %d rows.", nrow(y))
      },
      if (length(wrong) && found[[1]] >= 0 && found[[2]] < 0) {
        paste(
          "Failures below zero: more successes than trials? The second",
          "column is the trials less the successes."
        )
      },
      sprintf("Accepted: cbind(successes, failures), whole numbers, %d rows.", n),
      "Otherwise give one column of labels, one row for each observation.", column = name,
      row = if (length(wrong)) wrong[1], found = if (length(wrong)) unname(found) else dim(y),
      expected = c(n, 2L)
    )
  }
  count <- c(t(y))
  used <- which(count > 0)
  at <- (used + 1L) %/% 2L
  levels <- rev(colnames(y))
  if (length(unique(levels[nzchar(levels)])) < 2L) levels <- c("failure", "success")
  list(
    at = at, y = factor(levels[2L - (used - 1L) %% 2L], levels),
    weights = count[used] * (if (is.null(weights)) 1 else weights[at]), each = weights[at]
  )
}

# Block by block ---------------------------------------------------------------

# Labels of two classes that are seen block by block. code() gives the number of a label, 0 or 1 in
# the order of appearance; finish() the two classes in their order and the number of the positive
# one.
label_coder <- function(name, from_text, kind = "file") {
  known_as <- kind
  kind <- response_kinds[[kind]]
  seen <- declared <- character()
  numeric <- NULL
  code <- function(y, first) {
    if (inherits(y, "integer64")) y <- as.double(y)
    refuse_label_type(y, name, kind)
    check_labels_there(y, name, first + seq_along(y))
    declared <<- union(declared, levels(y))
    if (is.null(numeric)) numeric <<- is.numeric(y)
    distinct <- unique(y)
    text <- label_text(distinct, from_text)
    known <- union(seen, text)
    if (length(known) > 2L) {
      row <- match(TRUE, !(text[match(y, distinct)] %in% known[1:2]))
      if (numeric) abort_numbers(as.numeric(known), name, kind, row = first + row)
      abort_many_classes(name, known, kind, first + row)
    }
    seen <<- known
    match(text, seen)[match(y, distinct)] - 1
  }
  finish <- function(n) {
    if (length(seen) == 1L) abort_one_class(name, seen, n)
    numbers <- suppressWarnings(as.numeric(seen))
    levels <- if (numeric || (from_text && !anyNA(numbers))) {
      if (is.null(declared_levels(numbers))) abort_numbers(numbers, name, kind)
      seen[order(numbers)]
    } else if (length(declared)) {
      intersect(declared, seen)
    } else {
      declared_levels(seen)
    }
    list(
      levels = levels, positive = match(levels[2], seen) - 1L,
      declared = if (length(setdiff(declared, seen))) union(declared, seen)
    )
  }
  list(code = code, finish = finish, kind = known_as)
}

# Numbers instead, which the core is told by a positive class of -1.
number_coder <- function(name, from_text) {
  all <- NULL
  list(
    code = function(y, first) {
      if (inherits(y, "integer64")) y <- as.double(y)
      if (from_text) {
        y[!nzchar(y)] <- NA
        number <- suppressWarnings(as.double(y))
        if (all(is.na(number) == is.na(y))) y <- number
      }
      y <- read_numbers(y, name, first + seq_along(y), "number")
      moments <- column_moments_cpp(cbind(y))
      all <<- merge_moments(all, moments, as.double(length(y)))
      y
    },
    finish = function(n) {
      c(list(levels = NULL, positive = -1L), finish_moments(all)[c("mean", "sd")])
    },
    kind = "number"
  )
}

# One way to write each label; 1 and 1.0 in a text file are the same.
label_text <- function(labels, from_text) {
  text <- as.character(labels)
  if (from_text) {
    number <- suppressWarnings(as.numeric(text))
    text <- ifelse(is.na(number), text, as.character(number))
  }
  text
}

# Refusals ---------------------------------------------------------------------

labels_accepted <- function(kind) {
  paste0(
    if (identical(kind$most, 2)) {
      "Accepted: two classes, as a factor (the second level is the positive"
    } else {
      "Accepted: classes, as a factor (of two levels the second is the positive"
    },
    " class), text, logical, 0/1 or -1/+1",
    if (isTRUE(kind$counts)) "; or cbind(successes, failures)", "."
  )
}

refuse_label_type <- function(y, name, kind) {
  found <- if (length(dim(y)) > 1L || is.data.frame(y)) {
    sprintf("a matrix with %d columns", NCOL(y))
  } else if (is.raw(y) || is.complex(y) ||
    !(is.factor(y) || is.logical(y) || is.numeric(y) || is.character(y))) {
    describe_value(y)
  }
  if (is.null(found)) return(invisible())
  bk_abort(
    "response", fit_header("Response `%s` does not name classes.", name),
    paste0("Found: ", found, "."), labels_accepted(kind),
    if (length(dim(y)) > 1L) "Give one column of labels, one row for each observation.",
    column = name, found = class(y), expected = "classes"
  )
}

# Missing labels, and numbers that are not finite. `rows` is looked at only for the message.
check_labels_there <- function(y, name, rows = NULL, what = "Response") {
  # The sum is finite or not without a vector of n logicals; an overflow of finite numbers only
  # costs the closer look.
  there <- if (is.numeric(y) && !is.factor(y)) is.finite(sum(y)) else !anyNA(y)
  if (there) return(invisible())
  bad <- which(if (is.factor(y)) is.na(y) else is.na(y) | is.infinite(y))
  if (length(bad)) {
    abort_missing(
      count = stats::setNames(length(bad), name), first = (bad[1] - 1L) %% NROW(y) + 1L,
      rows = rows, what = what, values = value_problem(anyNA(y), !all(is.na(y[bad])))
    )
  }
}

abort_numbers <- function(distinct, name, kind, n = NULL, row = NULL) {
  shown <- sort(distinct)
  if (length(distinct) == 1L && !is.null(n)) {
    abort_one_class(name, format_each(distinct), n, kind$numbers)
  }
  few <- length(distinct) <= 2L
  shares <- !few && isTRUE(kind$counts) && all(distinct >= 0 & distinct <= 1)
  bk_abort(
    "response",
    fit_header(
      if (few) {
        "Response `%s` has numbers that are not class codes."
      } else if (shares) {
        "Response `%s` has shares, not counts."
      } else {
        paste("Response `%s` is numeric: its", length(distinct), "values name no classes.")
      }, name
    ),
    paste0("Found: ", list_some(format_each(utils::head(shown, 5L)), 5L, length(shown)), "."),
    if (shares) sprintf("Use %s as the response, no weights.", count_pair(name)),
    labels_accepted(kind), if (!few && !shares) kind$numbers,
    if (!shares) sprintf("If its values are names of classes: `factor(%s)`.", name),
    column = name, row = row, found = shown, expected = list(c(0, 1), c(-1, 1))
  )
}

abort_one_class <- function(name, found, n, instead = NULL) {
  bk_abort(
    "response", fit_header("Response `%s` has one class only.", name),
    sprintf("Found: all %.0f rows are %s.", n, quoted(found)), "Accepted: rows of two classes.",
    "Look at `subset`, at zero `weights` and at rows that were omitted.", instead,
    column = name, found = found, expected = 2L
  )
}

abort_many_classes <- function(name, found, kind, row, ordered = FALSE) {
  bk_abort(
    "response", fit_header(paste("Response `%s` has", length(found), "classes, not two."), name),
    sprintf(
      "Found: %s; the third in row %.0f.",
      list_some(quoted(utils::head(found, 5L)), 5L, length(found)), row
    ),
    labels_accepted(kind), if (ordered) kind$ordered %||% kind$many else kind$many,
    sprintf("Or make two of them, for example `I(%s == %s)`.", name, quoted(found[1])),
    column = name, row = row, found = found, expected = 2L
  )
}

abort_family <- function(y, name, family, expected, cure) {
  bk_abort(
    "response", fit_header(sprintf("Response `%%s` does not suit family \"%s\".", family), name),
    paste0("Found: ", if (is.factor(y)) {
      sprintf(
        "%s with %d levels, %s",
        if (is.ordered(y)) "an ordered factor" else "a factor without order", nlevels(y),
        list_some(levels(y), 4L)
      )
    } else {
      describe_value(y)
    }, "."),
    sprintf("Accepted: %s.", expected), cure, column = name, found = class(y), expected = expected
  )
}

# --- counts ------------------------------------------------------------------

# Rows of counts, cbind(successes, failures): the core has a weighted row of either class,
# `fit$units` has the number of the row of the data that each is part of. Users see one unit a row,
# with so many trials. NULL: rows are units.

are_counts <- function(object) !is.null(object$units)

# `fit$units` of rows of the data `at`, with the weights of the units, if they have some.
units_of <- function(at, each) {
  first <- !duplicated(at)
  structure(match(at, at[first]), weights = if (any(each != 1)) each[first])
}

# Parts of an answer for the rows of the fit, by unit.
by_unit <- function(object, x, draws = FALSE) {
  if (is.null(object$units)) return(x)
  at <- which(!duplicated(object$units))
  each_part(x, draws, function(part) values_at(part, at))
}

# The same, once for rows that are repeated.
by_row <- function(object, x, draws = FALSE) {
  if (is.null(object$repeats)) return(x)
  at <- which(!duplicated(object$repeats))
  each_part(x, draws, function(part) values_at(part, at))
}

# Numbers of the rows, added up.
sum_by_unit <- function(object, x) {
  unit <- object$units %||% object$repeats
  if (is.null(unit)) return(x)
  c(rowsum(as.double(x), unit, reorder = TRUE))
}

# Trials and successes of each unit, its weight included.
unit_trials <- function(object) {
  list(
    all = sum_by_unit(object, object$weights),
    positive = sum_by_unit(object, object$weights * (own_classes(object) == 2))
  )
}

# The share of positive trials, or whether a row is positive.
unit_shares <- function(object) {
  if (is.null(object$units)) return(own_classes(object) - 1)
  trials <- unit_trials(object)
  trials$positive / trials$all
}

# How often each unit counts.
unit_copies <- function(object) {
  rep_len(row_copies(attr(object$units, "weights")), max(object$units))
}

# What the number of orders of the trials adds to the logarithm of the probability of the counts: a
# unit of weight w is w units. Fits of before 0.15.0 do not know their weights.
unit_constant <- function(object) {
  if (is.null(object$units)) return(0)
  trials <- unit_trials(object)
  each <- attr(object$units, "weights") %||% 1
  all <- trials$all / each
  whole <- abs(all - round(all)) < 1e-8 * all
  ifelse(whole, each * lchoose(round(all), round(trials$positive / each)), 0)
}

# A frame of such rows with the counts as its response.
unit_frame <- function(design, frame) {
  if (is.null(design$units)) return(frame)
  out <- frame[!duplicated(design$units), , drop = FALSE]
  positive <- as.double(design$y > min(design$y))
  counts <- rowsum(design$weights * cbind(positive, 1 - positive), design$units)
  dimnames(counts) <- list(NULL, rev(design$levels))
  out[[1L]] <- counts
  out[["(weights)"]] <- NULL
  attr(out, "terms") <- attr(frame, "terms")
  rownames(out) <- NULL
  out
}
