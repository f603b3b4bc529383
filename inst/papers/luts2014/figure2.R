# Toenail infection: a quarter of the visits held out. The random intercept by VB and by Gibbs, a
# linear support vector machine without it, and the models of the package's defaults and of lme4, at
# their own classes: a default class is the more probable one, for the smallest error. The smallest
# balanced error is that of the threshold "prevalence".

about <- list(
  title = "random intercept, toenail", where = "Figure 2", data = "toenail",
  minutes = c(quick = 3.3, paper = 41), packages = c("e1071", "lme4"),
  sizes = c(
    quick = "25 of 100 splits; 10 of 100 hold-outs for the SVM",
    paper = "100 splits; 100 hold-outs for the SVM"
  )
)

model <- outcome ~ time * treatment + (1 | patientID)

columns <- function(data) stats::model.matrix(~ time * treatment, data)[, -1]

split_errors <- function(data) {
  at <- three_quarters(nrow(data))
  train <- data[at, ]
  test <- data[-at, ]
  truth <- test$outcome
  ber <- function(class) balanced_error(truth, class)
  sign_ber <- function(fit) ber(by_sign(fit, test, levels(truth)))
  pair <- standardised_pair(columns(train), columns(test))
  svm <- timed(function() {
    ber(predict(tune_svm(pair$x, train$outcome, pick(1, 10, 100)), pair$new))
  })
  vb <- timed(function() {
    sign_ber(fit_as(bsvm, "luts2014", "intercept", model, train, seed = 1))
  })
  gibbs <- timed(function() {
    sign_ber(fit_as(
      bsvm, "luts2014", "intercept_gibbs", model, train,
      seed = 1, change = pick(short_chain(), list(), list())
    ))
  })
  own <- bsvm(model, train, seed = 1)
  defaults <- ber(predict(own, test))
  prevalence <- ber(predict(own, test, threshold = "prevalence"))
  glmer <- lme4::glmer(model, train, family = stats::binomial)
  risk <- predict(glmer, test, type = "response", allow.new.levels = TRUE)
  c(
    "BER, SVM" = svm$value, "BER, VB" = vb$value, "BER, Gibbs" = gibbs$value,
    "BER, VB minus SVM" = vb$value - svm$value, "BER, Gibbs minus VB" = gibbs$value - vb$value,
    "BER, bsvm() at its defaults" = defaults, "BER, defaults minus VB" = defaults - vb$value,
    "BER, defaults at the prevalence" = prevalence,
    "BER, defaults at the prevalence minus VB" = prevalence - vb$value,
    "BER, glmer()" = ber(factor(risk > 0.5, c(FALSE, TRUE), levels(truth))),
    "seconds, VB" = vb$seconds, "seconds, Gibbs" = gibbs$seconds,
    "Gibbs takes times as long as VB" = gibbs$seconds / vb$seconds
  )
}

run <- function() {
  data <- paper_data("toenail")
  averaged(repeated(pick(1, 25, 100), function(k) split_errors(data)))
}

draw <- function(raw) {
  boxes(lapply(raw, function(x) {
    stats::setNames(x[1:3], c("SVM", "VB", "Gibbs"))
  }), "toenail", "balanced error")
}
