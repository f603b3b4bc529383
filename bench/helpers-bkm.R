# Data and comparisons of bkm() with gp() terms, shared by bench/bkm.R and
# vignettes/precompute_mixed-kernels.R, after helpers.R.

probability_loss <- function(y, p) {
  p <- pmin(pmax(p, 1e-15), 1 - 1e-15)
  -mean(ifelse(y == 1, log(p), log(1 - p)))
}

# `prevalence`: the share of 1 among the rows of the fit. BER, the mean of both classes' errors, is
# at one half and there.
binary_scores <- function(y, p, prevalence) {
  balanced <- function(threshold) mean(tapply((p > threshold) != y, y, mean))
  c(
    BER = balanced(0.5), "BER, prevalence" = balanced(prevalence), error = mean((p > 0.5) != y),
    log_loss = probability_loss(y, p), Brier = mean((p - y)^2)
  )
}

# One row a machine: mean scores and CPU seconds over `cases`, lists of `train`, `test` with a 0/1
# column y. A machine is a function of both that gives probabilities.
compare_machines <- function(machines, cases) {
  each <- lapply(cases, function(case) {
    t(vapply(machines, function(run) {
      own <- timed(function() quietly(run(case$train, case$test)))
      c(binary_scores(case$test$y, own$value, mean(case$train$y)), seconds = own$seconds)
    }, numeric(6)))
  })
  all <- simplify2array(each)
  list(mean = apply(all, 1:2, mean), each = all)
}

# --- toenail -----------------------------------------------------------------

toenail_cases <- function(count) {
  data <- toenail_data()
  data$y <- as.numeric(data$outcome == levels(data$outcome)[2])
  lapply(seq_len(count), function(split) {
    set.seed(split)
    at <- three_quarters(nrow(data))
    list(train = data[at, ], test = data[-at, ])
  })
}

response <- function(fit, test) unname(predict(fit, test, type = "response"))

toenail_machines <- function() {
  process <- y ~ treatment + gp(time, by = treatment) + (1 | patientID)
  out <- list(
    "bkm logit, gp" = function(train, test) {
      response(bayeskernel::bkm(process, train), test)
    },
    "bkm probit, gp" = function(train, test) {
      response(bayeskernel::bkm(process, train, family = "probit"), test)
    },
    "bkm hinge, gp" = function(train, test) {
      train$y <- factor(train$y)
      response(bayeskernel::bkm(process, train, family = "hinge"), test)
    },
    "bsvm time * treatment" = function(train, test) {
      train$y <- factor(train$y)
      response(bayeskernel::bsvm(y ~ time * treatment + (1 | patientID), train), test)
    }
  )
  if (has("lme4")) {
    out[["glmer, splines"]] <- function(train, test) {
      fit <- lme4::glmer(
        y ~ splines::ns(time, 3) * treatment + (1 | patientID), train, family = binomial, nAGQ = 0
      )
      predict(fit, test, type = "response", allow.new.levels = TRUE)
    }
  }
  out[["bam"]] <- function(train, test) {
    fit <- mgcv::bam(
      y ~ treatment + s(time, by = treatment, k = 6) +
        s(patientID, bs = "re"), data = train, family = binomial,
      discrete = TRUE
    )
    known <- test$patientID %in% train$patientID
    out <- numeric(nrow(test))
    out[known] <- predict(fit, test[known, ], type = "response")
    test$patientID <- train$patientID[1]
    out[!known] <- predict(fit, test[!known, ], type = "response", exclude = "s(patientID)")
    out
  }
  out
}

# --- a surface and groups ----------------------------------------------------

surface_data <- function(n, groups, effects = stats::rnorm(groups), level = seq_len(groups)) {
  data <- data.frame(
    x1 = stats::runif(n, -2, 2), x2 = stats::runif(n, -2, 2), id = factor(rep_len(level, n))
  )
  data$f <- 2.5 * sin(2 * data$x1) * cos(1.5 * data$x2) + data$x2 + rep_len(effects, n)
  data$y <- stats::rbinom(n, 1, stats::plogis(data$f))
  data
}

