# Generated bad input: random calls of every exported function with arguments
# mutated in random places. Whatever comes in, a call answers, or raises an
# error of this package, in time and without a NaN that nobody put in.

odd_values <- function() {
  list(
    NULL, NA, NaN, Inf, -Inf, -1, 0, 0.5, 1e9, 1e308, -1e308, 5e-324, 2^31, "",
    "a", "\xff", "y", NA_character_, character(), numeric(), integer(), list(),
    list(1, "a"), TRUE, c(TRUE, NA), letters, 1:3, c(a = 1, a = 2), raw(3),
    1i, mean, quote(x), y ~ nothing, ~., y ~ ., y ~ a + (1 | g) + s(b),
    factor(character()), gl(3, 10), factor(rep("b", 30)), matrix(0, 0, 3),
    matrix(NA_real_, 30, 2), matrix("a", 2, 2), data.frame(), mtcars,
    new.env(), as.Date("2020-01-01"), Sys.time(), globalenv(),
    structure(list(), class = "bsvm"), structure(1, class = "row_source"),
    structure(list(kind = "rbf"), class = "bayeskernel_kernel"), expression(a),
    array(1, c(2, 2, 2)), rep(1e200, 30), seq_len(30) / 0, strrep("long ", 500)
  )
}

pick <- function(x) x[[sample.int(length(x), 1L)]]

# The value changed in one place, by its kind; lists and fits at any depth.
mutate <- function(x) {
  if (stats::runif(1) < 0.3 || length(x) == 0L || is.numeric_version(x)) {
    return(pick(odd_values()))
  }
  if (is.data.frame(x) && stats::runif(1) < 0.7) {
    return(mutate_frame(x))
  }
  if (is.list(x) && !is.data.frame(x)) {
    at <- sample.int(length(x), 1L)
    switch(sample.int(4L, 1L),
      x[at] <- NULL,
      x[at] <- list(NULL),
      x[at] <- list(mutate(x[[at]])),
      x[at] <- list(mutate(x[[at]]))
    )
    return(x)
  }
  if (is.atomic(x)) mutate_vector(x) else pick(odd_values())
}

mutate_vector <- function(x) {
  at <- sample.int(length(x), 1L)
  odd <- list(NA, NaN, Inf, -Inf, 1e308, -1, 0, 1e9, 0.5, "\xff")
  tryCatch(
    suppressWarnings(switch(sample.int(9L, 1L),
      replace(x, at, pick(odd)),
      replace(x, at, pick(odd)),
      x[-at],
      c(x, x[at]),
      x[0],
      as.character(x),
      as.list(x),
      stats::setNames(x, rep("\xff", length(x))),
      -x * 1e160
    )),
    error = function(e) pick(odd_values())
  )
}

mutate_frame <- function(x) {
  k <- sample.int(ncol(x), 1L)
  switch(sample.int(8L, 1L),
    x[-k],
    x[0, , drop = FALSE],
    x[1, , drop = FALSE],
    stats::setNames(x, replace(names(x), k, pick(list("\xff", "", NA, "y")))),
    {
      x[[k]] <- I(rep_len(list(1, "a"), nrow(x)))
      x
    },
    {
      x[[k]] <- rep(1, nrow(x))
      x
    },
    {
      x[[k]] <- rep_len(pick(list(raw(1), 1i, NA, "z", 1e300, mean)), nrow(x))
      x
    },
    {
      new <- mutate_vector(x[[k]])
      if (length(new) == nrow(x)) x[[k]] <- new
      x
    }
  )
}

