# Effects of units with known correlations.

set.seed(4)
d <- data.frame(w = rnorm(80), unit = rep(letters[1:8], each = 10))
d$number <- d$w + rep(rnorm(8), each = 10) + rnorm(80, sd = 0.3)
d$class <- factor(ifelse(d$number + rlogis(80) > 0, "yes", "no"), c("no", "yes"))

# An autoregression over the letters.
chain <- function(m, rho = 0.8) {
  g <- rho^abs(outer(seq_len(m), seq_len(m), "-"))
  dimnames(g) <- list(letters[seq_len(m)], letters[seq_len(m)])
  g
}

refused <- function(object, ...) expect_error(object, ..., class = "bayeskernel_error_argument")

test_that("correlated units are iid effects of a root", {
  g <- chain(8)
  fit <- bkm(number ~ w, d, cov = list(unit = g), threads = 1)
  expect_match(rownames(coef(summary(fit)))[2], "w")
  # Independent units are a random intercept, whatever the scale of G.
  eye <- diag(8)
  dimnames(eye) <- dimnames(g)
  alone <- bkm(number ~ w, d, cov = list(unit = 3 * eye), threads = 1)
  bars <- bkm(number ~ w + (1 | unit), d, threads = 1)
  expect_equal(log_evidence(alone), log_evidence(bars), tolerance = 1e-4)
  expect_equal(unname(predict(alone, d)), unname(predict(bars, d)), tolerance = 1e-4)
  # A unit without rows is predicted from its neighbours, one that is not in G has the prior's mean.
  part <- bkm(number ~ w, d[d$unit != "d", ], cov = list(unit = g), threads = 1)
  near <- predict(part, data.frame(w = 0, unit = c("c", "d", "e")))
  none <- predict(part, data.frame(w = 0, unit = "elsewhere"))
  expect_lt(near[2], max(near[-2]) + 0.3)
  expect_equal(unname(none), unname(coef(part)[1]), tolerance = 1e-6)
  refused(bkm(number ~ w, d, cov = g), "list")
  refused(bkm(number ~ w, d, cov = list(unit = unname(g))), "name")
  refused(bkm(number ~ w, d, cov = list(unit = g[1:7, 1:7])), "h")
  refused(bkm(number ~ w, d, cov = list(other = g)), "other")
  bad <- g
  bad[1, 2] <- bad[2, 1] <- 5
  refused(bkm(number ~ w, d, cov = list(unit = bad)), "positive")
})

test_that("new units are predicted as by a fit that has them in its matrix", {
  whole <- chain(11)
  g <- whole[1:8, 1:8]
  new <- data.frame(w = c(0, 1, 0, 0, -1), unit = c("i", "k", "a", "i", "j"))
  newcov <- list(unit = whole[c("k", "i", "j"), ])
  for (family in c("gaussian", "logit")) {
    formula <- if (family == "gaussian") number ~ w else class ~ w
    for (method in c("ep", "vb")) {
      fit_to <- function(g) {
        bkm(formula, d, family, method = method, cov = list(unit = g), threads = 1)
      }
      fit <- fit_to(g)
      ready <- fit_to(whole)
      found <- predict(fit, new, type = "link", se.fit = TRUE, newcov = newcov)
      expected <- predict(ready, new, type = "link", se.fit = TRUE)
      expect_equal(found$fit, expected$fit, tolerance = 1e-3)
      # What mean field leaves open has E t^2 here and 1 / E t^-2 in its q.
      if (method == "vb") {
        expect_true(all(found$se.fit > expected$se.fit - 1e-5))
        next
      }
      expect_equal(found$se.fit, expected$se.fit, tolerance = 5e-3)
      if (family == "logit") {
        expect_equal(
          predict(fit, new, type = "prob", newcov = newcov), predict(ready, new, type = "prob"),
          tolerance = 1e-3
        )
      }
    }
  }
})

