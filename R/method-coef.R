#' Coefficients and their covariances
#'
#' Posterior means of the fixed coefficients, their covariance matrix and intervals.
#'
#' @param object A fit whose latent function is linear in its columns, as those of [bkm()] and
#'   [bsvm()].
#' @param scale `"data"`: for the predictors as they were given. `"model"`: for the centered and
#'   scaled predictors on which the model was fitted, the scale of the priors.
#' @param type Which covariance: `"sandwich"`, over samples, the default of support vector machines
#'   that have it; `"posterior"`, of every fit. See `help("svm-posterior")`.
#' @param parm Names or numbers of coefficients of `coef()`; default all except those of smooths
#'   and processes, which mean nothing one by one: see `plot(fit, "smooth")`.
#' @param level Posterior probability of the intervals, default 0.95.
#' @param complete Without effect, for packages that give it: no coefficient is `NA`.
#' @param ... No further arguments.
#' @return `coef()` and `fixef()`: posterior means of the p fixed coefficients, penalized ones
#'   included, named by the columns of the design. `vcov()`: their p x p posterior covariance.
#'   `confint()`: matrix with a row for each of `parm`, of the posterior quantiles that `summary()`
#'   shows: those of the draws of a sampler, those of q of a variational fit; scale of the data.
#'   Limits of variance components: `tidy(fit, effects = "ran_pars", conf.int = TRUE)`. The random
#'   effects are those of [ranef()][ranef.bayeskernel_fit].
#' @section Variational fits: A `"vb"` fit understates variances.
#' @section Errors: `bayeskernel_error_argument` for a fit whose function is not
#'   linear, such as those of [gpsvm()] and [bark()], and for unknown names.
#' @seealso [summary()][summary.bayeskernel_fit], [ranef()][ranef.bayeskernel_fit],
#'   [tidy()][tidy.bayeskernel_fit], [svm-posterior].
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf[1:600, ])
#' coef(fit)
#' sqrt(diag(vcov(fit)))
#' confint(fit, "IQ.verb")
#' # For one standard deviation of each predictor.
#' coef(fit, scale = "model")
#' @aliases coef.bkm coef.bsvm fixef.bkm fixef.bsvm vcov.bkm vcov.bsvm confint.bkm confint.bsvm
#' @export
coef.bayeskernel_fit <- function(object, scale = c("data", "model"), complete = TRUE, ...) {
  check_whole(object, ...)
  scale <- check_choice(scale, c("data", "model"), "scale")
  out <- coefficient_mean(object, scale)
  out[setdiff(seq_along(out), unit_positions(object))]
}

#' @rdname coef.bayeskernel_fit
#' @export
fixef.bayeskernel_fit <- function(object, scale = c("data", "model"), ...) {
  check_whole(object)
  coef.bayeskernel_fit(object, scale, ...)
}

#' @rdname coef.bayeskernel_fit
#' @export
vcov.bayeskernel_fit <- function(object, scale = c("data", "model"), type = NULL,
                                 complete = TRUE, ...) {
  check_whole(object, ...)
  scale <- check_choice(scale, c("data", "model"), "scale")
  out <- coefficient_cov(with_vcov(object, type), scale)
  kept <- setdiff(seq_len(nrow(out)), unit_positions(object))
  out[kept, kept, drop = FALSE]
}

# Effects of the units of a term as ranef() has those of groups.
unit_effects <- function(object, term, condVar) {
  mean <- coefficient_mean(object, "data")[term$at]
  out <- data.frame("(Intercept)" = drop(term$root %*% mean), check.names = FALSE)
  rownames(out) <- term$levels
  if (condVar) {
    cov <- coefficient_cov(object, "data")[term$at, term$at, drop = FALSE]
    attr(out, "postVar") <- array(quadratic(term$root, cov), c(1L, 1L, nrow(out)))
  }
  out
}

#' @rdname coef.bayeskernel_fit
#' @export
confint.bayeskernel_fit <- function(object, parm, level = 0.95, type = NULL, ...) {
  check_whole(object, ...)
  level <- check_number(level, 0, 1, "level", closed = FALSE)
  table <- parameters(with_vcov(object, type), level)
  table <- table[table$effect == "fixed", ]
  if (nrow(table) == 0L) need_linear(object)
  out <- as.matrix(table[c("lower", "upper")])
  dimnames(out) <- list(table$term, tail_names(level))
  # Those of a curve mean nothing one by one.
  if (missing(parm)) return(out[is.na(table$group), , drop = FALSE])
  known <- if (is.numeric(parm)) seq_len(nrow(out)) else rownames(out)
  if (!is.atomic(parm) || !all(parm %in% known)) {
    abort_argument(parm, "parm", paste0(
      "some of ", list_some(quoted(rownames(out))), if (has_groups(object)) {
        "; variance components: tidy(fit, effects = \"ran_pars\", conf.int = TRUE)"
      }
    ))
  }
  out[parm, , drop = FALSE]
}

