# Random terms of rows in a source, whose groups come in any order: the fits of the data frame.

grouped_frame <- function(n, groups, seed = 1) {
  set.seed(seed)
  d <- data.frame(id = sample(groups, n, TRUE), x = rnorm(n, 1, 2), t = runif(n, -2, 2))
  effect <- cbind(rnorm(groups), rnorm(groups, sd = 0.5))
  d$f <- 0.6 * d$x + sin(2 * d$t) + effect[d$id, 1]
  d$slope <- d$f + effect[d$id, 2] * d$x
  d$y <- d$f + rlogis(n) > 0
  d$z <- d$slope + rlogis(n) > 0
  d$number <- d$f + rnorm(n)
  d
}

of_source <- function(d, response, columns = c("id", "x", "t")) {
  row_source(d[c(columns, response)], response)
}

grouped_fit <- function(formula, data, family = "logit", method = "ep", ...) {
  flat(bkm)(formula, data, family,
    method = method, tol = 1e-9, max_iter = 1000, threads = 1,
    progress = FALSE, ...
  )
}

expect_same_groups <- function(a, b, tolerance = 1e-8) {
  expect_equal(fixef(a), fixef(b), tolerance = tolerance)
  expect_equal(ranef(a), ranef(b), tolerance = tolerance)
  expect_equal(as.data.frame(VarCorr(a)), as.data.frame(VarCorr(b)), tolerance = tolerance)
  expect_equal(vcov(a, type = "posterior"), vcov(b, type = "posterior"), tolerance = 10 * tolerance)
  expect_equal(a$log_evidence, b$log_evidence, tolerance = tolerance)
  expect_equal(lapply(ranef(a), rownames), lapply(ranef(b), rownames))
}

test_that("the fit of the data frame, by ep and vb, for every family", {
  d <- grouped_frame(700, 60)
  new <- grouped_frame(50, 80, 2)
  for (formula in list(
    y ~ x + t + (1 | id), y ~ x + gp(t, kernel = rbf(1), inducing = 6) + (1 | id)
  )) {
    for (family in c("logit", "probit", "hinge")) {
      for (method in c("ep", "vb")) {
        source <- grouped_fit(formula, of_source(d, "y"), family, method)
        memory <- grouped_fit(formula, d, family, method)
        expect_same_groups(source, memory, 1e-8)
        expect_equal(source$check$engine, memory$check$engine)
        expect_equal(source$check$by_group, memory$check$by_group)
        for (form in list(NULL, "new", NA)) {
          link <- if (family == "hinge") "hinge"
          expect_equal(
            predict(source, new, type = "prob", link = link, re.form = form),
            predict(memory, new, type = "prob", link = link, re.form = form), tolerance = 1e-7
          )
        }
      }
    }
  }
})

test_that("a numeric response: the fit of the data frame", {
  d <- grouped_frame(700, 60)
  standardised <- transform(d, number = as.numeric(scale(number)))
  # A source keeps the unit of the response, in which the search for variances starts elsewhere; of
  # three variances a grid's place is found less closely.
  for (d in list(standardised, d)) {
    same <- identical(d, standardised)
    for (formula in list(
      number ~ x + t + (1 | id), number ~ x + gp(t, kernel = rbf(1), inducing = 6) + (1 | id)
    )) {
      for (method in c("ep", "vb")) {
        source <- grouped_fit(formula, of_source(d, "number"), "gaussian", method)
        memory <- grouped_fit(formula, d, "gaussian", method)
        grid <- method == "ep" && "gp" %in% all.names(formula)
        tolerance <- if (same) 1e-10 else if (grid) 1e-4 else 1e-5
        expect_equal(predict(source, d), predict(memory, d), tolerance = tolerance)
        expect_equal(ranef(source), ranef(memory), tolerance = if (same) 1e-10 else 1e-4)
        expect_equal(sigma(source), sigma(memory), tolerance = tolerance)
      }
    }
  }
})