test_that("their mean is G(new, old) G^-1 a, their variance what is left", {
  set.seed(6)
  place <- matrix(runif(20), 10)
  whole <- 3 * exp(-2 * as.matrix(dist(place)))
  dimnames(whole) <- list(letters[1:10], letters[1:10])
  old <- letters[1:8]
  new <- c("i", "j")
  g <- whole[old, old]
  fit <- bkm(number ~ w, d, cov = list(unit = g), threads = 1, method = "vb")
  at <- function(unit, newcov = NULL) {
    predict(
      fit, data.frame(w = 0, unit = unit), se.fit = TRUE,
      newcov = if (!is.null(newcov)) list(unit = newcov)
    )
  }
  mean <- function(...) unname(at(...)$fit)
  var <- function(...) unname(at(...)$se.fit)^2
  a <- mean(old) - coef(fit)[[1]]
  c <- whole[new, old]
  expect_equal(
    mean(new, whole[new, ]), drop(coef(fit)[[1]] + unname(c) %*% solve(g, a)), tolerance = 1e-8
  )
  # A unit whose variance the others explain leaves nothing open.
  explained <- whole[new, ]
  explained[, new] <- c %*% solve(g, t(c))
  left <- unname(diag(whole[new, new] - explained[, new]))
  label <- vapply(fit$posterior$variance, `[[`, "", "label")
  own <- fit$posterior$variance[[match("cov(unit)", label)]]
  t2 <- inverse_gamma_mean(own$shape, own$rate)
  expect_equal(var(new, whole[new, ]) - var(new, explained), t2 * left / 3, tolerance = 1e-6)
  # Without columns of their own they have the mean variance.
  expect_equal(var(new, c), var(new, whole[new, ]), tolerance = 1e-10)
  # A unit apart from all others has the prior, as one in no matrix.
  apart <- cbind(0 * c, 3 * diag(2))
  dimnames(apart) <- list(new, c(old, new))
  expect_equal(var(new, apart), var(c("x", "y")))
  expect_equal(mean(new, apart), rep(coef(fit)[[1]], 2))
  unknown <- data.frame(w = 0, unit = "x")
  draws <- predict(fit, unknown, draws = TRUE, ndraws = 4000, seed = 1)
  expect_lt(abs(sd(draws) / sqrt(var("x")) - 1), 0.06)
  # A copy of a unit is the unit.
  copy <- whole["c", , drop = FALSE]
  rownames(copy) <- "copy"
  expect_equal(mean("copy", copy), mean("c"), tolerance = 1e-8)
  expect_equal(var("copy", copy), var("c"), tolerance = 1e-6)
})

test_that("a precision is the inverse of a covariance", {
  g <- chain(8)
  q <- solve(g)
  fit <- bkm(number ~ w, d, cov = list(unit = g), threads = 1)
  same <- bkm(number ~ w, d, cov = list(unit = unit_precision(q)), threads = 1)
  expect_equal(coef(same), coef(fit), tolerance = 1e-8)
  expect_equal(vcov(same), vcov(fit), tolerance = 1e-8)
  expect_equal(log_evidence(same), log_evidence(fit), tolerance = 1e-8)
  expect_equal(fitted(same), fitted(fit), tolerance = 1e-8)
  skip_if_not_installed("Matrix")
  q[abs(row(q) - col(q)) > 1] <- 0
  sparse <- Matrix::Matrix(q, sparse = TRUE)
  expect_s4_class(sparse, "sparseMatrix")
  from <- bkm(number ~ w, d, cov = list(unit = unit_precision(sparse)), threads = 1)
  expect_equal(fitted(from), fitted(fit), tolerance = 1e-8)
})