coefficient_cov <- function(object, scale) UseMethod("coefficient_cov")

#' @exportS3Method
coefficient_mean.default <- function(object, scale) {
  table <- parameters(object, 0.95)
  table <- table[table$effect == "fixed", ]
  if (nrow(table) == 0L) need_linear(object)
  stats::setNames(table$estimate, table$term)
}

#' @exportS3Method
coefficient_cov.default <- function(object, scale) {
  names <- names(coefficient_mean(object, scale))
  stats::cov(as.matrix(object, seed = 1)[, names, drop = FALSE])
}

need_linear <- function(object) {
  bk_abort(
    "argument", sprintf("A fit by %s() has no coefficients.", class(object)[1]),
    "Its function is not a linear combination of the columns.",
    "See summary() for what was estimated, and predict() for the function."
  )
}

#' @exportS3Method
coefficient_mean.bsvm <- function(object, scale) linear_coefficients(object, scale)

#' @exportS3Method
coefficient_mean.bkm <- coefficient_mean.bsvm

#' @exportS3Method
coefficient_cov.bsvm <- function(object, scale) {
  wide <- object$posterior$wide
  sandwich <- vcov_type(object) == "sandwich"
  out <- as.matrix(if (sandwich) object$sandwich$cov else fixed_cov(object))
  if (!is.null(wide)) {
    rows <- wide_rows(wide)
    out <- rows %*% out %*% t(rows)
    # The rows say nothing of what is hidden, and do not move it.
    if (!sandwich) {
      hidden <- diag(rep(0:1, c(wide$first, nrow(wide$basis))))
      block <- wide$first + seq_len(nrow(wide$basis))
      hidden[block, block] <- hidden[block, block] - tcrossprod(wide$basis)
      out <- out + wide$hidden_var * hidden
    }
  }
  if (scale == "data") out <- theta_to_data(object, t(theta_to_data(object, out)))
  dimnames(out) <- list(fixed_names(object), fixed_names(object))
  out
}

#' @exportS3Method
coefficient_cov.bkm <- coefficient_cov.bsvm

#' Random effects and their variance components
#'
#' `ranef()`: the effect of each group, with its posterior covariance. `VarCorr()`: standard
#' deviations and correlations of the effects. Both have the form that lme4 gives them.
#' `plot(fit, "ranef")` draws the effects.
#'
#' @param object,x A fit whose formula has random terms.
#' @param condVar Add posterior covariances, default `TRUE`.
#' @param sigma Unused; the generic has it.
#' @param ... No further arguments.
#' @return `ranef()`: a list of class `ranef_bayeskernel` and `ranef.mer`, which lme4 draws by
#'   `lattice::dotplot()`, named by grouping term. Each element is a data frame of
#'   posterior means: groups as rows, effects as columns, on the scale of the data. With `condVar`
#'   it has an attribute `postVar`, the posterior covariances as an array r x r x groups, as lme4
#'   gives them; terms of one grouping factor that were declared uncorrelated share a data frame,
#'   and their `postVar` is a list of arrays. `as.data.frame()` gives a row an effect: `grpvar`,
#'   `term`, `grp`, `condval`, `condsd`.
#'
#'   `VarCorr()`: a list of class `bayeskernel_varcorr`, named by grouping term: the covariance
#'   matrix of its effects on the scale of the data. Its attributes `stddev` and `correlation` are
#'   the posterior means that `summary()` shows with their intervals. For a regression the attribute
#'   `sc` is [sigma()]. `as.data.frame()` gives `grp`, `var1`, `var2`,
#'   `vcov`, `sdcor`.
#' @section Errors: `bayeskernel_error_argument` without random terms; `ranef()`
#'   also if the fit was made with `keep_ranef = FALSE`.
#' @seealso [coef()][coef.bayeskernel_fit], [summary()][summary.bayeskernel_fit].
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf[1:600, ])
#' head(ranef(fit)$schoolNR)
#' head(as.data.frame(ranef(fit)))
#' VarCorr(fit)
#' @aliases ranef.bkm ranef.bsvm ranef.bark ranef.mkprobit VarCorr.bkm VarCorr.bsvm VarCorr.bark
#'   VarCorr.mkprobit
#' @export
ranef.bayeskernel_fit <- function(object, condVar = TRUE, ...) {
  check_whole(object, ...)
  condVar <- check_flag(condVar, "condVar")
  need_random(object)
  random <- object$posterior$random
  units <- fitted_units(object)
  of_units <- stats::setNames(
    lapply(units, function(term) unit_effects(object, term, condVar)),
    vapply(units, `[[`, "", "unit")
  )
  if (length(random) && is.null(random[[1]]$mean)) {
    bk_abort(
      "argument", "The fit has not stored its random effects.",
      "Fit it with control = list(keep_ranef = TRUE)."
    )
  }
  labels <- vapply(random, `[[`, "", "label")
  out <- lapply(unique(labels), function(label) {
    at <- which(labels == label)
    mean <- lapply(at, function(t) random[[t]]$mean %*% t(object$transform$random[[t]]))
    frame <- as.data.frame(do.call(cbind, mean))
    dimnames(frame) <- list(random[[at[1]]]$levels, unlist(lapply(random[at], `[[`, "columns")))
    if (condVar) {
      arrays <- lapply(at, function(t) {
        map_covariances(random[[t]]$cov, object$transform$random[[t]])
      })
      attr(frame, "postVar") <- if (length(at) > 1) arrays else arrays[[1]]
    }
    frame
  })
  names(out) <- unique(labels)
  ranef_table(c(out, of_units))
}

