# Method "svi": stochastic steps over minibatches, then full passes. For rows
# in memory it ends where "vb" does; for a row source nothing else is possible.

bsvm_fit_svi <- function(fit, design, data, blocks, settings, call) {
  core <- core_call(
    bsvm_svi_cpp(data, core_prior(blocks), svi_control(settings)), call
  )
  svi_answer(fit, design, data, blocks, settings, core, call)
}

svi_control <- function(settings) {
  list(
    tol = settings$tol, max_iter = settings$max_iter, accelerate = TRUE,
    threads = settings$threads, progress = settings$progress,
    seed = as.double(settings$seed), epochs = settings$epochs,
    batch_size = as.double(settings$batch_size)
  )
}

# The parts of a "vb" fit, and how the stochastic steps went.
svi_answer <- function(fit, design, data, blocks, settings, core, call) {
  if (core$status$interrupted) abort_interrupted()
  fit <- bsvm_fit_vb(fit, design, data, blocks, settings, call, core = core)
  fit$diagnostics <- c(
    fit$diagnostics, core$status[c("epochs", "steps", "batch_size")]
  )
  fit
}

check_svi <- function(batch_size, epochs, call = user_call()) {
  list(
    batch_size = if (!is.null(batch_size)) {
      check_count(batch_size, 1, name = "batch_size", call = call)
    },
    epochs = check_count(epochs, 0, name = "epochs", call = call)
  )
}

#' @rdname bsvm
#' @export
bsvm.row_source <- function(x, method = "svi", penalty = NULL,
                            prior = bsvm_prior(), standardize = TRUE,
                            batch_size = NULL, epochs = 1, tol = 1e-6,
                            max_iter = 2000, seed = NULL,
                            threads = getOption("bayeskernel.threads", 2L),
                            progress = getOption(
                              "bayeskernel.progress", interactive()
                            ), ...) {
  started <- proc.time()[["elapsed"]]
  call <- match.call()
  call[[1L]] <- quote(bsvm)
  check_no_dots(...)
  settings <- c(
    list(
      method = check_choice(method, "svi", "method"),
      tol = check_number(tol, 0, name = "tol"),
      max_iter = check_count(max_iter, 1, name = "max_iter"),
      seed = check_seed(seed), threads = check_threads(threads),
      progress = check_flag(progress, "progress")
    ),
    check_svi(batch_size, epochs)
  )
  standardize <- check_flag(standardize, "standardize")
  check_prior(prior, call = call)
  # What resolve_penalty() and bsvm_blocks() ask of a design.
  design <- list(x = matrix(0, 0, 0), y = 1, random = list())
  penalty <- resolve_penalty(penalty, design, integer(), call)
  path <- tempfile("bayeskernel-rows-")
  on.exit(unlink(path))
  rows <- spool_rows(
    x, path, standardize, identical(penalty, "none"), settings$progress, call
  )
  names <- rows$names
  design$x <- matrix(0, 0, length(names), dimnames = list(NULL, names))
  blocks <- bsvm_blocks(design, penalty, prior, integer(), call)
  core <- core_call(
    bsvm_stream_cpp(rows, core_prior(blocks), svi_control(settings)), call
  )
  settings$prior <- prior
  fit <- new_fit(
    bsvm_model, call, rows, settings,
    response = x$response, n = rows$rows, penalty = penalty,
    transform = list(
      center = stats::setNames(rows$center, names),
      scale = stats::setNames(rows$scale, names), random = list()
    ),
    design = matrix_info(x$columns, TRUE, rows$source[-1]), columns = NULL
  )
  # The classes are separated if the smallest y f is above 1.
  core$mean <- core$status$margin
  fit <- svi_answer(fit, design, list(), blocks, settings, core, call)
  fit$fitted <- NULL
  fit$elapsed <- c(
    core = fit$diagnostics$seconds, total = proc.time()[["elapsed"]] - started
  )
  fit
}

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
