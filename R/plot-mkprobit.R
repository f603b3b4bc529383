#' @exportS3Method
pictures.mkprobit <- function(object) {
  single <- object$design$type != "spaces"
  flat <- single && !(is.null(object$inducing) && is.null(object$plane))
  all <- list(
    boundary = boundary_picture(object, if (!single) {
      "It has several feature spaces, or a kernel without predictors."
    } else if (!flat) {
      "Its regressors are no points."
    } else {
      no_boundary(object)
    }),
    weights = picture(draw_kernel_weights, if (length(object$spaces) == 1L) {
      "It has one kernel."
    }, data = function(x) kernel_weights(x), gg = gg_weights),
    functions = picture(
      draw_functions, if (!flat) {
        "Its spaces are no predictors of a formula or of one matrix."
      } else if (length(setdiff(object$design$variables, c(object$columns, object$dropped)))) {
        "It has factors, or functions of predictors, among its predictors."
      }, if (length(object$columns) > 1L) "columns",
      "It has several predictors: give one of them as `columns`.",
      data = function_data, gg = gg_functions
    ),
    calibration = picture(
      draw_calibration, needs = if (is.null(object$fitted) && !keeps_rows(object)) "newdata",
      ask = "It has not kept probabilities of its rows: give `newdata` and `y`.",
      data = calibration_data, gg = gg_calibration
    ),
    partial = if (single) {
      partial_picture(object)
    } else {
      picture(draw_partial, "It was made from several feature spaces.")
    },
    bound = bound_picture(object), trace = trace_picture(object)
  )
  # Weights that were held show nothing.
  if (object$learned) all else all[c(setdiff(names(all), "weights"), "weights")]
}
