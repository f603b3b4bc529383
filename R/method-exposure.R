#' Joint effect of several predictors
#'
#' How the latent function or the probability changes with one predictor, with two, or with all
#' together, with intervals from joint posterior draws. These are the tables and plots in which
#' mixtures of exposures are reported.
#'
#' All other variables of the formula are held at typical values: numbers at
#' their median, factors, text and logical values at the most frequent one, both
#' over the rows of the fit, random effects at zero. The types are:
#' * `"overall"`: f with all predictors of `pars` at their q-quantile, minus f with all of them at
#'   their median, for each q of `quantiles`;
#' * `"single"`: the change of f as one predictor goes from its first quantile of `change` to its
#'   second. The others of `pars` are held at their q-quantile;
#' * `"interaction"`: that change with the others at the second of two `quantiles`, minus that with
#'   the others at the first. Zero where effects add up on this scale;
#' * `"univariate"`: f itself along each predictor;
#' * `"bivariate"`: f over two predictors, a surface;
#' * `"slices"`: f along the first of two predictors, with the second at its
#'   quantiles, or at each of its levels.
#'
#' Quantiles of a number with at most eight different values are values that
#' occur. Where both quantiles of `change` are the same value, as of rare 0/1
#' exposures, the change is zero: give others.
#'
#' @param object A fit by [bkm()], [bsvm()], [gpsvm()], [bark()], [klr()] or, of one feature space,
#'   [mkprobit()], with one latent function: a regression, two classes, or ordered ones.
#' @param pars Names of predictors, variables of the formula. Default: all, for `"overall"`,
#'   `"single"` and `"interaction"` those that are numbers. `"bivariate"` and `"slices"` take two.
#' @param newdata Rows that quantiles and typical values are taken from.
#'   Default: those of the fit, from the data of its call.
#' @param type Type of effect, see Details.
#' @param quantiles Quantiles, from 0 to 1. Default: 0.25, 0.3, ... 0.75 for `"overall"`; 0.25, 0.5,
#'   0.75 for `"single"`; 0.25 and 0.75 for `"interaction"`; 0.1, 0.5, 0.9 for `"slices"`.
#' @param change Two quantiles, of `"single"` and `"interaction"`.
#' @param at Values at which others are held, a named list such as
#'   `list(sex = "f")`, instead of typical ones.
#' @param level Probability of the intervals, default 0.95.
#' @param scale `"link"`, the default: of the latent value f, of a logistic model log odds;
#'   `"response"`: of the probability of the positive class. For a regression both are its mean.
#' @param ndraws Number of draws; of a sampler at most as many as it has kept.
#' @param seed Whole number. By default the same draws at every call; `NULL` for R's generator.
#' @param threads Worker threads.
#' @param x What `exposure()` returned.
#' @param main Title: one text, or an expression.
#' @param digits Significant digits, from 1 to 22.
#' @param ... No further arguments.
#' @return A data frame of class `bayeskernel_exposure`, with a row for each quantity: `estimate`,
#'   the mean over the draws, `lower` and `upper`, their quantiles, and before these
#'   * `"overall"`: `quantile`;
#'   * `"single"`: `predictor`, `others`, the quantile at which these are held;
#'   * `"interaction"`: `predictor`;
#'   * `"univariate"`: `predictor`, `value`, as text if there are factors and numbers;
#'   * `"bivariate"`: `value1`, `value2`;
#'   * `"slices"`: `value1`, `quantile2` (`NA` for levels), `value2`.
#'
#'   `plot()` draws it and returns it, invisibly: surfaces with the rows as
#'   points, since far from these a surface is a guess.
#' @section Intervals: Draws are of the function, without the white noise that [gpsvm()] may add to
#'   it by row. For a support vector machine they come from its pseudo-posterior. A posterior mode
#'   has no draws.
#' @section Errors: `bayeskernel_error_argument` for fits with several latent functions,
#'   without draws, of a kernel matrix or of several feature spaces. Also where the data are
#'   not available any more, and for unknown or unsuitable `pars`, `quantiles`, `at`.
#'   `bayeskernel_error_dimension` for `newdata` without complete rows.
#' @references Bobb, J. F., Valeri, L., Claus Henn, B. et al. (2015). Bayesian
#'   kernel machine regression for estimating the health effects of
#'   multi-pollutant mixtures. *Biostatistics* 16, 493-508.
#' @seealso `plot(fit, "partial")`, which averages over the rows where this holds others fixed.
#' @examples
#' set.seed(1)
#' d <- data.frame(a = rnorm(150), b = rnorm(150), z = gl(2, 75))
#' d$y <- d$a * d$b + d$a + rnorm(150)
#' fit <- bkm(y ~ a * b + z, d)
#' exposure(fit)
#' exposure(fit, type = "interaction")
#' plot(exposure(fit, c("a", "b"), type = "slices"))
#' @aliases exposure.bkm
#' @export
exposure <- function(object, ...) {
  check_given("object")
  UseMethod("exposure")
}

