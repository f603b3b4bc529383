# Coefficients and variances that ran away, and what is said of separation.

local_rows <- function() {
  set.seed(1)
  n <- 200
  d <- data.frame(
    x = rnorm(n), a = factor(sample(c("a", "b", "c"), n, TRUE, c(.5, .35, .15))),
    g = factor(sample(20, n, TRUE)), one = c(1, rep(0, n - 1)),
    h = factor(rep(1:20, each = 10)), id = factor(seq_len(n))
  )
  d$y <- factor(ifelse(d$a == "c", 1, rbinom(n, 1, plogis(d$x))))
  d$whole <- factor(rep(0:1, 100)[as.integer(d$h)])
  d$z <- d$x > 0
  d
}

shown <- function(name, ...) {
  fit <- bsvm(..., data = local_rows(), threads = 1, seed = 1)
  sprintf("%.3g", coef(fit)[[name]])
}

said <- function(code) {
  out <- "nothing is said"
  withCallingHandlers(code, bayeskernel_warning = function(w) {
    out <<- paste(strsplit(conditionMessage(w), "\n")[[1]][2], class(w)[1])
    invokeRestart("muffleWarning")
  })
  out
}

cases <- list(
  report(
    "A4", "a level all of one class, bsvm(y ~ x + a + (1 | g)), ep and vb",
    "23802 17925", "below 25, the prior's sd of a coefficient is 2.5 / sd(column)",
    function() c(
      shown("ac", y ~ x + a + (1 | g), method = "ep"),
      shown("ac", y ~ x + a + (1 | g), method = "vb")
    )
  ),
  report(
    "A4", "one row with a dummy of its own, ep and vb", "112557 99757",
    "below 75, three sds of the prior",
    function() c(
      shown("one", y ~ x + one + (1 | g), method = "ep"),
      shown("one", y ~ x + one + (1 | g), method = "vb")
    )
  ),
  report(
    "A4", "groups of one class each: sd by ep, and gibbs",
    "270676; an error, missing value where TRUE/FALSE needed",
    "a sd near the prior's scale 2.5 or some times it, no error",
    function() vapply(c("ep", "gibbs"), function(method) {
      fit <- bsvm(
        whole ~ x + (1 | h), local_rows(), method = method, threads = 1, seed = 1
      )
      sprintf("%.3g", tidy(fit, effects = "ran_pars")$estimate[1])
    }, "")
  ),
  report(
    "A4", "bkm(z ~ x), x separates", "nothing is said", "names x",
    function() said(bkm(z ~ x, local_rows(), threads = 1))
  ),
  report(
    "20", "bkm(x ~ 1 + (1 | id)), one row a level", "nothing is said",
    "variances cannot be told apart",
    function() said(bkm(x ~ 1 + (1 | id), local_rows(), threads = 1))
  )
)
