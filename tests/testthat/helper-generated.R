# Generated bad input: random calls of the functions that users have, with arguments mutated in
# random places. Whatever comes in, a call answers, or raises an error of this package, in time and
# without a NaN that nobody put in.

odd_values <- function() {
  list(
    NULL, NA, NaN, Inf, -Inf, -1, 0, 0.5, 1e9, 1e308, -1e308, 5e-324, 2^31, "", "a", "\xff", "y",
    NA_character_, character(), numeric(), list(), list(1, "a"), TRUE, c(TRUE, NA), letters, 1:3,
    c(a = 1, a = 2), raw(3), 1i, mean, quote(x), y ~ nothing, ~., y ~ ., y ~ a + (1 | g) + s(b),
    factor(character()), gl(3, 10), factor(rep("b", 30)), matrix(0, 0, 3), matrix(NA_real_, 30, 2),
    matrix("a", 2, 2), data.frame(), mtcars, new.env(), as.Date("2020-01-01"),
    structure(list(), class = "bsvm"), structure(1, class = "row_source"),
    structure(list(kind = "rbf"), class = "bayeskernel_kernel"), expression(a),
    array(1, c(2, 2, 2)), rep(1e200, 30), seq_len(30) / 0, strrep("long ", 500)
  )
}

any_of <- function(x) x[[sample.int(length(x), 1L)]]

# The value changed in one place, by its kind; lists and fits at any depth.
mutate <- function(x) {
  if (stats::runif(1) < 0.3 || length(x) == 0L || is.numeric_version(x)) {
    any_of(odd_values())
  } else if (is.list(x)) {
    at <- sample.int(length(x), 1L)
    x[at] <- any_of(list(NULL, list(NULL), list(mutate(x[[at]]))))
    x
  } else if (is.atomic(x)) {
    mutate_vector(x)
  } else {
    any_of(odd_values())
  }
}

mutate_vector <- function(x) {
  at <- sample.int(length(x), 1L)
  odd <- any_of(list(NA, NaN, Inf, -Inf, 1e308, -1, 0, 1e9, 0.5, "\xff"))
  switch(sample.int(8L, 1L),
    replace(x, at, odd),
    replace(x, at, odd),
    x[-at],
    c(x, x[at]),
    as.character(x),
    as.list(x),
    stats::setNames(x, rep("\xff", length(x))),
    -x * 1e160
  )
}

