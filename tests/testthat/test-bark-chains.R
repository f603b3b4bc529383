# One posterior sample, bit by bit, whoever draws it, in one go or in two.

slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

d <- bark_data()
fit <- function(..., family = "gaussian") {
  response <- c(gaussian = "y", binomial = "two", ordinal = "three")[[family]]
  quick_bark(reformulate(c("a", "b"), response), d, family = family, select = TRUE, ...)
}
one_type <- function(fit) if (is_regression(fit)) "response" else "link"
same <- function(fit) fit[c("draws", "posterior", "fitted", "acceptance")]

test_that("threads do not change a bit", {
  for (family in c("gaussian", "binomial", "ordinal")) {
    one <- fit(family = family, chains = 3, threads = 1)
    for (threads in c(2, 4)) {
      expect_identical(same(fit(family = family, chains = 3, threads = threads)), same(one))
    }
    expect_identical(
      predict(one, d, se.fit = TRUE, type = one_type(one), threads = 2),
      predict(one, d, se.fit = TRUE, type = one_type(one), threads = 1)
    )
  }
})

test_that("every chain has numbers of its own, whatever the others", {
  three <- fit(chains = 3)
  one <- fit(chains = 1)
  expect_identical(one$draws, three$draws[, 1, , drop = FALSE])
  expect_false(any(three$draws[, 1, "sigma"] == three$draws[, 2, "sigma"]))
  other <- fit(chains = 1, seed = 12)
  expect_false(any(other$draws[, , "sigma"] == one$draws[, , "sigma"]))
})

test_that("set.seed() reproduces a fit", {
  set.seed(5)
  one <- fit(seed = NULL)
  set.seed(5)
  again <- fit(seed = NULL)
  expect_identical(one$draws, again$draws)
  expect_identical(fit(seed = one$seed)$draws, one$draws)
})

expect_continued <- function(joined, whole) {
  expect_identical(same(joined), same(whole))
  expect_identical(joined$state, whole$state)
}

test_that("a fit goes on where it ended", {
  for (family in c("gaussian", "binomial", "ordinal")) {
    whole <- fit(family = family, ndraws = 40)
    part <- fit(family = family, ndraws = 15)
    expect_identical(part$draws, whole$draws[1:15, , , drop = FALSE])
    joined <- fit(family = family, ndraws = 40, resume = part, seed = 999)
    expect_identical(joined$draws[1:15, , ], part$draws[, , ])
    expect_continued(joined, whole)
    expect_identical(joined$seed, whole$seed)
    # Twice, by way of a file.
    path <- tempfile()
    saveRDS(fit(family = family, ndraws = 25, resume = part), path)
    expect_continued(fit(family = family, ndraws = 40, resume = readRDS(path)), whole)
    unlink(path)
  }
})

test_that("only the same model goes on", {
  part <- fit(ndraws = 5)
  refuse <- function(code, what) expect_bark_refusal(code, "argument", what)
  refuse(fit(resume = part, thin = 2), "another model")
  refuse(fit(resume = part, prior = bark_prior(gamma = 1)), "another model")
  refuse(fit(resume = part, chains = 3), "another model")
  refuse(quick_bark(y ~ a, d, resume = part), "another model")
  refuse(fit(resume = part, ndraws = 4), "already holds")
  refuse(fit(resume = list()), "bark")
  refuse(fit(resume = "fit"), "bark")
})

test_that("workers of a cluster share the chains", {
  skip_on_cran()
  workers <- local_workers(2)
  one <- fit(chains = 3)
  shared <- fit(chains = 3, cluster = workers)
  expect_identical(same(shared), same(one))
  part <- fit(chains = 3, ndraws = 15, cluster = workers)
  expect_continued(fit(chains = 3, resume = part, cluster = workers), one)
})

