# Large enough for several blocks of rows (2048 each), with and without groups.
many_rows <- function(n = 9000, p = 20) {
  set.seed(1)
  x <- matrix(rnorm(n * p), n, dimnames = list(NULL, paste0("x", seq_len(p))))
  g <- sample.int(150, n, TRUE)
  f <- x[, 1] - x[, 2] + rnorm(150)[g]
  d <- data.frame(y = ifelse(f + rlogis(n) > 0, 1, -1), x)
  d$g <- factor(g)
  d
}

few_rows <- function() {
  set.seed(2)
  d <- data.frame(x = rnorm(60), g = gl(6, 10))
  d$y <- d$x + rnorm(6)[d$g] + rlogis(60) > 0
  d
}

quiet <- function(code) {
  withCallingHandlers(
    code, bayeskernel_warning_convergence = function(w) invokeRestart("muffleWarning")
  )
}

formulas <- list(
  without = stats::as.formula(paste("y ~", paste0("x", 1:20, collapse = " + "))),
  with = stats::as.formula(paste("y ~", paste0("x", 1:20, collapse = " + "), "+ (x1 | g)"))
)

test_that("variational fits are the same for 1, 2 and 4 threads", {
  d <- many_rows()
  for (formula in formulas) {
    fits <- lapply(c(1, 2, 4), function(threads) {
      bsvm(formula, d, threads = threads, control = list(progress = FALSE), method = "vb")
    })
    for (fit in fits[-1]) {
      expect_identical(fit$posterior, fits[[1]]$posterior)
      expect_identical(fit$trace, fits[[1]]$trace)
      expect_identical(fit$fitted, fits[[1]]$fitted)
    }
  }
})

test_that("draws are the same for 1, 2 and 4 threads", {
  d <- many_rows()
  for (formula in formulas) {
    for (chains in c(1, 3)) { # threads inside the chain, threads over chains
      draws <- lapply(c(1, 2, 4), function(threads) {
        quiet(bsvm(
          formula, d, method = "gibbs", chains = chains,
          control = list(warmup = 3, progress = FALSE), ndraws = 5, seed = 4, threads = threads
        ))$draws
      })
      expect_identical(draws[[2]], draws[[1]])
      expect_identical(draws[[3]], draws[[1]])
    }
  }
})

gibbs <- function(...) {
  quiet(flat(bsvm)(
    y ~ x + (x | g), few_rows(), method = "gibbs", warmup = 50, progress = FALSE, ...
  ))
}

test_that("the seed gives the draws, set.seed() the seed", {
  expect_identical(
    gibbs(ndraws = 20, seed = 1, threads = 1)$draws, gibbs(ndraws = 20, seed = 1, threads = 2)$draws
  )
  set.seed(3)
  a <- gibbs(ndraws = 20, threads = 1)
  set.seed(3)
  b <- gibbs(ndraws = 20, threads = 1)
  expect_identical(a$draws, b$draws)
  expect_false(identical(a$draws, gibbs(ndraws = 20, threads = 1)$draws))
  expect_false(identical(a$draws[, 1, ], a$draws[, 2, ]))
})

test_that("more draws by `resume` are those of one long run", {
  for (thin in c(1, 3)) {
    whole <- gibbs(ndraws = 60, thin = thin, seed = 5, threads = 1)
    part <- gibbs(ndraws = 25, thin = thin, seed = 5, threads = 2)
    expect_identical(part$draws, whole$draws[1:25, , ])
    rest <- gibbs(ndraws = 60, thin = thin, resume = part, threads = 1)
    expect_identical(rest$draws, whole$draws)
    expect_identical(rest$seed, whole$seed)
    expect_equal(rest$posterior, whole$posterior)
  }
})

