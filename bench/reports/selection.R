# Selection of factors, defaults that are typed, and passes without end.

pupils <- function() {
  bdf <- nlme::bdf
  bdf$upper <- factor(bdf$langPOST > stats::median(bdf$langPOST))
  bdf
}

upper_fit <- function(fitter = bsvm, ...) {
  fitter(
    upper ~ IQ.verb + ses + langPRET + sex + Minority + aritPRET, pupils(),
    select = TRUE, seed = 1, threads = 1, ...
  )
}

same_fit <- function(a, b) {
  if (isTRUE(all.equal(coef(a), coef(b), tolerance = 0))) "same" else "another"
}

cases <- list(
  report(
    "A5", "bsvm(select = TRUE), nlme::bdf: inclusion of sex by term",
    "0.75 (sex0 0.54, sex1 0.47)", "1.00 by Gibbs and by the 0/1 column",
    function() {
      fit <- upper_fit()
      sprintf(
        "%.2f (%s)", inclusion(fit, by = "term")[["sex"]],
        toString(grep("^sex", names(inclusion(fit)), value = TRUE))
      )
    }
  ),
  report(
    "A5", "the table's estimate beside the inclusion of sex",
    "0 (SD 4.8e-61) beside .47", "an estimate of the same draws",
    function() {
      table <- summary(upper_fit())$selection
      sprintf("%.2f (SD %.2g) beside %.2f", table["sex1", "Estimate"],
        table["sex1", "SD"], table["sex1", "Inclusion"])
    }
  ),
  report(
    "A8", "bsvm(tol = 1e-6, max_iter = 2000), as the signature showed",
    "65 passes in place of 31", "the shown default, NULL, is the same fit",
    function() {
      d <- iris[51:150, ]
      d$Species <- droplevels(d$Species)
      fit <- function(...) bsvm(Species ~ ., d, threads = 1, ...)
      same_fit(fit(), fit(tol = NULL, max_iter = NULL, method = NULL))
    }
  ),
  report(
    "A8", "bark(): prior, draws, until and their kin, typed as shown",
    "another prior; `until` off", "same",
    function() {
      d <- data.frame(x = sin(1:30), y = rep(0:1, 15))
      fit <- function(...) {
        bark(y ~ x, d, family = "binomial",
          control = bark_control(warmup = 200, thin = 1),
          chains = 2, seed = 1, threads = 1, ...)
      }
      if (identical(
        fit()$draws, fit(prior = NULL, ndraws = NULL, until = "auto")$draws
      )) "same" else "another"
    }
  ),
  report(
    "15", "plain ascent in columns of wild scales, max_iter = 1e7",
    "no end within 25 s", "at most 40,000 passes, the last climb 10,000",
    function() {
      set.seed(6)
      x <- matrix(rnorm(1200), 40) %*%
        diag(c(rep(1, 4), 10^runif(26, -3, 3)))
      fit <- bsvm(x, seq_len(40) == 7,
        select = TRUE,
        control = bsvm_control(accelerate = FALSE, max_iter = 1e7, polish = FALSE), standardize = FALSE,
        weights = 10^runif(40, -3, 3),
        learning_rate = 1, seed = 1, threads = 1
      )
      sprintf("%d passes, converged %s", fit$diagnostics$passes,
        fit$diagnostics$converged)
    }
  )
)
