# Counts as weights, levels that no row has, ordered classes, classifiers
# combined. Figures before are of version 0.6.0.

answer <- function(code) {
  tryCatch(code, error = function(e) {
    paste0(class(e)[1], ": ", sub("\n.*", "", conditionMessage(e)))
  })
}
number <- function(x, digits = 3) paste(format(x, digits = digits), collapse = " ")
nine_cells <- data.frame(
  x = rep(1:3, each = 3), y = factor(rep(c("a", "b", "c"), 3)),
  n = c(90, 10, 10, 10, 90, 10, 10, 10, 90)
)
with_empty <- function(n = 80) {
  set.seed(1)
  d <- data.frame(x = rnorm(n), z = rnorm(n))
  d$y <- factor(ifelse(d$x + rnorm(n) > 0, "hi", "lo"), c("lo", "none", "hi"))
  d
}
classes_of <- function(fit) {
  p <- predict(fit, type = "prob")
  paste0(paste(levels(predict(fit)), collapse = "/"), ", ", ncol(p), " columns")
}

cases <- list(
  report(
    "C7", "gpsvm(weights = counts), nine cells of 90, 10, 10: P(a) by a factor, a number",
    "0.336 0.724", "0.818 of repeated rows, 0.818 of the table", function() {
      number(vapply(list(y ~ factor(x), y ~ x), function(formula) {
        fit <- gpsvm(formula, nine_cells, weights = n, threads = 1, seed = 1)
        predict(fit, data.frame(x = 1:3), type = "prob")[1]
      }, 1))
    }
  ),
  report(
    "C7", "the same: largest difference to repeated rows, ep, vb, cv",
    "0.094 0.093 0.082", "0", function() {
      long <- nine_cells[rep(1:9, nine_cells$n), ]
      at <- data.frame(x = 1:3)
      number(vapply(list(list(), list(method = "vb"), list(tune = "cv")),
        function(more) {
          run <- function(...) {
            do.call(gpsvm, c(list(y ~ x, ...), more, threads = 1, seed = 1))
          }
          a <- run(nine_cells, weights = nine_cells$n)
          max(abs(predict(a, at, type = "prob") -
            predict(run(long), at, type = "prob")))
        }, 1
      ), 2)
    }
  ),
  report(
    "C7", "MASS::housing, mkprobit(weights = Freq): mean distance to its shares",
    "error: no weights", "small", function() {
      h <- transform(MASS::housing, Sat = factor(Sat, ordered = FALSE))
      fit <- mkprobit(Sat ~ Infl + Type + Cont, h, weights = Freq, threads = 1)
      cell <- with(h, interaction(Infl, Type, Cont))
      share <- prop.table(xtabs(h$Freq ~ cell + h$Sat), 1)[as.character(cell), ]
      number(mean(abs(predict(fit, type = "prob") - share)))
    }
  ),
  report(
    "C7", "MASS::housing, ordinal bark(weights = Freq): difference to repeated rows",
    "error: classes have no weights", "0", function() {
      h <- MASS::housing
      run <- function(...) {
        bark(Sat ~ Infl + Type, ..., family = "ordinal", chains = 1,
          control = bark_control(warmup = 60, thin = 1), ndraws = 20, threads = 1, seed = 1
        )
      }
      long <- h[rep(seq_len(nrow(h)), h$Freq), ]
      number(max(abs(predict(run(h, weights = Freq), h, type = "prob") -
        predict(run(long), h, type = "prob"))), 1)
    }
  ),
  report(
    "C8", "levels lo, none (no row), hi: bsvm, bkm, gpsvm",
    "lo/hi, 2 columns, three times", "lo/none/hi, 3 columns", function() {
      d <- with_empty()
      vapply(list(
        bsvm(y ~ x, d, threads = 1), bkm(y ~ x, d, threads = 1),
        gpsvm(y ~ x, d, tune = FALSE, threads = 1)
      ), classes_of, "")
    }
  ),
  report(
    "C8", "the same by ordinal bark, levels a, b, c (no row), d", "a/b/d, 3 columns",
    "a/b/c/d, 4 columns, a message", function() {
      d <- with_empty()
      d$y <- factor(
        as.character(cut(d$x + rnorm(80) / 2, c(-Inf, -.5, .5, Inf), c("a", "b", "d"))),
        c("a", "b", "c", "d"), ordered = TRUE
      )
      said <- "no message"
      fit <- withCallingHandlers(
        bark(y ~ x, d, family = "ordinal", chains = 1,
          control = bark_control(warmup = 200, thin = 1),
          ndraws = 100, threads = 1, seed = 1
        ),
        bayeskernel_message_levels = function(m) {
          said <<- "message"
          invokeRestart("muffleMessage")
        }
      )
      c(classes_of(fit), said)
    }
  ),
  report(
    "C9", "ordinal bark: intervals and draws of probabilities",
    "errors", "arrays 3 x 3 x 3 and 100 x 3 x 3", function() {
      d <- with_empty()
      d$y <- cut(d$x + rnorm(80) / 2, c(-Inf, -.5, .5, Inf), ordered_result = TRUE)
      fit <- bark(y ~ x, d, family = "ordinal", chains = 1,
        control = bark_control(warmup = 200, thin = 1),
        ndraws = 100, threads = 1, seed = 1
      )
      c(
        answer(number(dim(
          predict(fit, d[1:3, ], type = "prob", interval = "credible")
        ))),
        "and",
        answer(number(dim(
          predict(fit, d[1:3, ], type = "prob", draws = TRUE)
        )))
      )
    }
  ),
  report(
    "C10", "combine_classifiers(): levels in another order; rows in another order; a regression",
    "error; 0.3, silent; error", "0 0 and errors of their own", function() {
      d <- with_empty()
      d$y <- droplevels(d$y)
      rownames(d) <- paste0("r", 1:80)
      turned <- transform(d, y = factor(y, c("hi", "lo")))
      fit <- function(...) {
        mkprobit(..., coefficients = "weights", threads = 1, seed = 1)
      }
      a <- fit(y ~ x, d)
      b <- fit(y ~ z, d)
      right <- predict(combine_classifiers(list(a = a, b = b)), d, "prob")
      c(
        answer(number(max(abs(predict(
          combine_classifiers(list(a, fit(y ~ z, turned))), d, "prob"
        ) - right)), 1)),
        answer(number(max(abs(predict(
          combine_classifiers(list(a = a, b = b)), list(a = d, b = d[80:1, ]), "prob"
        ) - right)), 1)),
        answer(combine_classifiers(list(a, bkm(x ~ z, d, threads = 1))))
      )
    }
  )
)
