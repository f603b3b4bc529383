# Golden numbers: CASE.json, CASE_data.csv, CASE_gibbs.csv in a folder svm/, under the folder that
# BAYESKERNEL_GOLDEN names or under golden/ here. What is run follows from the `spec` of a case,
# never from its name or its sizes.

golden_folder <- function(part) {
  root <- Sys.getenv("BAYESKERNEL_GOLDEN", testthat::test_path("golden"))
  file.path(root, part)
}

either <- function(value, default) if (is.null(value)) default else value

golden_cases <- function(part) {
  files <- list.files(golden_folder(part), "[.]json$")
  sub("[.]json$", "", files)
}

read_golden <- function(part, case) {
  path <- function(suffix) file.path(golden_folder(part), paste0(case, suffix))
  out <- jsonlite::fromJSON(path(".json"))
  blocks <- jsonlite::fromJSON(path(".json"), simplifyDataFrame = FALSE)
  out$spec$blocks <- blocks$spec$blocks
  out$vb$blocks <- blocks$vb$blocks
  out$data <- utils::read.csv(path("_data.csv"), check.names = FALSE)
  if (file.exists(path("_gibbs.csv"))) {
    out$gibbs <- utils::read.csv(path("_gibbs.csv"), strip.white = TRUE)
  }
  out
}

# Selection or modelled holes: fitted by another engine.
golden_structured <- function(spec) !is.null(spec$selection) || !is.null(spec$missing)

golden_predictors <- function(golden) grep("^x[0-9]+$", names(golden$data), value = TRUE)

# Columns of one block: list(columns, group), group NULL when the columns are predictors. Forms:
# "x1", c("x1", "x2"), "intercept by g", "(intercept, x1) by g, group-major".
golden_block_columns <- function(text) {
  if (length(text) > 1L || !grepl(" by ", text)) return(list(columns = text, group = NULL))
  left <- trimws(sub(" by .*$", "", text))
  columns <- trimws(strsplit(gsub("[()]", "", left), ",")[[1]])
  columns[columns %in% c("intercept", "1")] <- "(Intercept)"
  group <- sub("^.* by *([A-Za-z0-9_.]+).*$", "\\1", text)
  list(columns = columns, group = group)
}

golden_blocks <- function(spec) {
  lapply(spec$blocks, function(block) golden_block_columns(block$columns))
}

golden_column <- function(name, data) {
  if (name == "(Intercept)") rep(1, nrow(data)) else as.double(data[[name]])
}

golden_matrix <- function(names, data) {
  out <- vapply(names, golden_column, numeric(nrow(data)), data)
  matrix(out, nrow(data), length(names), dimnames = list(NULL, names))
}

golden_weights <- function(golden) {
  column <- golden$spec$weights
  if (is.null(column)) return(rep(1, nrow(golden$data)))
  as.double(golden$data[[sub("^column +", "", column)]])
}

golden_beta <- function(spec) {
  p <- length(spec$fixed)
  var <- if (is.null(spec$prior_precision_diag)) {
    rep(spec$sigma2_beta, p)
  } else {
    1 / spec$prior_precision_diag
  }
  mean <- if (is.null(spec$prior_mean)) numeric(p) else spec$prior_mean
  list(var = var, mean = mean)
}