test_that("an interrupted sampler stops, or keeps what it has", {
  skip_on_cran()
  skip_on_os("windows")
  skip_if_not_installed("callr")
  home <- dirname(system.file(package = "bayeskernel"))
  skip_if_not(file.exists(file.path(home, "bayeskernel", "Meta")))
  for (choice in c("keep", if (slow) "stop")) {
    ready <- tempfile()
    job <- callr::r_bg(function(path, choice, d, ready) {
      library(bayeskernel, lib.loc = path)
      sample <- function(ndraws, resume = NULL) {
        suppressWarnings(bark(
          y ~ a + b, d,
          control = list(warmup = 200, thin = 10, progress = FALSE, on_interrupt = choice,
            resume = resume),
          ndraws = ndraws, seed = 1, chains = 2, threads = 1
        ))
      }
      # Loading and compiling of R code is over before the interrupt comes.
      for (repetition in 1:3) few <- sample(10)
      file.create(ready)
      tryCatch(
        {
          kept <- sample(2e5)
          list(few, kept, sample(nrow(kept$draws) + 5, kept))
        },
        interrupt = function(e) "interrupted",
        bayeskernel_error = function(e) class(e)[1]
      )
    }, list(home, choice, d, ready))
    for (wait in 1:400) if (!file.exists(ready)) Sys.sleep(0.05)
    Sys.sleep(0.7)
    job$interrupt()
    job$wait(30000)
    out <- job$get_result()
    if (choice == "stop") {
      expect_identical(out, "interrupted")
    } else {
      kept <- out[[2]]
      expect_s3_class(kept, "bark")
      expect_true(kept$diagnostics$interrupted)
      expect_true(nrow(kept$draws) > 10 && nrow(kept$draws) < 2e5)
      expect_identical(kept$draws[1:10, , ], out[[1]]$draws[, , ])
      expect_false(anyNA(fitted(kept)))
      before <- nrow(kept$draws)
      expect_equal(dim(out[[3]]$draws)[1], before + 5L)
      expect_identical(out[[3]]$draws[seq_len(before), , ], kept$draws[, , ])
      expect_true(all(out[[3]]$draws[before + 1:5, , "sigma"] > 0))
    }
  }
})

test_that("a damaged state is refused before the core reads it", {
  for (family in c("gaussian", "ordinal")) {
    part <- fit(family = family, ndraws = 5)
    refuse <- function(change) {
      part$state[[2]] <- change(part$state[[2]])
      expect_bk_error(fit(family = family, resume = stamped(part)), "argument")
    }
    for (name in names(part$state[[2]])) {
      refuse(function(state) state[setdiff(names(state), name)])
      refuse(function(state) replace(state, name, list("a")))
      refuse(function(state) replace(state, name, list(c(state[[name]], 1e7))))
      if (length(part$state[[2]][[name]])) {
        refuse(function(state) replace(state, name, list(state[[name]][-1])))
        refuse(function(state) replace(state, name, list(state[[name]] * NaN)))
      }
    }
    refuse(function(state) replace(state, "sweep", list(state$sweep - 1)))
    refuse(function(state) replace(state, "count", list(state$count + 0.5)))
    refuse(function(state) NULL)
    part$state <- part$state[1]
    expect_bk_error(fit(family = family, resume = stamped(part)), "argument")
  }
})

test_that("damaged draws are refused by predictions", {
  part <- fit(ndraws = 5)
  refuse <- function(name, change) {
    part$posterior$kernels[[1]][[name]] <- change(part$posterior$kernels[[1]][[name]])
    expect_bk_error(predict(stamped(part), d), "argument")
  }
  refuse("location", function(x) x + 1000L)
  refuse("location", function(x) -x - 1L)
  refuse("mean", function(x) x[-1])
  refuse("variance", function(x) replace(x, 1, NaN))
  refuse("size", function(x) replace(x, 1, -1L))
})

test_that("a forked child runs serially, with the same draws", {
  skip_on_cran()
  skip_on_os("windows")
  one <- fit(chains = 2, threads = 2)
  child <- parallel::mcparallel(fit(chains = 2, threads = 2))
  found <- parallel::mccollect(child, wait = FALSE, timeout = 60)
  expect_identical(same(found[[1]]), same(one))
})

test_that("more chains than memory holds are refused at once", {
  expect_bk_error(bark(y ~ a + b, d, chains = 1e9), "argument", "memory")
})

test_that("a great many chains can be interrupted before the first runs", {
  skip_on_cran()
  skip_on_os("windows")
  skip_if_not_installed("callr")
  home <- dirname(system.file(package = "bayeskernel"))
  skip_if_not(file.exists(file.path(home, "bayeskernel", "Meta")))
  ready <- tempfile()
  job <- callr::r_bg(function(path, d, ready) {
    library(bayeskernel, lib.loc = path)
    options(bayeskernel.max_bytes = Inf)
    file.create(ready)
    tryCatch(
      bark(y ~ a + b, d, chains = 1e6, ndraws = 1, control = list(warmup = 0, progress = FALSE)),
      interrupt = function(e) "interrupted"
    )
  }, list(home, d, ready))
  for (wait in 1:400) if (!file.exists(ready)) Sys.sleep(0.05)
  Sys.sleep(2)
  job$interrupt()
  job$wait(60000)
  expect_false(job$is_alive())
  expect_identical(job$get_result(), "interrupted")
})
