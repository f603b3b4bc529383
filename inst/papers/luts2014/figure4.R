# Chest pain: cholesterol is missing in a third of the training rows. VB and Gibbs with its model, a
# linear support vector machine on complete rows, and bsvm() at its defaults on all rows and on
# complete ones. A default class is the more probable one, for the smallest error; the smallest
# balanced error is that of the threshold "prevalence", which glm() after mice has here, too.

about <- list(
  title = "missing cholesterol, Duke", where = "Figure 4", data = "acath",
  minutes = c(quick = 3.7, paper = 77), packages = c("e1071", "mice"),
  sizes = c(
    quick = "25 of 100 splits; 10 of 100 hold-outs for the SVM; 1000 + 1000 sweeps",
    paper = "100 splits; 100 hold-outs for the SVM; the paper's sweeps"
  )
)

model <- sigdz ~ sex + age + log(cad.dur + 1) + log(choleste)

columns <- function(data) stats::model.matrix(model, data)[, -1]

# A quarter of the rows, among those whose cholesterol is measured.
split_errors <- function(data) {
  at <- sort(sample(which(!is.na(data$choleste)), pick(200, 876, 876)))
  train <- data[-at, ]
  if (size == "tiny") train <- train[seq(1, nrow(train), 8), ]
  test <- data[at, ]
  truth <- factor(test$sigdz)
  complete <- train[!is.na(train$choleste), ]
  ber <- function(class) balanced_error(truth, class)
  sign_ber <- function(fit) ber(by_sign(fit, test, levels(truth)))
  pair <- standardised_pair(columns(complete), columns(test))
  svm <- tune_svm(pair$x, factor(complete$sigdz), pick(1, 10, 100))
  vb <- timed(function() {
    sign_ber(fit_as(bsvm, "luts2014", "missing", model, train, seed = 1))
  })
  gibbs <- timed(function() {
    sign_ber(fit_as(
      bsvm, "luts2014", "missing_gibbs", model, train, seed = 1, change = short_chain()
    ))
  })
  svm <- ber(predict(svm, pair$new))
  own <- bsvm(model, train, missing = "model", seed = 1)
  defaults <- ber(predict(own, test, threshold = "prevalence"))
  c(
    "BER, SVM on complete rows" = svm, "BER, VB" = vb$value,
    "BER, Gibbs" = gibbs$value, "BER, VB minus SVM" = vb$value - svm,
    "BER, VB minus Gibbs" = vb$value - gibbs$value,
    "BER, VB on complete rows" = sign_ber(fit_as(
      bsvm, "luts2014", "penalty", model, complete, seed = 1
    )),
    "BER, bsvm() at its defaults" = ber(predict(own, test)),
    "BER, defaults by the sign of f" = sign_ber(own),
    "BER, defaults at the prevalence" = defaults,
    "BER, defaults at the prevalence minus VB" = defaults - vb$value,
    "BER, mice and glm() at the prevalence" = imputed_ber(train, test, ber),
    "BER, defaults on complete rows" = ber(predict(bsvm(model, complete, seed = 1), test)),
    "seconds, VB" = vb$seconds, "seconds, Gibbs" = gibbs$seconds
  )
}

# Probabilities averaged over five completed data sets.
imputed_ber <- function(train, test, ber) {
  made <- mice::mice(
    train[all.vars(model)], m = pick(2, 5, 5), printFlag = FALSE, seed = 1
  )
  risk <- rowMeans(vapply(seq_len(made$m), function(k) {
    fit <- stats::glm(model, stats::binomial, mice::complete(made, k))
    stats::predict(fit, test, type = "response")
  }, numeric(nrow(test))))
  share <- mean(train$sigdz == levels(train$sigdz)[2])
  ber(factor(risk > share, c(FALSE, TRUE), levels(test$sigdz)))
}

run <- function() {
  data <- paper_data("acath")
  data$sigdz <- factor(data$sigdz)
  averaged(repeated(pick(1, 25, 100), function(k) split_errors(data)))
}

draw <- function(raw) {
  boxes(lapply(raw, function(x) {
    stats::setNames(x[1:3], c("SVM", "VB", "Gibbs"))
  }), "Duke", "balanced error")
}
