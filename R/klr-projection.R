# The learned directions: the span of U, which is all that the data can know.

#' Learned directions of a fit
#'
#' What [klr()] has learned of its projection. Columns of U may change sign and place without any
#' change of the model, so that their means say nothing; the space that they span is known. Its
#' posterior mean is that of the projection matrix UU', and the space nearest to all draws is
#' spanned by the leading eigenvectors of that.
#'
#' @param object A fit by [klr()].
#' @param ... No further arguments.
#' @return A list of class `klr_projection`: `directions`, p x r, orthonormal: the leading
#'   eigenvectors of the mean projection, the largest entry of each positive, for standardized
#'   predictors; `mean`, p x p, the posterior mean of UU', symmetric with trace r; `values`, its
#'   eigenvalues: r ones where the space is known; `angles`, draws x r, in degrees, the principal
#'   angles between the space of each draw and that of `directions`, smallest first; `coordinates`,
#'   n x r, the rows of the fit in these directions.
#' @section Errors: `bayeskernel_error_argument` for fits without a projection.
#' @seealso [klr()]; `vignette("dimension-reduction")`.
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, section 2.4 and figures 2.2 to 2.4.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(240), 60, dimnames = list(NULL, letters[1:4]))
#' fit <- klr(x, x[, 1] > x[, 2], rank = 1, chains = 2, threads = 1, seed = 1)
#' projection(fit)
#' @export
projection <- function(object, ...) UseMethod("projection")

#' @rdname projection
#' @export
projection.bayeskernel_fit <- function(object, ...) {
  check_whole(object)
  check_no_dots(...)
  if (is.null(object$rank)) {
    bk_abort(
      "argument", "This fit has no projection.",
      sprintf("Found: a fit by %s(). Accepted: a fit by klr().", model_of(object)$name)
    )
  }
  p <- length(object$columns)
  r <- object$rank
  frames <- unlist(lapply(object$posterior$kernels, `[[`, "frame"))
  count <- length(frames) / (p * r)
  # UU' summed over draws and columns is one product.
  mean <- tcrossprod(matrix(frames, p)) / count
  dimnames(mean) <- list(object$columns, object$columns)
  own <- eigen(mean, symmetric = TRUE)
  directions <- own$vectors[, seq_len(r), drop = FALSE]
  largest <- max.col(abs(t(directions)), "first")
  sign <- sign(directions[cbind(largest, seq_len(r))])
  directions <- directions * rep(sign, each = p)
  dimnames(directions) <- list(object$columns, sprintf("u%d", seq_len(r)))
  structure(list(
    directions = directions, mean = mean, values = own$values,
    angles = principal_angles(directions, array(frames, c(p, r, count))),
    coordinates = object$posterior$x %*% directions
  ), class = "klr_projection")
}

# In degrees, draws x r. The cosines are singular values of V'U; of small angles the sines, those of
# what U has outside the span of V, are exact.
principal_angles <- function(v, frames) {
  r <- ncol(v)
  out <- apply(frames, 3L, function(u) {
    u <- matrix(u, nrow(v))
    inside <- crossprod(v, u)
    cosine <- pmin(svd(inside, 0L, 0L)$d, 1)
    sine <- pmin(rev(svd(u - v %*% inside, 0L, 0L)$d), 1)
    ifelse(cosine > 0.7, asin(sine), acos(cosine)) * 180 / pi
  })
  matrix(out, ncol = r, byrow = TRUE)
}

# How far the draws agree on one direction of the rows: the leading eigenvalue of the mean, over
# draws, of the projection to the span of X U. 1 where that direction is known. X U and not U is
# looked at: of correlated predictors many U give the same coordinates of the rows. `frames`: p x r
# x draws.
direction_agreement <- function(x, frames) {
  rows <- svd(x, nu = 0L)
  rows <- rows$d * t(rows$v)
  r <- dim(frames)[2]
  spans <- apply(frames, 3L, function(u) svd(rows %*% matrix(u, ncol = r), nv = 0L)$u)
  spans <- matrix(spans, nrow(rows))
  svd(spans, 0L, 0L)$d[1]^2 / dim(frames)[3]
}

# Where directions are uniform a priori, those of many predictors say little about new rows although
# own rows are met: then the draws do not agree.
warn_unknown_directions <- function(fit) {
  p <- length(fit$columns)
  r <- fit$rank
  if (r >= p) return(invisible())
  frames <- unlist(lapply(fit$posterior$kernels, `[[`, "frame"))
  frames <- array(frames, c(p, r, length(frames) / (p * r)))
  take <- unique(round(seq(1, dim(frames)[3], length.out = 400L)))
  agreement <- direction_agreement(fit$posterior$x, frames[, , take, drop = FALSE])
  if (agreement >= 0.75) return(invisible())
  bk_warn("identification", "The draws do not agree on any direction.",
  sprintf("Found: agreement %.2f, of %d rows and %d predictors; 1: known.", agreement, fit$n, p),
  paste(
    "New rows may be predicted no better than by the shares of the classes,",
    "even where the rows of the fit are met."
  ),
  paste(
    "Select predictors first, as by `inclusion(bsvm(x, y, select = TRUE))`: section Many",
    "predictors of ?klr."
  ), agreement = agreement)
}

