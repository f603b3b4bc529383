# Cases of golden/mkprobit: what is run follows from the json, sizes from the csv files, which have
# no header.

mkprobit_cases <- function(kind) {
  file <- file.path(golden_folder("mkprobit"), sprintf("cases_%s.json", kind))
  if (!file.exists(file)) return(list())
  jsonlite::fromJSON(file, simplifyVector = FALSE)
}

mkprobit_numbers <- function(case, part) {
  file <- file.path(golden_folder("mkprobit"), sprintf("%s_%s.csv", case$name, part))
  unname(as.matrix(utils::read.csv(file, header = FALSE)))
}

# Spaces at the rows of the fit, or new ones; kernels with the case's theta: rbf is exp(-sum theta
# (x - z)^2), the others have theta in their columns.
mkprobit_spaces <- function(case, part = "X") {
  spaces <- lapply(seq_along(case$sources), function(s) {
    x <- mkprobit_numbers(case, paste0(part, s))
    theta <- as.double(unlist(case$sources[[s]]$theta))
    if (case$sources[[s]]$type %in% c("poly", "linear")) {
      x <- x * rep(sqrt(rep_len(theta, ncol(x))), each = nrow(x))
    }
    colnames(x) <- paste0("x", seq_len(ncol(x)))
    x
  })
  stats::setNames(spaces, paste0("s", seq_along(spaces)))
}

mkprobit_kernels <- function(case) {
  lapply(case$sources, function(source) {
    theta <- as.double(unlist(source$theta))
    switch(source$type,
      rbf = rbf(1 / sqrt(2 * theta)), linear = linear(), basis = basis(),
      poly = polynomial(as.integer(source$degree), as.double(source$offset)),
      stop("a kernel that the tests do not know: ", source$type)
    )
  })
}

mkprobit_case_fit <- function(case, prior, ...) {
  beta <- as.double(unlist(case$beta))
  flat(mkprobit)(
    coefficients = "weights", mkprobit_spaces(case),
    factor(mkprobit_numbers(case, "t"), seq_len(case$C)), kernel = mkprobit_kernels(case),
    combine = case$composite, kernel_weights = if (length(beta)) beta else "learn", prior = prior,
    standardize = FALSE, threads = 1, seed = 1, ...
  )
}