exposure_types <- c("overall", "single", "univariate", "bivariate", "interaction", "slices")

#' @rdname exposure
#' @export
exposure.bayeskernel_fit <- function(object, pars = NULL, newdata = NULL,
                                     type = c(
                                       "overall", "single", "univariate",
                                       "bivariate", "interaction", "slices"
                                     ), quantiles = NULL,
                                     change = c(0.25, 0.75), at = NULL,
                                     level = 0.95,
                                     scale = c("link", "response"),
                                     ndraws = 1000, seed = 1,
                                     threads = getOption("bayeskernel.threads", 2L), ...) {
  check_whole(object, ...)
  type <- check_choice(type, exposure_types, "type")
  scale <- check_choice(scale, c("link", "response"), "scale")
  level <- check_number(level, 0, 1, "level", closed = FALSE)
  draws <- check_count(ndraws, 2L, name = "ndraws")
  threads <- check_threads(threads)
  need_one_function(object, scale)
  data <- complete_rows(object, partial_data(object, newdata))
  typical <- typical_row(object, data, at)
  pars <- exposed_names(object, data, pars, type, names(at))
  quantiles <- check_quantiles(quantiles, type)
  change <- check_chances(change, "change", 2L, 2L)
  plan <- exposure_plan(type, data[pars], quantiles, change, typical[pars])
  rows <- typical[rep(1L, nrow(plan$values)), , drop = FALSE]
  for (name in names(plan$values)) rows[[name]] <- plan$values[[name]]
  values <- exposure_values(object, rows, scale, draws, seed, threads)
  f <- Reduce(`+`, Map(function(sign, at) sign * values[, at, drop = FALSE], plan$signs, plan$rows))
  # Differences that are zero but for rounding.
  f[abs(f) < 1e-12 * max(abs(values))] <- 0
  ends <- column_quantiles(f, c(1 - level, 1 + level) / 2)
  out <- data.frame(
    plan$table, estimate = colMeans(f), lower = ends[1, ], upper = ends[2, ], row.names = NULL
  )
  points <- data[pars[vapply(data[pars], is.numeric, NA)]]
  structure(
    out,
    class = c("bayeskernel_exposure", "data.frame"), exposure = list(
      type = type, pars = pars, level = level, scale = scale, quantiles = quantiles,
      change = change, what = exposure_words(object, scale), classes = !is_regression(object),
      draws = nrow(f), points = points[spread_over(nrow(points), 300L), , drop = FALSE],
      few = pars[vapply(data[pars], few_values, NA)]
    )
  )
}

# --- what can be asked -------------------------------------------------------