# The core's own input, for any mixture of blocks. `theta` says where the columns of theta are, in
# the order of the golden names: positions in x or, with negative sign, among the eliminated
# effects.
golden_core_input <- function(golden) {
  spec <- golden$spec
  data <- golden$data
  beta <- golden_beta(spec)
  x <- golden_matrix(spec$fixed, data)
  precision <- 1 / beta$var
  mean <- beta$mean
  parsed <- golden_blocks(spec)
  size <- vapply(parsed, function(b) {
    if (is.null(b$group)) 0 else max(data[[b$group]]) * length(b$columns)
  }, numeric(1))
  eliminated <- if (any(size > 0)) which.max(size) else 0L
  # Blocks of predictors come first, as columns of x.
  order <- order(size > 0)
  core_blocks <- vector("list", length(parsed))
  theta <- vector("list", length(parsed))
  kept <- list()
  z <- matrix(0, nrow(data), 0)
  group <- integer()
  n_groups <- 0L
  width_of_x <- ncol(x)
  selected <- NULL
  for (l in c(order, NA)) {
    # Columns under selection follow those of the predictors' blocks.
    if (is.null(selected) && (is.na(l) || size[l] > 0)) {
      columns <- golden_matrix(spec$selection$columns, data)
      selected <- ncol(x) + seq_len(ncol(columns))
      x <- cbind(x, columns)
      width_of_x <- ncol(x)
      precision <- c(precision, numeric(ncol(columns)))
      mean <- c(mean, numeric(ncol(columns)))
    }
    if (is.na(l)) break
    from <- spec$blocks[[l]]
    block <- parsed[[l]]
    plain <- is.null(block$group)
    r <- if (plain) 1L else length(block$columns)
    members <- if (plain) length(block$columns) else max(data[[block$group]])
    stopifnot(from$type == if (r == 1L) "iid" else "unstructured")
    own <- list(
      eliminated = l == eliminated, members = as.integer(members),
      width = as.integer(r), first = as.integer(width_of_x), kind = from$type
    )
    own <- c(own, if (from$type == "iid") {
      list(shape = as.double(from$A), rate = as.double(from$B))
    } else {
      list(df = as.double(from$nu), scale = matrix(as.double(unlist(from$S)), r, r))
    })
    core_blocks[[l]] <- own
    if (plain) {
      x <- cbind(x, golden_matrix(block$columns, data))
    } else if (l == eliminated) {
      z <- golden_matrix(block$columns, data)
      group <- as.integer(data[[block$group]])
      n_groups <- as.integer(members)
      theta[[l]] <- -seq_len(members * r)
      next
    } else {
      kept[[length(kept) + 1L]] <- list(
        group = as.integer(data[[block$group]]), members = as.integer(members),
        z = golden_matrix(block$columns, data)
      )
    }
    theta[[l]] <- width_of_x + seq_len(members * r)
    width_of_x <- width_of_x + members * r
    precision <- c(precision, numeric(members * r))
    mean <- c(mean, numeric(members * r))
  }
  used <- core_blocks[order]
  filled <- function(m) replace(m, is.na(m), 0)
  list(
    data = list(
      x = filled(x), center = numeric(ncol(x)), scale = rep(1, ncol(x)), y = as.double(data$y),
      weights = golden_weights(golden), offset = numeric(nrow(data)), z = filled(z), group = group,
      n_groups = n_groups,
      kept = lapply(kept, function(term) {
        term$z <- filled(term$z)
        term
      }),
      selection = golden_selection(spec$selection, selected),
      holes = golden_holes(golden, x, z, kept, used, width_of_x)
    ),
    prior = list(
      precision = precision, mean = mean, blocks = used,
      # Members of random terms are recorded, on the scale they have.
      transforms = lapply(used, function(block) {
        plain <- block$first < ncol(x) && !block$eliminated
        if (plain) matrix(0, 0, 0) else diag(1, block$width)
      })
    ),
    block_order = order, selected = selected,
    theta = c(seq_along(spec$fixed), unlist(theta), selected)
  )
}

golden_selection <- function(spec, columns) {
  if (is.null(spec)) return(NULL)
  list(
    columns = as.integer(columns) - 1L, shape = as.double(spec$A), rate = as.double(spec$B),
    rho = if (is.null(spec[["rho"]])) NA_real_ else as.double(spec[["rho"]]),
    rho_beta = as.double(spec$rho_beta_prior), start = as.double(spec$gamma_start)
  )
}

