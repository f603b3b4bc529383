# Streams that leave their first batch, what extended fits say, sources.

sine_rows <- function(seed = 1, n = 400) {
  set.seed(seed)
  d <- data.frame(x = c(runif(150, 0, 4), sort(runif(n - 150, 4, 12))))
  d$y <- sin(d$x) + rnorm(n) / 5
  d$class <- rbinom(n, 1, plogis(4 * sin(d$x)))
  d
}

warned <- function(code) {
  kinds <- character()
  value <- withCallingHandlers(code, warning = function(w) {
    kinds <<- c(kinds, sub("bayeskernel_warning_", "", class(w)[1]))
    invokeRestart("muffleWarning")
  })
  list(value = value, kinds = if (length(kinds)) unique(kinds) else "none")
}

# To the rows beyond 4 in batches of 50.
to_twelve <- function(fit, d, ...) {
  for (rows in split(151:400, rep(1:5, each = 50))) {
    fit <- extend(fit, d[rows, ], threads = 1, ...)
  }
  fit
}

shown <- function(first, follow = to_twelve, seeds = 1:3) {
  grid <- data.frame(x = seq(0, 12, 0.05))
  truth <- sin(grid$x)
  rows <- lapply(seeds, function(seed) {
    d <- sine_rows(seed)
    run <- warned(follow(first(d[1:150, ]), d))
    fit <- run$value
    said <- as.numeric(any(run$kinds %in% "outside"))
    if (length(fit$levels)) {
      right <- (predict(fit, grid) == "1") == (truth > 0)
      return(c(accuracy = mean(right), warned = said))
    }
    p <- predict(fit, grid, interval = "credible", level = 0.95)
    c(
      rmse = sqrt(mean((p[, 1] - truth)^2)),
      cover = mean(p[, 2] < truth & p[, 3] > truth), warned = said
    )
  })
  means <- colMeans(do.call(rbind, rows))
  paste(names(means), format(means, digits = 2), collapse = ", ")
}

first_line <- function(code) {
  tryCatch(
    {
      code
      "no error"
    },
    error = function(e) sub("\n.*", "", conditionMessage(e))
  )
}

extended <- function() {
  set.seed(1)
  d <- data.frame(x = rnorm(80))
  d$y <- d$x + rlogis(80) > 0
  extend(bkm(y ~ x, d[1:60, ], threads = 1), d[61:80, ], threads = 1)
}

database <- function(...) {
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:", ...)
  DBI::dbExecute(con, "create table t (a integer, y integer)")
  DBI::dbExecute(con, "insert into t values (1, 0), (2, 1), (3000000000, 1)")
  con
}

left_after <- function(query) {
  con <- database()
  on.exit(DBI::dbDisconnect(con))
  said <- first_line(row_source(con, query))
  rows <- tryCatch(
    DBI::dbGetQuery(con, "select count(*) from t")[[1]],
    error = function(e) "no table"
  )
  sprintf("%s; %s rows", said, rows)
}

wild <- function(fit) {
  set.seed(1)
  d <- data.frame(x = runif(300, -2, 2))
  d$x[7] <- 1e6
  d$y <- sin(3 * d$x) + rnorm(300) / 5
  run <- warned(fit(d))
  grid <- data.frame(x = seq(-2, 2, 0.05))
  list(fit = run$value, kinds = run$kinds, grid = grid, f = sin(3 * grid$x))
}

