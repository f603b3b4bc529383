# Fits of earlier versions (fixtures/make.R) are read and predict the same.

expect_same_answers <- function(answers, ..., info) {
  for (one in answers) {
    told <- paste(info, paste(deparse(one$question), collapse = ""))
    # What was asked then, by today's names.
    question <- one$question
    names(question)[names(question) == "n_draws"] <- "ndraws"
    now <- do.call(predict, c(list(...), question))
    # The spread of a probability from draws has the variance of missing predictors and of new
    # groups in it now, as that of "vb" had.
    if (startsWith(info, "gibbs_missing") && is.list(now) && is.matrix(now$fit)) {
      expect_true(all(now$se.fit >= one$answer$se.fit - 1e-10))
      now <- now["fit"]
      one$answer <- one$answer["fit"]
    }
    # Of a probability by bark() the deviation was that of its mean given a draw.
    fit <- list(...)[[1L]]
    if (inherits(fit, "bark") && identical(question$type, "prob") && isTRUE(question$se.fit)) {
      question$se.fit <- NULL
      draws <- do.call(rbind, lapply(1:100, function(seed) {
        do.call(predict, c(list(...), question, draws = TRUE, seed = seed))
      }))
      expect_true(all(now$se.fit >= one$answer$se.fit - 1e-10, na.rm = TRUE), info = told)
      own <- apply(draws, 2L, stats::sd)
      expect_equal(now$se.fit, own, tolerance = 0.05, ignore_attr = TRUE, info = told)
      now <- now["fit"]
      one$answer <- one$answer["fit"]
    }
    # Names of rows were added later.
    expect_equal(
      now, one$answer, tolerance = 1e-10, ignore_attr = c("names", "dimnames", "row.names"),
      info = told
    )
    if (is.matrix(one$answer)) expect_equal(colnames(now), colnames(one$answer), info = told)
  }
}

for (file in list.files(test_path("fixtures"), "[.]rds$", recursive = TRUE)) {
  test_that(paste("fits in", file, "predict as they did"), {
    cases <- readRDS(test_path("fixtures", file))
    for (name in names(cases)) {
      one <- cases[[name]]
      expect_same_answers(one$answers, one$fit, one$new, info = name)
      expect_same_answers(one$own, one$fit, info = paste(name, "own rows"))
    }
  })
}
