# Estimated marginal means: linear functions of the fixed coefficients.

#' @exportS3Method emmeans::recover_data
recover_data.bayeskernel_fit <- function(object, data = NULL, ...) {
  check_whole(object)
  # A text is what emmeans stops with.
  linear <- tryCatch(stats::coef(object), bayeskernel_error = conditionMessage)
  if (is.character(linear)) return(linear)
  if (is.null(data)) data <- fit_data(object)
  if (is.null(data)) {
    return(paste(
      "The data of the fit are gone: give them as `data`.",
      training_data(object)$absent
    ))
  }
  call <- object$call
  # What makes classes, as y > 1, is no transformation of the response.
  if (!is_regression(object) && !is.null(object$formula)) {
    call$formula <- object$formula
    call$formula[[2L]] <- as.name("response")
  }
  emmeans::recover_data(call, grid_terms(object), object$na.action, data = data, ...)
}

# Terms with the variables of the fixed part, of its smooths and of its offset.
grid_terms <- function(object) {
  info <- object$design
  if (is.null(object$formula)) {
    return(stats::terms(stats::delete.response(stats::terms(effect_formula(object)))))
  }
  smooths <- lapply(info$smooths, function(smooth) lapply(unique(smooth$names), as.name))
  offset <- if (is.language(info$offset)) list(call("offset", info$offset))
  sum <- Reduce(
    function(a, b) call("+", a, b), c(unlist(smooths), offset), stats::formula(info$terms)[[2]]
  )
  with_predvars(stats::terms(stats::as.formula(call("~", sum), info$env)), info$frame_terms)
}

# Terms that compute poly(), ns() and their like from the rows of the fit: emmeans evaluates them
# for two rows.
with_predvars <- function(terms, fitted) {
  if (is.null(attr(fitted, "predvars"))) return(terms)
  variables <- as.list(attr(terms, "variables"))
  at <- match(variables, as.list(attr(fitted, "variables"))[-1L]) + 1L
  variables[!is.na(at)] <- as.list(attr(fitted, "predvars"))[at[!is.na(at)]]
  attr(terms, "predvars") <- as.call(variables)
  terms
}

#' @exportS3Method emmeans::emm_basis
emm_basis.bayeskernel_fit <- function(object, trms, xlev, grid, link = NULL, vcov. = NULL, ...) {
  check_whole(object)
  if (is_string(vcov.)) {
    object <- with_vcov(object, vcov., "vcov.")
    vcov. <- NULL
  }
  mean <- stats::coef(object)
  rows <- new_rows(object, as.data.frame(grid), "none")
  x <- rows$x[match(seq_len(rows$n), rows$complete), , drop = FALSE]
  # Units of `cov` are at the mean of their prior, as groups are.
  x <- x[, setdiff(seq_len(ncol(x)), unit_positions(object)), drop = FALSE]
  colnames(x) <- names(mean)
  if (is.function(vcov.)) vcov. <- vcov.(object)
  draws <- if (!is.null(object$draws) && vcov_type(object) == "posterior") {
    structure(as.matrix(object)[, names(mean), drop = FALSE], n.chains = dim(object$draws)[2])
  }
  list(
    X = x, bhat = unname(mean), nbasis = matrix(NA),
    V = vcov. %||% stats::vcov(object), dffun = function(k, dfargs) Inf,
    dfargs = list(), misc = link_for_grid(object, link), post.beta = draws
  )
}

# How emmeans goes back to probabilities.
link_for_grid <- function(object, link) {
  if (is_regression(object)) return(list())
  link <- prediction_link(object, link)
  list(
    tran = switch(link, hinge = hinge_link(), calibrated = calibrated_glm_link(object$link), link),
    inv.lbl = "prob"
  )
}

# The probability that the pseudo-likelihood of a support vector machine implies, plogis(2 (|1 + f|+
# - |1 - f|+)), as a link of glm().
hinge_link <- function() {
  list(
    linkfun = function(mu) {
      eta <- stats::qlogis(mu)
      ifelse(abs(eta) <= 4, eta / 4, eta / 2 - sign(eta))
    },
    linkinv = function(eta) link_curve(eta, "hinge"),
    mu.eta = function(eta) {
      p <- link_curve(eta, "hinge")
      p * (1 - p) * ifelse(abs(eta) <= 1, 4, 2)
    },
    valideta = function(eta) TRUE, name = "hinge"
  )
}
