# The penalty that is learned against the penalty that is tuned: one setting of
# section 4.2, and the spam data. CPU seconds of fit + predict on one thread.
#
#   Rscript bench/penalty.R                 from the root of the repository
#   Rscript bench/penalty.R --paper-grid    with all 100 hold-outs of the grid

library(bayeskernel)
source("bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)
paper_grid <- "--paper-grid" %in% commandArgs(TRUE)
hold_outs <- if (paper_grid) 100 else 2
print_machine()

quietly <- function(expr) suppressMessages(suppressWarnings(expr))

fit_gibbs <- function(x, y, warmup, ndraws) {
  quietly(bsvm(x, y,
    method = "gibbs", chains = 1, control = bsvm_control(warmup = warmup), ndraws = ndraws, seed = 1
  ))
}

# Runs each method on each data set: seconds and balanced error.
compare <- function(sets, methods, times = 1) {
  measured <- lapply(sets, function(set) {
    lapply(methods, function(run) {
      label <- NULL
      seconds <- cpu_seconds(function() label <<- run(set), times)
      c(seconds = seconds, ber = balanced_error(set$truth, label))
    })
  })
  pick <- function(method, what) {
    vapply(measured, function(m) m[[method]][[what]], numeric(1))
  }
  data.frame(
    seconds = vapply(names(methods), function(m) {
      median(pick(m, "seconds"))
    }, numeric(1)),
    BER = vapply(names(methods), function(m) {
      mean(pick(m, "ber"))
    }, numeric(1))
  )
}

show <- function(table) {
  print(data.frame(
    seconds = signif(table$seconds, 3), BER = round(table$BER, 4), row.names = rownames(table)
  ))
}

glmnet_classes <- function(x, y, new) {
  fit <- glmnet::cv.glmnet(x, y, family = "binomial")
  factor(predict(fit, new, s = "lambda.min", type = "class"), levels(y))
}

# Section 4.2, n = 200 and p = 20 --------------------------------------------

sets <- lapply(1:5, function(seed) {
  set.seed(seed)
  train <- simulate_linear(200, 20)
  test <- simulate_linear(1000, 20)
  list(x = train$x, y = train$y, new = test$x, truth = test$y)
})
methods <- list(
  "bsvm vb" = function(d) predict(bsvm(d$x, d$y, method = "vb"), d$new),
  "bsvm gibbs 5000 + 5000" = function(d) {
    predict(fit_gibbs(d$x, d$y, 5000, 5000), d$new)
  }
)
if (has("e1071")) {
  methods[["e1071 tuned"]] <- function(d) {
    predict(tune_svm(d$x, d$y, hold_outs)$fit, d$new)
  }
}
if (has("glmnet")) {
  methods[["cv.glmnet"]] <- function(d) glmnet_classes(d$x, d$y, d$new)
}
grid <- compare(sets, methods)
cat("\nSection 4.2, n = 200, p = 20, 5 data sets\n")
show(grid)
rows <- list()
for (ours in rownames(grid)[1:2]) {
  if (has("e1071")) {
    rows[[length(rows) + 1]] <- ratio_row(
      ours, "e1071 tuned", grid[ours, "seconds"], grid["e1071 tuned", "seconds"] * 100 / hold_outs
    )
  }
  if (has("glmnet")) {
    rows[[length(rows) + 1]] <- ratio_row(
      ours, "cv.glmnet", grid[ours, "seconds"], grid["cv.glmnet", "seconds"]
    )
  }
}
print_ratios(rows, paste(
  "Ours / peer; e1071 with 13 costs and the paper's 100 hold-outs a grid,", "scaled from", hold_outs
))
cat("The paper, one (n, p): tuned SVM 571.75 s, VB 1.68 s, MCMC 82.31 s,\n",
  "ratios to the SVM 1/340 and 1/6.9\n", sep = "")

# Spam, penalty model, no selection ------------------------------------------

if (!has("kernlab")) quit()
home <- new.env()
utils::data("spam", package = "kernlab", envir = home)
x <- as.matrix(home$spam[, -58])
y <- home$spam$type
sets <- lapply(1:3, function(seed) {
  set.seed(seed)
  at <- three_quarters(nrow(x))
  list(x = x[at, ], y = y[at], new = x[-at, ], truth = y[-at])
})
methods <- list("bsvm vb" = function(d) predict(bsvm(d$x, d$y, method = "vb"), d$new))
if (has("glmnet")) {
  methods[["cv.glmnet"]] <- function(d) glmnet_classes(d$x, d$y, d$new)
}
if (has("e1071")) {
  methods[["e1071 linear"]] <- function(d) {
    predict(e1071::svm(d$x, d$y, kernel = "linear", cost = 1), d$new)
  }
}
methods[["ksvm rbf"]] <- function(d) {
  kernlab::predict(kernlab::ksvm(d$x, d$y, kernel = "rbfdot", C = 1), d$new)
}
spam <- compare(sets, methods)
cat("\nSpam, 3451 x 57, 3 splits\n")
show(spam)

# 2000 sweeps, of which half count: seconds per 1000 sweeps, and effective draws a second over the
# coefficients.
sweeps <- 2000
ess <- function(draws) {
  apply(draws, 2, function(column) posterior::ess_bulk(matrix(column)))
}
samplers <- list(
  "bsvm gibbs" = function(d) {
    as.matrix(fit_gibbs(d$x, d$y, sweeps / 2, sweeps / 2))[, 1:58]
  }
)
if (has("MCMCpack")) {
  # From 0: its default start, the probit estimate, is infinite here, and the chain stays where it
  # starts.
  samplers[["MCMCprobit"]] <- function(d) {
    d <- data.frame(scale(d$x), y = as.numeric(d$y) - 1)
    quietly(MCMCpack::MCMCprobit(y ~ ., d,
      burnin = sweeps / 2, mcmc = sweeps / 2, b0 = 0, B0 = 1,
      beta.start = 0, seed = 1
    ))
  }
}
sampled <- vapply(samplers, function(run) {
  draws <- NULL
  seconds <- cpu_seconds(function() draws <<- run(sets[[1]]), times = 3)
  size <- ess(as.matrix(draws))
  c(
    seconds = seconds / sweeps * 1000, median_ess_per_s = median(size) / seconds,
    min_ess_per_s = min(size) / seconds
  )
}, numeric(3))
cat("\nSamplers on spam: seconds per 1000 sweeps (R's share included),",
  "effective draws a second\n")
print(signif(t(sampled), 3))

rows <- list()
add <- function(work, peer, ours, theirs, demand, stretch) {
  rows[[length(rows) + 1]] <<- ratio_row(work, peer, ours, theirs, demand, stretch)
}
vb <- spam["bsvm vb", "seconds"]
if (has("glmnet")) {
  add("vb", "cv.glmnet", vb, spam["cv.glmnet", "seconds"], 1 / 40, 1 / 90)
}
if (has("e1071")) {
  add("vb", "e1071 linear", vb, spam["e1071 linear", "seconds"], 1 / 7, 1 / 16)
}
add("vb", "ksvm rbf", vb, spam["ksvm rbf", "seconds"], 1 / 5, 1 / 11)
if (has("MCMCpack")) {
  add(
    "gibbs", "MCMCprobit", sampled["seconds", "bsvm gibbs"],
    sampled["seconds", "MCMCprobit"], 0.8, 0.5
  )
}
print_ratios(rows, "Spam: ours / peer")
if (has("e1071")) {
  cat(sprintf(
    "BER of vb %.4f, limit e1071's + 0.005 = %.4f\n", spam["bsvm vb", "BER"],
    spam["e1071 linear", "BER"] + 0.005
  ))
}
if (has("MCMCpack")) {
  gain <- sampled[-1, "bsvm gibbs"] / sampled[-1, "MCMCprobit"]
  cat(sprintf(
    paste(
      "Effective draws a second, ours / MCMCprobit's: median %.2f,", "smallest %.2f; demand 1.5\n"
    ), gain[[1]], gain[[2]]
  ))
}
