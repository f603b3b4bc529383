# Spam: which words matter. bsvm() with selection, the lasso, and a linear
# support vector machine, in one run on one thread: CPU seconds of fit +
# predict, balanced error, variables kept.
#
#   Rscript bench/spam.R                    from the root of the repository
#   Rscript bench/spam.R --paper-sweeps     with all 100,000 sweeps of Gibbs

library(bayeskernel)
source("bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)
paper_sweeps <- "--paper-sweeps" %in% commandArgs(TRUE)
n_splits <- 5
print_machine()

spam <- spam_data()
# The paper's prior, rate, start and plain inclusions.
prior <- bsvm_prior(rho = 0.01, var_shape = 0.01, var_rate = 0.01)
predictors <- function(data) as.matrix(data[, -58])

fit_paper <- function(data, method = "vb", starts = 1, ...) {
  flat(bsvm)(type ~ ., data,
    select = TRUE, prior = prior, learning_rate = 1,
    control = bsvm_control(polish = FALSE, starts = starts),
    method = method, ...
  )
}

fit_selection <- function(data, ...) {
  quietly(fit_paper(data, ...))
}

# Labels of the test rows and the number of variables kept.
vb_result <- function(fit, test) {
  list(label = predict(fit, test), kept = sum(inclusion(fit) > 0.5))
}
lasso_result <- function(train, test, rule) {
  fit <- glmnet::cv.glmnet(predictors(train), train$type, family = "binomial")
  label <- predict(fit, predictors(test), s = rule, type = "class")
  list(label = factor(label, levels(test$type)), kept = sum(coef(fit, s = rule)[-1] != 0))
}

methods <- list(
  "bsvm vb, selection" = function(train, test) {
    vb_result(fit_selection(train), test)
  },
  "bsvm vb, selection, tol 1e-4" = function(train, test) {
    vb_result(fit_selection(train, tol = 1e-4), test)
  },
  "bsvm vb, penalty" = function(train, test) {
    list(label = predict(bsvm(type ~ ., train, method = "vb"), test), kept = 57)
  }
)
if (has("glmnet")) {
  methods[["cv.glmnet, minimum"]] <- function(train, test) {
    lasso_result(train, test, "lambda.min")
  }
  methods[["cv.glmnet, one se"]] <- function(train, test) {
    lasso_result(train, test, "lambda.1se")
  }
}
if (has("e1071")) {
  methods[["e1071 linear"]] <- function(train, test) {
    fit <- quietly(e1071::svm(type ~ ., train, kernel = "linear", cost = 1))
    list(label = predict(fit, test), kept = 57)
  }
}
if (has("varbvs")) {
  methods[["varbvs"]] <- function(train, test) {
    fit <- quietly(varbvs::varbvs(
      scale(predictors(train)), NULL, as.numeric(train$type) - 1,
      family = "binomial", verbose = FALSE
    ))
    new <- scale(predictors(test), colMeans(predictors(train)), apply(predictors(train), 2, sd))
    label <- predict(fit, new, type = "class")
    list(label = factor(levels(test$type)[1 + label], levels(test$type)), kept = sum(fit$pip > 0.5))
  }
}

measured <- lapply(seq_len(n_splits), function(split) {
  set.seed(split)
  at <- three_quarters(nrow(spam))
  lapply(methods, function(run) {
    result <- NULL
    seconds <- cpu_seconds(times = 1, function() {
      result <<- run(spam[at, ], spam[-at, ])
    })
    c(seconds = seconds, kept = result$kept, ber = balanced_error(spam$type[-at], result$label))
  })
})
column <- function(what, of) {
  vapply(names(methods), function(name) {
    of(vapply(measured, function(m) m[[name]][[what]], numeric(1)))
  }, numeric(1))
}
table <- data.frame(
  seconds = column("seconds", median), BER = column("ber", mean), kept = column("kept", mean)
)
cat(sprintf(
  "\nCPU seconds, median; BER and variables kept, mean; %d splits of %s\n",
  n_splits, "3451 + 1150 rows"
))
print(data.frame(
  seconds = signif(table$seconds, 3), BER = round(table$BER, 4),
  kept = round(table$kept, 1), row.names = rownames(table)
))

# All rows --------------------------------------------------------------------

fit <- NULL
whole <- cpu_seconds(function() fit <<- fit_selection(spam), times = 1)
chosen <- names(which(inclusion(fit) > 0.5))
cat("\nAll 4601 rows; the paper: VB 76 min, MCMC over 10 h\n")
print_limit("vb, one start, core (wall clock)", fit$elapsed[["core"]], 2.5)
print_limit("vb, one start, R and core (CPU)", whole, 2.5)
cat(sprintf(
  "bound %.3f (demand -2099.3), %d passes; %d variables, %s\n", max(elbo(fit)),
  fit$diagnostics$passes, length(chosen), if ("cs" %in% chosen) "cs IN" else "cs out"
))

each <- if (paper_sweeps) 25000 else 1000
time <- system.time(fit_selection(spam,
  method = "gibbs", chains = 2, warmup = each, ndraws = each, threads = 2L,
  seed = 1
))
share <- 1e5 / (4 * each)
from <- if (paper_sweeps) "" else sprintf(" (from %d)", 4 * each)
print_limit(
  paste0("gibbs, 100,000 sweeps, two threads, wall clock", from), share * time[["elapsed"]], 150
)
print_limit(
  paste0("gibbs, the same, CPU of one of the threads", from),
  share * (time[["user.self"]] + time[["sys.self"]]) / 2, 150
)

# Ratios ----------------------------------------------------------------------

rows <- list()
add <- function(ours, peer, demand, stretch) {
  if (peer %in% rownames(table)) {
    rows[[length(rows) + 1]] <<- ratio_row(
      ours, peer, table[ours, "seconds"], table[peer, "seconds"], demand, stretch
    )
  }
}
add("bsvm vb, selection", "cv.glmnet, minimum", 1 / 2, 1 / 60)
add("bsvm vb, selection, tol 1e-4", "cv.glmnet, minimum", 1 / 20, 1 / 60)
add("bsvm vb, selection", "varbvs", NA, NA)
add("bsvm vb, penalty", "cv.glmnet, minimum", 1 / 40, 1 / 90)
add("bsvm vb, penalty", "e1071 linear", 1 / 7, 1 / 16)
print_ratios(rows, "Ours / peer")

if (has("glmnet")) {
  ours <- table["bsvm vb, selection", ]
  peer <- table["cv.glmnet, minimum", ]
  cat(sprintf(
    "BER of vb with selection %.4f, limit cv.glmnet's + 0.005 = %.4f: %s\n", ours$BER,
    peer$BER + 0.005, if (ours$BER <= peer$BER + 0.005) "met" else "SHORT"
  ))
  cat(sprintf(
    "Variables kept %.1f, cv.glmnet %.1f: %s\n", ours$kept, peer$kept,
    if (ours$kept < peer$kept) "met" else "SHORT"
  ))
}
