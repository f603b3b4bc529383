# What each term of a linear predictor adds to f, and predictions without some of them: columns of
# the other terms are 0, on the scale of the data.

# By name: `columns` of the fixed part, numbers of `random` terms and `smooths`, and the `variables`
# that the term needs.
terms_of_fit <- function(object) {
  info <- object$design
  label <- if (info$type == "matrix") fixed_names(object) else term_of_columns(object)
  smooths <- unname(info$smooths)
  for (smooth in smooths) label[smooth$at[!is.na(smooth$at)]] <- smooth$label
  label <- unname(label)
  names <- setdiff(unique(label), "(Intercept)")
  smooth_names <- vapply(smooths, `[[`, "", "label")
  out <- lapply(stats::setNames(nm = names), function(name) {
    at <- which(smooth_names == name)
    list(
      columns = which(label == name), random = integer(), smooths = at,
      variables = if (length(at)) {
        unlist(lapply(smooths[at], function(smooth) c(smooth$names, smooth$by)))
      } else if (info$type == "matrix") {
        name
      } else {
        all.vars(str2lang(name))
      }
    )
  })
  constant <- which(label == "(Intercept)")
  if (length(constant)) {
    out <- c(list("(Intercept)" = list(
      columns = constant, random = integer(), smooths = integer(), variables = character()
    )), out)
  }
  c(out, random_terms_of_fit(info))
}

# Named as they are written, (1 + x | g).
random_terms_of_fit <- function(info) {
  out <- lapply(seq_along(info$random), function(t) {
    term <- info$random[[t]]
    leaves <- unlist(lapply(term$leaves, function(leaf) all.vars(read_text(leaf, info$variables))))
    list(
      columns = integer(), random = t, smooths = integer(),
      variables = c(leaves, all.vars(term$terms))
    )
  })
  names(out) <- vapply(info$random, function(term) {
    slopes <- deparse1(stats::formula(term$terms)[[2]])
    sprintf("(%s | %s)", slopes, term$label)
  }, "")
  out
}

# A term without blanks and without brackets around bars, and its group, or what has no bars.
plain_term <- function(x) sub("^\\((.*[|].*)\\)$", "\\1", gsub(" ", "", x))
group_of_term <- function(x) sub("^.*[|]", "", plain_term(x))

# Names of the terms that count, NULL for all. Blanks and brackets around bars may be left out; `g`
# alone is all terms of that group, where no other term has this name.
kept_terms <- function(object, terms, exclude) {
  need_terms(object)
  known <- names(terms_of_fit(object))
  find <- function(x, name) {
    at <- if (is.character(x)) lapply(plain_term(x), function(one) {
      own <- which(plain_term(known) == one)
      if (length(own)) own else which(group_of_term(known) == one)
    })
    if (!is.character(x) || any(lengths(at) == 0L)) {
      abort_argument(x, name, paste("some of", list_some(quoted(known), 20L)), accepted = known)
    }
    known[unlist(at)]
  }
  kept <- if (is.null(terms)) known else find(terms, "terms")
  if (is.null(exclude)) kept else setdiff(kept, find(exclude, "exclude"))
}

need_terms <- function(object) {
  if (!is_linear(object)) {
    bk_abort(
      "argument", sprintf("A fit by %s() is no sum of terms.", model_of(object)$name),
      "Its kernel combines the predictors.",
      "Accepted: a fit by bkm() or bsvm(), whose formula may have gp() terms.",
      "exposure() has effects of single predictors in any model.",
      column = "type", found = model_of(object)$name
    )
  }
}

# Rows in which variables that only terms left out need have some value, whether they are there or
# not.
with_unneeded <- function(object, newdata, kept) {
  info <- object$design
  terms <- terms_of_fit(object)
  needed <- unlist(lapply(terms[kept], `[[`, "variables"))
  all <- unlist(lapply(terms, `[[`, "variables"))
  free <- setdiff(all, c(needed, all.vars(info$offset)))
  if (info$type == "matrix") {
    if (is_sparse(newdata)) newdata <- as.matrix(newdata)
    if (is.null(colnames(newdata))) return(newdata)
    newdata <- as_frame(newdata)
  }
  if (!is.list(newdata)) return(newdata)
  newdata <- as_frame(newdata)
  newdata[free] <- lapply(free, function(name) rep(some_value(object, name), nrow(newdata)))
  newdata
}

# A value of a variable that the fit has seen, or what stands for one.
some_value <- function(object, name) {
  info <- object$design
  own <- object$data$rows
  if (is.data.frame(own) && name %in% names(own) && is.null(dim(own[[name]]))) {
    seen <- own[[name]][!is.na(own[[name]])]
    if (length(seen)) return(seen[1])
  }
  levels <- c(
    info$xlevels[name], lapply(info$random, function(term) term$leaf_levels[[name]]),
    info$holes$levels[name]
  )
  levels <- unlist(levels)
  if (length(levels)) levels[[1]] else 1
}