# Every cell that a hole reaches, with base 0 and slope 1: the predictors are used as they stand.
golden_holes <- function(golden, x, z, kept, blocks, width_of_x) {
  spec <- golden$spec$missing
  if (is.null(spec)) return(NULL)
  predictors <- golden_predictors(golden)
  values <- golden_matrix(predictors, golden$data)
  at <- which(is.na(values), arr.ind = TRUE)
  uses <- list()
  for (h in seq_len(nrow(at))) {
    row <- at[h, 1]
    name <- predictors[at[h, 2]]
    column <- c(which(colnames(x) == name) - 1L, width_of_x + which(colnames(z) == name) - 1L)
    inside <- Filter(function(b) !b$eliminated && b$first >= ncol(x), blocks)
    for (k in seq_along(kept)) {
      column <- c(
        column, inside[[k]]$first + (kept[[k]]$group[row] - 1L) *
          inside[[k]]$width + which(colnames(kept[[k]]$z) == name) - 1L
      )
    }
    uses[[h]] <- cbind(row - 1L, column, at[h, 2] - 1L)
  }
  uses <- do.call(rbind, uses)
  count <- nrow(uses)
  list(
    x = values, mean = colMeans(values, na.rm = TRUE),
    var = apply(values, 2, stats::var, na.rm = TRUE), mean_var = as.double(spec$sigma2_mu),
    df = as.double(spec$nu_x), scale = matrix(as.double(unlist(spec$S_x)), ncol(values)),
    center = numeric(ncol(values)), scale_x = rep(1, ncol(values)), use_row = as.integer(uses[, 1]),
    use_column = as.integer(uses[, 2]), use_predictor = as.integer(uses[, 3]),
    use_base = numeric(count), use_slope = rep(1, count)
  )
}

golden_settings <- function(...) {
  out <- list(
    tol = 1e-13, max_iter = 20000L, accelerate = TRUE, warmup = 500, draws = 1000, thin = 1,
    threads = 1L, progress = FALSE, keep_ranef = TRUE, seed = 1, intercept = FALSE,
    keep_imputed = TRUE, chain_id = 1:4, states = list()
  )
  utils::modifyList(out, list(...))
}

# Mean and covariance of (theta, u), u group by group, from what the core returns: Cov(theta, u) =
# -Sigma B, Var u = D^-1 + B' Sigma B.
joint_gaussian <- function(mean, covariance, group_mean, loading, schur) {
  r <- nrow(schur)
  if (r == 0) return(list(mean = mean, covariance = covariance))
  cross <- -covariance %*% loading
  own <- t(loading) %*% covariance %*% loading
  for (g in seq_len(ncol(schur) / r)) {
    at <- (g - 1) * r + seq_len(r)
    own[at, at] <- own[at, at] + schur[, at]
  }
  list(
    mean = c(mean, group_mean), covariance = rbind(cbind(covariance, cross), cbind(t(cross), own))
  )
}

# Undoes the basis of a block with more columns than rows.
unfold_wide <- function(mean, covariance, basis, first, hidden_var) {
  if (length(basis) == 0) return(list(mean = mean, covariance = covariance))
  q <- nrow(basis)
  map <- matrix(0, first + q, first + ncol(basis))
  map[seq_len(first), seq_len(first)] <- diag(1, first)
  map[first + seq_len(q), first + seq_len(ncol(basis))] <- basis
  out <- map %*% covariance %*% t(map)
  at <- first + seq_len(q)
  out[at, at] <- out[at, at] + hidden_var * (diag(1, q) - basis %*% t(basis))
  list(mean = drop(map %*% mean), covariance = out)
}

golden_core_vb <- function(golden, ...) {
  input <- golden_core_input(golden)
  core <- bsvm_vb_cpp(input$data, input$prior, golden_settings(...))
  hidden <- if (length(core$precision) > 0) 1 / core$precision[[1]][1, 1] else 1
  theta <- unfold_wide(core$theta_mean, core$theta_cov, core$basis, core$basis_first, hidden)
  joint <- joint_gaussian(theta$mean, theta$covariance, core$group_mean, core$loading, core$schur)
  at <- input$theta
  at[at < 0] <- length(theta$mean) - at[at < 0]
  variance <- vector("list", length(input$block_order))
  variance[input$block_order] <- core$variance
  list(
    mean = joint$mean[at], covariance = joint$covariance[at, at, drop = FALSE],
    elbo = core$status$bound, variance = variance, selection = core$selection, holes = core$holes
  )
}

# --- through bsvm() ----------------------------------------------------------