need_one_function <- function(object, scale) {
  type <- object$design$type
  if (type %in% c("kernel", "spaces")) {
    bk_abort(
      "argument", sprintf(
        "The fit was made from %s and has no predictors to change.",
        if (type == "kernel") "a kernel" else "feature spaces"
      ),
      "Accepted: a fit to the columns of one matrix or data frame.",
      column = "object", found = type
    )
  }
  if (length(object$levels) < 3L || (!has_machines(object) && scale == "link")) return(invisible())
  bk_abort(
    "argument", "There is no one function whose effects these could be.",
    sprintf("Found: %d classes.", length(object$levels)),
    if (has_machines(object)) {
      "Accepted: a regression, or a fit with two classes."
    } else {
      "Accepted of ordered classes: scale = \"link\"."
    },
    "plot(fit, \"partial\") shows the probability of each class.",
    column = "object", found = object$levels
  )
}

# Predictors that may change: those not `held`, and not of random effects alone, which are zero.
# Along a curve what is held may change.
exposed_names <- function(object, data, pars, type, held) {
  known <- partial_names(object, data, slopes = FALSE)
  if (type != "univariate") known <- setdiff(known, held)
  numeric <- known[vapply(data[known], is.numeric, NA)]
  contrast <- type %in% c("overall", "single", "interaction")
  if (is.null(pars)) {
    pars <- if (contrast || type == "bivariate") numeric else known
  } else {
    pars <- unique(check_pars(pars, known))
  }
  strange <- if (type == "bivariate" || contrast) setdiff(pars, numeric)
  if (type == "slices") strange <- setdiff(pars[1], numeric)
  if (length(strange)) {
    bk_abort(
      "argument", "Some of `pars` are no numbers.",
      paste("Found:", list_some(quoted(strange))), paste("Numbers are:", list_some(numeric)),
      column = "pars", found = strange, expected = numeric
    )
  }
  pair <- type %in% c("bivariate", "slices")
  least <- if (pair || type == "interaction") 2L else 1L
  if (length(pars) < least || (pair && length(pars) > 2L)) {
    bk_abort(
      "argument", sprintf("type = \"%s\" needs %s.", type, if (pair) {
        "two predictors"
      } else if (least == 2L) {
        "two predictors or more"
      } else {
        "a predictor"
      }),
      sprintf("Found: %d.", length(pars)),
      if (length(known)) {
        paste("Give names as `pars`, of:", list_some(known))
      } else {
        "The model has none that could change."
      },
      column = "pars", found = pars, expected = known
    )
  }
  pars
}

default_quantiles <- list(
  overall = seq(0.25, 0.75, 0.05), single = c(0.25, 0.5, 0.75),
  interaction = c(0.25, 0.75), slices = c(0.1, 0.5, 0.9)
)

check_quantiles <- function(quantiles, type) {
  if (is.null(quantiles)) return(default_quantiles[[type]])
  if (is.null(default_quantiles[[type]])) {
    bk_abort(
      "argument", sprintf("type = \"%s\" has no quantiles.", type),
      paste("Types with them:", paste(quoted(names(default_quantiles)), collapse = ", ")),
      column = "quantiles", found = quantiles
    )
  }
  most <- if (type == "interaction") 2L else Inf
  check_chances(quantiles, "quantiles", if (most == 2L) 2L else 1L, most)
}

check_chances <- function(x, name, least, most) {
  good <- is.numeric(x) && length(x) >= least && length(x) <= most &&
    !anyNA(x) && all(x >= 0 & x <= 1) && !anyDuplicated(x)
  if (!good) {
    abort_argument(x, name, paste(
      if (most == 2L) "two" else "one or more", "different numbers from 0 to 1"
    ))
  }
  as.double(x)
}

# --- typical values ----------------------------------------------------------

