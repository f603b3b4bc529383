# Duke: cholesterol is missing in a third of the rows. bsvm() with the missing
# values in the model, multiple imputation, and complete rows only, in one run
# on one thread: CPU seconds of fit + predict, balanced error, AUC.
#
#   Rscript bench/duke.R                    from the root of the repository
#   Rscript bench/duke.R --paper-grid       with all 100 hold-outs of the grid

library(bayeskernel)
source("bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)
paper_grid <- "--paper-grid" %in% commandArgs(TRUE)
hold_outs <- if (paper_grid) 100 else 2
n_splits <- 10
print_machine()

acath <- acath_data()
complete_rows <- function(data) data[!is.na(data$choleste), ]

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

fit_gibbs <- function(train, warmup, ndraws) {
  quietly(bsvm(acath_formula, train,
    missing = "model", method = "gibbs", chains = 1,
    control = bsvm_control(warmup = warmup),
    ndraws = ndraws, seed = 1
  ))
}

# Probability of disease in the test rows.
methods <- list(
  "bsvm vb" = function(train, test) {
    fit <- bsvm(acath_formula, train, missing = "model", method = "vb")
    predict(fit, test, type = "prob")[, 2]
  },
  "bsvm vb, complete rows" = function(train, test) {
    fit <- bsvm(acath_formula, complete_rows(train), method = "vb")
    predict(fit, test, type = "prob")[, 2]
  },
  "bsvm gibbs 5000 + 5000" = function(train, test) {
    predict(fit_gibbs(train, 5000, 5000), test, type = "prob")[, 2]
  },
  "glm, complete rows" = function(train, test) {
    fit <- glm(acath_formula, binomial, complete_rows(train))
    predict(fit, test, type = "response")
  }
)
if (has("mice")) {
  methods[["mice + glm"]] <- function(train, test) {
    fits <- lapply(mice_completed(train, 1), function(data) {
      glm(sigdz ~ ., binomial, data)$coefficients
    })
    x <- model.matrix(acath_formula, test)
    drop(plogis(x %*% Reduce(`+`, fits) / length(fits)))
  }
}

# The cost hardly matters here, and from 2^7 on a fit takes ten seconds and more: the coarse grid
# stops at 2^5.
run_svm <- function(train, test) {
  train <- complete_rows(train)
  columns <- function(data) model.matrix(acath_formula, data)[, -1]
  x <- columns(train)
  center <- colMeans(x)
  spread <- apply(x, 2, sd)
  fit <- tune_svm(scale(x, center, spread), factor(train$sigdz), hold_outs)$fit
  predict(fit, scale(columns(test), center, spread))
}

splits <- lapply(seq_len(n_splits), function(split) {
  set.seed(split)
  at <- acath_test_rows(acath)
  list(train = acath[-at, ], test = acath[at, ])
})
# Once beforehand, so that no method pays for the loading of its package.
for (run in methods) run(splits[[1]]$train, splits[[1]]$test)

measured <- lapply(splits, function(split) {
  truth <- factor(split$test$sigdz)
  out <- lapply(methods, function(run) {
    prob <- NULL
    seconds <- cpu_seconds(times = 1, function() {
      prob <<- run(split$train, split$test)
    })
    at <- c(half = 0.5, prevalence = mean(split$train$sigdz))
    ber <- vapply(at, function(threshold) {
      balanced_error(truth, class_of(prob, threshold, levels(truth)))
    }, numeric(1))
    c(seconds = seconds, ber, auc = auc(truth == "1", prob))
  })
  if (has("e1071")) {
    label <- NULL
    seconds <- cpu_seconds(times = 1, function() {
      label <<- run_svm(split$train, split$test)
    })
    out[["e1071 tuned, complete rows"]] <- c(
      seconds = seconds, half = balanced_error(truth, label), prevalence = NA, auc = NA
    )
  }
  out
})
column <- function(what, of) {
  names <- names(measured[[1]])
  vapply(names, function(name) {
    of(vapply(measured, function(m) m[[name]][[what]], numeric(1)))
  }, numeric(1))
}
table <- data.frame(
  seconds = column("seconds", median), half = column("half", mean),
  prevalence = column("prevalence", mean), auc = column("auc", mean)
)
cat(sprintf("\nCPU seconds, median; BER and AUC, mean; %d splits of 2628 + 876 rows\n", n_splits))
print(data.frame(
  seconds = signif(table$seconds, 3), BER = round(table$half, 4),
  "BER, prevalence" = round(table$prevalence, 4), AUC = round(table$auc, 4),
  row.names = rownames(table), check.names = FALSE
))

# The engine and R's part of it -----------------------------------------------

train <- splits[[1]]$train
fit <- NULL
whole <- cpu_seconds(times = 9, function() {
  fit <<- bsvm(acath_formula, train, missing = "model", method = "vb")
})
core <- median(replicate(49, {
  bsvm(acath_formula, train, missing = "model", method = "vb")$elapsed[["core"]]
}))
gibbs <- cpu_seconds(function() fit_gibbs(train, 5000, 5000), times = 3)
cat("\n2628 rows; the paper: VB 1028 s, MCMC 1719 s, tuned SVM 3109 s\n")
print_limit("vb fit, core (wall clock)", core, 0.017)
print_limit("vb fit, R and core (CPU)", whole, 0.017)
print_limit("gibbs, 10,000 sweeps, R and core (CPU)", gibbs, 4)
cat(sprintf("%d passes\n", fit$diagnostics$passes))

# Ratios ----------------------------------------------------------------------

rows <- list()
add <- function(ours, peer, demand, stretch, scale = 1) {
  if (peer %in% rownames(table)) {
    rows[[length(rows) + 1]] <<- ratio_row(
      ours, peer, table[ours, "seconds"], scale * table[peer, "seconds"], demand, stretch
    )
  }
}
svm <- "e1071 tuned, complete rows"
add("bsvm vb", "mice + glm", 1 / 8, 1 / 16)
add("bsvm vb", svm, 1 / 1200, 1 / 3000, 100 / hold_outs)
add("bsvm gibbs 5000 + 5000", svm, NA, NA, 100 / hold_outs)
print_ratios(rows, paste(
  "Ours / peer; e1071 with 13 costs and the paper's 100 hold-outs a grid,", "scaled from", hold_outs
))

print_score <- function(what, ours, limit, at_least = FALSE) {
  met <- if (at_least) ours >= limit else ours <= limit
  cat(sprintf("%-58s %.4f, limit %.4f: %s\n", what, ours, limit, if (met) "met" else "SHORT"))
}
cat("\nScores\n")
for (ours in c("bsvm vb", "bsvm gibbs 5000 + 5000")) {
  if (has("e1071")) {
    print_score(
      paste("BER,", ours, "against the tuned SVM"), table[ours, "half"], table[svm, "half"]
    )
  }
  if (has("mice")) {
    print_score(
      paste("AUC,", ours, "against mice + glm"), table[ours, "auc"], table["mice + glm", "auc"],
      at_least = TRUE
    )
  }
}