# Rows of known groups, and of new ones.
surface_case <- function(seed, n = 5000, groups = 500, new = 3000) {
  set.seed(seed)
  effects <- stats::rnorm(groups)
  list(
    train = surface_data(n, groups, effects), known = surface_data(n, groups, effects),
    new = surface_data(new, 300, level = groups + seq_len(300))
  )
}

surface_machines <- function() {
  mean_level <- function(fit, test) {
    test$id <- factor(fit$model$id[1], levels(fit$model$id))
    as.numeric(predict(fit, test, type = "response", exclude = "s(id)"))
  }
  additive <- function(fit, case) {
    list(
      known = as.numeric(predict(fit, case$known, type = "response")),
      new = mean_level(fit, case$new)
    )
  }
  formula <- y ~ s(x1, x2, k = 50) + s(id, bs = "re")
  list(
    "bkm logit, ep" = function(case) {
      fit <- bayeskernel::bkm(y ~ gp(x1, x2) + (1 | id), case$train)
      list(known = response(fit, case$known), new = response(fit, case$new))
    },
    "bam, discrete" = function(case) {
      additive(mgcv::bam(formula, data = case$train, family = binomial, discrete = TRUE), case)
    },
    "gam, REML" = function(case) {
      additive(mgcv::gam(formula, data = case$train, family = binomial, method = "REML"), case)
    }
  )
}

surface_scores <- function(cases, machines) {
  rows <- lapply(cases, function(case) {
    do.call(rbind, lapply(names(machines), function(name) {
      own <- timed(function() quietly(machines[[name]](case)))
      data.frame(
        machine = name, known = probability_loss(case$known$y, own$value$known),
        new = probability_loss(case$new$y, own$value$new), seconds = own$seconds
      )
    }))
  })
  rows <- do.call(rbind, rows)
  stats::aggregate(cbind(known, new, seconds) ~ machine, rows, mean)
}

# --- coverage ----------------------------------------------------------------

# Whether 90 % intervals hold the truth: a coefficient, the curve at ten places (with the
# intercept), the values of known groups at one place, and at three places those of new groups,
# which are drawn as the known ones were: of a gaussian response their means, else their
# probabilities.
coverage_once <- function(seed, family, n = 300, groups = 30) {
  set.seed(seed)
  u <- stats::rnorm(groups)
  data <- data.frame(
    x = stats::runif(n, -2, 2), z = stats::rnorm(n), g = factor(rep_len(seq_len(groups), n))
  )
  curve <- function(x) 1.5 * sin(2 * x)
  f <- curve(data$x) + 0.5 * data$z + u[data$g]
  to <- switch(family, gaussian = identity, logit = stats::plogis, probit = stats::pnorm)
  data$y <- if (family == "gaussian") {
    f + stats::rnorm(n, sd = 0.7)
  } else {
    stats::rbinom(n, 1, to(f))
  }
  fit <- quietly(bayeskernel::bkm(y ~ gp(x) + z + (1 | g), data, family = family))
  inside <- function(value, limits) {
    mean(value >= limits[, 1] & value <= limits[, 2])
  }
  places <- data.frame(x = seq(-1.8, 1.8, length.out = 10), z = 0, g = "1")
  at <- predict(fit, places, "link", re.form = NA, interval = "credible", level = 0.9)
  group <- predict(
    fit, data.frame(x = 0, z = 0, g = levels(data$g)), "link", interval = "credible", level = 0.9
  )[, c("lwr", "upr")]
  new <- data.frame(
    x = rep(c(-0.8, 0, 0.8), each = groups), z = 0, g = sprintf("new %d", seq_len(3 * groups))
  )
  value <- curve(new$x) + stats::rnorm(3 * groups)
  unseen <- predict(fit, new, "link", interval = "credible", level = 0.9)[, c("lwr", "upr")]
  # Intervals of probabilities have the limits of those of f.
  c(
    coefficient = inside(0.5, stats::confint(fit, "z", level = 0.9)),
    curve = inside(curve(places$x), at[, c("lwr", "upr"), drop = FALSE]),
    groups = inside(curve(0) + u, group), "new groups" = inside(to(value), to(unseen))
  )
}