typical_row <- function(object, data, at) {
  info <- object$design
  names <- if (info$type == "matrix") setdiff(info$columns, "(Intercept)") else info$variables
  out <- data[1L, intersect(names, names(data)), drop = FALSE]
  rownames(out) <- NULL
  out[] <- lapply(data[names(out)], typical_value)
  if (is.null(at)) return(out)
  strange <- setdiff(names(at), names(out))
  single <- is.list(at) && !is.null(names(at)) && all(lengths(at) == 1L)
  if (!single || length(strange)) {
    abort_argument(at, "at", paste("a list of one value for some of", list_some(names(out))))
  }
  for (name in names(at)) out[[name]] <- at[[name]]
  out
}

typical_value <- function(v) {
  if (is.matrix(v)) return(rbind(apply(v, 2, typical_value)))
  if (is.numeric(v)) return(quantile_of(v, 0.5))
  seen <- sort(unique(v))
  seen[which.max(tabulate(match(v, seen)))]
}

# A number of few values, such as a count, has only these.
quantile_of <- function(v, p) {
  few <- length(unique(v)) <= 8L
  unname(stats::quantile(v, p, na.rm = TRUE, type = if (few) 1 else 7))
}

# --- rows, and what is computed from them ------------------------------------

# `values`: the predictors of each row, where they are not typical; `table`, one row for each
# quantity, which is the sum of `signs` times f at `rows`.
exposure_plan <- function(type, data, quantiles, change, typical) {
  switch(type,
    overall = overall_plan(data, quantiles),
    single = single_plan(data, quantiles, change),
    interaction = interaction_plan(data, quantiles, change),
    univariate = univariate_plan(data, typical),
    bivariate = {
      both <- expand.grid(lapply(data, value_grid, 30L))
      single_values(both, data.frame(value1 = both[[1]], value2 = both[[2]]))
    },
    slices = slices_plan(data, quantiles)
  )
}

all_at <- function(data, p) as.data.frame(lapply(data, quantile_of, p = p), optional = TRUE)

overall_plan <- function(data, quantiles) {
  count <- length(quantiles)
  list(
    values = rbind(all_at(data, quantiles), all_at(data, 0.5)),
    table = data.frame(quantile = quantiles), signs = c(1, -1),
    rows = list(seq_len(count), rep(count + 1L, count))
  )
}

# For each predictor and quantile of the others two rows, below and above.
single_plan <- function(data, quantiles, change) {
  table <- expand.grid(others = quantiles, predictor = names(data), stringsAsFactors = FALSE)[2:1]
  others <- all_at(data, table$others)
  ends <- lapply(change, function(p) {
    for (name in names(data)) {
      own <- table$predictor == name
      others[[name]][own] <- quantile_of(data[[name]], p)
    }
    others
  })
  count <- nrow(table)
  list(
    values = rbind(ends[[2]], ends[[1]]), table = table, signs = c(1, -1),
    rows = list(seq_len(count), count + seq_len(count))
  )
}

interaction_plan <- function(data, quantiles, change) {
  each <- single_plan(data, quantiles, change)
  low <- which(each$table$others == quantiles[1])
  high <- which(each$table$others == quantiles[2])
  list(
    values = each$values, table = each$table[high, "predictor", drop = FALSE],
    signs = c(1, -1, -1, 1), rows = list(
      each$rows[[1]][high], each$rows[[2]][high], each$rows[[1]][low], each$rows[[2]][low]
    )
  )
}

univariate_plan <- function(data, typical) {
  grids <- lapply(data, value_grid)
  mixed <- length(unique(vapply(grids, is.numeric, NA))) > 1L
  predictor <- rep(names(data), lengths(grids))
  values <- lapply(stats::setNames(nm = names(data)), function(name) {
    out <- rep(typical[[name]], length(predictor))
    out[predictor == name] <- grids[[name]]
    out
  })
  shown <- lapply(unname(grids), function(grid) {
    if (mixed || is.factor(grid) && length(grids) > 1L) as.character(grid) else grid
  })
  single_values(values, data.frame(predictor = predictor, value = do.call(c, shown)))
}

