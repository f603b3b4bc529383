# What gpsvm() tunes its kernel by: the bound on a sample of the rows, or the log-loss of rows that
# are left out, one by one or in folds.

# Work of a tuning that takes a few seconds: machines x rows x m^2, a multiplication each, for every
# two parameters.
quick_tuning <- list(rows = 1000, work = 7e7)

# TRUE is "loo". NULL: if a length-scale is left open, on as many rows as it is quick on, unless
# these are too few.
settle_tuning <- function(rows, settings) {
  tune <- settings$tune
  settings$by_default <- is.null(tune)
  if (has_rank(settings$kernel)) return(settle_rank_tuning(settings))
  if (is.null(tune)) {
    kernel <- settings$kernel
    few <- min(rows$n, quick_tuning$rows, settings$tune_rows)
    columns <- if (is_precomputed(kernel)) 0 else length(kernel_parameters(
      resolve_lengthscale(place_kernel(kernel, rows), 1, length(rows$columns), rows$columns)
    ))
    quick_rows <- function(m) {
      row <- length(machine_labels(rows$levels)) * m^2 * columns / 2
      if (is.null(settings$cluster)) min(few, floor(quick_tuning$work / row)) else 0
    }
    open <- !is_precomputed(kernel) && has_open_scale(kernel)
    most <- quick_rows(if (settings$exact) few else settings$count)
    # The exact process begins as one of inducing points.
    if (open && settings$exact && most < few && is.null(settings$cluster)) {
      settings$first <- default_inducing(rows$n)
      most <- quick_rows(settings$first)
    }
    # Fewer rows rather than none.
    quick <- most >= min(few, least_part)
    tune <- open && quick
    if (tune) settings$tune_rows <- most
    if (open && !quick) settings$untuned <- list(by = "none")
  }
  if (isTRUE(tune)) tune <- "loo"
  if (settings$optimize_inducing && has_categories(settings$kernel)) {
    bk_abort(
      "kernel", "Inducing points of a categorical kernel cannot be moved.",
      "Found: optimize_inducing = TRUE.",
      "Accepted: optimize_inducing = FALSE; a code has no neighbors.",
      column = "optimize_inducing", found = TRUE, expected = FALSE
    )
  }
  if (settings$optimize_inducing && !identical(tune, "bound")) {
    if (!settings$by_default && !isTRUE(settings$tune)) {
      bk_abort(
        "argument", "Inducing points are moved by the bound alone.",
        "Accepted with optimize_inducing = TRUE: tune = \"bound\".",
        column = "optimize_inducing", found = tune
      )
    }
    tune <- "bound"
  }
  settings$tune <- tune
  settings
}

# A projection is learned by the gradient of the bound; its scale, and the variance, then as those
# of other kernels.
settle_rank_tuning <- function(settings) {
  tune <- settings$tune
  open <- has_open_scale(settings$kernel)
  if (identical(tune, "cv") || open && isFALSE(tune)) {
    bk_abort(
      "argument", "A kernel with `rank` is tuned by the bound.",
      sprintf("Found: tune = %s.", deparse1(tune)),
      "Accepted: tune = \"loo\", the default for such a kernel, or \"bound\".",
      column = "tune", found = tune
    )
  }
  if (is.null(tune) && open) settings$tune_rows <- min(settings$tune_rows, quick_tuning$rows)
  settings$tune <- if (settings$optimize_inducing) {
    "bound"
  } else if (is.null(tune)) {
    if (open) "loo" else FALSE
  } else if (isTRUE(tune)) {
    "loo"
  } else {
    tune
  }
  settings
}

# Rows x m^2 of an evaluation, above which tuning has fewer inducing points than the fit, yet a
# hundred.
tuning_work <- 1e8