# isSingular() of lme4 asks it, too.
#' @exportS3Method lme4::getME
getME.bayeskernel_fit <- function(object, name, ...) {
  bk_abort(
    "argument", "This fit has no parts that getME() or isSingular() reads.",
    "VarCorr(fit) has the variances: posterior means, and so never 0.",
    "Other parts: model.matrix(fit), fixef(fit), ranef(fit).", found = class(object)[1]
  )
}

#' @export
print.ranef_bayeskernel <- function(x, digits = max(3L, getOption("digits") - 3L), n = 10, ...) {
  digits <- check_count(digits, 1L, 22L)
  for (label in names(x)) {
    cat("Random effects of ", label, ", posterior means\n", sep = "")
    frame <- x[[label]]
    attr(frame, "postVar") <- NULL
    print(utils::head(frame, n), digits = digits)
    if (nrow(frame) > n) cat(sprintf("... and %d groups more\n", nrow(frame) - n))
  }
  invisible(x)
}

#' @export
as.data.frame.ranef_bayeskernel <- function(x, row.names = NULL, optional = FALSE, ...) {
  terms <- unique(unlist(lapply(x, names)))
  parts <- lapply(names(x), function(label) {
    frame <- x[[label]]
    var <- attr(frame, "postVar")
    out <- data.frame(
      grpvar = label, term = factor(rep(names(frame), each = nrow(frame)), terms),
      grp = factor(rep(rownames(frame), length(frame)), rownames(frame)),
      condval = unlist(frame, use.names = FALSE)
    )
    if (!is.null(var)) out$condsd <- unlist(lapply(if (is.list(var)) var else list(var), slice_sd))
    out
  })
  out <- do.call(rbind, parts)
  rownames(out) <- row.names
  out
}

# Groups x r standard deviations from r x r x groups covariances.
slice_sd <- function(v) vapply(seq_len(dim(v)[1]), function(k) sqrt(v[k, k, ]), numeric(dim(v)[3]))

#' @rdname ranef.bayeskernel_fit
#' @export
VarCorr.bayeskernel_fit <- function(x, sigma = 1, ...) {
  check_whole(x)
  need_random(x)
  group_covariances(x)
}

group_covariances <- function(x) {
  # Of random terms first, of each the standard deviations, then the correlations by columns.
  rows <- rbind(
    random_parameters(x, NULL), if (length(x$smooths)) component_parameters(x, NULL),
    if (is_regression(x) && is_linear(x)) noise_parameters(x, NULL)
  )
  covariances <- list()
  done <- 0L
  for (term in x$posterior$random) {
    pairs <- lower_triangle(length(term$columns))
    values <- rows$estimate[done + seq_len(nrow(pairs))]
    done <- done + nrow(pairs)
    single <- pairs[, 1] == pairs[, 2]
    values[order(!single)] <- values
    out <- diag(1, length(term$columns))
    out[pairs[!single, , drop = FALSE]] <- values[!single]
    out[pairs[!single, 2:1, drop = FALSE]] <- values[!single]
    out <- out * outer(values[single], values[single])
    dimnames(out) <- list(term$columns, term$columns)
    covariances <- c(covariances, list(out))
  }
  names(covariances) <- vapply(x$posterior$random, `[[`, "", "label")
  for (unit in if (length(x$smooths)) fitted_units(x)) {
    sd <- rows$estimate[match(unit$label, rows$group)]
    covariances[[unit$unit]] <- matrix(sd^2, 1L, 1L, dimnames = rep(list("(Intercept)"), 2L))
  }
  names(covariances) <- make.unique(names(covariances))
  out <- new_varcorr(covariances)
  if (is_regression(x)) {
    noise <- rows$estimate[match("sd__Observation", rows$term)]
    attr(out, "sc") <- if (is.null(x$draws)) noise else mean(sigma_draws(x))
  }
  out
}
