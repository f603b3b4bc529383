# predict() for a row source: its blocks one after another.
predict_source <- function(object, source, type, link, threshold, se.fit, draws,
                           n_draws, seed, call = user_call()) {
  reader <- open_source(source, call)
  on.exit(reader$close())
  size <- block_rows(length(source$columns))
  # A block of draws of all rows is as large as a block of predictors.
  if (draws && length(object$posterior$random) > 0) {
    bk_abort(
      "argument", "Draws for a row source need a model without random effects.",
      "Read the rows into data frames and predict for these.",
      column = "newdata", call = call
    )
  }
  if (draws) {
    size <- max(1, size %/% max(1, if (is.null(n_draws)) 1000 else n_draws))
    seed <- check_seed(seed)
  }
  next_block <- block_reader(source, reader, size, call)
  parts <- list()
  while (!is.null(block <- next_block())) {
    refuse_infinite(block, call)
    parts[[length(parts) + 1L]] <- stats::predict(
      object, source_frame(object, block$x),
      type = type, link = link, threshold = threshold, se.fit = se.fit,
      draws = draws, n_draws = n_draws, seed = seed
    )
  }
  if (length(parts) == 0L) abort_too_few_rows(0L, call)
  join_predictions(parts)
}

# A formula looks for its variables in a data frame.
source_frame <- function(object, x) {
  if (object$design$type == "matrix") x else as.data.frame(x)
}

# predict() would count the row from the start of its block.
refuse_infinite <- function(block, call) {
  check_columns(
    column_moments_cpp(block$x), block$x, colnames(block$x),
    block$first + seq_len(nrow(block$x)), call,
    missing_allowed = TRUE
  )
}

join_predictions <- function(parts) {
  first <- parts[[1]]
  if (is.factor(first)) {
    factor(levels(first)[unlist(lapply(parts, as.integer))], levels(first))
  } else if (is.list(first)) {
    lapply(stats::setNames(nm = names(first)), function(name) {
      join_predictions(lapply(parts, `[[`, name))
    })
  } else if (!is.matrix(first)) {
    unlist(parts)
  } else if (is.null(colnames(first))) {
    do.call(cbind, parts) # draws by rows
  } else {
    do.call(rbind, parts)
  }
}