# list(formula, penalty, prior, terms), or NULL where the formula interface has no words for the
# spec: prior constants that differ between blocks, a penalty on some of the predictors, or a group
# without rows.
golden_call <- function(golden) {
  spec <- golden$spec
  parsed <- golden_blocks(spec)
  plain <- vapply(parsed, function(b) is.null(b$group), logical(1))
  groups <- golden$data[unlist(lapply(parsed, `[[`, "group"))]
  if (any(vapply(groups, function(g) max(g) > length(unique(g)), NA))) return(NULL)
  predictors <- setdiff(spec$fixed, "(Intercept)")
  selected <- spec$selection$columns
  if (any(plain) && length(selected) > 0) return(NULL)
  if (sum(plain) > 1 || (any(plain) && length(predictors) > 0)) return(NULL)
  one_of <- function(name, default) {
    owners <- c(spec$blocks, list(spec$selection))
    values <- unique(Filter(Negate(is.null), lapply(owners, `[[`, name)))
    if (length(values) > 1) NULL else c(values, list(default))[[1]]
  }
  constants <- list(
    var_shape = one_of("A", 0.01), var_rate = one_of("B", 0.01),
    cov_df = one_of("nu", 3), cov_scale = one_of("S", 1)
  )
  if (any(vapply(constants, is.null, logical(1)))) return(NULL)
  if (is.list(constants$cov_scale)) constants$cov_scale <- do.call(rbind, constants$cov_scale)
  beta <- golden_beta(spec)
  quote_name <- function(x) ifelse(x == "(Intercept)", "1", paste0("`", x, "`"))
  bars <- vapply(parsed[!plain], function(b) {
    columns <- quote_name(b$columns)
    if (!"1" %in% columns) columns <- c("0", columns)
    sprintf("(%s | %s)", paste(columns, collapse = " + "), b$group)
  }, "")
  penalised <- unlist(lapply(parsed[plain], `[[`, "columns"))
  # Holes are numbered by column of the data: the formula has that order, and so have the priors.
  columns <- intersect(names(golden$data), c(predictors, penalised, selected))
  own <- order(match(spec$fixed, names(golden$data), nomatch = 0L))
  fixed <- c(quote_name(columns), bars)
  start <- if ("(Intercept)" %in% spec$fixed) "1" else "0"
  list(
    formula = stats::as.formula(paste("y ~", paste(c(start, fixed), collapse = " + "))),
    penalty = if (any(plain)) "learn" else "none",
    prior = do.call(bsvm_prior, c(
      list(beta_var = beta$var[own], beta_mean = beta$mean[own]), constants,
      golden_structured_prior(spec)
    )),
    select = if (length(selected) > 0) {
      stats::as.formula(paste("~", paste(quote_name(selected), collapse = "+")))
    } else {
      FALSE
    },
    starts = c(spec$selection$gamma_start, 1)[1],
    missing = if (is.null(spec$missing)) "fail" else "model", parsed = parsed, plain = plain
  )
}

golden_structured_prior <- function(spec) {
  selection <- spec$selection
  out <- list(rho = selection[["rho"]], rho_beta = selection$rho_beta_prior)
  missing <- spec$missing
  if (!is.null(missing)) {
    out$x_mean_var <- missing$sigma2_mu
    out$x_df <- missing$nu_x
    out$x_scale <- matrix(as.double(unlist(missing$S_x)), nrow(missing$S_x))
  }
  Filter(Negate(is.null), out)
}

golden_fit <- function(golden, call, ..., method = "vb") {
  data <- golden$data
  data$golden_weight <- golden_weights(golden)
  for (block in call$parsed) {
    g <- block$group
    if (!is.null(g)) data[[g]] <- factor(data[[g]])
  }
  suppressWarnings(
    flat(bsvm)(
      call$formula, data, penalty = call$penalty, select = call$select, missing = call$missing,
      prior = call$prior, standardize = FALSE, starts = call$starts, polish = FALSE,
      learning_rate = 1, weights = golden_weight, threads = 1, progress = FALSE, ...,
      method = method
    ),
    classes = "bayeskernel_warning_learning_rate"
  )
}

