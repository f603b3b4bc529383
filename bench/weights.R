# Whole weights against repeated rows: the largest difference of what fits say, a line a model.
#   Rscript bench/weights.R [regular expression of names]

suppressPackageStartupMessages(library(bayeskernel))
pattern <- c(commandArgs(TRUE), ".")[1]
set.seed(5)
n <- 80
d <- data.frame(
  x = round(2 * rnorm(n, 3, 2)) / 2, z = round(runif(n), 1),
  f = factor(sample(letters[1:3], n, TRUE)), g = factor(sample(1:8, n, TRUE))
)
d$w <- pmin(rpois(n, exp(0.3 * (d$x - 3))), 5)
eta <- with(d, -1 + 0.4 * x + sin(3 * z) + 0.6 * (f == "b") + rnorm(8, 0, 0.7)[g])
d$y <- 100 + 3 * eta + rnorm(n)
d$b <- factor(ifelse(runif(n) < plogis(eta), "yes", "no"))
d$k <- factor(c("p", "q", "r")[1 + (eta + rlogis(n) > 0) + (eta + rlogis(n) > 1.2)])
d$s <- rbinom(n, 4, plogis(eta))
d$h <- replace(d$x, sample(n, 16), NA)
repeated <- d[rep(seq_len(n), d$w), ]
new <- data.frame(
  x = c(-1, 1, 3, 5, 8), z = c(0.1, 0.9, 0.5, 0.3, 0.7), f = factor(c("a", "b", "c", "a", "b")),
  g = factor(1:5, levels = 1:8), h = c(-1, 1, 3, 5, 8)
)

quiet <- function(code) suppressMessages(suppressWarnings(code))
said <- function(fit) {
  ask <- function(code) {
    tryCatch(as.numeric(unlist(quiet(code))), bayeskernel_error = function(e) NA)
  }
  table <- tidy(fit)
  list(
    predict = ask(predict(fit, new, type = if (is.null(fit$levels)) "response" else "prob")),
    tidy = ask(table[vapply(table, is.numeric, NA)]), evidence = ask(log_evidence(fit)),
    bound = ask(utils::tail(elbo(fit), 1)), deviance = ask(deviance(fit)),
    loo = ask(loo::loo(fit)$estimates[1, 1])
  )
}

compare <- function(name, fitter, formula, ...) {
  if (!grepl(pattern, name)) return(invisible())
  fit <- function(data, ...) quiet(fitter(formula, data, ..., threads = 1, seed = 1))
  one <- said(fit(d, weights = d$w, ...))
  two <- said(fit(repeated, ...))
  gap <- mapply(function(a, b) if (length(a) == length(b)) max(abs(a - b)) else NA, one, two)
  cat(sprintf("%-22s", name), sprintf("%s %.1e", names(gap), gap)[!is.na(gap)], "\n")
}

formulas <- list(
  plain = ~ x + z + f, product = ~ x * f + z, poly = ~ poly(x, 2) + z, s = ~ s(x) + z,
  gp = ~ gp(x) + z, groups = ~ x + z + (1 | g), slopes = ~ x + (x | g)
)
for (method in c("ep", "vb")) {
  for (label in names(formulas)) {
    name <- paste(label, method)
    compare(paste("gaussian", name), bkm, update(formulas[[label]], y ~ .), method = method)
    compare(paste("logit", name), bkm, update(formulas[[label]], b ~ .), method = method)
    compare(paste("bsvm", name), bsvm, update(formulas[[label]], b ~ .), method = method)
  }
  compare(paste("counts", method), bkm, cbind(s, 4 - s) ~ x + z, method = method)
  for (response in c("y", "b")) {
    compare(
      paste("missing", response, method), bkm, stats::reformulate(c("h", "z"), response),
      method = method, missing = "model"
    )
  }
  compare(paste("gpsvm given", method), gpsvm, b ~ x + z, method = method, kernel = rbf(1))
}
compare("gpsvm inducing", gpsvm, b ~ x + z, kernel = rbf(1), inducing = 15)
compare("gpsvm tuned", gpsvm, b ~ x + z)
compare("mkprobit", mkprobit, k ~ x + z)
compare("mkprobit inducing", mkprobit, k ~ x + z, inducing = 15)
compare("mkprobit weights", mkprobit, k ~ x + z, coefficients = "weights")
