# Missing predictors of bkm(), averaged over (missing = "model"), beside what
# else can be done about them, in one run.
#
#   Rscript bench/holes.R                            everything
#   BAYESKERNEL_PARTS=factor Rscript bench/holes.R   one part
#
# Parts: process, two of the three variables of a process have holes, by chance
# or by what is observed; factor, a fifth of a factor's values is missing,
# coverage of its effects over BAYESKERNEL_SETS data sets (200; mice and glmer on
# a fifth of them). Results go to holes_results.rds.

library(bayeskernel)
source("bench/helpers.R")
source("bench/helpers-bkm.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)
print_machine()

# A process -------------------------------------------------------------------

process_rows <- function(n, groups, effects) {
  shared <- stats::rnorm(n)
  x <- vapply(1:3, function(k) {
    sqrt(0.5) * shared + sqrt(0.5) * stats::rnorm(n)
  }, numeric(n))
  d <- data.frame(x1 = x[, 1], x2 = x[, 2], x3 = x[, 3])
  d$id <- factor(rep_len(seq_len(groups), n), seq_len(groups))
  f <- 2.5 * sin(2 * d$x1) * cos(1.5 * d$x2) + d$x3 + effects[d$id]
  d$y <- as.numeric(f + stats::rlogis(n) > 0)
  d
}

# A fifth of x1 and of x2: by chance, or more often where x3 is large.
punch <- function(d, observed) {
  for (name in c("x1", "x2")) {
    chance <- if (observed) stats::plogis(-1.6 + d$x3) else rep(0.2, nrow(d))
    d[[name]][stats::runif(nrow(d)) < chance] <- NA
  }
  d
}

# Regressions of x1 and x2 on all that is observed of the row, from complete rows.
filled <- function(d, from = d) {
  whole <- from[stats::complete.cases(from), ]
  for (name in c("x1", "x2")) {
    other <- setdiff(c("x1", "x2"), name)
    gap <- is.na(d[[name]])
    both <- gap & is.na(d[[other]])
    one <- stats::lm(stats::reformulate(c("x3", other), name), whole)
    none <- stats::lm(stats::reformulate("x3", name), whole)
    value <- stats::predict(one, d)
    value[is.na(value)] <- stats::predict(none, d)[is.na(value)]
    value[both] <- stats::predict(none, d)[both]
    d[[paste0(name, "_new")]] <- ifelse(gap, value, d[[name]])
  }
  d[c("x1", "x2")] <- d[c("x1_new", "x2_new")]
  d
}

process <- function() {
  formula <- y ~ gp(x1, x2, x3) + (1 | id)
  cases <- expand.grid(set = 1:5, observed = c(FALSE, TRUE))
  rows <- lapply(seq_len(nrow(cases)), function(k) {
    set.seed(cases$set[k])
    effects <- stats::rnorm(100)
    train <- process_rows(1000, 100, effects)
    test <- process_rows(2000, 100, effects)
    holed <- punch(train, cases$observed[k])
    open <- punch(test, cases$observed[k])
    gaps <- !stats::complete.cases(open)
    fits <- quietly(list(
      "no holes" = bkm(formula, train), "averaged over" = bkm(formula, holed, missing = "model"),
      "complete rows" = bkm(formula, holed, missing = "omit"),
      "filled in once" = bkm(formula, filled(holed))
    ))
    do.call(rbind, lapply(names(fits), function(name) {
      fit <- fits[[name]]
      p <- predict(fit, test, type = "response")
      q <- if (name == "averaged over") {
        predict(fit, open, type = "response")
      } else if (name == "no holes") {
        p
      } else {
        predict(fit, filled(open, holed), type = "response")
      }
      data.frame(
        machine = name, observed = cases$observed[k], set = cases$set[k],
        error = mean((p > 0.5) != test$y), log_loss = probability_loss(test$y, p),
        error_gaps = mean((q > 0.5)[gaps] != test$y[gaps]),
        loss_gaps = probability_loss(test$y[gaps], q[gaps])
      )
    }))
  })
  out <- do.call(rbind, rows)
  shown <- stats::aggregate(
    out[c("error", "log_loss", "error_gaps", "loss_gaps")], out["machine"], mean
  )
  print(shown, digits = 3)
  # Paired, over data sets and kinds of holes.
  averaged <- out[out$machine == "averaged over", ]
  for (name in c("complete rows", "filled in once")) {
    gap <- averaged$log_loss - out$log_loss[out$machine == name]
    cat(sprintf(
      "averaged over minus %s: log-loss %.4f (standard error %.4f)\n", name,
      mean(gap), stats::sd(gap) / sqrt(length(gap))
    ))
  }
  out
}

# A factor ----------------------------------------------------------------------

factor_rows <- function(n = 400, groups = 40) {
  kind <- sample(c("a", "b", "c"), n, TRUE, c(0.4, 0.35, 0.25))
  effect <- c(a = 0, b = 0.8, c = -0.8)[kind]
  d <- data.frame(
    kind = factor(kind), x = stats::rnorm(n, c(a = -0.5, b = 0, c = 0.7)[kind]),
    id = factor(rep_len(seq_len(groups), n))
  )
  d$y <- as.numeric(effect + 0.7 * d$x + stats::rnorm(groups, 0, 0.8)[d$id] + stats::rlogis(n) > 0)
  d
}

factor_truth <- c("(Intercept)" = 0, kindb = 0.8, kindc = -0.8, x = 0.7)

# Estimates and 90 % limits.
ours <- function(fit) {
  cbind(coef(fit), confint(fit, level = 0.9))[names(factor_truth), ]
}

by_mice <- function(d) {
  # The response and the group are among what mice predicts by.
  given <- transform(d, id = as.integer(id), y = factor(y))
  filled <- mice::mice(given, m = 5, printFlag = FALSE, seed = 1)
  fits <- lapply(1:5, function(k) {
    own <- mice::complete(filled, k)
    lme4::glmer(y ~ kind + x + (1 | id), transform(own, id = factor(id)), stats::binomial())
  })
  estimate <- vapply(fits, lme4::fixef, numeric(4))
  within <- vapply(fits, function(f) {
    diag(as.matrix(stats::vcov(f)))
  }, numeric(4))
  mean <- rowMeans(estimate)
  between <- apply(estimate, 1, stats::var)
  total <- rowMeans(within) + 1.2 * between
  # Rubin's degrees of freedom.
  df <- 4 * (1 + rowMeans(within) / (1.2 * between))^2
  half <- stats::qt(0.95, df) * sqrt(total)
  cbind(mean, mean - half, mean + half)
}

factors <- function() {
  sets <- setting("SETS", 200)
  methods <- c(
    "no holes", "averaged over", "complete rows", if (has("mice") && has("lme4")) "mice and glmer"
  )
  answers <- array(
    NA, c(4, 3, length(methods), sets), list(names(factor_truth), NULL, methods, NULL)
  )
  for (set in seq_len(sets)) {
    set.seed(set)
    d <- factor_rows()
    holed <- d
    # More often where x is large.
    holed$kind[stats::runif(nrow(d)) < stats::plogis(-1.6 + 0.8 * d$x)] <- NA
    formula <- y ~ kind + x + (1 | id)
    quietly({
      answers[, , 1, set] <- ours(bkm(formula, d))
      answers[, , 2, set] <- ours(bkm(formula, holed, missing = "model"))
      answers[, , 3, set] <- ours(bkm(formula, holed, missing = "omit"))
      if (length(methods) == 4L && set <= sets / 5) {
        answers[, , 4, set] <- by_mice(holed)
      }
    })
  }
  shown <- lapply(names(factor_truth), function(name) {
    own <- answers[name, , , ]
    data.frame(
      coefficient = name, method = methods,
      bias = rowMeans(own[1, , ] - factor_truth[[name]], na.rm = TRUE),
      rmse = sqrt(rowMeans((own[1, , ] - factor_truth[[name]])^2, na.rm = TRUE)),
      cover = rowMeans(
        own[2, , ] < factor_truth[[name]] & own[3, , ] > factor_truth[[name]], na.rm = TRUE
      )
    )
  })
  shown <- do.call(rbind, shown)
  print(shown, digits = 2, row.names = FALSE)
  shown
}

run_parts(list(process = process, factor = factors), setting("RESULTS", "holes_results.rds"))