# The fit and rows of which only the terms `kept` count. Without the constant columns are not
# centred. Rows in which something is missing have no answer.
keep_terms <- function(object, rows, kept) {
  terms <- terms_of_fit(object)
  part <- function(name) unlist(lapply(terms[kept], `[[`, name))
  rows <- complete_terms(rows)
  rows$x[, setdiff(seq_len(ncol(rows$x)), part("columns"))] <- 0
  for (t in setdiff(seq_along(rows$random), part("random"))) rows$random[[t]]$z[] <- 0
  smooths <- object$design$smooths
  for (name in c("open", "unit_open")) {
    if (length(rows[[name]])) {
      of_kind <- if (name == "open") processes_of(smooths) else correlated_of(smooths)
      labels <- vapply(of_kind, `[[`, "", "label")
      rows[[name]][, !(labels %in% kept)] <- 0
    }
  }
  if (!("(Intercept)" %in% kept)) object$transform$center[] <- 0
  list(object = object, rows = rows)
}

complete_terms <- function(rows) {
  if (is.null(rows$holes)) return(rows)
  gaps <- cbind(is.na(rows$holes$x), is.na(rows$holes$codes))
  full <- which(rowSums(gaps) == 0)
  rows <- take_rows(rows, full)
  rows$complete <- rows$complete[full]
  rows["holes"] <- rows["processes"] <- list(NULL)
  rows
}

# Rows x terms, with the constant as an attribute, as predict.gam() has them.
predict_terms <- function(object, newdata, ask) {
  refuse_source_rows(newdata)
  names <- setdiff(ask$kept %||% names(terms_of_fit(object)), "(Intercept)")
  if (ask$groups == "none") names <- setdiff(names, names(random_terms_of_fit(object$design)))
  terms_at <- function(rows) {
    rows <- with_unneeded(object, rows, names)
    slices <- row_slices(NROW(rows), 1 + length(object$design$columns))
    join_predictions(lapply(slices, function(at) {
      one_slice_of_terms(object, rows[at, , drop = FALSE], ask, names, at[1] - 1)
    }))
  }
  out <- if (is.null(newdata)) {
    own <- fill_excluded(by_row(object, terms_at(own_data(object))), object$na.action)
    with_zero(object, own, terms_at(object$zero$rows))
  } else {
    terms_at(newdata)
  }
  if (!ask$se.fit) out <- out$fit
  constant <- if ("(Intercept)" %in% names(terms_of_fit(object))) {
    stats::coef(object)[["(Intercept)"]]
  } else {
    0
  }
  if (ask$se.fit) {
    attr(out$fit, "constant") <- constant
  } else {
    attr(out, "constant") <- constant
  }
  out
}

# Whether a term is nothing but columns of the design.
is_fixed_term <- function(term) {
  length(term$columns) > 0L && length(term$random) == 0L && length(term$smooths) == 0L
}

# A function of some columns of rows, and of their numbers, that gives the moments of what they add:
# from their own coefficients, as latent() of rows with zeros elsewhere would, whose work goes with
# the square of all columns.
fixed_term_moments <- function(object) {
  if (!is.null(object$draws)) {
    theta <- flat_draws(object, fixed_names(object))
    mean <- colMeans(theta)
    cov_of <- function(at) {
      own <- theta[, at, drop = FALSE] - rep(mean[at], each = nrow(theta))
      crossprod(own) / (nrow(theta) - 1)
    }
  } else {
    mean <- coefficient_mean(object, "data")
    cov <- coefficient_cov(with_vcov(object, "posterior"), "data")
    cov_of <- function(at) cov[at, at, drop = FALSE]
  }
  function(x, at) {
    var <- rowSums((x %*% cov_of(at)) * x)
    list(fit = drop(x %*% mean[at]), se.fit = sqrt(pmax(var, 0)))
  }
}

one_slice_of_terms <- function(object, newdata, ask, names, first) {
  rows <- complete_terms(new_rows(object, newdata, ask$groups, FALSE, first))
  terms <- terms_of_fit(object)
  moments_of <- fixed_term_moments(object)
  each <- lapply(names, function(name) {
    if (is_fixed_term(terms[[name]])) {
      return(moments_of(rows$x[, terms[[name]]$columns, drop = FALSE], terms[[name]]$columns))
    }
    one <- keep_terms(object, rows, name)
    one$rows$offset[] <- 0
    moments <- latent_by_link(one$object, one$rows, character(), ask$threads)
    list(fit = moments$mean, se.fit = sqrt(pmax(moments$var, 0)))
  })
  out <- lapply(c(fit = "fit", se.fit = "se.fit"), function(part) {
    matrix(
      as.double(unlist(lapply(each, `[[`, part))), length(rows$offset), length(names),
      dimnames = list(NULL, names)
    )
  })
  fill_incomplete(out, rows)
}
