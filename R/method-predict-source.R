# Draws of a model with random effects are of all rows at once: a group that the fit has not seen
# has one effect in all of them.
predict_slices <- function(object, newdata, ask) {
  # What is found of the whole holds in every part.
  if (object$design$type == "kernel") newdata <- new_kernel_values(object$design, newdata)
  n <- NROW(newdata)
  width <- 1 + length(object$design$columns) + NCOL(newdata)
  whole <- n < 2L || n * width <= slice_size ||
    !(is.data.frame(newdata) || is.matrix(newdata) || is_sparse(newdata)) ||
    (ask$sampled && has_groups(object))
  if (whole) return(predict_rows(object, newdata, ask))
  if (ask$draws) check_answer_size(n, draw_count(object, ask$ndraws))
  with_seed(if (ask$sampled) ask$seed, {
    ask["seed"] <- list(NULL)
    join_predictions(once_each(lapply(row_slices(n, width), function(at) {
      predict_rows(object, newdata[at, , drop = FALSE], ask, at[1] - 1)
    })), ask$draws)
  })
}

# The blocks of a row source one after another.
predict_source <- function(object, source, ask) {
  if (identical(source$type, "cluster")) return(predict_parts(object, source, ask))
  source <- needed_columns(object$design, source)
  reader <- open_source(source)
  on.exit(reader$close())
  size <- block_rows(length(source$columns))
  if (ask$draws && has_groups(object)) {
    bk_abort(
      "argument", "Draws for a row source need a model without random effects.",
      "Read the rows into data frames and predict for these.", column = "newdata"
    )
  }
  # A block of draws of all rows is as large as a block of predictors.
  if (ask$sampled) {
    size <- max(1, size %/% max(1, draw_count(object, ask$ndraws)))
    ask$seed <- check_seed(ask$seed)
  }
  next_block <- block_reader(source, reader, size)
  parts <- list()
  rows <- 0
  while (!is.null(block <- next_block())) {
    refuse_infinite(block)
    rows <- rows + nrow(block$x)
    if (ask$draws) check_answer_size(rows, draw_count(object, ask$ndraws))
    parts[[length(parts) + 1L]] <- predict_rows(object, block_values(object, source, block), ask)
  }
  if (length(parts) == 0L) abort_too_few_rows(0L)
  join_predictions(parts, ask$draws)
}

# Predictions of all parts, in their order.
predict_parts <- function(object, source, ask) {
  if (ask$draws || ask$sampled) {
    bk_abort(
      "argument", "Draws are not for rows of a cluster's workers.",
      "Found: predictions that are made of draws.",
      "Accepted: classes, probabilities, means and normal limits.", column = "newdata"
    )
  }
  join_predictions(on_parts(source, seq_along(source$cluster), part_predictions, object, ask))
}

part_predictions <- function(part, told, object, ask) {
  source <- part_source(part, told)
  source$response <- NULL
  predict_source(object, source, ask)
}

join_predictions <- function(parts, draws = FALSE) {
  first <- parts[[1]]
  if (is.factor(first)) {
    out <- factor(
      levels(first)[unlist(lapply(parts, as.integer))], levels(first), ordered = is.ordered(first)
    )
    names(out) <- unlist(lapply(parts, names))
    out
  } else if (is.list(first)) {
    lapply(stats::setNames(nm = names(first)), function(name) {
      join_predictions(lapply(parts, `[[`, name), draws)
    })
  } else if (length(dim(first)) == 3L) {
    join_arrays(parts, if (draws) 2L else 1L)
  } else if (!is.matrix(first)) {
    unlist(parts)
  } else {
    do.call(if (draws) cbind else rbind, parts)
  }
}
