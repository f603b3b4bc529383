# Every set of arguments must be accepted by its function, with fewer sweeps.
tiny <- function(arguments) {
  if ("ndraws" %in% names(arguments)) arguments$ndraws <- 20
  if ("warmup" %in% names(arguments$control)) arguments$control$warmup <- 20
  if ("thin" %in% names(arguments$control) && !is.null(arguments$control$thin)) {
    arguments$control$thin <- 1
  }
  arguments
}

paper_rows <- function() {
  set.seed(1)
  x <- matrix(rnorm(120), 40, 3, dimnames = list(NULL, c("a", "b", "c")))
  data.frame(
    x, g = gl(8, 5), class = factor(ifelse(x[, 1] + rnorm(40) > 0, "yes", "no")),
    number = x[, 1] + rnorm(40)
  )
}

test_that("each model of each paper is accepted by its function", {
  data <- paper_rows()
  x <- as.matrix(data[1:3])
  for (paper in names(published_models())) {
    for (model in names(published_models()[[paper]])) {
      fitter <- published_models()[[paper]][[model]]$fitter
      arguments <- tiny(published(paper, model))
      gaps <- data
      if (startsWith(model, "missing")) gaps$b[1:3] <- NA
      own <- switch(fitter,
        bsvm = list(
          if (startsWith(model, "intercept")) class ~ a + (1 | g) else class ~ a + b + c, gaps
        ),
        gpsvm = c(list(class ~ a + b + c, data), if (model != "susy") list(inducing = 8)),
        mkprobit = list(
          if (model %in% c("single", "gibbs")) {
            list(s = x)
          } else {
            list(s = x[, 1:2], t = x[, 2:3])
          }, data$class
        ),
        klr = list(
          class ~ a + b, data, rank = 1, chains = 1, ndraws = 20,
          control = list(warmup = 20, thin = 1)
        ),
        list(number ~ a + b + c, data)
      )
      if (model == "susy") arguments$inducing <- 8
      if (fitter == "mkprobit" && identical(arguments$combine, "product")) own$kernel <- rbf()
      if (!fitter %in% c("gpsvm", "seqkr", "mkprobit")) own$threads <- 1
      fit <- suppressWarnings(do.call(fitter, c(own, list(seed = 1), arguments)))
      expect_s3_class(fit, "bayeskernel_fit")
      # Nothing is dropped on the way: the call holds what was given.
      expect_true(all(names(arguments) %in% names(fit$call)))
    }
  }
})

test_that("each argument of a paper has its default and its reason", {
  all <- published()
  expect_identical(unique(all$paper), names(published_models()))
  expect_true(all(nzchar(all$why)))
  expect_true(all(nzchar(all$default)))
})

test_that("papers and models by other names are refused", {
  expect_error(published("luts"), class = "bayeskernel_error_argument")
  expect_error(published("luts2014", "x"), class = "bayeskernel_error_argument")
  expect_error(published(model = "x"), class = "bayeskernel_error_argument")
})

test_that("learned weights of Damoulas and Girolami are the printed ones", {
  data <- two_spaces()
  weights <- function(model) {
    suppressWarnings(kernel_weights(do.call(mkprobit, c(
      list(data$spaces, data$y, seed = 1, threads = 1), published("damoulas2009", model)
    ))))
  }
  # As printed subsets stay where they begin; by the bound one space would be in.
  expect_gt(min(weights("binary")$mean), 0.9)
  for (model in c("weighted_sum", "weighted_product")) {
    expect_identical(published("damoulas2009", model)$control$is_target, "point")
  }
})