tune_process <- function(process, rows, data, sample, settings) {
  if (is_precomputed(process$kernel)) {
    bk_abort(
      "kernel", "A precomputed kernel has no parameters to tune.",
      "Use tune = FALSE, or a kernel such as rbf().", column = "tune"
    )
  }
  whole <- sample
  asked <- settings
  if (!is.null(settings$first)) {
    settings$exact <- FALSE
    settings$count <- settings$first
    process$z <- place_inducing(rows, data, sample, settings, process$kernel)
  }
  fewer <- max(100, floor(sqrt(tuning_work / min(rows$n, settings$tune_rows))))
  many <- !settings$exact && !settings$optimize_inducing &&
    !is.matrix(settings$inducing) && ncol(process$z) > fewer
  if (many) {
    process$z <- place_inducing(
      rows, data, sample, replace(settings, "count", fewer), process$kernel
    )
  }
  if (rows$n > settings$tune_rows || ncol(sample$x) < rows$n) {
    sample <- sample_process_rows(data, settings$tune_rows, settings$seed)
  }
  few <- sample_data(sample$x, sample$labels)
  if (length(data$weights)) few$weights <- data$weights[sample$row]
  # Of the likelihood, with a learning rate and class weights; of the rows.
  few$users <- if (length(rows$weights)) rows$weights[sample$row] else rep(1, ncol(sample$x))
  few$copies <- if (length(data$copies) > 1L) data$copies[sample$row] else rep(1, ncol(sample$x))
  all_rows <- nrow(few$x) == rows$n
  if (length(data$copies) > 1L || !length(rows$weights)) few <- merge_repeats(few)
  few$left <- mixed_copies(few)
  classes <- machine_labels(rows$levels, data_positive(data))
  if (may_add_points(settings) && is.null(settings$first) && all_rows &&
      exact_work(process, rows$n, classes) <= exact_quick$whole) {
    settings$exact <- TRUE
    settings$count <- rows$n
  }
  shown <- tuning_progress(settings$progress)
  settings$progress <- FALSE
  settings$tell <- shown$tell
  on.exit(shown$done())
  start <- process
  found <- if (identical(settings$tune, "cv")) {
    fits <- 0L
    choose_by_folds(process$kernel, few$labels, function(kernel, out) {
      fits <<- fits + 1L
      shown$tell("five folds", fits)
      fold_loss(kernel, process, few, out, classes, settings)
    }, copies = few$left, total = sum(few$users))
  } else {
    maximise_process(process, few, classes, settings, identical(settings$tune, "loo"))
  }
  if (isTRUE(found$tuned$interrupted)) stop_or_keep_tuning(settings)
  found$tuned$rows <- ncol(sample$x)
  found$tuned$by_default <- settings$by_default
  if (found$tuned$by != "cv") {
    found$tuned$scales <- sum(parameter_roles(process$kernel) %in% c("lengthscale", "projection"))
  }
  # Of other rows they tell nothing.
  same <- nrow(few$x) == rows$n && all(sample$row == seq_len(rows$n))
  if (!same) found$messages <- list()
  process[names(found)] <- found
  if (many) process$z <- place_inducing(rows, data, whole, settings, process$kernel)
  process <- take_more_points(process, start, rows, data, whole, few, classes, settings)
  if (settings$exact || asked$exact) {
    process$more <- TRUE
    process$z <- place_inducing(rows, data, whole, replace(settings, "exact", TRUE), process$kernel)
  }
  process
}

# Whether it is left to us how many inducing points there are, or how all are come to.
may_add_points <- function(settings) {
  (is.null(settings$inducing) || !is.null(settings$first)) && identical(settings$tune, "loo") &&
    is.null(settings$cluster) && settings$method %in% c("ep", "vb")
}

# Work of an evaluation of the exact process, machines x n^3 multiplications, of three parameters
# and more for each of them: up to which it is what is tuned, so that the kernel does not hang on
# where points lie; up to which a kernel is looked for again; up to which it is looked at.
exact_quick <- list(whole = 250^3, again = 7e7, once = 1e9)

exact_work <- function(process, n, classes) {
  open <- length(core_parameters(process$kernel)) + (process$nugget > 0)
  length(classes) * n^3 * (if (open < 3L) 1 else open)
}

