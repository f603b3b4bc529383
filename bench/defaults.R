# Every model at its defaults beside the peer that a user would take, on ordinary
# data: CPU seconds of the fit and the loss of the third of the rows that is held
# out (log-loss of classes, root mean squared error of numbers), means over random
# thirds, in one run. `se` is the standard error of the difference of the losses
# over the thirds. Then the examples of README.
#
#   Rscript bench/defaults.R            all
#   Rscript bench/defaults.R quakes     those whose name matches
#   SPLITS=2 Rscript bench/defaults.R   over another number of thirds than 5
#
# Peers that are not installed are left out. One thread each.

source("bench/helpers.R")
suppressPackageStartupMessages(library(bayeskernel))

held_out <- function(data, seed = 1) {
  set.seed(seed)
  test <- sample(nrow(data), nrow(data) %/% 3)
  list(train = data[-test, ], test = data[test, ])
}
log_loss_of <- function(p, y) {
  if (is.matrix(p)) p <- p[cbind(seq_along(y), match(y, colnames(p)))]
  -mean(log(pmax(p, 1e-15)))
}
# p is that of TRUE, or of the second level.
two_loss <- function(p, y) {
  y <- if (is.factor(y)) y == levels(y)[2] else y
  log_loss_of(ifelse(y, p, 1 - p), y)
}
rmse <- function(f, y) sqrt(mean((f - y)^2))

tuned_svm <- function(formula, train) {
  set.seed(1)
  best <- e1071::tune.svm(
    formula, data = train, gamma = 2^(-5:0), cost = 4^(-1:2),
    tunecontrol = e1071::tune.control(cross = 5)
  )$best.parameters
  e1071::svm(formula, data = train, gamma = best$gamma, cost = best$cost, probability = TRUE)
}
svm_p <- function(fit, test) {
  attr(predict(fit, test, probability = TRUE), "probabilities")
}

bdf <- nlme::bdf
bdf$high <- factor(bdf$langPOST > 40)
bdf$school <- factor(bdf$schoolNR, ordered = FALSE)
toenail <- if (has("HSAUR3")) {
  utils::data("toenail", package = "HSAUR3", envir = environment())
  get("toenail")
}
deep <- transform(datasets::quakes, deep = factor(depth > 300))
two <- droplevels(datasets::iris[51:150, ])
nile <- data.frame(year = 1871:1970, flow = as.numeric(datasets::Nile))