# Functions, each with arguments that work. `fits` are in the same form.
generated_calls <- function(folder) {
  set.seed(1)
  n <- 30
  d <- data.frame(
    a = stats::rnorm(n), b = stats::runif(n), g = gl(5, 6),
    k = gl(2, 1, n, c("u", "v"))
  )
  d$y <- factor(d$a + stats::rlogis(n) > 0, labels = c("no", "yes"))
  d$z <- d$a + stats::rnorm(n) / 3
  d$o <- factor(cut(d$z, 3), labels = letters[1:3], ordered = TRUE)
  x <- as.matrix(d[c("a", "b")])
  holed <- d
  holed$a[3:5] <- NA
  file <- file.path(folder, "rows")
  write_rows(x, d$y, file)
  text <- file.path(folder, "rows.csv")
  utils::write.csv(d[c("a", "b", "y")], text, row.names = FALSE)
  p <- stats::runif(n)
  short <- list(chains = 1, warmup = 20, draws = 30, seed = 1, threads = 1)
  quick <- list(seed = 1, threads = 1)
  with <- function(f, ..., more = quick) list(f, c(list(...), more))
  fits <- list(
    vb = with("bsvm", y ~ a + s(b, k = 5) + (a | g), data = d, model = TRUE),
    select = with("bsvm", y ~ a + b + k, data = d, select = TRUE),
    holes = with("bsvm", y ~ a + b, data = holed, missing = "model"),
    gibbs = with("bsvm", y ~ a + (1 | g), data = d, method = "gibbs", more = short),
    svi = with("bsvm", x, d$y, method = "svi", batch_size = 10),
    source = with("bsvm", row_source(x, d$y)),
    gp = with("gpsvm", y ~ a + b + k, data = d, kernel = rbf(ard = TRUE), inducing = 6),
    many = with("gpsvm", x, d$o, inducing = 6, model = TRUE),
    stream = with("gpsvm", row_source(x, d$y), inducing = 5),
    sampled = with("gpsvm", x, d$y, method = "gibbs", inducing = 5, more = short),
    kernel = with("gpsvm", kernel_matrix(rbf(1), x), d$y, kernel = precomputed()),
    bark = with("bark", z ~ a + b + k, data = d, more = short),
    two = with("bark", x, d$y, family = "binomial", select = TRUE, more = short),
    ordinal = with("bark", o ~ a, data = d, family = "ordinal", more = short)
  )
  objects <- suppressWarnings(lapply(fits, function(call) do.call(call[[1]], call[[2]])))
  of_fit <- function(name) {
    fit <- objects[[name]]
    new <- if (name == "kernel") {
      fits$kernel[[2]][[1]][1:4, ]
    } else if (is.null(fit$formula)) {
      x[1:4, ]
    } else {
      d[1:4, ]
    }
    links <- if (inherits(fit, "bark")) list() else list(link = "hinge")
    types <- eval(formals(utils::getS3method("plot", class(fit)[1], optional = TRUE))$type)
    list(
      list("predict", c(list(fit, new, type = "prob"), links)),
      list("predict", list(fit, new, type = "link", se.fit = TRUE, draws = FALSE)),
      list("predict", list(fit, row_source(x))), list("summary", list(fit)),
      list("predict", list(fit, new, interval = "credible", level = 0.9)),
      list("predict", list(fit, new, draws = TRUE, n_draws = 5, seed = 1)),
      list("print", list(fit, digits = 3)), list("fitted", list(fit)),
      list("plot", list(fit, pick(c(types, "bound")), main = "m")),
      list("summary", list(fit, new, d$y[1:4])), list("residuals", list(fit)),
      list("plot", list(fit, "calibration", newdata = d, y = d$y, bins = 4)),
      list("tidy", list(fit, conf.int = TRUE, conf.level = 0.9)),
      list("glance", list(fit)), list("augment", list(fit, d)),
      list("coef", list(fit)), list("vcov", list(fit)), list("ranef", list(fit)),
      list("fixef", list(fit)), list("VarCorr", list(fit)),
      list("confint", list(fit, level = 0.9)), list("elbo", list(fit)),
      list("inclusion", list(fit)), list("imputed", list(fit)),
      list("nobs", list(fit)), list("weights", list(fit)),
      list("formula", list(fit)), list("terms", list(fit)),
      list("model.frame", list(fit)), list("as.mcmc", list(fit)),
      list("as.matrix", list(fit)), list("as.array", list(fit)),
      list("kernel_parameters", list(fit)), {
        call <- fits[[name]]
        call[[2]]$start <- fit
        call
      }
    )
  }
  plain <- list(
    list("auc", list(d$y, p)), list("balanced_error", list(d$y, d$y)),
    list("brier_score", list(d$y, p)), list("log_loss", list(d$y, p)),
    list("calibration", list(d$y, p, bins = 5)),
    list("kernel_matrix", list(rbf(1) + linear(2), x, x[1:3, ], threads = 1)),
    list("rbf", list(1, 1, FALSE)), list("linear", list(1)),
    list("polynomial", list(2, 1, 1)), list("kernel_parameters", list(rbf(1))),
    list("levy", list(1, 5, 0.5)), list("markov", list(0.2, 0.15, NULL)),
    list("bark_prior", list(alpha = 1, gamma = 5, epsilon = 0.5, inclusion = c(1, 1))),
    list("bsvm_prior", list(beta_var = 1, var_shape = 1, var_rate = 1, rho = 0.5)),
    list("gpsvm_prior", list(lengthscale = c(0.1, 10))),
    list("write_rows", list(x, d$y, file.path(folder, "new"), FALSE, "label")),
    list("row_source", list(file)), list("row_source", list(text, "y", ",")),
    list("row_source", list(d[c("a", "b", "y")], "y")),
    list("inclusion_path", list(objects$select, rho = c(0.1, 0.5))),
    list("bsvm", c(list(y ~ a, d, weights = p, subset = p > 0.1, offset = p), quick)),
    list("bsvm", c(list(cbind(g, k) ~ a, transform(d, g = +a > 0, k = 1)), quick)),
    list("gpsvm", c(list(x, d$y, weights = p, kernel = linear(), tune = TRUE, inducing = 4), quick)),
    list("bark", c(list(x, d$z, prior = bark_prior(), scales = "equal", structure = markov(0.2, 0.2), select = TRUE), short))
  )
  list(plain = c(plain, fits), fits = names(objects), of_fit = of_fit)
}