# What is said of tuning: `tell` takes what is looked at, the number of evaluations and the best
# score, `done` ends it. A line that changes where someone watches, else a line a round.
tuning_progress <- function(shown, watched = interactive()) {
  force(shown)
  now <- NULL
  last <- 0
  say <- function(end) {
    score <- if (length(now$score)) sprintf(", best score %s", format(now$score, digits = 5))
    text <- sprintf("tuning, %s: evaluation %d%s", now$round, now$evaluations, score %||% "")
    if (watched) text <- sprintf("\r%-70s", text)
    cat(text, end, sep = "", file = stderr())
  }
  list(
    tell = function(round, evaluations, score = NULL) {
      if (!shown) return(invisible())
      if (!watched && !is.null(now) && now$round != round) say("\n")
      now <<- list(round = round, evaluations = evaluations, score = score)
      time <- proc.time()[["elapsed"]]
      if (watched && time - last > 0.1) {
        last <<- time
        say("")
      }
    },
    done = function() {
      if (is.null(now)) return(invisible())
      if (watched) cat(sprintf("\r%70s\r", ""), file = stderr()) else say("\n")
    }
  )
}

# What more inducing points must add to the score.
worth_of_points <- 0.5

# Rows that say whether more points are worth to be looked at on all.
points_rows <- 300

# How many inducing points there are, if nobody said: more, every row where these are few, where
# the score with the kernel that was found is higher, of some of many rows and then of all;
# `tuned$fewer` is then how many they were. With another kernel there are no better scores. Where
# all were asked for, the kernel is looked for again with them.
take_more_points <- function(process, start, rows, data, sample, few, classes, settings) {
  asked <- !is.null(settings$first)
  count <- if (asked) rows$n else more_points(rows$n, length(classes))
  if (!may_add_points(settings) || process$tuned$interrupted || count <= settings$count) {
    return(process)
  }
  settings$count <- count
  settings$exact <- count == rows$n
  more <- process
  more$z <- place_inducing(rows, data, sample, settings, process$kernel)
  tuned <- process$tuned
  tell <- function(points) {
    tuned$evaluations <<- tuned$evaluations + 1L
    settings$tell(sprintf("%d inducing points", points), tuned$evaluations, tuned$bound)
  }
  calibrated <- is_calibratable(few, classes)
  score_of <- function(process, data, exact, messages = list()) {
    settings$exact <- exact
    tuning <- open_tuner(process, data, classes, settings)
    tell(ncol(tuning$z))
    core_call(gpsvm_start_cpp(tuning$tuner, messages))
    score <- score_left_out(tuning$tuner, tuning$kernel, list(
      kernel = core_parameters(process$kernel), nugget = process$nugget, z = tuning$z
    ), data, classes, calibrated, 1e-3)
    if (is.null(score)) return(NULL)
    list(score = best_form(score), messages = core_call(gpsvm_messages_cpp(tuning$tuner)))
  }
  keep <- function(process) {
    process$tuned <- tuned
    process
  }
  interrupted <- function(process) {
    stop_or_keep_tuning(settings)
    tuned$interrupted <<- TRUE
    keep(process)
  }
  # Of hardly more rows it costs hardly more.
  if (!asked && length(few$labels) > 2 * points_rows) {
    part <- stratified_rows(few, points_rows, settings$seed)
    now <- score_of(process, part, FALSE)
    then <- if (!is.null(now)) score_of(more, part, settings$exact)
    if (is.null(then)) return(interrupted(process))
    if (then$score < now$score) return(keep(process))
  }
  found <- score_of(more, few, settings$exact, process$messages)
  if (is.null(found)) return(interrupted(process))
  if (asked) {
    again <- kernel_of_all(more, start, few, classes, settings, tell)
    better <- if (!is.null(again)) score_of(again, few, TRUE, found$messages)
    if (is.null(better)) return(interrupted(process))
    if (better$score > found$score) {
      found <- better
      more <- again
    }
  }
  # Of other rows they tell nothing.
  if (length(process$messages)) process$messages <- more$messages <- found$messages
  score <- found$score
  if (asked || score > tuned$bound + worth_of_points) {
    if (!asked) tuned$fewer <- ncol(process$z)
    tuned$bound <- score
    tuned$log_loss <- -score / sum(few$users)
    process <- more
    process$more <- TRUE
  }
  keep(process)
}