# Calls that work: a function and its arguments.
generated_calls <- function(folder) {
  set.seed(1)
  d <- data.frame(
    a = stats::rnorm(30), b = stats::runif(30), g = gl(5, 6), k = gl(2, 1, 30, c("u", "v"))
  )
  d$y <- factor(d$a + stats::rlogis(30) > 0, labels = c("no", "yes"))
  d$z <- d$a + stats::rnorm(30) / 3
  d$o <- factor(cut(d$z, 3), labels = letters[1:3], ordered = TRUE)
  holed <- transform(d, a = replace(a, 3:5, NA))
  x <- as.matrix(d[c("a", "b")])
  p <- stats::runif(30)
  file <- file.path(folder, "rows.csv")
  utils::write.csv(d[c("a", "b", "y")], file, row.names = FALSE)
  call <- function(name, ...) list(name, list(...))
  quick <- function(...) call(..., seed = 1, threads = 1)
  short <- function(...) quick(..., chains = 1, ndraws = 30, control = list(warmup = 20))
  fits <- list(
    quick("bsvm", y ~ a + s(b, k = 5) + (a | g), data = d, model = TRUE),
    quick("bsvm", y ~ a + b + k, data = d, select = TRUE),
    quick("bsvm", y ~ a + b, data = holed, missing = "model"),
    short("bsvm", y ~ a + (1 | g), data = d, method = "gibbs"),
    quick("bsvm", x, d$y, method = "svi", control = list(batch_size = 10)),
    quick("bsvm", row_source(x, d$y)),
    quick("gpsvm", y ~ a + b + k, data = d, kernel = rbf(ard = TRUE), inducing = 6),
    quick("gpsvm", x, d$o, inducing = 6, model = TRUE),
    short("gpsvm", x, d$y, method = "gibbs", inducing = 5),
    quick("gpsvm", kernel_matrix(rbf(1), x), d$y, kernel = precomputed()),
    short("bark", z ~ a + b + k, data = d),
    short("bark", x, d$y, family = "binomial", select = TRUE),
    short("bark", o ~ a, data = d, family = "ordinal"),
    quick("bkm", y ~ a + s(b, k = 5) + (1 | g), data = d, family = "logit"),
    quick("bkm", z ~ a + b + (1 | g), data = d, family = "gaussian"),
    quick("bkm", y ~ a + b, data = holed, family = "probit", missing = "model"),
    quick("bkm", y ~ a + (1 | g), data = d, family = "logit", method = "vb"),
    short("bkm", y ~ a + (a | g), data = d, family = "logit", method = "gibbs"),
    quick("bkm", y ~ a + b, data = d, family = "hinge"),
    quick("bkm", y ~ gp(a, inducing = 5) + b + (1 | g), data = d, family = "probit"),
    quick("bkm", z ~ gp(a, by = b, inducing = 6), data = d)
  )
  made <- suppressWarnings(lapply(fits, function(fit) do.call(fit[[1]], fit[[2]])))
  plain <- list(
    call("auc", d$y, p), call("balanced_error", d$y, d$y), call("brier_score", d$y, p),
    call("log_loss", d$y, p), call("calibration", d$y, p, bins = 5), call("rbf", 1, 1, FALSE),
    call("kernel_matrix", rbf(1) + linear(2), x, x[1:3, ], threads = 1), call("linear", 1),
    call("polynomial", 2, 1, 1), call("matern", 1.5, 1, 1, FALSE, 1), call("periodic", 2, 1, 1, 1),
    call("categorical", 1, 1), call("levy", 1, 5, 0.5), call("kernel_parameters", rbf(1)),
    call("markov", 0.2, 0.15, NULL),
    call("bark_prior", alpha = 1, gamma = 5, epsilon = 0.5, inclusion = c(1, 1)),
    call("bsvm_prior", beta_var = 1, var_shape = 1, rho = 0.5, cov_df = 4),
    call("gpsvm_prior", lengthscale = c(0.1, 10), variance = c(0.1, 10)),
    call("row_source", file, "y", ","), call("row_source", d[c("a", "b", "y")], "y"),
    call("inclusion_path", made[[2]], rho = c(0.1, 0.5)),
    quick("bsvm", y ~ a, d, weights = p, subset = p > 0.1, offset = p),
    call("bkm_prior", beta_var = 1, var_shape = 1), call("anova", made[[14]], made[[15]]),
    quick("exposure", made[[14]], ndraws = 20),
    quick("bkm", cbind(s, f) ~ a, transform(d, s = 2, f = 1), weights = p),
    quick("bsvm", cbind(s, f) ~ a, transform(d, s = +(a > 0), f = 1)),
    quick("gpsvm", x, d$y, weights = p, kernel = linear(), tune = "bound", inducing = 4),
    short("bark", x, d$z, prior = bark_prior(), scales = "equal", select = TRUE,
      structure = markov(0.2, 0.2)
    )
  )
  of_fit <- function() {
    at <- sample.int(length(made), 1L)
    fit <- made[[at]]
    new <- if (at == 10L) fits[[at]][[2]][[1]][1:4, ] else d[1:4, ]
    pictures <- c("bound", "trace", "coef", "calibration", "partial", "boundary")
    generic <- any_of(c(
      "summary", "print", "plot", "fitted", "residuals", "tidy", "glance", "coef", "vcov", "fixef",
      "ranef", "VarCorr", "confint", "elbo", "inclusion", "imputed", "nobs", "weights", "formula",
      "terms", "model.frame", "as.mcmc", "as.matrix", "as.array", "kernel_parameters", "logLik",
      "log_evidence", "family", "sigma", "model.matrix", "simulate"
    ))
    any_of(list(
      call("predict", fit, new, type = "prob", draws = FALSE),
      call("predict", fit, new, type = "link", se.fit = TRUE),
      call("predict", fit, new, draws = TRUE, ndraws = 5, seed = 1),
      call("predict", fit, new, interval = "credible", level = 0.9),
      call("predict", fit, row_source(x)), call("summary", fit, new, d$y[1:4]),
      call("plot", fit, any_of(pictures), main = "m"), call("augment", fit, d),
      call("plot", fit, "calibration", newdata = d, y = d$y, bins = 4),
      call("print", fit, digits = 3), call("tidy", fit, conf.level = 0.9),
      call(generic, fit), call(generic, fit), call(generic, fit),
      list(fits[[at]][[1]], utils::modifyList(
        fits[[at]][[2]], list(control = list(warmup = 20, resume = fit))
      ))
    ))
  }
  function() if (stats::runif(1) < 0.5) any_of(c(plain, fits)) else of_fit()
}