test_that("random slopes: centre and scale of all rows", {
  d <- grouped_frame(800, 50, 3)
  for (formula in list(z ~ x + t + (x | id), z ~ x + (0 + x | id))) {
    for (method in c("ep", "vb")) {
      source <- grouped_fit(formula, of_source(d, "z"), method = method)
      memory <- grouped_fit(formula, d, method = method)
      expect_same_groups(source, memory, 1e-7)
      expect_equal(
        predict(source, d[1:20, ], type = "link"), predict(memory, d[1:20, ], type = "link"),
        tolerance = 1e-7
      )
    }
  }
})

test_that("groups by text, factor, number and logical, from any source", {
  d <- grouped_frame(600, 30, 4)
  formula <- y ~ x + (1 | id)
  names <- c("x", "t", "y")
  as_given <- list(
    number = d$id, large = d$id * 1e5, integer = as.integer(d$id * 1e5L), text = paste0("s", d$id),
    factor = factor(d$id, rev(sort(unique(d$id)))), logical = d$id > 15
  )
  for (id in as_given) {
    own <- cbind(id = id, d[names])
    memory <- grouped_fit(formula, own, method = "vb")
    source <- grouped_fit(formula, row_source(own, "y"), method = "vb")
    expect_same_groups(source, memory, 1e-8)
    file <- tempfile(fileext = ".csv")
    utils::write.csv(own, file, row.names = FALSE)
    text <- grouped_fit(formula, row_source(file, "y"), method = "vb")
    expect_equal(
      ranef(text)$id[rownames(ranef(memory)$id), ], ranef(memory)$id[, 1], tolerance = 1e-8
    )
    # Known groups and one that is not.
    p <- predict(memory, own, type = "prob")
    for (fit in list(source, text, memory)) {
      expect_equal(predict(fit, row_source(file), type = "prob"), p, tolerance = 1e-7)
      expect_equal(predict(fit, row_source(own, "y"), type = "prob"), p, tolerance = 1e-7)
    }
    unlink(file)
  }
})

test_that("predictions do not read what the formula does not", {
  d <- grouped_frame(300, 20, 4)
  fit <- grouped_fit(y ~ x + (1 | id), d)
  d$note <- "text"
  expect_equal(predict(fit, row_source(d, "y"), type = "prob"), predict(fit, d, type = "prob"))
  # Numbers of a text file, of which a group is known as one.
  expect_equal(
    bayeskernel:::text_groups_like(c("007", "x", "1e5"), c("7", "9")), c("7", "x", "100000")
  )
  expect_equal(bayeskernel:::text_groups_like("007", c("7", "b")), "007")
  expect_equal(bayeskernel:::code_values(c(1e5, 2, 2.5), "id")$levels, c("2", "2.5", "100000"))
})

test_that("a query, whose rows come in any order", {
  skip_if_not_installed("RSQLite")
  d <- grouped_frame(500, 40, 5)
  d$id <- paste("unit", d$id)
  d$y <- as.integer(d$y)
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  on.exit(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "d", d)
  fits <- lapply(c("rowid", "id", "x"), function(order) {
    query <- paste("select id, x, t, y from d order by", order)
    grouped_fit(y ~ x + t + (1 | id), row_source(con, query, "y"))
  })
  for (fit in fits[-1]) expect_same_groups(fit, fits[[1]], 1e-8)
})

test_that("what a fit of grouped rows says", {
  d <- grouped_frame(700, 60)
  fit <- grouped_fit(y ~ x + t + (1 | id), of_source(d, "y"))
  expect_equal(dim(ranef(fit)$id), c(60L, 1L))
  if (requireNamespace("lme4", quietly = TRUE)) expect_equal(lme4::ngrps(fit), c(id = 60L))
  expect_output(print(fit), "id")
  expect_silent(capture.output(print(summary(fit))))
  expect_equal(nobs(fit), 700)
  saved <- tempfile()
  on.exit(unlink(saved))
  saveRDS(fit, saved)
  expect_identical(
    predict(readRDS(saved), d[1:9, ], type = "prob"), predict(fit, d[1:9, ], type = "prob")
  )
  expect_error(fitted(fit), class = "bayeskernel_error")
})