# Call number `i`: `changed` says whether it holds numbers that are not finite.
generated_call <- function(calls, seed, i) {
  set.seed(seed * 1e6 + i)
  call <- pick(if (stats::runif(1) < 0.5) calls$plain else calls$of_fit(pick(calls$fits)))
  for (k in seq_len(sample.int(2L, 1L))) {
    at <- sample.int(length(call[[2]]), 1L)
    changed <- tryCatch(
      suppressWarnings(mutate(call[[2]][[at]])),
      error = function(e) pick(odd_values())
    )
    # What is no fit is not for methods of fits.
    fit <- inherits(call[[2]][[at]], "bayeskernel_fit")
    # A long run that is asked for is no defect.
    long <- isTRUE(names(call[[2]])[at] %in% c("warmup", "draws", "chains")) &&
      is.numeric(changed) && isTRUE(any(changed > 1e4))
    if (!long && (!fit || inherits(changed, "bayeskernel_fit"))) {
      call[[2]][at] <- list(changed)
    }
  }
  call
}

holds <- function(x, what) {
  if (is.list(x)) {
    any(vapply(unclass(x), holds, NA, what))
  } else {
    is.numeric(x) && any(what(x))
  }
}

# The defects of the calls numbered `numbers`, a data frame; NULL for none.
run_generated <- function(seed, numbers, limit = 10, log = NULL) {
  folder <- tempfile("generated")
  dir.create(folder)
  calls <- generated_calls(folder)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  found <- lapply(numbers, function(i) {
    call <- generated_call(calls, seed, i)
    if (!is.null(log)) cat(i, call[[1]], "\n", file = log)
    started <- proc.time()[["elapsed"]]
    defect <- tryCatch(
      generated_defect(call, limit),
      error = function(e) conditionMessage(e)
    )
    setTimeLimit()
    seconds <- proc.time()[["elapsed"]] - started
    if (seconds > limit) defect <- paste("took", seconds, "s")
    if (!is.null(defect)) {
      data.frame(number = i, call = call[[1]], defect = substr(defect, 1L, 300L))
    }
  })
  do.call(rbind, found)
}

generated_defect <- function(call, limit) {
  setTimeLimit(elapsed = limit, transient = TRUE)
  on.exit(setTimeLimit())
  value <- tryCatch(
    suppressMessages(suppressWarnings(utils::capture.output({
      value <- do.call(call[[1]], call[[2]], quote = TRUE)
      if (!is.function(value)) print(value)
    }))),
    error = identity
  )
  infinite <- function(x) !is.finite(x)
  if (inherits(value, "error")) {
    if (!inherits(value, "bayeskernel_error")) {
      paste(deparse1(conditionCall(value)[[1]]), conditionMessage(value))
    }
  } else if (any(grepl("\\bNaN\\b", value)) && !holds(call[[2]], infinite)) {
    "NaN"
  }
}