# The exact process from the kernel that fewer points found, on as many rows as an evaluation is
# quick on, `process` where these are too few; NULL after an interrupt.
kernel_of_all <- function(process, start, few, classes, settings, tell) {
  n <- nrow(few$x)
  size <- floor(n * (exact_quick$again / exact_work(process, n, classes))^(1 / 3))
  if (has_rank(process$kernel) || size < min(least_part, n)) return(process)
  part <- if (size < n) stratified_rows(few, size, settings$seed) else few
  at <- open_tuner(process, part, classes, replace(settings, "exact", TRUE))
  calibrated <- is_calibratable(part, classes)
  found <- climb_from(start, core_parameters(process$kernel), process$nugget, function(par) {
    tell(ncol(at$z))
    par$z <- at$z
    score_left_out(at$tuner, at$kernel, par, part, classes, calibrated, 3e-4)
  }, settings$prior, nrow(few$x))
  if (!is.null(found)) replace(process, c("kernel", "nugget"), found)
}

# Rows of a part, at least, that say something of the kernel of all.
least_part <- 200

# Every row where an exact pass takes less than a second, else as many points as a pass of that
# order can have.
more_points <- function(n, machines) {
  if (machines * n^3 <= exact_quick$once) {
    n
  } else {
    min(n - 1, floor(sqrt(exact_quick$once / 4 / (n * machines))))
  }
}

stop_or_keep_tuning <- function(settings) {
  if (settings$on_interrupt == "stop") abort_interrupted()
  bk_warn(
    "interrupt", "Interrupted: the kernel is the best so far.",
    "It is not fully tuned; the fit itself goes on with it."
  )
}

# What the core looks at a sample of rows with. The exact process of these has its points there.
open_tuner <- function(process, data, classes, settings) {
  z <- if (settings$exact) t(data$x) else process$z
  list(
    z = z, kernel = kernel_to_core(process$kernel, nrow(z)),
    tuner = core_call(gpsvm_tuner_cpp(data, ncol(z), settings$exact, classes, settings$threads))
  )
}

maximise_process <- function(process, data, classes, settings, left_out) {
  points <- process$z
  tuning <- open_tuner(process, data, classes, settings)
  process$z <- tuning$z
  tuner <- tuning$tuner
  core <- tuning$kernel
  passes <- list(tol = 1e-7, max_iter = 300L, accelerate = settings$accelerate)
  stopped <- FALSE
  looked <- list(times = 0L, best = -Inf)
  climb <- function(process, locations = FALSE) {
    maximise_bound(process, function(at, locations) {
      if (stopped) return(list(interrupted = TRUE))
      out <- core_call(gpsvm_bound_cpp(tuner, core, at$kernel, at$nugget, at$z, locations, passes))
      looked <<- list(times = looked$times + 1L, best = max(looked$best, out$bound))
      settings$tell(sprintf("%.0f rows", nrow(data$x)), looked$times, looked$best)
      out
    }, settings$prior, locations)
  }
  pointed <- 0L
  if (has_rank(process$kernel) && has_open_scale(settings$kernel)) {
    start <- point_projections(process, tuner, core, passes)
    process$kernel <- start$kernel
    stopped <- start$interrupted
    if (left_out) {
      found <- climb(process)
      if (found$tuned$interrupted) {
        found$z <- points
        return(found)
      }
      process[c("kernel", "nugget")] <- found[c("kernel", "nugget")]
      pointed <- found$tuned$evaluations
    }
  }
  if (left_out) {
    found <- maximise_score(
      process, score_levels(process, tuner, core, data, classes, settings),
      settings$prior, settings$tell
    )
    found$tuned$evaluations <- found$tuned$evaluations + pointed
    found$messages <- core_call(gpsvm_messages_cpp(tuner))
    found$tuned$log_loss <- -found$tuned$bound / sum(data$users)
    found$z <- points
    return(found)
  }
  found <- climb(process, settings$optimize_inducing && !settings$exact)
  if (is.null(found$z)) found$z <- points
  found
}