test_that("new units and precisions that cannot be are refused", {
  g <- chain(8)
  fit <- bkm(number ~ w, d, cov = list(unit = g), threads = 1, method = "vb")
  new <- data.frame(w = 0, unit = "i")
  row <- chain(9)["i", , drop = FALSE]
  expect_true(is.finite(predict(fit, new, newcov = list(unit = row))))
  refused(predict(fit, new, newcov = row), "list")
  refused(predict(fit, new, newcov = list(other = row)), "unit")
  refused(predict(fit, newcov = list(unit = row)), "newdata")
  refused(predict(fit, new, newcov = list(unit = unname(row))), "name")
  refused(predict(fit, new, newcov = list(unit = g)), "name")
  refused(predict(fit, new, newcov = list(unit = row[, -3, drop = FALSE])), "c")
  refused(predict(fit, new, newcov = list(unit = replace(row, 2, Inf))), "finite")
  refused(predict(fit, new, newcov = list(unit = 5 * row[, 1:8, drop = FALSE])), "no covariance")
  plain <- bkm(number ~ w, d, threads = 1, method = "vb")
  refused(predict(plain, new, newcov = list(unit = row)), "correlated")
  with_precision <- function(q) {
    bkm(number ~ w, d, cov = list(unit = unit_precision(q)), threads = 1)
  }
  refused(with_precision(unname(solve(g))), "precision")
  field <- diag(8) - 1 / 8
  dimnames(field) <- dimnames(g)
  refused(with_precision(field), "positive definite")
  refused(with_precision("q"), "square")
  skip_if_not_installed("Matrix")
  large <- Matrix::Diagonal(2001)
  large <- methods::as(large, "generalMatrix")
  dimnames(large) <- list(1:2001, 1:2001)
  refused(with_precision(large), "too many")
})

test_that("units go with holes in predictors and with processes", {
  holed <- d
  holed$w[c(3, 30)] <- NA
  holed$f <- factor(rep_len(c("u", "v", NA, "v"), 80))
  g <- chain(8)
  fit <- bkm(number ~ w + f, holed, cov = list(unit = g), missing = "model", threads = 1)
  row <- chain(9)["i", , drop = FALSE]
  new <- data.frame(w = c(NA, 0, 0), f = c("u", NA, "u"), unit = "i")
  found <- predict(fit, new, se.fit = TRUE, newcov = list(unit = row))
  none <- predict(fit, new, se.fit = TRUE)
  expect_true(all(found$se.fit < none$se.fit))
  set.seed(2)
  d$x <- runif(80)
  both <- bkm(number ~ gp(x) + w, d, cov = list(unit = g), threads = 1)
  new <- data.frame(w = 0, x = 0.5, unit = c("i", "z"))
  found <- predict(both, new, se.fit = TRUE, newcov = list(unit = row))
  expect_lt(found$se.fit[[1]], found$se.fit[[2]])
})

test_that("a low-rank root is its dense covariance, at its own cost", {
  set.seed(8)
  root <- matrix(rnorm(24), 8, dimnames = list(letters[1:8], NULL))
  dense <- root %*% t(root)
  whole <- matrix(rnorm(9), 3, dimnames = list(c("i", "j", "k"), NULL))
  new <- data.frame(w = c(0, 1, 0, -1), unit = c("i", "b", "k", "j"))
  for (family in c("gaussian", "probit")) {
    formula <- if (family == "gaussian") number ~ w else class ~ w
    for (method in c("ep", "vb")) {
      fit_to <- function(g) {
        bkm(
          formula, d, family, cov = list(unit = g), method = method, threads = 1,
          control = list(tol = 1e-10)
        )
      }
      fit <- fit_to(unit_low_rank(root))
      # Of rank 3: its other eigenvalues are rounding.
      same <- suppressMessages(fit_to(dense))
      link <- function(fit) predict(fit, d, type = "link", se.fit = TRUE)
      # Of a grid the variance is where the evidence is largest but for some digits.
      close <- if (method == "ep") 2e-3 else 1e-7
      expect_equal(coef(fit)[1:2], coef(same)[1:2], tolerance = close)
      expect_equal(vcov(fit)[1:2, 1:2], vcov(same)[1:2, 1:2], tolerance = close)
      expect_equal(link(fit), link(same), tolerance = close)
      if (method == "ep") expect_equal(log_evidence(fit), log_evidence(same), tolerance = 1e-4)
      # Three columns in place of eight.
      expect_length(fit$design$smooths[[1]]$at, 3L)
      # New units by their rows, and by what these say of covariances.
      ready <- fit_to(unit_low_rank(rbind(root, whole)))
      by_root <- predict(
        fit, new, type = "link", se.fit = TRUE, newcov = list(unit = unit_low_rank(whole))
      )
      both <- rbind(root, whole)
      cov <- (both %*% t(both))[rownames(whole), ]
      by_cov <- predict(fit, new, type = "link", se.fit = TRUE, newcov = list(unit = cov))
      expect_equal(by_root, by_cov, tolerance = 1e-6)
      # The same but for the unit of t^2, which the prior sees.
      expect_equal(by_root$fit, predict(ready, new, type = "link"), tolerance = 0.05)
      # A unit of the fit is what it was.
      expect_equal(by_root$fit[[2]], predict(fit, new[2, ], type = "link")[[1]], tolerance = 1e-10)
    }
  }
})