# Position of each golden name in (theta, eliminated effects) of a fit.
golden_fit_vb <- function(golden, call, ...) {
  fit <- golden_fit(golden, call, ...)
  posterior <- fit$posterior
  wide <- posterior$wide
  theta <- unfold_wide(
    posterior$theta_mean, posterior$theta_cov, wide$basis, wide$first, wide$hidden_var
  )
  p <- length(theta$mean)
  random <- posterior$random
  out <- Filter(function(term) term$eliminated, random)
  joint <- if (length(out) == 0) {
    theta
  } else {
    loading <- aperm(out[[1]]$loading, c(2, 1, 3))
    joint_gaussian(
      theta$mean, theta$covariance, t(out[[1]]$mean),
      matrix(loading, p), matrix(out[[1]]$schur, nrow(out[[1]]$schur))
    )
  }
  at <- fit_positions(golden, fit, p)
  # Components: the penalty first, then the random terms in their order.
  variance <- vector("list", length(call$parsed))
  variance[order(!call$plain)] <- posterior$variance
  list(
    mean = joint$mean[at], covariance = joint$covariance[at, at, drop = FALSE],
    elbo = fit$trace$elbo, variance = variance,
    selection = fit$posterior$selection, holes = fit$posterior$holes, fit = fit
  )
}

fit_positions <- function(golden, fit, p) {
  parsed <- golden_blocks(golden$spec)
  columns <- fit$design$columns
  at <- match(golden$spec$fixed, columns)
  term <- 0L
  for (block in parsed) {
    if (is.null(block$group)) {
      at <- c(at, match(block$columns, columns))
      next
    }
    term <- term + 1L
    random <- fit$posterior$random[[term]]
    stopifnot(setequal(random$columns, block$columns))
    r <- length(random$columns)
    # Golden order is group by group, columns as in the spec.
    inside <- match(block$columns, random$columns)
    groups <- match(seq_along(random$levels), as.integer(random$levels))
    own <- unlist(lapply(groups, function(g) (g - 1) * r + inside))
    at <- c(at, if (random$eliminated) p + own else random$index[own])
  }
  c(at, match(golden$spec$selection$columns, columns))
}

# --- draws -------------------------------------------------------------------

# Draws of the golden parameters, iterations x chains x parameters, from an array of the core
# (`theta` positions as in golden_core_input()).
golden_core_gibbs <- function(golden, ...) {
  input <- golden_core_input(golden)
  core <- bsvm_gibbs_cpp(input$data, input$prior, golden_settings(...))
  p <- ncol(input$data$x)
  # Variables: columns of x, members of random terms, then the components.
  at <- p
  member_first <- list()
  for (k in seq_along(input$prior$blocks)) {
    block <- input$prior$blocks[[k]]
    if (length(input$prior$transforms[[k]]) == 0) next
    member_first[[length(member_first) + 1L]] <- c(if (block$eliminated) NA else block$first, at)
    at <- at + block$members * block$width
  }
  theta <- vapply(input$theta, function(position) {
    for (pair in member_first) {
      if (position < 0 && is.na(pair[1])) return(pair[2] - position)
    }
    if (position <= p) return(position)
    start <- Filter(function(pair) !is.na(pair[1]) && position > pair[1], member_first)
    pair <- start[[length(start)]]
    pair[2] + position - pair[1]
  }, numeric(1))
  variance <- vector("list", length(input$block_order))
  for (k in seq_along(input$prior$blocks)) {
    r <- input$prior$blocks[[k]]$width
    size <- r * (r + 1) / 2
    variance[[input$block_order[k]]] <- at + seq_len(size)
    at <- at + size
  }
  extra <- golden_extra_positions(golden, at)
  stopifnot(max(at, unlist(extra)) == dim(core$draws)[3])
  golden_parameters(golden, core$draws, theta, variance, extra)
}