# Projections along the slopes of the best of three fits with one length-scale in the place of each:
# the kernel, and whether an interrupt came before it.
point_projections <- function(process, tuner, core, passes) {
  from <- core_parameters(process$kernel)
  roles <- parameter_roles(process$kernel)
  best <- NULL
  for (factor in c(1, 0.5, 2)) {
    found <- core_call(gpsvm_point_cpp(
      tuner, core, stretch_parameters(from, roles, factor), process$nugget, process$z, passes
    ))
    if (found$interrupted) break
    if (is.null(best) || found$bound > best$bound) best <- found
  }
  list(
    kernel = if (is.null(best)) process$kernel else update_kernel(process$kernel, best$kernel),
    interrupted = found$interrupted
  )
}

# Rows that the grid, and then the climb, looks at before all are.
score_rows <- c(200, 400)
# Inducing points of the grid, at most.
grid_points <- 50

# Scores on ever more rows, for maximise_score(); the last has `tuner`.
score_levels <- function(process, tuner, core, data, classes, settings) {
  n <- nrow(data$x)
  calibrated <- is_calibratable(data, classes)
  # Nearly as many rows are no cheaper.
  sizes <- score_rows[score_rows * 1.5 <= c(score_rows[-1L], n) & score_rows * 1.5 <= n]
  few <- lapply(seq_along(sizes), function(k) {
    part <- stratified_rows(data, sizes[k], settings$seed)
    own <- process
    if (k == 1L && !settings$exact && ncol(process$z) > grid_points) {
      own$z <- core_call(gpsvm_inducing_cpp(
        t(part$x), grid_points, settings$seeding, as.double(settings$seed), 1L
      ))$z
    }
    opened <- open_tuner(own, part, classes, settings)
    list(rows = nrow(part$x), score = function(at) {
      at$z <- opened$z
      score_left_out(
        opened$tuner, opened$kernel, at, part, classes, calibrated, if (k == 1L) 3e-3 else 3e-4
      )
    })
  })
  all <- function(tolerance) {
    list(list(rows = n, score = function(at) {
      score_left_out(tuner, core, at, data, classes, calibrated, tolerance)
    }))
  }
  c(if (length(few)) few else all(if (settings$exact) 3e-3 else 1e-3), all(1e-4))
}

# Rows that repeat others as one that counts as often: repeated rows and counts say the same.
merge_repeats <- function(data) {
  # Of equal rows these are equal to the bit.
  if (!anyDuplicated(rowSums(data$x))) return(data)
  key <- do.call(paste, c(list(data$labels), as.data.frame(data$x)))
  first <- match(key, key)
  own <- unique(first)
  if (length(own) == length(key)) return(data)
  data$weights <- row_powers(data)
  for (name in c("weights", "users", "copies")) {
    data[[name]] <- unname(rowsum(data[[name]], first, reorder = FALSE)[, 1L])
  }
  data$x <- data$x[own, , drop = FALSE]
  data$labels <- data$labels[own]
  data
}

# The copies of each row of which one is left out. In a table of counts nearly all are of rows whose
# predictors rows of another class have, too. Else all copies of the other rows are left out
# together: the rest of them would say the class to a kernel that is blind beyond its own row.
mixed_copies <- function(data) {
  if (!any(data$copies > 1)) return(data$copies)
  key <- do.call(paste, as.data.frame(data$x))
  place <- match(key, key)
  mixed <- tapply(data$labels, place, function(own) any(own != own[1L]))[as.character(place)]
  if (sum(data$copies[mixed]) >= 0.9 * sum(data$copies)) return(data$copies)
  unname(ifelse(mixed, data$copies, 1))
}

# As calibrate_link() has it.
is_calibratable <- function(data, classes) {
  labels <- data$labels
  own <- if (length(classes) > 1L) labels else labels == classes
  counts <- tapply(data$copies, own, sum)
  length(counts) >= max(2L, length(classes)) && all(counts >= least_rows(length(classes)))
}

# Of every class the same share, at least three, one from each of runs of equal length; each counts
# for those that are not there.
stratified_rows <- function(data, size, seed) {
  n <- length(data$labels)
  own <- split(seq_len(n), data$labels)
  at <- with_seed(seed, lapply(own, function(rows) {
    count <- min(length(rows), max(3, round(size / n * length(rows))))
    ends <- floor(seq(0, length(rows), length.out = count + 1L))
    first <- ends[-(count + 1L)]
    rows[first + 1 + floor(stats::runif(count) * (ends[-1L] - first))]
  }))
  share <- rep(lengths(own) / lengths(at), lengths(at))
  at <- unlist(at, use.names = FALSE)
  up <- order(at)
  at <- at[up]
  data$x <- data$x[at, , drop = FALSE]
  data$labels <- data$labels[at]
  if (length(data$weights)) data$weights <- data$weights[at]
  data$copies <- data$copies[at]
  data$left <- data$left[at]
  data$users <- data$users[at] * unname(share)[up]
  data
}