test_that("the support vector machine: sandwich by group, and its link", {
  d <- grouped_frame(6000, 300, 6)
  formula <- y ~ x + t + (1 | id)
  source <- grouped_fit(formula, of_source(d, "y"), "hinge")
  memory <- grouped_fit(formula, d, "hinge")
  expect_equal(source$sandwich$by, "300 groups of id")
  expect_equal(source$sandwich$groups, memory$sandwich$groups)
  expect_equal(vcov(source, type = "sandwich"), vcov(memory, type = "sandwich"), tolerance = 1e-6)
  expect_equal(source$sandwich$rate, memory$sandwich$rate, tolerance = 1e-6)
  expect_equal(
    predict(source, d[1:300, ], type = "prob"), predict(memory, d[1:300, ], type = "prob"),
    tolerance = 0.01
  )
  expect_error(
    vcov(grouped_fit(formula, of_source(d, "y"), "hinge", "vb"),
      type = "sandwich"
    ), "stochastic steps",
    class = "bayeskernel_error_argument"
  )
})

test_that("stochastic steps by whole groups end where full passes do", {
  d <- grouped_frame(6000, 400, 7)
  formula <- y ~ x + gp(t, kernel = rbf(1), inducing = 6) + (1 | id)
  steps <- bkm(formula, of_source(d, "y"),
    method = "svi", threads = 1, seed = 1,
    control = list(tol = 1e-8, epochs = 3)
  )
  expect_gt(steps$diagnostics$steps, 5)
  expect_same_groups(steps, grouped_fit(formula, of_source(d, "y"), method = "vb"), 1e-3)
})

test_that("many chunks, and a group of many blocks, on any threads", {
  d <- grouped_frame(90000, 500, 8)
  # One of 30,000 rows, longer than some chunks.
  d$id[sample(nrow(d), 30000)] <- 250
  formula <- y ~ x + t + (1 | id)
  fit <- function(data, method, threads = 1, family = "probit") {
    bkm(formula, data, family,
      method = method, threads = threads,
      control = list(tol = 1e-7, progress = FALSE),
      standardize = FALSE
    )
  }
  for (method in c("ep", "vb")) {
    one <- fit(of_source(d, "y"), method)
    expect_identical(fit(of_source(d, "y"), method, 2)$posterior, one$posterior)
    expect_same_groups(one, fit(d, method), 1e-8)
  }
  machine <- fit(of_source(d, "y"), "ep", family = "hinge")
  expect_true(all(diag(vcov(machine)) > 0))
  # Wide rows, one group of which is longer than a chunk.
  wide <- d[1:20000, ]
  wide[paste0("v", 1:120)] <- stats::rnorm(120 * 20000)
  wide$id[1:17000] <- 3
  formula <- stats::reformulate(c(paste0("v", 1:120), "(1 | id)"), "y")
  names <- c("id", paste0("v", 1:120))
  expect_equal(
    fixef(fit(of_source(wide, "y", names), "vb")), fixef(fit(wide, "vb")), tolerance = 1e-7
  )
})

test_that("what a source does not take is refused, and says so", {
  d <- grouped_frame(300, 20, 9)
  d$other <- d$id %% 3
  d$one <- 1
  d$date <- as.Date("2020-01-01") + d$id
  refused <- function(formula, text, class = "bayeskernel_error_argument", data = d, ...) {
    error <- expect_error(
      flat(bkm)(formula, row_source(data, "y"), threads = 1, ...), class = class
    )
    expect_match(conditionMessage(error), text, fixed = TRUE)
  }
  refused(y ~ x + (1 | id) + (1 | other), "2 random terms")
  refused(y ~ x + (1 | id:other), "(1 | id:other)")
  refused(y ~ x + (log(t) | id), "(log(t) | id)")
  refused(y ~ x + (1 | absent), "absent")
  refused(y ~ x + (absent | id), "absent")
  refused(y ~ x + (0 | id), "no effect")
  refused(y ~ x + (1 | one), "one level")
  refused(y ~ x + (1 | date), "grouping factor")
  refused(y ~ x + (1 | id), "gibbs", method = "gibbs")
  holes <- d
  holes$id[c(7, 9)] <- NA
  refused(y ~ x + (1 | id), "first in row 7", "bayeskernel_error_missing", holes)
  old <- options(bayeskernel.group_numbers = 20)
  on.exit(options(old))
  refused(y ~ x + (1 | id), "bayeskernel.group_numbers", "bayeskernel_error_dimension")
})