spread_fact <- function(object) {
  if (object$rank == length(object$columns)) return(NULL)
  angles <- projection(object)$angles
  largest <- angles[, ncol(angles)]
  sprintf(
    paste("largest angle of a draw to the mean space %.0f degrees (median),", "90 %% below %.0f"),
    stats::median(largest), stats::quantile(largest, 0.9, names = FALSE)
  )
}

#' @rdname projection
#' @param x What `projection()` returns.
#' @param digits Significant digits.
#' @export
print.klr_projection <- function(x, digits = 3, ...) {
  cat("Mean space of the learned directions (standardized predictors):\n")
  print_text(format(x$directions, digits = digits))
  q <- apply(x$angles, 2, stats::quantile, c(0.5, 0.9), names = FALSE)
  cat(sprintf(
    "Principal angles of the draws to it: median %s, 90 %% below %s degrees\n",
    paste(format(q[1, ], digits = 2), collapse = ", "),
    paste(format(q[2, ], digits = 2), collapse = ", ")
  ))
  invisible(x)
}

# Figures 2.2 to 2.4: the rows in the learned directions. With one, the draws of the probability
# along it; with more, pairs of coordinates.
projection_data <- function(x) {
  z <- projection(x)$coordinates
  colnames(z) <- paste0("u", seq_len(ncol(z)))
  data.frame(z, class = x$levels[1L + (x$y > 0)], probability = x$fitted$prob, row.names = NULL)
}

draw_projection <- function(x, main, threads) {
  found <- projection(x)
  z <- found$coordinates
  r <- ncol(z)
  class <- 1L + (x$y > 0)
  colours <- class_pair[class]
  title <- main_title(main, "Rows in the learned directions")
  if (r == 1L) {
    # Distance from the curve is what other directions leave to the posterior.
    old <- bk_look()
    on.exit(graphics::par(old))
    prob <- x$fitted$prob
    bk_panel(
      range(z), c(-0.06, 1.06), axis_name(found, 1L), sprintf("P(\"%s\")", x$levels[2]), title
    )
    half <- stats::qnorm(0.95) * x$fitted$prob_sd
    graphics::segments(
      z, pmax(prob - half, 0), z, pmin(prob + half, 1), col = blend(muted[["line"]], 0.5), lwd = 0.8
    )
    graphics::points(z, prob, pch = c(1, 19)[class], cex = 0.7, col = colours)
    graphics::rug(z[class == 1L], 0.02, side = 1, col = class_pair[1])
    graphics::rug(z[class == 2L], 0.02, side = 3, col = class_pair[2])
    projection_key(x)
    return(invisible(found))
  }
  pairs <- utils::combn(min(r, 4L), 2L)
  old <- bk_looks(ncol(pairs))
  on.exit(graphics::par(old))
  for (k in seq_len(ncol(pairs))) {
    at <- pairs[, k]
    bk_panel(
      range(z[, at[1]]), range(z[, at[2]]), axis_name(found, at[1]),
      axis_name(found, at[2]), if (k == 1L) title else ""
    )
    graphics::points(z[, at], pch = c(1, 19)[class], cex = 0.8, col = colours)
    if (k == 1L) projection_key(x)
  }
  invisible(found)
}

# The two predictors that weigh most.
axis_name <- function(found, l) {
  u <- found$directions[, l]
  top <- utils::head(order(-abs(u)), 2L)
  text <- paste(sprintf("%+.2f %s", u[top], names(u)[top]), collapse = " ")
  cut_to(paste0("u", l, " = ", text, if (length(u) > 2L) " ..."), graphics::par("pin")[1])
}

# On the line of the title, which begins at the left.
projection_key <- function(x) {
  graphics::legend(
    "topright", x$levels, pch = c(1, 19), col = class_pair, bty = "n", cex = 0.8, horiz = TRUE,
    inset = c(0, -0.085), xpd = NA
  )
}

#' @exportS3Method
pictures.klr <- function(object) {
  list(
    projection = picture(draw_projection, data = projection_data, gg = gg_projection),
    boundary = picture(
      draw_boundary, no_boundary(object), if (length(object$columns) != 2L) "columns",
      paste("It has more than two predictors: give two of them as `columns`."),
      data = boundary_data, gg = gg_boundary
    ),
    fit = fit_picture(object), calibration = calibration_picture(object),
    partial = partial_picture(object), trace = trace_picture(object)
  )
}
