# Crossed random effects: bsvm(), its sampler, lme4::glmer(nAGQ = 0) and
# glmmTMB, each in a process of its own that is ended after ten minutes. CPU
# seconds of the fit and of predictions with standard errors, wall seconds of
# both, largest memory of the process.
#
#   Rscript bench/crossed.R [design ...]    from the root of the repository

library(bayeskernel)
source("bench/helpers.R")

simulate_crossed <- function(n, levels, sd, shift = 0, seed = 1) {
  set.seed(seed)
  code <- lapply(levels, function(g) sample.int(g, n, TRUE))
  d <- data.frame(x = rnorm(n), a = factor(code[[1]]), b = factor(code[[2]]))
  f <- shift + 0.5 * d$x
  for (k in 1:2) f <- f + sd[k] * rnorm(levels[k])[code[[k]]]
  d$y <- as.integer(f + rlogis(n) > 0)
  d
}

designs <- list(
  # rows, levels of the two factors, their sds, intercept
  "1e5 rows, 2 x 1,000" = list(1e5, c(1000, 1000), c(1, 0.7), 0),
  "1e5 rows, 2 x 10,000" = list(1e5, c(10000, 10000), c(1, 0.7), 0),
  "910,000 rows, 35,000 subjects x 500 items, 2 %" =
    list(910000, c(35000, 500), c(1, 0.7), -4.65),
  "1.3e6 rows, 42,000 students x 100 items" =
    list(1300000, c(42000, 100), c(1, 0.7), 0)
)

# Rare positives are weighted up: else the margin is met by calling no one. glmer and glmmTMB,
# likelihoods of probabilities, need no weights.
balanced <- function(d) {
  share <- mean(d$y)
  if (share > 0.1) rep(1, nrow(d)) else ifelse(d$y == 1, 0.5 / share, 0.5 / (1 - share))
}

formula <- y ~ x + (1 | a) + (1 | b)

report <- function(fit, predict, sd) {
  list(fit = fit, predict = predict, sd = round(sd, 3))
}

engines <- list(
  "bsvm vb" = function(d) {
    d$w <- balanced(d)
    fit <- timed(function() bsvm(formula, d, weights = w, method = "vb"))
    out <- timed(function() {
      predict(fit$value, d, type = "link", se.fit = TRUE)
    })
    report(fit$seconds, out$seconds, as.data.frame(VarCorr(fit$value))$sdcor)
  },
  # A short run: its seconds grow with the number of sweeps.
  "bsvm gibbs, 1 chain, 100 + 100" = function(d) {
    d$w <- balanced(d)
    fit <- timed(function() {
      quietly(bsvm(formula, d,
        weights = w, method = "gibbs", chains = 1,
        control = bsvm_control(warmup = 100), ndraws = 100,
        seed = 1
      ))
    })
    out <- timed(function() {
      predict(fit$value, d, type = "link", se.fit = TRUE)
    })
    report(fit$seconds, out$seconds, as.data.frame(VarCorr(fit$value))$sdcor)
  },
  # Standard errors of its predictions do not exist.
  "glmer nAGQ = 0" = function(d) {
    fit <- timed(function() {
      quietly(lme4::glmer(formula, d, family = binomial, nAGQ = 0))
    })
    out <- timed(function() predict(fit$value, d))
    sd <- as.data.frame(lme4::VarCorr(fit$value))
    report(fit$seconds, out$seconds, sd$sdcor[match(c("a", "b"), sd$grp)])
  },
  "glmmTMB" = function(d) {
    fit <- timed(function() {
      quietly(glmmTMB::glmmTMB(formula, d, family = binomial))
    })
    out <- timed(function() predict(fit$value, d))
    sd <- vapply(glmmTMB::VarCorr(fit$value)$cond, attr, 0, "stddev")
    report(fit$seconds, out$seconds, unname(sd))
  }
)

# Largest resident memory of this process, GB.
peak_memory <- function() {
  status <- "/proc/self/status"
  if (!file.exists(status)) {
    return(NA)
  }
  line <- grep("^VmHWM", readLines(status), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1e6
}

limit <- setting("MINUTES", 10)

run_alone <- function(engine, design) {
  script <- tempfile(fileext = ".R")
  answer <- tempfile()
  writeLines(c(
    "source('bench/crossed.R')", sprintf("run_here(%s, %s, %s)",
      deparse(engine), deparse(design), deparse(answer)
    )
  ), script)
  started <- proc.time()[["elapsed"]]
  status <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), script, timeout = 60 * limit,
    env = "BAYESKERNEL_CROSSED=child", stdout = FALSE, stderr = FALSE
  ))
  wall <- proc.time()[["elapsed"]] - started
  if (!file.exists(answer)) {
    why <- if (status == 124) sprintf("not in %g minutes", limit) else "failed"
    return(data.frame(
      design = design, engine = engine, fit = NA, predict = NA, wall = wall, memory = NA, sd = why
    ))
  }
  out <- readRDS(answer)
  data.frame(
    design = design, engine = engine, fit = out$fit, predict = out$predict,
    wall = wall, memory = out$memory, sd = paste(out$sd, collapse = ", ")
  )
}

run_here <- function(engine, design, answer) {
  options(bayeskernel.progress = FALSE)
  d <- do.call(simulate_crossed, designs[[design]])
  out <- engines[[engine]](d)
  out$memory <- peak_memory()
  saveRDS(out, answer)
}

# How well the sampler mixes as rows and levels grow together: effective draws per sweep of the
# variances and of an effect.
mixing <- function() {
  rows <- lapply(c(2000, 8000, 32000), function(n) {
    d <- simulate_crossed(n, c(n / 10, n / 10), c(1, 0.7))
    fit <- quietly(bsvm(formula, d,
      method = "gibbs", chains = 1, control = bsvm_control(warmup = 300), ndraws = 1000, seed = 1
    ))
    table <- fit$diagnostics$table
    names <- c("(Intercept)", "x", "Sigma[a:(Intercept),(Intercept)]",
      "Sigma[b:(Intercept),(Intercept)]")
    draws <- fit$draws[, 1, , drop = FALSE]
    effects <- draws[, , startsWith(dimnames(draws)[[3]], "b[")][, 1:50]
    ess <- function(x) coda::effectiveSize(coda::as.mcmc(x)) / 1000
    data.frame(
      n = n, levels = n / 10, intercept = ess(draws[, , names[1]]),
      slope = ess(draws[, , names[2]]), var_a = ess(draws[, , names[3]]),
      var_b = ess(draws[, , names[4]]), effects = mean(ess(effects)),
      ms_a_sweep = fit$diagnostics$seconds / 1300 * 1000
    )
  })
  do.call(rbind, rows)
}

if (Sys.getenv("BAYESKERNEL_CROSSED") != "child") {
  print_machine()
  chosen <- commandArgs(TRUE)
  if (length(chosen) == 0) chosen <- c(names(designs), "mixing")
  for (design in intersect(names(designs), chosen)) {
    for (engine in names(engines)) {
      print(run_alone(engine, design), row.names = FALSE, digits = 3)
    }
  }
  if ("mixing" %in% chosen) print(mixing(), digits = 2, row.names = FALSE)
}
