# Support vector machines by the sampler where classes are separated.

quiet <- function(code) suppressWarnings(suppressMessages(code))

separated_rows <- function(n, p = 4, seed = n) {
  set.seed(seed)
  x <- matrix(rnorm(n * p), n)
  list(x = x, y = x[, 1] + x[, 2] / 2 > 0)
}

# Log-loss of 4000 new rows and share of wrong classes.
say_new <- function(fit) {
  new <- separated_rows(4000, seed = 9)
  p <- predict(fit, new$x, type = "prob")[, 2]
  sprintf(
    "log-loss %.3f, error %.3f", -mean(log(ifelse(new$y, p, 1 - p))),
    mean((p > 0.5) != new$y)
  )
}

machine <- function(n, model = bsvm, ...) {
  d <- separated_rows(n)
  quiet(model(d$x, d$y, method = "gibbs", seed = 1, threads = 1, ...))
}

sds_of <- function(fit) paste(signif(sqrt(diag(vcov(fit))), 2), collapse = " ")

# Five crossed groups, a rare class.
crossed_rows <- function(n, seed) {
  set.seed(seed)
  d <- data.frame(x = rnorm(n), z = rnorm(n))
  for (k in 1:5) d[[paste0("g", k)]] <- factor(sample(12, n, TRUE), 1:12)
  d$y <- d$x + d$z / 2 + 0.3 * rlogis(n) > 1.5
  d
}

cases <- list(
  report(
    "A1", "iris without virginica, gibbs: probabilities, error",
    ".4971 to .5029, error .5", "0 and 1, as by ep and by the margin",
    function() {
      d <- droplevels(iris[iris$Species != "virginica", ])
      fit <- quiet(
        bsvm(Species ~ ., d, method = "gibbs", seed = 1, threads = 1)
      )
      p <- predict(fit, d, type = "prob")[, 2]
      wrong <- (p > 0.5) != (d$Species == fit$levels[2])
      sprintf(
        "within %.4f of 0 or 1, error %.2f, log-loss %.4f, sds %s",
        max(pmin(p, 1 - p)), mean(wrong),
        -mean(log(ifelse(d$Species == fit$levels[2], p, 1 - p))), sds_of(fit)
      )
    }
  ),
  report(
    "A1", "30 separated rows, 4 columns, gibbs: 4000 new rows",
    "log-loss .731, error .503", "ep .429, .168; margin .171",
    function() say_new(machine(30))
  ),
  report(
    "A1", "100 of them", "log-loss .686, error .499", "ep .028, .012",
    function() say_new(machine(100))
  ),
  report(
    "A1", "1000 of them", "log-loss .693, error .493", "ep .004, .001",
    function() say_new(machine(1000))
  ),
  report(
    "A1", "bkm(family = \"hinge\"), 30 rows", "log-loss .731, error .503",
    "ep .429, .168", function() say_new(machine(30, bkm, family = "hinge"))
  ),
  report(
    "A1", "321 rows, five crossed groups, a rare class: 4000 new rows",
    "log-loss .354, every P .122, the share of the class",
    "ep log-loss .188, P .000 to .999", function() {
      d <- crossed_rows(321, 2)
      new <- crossed_rows(4000, 9)
      say <- function(method) {
        fit <- quiet(bsvm(
          y ~ x + z + (1 | g1) + (1 | g2) + (1 | g3) + (1 | g4) + (1 | g5), d,
          method = method, seed = 1, threads = 1
        ))
        p <- predict(fit, new, type = "prob")[, 2]
        sprintf(
          "%s log-loss %.3f, P %.3f to %.3f;", method,
          -mean(log(ifelse(new$y, p, 1 - p))), min(p), max(p)
        )
      }
      paste(sum(d$y), "events:", say("gibbs"), say("ep"))
    }
  ),
  report(
    "17", "bsvm(x, x[, 1] > 0, gibbs), 40 x 3: standard errors",
    "2.7e10 2.2e11 3.1e9 1.9e10", "the draws' SDs, 2.7 20 1.7 1.8",
    function() {
      set.seed(1)
      x <- matrix(rnorm(120), 40)
      sds_of(quiet(
        bsvm(x, x[, 1] > 0, method = "gibbs", seed = 1, threads = 1)
      ))
    }
  ),
  report(
    "A10", "last line of the summary of bsvm(method = \"vb\")",
    "see method = \"gibbs\"", "its default, \"ep\"", function() {
      set.seed(1)
      d <- data.frame(x = rnorm(100))
      d$y <- d$x + rlogis(100) > 0
      out <- capture.output(summary(quiet(
        bsvm(y ~ x, d, method = "vb", threads = 1)
      )))
      paste(tail(out[nzchar(out)], 2), collapse = " ")
    }
  )
)