cases <- list(
  report(
    "5", "s(x): first rows on 0-4, then to 12; RMSE and cover of 95 % limits",
    "RMSE .72, cover .03, no warning", "all rows at once .03",
    function() {
      shown(function(d) bkm(y ~ s(x), d, family = "gaussian", threads = 1))
    }
  ),
  report(
    "5", "the same, gp(x)", "honest, sd grows", "all rows at once .03",
    function() {
      shown(function(d) bkm(y ~ gp(x), d, family = "gaussian", threads = 1))
    }
  ),
  report(
    "5", "the same, a basis that does not follow: s(x, bs = \"ps\")",
    "no warning", "a warning with the share of rows outside",
    function() {
      shown(function(d) {
        bkm(y ~ s(x, bs = "ps"), d, family = "gaussian", threads = 1)
      })
    }
  ),
  report(
    "5", "the same, logit gp(x): accuracy", ".78", ".92 or more",
    function() shown(function(d) bkm(class ~ gp(x), d, threads = 1))
  ),
  report(
    "5", "the same, seqkr(grid_max = 100)", "RMSE .64, cover .09, no warning",
    "a warning", function() {
      shown(function(d) {
        seqkr(y ~ x, d,
          control = seqkr_control(grid_max = 100), particles = 100, threads = 1, seed = 1
        )
      }, seeds = 1)
    }
  ),
  report(
    "5", "the same, with the last batch retune = TRUE",
    "there was no such argument", "near .03", function() {
      shown(function(d) {
        seqkr(y ~ x, d,
          control = seqkr_control(grid_max = 100), particles = 100, threads = 1, seed = 1
        )
      }, function(fit, d) {
        fit <- extend(fit, d[151:350, ], threads = 1)
        extend(fit, d[351:400, ], threads = 1, retune = TRUE)
      }, seeds = 1)
    }
  ),
  report(
    "6", "print() of an extended fit to two classes", "NaN % of class TRUE",
    "the share of all rows", function() {
      grep("Rows:", capture.output(print(extended())), value = TRUE)
    }
  ),
  report(
    "6", "deviance(), compare_terms(), update() of it",
    "errors of ours, update() fits the first batch",
    "errors that say that rows are not kept", function() {
      fit <- extended()
      paste(
        first_line(deviance(fit)), first_line(compare_terms(fit)),
        first_line(update(fit)),
        sep = " / "
      )
    }
  ),
  report(
    "12", "row_source(con, \"delete from t\")", "0 rows left", "3 rows",
    function() left_after("delete from t")
  ),
  report(
    "12", "row_source(con, \"with q as (select 1) delete from t\")",
    "0 rows left", "3 rows",
    function() left_after("with q as (select 1) delete from t")
  ),
  report(
    "12", "row_source(con, \"drop table t\")", "no table", "3 rows",
    function() left_after("drop table t")
  ),
  report(
    "12", "3e9 under bigint = \"integer\"", "a missing value", "an overflow",
    function() {
      con <- database(bigint = "integer")
      on.exit(DBI::dbDisconnect(con))
      first_line(bsvm(row_source(con, "select * from t", y = "y"), threads = 1))
    }
  ),
  report(
    "12", "classes \"\" and \"x\" in a text file", "missing values",
    "two classes", function() {
      set.seed(1)
      file <- tempfile(fileext = ".csv")
      d <- data.frame(a = rnorm(60), y = rep(c("", "x"), 30))
      utils::write.csv(d, file, row.names = FALSE)
      fit <- bsvm(row_source(file, y = "y"), threads = 1)
      paste(dQuote(fit$levels, FALSE), collapse = ", ")
    }
  ),
  report(
    "13", "300 rows of x in gp(x), one of them 1e6",
    "2 inducing points, length-scale 2e-6, silent",
    "as without it: RMSE .05", function() {
      found <- wild(function(d) {
        bkm(y ~ gp(x), d, family = "gaussian", threads = 1)
      })
      process <- found$fit$design$smooths[[1]]$process
      sprintf(
        "%d points, length-scale %.2f, RMSE %.3f, warning: %s",
        nrow(process$z), process$kernel$lengthscale,
        sqrt(mean((predict(found$fit, found$grid) - found$f)^2)), found$kinds
      )
    }
  ),
  report(
    "13", "the same for gpsvm(y > 0 ~ x)", "2 inducing points, silent",
    "accuracy .99, as without it", function() {
      found <- wild(function(d) {
        d$class <- d$y > 0
        gpsvm(class ~ x, d, threads = 1, seed = 1)
      })
      right <- (predict(found$fit, found$grid) == "TRUE") == (found$f > 0)
      sprintf("accuracy %.2f, warning: %s", mean(right), found$kinds)
    }
  )
)