test_that("`resume` refuses another model, data, prior or fewer draws", {
  fit <- gibbs(ndraws = 20, seed = 6, threads = 1)
  d <- few_rows()
  again <- function(formula = y ~ x + (x | g), data = d, ...) {
    arguments <- utils::modifyList(list(
      formula, data, method = "gibbs", warmup = 50, ndraws = 30, resume = fit, threads = 1,
      progress = FALSE
    ), list(...))
    quiet(do.call(flat(bsvm), arguments))
  }
  expect_bk_error(again(y ~ x + (1 | g)), "argument", "resume")
  expect_bk_error(again(data = d[-1, ]), "argument", "resume")
  expect_bk_error(again(data = transform(d, x = x + 1)), "argument", "resume")
  expect_bk_error(again(data = transform(d, y = rev(y))), "argument", "resume")
  expect_bk_error(again(weights = rep(2, 60)), "argument", "resume")
  expect_bk_error(again(prior = bsvm_prior(beta_var = 1)), "argument", "resume")
  expect_bk_error(again(prior = bsvm_prior(cov_scale = 1)), "argument", "resume")
  expect_bk_error(again(chains = 2), "argument", "resume")
  expect_bk_error(again(warmup = 51), "argument", "resume")
  expect_bk_error(again(ndraws = 10), "argument", "resume")
  expect_bk_error(again(keep_ranef = FALSE), "argument", "resume")
  expect_bk_error(again(resume = bsvm(y ~ x, d, threads = 1, method = "vb")), "argument", "resume")
})

# A long run, interrupted once its sampler draws.
interrupted_run <- function(on_interrupt) {
  interrupted_work(function(ready, d, on_interrupt) {
    run <- function(ndraws) {
      bsvm(
        y ~ x + (x | g), d, method = "gibbs", ndraws = ndraws, seed = 7, threads = 2,
        control = list(warmup = 50, progress = FALSE, on_interrupt = on_interrupt)
      )
    }
    # Loading and compiling of R code is over before the interrupt comes.
    for (repetition in 1:3) run(200)
    ready()
    run(1e6)
  }, list(few_rows(), on_interrupt), after = 2)
}

# The child must load the version under test, not some other.
skip_unless_installed <- function() {
  skip_if_not_installed("callr")
  skip_on_os("windows")
  found <- system.file(package = "bayeskernel")
  skip_if_not(
    file.exists(file.path(found, "Meta", "package.rds")), "the package is loaded from its source"
  )
}

test_that("an interrupt keeps the draws, and the run can be continued", {
  out <- interrupted_run("keep")
  fit <- out$fit
  expect_lt(out$seconds, 5)
  expect_true("bayeskernel_warning_interrupt" %in% out$warned)
  kept <- dim(fit$draws)[1]
  expect_gt(kept, 0)
  expect_lt(kept, 1e6)
  expect_true(fit$diagnostics$interrupted)
  whole <- gibbs(ndraws = kept + 40, seed = 7, threads = 1)
  expect_identical(fit$draws, whole$draws[seq_len(kept), , ])
  rest <- gibbs(ndraws = kept + 40, resume = fit, threads = 1)
  expect_identical(rest$draws, whole$draws)
})

test_that("by default an interrupt stops, and its handlers run", {
  out <- interrupted_run("stop")
  expect_identical(out$fit, "interrupted")
  expect_lt(out$seconds, 5)
})

test_that("two workers give the draws of one process", {
  skip_unless_installed()
  cluster <- parallel::makePSOCKcluster(2)
  on.exit(parallel::stopCluster(cluster))
  parallel::clusterCall(cluster, .libPaths, .libPaths())
  expected <- gibbs(ndraws = 30, seed = 8, threads = 1)
  for (chains in c(1, 3, 4)) {
    found <- gibbs(ndraws = 30, seed = 8, chains = chains, cluster = cluster)
    expect_identical(found$draws, expected$draws[, seq_len(chains), , drop = FALSE])
  }
  part <- gibbs(ndraws = 10, seed = 8, cluster = cluster)
  rest <- gibbs(ndraws = 30, resume = part, cluster = cluster)
  expect_identical(rest$draws, expected$draws)
})

test_that("a worker that dies is a classed error, the master goes on", {
  skip_unless_installed()
  cluster <- parallel::makePSOCKcluster(2)
  on.exit(for (node in cluster) close(node$con))
  parallel::clusterCall(cluster, .libPaths, .libPaths())
  pid <- parallel::clusterCall(cluster[1], Sys.getpid)[[1]]
  tools::pskill(pid, tools::SIGKILL)
  expect_bk_error(gibbs(ndraws = 30, seed = 8, cluster = cluster), "cluster")
  expect_identical(dim(gibbs(ndraws = 5, seed = 8, threads = 1)$draws)[1:2], c(5L, 4L))
})
