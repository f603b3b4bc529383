# bkm() against long runs of its own Gibbs sampler, against the level that its
# intervals state, and beside glm(), glmer() and mgcv, in one run.
#
#   Rscript bench/families.R                            everything, hours
#   BAYESKERNEL_PARTS=speed Rscript bench/families.R     one part
#
# Parts: speed, accuracy, grouped, logloss, level. BAYESKERNEL_SETS=50 makes
# `level` shorter, BAYESKERNEL_SPLITS=100 differences of `logloss` surer: by ten
# splits sets are told apart only where a peer is wrong by .005. Results go to
# families_results.rds.

library(bayeskernel)
source("bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)
print_machine()

families <- c("logit", "probit")

# Labels of a linear predictor.
labels_of <- function(f, family) {
  noise <- if (family == "probit") stats::rnorm(length(f)) else stats::rlogis(length(f))
  factor(ifelse(f + noise > 0, "yes", "no"), c("no", "yes"))
}

# Grouped data: two predictors, one of them of the group; `slope` is the standard deviation of the
# slopes of x1.
grouped_data <- function(groups, size, family, sd = 1, slope = 0, beta = c(-0.5, 1, -0.5)) {
  n <- groups * size
  data <- data.frame(
    id = factor(rep(seq_len(groups), each = size)), x1 = stats::rnorm(n),
    x2 = rep(stats::rnorm(groups), each = size)
  )
  u <- stats::rnorm(groups, 0, sd)[data$id]
  v <- stats::rnorm(groups, 0, slope)[data$id]
  data$f <- beta[1] + (beta[2] + v) * data$x1 + beta[3] * data$x2 + u
  data$y <- labels_of(data$f, family)
  data
}

fixed_data <- function(n, p, family, size = 1) {
  x <- matrix(stats::rnorm(n * p), n, dimnames = list(NULL, paste0("x", 1:p)))
  beta <- size * stats::rnorm(p)
  data.frame(x, y = labels_of(drop(x %*% beta), family))
}

# Accuracy ------------------------------------------------------------------

# Name, formula, data of a family, further arguments.
problems <- function(family) {
  set.seed(1)
  wave <- fixed_data(300, 2, family)
  wave$y <- labels_of(2 * sin(2 * wave$x1) + wave$x2, family)
  crossed <- grouped_data(15, 16, family)
  crossed$item <- factor(rep(seq_len(12), length.out = nrow(crossed)))
  crossed$y <- labels_of(crossed$f + stats::rnorm(12)[crossed$item], family)
  holes <- fixed_data(300, 3, family)
  holes$x2 <- 0.6 * holes$x1 + 0.8 * holes$x2
  holes$x1[sample(300, 75)] <- NA
  everything <- function(data) stats::reformulate(setdiff(names(data), "y"), "y")
  small <- fixed_data(60, 4, family)
  middle <- fixed_data(300, 10, family, 0.6)
  wide <- fixed_data(150, 12, family, 0.5)
  list(
    "fixed, 60 x 4" = list(everything(small), small),
    "fixed, 300 x 10" = list(everything(middle), middle),
    "penalty, 150 x 12" = list(everything(wide), wide, penalty = "learn"),
    "intercepts, 40 x 5" = list(y ~ x1 + x2 + (1 | id), grouped_data(40, 5, family)),
    "intercepts, 20 x 20" = list(y ~ x1 + x2 + (1 | id), grouped_data(20, 20, family)),
    "slopes, 30 x 12" = list(
      y ~ x1 + x2 + (1 + x1 | id), grouped_data(30, 12, family, slope = 0.7)
    ),
    "crossed, 15 x 12" = list(y ~ x1 + x2 + (1 | id) + (1 | item), crossed),
    "smooth, 300" = list(y ~ s(x1) + x2, wave),
    "missing, 75 of 300" = list(everything(holes), holes, missing = "model")
  )
}

fit_problem <- function(problem, family, method, ...) {
  quietly(do.call(bkm, c(
    unname(problem[1:2]), problem[-(1:2)], list(family = family, method = method, seed = 1, ...)
  )))
}

coefficient_draws <- function(fit, names) {
  draws <- fit$draws[, , names, drop = FALSE]
  matrix(draws, ncol = length(names), dimnames = list(NULL, names))
}

# Standard deviations, intervals and means of `fit` beside draws.
agreement <- function(fit, draws) {
  names <- colnames(draws)
  mean <- coef(fit)[names]
  sd <- sqrt(diag(vcov(fit))[names])
  exact_sd <- apply(draws, 2, stats::sd)
  z <- stats::qnorm(0.95)
  inside <- vapply(names, function(k) {
    mean(abs(draws[, k] - mean[[k]]) < z * sd[[k]])
  }, 0)
  shift <- (mean - colMeans(draws)) / exact_sd
  c(ratio = exp(mean(log(sd / exact_sd))), cover = mean(inside), shift = sqrt(mean(shift^2)))
}

accuracy <- function() {
  rows <- list()
  for (family in families) {
    all <- problems(family)
    for (name in names(all)) {
      gibbs <- fit_problem(
        all[[name]], family, "gibbs", chains = 4, warmup = 2000, ndraws = setting("DRAWS", 20000)
      )
      names <- intersect(names(coef(gibbs)), dimnames(gibbs$draws)[[3]])
      draws <- coefficient_draws(gibbs, names)
      table <- gibbs$diagnostics$table
      essential <- min(table$ess_bulk[table$variable %in% names])
      for (method in c("ep", "vb")) {
        fit <- fit_problem(all[[name]], family, method)
        rows[[length(rows) + 1]] <- data.frame(
          family = family, problem = name, method = method,
          t(agreement(fit, draws)), ess = essential
        )
      }
      print(utils::tail(do.call(rbind, rows), 2), digits = 3)
    }
  }
  do.call(rbind, rows)
}

# Level ---------------------------------------------------------------------

# Share of data sets whose interval of a coefficient that is 0 excludes 0.
level <- function() {
  sets <- setting("SETS", 1000)
  cases <- expand.grid(
    family = families, prevalence = c(0.5, 0.2, 0.05), groups = c(0, 40), stringsAsFactors = FALSE
  )
  rows <- lapply(seq_len(nrow(cases)), function(k) {
    case <- cases[k, ]
    excluded <- matrix(NA, sets, 2, dimnames = list(NULL, c("ep", "peer")))
    for (set in seq_len(sets)) {
      set.seed(set)
      n <- 200
      id <- factor(rep(seq_len(max(case$groups, 1)), length.out = n))
      u <- if (case$groups > 0) stats::rnorm(case$groups)[id] else 0
      data <- data.frame(x1 = stats::rnorm(n), x2 = stats::rnorm(n), id)
      f <- 0.7 * data$x2 + u
      # The intercept that gives the prevalence, by simulation of the margin.
      grid <- stats::uniroot(function(a) {
        p <- if (case$family == "logit") stats::plogis(a + f) else stats::pnorm(a + f)
        mean(p) - case$prevalence
      }, c(-20, 20))$root
      data$y <- labels_of(grid + f, case$family)
      if (length(unique(data$y)) < 2) next
      formula <- if (case$groups > 0) y ~ x1 + x2 + (1 | id) else y ~ x1 + x2
      ours <- quietly(bkm(formula, data, family = case$family))
      sd <- sqrt(diag(vcov(ours)))[["x1"]]
      excluded[set, "ep"] <- abs(coef(ours)[["x1"]]) > 1.96 * sd
      link <- stats::binomial(case$family)
      # glmer is slow: fewer sets.
      if (case$groups > 0 && set > sets / 5) next
      peer <- quietly(tryCatch(if (case$groups > 0) {
        summary(lme4::glmer(formula, data, link))$coefficients
      } else {
        summary(stats::glm(formula, link, data))$coefficients
      }, error = function(e) NULL))
      if (!is.null(peer)) {
        excluded[set, "peer"] <- abs(peer["x1", 3]) > 1.96
      }
    }
    out <- cbind(case, t(colMeans(excluded, na.rm = TRUE)))
    print(out, digits = 3)
    out
  })
  do.call(rbind, rows)
}

# Grouped data of textbooks ----------------------------------------------------

textbook_sets <- function() {
  cbpp <- lme4::cbpp
  cbpp$size <- cbpp$size - cbpp$incidence
  bacteria <- MASS::bacteria
  respiratory <- HSAUR3::respiratory
  respiratory <- respiratory[respiratory$month != "0", ]
  list(
    cbpp = list(cbind(incidence, size) ~ period + (1 | herd), cbpp),
    bacteria = list(y ~ trt + I(week > 2) + (1 | ID), bacteria),
    respiratory = list(status ~ treatment + gender + age + centre + (1 | subject), respiratory),
    toenail = list(toenail_formula, toenail_data())
  )
}

grouped <- function() {
  sets <- textbook_sets()
  for (name in names(sets)) {
    formula <- sets[[name]][[1]]
    data <- sets[[name]][[2]]
    gibbs <- quietly(bkm(formula, data,
      method = "gibbs", chains = 4, control = bkm_control(warmup = 2000),
      ndraws = setting("DRAWS", 20000), seed = 1
    ))
    ep <- quietly(bkm(formula, data))
    names <- names(coef(gibbs))
    draws <- coefficient_draws(gibbs, names)
    laplace <- quietly(lme4::glmer(formula, data, binomial))
    points <- quietly(lme4::glmer(formula, data, binomial, nAGQ = 15))
    sd <- apply(draws, 2, stats::sd)
    off <- function(b) (unname(b) - colMeans(draws)) / sd
    cat("\n", name, ": distance of slopes from Gibbs, in its sds\n", sep = "")
    print(round(rbind(
      ep = off(coef(ep)[names]), glmer = off(lme4::fixef(laplace)),
      "glmer 15" = off(lme4::fixef(points))
    ), 2))
    cat("group sds: gibbs, ep, glmer, glmer 15\n")
    print(VarCorr(gibbs))
    print(VarCorr(ep))
    print(lme4::VarCorr(laplace))
    print(lme4::VarCorr(points))
  }
}

# Log loss ------------------------------------------------------------------

split_scores <- function(formula, data, by, sets, peers) {
  set.seed(1)
  response <- all.vars(formula)[1]
  rows <- lapply(seq_len(sets), function(s) {
    test <- sample(nrow(data), round(nrow(data) / 4))
    truth <- data[[response]][test] == levels(data[[response]])[2]
    vapply(peers, function(peer) {
      p <- tryCatch(
        quietly(peer(formula, data[-test, ], data[test, ])),
        error = function(e) rep(NA, length(test))
      )
      log_loss(truth, p)
    }, 0)
  })
  do.call(rbind, rows)
}

# Standard errors over splits, which share rows: somewhat small.
paired_error <- function(difference) {
  apply(difference, 2, stats::sd) / sqrt(nrow(difference))
}

bam_formula <- function(formula) {
  text <- paste(deparse(formula), collapse = " ")
  text <- gsub("\\(1 \\| ([A-Za-z0-9_]+)\\)", 's(\\1, bs = "re")', text)
  text <- gsub(
    "\\(1 \\+ ([A-Za-z0-9_]+) \\|\\| ([A-Za-z0-9_]+)\\)",
    's(\\2, bs = "re") + s(\\2, \\1, bs = "re")', text
  )
  stats::as.formula(text)
}

log_loss_peers <- function() {
  known <- function(train, test) {
    groups <- vapply(train, is.factor, NA)
    for (g in names(train)[groups]) {
      test[[g]] <- factor(test[[g]], levels(train[[g]]))
    }
    test
  }
  list(
    ep = function(formula, train, test) {
      predict(bkm(formula, train), test, type = "prob")[, 2]
    },
    vb = function(formula, train, test) {
      predict(bkm(formula, train, method = "vb"), test, type = "prob")[, 2]
    },
    bam = function(formula, train, test) {
      fit <- mgcv::bam(bam_formula(formula), stats::binomial, train)
      as.numeric(stats::predict(fit, known(train, test), type = "response"))
    },
    glmer = function(formula, train, test) {
      fit <- lme4::glmer(formula, train, stats::binomial)
      stats::predict(fit, test, type = "response", allow.new.levels = TRUE)
    }
  )
}

logloss <- function() {
  set.seed(2)
  simulated <- list(
    "40 x 5" = list(y ~ x1 + x2 + (1 | id), grouped_data(40, 5, "logit")),
    "20 x 25" = list(y ~ x1 + x2 + (1 | id), grouped_data(20, 25, "logit")),
    "100 x 4, sd 2" = list(y ~ x1 + x2 + (1 | id), grouped_data(100, 4, "logit", sd = 2)),
    "300 x 3" = list(y ~ x1 + x2 + (1 | id), grouped_data(300, 3, "logit")),
    "slopes, 40 x 12" = list(
      y ~ x1 + x2 + (1 + x1 || id), grouped_data(40, 12, "logit", slope = 1)
    ),
    "rare, 60 x 8" = list(
      y ~ x1 + x2 + (1 | id), grouped_data(60, 8, "logit", beta = c(-3, 1, -0.5))
    )
  )
  cbpp <- lme4::cbpp
  long <- cbpp[rep(seq_len(nrow(cbpp)), cbpp$size), c("herd", "period")]
  long$y <- factor(unlist(Map(function(k, n) rep(1:0, c(k, n - k)),
    cbpp$incidence, cbpp$size)), 0:1, c("no", "yes"))
  real <- textbook_sets()
  real$cbpp <- list(y ~ period + (1 | herd), long)
  peers <- log_loss_peers()
  rows <- lapply(c(simulated, real), function(set) {
    scores <- split_scores(set[[1]], set[[2]], NULL, setting("SPLITS", 10), peers)
    print(rbind(
      mean = round(colMeans(scores), 4), "ep - peer" = round(colMeans(scores[, "ep"] - scores), 4),
      "its se" = round(paired_error(scores[, "ep"] - scores), 4)
    ))
    colMeans(scores)
  })
  out <- do.call(rbind, rows)
  print(out, digits = 3)
  out
}

# Speed ---------------------------------------------------------------------

speed <- function() {
  data <- toenail_data()
  rows <- list()
  for (family in c(families, "hinge")) {
    ours <- cpu_seconds(function() {
      quietly(bkm(toenail_formula, data, family = family))
    })
    fit <- quietly(bkm(toenail_formula, data, family = family))
    cat(sprintf(
      "toenail, %s by ep with its grid: %.3f s, of these in the core %.3f\n",
      family, ours, fit$elapsed[["core"]]
    ))
    if (family != "hinge") {
      peer <- cpu_seconds(function() {
        quietly(lme4::glmer(toenail_formula, data, stats::binomial(family)))
      }, times = 1)
      rows[[length(rows) + 1]] <- ratio_row(paste("toenail,", family), "glmer", ours, peer)
    }
  }
  set.seed(1)
  times <- NULL
  for (n in c(1e4, 1e5, setting("ROWS", 1e6))) {
    x <- matrix(stats::rnorm(n * 18), n)
    y <- +(drop(x %*% seq(-1, 1, length.out = 18)) + stats::rlogis(n) > 0)
    flat <- bkm_prior(beta_var = 1e8)
    ours <- timed(function() {
      bkm(x, y, family = "logit", prior = flat, standardize = FALSE)
    })
    peer <- timed(function() {
      stats::glm.fit(cbind(1, x), y, family = stats::binomial())
    })
    rows[[length(rows) + 1]] <- ratio_row(
      sprintf("%g x 18, logit", n), "glm.fit", ours$seconds, peer$seconds, 1 / 3
    )
    times <- c(times, ours$seconds)
    cat(sprintf(
      "%g x 18: largest difference of estimates %.1e, %d passes\n", n,
      max(abs(coef(ours$value) - stats::coef(peer$value))), ours$value$diagnostics$passes
    ))
  }
  cat(sprintf("growth n^%.2f\n", growth_exponent(c(1e4, 1e5, setting("ROWS", 1e6)), times)))
  print_ratios(rows, "bkm() by ep: CPU seconds")
  rows
}

run_parts(
  list(speed = speed, accuracy = accuracy, grouped = grouped, logloss = logloss, level = level),
  setting("RESULTS", "families_results.rds")
)
