# Golden cases of golden/bkm: fixed effects, processes, random effects, correlated units and rows
# with holes together. Everything follows from a case's `spec`.

read_golden_bkm <- function(case) {
  path <- function(name) file.path(golden_folder("bkm"), name)
  read <- function(suffix) {
    file <- path(paste0(case, suffix))
    if (file.exists(file)) utils::read.csv(file, check.names = FALSE)
  }
  out <- jsonlite::fromJSON(path(paste0(case, ".json")), simplifyDataFrame = FALSE)
  out$data <- read("_data.csv")
  out$data$weight <- either(out$data$weight, 1)
  out$atoms <- read("_atoms.csv")
  out$unit <- if (!is.null(out$spec$correlated)) read("_unit.csv")$unit
  out$spec$gp <- lapply(out$spec$gp, function(gp) {
    if (is.character(gp$inducing)) {
      gp$inducing <- utils::read.csv(path(gp$inducing))[gp$columns]
    } else {
      points <- matrix(unlist(gp$inducing), ncol = length(gp$columns))
      gp$inducing <- stats::setNames(as.data.frame(points), gp$columns)
    }
    gp$columns <- unlist(gp$columns)
    gp$lengthscale <- unlist(gp$lengthscale)
    gp
  })
  out
}

# Read from a text such as "G[a,b] = exp(-|a-b|/3), 8 units".
golden_unit_covariance <- function(text) {
  count <- golden_numbers(text, "# units")
  distance <- abs(outer(seq_len(count), seq_len(count), "-"))
  exp(-distance / golden_numbers(text, "/#[)]"))
}

# Columns of rows: list(x, open, centre, terms), where `terms` are what process_learn_cpp() reads;
# `centre`: NULL to take it from these rows, which weigh `weight` in it.
golden_bkm_columns <- function(golden, table, unit, weight, centre = NULL) {
  spec <- golden$spec
  n <- nrow(table)
  x <- matrix(
    vapply(unlist(spec$fixed), function(name) {
      if (name == "1") rep(1, n) else as.double(table[[name]])
    }, numeric(n)), n
  )
  terms <- open <- centres <- list()
  for (k in seq_along(spec$gp)) {
    gp <- spec$gp[[k]]
    kernel <- kernel_to_core(rbf(gp$lengthscale, ard = TRUE), length(gp$columns))
    at <- as.matrix(table[gp$columns]) + 0
    found <- process_features_cpp(kernel, as.matrix(gp$inducing) + 0, at, 1L)
    by <- if (!is.null(gp$by)) as.double(table[[gp$by]])
    centred <- isTRUE(gp$centre)
    own <- if (centred) weight / sum(weight)
    centres[[k]] <- if (!is.null(centre)) {
      centre[[k]]
    } else if (centred) {
      colSums(found$x * own)
    } else {
      numeric(ncol(found$x))
    }
    terms[[k]] <- list(
      first = ncol(x), x = at, z = as.matrix(gp$inducing) + 0, by = as.double(by),
      centre_weight = as.double(own), kernel = kernel, free = 1L + seq_along(gp$lengthscale)
    )
    multiple <- by %||% rep(1, n)
    columns <- (found$x - rep(centres[[k]], each = n)) * multiple
    open[[k]] <- found$open * multiple^2
    x <- cbind(x, columns)
  }
  if (!is.null(spec$correlated)) {
    root <- t(chol(golden_unit_covariance(spec$correlated$G)))
    own <- root[unit, , drop = FALSE]
    own[is.na(own)] <- 0
    x <- cbind(x, own)
  }
  list(x = unname(x), open = do.call(cbind, open), centre = centres, terms = terms)
}

golden_bkm_random <- function(golden, table) {
  n <- nrow(table)
  matrix(vapply(unlist(golden$spec$random$columns), function(name) {
    if (name == "1") rep(1, n) else as.double(table[[name]])
  }, numeric(n)), n)
}

# list(data, prior, columns) as bsvm_vb_cpp() reads the first two. Rows with holes are their atoms;
# without `feedback` atoms are rows of their weights.
golden_bkm_input <- function(golden, feedback = TRUE) {
  spec <- golden$spec
  table <- golden$data
  weight <- as.double(table$weight)
  share <- rep(1, nrow(table))
  unit <- golden$unit
  atoms <- NULL
  if (!is.null(golden$atoms)) {
    at <- golden$atoms$row
    table <- table[at, ]
    own <- setdiff(names(golden$atoms), c("row", "log_weight"))
    table[own] <- golden$atoms[own]
    weight <- weight[at]
    unit <- unit[at]
    share <- exp(golden$atoms$log_weight)
    atoms <- list(row = as.integer(at), log_prior = golden$atoms$log_weight)
  }
  if (!feedback) {
    weight <- weight * share
    atoms <- NULL
  }
  columns <- golden_bkm_columns(golden, table, unit, share)
  x <- columns$x
  p0 <- length(spec$fixed)
  blocks <- lapply(seq_along(spec$gp), function(k) {
    gp <- spec$gp[[k]]
    list(
      kind = "point", eliminated = FALSE, first = as.integer(columns$terms[[k]]$first),
      members = nrow(gp$inducing), width = 1L, shape = gp$A, rate = gp$B
    )
  })
  if (!is.null(spec$correlated)) {
    q <- ncol(golden_unit_covariance(spec$correlated$G))
    blocks <- c(blocks, list(list(
      kind = "iid", eliminated = FALSE, first = ncol(x) - q, members = q,
      width = 1L, shape = spec$correlated$A, rate = spec$correlated$B
    )))
  }
  r <- length(unlist(spec$random$columns))
  groups <- max(golden$data[[spec$random$group]])
  scale <- matrix(as.double(unlist(spec$random$S)), r, r)
  blocks <- c(blocks, list(list(
    kind = "unstructured", eliminated = TRUE, first = ncol(x), members = groups,
    width = r, df = spec$random$nu, scale = scale
  )))
  list(
    columns = columns,
    data = list(
      x = x, center = numeric(ncol(x)), scale = rep(1, ncol(x)), y = as.double(table$y),
      weights = weight, offset = numeric(nrow(x)), kept = list(),
      z = golden_bkm_random(golden, table), group = as.integer(table[[spec$random$group]]),
      n_groups = groups, open = columns$open, atoms = atoms
    ),
    prior = list(
      precision = c(unlist(spec$fixed_precision), numeric(ncol(x) - p0)),
      mean = numeric(ncol(x)), blocks = blocks,
      transforms = lapply(blocks, function(block) {
        if (block$eliminated) diag(1, block$width) else matrix(0, 0, 0)
      })
    )
  )
}

# Shape and rate of all variances, or NULL where they differ between terms or a term is not centred
# as bkm() does it.
golden_bkm_variances <- function(spec) {
  centred <- vapply(spec$gp, function(gp) isTRUE(gp$centre), NA)
  numeric_by <- vapply(spec$gp, function(gp) !is.null(gp$by), NA)
  own <- lapply(c(spec$gp, list(spec$correlated)), function(term) c(term$A, term$B))
  if (length(unlist(spec$random$columns)) == 1L) {
    own <- c(own, list(c(spec$random$nu, unlist(spec$random$S)) / 2))
  }
  own <- unique(lapply(Filter(length, own), as.double))
  if (length(own) == 1L && all(centred != numeric_by)) own[[1]]
}

golden_null <- function(x) if (is.null(x)) NA_real_ else x