# Call number `i`, one or two of its arguments mutated.
generated_call <- function(calls, seed, i) {
  set.seed(seed * 1e6 + i)
  call <- calls()
  for (at in sample.int(length(call[[2]]), min(length(call[[2]]), sample.int(2L, 1L)))) {
    changed <- tryCatch(
      suppressWarnings(mutate(call[[2]][[at]])), error = function(e) any_of(odd_values())
    )
    # What is no fit is not for methods of fits; a long run asked for is no defect.
    stays <- inherits(call[[2]][[at]], "bayeskernel_fit") && !inherits(changed, "bayeskernel_fit")
    long <- isTRUE(names(call[[2]])[at] %in% c("warmup", "draws", "chains")) &&
      is.numeric(changed) && isTRUE(any(changed > 1e4))
    if (!stays && !long) call[[2]][at] <- list(changed)
  }
  call
}

holds <- function(x, what) {
  if (is.list(x)) any(vapply(unclass(x), holds, NA, what)) else is.numeric(x) && any(what(x))
}

# What is wrong with how a call ends; NULL for nothing.
generated_defect <- function(call, limit) {
  setTimeLimit(cpu = limit, transient = TRUE)
  on.exit(setTimeLimit())
  value <- tryCatch(
    suppressMessages(suppressWarnings({
      value <- do.call(call[[1]], call[[2]], quote = TRUE)
      if (!is.function(value)) utils::capture.output(print(value))
      value
    })),
    error = identity
  )
  if (inherits(value, "error") && !inherits(value, "bayeskernel_error")) {
    paste(deparse1(conditionCall(value)[[1]]), conditionMessage(value))
  } else if (!inherits(value, "error") && holds(value, is.nan) &&
    !holds(call[[2]], function(x) !is.finite(x))) {
    "NaN"
  }
}

# The defects of the calls numbered `numbers`, a data frame; NULL for none.
run_generated <- function(seed, numbers, limit = 20, log = NULL) {
  folder <- tempfile("generated")
  dir.create(folder)
  calls <- generated_calls(folder)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  do.call(rbind, lapply(numbers, function(i) {
    call <- generated_call(calls, seed, i)
    if (!is.null(log)) cat(i, call[[1]], "\n", file = log)
    # Of the processor: a test machine may be busy with something else.
    seconds <- sum(system.time(
      defect <- tryCatch(generated_defect(call, limit), error = conditionMessage)
    )[1:2])
    setTimeLimit()
    if (seconds > limit) defect <- paste("took", seconds, "s")
    if (!is.null(defect)) {
      data.frame(number = i, call = call[[1]], defect = substr(defect, 1L, 300L))
    }
  }))
}
