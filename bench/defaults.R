# Every model at its defaults compared with two peers that a user would take, on data that are
# known: CPU seconds of the fit and the loss of the third of the rows that is held out (log-loss of
# classes with probabilities of at least 0.001, as forests give some of 0; root mean squared error
# of numbers), means over random thirds, in one run. Then the examples of README.
#
#   Rscript bench/defaults.R            all
#   Rscript bench/defaults.R Sonar      those whose name matches
#   SPLITS=2 Rscript bench/defaults.R   over another number of thirds than 5
#
# The tables are as README and vignettes/peers.Rmd have them. Bold: the smallest loss, and those
# that are not two standard errors of their difference (over the thirds) larger.
# Data and peers that are not installed are left out. One thread each.

source("bench/helpers.R")
suppressPackageStartupMessages(library(bayeskernel))

held_out <- function(data, seed = 1) {
  set.seed(seed)
  test <- sample(nrow(data), nrow(data) %/% 3)
  list(train = data[-test, ], test = data[test, ])
}
from <- function(name, package) {
  if (!has(package)) return(NULL)
  utils::data(list = name, package = package, envir = environment())
  get(name)
}
rmse <- function(f, y) sqrt(mean((f - y)^2))
# Probabilities, rows x classes, or of the second class.
class_losses <- function(p, y) {
  y <- factor(y)
  if (NCOL(p) == 1L) p <- cbind(1 - c(p), c(p), deparse.level = 0)
  if (is.null(colnames(p))) colnames(p) <- levels(y)
  own <- p[cbind(seq_along(y), match(y, colnames(p)))]
  c(
    loss = -mean(log(pmin(pmax(own, 1e-3), 1 - 1e-3))),
    error = mean(colnames(p)[max.col(p, "first")] != y)
  )
}

# The grid is in units of the default, one over the number of predictors.
tuned_svm <- function(formula, train) {
  set.seed(1)
  columns <- ncol(model.matrix(formula, train)) - 1
  best <- e1071::tune.svm(
    formula, data = train, gamma = 2^(-2:3) / columns, cost = 4^(0:2),
    tunecontrol = e1071::tune.control(cross = 5)
  )$best.parameters
  e1071::svm(formula, data = train, gamma = best$gamma, cost = best$cost, probability = TRUE)
}

# A way to fit and predict: `needs` a package; `fit(formula, train)`; `predict(fit, rows)`.
way <- function(name, needs, fit, predict) {
  list(name = name, needs = needs, fit = fit, predict = predict)
}
svm <- way("tuned `svm`", "e1071", tuned_svm, function(fit, rows) {
  attr(predict(fit, rows, probability = TRUE), "probabilities")
})
forest <- way("`ranger`", "ranger", function(formula, train) {
  classes <- is.factor(train[[all.vars(formula)[1]]])
  ranger::ranger(formula, train, probability = classes, num.threads = 1, seed = 1)
}, function(fit, rows) predict(fit, rows)$predictions)
mixed <- function(formula, nodes = 1L) {
  way("`glmer`", "lme4", function(ignored, train) {
    lme4::glmer(formula, train, binomial, nAGQ = nodes)
  }, function(fit, rows) predict(fit, rows, type = "response", allow.new.levels = TRUE))
}
curves <- function(name, formula) {
  way(name, "mgcv", function(ignored, train) {
    if (grepl("bam", name)) return(mgcv::bam(formula, data = train))
    mgcv::gam(formula, data = train, method = "REML")
  }, predict)
}
process <- way("`gausspr`", "kernlab", function(formula, train) {
  set.seed(1)
  utils::capture.output(fit <- kernlab::gausspr(formula, train))
  fit
}, function(fit, rows) c(kernlab::predict(fit, rows)))
boosted_sums <- way("`dbarts`", "dbarts", function(formula, train) {
  y <- all.vars(formula)[1]
  set.seed(1)
  fit <- dbarts::bart(
    train[names(train) != y], train[[y]], keeptrees = TRUE, verbose = FALSE, nthread = 1
  )
  list(fit = fit, y = y)
}, function(fit, rows) colMeans(predict(fit$fit, rows[names(rows) != fit$y])))
boosting <- way("`gbm`", "gbm", function(formula, train) {
  y <- all.vars(formula)[1]
  train[[y]] <- as.integer(train[[y]]) - 1L
  set.seed(1)
  gbm::gbm(formula, "bernoulli", train, n.trees = 500, interaction.depth = 4, n.cores = 1)
}, function(fit, rows) predict(fit, rows, n.trees = 500, type = "response"))
lasso <- way("`cv.glmnet`", "glmnet", function(formula, train) {
  y <- all.vars(formula)[1]
  set.seed(1)
  x <- as.matrix(train[names(train) != y])
  list(fit = glmnet::cv.glmnet(x, train[[y]], family = "binomial"), y = y)
}, function(fit, rows) {
  x <- as.matrix(rows[names(rows) != fit$y])
  predict(fit$fit, x, type = "response", s = "lambda.min")
})
discriminant <- way("`lda`", "MASS", function(formula, train) {
  MASS::lda(formula, train)
}, function(fit, rows) predict(fit, rows)$posterior)
ours <- function(name, fit) {
  way(paste0("`", name, "`"), "bayeskernel", fit, function(fit, rows) {
    if (is.null(fit$levels)) predict(fit, rows) else predict(fit, rows, type = "prob")
  })
}
gaussian_svm <- ours("gpsvm()", function(formula, train) gpsvm(formula, train, seed = 1))

