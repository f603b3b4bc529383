# The slow runs of the duke vignette: section 4.5 of Luts and Ormerod. Run in
# this folder; writes duke_results.rds. The data come from the folder
# BAYESKERNEL_DATA, or are fetched once into the user's cache.
#
#   Rscript precompute_duke.R
#
# It takes about 45 minutes of one core, of which the tuned SVM has 20. The
# scores of the splits are kept in the user's cache, method by method, so that
# an interrupted run goes on where it was. Fewer splits, some parts only, or
# another file, for a trial:
#   BAYESKERNEL_SPLITS=2 BAYESKERNEL_PARTS=full,logistic,mice \
#   BAYESKERNEL_RESULTS=trial.rds Rscript precompute_duke.R
# The parts are "full", "feedback", and the methods of the splits by name. A
# part that is left out stays as the results file has it.

library(bayeskernel)
source("../bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

results_file <- setting("RESULTS", "duke_results.rds")
n_splits <- setting("SPLITS", 100)
unfinished <- setting("UNFINISHED", file.path(
  tools::R_user_dir("bayeskernel", "cache"), "duke_unfinished"
))

# The paper has 100 hold-outs for each cost of a grid.
hold_outs <- setting("HOLD_OUTS", 20)

complete_rows <- function(data) data[!is.na(data$choleste), ]

standardised <- function(data, train) {
  columns <- stats::model.matrix(
    acath_formula, stats::model.frame(acath_formula, data)
  )[, -1]
  of_train <- stats::model.matrix(acath_formula, train)[, -1]
  scale(columns, colMeans(of_train), apply(of_train, 2, stats::sd))
}

# Label and decision value, positive for sigdz = 1, of a linear SVM.
svm_values <- function(fit, new) {
  label <- predict(fit, new, decision.values = TRUE)
  value <- attr(label, "decision.values")
  list(
    label = as.vector(label),
    score = drop(value) * if (startsWith(colnames(value), "1")) 1 else -1
  )
}

logistic_prob <- function(coefficients, new) {
  x <- stats::model.matrix(acath_formula, new)
  drop(stats::plogis(x %*% coefficients))
}

bsvm_values <- function(fit, new) {
  list(
    prob = predict(fit, new, type = "prob")[, 2],
    score = predict(fit, new, type = "link")
  )
}

# The paper's method, learning rate and prior in every fit.
bsvm <- function(..., method = "vb") {
  suppressWarnings(
    flat(bayeskernel::bsvm)(...,
      method = method, learning_rate = 1,
      prior = bsvm_prior(var_shape = 0.01, var_rate = 0.01)
    ),
    classes = "bayeskernel_warning_learning_rate"
  )
}

# The paper's 5000 + 5000 sweeps of one chain.
fit_gibbs <- function(...) {
  quietly(flat(bsvm)(...,
    method = "gibbs", chains = 1, control = bsvm_control(warmup = 5000), ndraws = 5000
  ))
}

# Each takes the training and the test rows and gives, for the latter, `prob`
# (of sigdz = 1) or `label`, and `score` where the ranking is another one.
methods <- list(
  sex = function(train, test, split) list(label = 1 - test$sex),
  svm = function(train, test, split) {
    train <- complete_rows(train)
    x <- standardised(train, train)
    fit <- tune_svm(x, factor(train$sigdz), hold_outs)$fit
    svm_values(fit, standardised(test, train))
  },
  "weighted svm" = function(train, test, split) {
    train <- complete_rows(train)
    y <- factor(train$sigdz)
    fit <- fit_svm(standardised(train, train), y, 1, balancing_weights(y))
    svm_values(fit, standardised(test, train))
  },
  logistic = function(train, test, split) {
    fit <- stats::glm(acath_formula, stats::binomial, complete_rows(train))
    list(prob = predict(fit, test, type = "response"))
  },
  mice = function(train, test, split) {
    completed <- mice_completed(train, split)
    fits <- lapply(completed, function(data) {
      stats::glm(sigdz ~ ., stats::binomial, data)$coefficients
    })
    list(prob = logistic_prob(Reduce(`+`, fits) / length(fits), test))
  },
  "complete vb" = function(train, test, split) {
    bsvm_values(bsvm(acath_formula, complete_rows(train), method = "vb"), test)
  },
  vb = function(train, test, split) {
    bsvm_values(bsvm(acath_formula, train, missing = "model",
      method = "vb"), test)
  },
  "complete gibbs" = function(train, test, split) {
    fit <- fit_gibbs(acath_formula, complete_rows(train), seed = split)
    bsvm_values(fit, test)
  },
  gibbs = function(train, test, split) {
    fit <- fit_gibbs(acath_formula, train, missing = "model", seed = split)
    bsvm_values(fit, test)
  }
)

# One row per threshold: of the probability at a half and at the prevalence of
# the training rows, and the sign of the latent mean, which is the paper's rule.
scores <- function(truth, values, prevalence, ...) {
  truth <- factor(truth, 0:1)
  prob <- values$prob
  score <- if (is.null(values$score)) prob else values$score
  labels <- if (is.null(prob)) {
    list(none = values$label)
  } else {
    list(
      half = class_of(prob, 0.5, levels(truth)),
      prevalence = class_of(prob, prevalence, levels(truth)),
      sign = if (!is.null(values$score)) class_of(score, 0, levels(truth))
    )
  }
  labels <- Filter(Negate(is.null), labels)
  positive <- truth == "1"
  data.frame(
    ...,
    threshold = names(labels),
    ber = vapply(labels, function(label) {
      balanced_error(truth, label)
    }, numeric(1)),
    error = vapply(labels, function(label) mean(label != truth), numeric(1)),
    auc = auc(positive, score),
    log_loss = if (is.null(prob)) NA else log_loss(positive, prob),
    brier = if (is.null(prob)) NA else brier(positive, prob),
    row.names = NULL
  )
}

run_split <- function(method, split, data) {
  set.seed(split)
  at <- acath_test_rows(data)
  train <- data[-at, ]
  test <- data[at, ]
  set.seed(10000 + split)
  done <- timed(function() methods[[method]](train, test, split))
  scores(test$sigdz, done$value, mean(train$sigdz),
    split = split, method = method, seconds = done$seconds
  )
}

unfinished_file <- function(method) {
  file.path(unfinished, paste0(gsub("[^a-z]+", "_", method), ".rds"))
}

run_method <- function(method, data) {
  file <- unfinished_file(method)
  done <- if (file.exists(file)) readRDS(file)
  for (split in setdiff(seq_len(n_splits), done$split)) {
    message(method, ": split ", split, " of ", n_splits)
    done <- rbind(done, run_split(method, split, data))
    saveRDS(done, file)
  }
  done[done$split <= n_splits, ]
}

# All patients --------------------------------------------------------------

# Effects of one standard deviation of the column, on the scale of f, and on the
# complete rows the mean hinge loss and the share of errors.
describe <- function(beta, sd, complete, ...) {
  x <- stats::model.matrix(acath_formula, complete)
  margin <- (2 * complete$sigdz - 1) * drop(x %*% beta)
  spread <- apply(x, 2, stats::sd)[-1]
  data.frame(
    ...,
    column = names(spread), mean = beta[-1] * spread, sd = sd[-1] * spread,
    loss = mean(pmax(1 - margin, 0)), error = mean(margin < 0),
    row.names = NULL
  )
}

describe_fit <- function(fit, complete, ...) {
  describe(
    coef(fit), sqrt(diag(vcov(fit, type = "posterior"))), complete, ...
  )
}

# VB on data completed by mice: the mean over the imputations and the spread
# among them.
describe_mice <- function(data, complete) {
  betas <- vapply(mice_completed(data, 1), function(completed) {
    coef(bsvm(sigdz ~ ., completed, method = "vb"))
  }, numeric(5))
  describe(
    rowMeans(betas), apply(betas, 1, stats::sd), complete,
    method = "vb", rows = "mice"
  )
}

# VB on data completed once from the other predictors alone.
describe_blind <- function(data, complete) {
  rule <- stats::lm(log(choleste) ~ sex + age + log(cad.dur + 1), complete)
  holes <- is.na(data$choleste)
  set.seed(1)
  noise <- stats::rnorm(sum(holes), 0, summary(rule)$sigma)
  data$choleste[holes] <- exp(predict(rule, data[holes, ]) + noise)
  describe_fit(bsvm(acath_formula, data, method = "vb"), complete,
    method = "vb", rows = "blind"
  )
}

# Log cholesterol by diagnosis, measured and imputed: what boxplot() draws, in
# place of the data.
imputed_boxes <- function(fit, data) {
  values <- log(data$choleste)
  holes <- imputed(fit)
  values[holes$row] <- holes$mean
  kind <- ifelse(is.na(data$choleste), "imputed", "measured")
  kind <- factor(kind, c("measured", "imputed"))
  c(
    graphics::boxplot(split(values, list(data$sigdz, kind)), plot = FALSE),
    list(sd = stats::median(holes$sd))
  )
}

run_full <- function(acath) {
  complete <- complete_rows(acath)
  vb <- bsvm(sigdz ~ sex + age + log(cad.dur + 1) + log(choleste), acath,
    missing = "model", method = "vb"
  )
  sample <- function(data, ...) {
    quietly(flat(bsvm)(acath_formula, data,
      ...,
      method = "gibbs", control = bsvm_control(warmup = 2000), ndraws = 5000, seed = 1
    ))
  }
  list(
    vb = vb, boxes = imputed_boxes(vb, acath),
    effects = rbind(
      describe_fit(vb, complete, method = "vb", rows = "all"),
      describe_fit(sample(acath, missing = "model"), complete,
        method = "gibbs", rows = "all"
      ),
      describe_fit(bsvm(acath_formula, complete, method = "vb"), complete,
        method = "vb", rows = "complete"
      ),
      describe_fit(sample(complete), complete,
        method = "gibbs", rows = "complete"
      ),
      describe_mice(acath, complete), describe_blind(acath, complete)
    )
  )
}

# What modelled holes do to the effect of the predictor that has them ---------

# Two independent predictors, the second with `effect`, of which a `share` is
# missing at random; the estimates of both effects by several methods.
run_set <- function(set, effect, share) {
  set.seed(set)
  data <- data.frame(x1 = stats::rnorm(2000), x2 = stats::rnorm(2000))
  data$y <- data$x1 + effect * data$x2 + stats::rlogis(2000) > 0
  holes <- data
  holes$x2[sample(2000, share * 2000)] <- NA
  fits <- list(
    observed = list(bsvm(y ~ x1 + x2, data, method = "vb")),
    complete = list(bsvm(y ~ x1 + x2, stats::na.omit(holes), method = "vb")),
    mice = lapply(
      mice::complete(mice::mice(holes, seed = set, printFlag = FALSE), "all"),
      function(completed) bsvm(y ~ x1 + x2, completed, method = "vb")
    ),
    vb = list(bsvm(y ~ x1 + x2, holes, missing = "model", method = "vb")),
    gibbs = list(quietly(bsvm(y ~ x1 + x2, holes,
      missing = "model", method = "gibbs", chains = 1, seed = set
    )))
  )
  estimate <- function(column) {
    vapply(fits, function(list) {
      mean(vapply(list, function(fit) coef(fit)[[column]], numeric(1)))
    }, numeric(1))
  }
  data.frame(
    set = set, effect = effect, share = share, method = names(fits),
    x1 = estimate("x1"), x2 = estimate("x2"), row.names = NULL
  )
}

run_feedback <- function() {
  cells <- expand.grid(
    set = 1:20, effect = c(0, 0.5), share = c(0.1, 0.35, 0.6)
  )
  do.call(rbind, Map(run_set, cells$set, cells$effect, cells$share))
}

acath <- acath_data()
dir.create(unfinished, recursive = TRUE, showWarnings = FALSE)
all <- paste(c("full", "feedback", names(methods)), collapse = ",")
wanted <- strsplit(setting("PARTS", all), ",", fixed = TRUE)[[1]]
results <- if (file.exists(results_file)) readRDS(results_file) else list()
if ("full" %in% wanted) results$full <- run_full(acath)
if ("feedback" %in% wanted) results$feedback <- run_feedback()
wanted <- intersect(wanted, names(methods))
scored <- lapply(wanted, run_method, acath)
kept <- results$splits[!results$splits$method %in% wanted, ]
results$splits <- rbind(kept, do.call(rbind, scored))
saveRDS(results, results_file, version = 2, compress = "xz")
unlink(unfinished_file(wanted))