# data; ours and peer: fit(train), loss(fit, test).
cases <- list(
  "bsvm() toenail" = list(
    data = toenail, peer = "lme4::glmer", needs = c("HSAUR3", "lme4"),
    ours = function(d) bsvm(outcome ~ treatment * time + (1 | patientID), d),
    our_loss = function(fit, t) {
      two_loss(predict(fit, t, type = "prob")[, 2], t$outcome)
    },
    theirs = function(d) {
      lme4::glmer(outcome ~ treatment * time + (1 | patientID), d, binomial)
    },
    their_loss = function(fit, t) {
      two_loss(predict(fit, t, type = "response", allow.new.levels = TRUE), t$outcome)
    }
  ),
  "bkm() pupils, logit" = list(
    data = bdf, peer = "lme4::glmer", needs = "lme4",
    ours = function(d) bkm(high ~ IQ.verb + ses + langPRET + (1 | school), d),
    our_loss = function(fit, t) {
      two_loss(predict(fit, t, type = "prob")[, 2], t$high)
    },
    theirs = function(d) {
      lme4::glmer(high ~ IQ.verb + ses + langPRET + (1 | school), d, binomial)
    },
    their_loss = function(fit, t) {
      two_loss(predict(fit, t, type = "response", allow.new.levels = TRUE), t$high)
    }
  ),
  "bkm() pupils, curves" = list(
    data = bdf, peer = "mgcv::bam", needs = "mgcv",
    ours = function(d) bkm(langPOST ~ s(IQ.verb) + s(ses) + (1 | school), d),
    our_loss = function(fit, t) rmse(predict(fit, t), t$langPOST),
    theirs = function(d) {
      mgcv::bam(langPOST ~ s(IQ.verb) + s(ses) + s(school, bs = "re"), data = d)
    },
    their_loss = function(fit, t) rmse(predict(fit, t), t$langPOST)
  ),
  "bsvm(select = TRUE) spam" = list(
    data = if (has("kernlab")) {
      utils::data("spam", package = "kernlab", envir = environment())
      get("spam")
    },
    peer = "glmnet::cv.glmnet", needs = c("kernlab", "glmnet"),
    ours = function(d) bsvm(type ~ ., d, select = TRUE),
    our_loss = function(fit, t) {
      two_loss(predict(fit, t, type = "prob")[, 2], t$type)
    },
    theirs = function(d) {
      set.seed(1)
      glmnet::cv.glmnet(as.matrix(d[-58]), d$type, family = "binomial")
    },
    their_loss = function(fit, t) {
      p <- predict(fit, as.matrix(t[-58]), type = "response", s = "lambda.min")
      two_loss(drop(p), t$type)
    }
  ),
  "gpsvm() quakes" = list(
    data = deep, peer = "e1071::svm, tuned", needs = "e1071",
    ours = function(d) gpsvm(deep ~ long + lat, d),
    our_loss = function(fit, t) {
      two_loss(predict(fit, t, type = "prob")[, 2], t$deep)
    },
    theirs = function(d) tuned_svm(deep ~ long + lat, d),
    their_loss = function(fit, t) log_loss_of(svm_p(fit, t), t$deep)
  ),
  "mkprobit() irises" = list(
    data = datasets::iris, peer = "nnet::multinom", needs = "nnet",
    ours = function(d) mkprobit(Species ~ ., d),
    our_loss = function(fit, t) {
      log_loss_of(predict(fit, t, type = "prob"), t$Species)
    },
    theirs = function(d) nnet::multinom(Species ~ ., d, trace = FALSE),
    their_loss = function(fit, t) {
      log_loss_of(predict(fit, t, type = "probs"), t$Species)
    }
  ),
  "bark() Boston" = list(
    data = MASS::Boston, peer = "dbarts::bart", needs = "dbarts",
    ours = function(d) bark(medv ~ ., d, seed = 1),
    our_loss = function(fit, t) rmse(predict(fit, t), t$medv),
    theirs = function(d) {
      dbarts::bart(d[-14], d$medv, keeptrees = TRUE, verbose = FALSE, nthread = 1)
    },
    their_loss = function(fit, t) rmse(colMeans(predict(fit, t[-14])), t$medv)
  ),
  "bark() ozone" = list(
    data = stats::na.omit(datasets::airquality), peer = "mgcv::gam",
    needs = "mgcv",
    ours = function(d) bark(Ozone ~ ., d, seed = 1),
    our_loss = function(fit, t) rmse(predict(fit, t), t$Ozone),
    theirs = function(d) {
      mgcv::gam(
        Ozone ~ s(Solar.R) + s(Wind) + s(Temp) + s(Month, k = 4) + s(Day), data = d, method = "REML"
      )
    },
    their_loss = function(fit, t) rmse(predict(fit, t), t$Ozone)
  ),
  "seqkr() Nile" = list(
    data = nile, peer = "mgcv::gam", needs = "mgcv",
    ours = function(d) seqkr(flow ~ year, d, seed = 1),
    our_loss = function(fit, t) rmse(predict(fit, t), t$flow),
    theirs = function(d) mgcv::gam(flow ~ s(year), data = d, method = "REML"),
    their_loss = function(fit, t) rmse(predict(fit, t), t$flow)
  ),
  "klr() two irises" = list(
    data = two, peer = "e1071::svm, tuned", needs = "e1071",
    ours = function(d) klr(Species ~ ., d, rank = 1, seed = 1),
    our_loss = function(fit, t) {
      log_loss_of(predict(fit, t, type = "prob"), t$Species)
    },
    theirs = function(d) tuned_svm(Species ~ ., d),
    their_loss = function(fit, t) log_loss_of(svm_p(fit, t), t$Species)
  )
)

run_split <- function(case, seed) {
  parts <- held_out(case$data, seed)
  ours <- timed(function() quietly(case$ours(parts$train)))
  out <- c(
    rows = nrow(parts$train), ours_s = ours$seconds,
    loss = case$our_loss(ours$value, parts$test), peer_s = NA, peer_loss = NA
  )
  if (all(vapply(case$needs, has, NA))) {
    theirs <- timed(function() quietly(case$theirs(parts$train)))
    out["peer_s"] <- theirs$seconds
    out["peer_loss"] <- quietly(case$their_loss(theirs$value, parts$test))
  }
  out
}

run_case <- function(name, case, splits = as.integer(Sys.getenv("SPLITS", "5"))) {
  runs <- vapply(seq_len(splits), function(seed) run_split(case, seed), numeric(5))
  mean <- rowMeans(runs)
  data.frame(
    work = name, rows = mean[["rows"]], ours_s = mean[["ours_s"]], loss = mean[["loss"]],
    peer = case$peer, peer_s = mean[["peer_s"]], peer_loss = mean[["peer_loss"]],
    se = stats::sd(runs["loss", ] - runs["peer_loss", ]) / sqrt(splits),
    ratio = mean[["ours_s"]] / mean[["peer_s"]]
  )
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
names <- Filter(function(name) !is.null(cases[[name]]$data), names)
table <- do.call(rbind, lapply(names, function(name) {
  run_case(name, cases[[name]])
}))
print(table, digits = 3, row.names = FALSE, right = FALSE)
if (length(wanted) == 0L) {
  print(readme_seconds(), digits = 2, row.names = FALSE, right = FALSE)
}
