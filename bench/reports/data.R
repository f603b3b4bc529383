# Which data a fit reads again, predictions by term, measures, and errors.

answer <- function(code) {
  tryCatch(code, error = function(e) {
    paste0(class(e)[1], ": ", sub("\n.*", "", conditionMessage(e)))
  })
}
number <- function(x, digits = 3) paste(format(x, digits = digits), collapse = " ")
made_rows <- function(n = 200) {
  set.seed(1)
  d <- data.frame(x = rnorm(n), z = rnorm(n), g = gl(20, n / 20))
  d$y <- with(d, 1.2 * x + z + rnorm(20)[g] + rlogis(n) > 0)
  d$u <- d$x + rnorm(n)
  d
}
single <- function(fit) {
  out <- exposure(fit, type = "single", threads = 1)
  out$estimate[out$predictor == "x"][1]
}

cases <- list(
  report(
    "A6", "effect of x before and after d$x <- d$x * 100",
    "1.02 101.63", "the same twice", function() {
      d <- made_rows()
      fit <- bsvm(y ~ x + z + (1 | g), d, method = "vb", threads = 1)
      before <- single(fit)
      d$x <- d$x * 100
      number(c(before, single(fit)))
    }
  ),
  report(
    "A6", "correlation of augment()'s .fitted with predict() of its rows, shuffled",
    ".147", "1", function() {
      d <- made_rows()
      fit <- bkm(u ~ x + z, d, threads = 1)
      d <- d[sample(nrow(d)), ]
      out <- augment(fit)
      number(cor(out$.fitted, predict(fit, as.data.frame(out))))
    }
  ),
  report(
    "A6", "the same with model = FALSE", "132.8, for 1.33; shuffled rows", "errors that name x",
    function() {
      d <- made_rows()
      fit <- update(bkm(u ~ x + z, d, threads = 1), model = FALSE)
      d$x <- d$x * 100
      reason <- function(code) {
        text <- strsplit(tryCatch(code, error = conditionMessage), "\n")[[1]]
        sub("^.*differs in", "differs in", text[2])
      }
      c(reason(single(fit)), reason(augment(fit)))
    }
  ),
  report(
    "A6", "a fit to a row source, and after extend(): why no data",
    "\"not to be had any more\"", "the reason", function() {
      d <- made_rows()
      source <- row_source(as.matrix(transform(d[c("x", "z")], y = +d$y)), y = "y")
      fit <- bsvm(source, threads = 1)
      longer <- extend(bkm(u ~ x, d[1:100, ], threads = 1), d[101:200, ])
      vapply(list(fit, longer), function(fit) {
        text <- tryCatch(exposure(fit), error = conditionMessage)
        strsplit(text, "\n")[[1]][2]
      }, "")
    }
  ),
  report(
    "18", "type = \"terms\": mean |difference| of fit, se from mgcv, s(z)",
    "no such type", "small; mean se by mgcv comes last", function() {
      d <- transform(made_rows(), u = u + sin(3 * z))
      fit <- bkm(u ~ x + s(z), d, threads = 1)
      gam <- mgcv::gam(u ~ x + s(z), data = d, method = "REML")
      a <- predict(fit, d, type = "terms", se = TRUE)
      b <- predict(gam, d, type = "terms", se.fit = TRUE)
      own <- "s(z)"
      number(c(
        mean(abs(a$fit - b$fit)[, own]), mean(abs(a$se.fit - b$se.fit)[, own]),
        mean(b$se.fit[, own])
      ))
    }
  ),
  report(
    "18", "exclude = \"(1 | g)\", newdata without g: largest difference from re.form = NA",
    "no such argument", "0", function() {
      d <- made_rows()
      fit <- bkm(u ~ x + (1 | g), d, threads = 1)
      number(max(abs(
        predict(fit, d["x"], type = "link", exclude = "(1 | g)") -
          predict(fit, d, type = "link", re.form = NA)
      )))
    }
  ),
  report(
    "12f", "bark(linear = TRUE): slope of x as summary() has it, and its sd",
    ".23 (1.14) as beta[x] on the reported data", "lm: .866 (.043)", function() {
      set.seed(1)
      d <- data.frame(x = rnorm(150), z = rnorm(150))
      d$y <- .84 * d$x + sin(2 * d$z) + rnorm(150) * .4
      fit <- bark(
        y ~ x + z, d, linear = TRUE, chains = 2,
        control = bark_control(warmup = 2000, thin = 10), ndraws = 500, until = rhat(5), threads = 1, seed = 1
      )
      table <- tidy(fit)
      number(unlist(table[table$term == "slope[x]", c("estimate", "std.error")]))
    }
  ),
  report(
    "12f", "auc() and brier_score() of a matrix with columns yes, no",
    "0 .025", "1 .025", function() {
      y <- factor(c("no", "no", "yes", "yes"))
      p <- c(.1, .2, .8, .9)
      both <- cbind(yes = p, no = 1 - p)
      number(c(auc(y, both), brier_score(y, both)))
    }
  ),
  report(
    "12f", "log_loss() of rows that sum to 1.8; of text labels",
    ".105, an error", "an error, .290", function() {
      c(
        answer(log_loss(factor(c("a", "b")), matrix(.9, 2, 2))),
        number(log_loss(c("a", "b"), c(.3, .8)))
      )
    }
  ),
  report(
    "A11", "performance::r2() of a logit fit and of glm()", "1.000 .191",
    "the same twice", function() {
      d <- made_rows()
      fit <- bkm(y ~ x + z, d, threads = 1)
      by_glm <- glm(y ~ x + z, binomial, d)
      number(unlist(lapply(list(fit, by_glm), performance::r2)))
    }
  ),
  report(
    "A11", "points of the bound, passes less rejected ones: learned weights",
    "19 117", "the same twice",
    function() {
      set.seed(2)
      x <- list(a = matrix(rnorm(200), 100), b = matrix(rnorm(200), 100))
      y <- factor(1 + (x$a[, 1] > 0) + (x$a[, 2] > .5))
      fit <- mkprobit(
        x, y, coefficients = "weights", kernel_weights = "learn",
        control = mkprobit_control(weights_method = "profile"), threads = 1
      )
      d <- fit$diagnostics
      number(c(length(elbo(fit)), d$passes - d$rejected))
    }
  ),
  report(
    "13", "predict(fit, d, se = TRUE)",
    "argument 3 matches multiple formal arguments", "fit se.fit", function() {
      d <- made_rows()
      answer(names(predict(bkm(u ~ x, d, threads = 1), d, se = TRUE)))
    }
  ),
  report(
    "17", "compare_terms(terms = list()), plot() of no rows, digits, sources",
    "errors of base R", "classes of the package", function() {
      d <- made_rows()
      fit <- bkm(y ~ x + z, d, threads = 1)
      source <- row_source(as.matrix(d[c("x", "z")]))
      c(
        answer(compare_terms(fit, terms = list("x"))),
        answer(plot(exposure(fit, ndraws = 10)[0, ])),
        answer(print(loo::loo(fit), digits = "a")),
        answer(exposure(fit, newdata = source)),
        answer(augment(fit, newdata = source))
      )
    }
  ),
  report(
    "17", "tidy(exponentiate = TRUE): largest change of a weight of gp()",
    "3.72", "0", function() {
      d <- made_rows()
      fit <- bkm(y ~ x + gp(z), d, threads = 1)
      a <- tidy(fit)
      b <- tidy(fit, exponentiate = TRUE)
      own <- !is.na(a$group)
      number(max(abs(a$estimate[own] - b$estimate[own])))
    }
  )
)