bdf <- nlme::bdf[c("langPOST", "IQ.verb", "ses", "langPRET", "schoolNR")]
bdf$school <- factor(bdf$schoolNR, ordered = FALSE)
bdf$high <- factor(bdf$langPOST > 40)
known <- function(data, response) {
  if (!is.null(data)) data[[response]] <- factor(data[[response]])
  data
}

# Two descriptions of the same molecules, each a space.
molecules <- from("dhfr", "caret")
families <- split(names(molecules)[-1], sub("_.*", "", names(molecules)[-1]))
spaces_of <- function(rows) lapply(families, function(names) rows[names])

# data, formula, and the ways: ours first.
cases <- list(
  "Sonar" = list(from("Sonar", "mlbench"), Class ~ ., gaussian_svm, svm, forest),
  "Pima diabetes" = list(
    from("PimaIndiansDiabetes", "mlbench"), diabetes ~ ., gaussian_svm, svm, forest
  ),
  "Glass, 6 classes" = list(from("Glass", "mlbench"), Type ~ ., gaussian_svm, svm, forest),
  "Vowel, 11 classes" = list(from("Vowel", "mlbench")[-1], Class ~ ., gaussian_svm, svm, forest),
  "spam" = list(from("spam", "kernlab"), type ~ ., gaussian_svm, boosting, forest),
  "spam, linear" = list(
    from("spam", "kernlab"), type ~ ., ours("bsvm(select = TRUE)", function(formula, train) {
      bsvm(formula, train, select = TRUE)
    }), lasso
  ),
  "DHFR, two spaces" = list(
    molecules, Y ~ ., way("`mkprobit()`", "bayeskernel", function(formula, train) {
      mkprobit(spaces_of(train), train$Y, seed = 1)
    }, function(fit, rows) predict(fit, spaces_of(rows), type = "prob")), svm, forest
  ),
  "two irises" = list(
    droplevels(datasets::iris[51:150, ]), Species ~ .,
    ours("klr()", function(formula, train) klr(formula, train, rank = 1, seed = 1)),
    svm, discriminant
  ),
  "pupils in schools" = list(
    bdf, high ~ IQ.verb + ses + langPRET + school,
    ours("bkm()", function(ignored, train) {
      bkm(high ~ IQ.verb + ses + langPRET + (1 | school), train)
    }), mixed(high ~ IQ.verb + ses + langPRET + (1 | school)), forest
  ),
  "toenail trial" = list(
    known(from("toenail", "HSAUR3"), "outcome"), outcome ~ treatment + time + patientID,
    ours("bsvm()", function(ignored, train) {
      bsvm(outcome ~ treatment * time + (1 | patientID), train)
    }), mixed(outcome ~ treatment * time + (1 | patientID), 25L), forest
  ),
  "Boston" = list(
    MASS::Boston, medv ~ ., ours("bark()", function(f, train) bark(f, train, seed = 1)),
    boosted_sums, forest
  ),
  "ozone" = list(
    stats::na.omit(datasets::airquality), Ozone ~ .,
    ours("bark()", function(f, train) bark(f, train, seed = 1)),
    curves("`gam`", Ozone ~ s(Solar.R) + s(Wind) + s(Temp) + s(Month, k = 4) + s(Day)), forest
  ),
  "motorcycle" = list(
    MASS::mcycle, accel ~ times, ours("seqkr()", function(f, train) seqkr(f, train, seed = 1)),
    curves("`gam`", accel ~ s(times)), process
  ),
  "pupils, curves" = list(
    bdf, langPOST ~ IQ.verb + ses + school, ours("bkm()", function(ignored, train) {
      bkm(langPOST ~ s(IQ.verb) + s(ses) + (1 | school), train)
    }), curves("`bam`", langPOST ~ s(IQ.verb) + s(ses) + s(school, bs = "re")), forest
  )
)