test_that("thousands of units cost the columns of their root", {
  set.seed(9)
  markers <- matrix(rnorm(5000 * 6), 5000, dimnames = list(sprintf("u%d", 1:5000), NULL))
  effect <- drop(markers %*% rnorm(6, sd = 0.5))
  many <- data.frame(unit = sample(rownames(markers), 3000, TRUE))
  many$y <- effect[many$unit] + rnorm(3000)
  fit <- bkm(y ~ 1, many, cov = list(unit = unit_low_rank(markers)), threads = 1)
  expect_equal(length(fit$posterior$theta_mean), 7L)
  seen <- rownames(markers) %in% many$unit
  found <- predict(fit, data.frame(unit = rownames(markers)))
  expect_gt(cor(found[!seen], effect[!seen]), 0.98)
  se <- predict(fit, data.frame(unit = c("u1", "?")), se.fit = TRUE)$se.fit
  expect_lt(se[[1]], se[[2]])
})

test_that("roots that cannot be are refused", {
  root <- matrix(1:16 / 10, 8, dimnames = list(letters[1:8], NULL))
  with_root <- function(l, ...) {
    flat(bkm)(number ~ w, d, cov = list(unit = unit_low_rank(l)), threads = 1, ...)
  }
  refused(with_root(unname(root)), "name")
  refused(with_root(replace(root, 3, NA)), "not finite")
  refused(with_root(replace(root, 3, Inf)), "not finite")
  refused(with_root(0 * root), "zeros")
  refused(with_root("l"), "matrix")
  refused(with_root(root[c(1, 1:7), ]), "name")
  refused(with_root(root[-8, ]), "h")
  refused(with_root(matrix(1, 8, 2001, dimnames = dimnames(root))), "too many")
  fit <- with_root(root, method = "vb")
  new <- data.frame(w = 0, unit = "i")
  row <- matrix(c(1, 2), 1, dimnames = list("i", NULL))
  newcov <- function(l) list(unit = unit_low_rank(l))
  expect_true(is.finite(predict(fit, new, newcov = newcov(row))))
  refused(predict(fit, new, newcov = newcov(unname(row))), "name")
  refused(predict(fit, new, newcov = newcov(row[, 1, drop = FALSE])), "columns")
  refused(predict(fit, new, newcov = newcov(replace(row, 1, NaN))), "finite")
  refused(predict(fit, new, newcov = newcov(root)), "new units")
  plain <- bkm(number ~ w, d, cov = list(unit = chain(8)), method = "vb")
  refused(predict(plain, new, newcov = newcov(row)), "root")
  skip_if_not_installed("Matrix")
  sparse <- Matrix::Matrix(root, sparse = TRUE)
  expect_equal(coef(with_root(sparse, method = "vb")), coef(fit), tolerance = 1e-10)
})
