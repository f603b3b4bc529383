# From a case of golden/families to what the core reads. The spec says which blocks there are, in
# words.

# The numbers that stand for the # of a pattern.
golden_numbers <- function(text, pattern) {
  pattern <- gsub("#", "([0-9.]+(?:e[-+]?[0-9]+)?)", pattern, fixed = TRUE)
  as.double(regmatches(text, regexec(pattern, text, perl = TRUE))[[1]][-1])
}

# "fixed: 1 x1 (precision 0.1); iid IG(2,2): groups; unstructured (intercept, x1) by group, IW(nu =
# 4, S = I)" as a list, one element for each part.
golden_family_blocks <- function(text) {
  lapply(trimws(strsplit(text, ";")[[1]]), function(part) {
    number <- function(pattern) golden_numbers(part, pattern)
    kind <- sub("[^a-z].*$", "", part)
    switch(kind,
      fixed = list(
        kind = kind, precision = number("precision #"),
        columns = strsplit(trimws(gsub("^fixed:?|[(].*$", "", part)), " +")[[1]]
      ),
      iid = list(
        kind = kind, prior = number("IG[(]#, *#[)]"),
        columns = strsplit(trimws(sub("^.*:", "", part)), " +")[[1]]
      ),
      unstructured = list(
        kind = kind, df = number("nu = #"), scale = c(number("S = # *[*]? *I"), 1)[1],
        columns = sub("^intercept$", "1", strsplit(gsub("^[^(]*[(]|[)].*$", "", part), ", *")[[1]])
      )
    )
  })
}

# A column by its name: "1", "x1" or "x1*x2".
golden_family_column <- function(name, table) {
  if (name == "1") return(rep(1, nrow(table)))
  factors <- as.matrix(table[strsplit(name, "*", fixed = TRUE)[[1]]])
  apply(factors, 1, prod)
}

golden_family_matrix <- function(names, table) {
  columns <- vapply(names, golden_family_column, numeric(nrow(table)), table)
  matrix(columns, nrow(table), length(names))
}

# Whitened features of inducing points and the share of a process that they leave open.
golden_features <- function(points, inducing, lengthscale) {
  scaled <- function(x) sweep(as.matrix(x), 2, lengthscale, "/")
  kernel <- function(a, b) {
    exp(-0.5 * outer(seq_len(nrow(a)), seq_len(nrow(b)), Vectorize(
      function(i, j) sum((a[i, ] - b[j, ])^2)
    )))
  }
  z <- scaled(inducing)
  root <- t(chol(kernel(z, z) + diag(1e-6, nrow(z))))
  features <- t(forwardsolve(root, kernel(z, scaled(points))))
  list(x = features, open = pmax(1 - rowSums(features^2), 0))
}

# list(data, prior, noise): the first two as bsvm_vb_cpp() reads them. Theta has the order of the
# golden numbers, group effects behind.
golden_family_input <- function(golden) {
  spec <- golden$spec
  data <- golden$data
  table <- data
  atoms <- NULL
  if (!is.null(golden$atoms)) {
    # Rows are atoms from here on.
    atoms <- list(row = as.integer(golden$atoms$row), log_prior = golden$atoms$log_weight)
    table <- data[atoms$row, , drop = FALSE]
    own <- setdiff(names(golden$atoms), c("row", "log_weight"))
    table[own] <- golden$atoms[own]
  }
  n <- nrow(table)
  blocks <- list()
  random <- NULL
  selection <- NULL
  open <- NULL
  if (!is.null(spec$gp)) {
    features <- golden_features(data[golden_predictors(golden)], golden$inducing, spec$lengthscale)
    x <- cbind(1, features$x)
    precision <- c(spec$fixed_precision, numeric(ncol(features$x)))
    open <- matrix(features$open)
    blocks <- list(list(
      kind = "point", eliminated = FALSE, first = 1L, members = ncol(features$x), width = 1L,
      shape = spec$gp$A, rate = spec$gp$B
    ))
  } else if (!is.null(spec$selection)) {
    fixed <- golden_family_blocks(paste("fixed:", spec$fixed))[[1]]
    x <- golden_family_matrix(c(fixed$columns, spec$selection), table)
    precision <- c(rep(fixed$precision, length(fixed$columns)), 0 * seq_along(spec$selection))
    selection <- list(
      columns = length(fixed$columns) + seq_along(spec$selection) - 1L, shape = spec$A,
      rate = spec$B, rho = spec$rho, rho_beta = numeric(), start = 1
    )
  } else if (is.null(spec$blocks)) {
    x <- golden_family_matrix(spec$columns, table)
    precision <- spec$prior_precision_diag
  } else {
    x <- matrix(0, n, 0)
    precision <- numeric()
    for (block in golden_family_blocks(spec$blocks)) {
      if (block$kind == "fixed") {
        x <- cbind(x, golden_family_matrix(block$columns, table))
        precision <- c(precision, rep(block$precision, length(block$columns)))
        next
      }
      own <- c(list(kind = block$kind), if (block$kind == "iid") {
        list(shape = block$prior[1], rate = block$prior[2])
      } else {
        list(df = block$df, scale = diag(block$scale, length(block$columns)))
      })
      groups <- block$kind == "unstructured" || block$columns[1] == "groups"
      if (groups) {
        columns <- if (block$kind == "iid") "1" else block$columns
        random <- list(
          z = golden_family_matrix(columns, table), group = table$group, n = max(data$group)
        )
        own$members <- random$n
        own$width <- length(columns)
        own$first <- ncol(x)
      } else {
        own$first <- ncol(x)
        own$members <- length(block$columns)
        own$width <- 1L
        x <- cbind(x, golden_family_matrix(block$columns, table))
        precision <- c(precision, numeric(length(block$columns)))
      }
      own$eliminated <- groups
      blocks <- c(blocks, list(own))
    }
  }
  column <- function(name, default) {
    if (is.null(table[[name]])) rep(default, n) else as.double(table[[name]])
  }
  mean <- numeric(ncol(x))
  if (!is.null(spec$prior_mean)) mean <- spec$prior_mean
  list(
    data = list(
      x = unname(x), center = numeric(ncol(x)), scale = rep(1, ncol(x)), y = as.double(table$y),
      weights = column("weight", 1), offset = column("offset", 0), kept = list(),
      selection = selection, z = if (is.null(random)) matrix(0, n, 0) else random$z,
      group = as.integer(random$group), n_groups = c(random$n, 0L)[1], open = open, atoms = atoms
    ),
    prior = list(
      precision = as.double(precision), mean = as.double(mean), blocks = blocks,
      transforms = lapply(blocks, function(block) {
        if (block$eliminated) diag(1, block$width) else matrix(0, 0, 0)
      })
    ),
    noise = if (length(spec$noise) > 0) list(shape = spec$noise$A, rate = spec$noise$B)
  )
}