# Places of what selection and holes add behind the first `at` variables.
golden_extra_positions <- function(golden, at) {
  selection <- golden$spec$selection
  out <- list()
  take <- function(count) {
    at <<- at + count
    at - count + seq_len(count)
  }
  if (!is.null(selection)) {
    out$sv2 <- take(1)
    if (!is.null(selection$rho_beta_prior)) out$rho <- take(1)
    out$prob <- take(length(selection$columns))
  }
  if (!is.null(golden$spec$missing)) {
    values <- golden$data[golden_predictors(golden)]
    size <- length(values)
    out$mux <- take(size)
    full <- matrix(0, size, size)
    full[lower.tri(full, diag = TRUE)] <- take(size * (size + 1) / 2)
    # The files have the upper triangle, column by column.
    out$Sx <- t(full)[upper.tri(full, diag = TRUE)]
    out$xmis <- take(sum(is.na(values)))
  }
  out
}

golden_fit_gibbs <- function(golden, call, ...) {
  fit <- golden_fit(golden, call, method = "gibbs", ...)
  names <- dimnames(fit$draws)[[3]]
  theta <- match(golden$spec$fixed, names)
  variance <- list()
  for (l in seq_along(call$parsed)) {
    block <- call$parsed[[l]]
    if (is.null(block$group)) {
      theta <- c(theta, match(block$columns, names))
      variance[[l]] <- match("sigma2[penalty]", names)
      next
    }
    groups <- seq_len(max(golden$data[[block$group]]))
    theta <- c(theta, match(sprintf(
      "b[%s %s:%d]", rep(block$columns, length(groups)), block$group,
      rep(groups, each = length(block$columns))
    ), names))
    pairs <- which(lower.tri(diag(length(block$columns)), diag = TRUE), arr.ind = TRUE)
    variance[[l]] <- match(sprintf(
      "Sigma[%s:%s,%s]", block$group, block$columns[pairs[, 1]], block$columns[pairs[, 2]]
    ), names)
  }
  theta <- c(theta, match(golden$spec$selection$columns, names))
  stopifnot(!anyNA(c(theta, unlist(variance))))
  extra <- list()
  if (golden_structured(golden$spec)) {
    first <- match(c("sigma2[selection]", paste0(
      "mu_x[", golden_predictors(golden)[1], "]"
    )), names)
    extra <- golden_extra_positions(golden, min(first, na.rm = TRUE) - 1)
    stopifnot(max(unlist(extra)) == length(names))
  }
  golden_parameters(golden, fit$draws, theta, variance, extra)
}

# Adds the functions of the components that the golden files hold.
golden_parameters <- function(golden, draws, theta, variance, extra) {
  wanted <- golden$gibbs$parameter
  selected <- utils::tail(theta, length(golden$spec$selection$columns))
  out <- lapply(wanted, function(name) {
    if (name %in% c("rho", "log_sv2", "inv_sv2")) {
      value <- draws[, , if (name == "rho") extra$rho else extra$sv2]
      return(switch(name, rho = value, log_sv2 = log(value), inv_sv2 = 1 / value))
    }
    place <- regmatches(name, regexec("^(eff|gam|prob|mux|Sx|xmis)([0-9]+)$", name))[[1]]
    if (length(place) > 0) {
      k <- as.integer(place[3])
      return(switch(place[2],
        eff = draws[, , selected[k]], gam = draws[, , selected[k]] != 0,
        draws[, , extra[[place[2]]][k]]
      ))
    }
    if (name %in% golden$vb$names) return(draws[, , theta[match(name, golden$vb$names)]])
    parts <- regmatches(name, regexec("^(log_var|inv_var|var)([0-9]+)[.]([0-9]+)$", name))[[1]]
    if (length(parts) == 0) stop("unknown golden parameter ", name)
    at <- variance[[as.integer(parts[3])]]
    r <- (sqrt(8 * length(at) + 1) - 1) / 2
    full <- matrix(0, r, r)
    full[lower.tri(full, diag = TRUE)] <- at
    full[upper.tri(full)] <- t(full)[upper.tri(full)]
    value <- draws[, , full[as.integer(parts[4])]]
    switch(parts[2], log_var = log(value), inv_var = 1 / value, var = value)
  })
  array(unlist(out), c(dim(draws)[1:2], length(wanted)), list(NULL, NULL, wanted))
}
