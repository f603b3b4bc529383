# Errors where a quarter of the rows is held out, and how many variables are in: selection by VB, at
# the defaults, and the lasso by cv.glmnet(). The paper has no such table.

about <- list(
  title = "errors of the selected models, spam", where = "Figure 3", data = "spam",
  minutes = c(quick = 1, paper = 5), packages = "glmnet",
  sizes = c(quick = "3 divisions", paper = "20 divisions")
)

split_errors <- function(data) {
  at <- three_quarters(nrow(data))
  train <- data[at, ]
  test <- data[-at, ]
  wrong <- function(class) mean(class != test$type)
  columns <- function(rows) as.matrix(rows[names(rows) != "type"])
  vb <- fit_as(bsvm, "luts2014", "selection", type ~ ., train, seed = 1)
  own <- bsvm(type ~ ., train, select = TRUE, seed = 1)
  lasso <- glmnet::cv.glmnet(columns(train), train$type, family = "binomial")
  errors <- c(
    "error, VB" = wrong(by_sign(vb, test, levels(data$type))),
    "error, bsvm() at its defaults" = wrong(predict(own, test)),
    "error, cv.glmnet()" = wrong(predict(lasso, columns(test), s = "lambda.min", type = "class"))
  )
  c(
    errors, "error, defaults minus VB" = errors[[2]] - errors[[1]],
    "error, defaults minus cv.glmnet()" = errors[[2]] - errors[[3]],
    "variables in, VB" = sum(inclusion(vb) > 0.5),
    "variables in, defaults" = sum(inclusion(own) > 0.5),
    "variables in, cv.glmnet()" = sum(stats::coef(lasso, s = "lambda.min")[-1] != 0)
  )
}

run <- function() {
  data <- paper_data("spam")
  if (size == "tiny") data <- data[seq(1, 4601, 8), c(1:20, 58)]
  averaged(repeated(pick(1, 3, 20), function(k) split_errors(data)))
}

draw <- function(raw) boxes(lapply(raw, `[`, 1:3), "spam")
