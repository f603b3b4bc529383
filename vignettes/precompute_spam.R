# The slow runs of the spam vignette: section 4.4 of Luts and Ormerod. Run in
# this folder; writes spam_results.rds.
#
#   Rscript precompute_spam.R
#
# It takes about half an hour. Some parts only, fewer splits, or
# another file, for a trial:
#   BAYESKERNEL_PARTS=lasso,splits BAYESKERNEL_SPLITS=2 \
#   BAYESKERNEL_RESULTS=trial.rds Rscript precompute_spam.R
# A part that is left out stays as the results file has it.

library(bayeskernel)
source("../bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

results_file <- setting("RESULTS", "spam_results.rds")
n_splits <- setting("SPLITS", 20)
sweeps <- setting("SWEEPS", 50000)

spam <- spam_data()
# The paper's prior, rate, start and plain inclusions.
prior <- bsvm_prior(rho = 0.01, var_shape = 0.01, var_rate = 0.01)

fit_paper <- function(data, method = "vb", starts = 1, ...) {
  flat(bsvm)(type ~ ., data,
    select = TRUE, prior = prior, learning_rate = 1,
    control = bsvm_control(polish = FALSE, starts = starts),
    method = method, ...
  )
}

fit_selection <- function(data, ...) {
  fit_paper(data, ...)
}

# All rows -------------------------------------------------------------------

# The bound has several maxima: the start decides which is found.
run_starts <- function() {
  starts <- c(1, 0.5, 0.1, 0.01)
  fits <- lapply(starts, function(start) fit_selection(spam, starts = start))
  data.frame(
    start = starts,
    elbo = vapply(fits, function(fit) max(elbo(fit)), numeric(1)),
    kept = vapply(fits, function(fit) sum(inclusion(fit) > 0.5), numeric(1)),
    passes = vapply(fits, function(fit) fit$diagnostics$passes, numeric(1))
  )
}

run_vb <- function() {
  done <- timed(function() fit_selection(spam))
  fit <- done$value
  list(
    inclusion = inclusion(fit), effect = coef(fit, scale = "model")[-1],
    elbo = max(elbo(fit)), passes = fit$diagnostics$passes,
    seconds = done$seconds
  )
}

# The paper's 50,000 + 50,000 sweeps, in two chains at a time.
run_gibbs <- function() {
  done <- timed(function() {
    quietly(fit_selection(spam,
      method = "gibbs", chains = 2, warmup = sweeps, ndraws = sweeps,
      threads = 2L, seed = 1
    ))
  })
  fit <- done$value
  names <- names(inclusion(fit))
  by_chain <- apply(fit$draws[, , sprintf("inclusion[%s]", names)], 3:2, mean)
  rownames(by_chain) <- names
  list(
    inclusion = inclusion(fit), effect = coef(fit, scale = "model")[-1],
    by_chain = by_chain, seconds = done$seconds
  )
}

run_lasso <- function() {
  set.seed(1)
  done <- timed(function() {
    glmnet::cv.glmnet(
      as.matrix(spam[, -58]), spam$type,
      family = "binomial"
    )
  })
  coefficients <- function(rule) {
    drop(as.matrix(coef(done$value, s = rule)))[-1]
  }
  list(
    one_se = coefficients("lambda.1se"), min = coefficients("lambda.min"),
    seconds = done$seconds
  )
}

# Random splits --------------------------------------------------------------

lasso_fit <- function(train) {
  glmnet::cv.glmnet(
    as.matrix(train[, -58]), train$type,
    family = "binomial"
  )
}
lasso_result <- function(fit, test, rule) {
  list(
    label = factor(
      predict(fit, as.matrix(test[, -58]), s = rule, type = "class"),
      levels(test$type)
    ),
    kept = sum(coef(fit, s = rule)[-1] != 0)
  )
}

methods <- list(
  "vb, selection" = function(train, test, split) {
    fit <- fit_selection(train)
    list(label = predict(fit, test), kept = sum(inclusion(fit) > 0.5))
  },
  "gibbs, selection" = function(train, test, split) {
    fit <- quietly(fit_selection(train,
      method = "gibbs", chains = 1, warmup = 2500, ndraws = 2500, seed = split
    ))
    list(label = predict(fit, test), kept = sum(inclusion(fit) > 0.5))
  },
  "vb, penalty" = function(train, test, split) {
    fit <- bsvm(type ~ ., train, penalty = "learn", method = "vb")
    list(label = predict(fit, test), kept = 57)
  },
  "lasso, one se" = function(train, test, split) {
    lasso_result(lasso_fit(train), test, "lambda.1se")
  },
  "lasso, minimum" = function(train, test, split) {
    lasso_result(lasso_fit(train), test, "lambda.min")
  },
  "svm" = function(train, test, split) {
    fit <- quietly(e1071::svm(type ~ ., train, kernel = "linear", cost = 1))
    list(label = predict(fit, test), kept = 57)
  }
)

run_split <- function(split) {
  set.seed(split)
  train <- three_quarters(nrow(spam))
  rows <- lapply(names(methods), function(method) {
    message("split ", split, " of ", n_splits, ": ", method)
    set.seed(10000 + split)
    done <- timed(function() {
      methods[[method]](spam[train, ], spam[-train, ], split)
    })
    truth <- spam$type[-train]
    data.frame(
      split = split, method = method, seconds = done$seconds,
      ber = balanced_error(truth, done$value$label), kept = done$value$kept
    )
  })
  do.call(rbind, rows)
}

run_splits <- function() do.call(rbind, lapply(seq_len(n_splits), run_split))

# Known truth ----------------------------------------------------------------

run_sparse <- function() {
  effects <- seq(0.2, 2, by = 0.2) * c(1, -1)
  cells <- expand.grid(set = 1:20, correlation = c(0, 0.7))
  scores <- Map(function(set, correlation) {
    message("sparse: set ", set, ", correlation ", correlation)
    do.call(rbind, lapply(selectors(), function(selector) {
      set.seed(set)
      score_selection(
        selector, simulate_sparse(500, 100, effects, correlation)
      )
    }))
  }, cells$set, cells$correlation)
  methods <- rownames(scores[[1]])
  data.frame(
    cells[rep(seq_along(scores), each = length(methods)), ],
    method = methods, do.call(rbind, scores), row.names = NULL
  )
}

run_parts(list(
  vb = run_vb, starts = run_starts, gibbs = run_gibbs, lasso = run_lasso,
  splits = run_splits, sparse = run_sparse
), results_file)
