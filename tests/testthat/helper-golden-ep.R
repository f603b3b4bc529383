# The linear model of golden/ep as the core reads it. What is run follows from the `spec` of a case
# and its columns, never from its name.

ep_text <- function(spec) paste(c(spec$block, spec$blocks, spec$fixed), collapse = " ")

# Shape and rate of each variance in the text: the block's, then the noise's.
ep_variances <- function(text) {
  found <- regmatches(text, gregexpr("IG[(][^)]*[)]", text))[[1]]
  lapply(found, golden_numbers, "IG[(]#, *#[)]")
}

# The core's input: predictors as they stand, the first column 1.
ep_input <- function(golden) {
  data <- golden$data
  spec <- golden$spec
  names <- grep("^x[0-9]+$", names(data), value = TRUE)
  x <- cbind(1, as.matrix(data[names]))
  dimnames(x) <- NULL
  p <- ncol(x)
  n <- nrow(x)
  precision <- as.double(either(
    spec$prior_precision_diag, rep(either(spec$fixed_precision, NA), p)
  ))
  text <- ep_text(spec)
  if (anyNA(precision)) precision[] <- golden_numbers(text, "precision #")
  grouped <- !is.null(data$group)
  slopes <- Find(
    function(part) identical(part$kind, "unstructured"), golden_family_blocks(text)
  )
  own <- c(ep_variances(text), list(c(1, 1)))[[1]]
  block <- list(
    kind = "iid", eliminated = grouped, first = if (grouped) p else 1L,
    members = if (grouped) max(data$group) else p - 1L, width = 1L, shape = own[1], rate = own[2]
  )
  columns <- either(slopes$columns, "1")
  if (!is.null(slopes)) {
    r <- length(columns)
    block[c("kind", "width", "df", "scale")] <- list(
      "unstructured", r, slopes$df, diag(slopes$scale, r)
    )
  }
  blocks <- if (grouped || grepl("IG(", text, fixed = TRUE)) list(block)
  if (length(blocks) > 0 && !grouped) precision[-1] <- 0
  z <- if (grouped) golden_family_matrix(columns, data) else matrix(0, n, 0)
  list(
    data = list(
      x = x, center = numeric(p), scale = rep(1, p), y = as.double(data$y),
      weights = as.double(either(data$weight, rep(1, n))),
      offset = as.double(either(data$offset, numeric(n))), kept = list(),
      z = z, group = if (grouped) as.integer(data$group) else integer(),
      n_groups = if (grouped) max(data$group) else 0L
    ),
    prior = list(
      precision = precision, mean = as.double(either(spec$prior_mean, numeric(p))),
      blocks = as.list(blocks)
    )
  )
}

ep_fit <- function(golden, ...) ep_run(golden, ep_input(golden), ...)

ep_run <- function(golden, input, ..., tol = 1e-11) {
  noise <- golden$spec$noise_variance
  prior <- c(ep_variances(ep_text(golden$spec))[-1], list(c(1, 1)))[[1]]
  settings <- list(
    family = golden$family, tol = tol, max_iter = 500L, threads = 1L, progress = FALSE,
    noise = if (is.numeric(noise)) {
      list(precision = 1 / noise)
    } else {
      list(shape = prior[1], rate = prior[2])
    }
  )
  out <- linear_ep_cpp(input$data, input$prior, utils::modifyList(settings, list(...)))
  expect_true(out$status$converged)
  out
}

# Mean and covariance over theta and, group by group, the effects.
ep_joint <- function(out) {
  cross <- out$theta_cov %*% out$loading
  r <- nrow(out$schur)
  effects <- crossprod(out$loading, cross)
  for (at in seq_len(ncol(out$schur) / max(r, 1L)) * r - r) {
    own <- at + seq_len(r)
    effects[own, own] <- effects[own, own] + out$schur[, own]
  }
  list(
    mean = c(out$theta_mean, out$group_mean),
    cov = rbind(cbind(out$theta_cov, -cross), cbind(-t(cross), effects))
  )
}

expect_rows <- function(out, rows, label) {
  found <- list(
    m = out$mean, s = out$variance_f, kappa = out$sites$kappa, b = out$sites$b,
    cavity_mean = out$cavity$mean, cavity_var = out$cavity$var, loo_log = out$loo
  )
  for (name in names(found)) {
    expect_golden(found[[name]], rows[[name]], within(rows[[name]]), paste(label, name))
  }
}
