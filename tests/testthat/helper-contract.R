# What every fit of the package promises is tested by test-contract.R and
# test-contract-generics.R, on each of these cases. A model joins by an entry in
# contract_list():
#   data       data frame
#   fit        function of (data, ...) that fits
#   new        from a data frame to what predict() takes; default identity
#   response   column of the response: two classes or more, or a number
#   scaled     columns whose scale cannot matter
#   exact      the fit does not depend on the order of rows and columns
#   columns    fixed columns; those of smooths follow
#   imputes    a missing predictor is averaged over
#   linear     it has coefficients
#   groups     names of its grouping factors
#   links      predict() has a choice of links
#   dense      a process with a point at every row, or a stream whose rows may
#              become centres: it keeps them, and predictions know nothing of
#              the jitter that they have

contract_data <- grouped_data()
as_predictors <- function(data) as.matrix(data[c("x1", "x2")])

case <- function(name, fit, new = identity, exact = TRUE, columns = c("(Intercept)", "x1", "x2"),
                 imputes = FALSE, linear = TRUE, dense = FALSE, links = TRUE, groups = NULL,
                 data = contract_data) {
  object <- fit(data)
  list(
    name = name, fit = fit, new = new, data = data, response = "y", scaled = "x1", exact = exact,
    columns = columns, imputes = imputes, linear = linear, dense = dense, groups = groups,
    two = nlevels(data$y) == 2L, classes = is.factor(data$y),
    links = if (links) lapply(links_of(object), list) else list(list()), object = object
  )
}

# Inducing points that depend neither on the order of the rows nor on units, nor on rows of
# weight 0.
points_of <- function(data, count = 20) {
  if (!is.null(data$w)) data <- data[data$w > 0, ]
  x <- unique(as_predictors(data))
  x[order(x[, "x2"]), ][round(seq(1, nrow(x), length.out = count)), ]
}

process_fit <- function(data, ..., method = "vb", tune = FALSE, inducing = points_of(data)) {
  flat(gpsvm)(
    y ~ x1 + x2, data, inducing = inducing, threads = 1, seed = 1, tol = 1e-12, max_iter = 5000,
    ..., method = method, tune = tune
  )
}

three_classes <- local({
  data <- contract_data
  data$y <- cut((data$x1 - 50) / 8 - data$x2, c(-Inf, -0.8, 0.8, Inf), c("low", "mid", "high"))
  data
})

# Of bark(): small coefficients, as those of its classes. Large ones of opposite sign multiply
# rounding errors, of other units say, until a jump is decided otherwise.
small <- bark_prior(gamma = 5, epsilon = 0.5)

a_number <- transform(contract_data, y = 3 + sin(x1 / 8) - x2 / 2 + cos(40 * x2) / 5)

# Mean, or probabilities of the classes.
answer_of <- function(one, ...) {
  predict(one$object, ..., type = if (one$classes) "prob" else "response")
}

places <- cbind(x2 = seq(-1.5, 1.5, length.out = 5))