# Seconds, loss and error of each way, ways x 3.
run_split <- function(data, formula, ways, seed) {
  parts <- held_out(data, seed)
  y <- eval(formula[[2]], parts$test)
  out <- vapply(ways, function(way) {
    done <- timed(function() quietly(way$fit(formula, parts$train)))
    p <- quietly(way$predict(done$value, parts$test))
    losses <- if (is.numeric(y)) c(loss = rmse(c(p), y), error = NA) else class_losses(p, y)
    c(seconds = done$seconds, losses)
  }, numeric(3))
  t(out)
}

run_case <- function(name, case, splits = as.integer(Sys.getenv("SPLITS", "5"))) {
  data <- case[[1]]
  ways <- Filter(function(way) has(way$needs), case[-(1:2)])
  runs <- vapply(seq_len(splits), function(seed) {
    run_split(data, case[[2]], ways, seed)
  }, matrix(0, length(ways), 3))
  mean <- apply(runs, 1:2, mean)
  loss <- matrix(runs[, 2, ], length(ways))
  best <- which.min(mean[, 2])
  apart <- sweep(loss, 2, loss[best, ])
  se <- apply(apart, 1, stats::sd) / sqrt(splits)
  data.frame(
    data = name, rows = nrow(data) - nrow(data) %/% 3, way = vapply(ways, `[[`, "", "name"),
    seconds = mean[, 1], loss = mean[, 2], error = mean[, 3], se = se,
    best = !(rowMeans(apart) > 2 * se), row.names = NULL
  )
}

# A row of the table: the number of each way, and its seconds.
cells <- function(table, what) {
  own <- function(x) format(signif(x, 3), digits = 3, nsmall = if (x < 1) 3 else 0)
  vapply(split(table, factor(table$data, unique(table$data))), function(case) {
    number <- vapply(case[[what]], own, "")
    if (what == "loss") number <- ifelse(case$best, paste0("**", number, "**"), number)
    seconds <- if (what == "loss") {
      sprintf(" (%s)", vapply(case$seconds, function(s) format(signif(s, 2)), ""))
    }
    text <- c(paste0(case$way, " ", number, seconds), "")[1:3]
    sprintf("| %s, %d | %s |", case$data[1], case$rows[1], paste(text, collapse = " | "))
  }, "")
}

# The examples of README, as they stand.
readme_seconds <- function() {
  text <- readLines("README.md")
  text <- text[grep("^## An example", text):grep("^## Speed", text)]
  edges <- grep("^```", text)
  blocks <- Map(function(a, b) text[(a + 1):(b - 1)], edges[c(TRUE, FALSE)], edges[c(FALSE, TRUE)])
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  place <- new.env(parent = globalenv())
  do.call(rbind, lapply(blocks, function(block) {
    code <- parse(text = block)
    seconds <- cpu_seconds(function() {
      quietly(utils::capture.output(for (one in code) print(eval(one, place))))
    }, times = 1, least = 0)
    first <- grep("^fit <- ", block)[1]
    data.frame(example = trimws(block[first]), seconds = seconds)
  }))
}

Sys.setenv(OMP_NUM_THREADS = 1)
options(width = 140)
print_machine()
wanted <- commandArgs(TRUE)
names <- names(cases)
if (length(wanted)) names <- grep(wanted[1], names, value = TRUE)
names <- Filter(function(name) !is.null(cases[[name]][[1]]), names)
table <- do.call(rbind, lapply(names, function(name) run_case(name, cases[[name]])))
print(table, digits = 3, row.names = FALSE, right = FALSE)
writeLines(c("", "Loss (CPU seconds):", cells(table, "loss")))
writeLines(c("", "Error:", cells(table[!is.na(table$error), ], "error"), ""))
if (length(wanted) == 0L) {
  print(readme_seconds(), digits = 2, row.names = FALSE, right = FALSE)
}