slices_plan <- function(data, quantiles) {
  first <- value_grid(data[[1]])
  second <- data[[2]]
  if (is.numeric(second)) {
    second <- quantile_of(second, quantiles)
    # Two quantiles may be the same number.
    keep <- !duplicated(second)
    second <- second[keep]
    quantiles <- quantiles[keep]
  } else {
    second <- value_grid(second)
    quantiles <- rep(NA_real_, length(second))
  }
  value1 <- rep(first, length(second))
  at <- rep(seq_along(second), each = length(first))
  values <- stats::setNames(list(value1, second[at]), names(data))
  single_values(values, data.frame(value1 = value1, quantile2 = quantiles[at], value2 = second[at]))
}

# A quantity that is f of its row.
single_values <- function(values, table) {
  list(
    values = list2DF(as.list(values)), table = table, signs = 1, rows = list(seq_len(nrow(table)))
  )
}

# Draws x rows: of f, or of the probability of the positive class.
exposure_values <- function(object, rows, scale, draws, seed, threads) {
  rows <- new_rows(object, rows, "none", TRUE)
  if (length(rows$complete) < rows$n) abort_no_rows()
  check_answer_size(rows$n, draw_count(object, draws))
  drawn_values(object, with_seed(seed, joint_draws(object, rows, draws, threads)), scale)
}

# Draws of the function at several rows together. As latent_draws(), but what a model leaves open
# between rows is drawn from its joint distribution, so that differences of f are those of one
# function.
# See latent_draws() for what else it takes.
# Returns a list as of latent_draws().
joint_draws <- function(object, rows, take, threads) UseMethod("joint_draws")

# Coefficients are drawn, and rows follow from them. What inducing points leave of a gp() term is
# noise of a row, and of no function.
#' @exportS3Method
joint_draws.default <- function(object, rows, take, threads) {
  rows["open"] <- list(NULL)
  latent_draws(object, rows, take, threads = threads)
}

# --- words -------------------------------------------------------------------

exposure_words <- function(object, scale) {
  if (is_regression(object)) {
    object$response %||% "the response"
  } else if (scale == "link") {
    "the latent value"
  } else {
    sprintf("the probability of \"%s\"", object$levels[2])
  }
}

sentence <- function(text) sub("^the ", "The ", text)

# A title of the table.
exposure_title <- function(info) {
  switch(info$type,
    overall = sprintf("Change of %s, all together", info$what),
    single = sprintf(
      "Change of %s from quantile %s to %s of one", info$what,
      format(info$change[1]), format(info$change[2])
    ),
    interaction = sprintf(
      "%s, less that with the others at quantile %s", paste(
        "Change of", info$what, "with the others at quantile", format(info$quantiles[2])
      ), format(info$quantiles[1])
    ),
    univariate = sprintf("%s along each predictor", sentence(info$what)),
    sprintf("%s over %s and %s", sentence(info$what), info$pars[1], info$pars[2])
  )
}

#' @rdname exposure
#' @export
print.bayeskernel_exposure <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  digits <- check_count(digits, 1L, 22L)
  info <- attr(x, "exposure")
  if (is.null(info)) return(invisible(NextMethod()))
  print_line(exposure_title(info))
  print_facts(c(
    Predictors = list_some(info$pars),
    Intervals = sprintf("%s %%, %d draws", format(100 * info$level), info$draws),
    if (info$type == "overall") c("Compared with" = "all at their median")
  ))
  cat("\n")
  table <- as.data.frame(x)
  # Values of a factor have no quantiles.
  shown <- utils::head(table[!vapply(table, function(column) all(is.na(column)), NA)], 40L)
  print(as.matrix(format(shown, digits = digits)), quote = FALSE, right = TRUE)
  if (nrow(table) > nrow(shown)) cat(sprintf("... and %d rows more\n", nrow(table) - nrow(shown)))
  invisible(x)
}