contract_list <- function() {
  list(
    case("vb, fixed", function(data, ..., method = "vb") {
      flat(bsvm)(y ~ x1 + x2, data, penalty = "none", threads = 1, tol = 1e-12, ...,
        method = method)
    }),
    case("vb, random", function(data, ..., method = "vb") {
      flat(bsvm)(y ~ x1 + x2 + (1 | g), data, threads = 1, tol = 1e-12, ..., method = method)
    }, groups = "g"),
    case("vb, slopes", function(data, ..., method = "vb") {
      flat(bsvm)(y ~ x1 + x2 + (x2 | g), data, threads = 1, tol = 1e-12, ..., method = method)
    }, groups = "g"),
    case("vb, matrix", function(data, ..., method = "vb") {
      flat(bsvm)(
        as_predictors(data), data$y, penalty = "none", threads = 1, tol = 1e-12, ...,
          method = method
      )
    }, new = as_predictors),
    case("gpsvm, vb", process_fit, linear = FALSE),
    case("gpsvm, matrix", function(data, ..., method = "vb", tune = FALSE) {
      flat(gpsvm)(
        as_predictors(data), data$y, inducing = points_of(data), threads = 1, tol = 1e-12,
        max_iter = 5000, ..., method = method, tune = tune
      )
    }, new = as_predictors, linear = FALSE),
    case("gpsvm, svi", function(data, ...) {
      process_fit(data, method = "svi", batch_size = 20, ...)
    }, linear = FALSE),
    case("gpsvm, exact", function(data, ...) {
      process_fit(data, inducing = "all", nugget = 0.1, ...)
    }, linear = FALSE, dense = TRUE),
    case("gpsvm, ep", function(data, ...) process_fit(data, method = "ep", ...), linear = FALSE),
    case("gpsvm, ep, exact", function(data, ...) {
      process_fit(data, method = "ep", inducing = "all", nugget = 0.1, ...)
    }, linear = FALSE, dense = TRUE),
    case("gpsvm, mode", function(data, ...) process_fit(data, method = "ecm", ...), linear = FALSE),
    case("gpsvm, classes", process_fit, linear = FALSE, data = three_classes),
    case("gpsvm, gibbs", function(data, ...) {
      quick_process(y ~ x1 + x2, data, inducing = points_of(data), ...)
    }, exact = FALSE, linear = FALSE),
    case("gpsvm, gibbs, classes", function(data, ...) {
      quick_process(y ~ x1 + x2, data, inducing = points_of(data), ...)
    }, exact = FALSE, linear = FALSE, data = three_classes),
    case("bark, two classes", function(data, ...) {
      quick_bark(y ~ x1 + x2, data, family = "binomial", ...)
    }, exact = FALSE, linear = FALSE, links = FALSE),
    case("bark, selection, matrix", function(data, ...) {
      quick_bark(as_predictors(data), data$y, family = "binomial", select = TRUE, ...)
    }, new = as_predictors, exact = FALSE, linear = FALSE, links = FALSE),
    case("bark, ordered classes", function(data, ...) {
      data$y <- as.ordered(data$y)
      quick_bark(y ~ x1 + x2, data, family = "ordinal", ...)
    }, exact = FALSE, linear = FALSE, links = FALSE, data = three_classes),
    case("bark, a number", function(data, ...) {
      quick_bark(y ~ x1 + x2, data, prior = small, ...)
    }, exact = FALSE, linear = FALSE, links = FALSE, data = a_number),
    case("bark, groups", function(data, ...) {
      quick_bark(y ~ x1 + x2 + (1 | g), data, family = "binomial", ...)
    }, exact = FALSE, linear = FALSE, links = FALSE, groups = "g"),
    case("bark, a number, groups and a line", function(data, ...) {
      quick_bark(y ~ x1 + x2 + (1 | g), data, prior = small, linear = TRUE, ...)
    }, exact = FALSE, linear = FALSE, links = FALSE, groups = "g",
    data = a_number),
    case("mkprobit, two classes", function(data, ...) {
      quick_mkprobit(y ~ x1 + x2, data, latent_scales = "shared", ...)
    }, linear = FALSE, links = FALSE, dense = TRUE),
    case("mkprobit, classes, matrix", function(data, ...) {
      quick_mkprobit(as_predictors(data), data$y, latent_scales = "fixed", ...)
    }, new = as_predictors, linear = FALSE, links = FALSE, dense = TRUE,
    data = three_classes),
    case("mkprobit, inducing", function(data, ...) {
      quick_mkprobit(y ~ x1 + x2, data, latent_scales = "shared", inducing = 15, ...)
    }, exact = FALSE, linear = FALSE, links = FALSE),
    case("mkprobit, process, two classes", function(data, ...) {
      quick_mkprobit(y ~ x1 + x2, data, coefficients = "process", tune = FALSE, ...)
    }, exact = FALSE, linear = FALSE, links = FALSE, dense = TRUE),
    case("mkprobit, process, classes", function(data, ...) {
      quick_mkprobit(as_predictors(data), data$y, coefficients = "process", inducing = 15, ...)
    }, exact = FALSE, new = as_predictors, linear = FALSE, links = FALSE,
    data = three_classes),
    case("mkprobit, process, gibbs", function(data, ...) {
      quick_mkprobit(y ~ x1 + x2, data, method = "gibbs", coefficients = "process", ...)
    }, exact = FALSE, linear = FALSE, links = FALSE, dense = TRUE),
    case("mkprobit, gibbs", function(data, ...) {
      quick_mkprobit(y ~ x1 + x2, data, method = "gibbs", latent_scales = "shared", ...)
    }, exact = FALSE, linear = FALSE, links = FALSE, dense = TRUE),
    # Without warmup: widths that adapt make rounding errors of the input grow.
    case("klr, two classes", function(data, ...) {
      quick_klr(
        y ~ x1 + x2, data, rank = 1, prior = klr_prior(max_kernels = 8), warmup = 0, thin = 1, ...
      )
    }, exact = FALSE, linear = FALSE, links = FALSE),
    case("klr, continuous, matrix", function(data, ...) {
      quick_klr(
        as_predictors(data), data$y, prior = klr_prior(coefficients = "continuous",
          max_kernels = 8),
        warmup = 0, thin = 1, ...
      )
    }, new = as_predictors, exact = FALSE, linear = FALSE, links = FALSE),
    case("vb, selection", function(data, ..., method = "vb") {
      flat(bsvm)(
        y ~ x1 + x2, data, select = TRUE, prior = bsvm_prior(rho = 0.3), threads = 1, tol = 1e-12,
        polish = FALSE, learning_rate = 0.5, ..., method = method
      )
    }),
    case("vb, modelled predictors", function(data, ..., method = "vb") {
      flat(bsvm)(
        y ~ x1 + x2 + (1 | g), data, missing = "model", learning_rate = 0.5, threads = 1,
          tol = 1e-12,
        ..., method = method
      )
    }, imputes = TRUE, groups = "g"),
    case("vb, smooth", function(data, ..., method = "vb") {
      flat(bsvm)(y ~ x1 + s(x2, k = 5), data, threads = 1, tol = 1e-12, ..., method = method)
    }, columns = c("(Intercept)", "x1")),
    case("vb, process", function(data, ..., method = "vb") {
      flat(bkm)(
        y ~ x1 + gp(x2, kernel = rbf(0.7), inducing = places) + (1 | g), data,
        threads = 1, tol = 1e-18, ..., method = method
      )
    }, columns = c("(Intercept)", "x1"), groups = "g"),
    case("gibbs, everything", function(data, ...) {
      # The line of the smooth is the column x2.
      suppressWarnings(
        quick_gibbs(
          y ~ x1 + x2 + s(x2, k = 5) + (1 | g), data, select = ~x1, prior = bsvm_prior(rho = 0.3),
            ...
        ),
        classes = "bayeskernel_warning_dropped_column"
      )
    }, exact = FALSE, groups = "g"),
    case("gibbs, fixed", function(data, ...) {
      quick_gibbs(y ~ x1 + x2, data, penalty = "none", ...)
    }, exact = FALSE),
    case("gibbs, random", function(data, ...) {
      quick_gibbs(y ~ x1 + x2 + (1 | g), data, ...)
    }, exact = FALSE, groups = "g"),
    case("gibbs, matrix", function(data, ...) {
      quick_gibbs(as_predictors(data), data$y, penalty = "none", ...)
    }, new = as_predictors, exact = FALSE),
    case("bkm, vb, logit", function(data, ...) {
      flat(bkm)(y ~ x1 + x2 + (1 | g), data, method = "vb", threads = 1, tol = 1e-12, ...)
    }, groups = "g"),
    case("bkm, vb, probit, slopes, modelled predictors", function(data, ...) {
      flat(bkm)(
        y ~ x1 + x2 + (x2 | g), data, "probit",
        method = "vb", missing = "model", threads = 1, tol = 1e-12, ...
      )
    }, groups = "g", imputes = TRUE),
    case("bkm, vb, hinge, matrix", function(data, ...) {
      flat(bkm)(
        as_predictors(data), data$y, "hinge",
        method = "vb", penalty = "none", threads = 1, tol = 1e-12, ...
      )
    }, new = as_predictors),
    case("bkm, vb, gaussian", function(data, ...) {
      flat(bkm)(y ~ x1 + x2 + (1 | g), data, method = "vb", threads = 1, tol = 1e-12, ...)
    }, groups = "g", links = FALSE, data = a_number),
    case("bkm, ep, logit, matrix", function(data, ...) {
      flat(bkm)(as_predictors(data), data$y, threads = 1, tol = 1e-11, ...)
    }, new = as_predictors),
    case("bkm, ep, logit", function(data, ...) {
      flat(bkm)(y ~ x1 + x2 + (1 | g), data, threads = 1, tol = 1e-9, ...)
    }, groups = "g"),
    case("bkm, ep, probit, slopes", function(data, ...) {
      flat(bkm)(y ~ x1 + x2 + (x2 | g), data, "probit", threads = 1, tol = 1e-9, ...)
    }, groups = "g"),
    case("bkm, ep, gaussian", function(data, ...) {
      flat(bkm)(y ~ x1 + x2 + (1 | g), data, threads = 1, tol = 1e-9, ...)
    }, groups = "g", links = FALSE, data = a_number),
    case("ep, smooth", function(data, ...) {
      flat(bsvm)(y ~ x1 + s(x2, k = 5), data, method = "ep", threads = 1, tol = 1e-9, ...)
    }, columns = c("(Intercept)", "x1")),
    case("bkm, gibbs, logit, selection", function(data, ...) {
      quick_bkm(y ~ x1 + x2 + (1 | g), data, select = ~x1, prior = bkm_prior(rho = 0.3), ...)
    }, exact = FALSE, groups = "g"),
    case("bkm, gibbs, gaussian", function(data, ...) {
      quick_bkm(y ~ x1 + x2 + (1 | g), data, ...)
    }, exact = FALSE, groups = "g", links = FALSE, data = a_number),
    case("seqkr, a number", function(data, ...) {
      flat(seqkr)(y ~ x1 + x2, data, threads = 1, seed = 1, particles = 60, ...)
    },
    exact = FALSE, linear = FALSE, links = FALSE, dense = TRUE, data = a_number),
    case("seqkr, two classes, matrix", function(data, ...) {
      flat(seqkr)(
        as_predictors(data), data$y, family = "binomial", threads = 1, seed = 1, particles = 60, ...
      )
    }, new = as_predictors, exact = FALSE, linear = FALSE, links = FALSE,
    dense = TRUE),
    case("toy", function(data, ...) {
      toy(y ~ x1 + x2, data, ...)
    }, linear = FALSE, links = FALSE, data = a_number)
  )
}

# Fits are made once, by the first file that asks for them.
contract_cases <- local({
  cases <- NULL
  function() {
    if (is.null(cases)) cases <<- contract_list()
    cases
  }
})

# Runs the assertions for every case, with its name in the message.
for_each_case <- function(check, only_exact = FALSE, linear = FALSE, two = FALSE, classes = FALSE) {
  # Some forty fits of seven models: for machines of the project.
  testthat::skip_on_cran()
  for (one in contract_cases()) {
    if ((only_exact && !one$exact) || (linear && !one$linear)) next
    if ((two && !one$two) || (classes && !one$classes)) next
    withCallingHandlers(
      check(one, one$object, one$new(one$data)),
      expectation_failure = function(e) message("case: ", one$name)
    )
  }
}
