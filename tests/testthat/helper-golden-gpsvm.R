# Golden numbers of the nonlinear machine: a folder of files as golden/gpsvm/ here. A case is every
# folder under gpsvm/, itself included, that holds settings.json. Sizes and kernels are those of the
# files.

golden_gpsvm_cases <- function() {
  root <- golden_folder("gpsvm")
  files <- list.files(root, "^settings[.]json$", recursive = TRUE)
  dirname(files)
}

read_golden_gpsvm <- function(case) {
  folder <- file.path(golden_folder("gpsvm"), case)
  json <- function(name) {
    jsonlite::fromJSON(file.path(folder, name), simplifyDataFrame = FALSE, simplifyMatrix = FALSE)
  }
  table <- function(name) {
    path <- file.path(folder, paste0(name, ".csv"))
    if (file.exists(path)) utils::read.csv(path, check.names = FALSE)
  }
  settings <- json("settings.json")
  out <- c(
    list(expected = json("expected.json"), settings = settings),
    sapply(c(
      "exact_posterior", "exact_predictions", "inducing_mu", "inducing_zeta",
      "inducing_alpha", "inducing_grad_locations", "inducing_predictions"
    ), table, simplify = FALSE)
  )
  train <- table("train")
  out$y <- train$y
  predictors <- setdiff(names(train), "y")
  out$x <- as.matrix(train[predictors])
  out$new <- as.matrix(table("test")[predictors])
  out$z <- as.matrix(table("inducing")[predictors])
  out$nugget <- as.double(settings$nugget_inducing_model)
  parts <- settings$kernel
  if (!is.null(parts$variance)) parts <- list(parts)
  # One length-scale may stand for all columns whose derivatives are given.
  gradient <- out$expected$inducing$grad_loglengthscale
  width <- length(unlist(gradient)) / length(parts)
  out$parts <- lapply(parts, function(part) {
    ell <- as.double(unlist(part$lengthscale))
    part$lengthscale <- if (length(ell) < width) rep_len(ell, width) else ell
    part
  })
  out$kernel <- Reduce(`+`, lapply(out$parts, function(part) {
    rbf(part$lengthscale, as.double(part$variance))
  }))
  out
}

golden_gpsvm_fit <- function(golden, inducing, nugget = 0, ..., method = "vb", tune = FALSE) {
  flat(gpsvm)(
    golden$x, golden$y, golden$kernel, inducing = inducing, nugget = nugget, standardize = FALSE,
    threads = 1, ..., method = method, tune = tune
  )
}

# The rows and the kernel as the core reads them.
golden_gpsvm_core <- function(golden) {
  list(
    data = list(
      type = "matrix", x = unname(golden$x), labels = as.double(golden$y > 0), weights = numeric(),
      source = seq_len(ncol(golden$x)), center = numeric(ncol(golden$x)),
      scale = rep(1, ncol(golden$x))
    ),
    kernel = kernel_to_core(golden$kernel, ncol(golden$x)), z = unname(t(golden$z))
  )
}

# The gradient of the core runs over the components: log variance, then log length-scales, one or
# one a column.
split_gradient <- function(gradient, parts) {
  sizes <- vapply(parts, function(part) length(part$lengthscale), 1L)
  ends <- cumsum(1L + sizes)
  list(
    variance = gradient[ends - sizes],
    lengthscale = lapply(seq_along(parts), function(c) {
      gradient[ends[c] - sizes[c] + seq_len(sizes[c])]
    })
  )
}