# Sum of log probabilities of the labels, each given the other rows, by either form of the link that
# these calibrate, with its prior; NULL after an interrupt. Far from the optimum messages need not
# settle.
score_left_out <- function(tuner, kernel, at, data, classes,
                           calibrated, tolerance) {
  # Each run goes on from the messages of the one before.
  for (run in 1:4) {
    core <- gpsvm_left_out_cpp(tuner, kernel, at$kernel, at$nugget, at$z, tolerance, 100L)
    if (!isFALSE(core$converged) || core$interrupted) break
  }
  if (inherits(core, "bayeskernel_core_error") && core$kind == "numeric") {
    return(if (calibrated) c(-Inf, -Inf) else -Inf)
  }
  core <- core_call(core)
  if (core$interrupted) return(NULL)
  # Of a row that counts several times one is left out, or all.
  for (k in seq_along(classes)) {
    own <- left_out_copy(
      list(mean = core$mean[, k], var = core$var[, k]), core$all_mean[, k], core$all_var[, k],
      ifelse(data$labels == classes[k], 1, -1), core$log_p[, k], data$left
    )
    core$mean[, k] <- own$mean
    core$var[, k] <- own$var
    core$log_p[, k] <- own$log_p
  }
  if (!calibrated) {
    if (length(classes) == 1L) return(sum(data$users * core$log_p))
    y <- match(data$labels, classes)
    return(sum(data$users * log(own_probability(class_prob(core$log_p, y), y))))
  }
  if (!all(is.finite(core$mean), is.finite(core$var))) return(c(-Inf, -Inf))
  y <- if (length(classes) > 1L) data$labels else data$labels == classes
  # A search needs scores without jumps from one form of the link to the other.
  forms <- core_call(calibrated_link_cpp(
    core$mean, core$var, as.integer(y), as.double(data$users), TRUE
  ))
  -c(forms$by_variance, forms$by_excess + worth_of_form)
}

row_powers <- function(data) {
  if (length(data$weights)) data$weights else rep(1, length(data$labels))
}

# Sum of minus log probabilities of the labels left out; NULL after an interrupt. `out`: which part
# of each row is.
fold_loss <- function(kernel, process, data, out, classes, settings) {
  part <- function(share) {
    rows <- which(share > 0)
    share <- share[rows]
    powers <- row_powers(data)[rows]
    data$x <- data$x[rows, , drop = FALSE]
    data$labels <- data$labels[rows]
    if (length(data$weights) || any(share < 1)) data$weights <- powers * share
    data
  }
  z <- if (settings$exact) t(data$x[out < 1, , drop = FALSE]) else process$z
  settings$method <- "vb"
  settings$keep <- TRUE
  settings$tol <- 1e-4
  settings$nugget <- process$nugget
  kernel <- kernel_to_core(kernel, nrow(process$z))
  core <- core_call(gpsvm_fit_cpp(part(1 - out), kernel, z, gpsvm_core_control(settings, classes)))
  if (core$interrupted) return(NULL)
  moments <- core_call(gpsvm_predict_cpp(
    part(out), kernel, z, process$nugget,
    lapply(core$fits, `[`, c("mean", "whitener")), settings$threads
  ))
  prob <- matrix(link_probability(moments$mean, moments$var, "probit"), nrow(moments$mean))
  rows <- which(out > 0)
  labels <- data$labels[rows]
  p <- if (length(classes) == 1L) {
    ifelse(labels == classes, prob[, 1], 1 - prob[, 1])
  } else {
    (prob / rowSums(prob))[cbind(seq_along(labels), labels + 1)]
  }
  -sum(data$users[rows] * out[rows] * log(pmax(p, 1e-15)))
}
