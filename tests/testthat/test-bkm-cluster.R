# Fits of the linear model whose rows workers keep are those of one process, bit by bit.

# Two chunks of rows, in groups; an odd number of columns and groups of any size, so that no share
# begins where memory is aligned.
many <- local({
  set.seed(7)
  n <- 68000
  d <- data.frame(
    a = rnorm(n), b = rnorm(n), g = sample(700, n, TRUE), h = sample(3, n, TRUE),
    w = rep_len(c(1, 2, 0.5), n)
  )
  f <- d$a - d$b / 2 + rnorm(700)[d$g] + sin(2 * d$a)
  d$y <- +(f + rlogis(n) > 0)
  d$number <- f + rnorm(n)
  d
})

few <- local({
  set.seed(8)
  d <- many[sample(nrow(many), 300), ]
  d$g <- d$g %% 20
  d$k <- factor(sample(c("u", "v", "w"), 300, TRUE))
  d
})

fit_rows <- function(..., model = bkm) {
  suppressWarnings(flat(model)(
    ..., threads = 1, progress = FALSE
  ), classes = paste0("bayeskernel_warning_", c("max_iter", "given_up")))
}

# All but how long it took and who was asked.
said <- function(fit) {
  fit$diagnostics$seconds <- NULL
  fit[setdiff(names(fit), c("elapsed", "call", "stamp"))]
}

expect_shared <- function(cluster, ...) {
  alone <- fit_rows(...)
  expect_identical(said(fit_rows(..., cluster = cluster)), said(alone))
  invisible(alone)
}

test_that("rows over two workers change no bit", {
  skip_on_cran()
  cluster <- local_workers(2)
  shared <- function(...) expect_shared(cluster, ..., data = many)
  shared(y ~ a + b + (1 | g), method = "vb", family = "logit", weights = w, max_iter = 6)
  shared(y ~ a + (1 + b | g) + (1 | h), method = "vb", family = "hinge", max_iter = 4)
  shared(y ~ a + b, method = "vb", family = "hinge")
  shared(number ~ a + (1 | g), method = "vb", family = "gaussian", max_iter = 4)
  shared(y ~ a + b + I(a * b), method = "ep", family = "probit")
  shared(y ~ a + b + (1 | h), method = "ep", family = "logit", max_iter = 30)
})

test_that("what workers keep is what the model has of rows", {
  skip_on_cran()
  cluster <- local_workers(2)
  shared <- function(..., data = few) expect_shared(cluster, ..., data = data)
  few$near <- few$a
  few$near[seq(3, 300, 9)] <- NA
  few$level <- few$k
  few$level[seq(4, 300, 11)] <- NA
  for (method in c("vb", "ep")) {
    for (family in c("hinge", "logit", "probit", "gaussian")) {
      response <- if (family == "gaussian") "number" else "y"
      formula <- function(terms) stats::reformulate(terms, response)
      shared(
        formula("a + offset(b / 2) + s(b, k = 5) + (1 + a | g)"),
        family = family, method = method, weights = few$w, data = few
      )
      shared(
        formula("gp(a, b, inducing = 12) + (1 | g)"), family = family, method = method, data = few
      )
    }
    fit <- shared(
      y ~ near + level + (1 | g), family = "logit", method = method, missing = "model", data = few
    )
    expect_false(is.null(fit$imputed))
  }
  shared(y ~ a + b + (1 | g), method = "svi", family = "probit", seed = 1)
  for (method in c("vb", "ep")) shared(y ~ a + b + (1 | g), model = bsvm, method = method)
  # Workers have nothing to do.
  shared(y ~ a + b, method = "vb", select = TRUE, family = "logit", polish = FALSE)
  # Nothing stays behind.
  left <- parallel::clusterCall(cluster, function() {
    length(ls(get("worker_rows", asNamespace("bayeskernel"))))
  })
  expect_identical(left, list(0L, 0L))
})

test_that("columns of processes that nobody keeps are those of all rows", {
  skip_on_cran()
  cluster <- local_workers(2)
  old <- most_ep_cells
  utils::assignInNamespace("most_ep_cells", 0, "bayeskernel")
  on.exit(utils::assignInNamespace("most_ep_cells", old, "bayeskernel"))
  expect_shared(
    cluster, y ~ b + gp(a, inducing = 4) + (1 | g), many,
    method = "vb", family = "logit", max_iter = 3
  )
  for (method in c("vb", "ep")) {
    for (family in c("hinge", "logit")) {
      expect_shared(
        cluster, y ~ b + gp(a, inducing = 4) + gp(b, by = w, inducing = 3), few,
        method = method, family = family
      )
    }
  }
})

test_that("a worker that dies is an error of its class", {
  skip_on_cran()
  cluster <- local_workers(2)
  pid <- parallel::clusterCall(cluster, Sys.getpid)[[1]]
  tools::pskill(pid, tools::SIGKILL)
  expect_bk_error(
    fit_rows(y ~ a, few, family = "logit", method = "vb", cluster = cluster), "cluster", "worker"
  )
  expect_true(fit_rows(y ~ a, few, method = "vb")$diagnostics$converged)
})
