# Every case of the golden set, by its spec: through the core's own interface,
# which takes any mixture of blocks, and through bsvm() where the formula
# interface has words for the spec.

skip_if_not_installed("jsonlite")

svm_cases <- golden_cases("svm")

slow_tests <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

expect_within <- function(found, expected, tolerance, label) {
  expect_equal(length(found), length(expected), label = label)
  excess <- abs(as.vector(found) - as.vector(expected)) / tolerance
  expect_true(
    all(excess <= 1),
    label = sprintf("%s: %.3g of the tolerance", label, max(excess))
  )
}

relative <- function(expected) 1e-5 * (1 + abs(expected))

expect_golden_vb <- function(found, golden) {
  vb <- golden$vb
  expect_within(found$elbo[length(found$elbo)], vb$elbo, 1e-7, "bound")
  expect_within(found$mean, vb$mu, relative(vb$mu), "mu")
  expect_within(
    diag(found$covariance), vb$Sigma_diag, relative(vb$Sigma_diag), "Sigma_diag"
  )
  if (!is.null(vb[["Sigma"]])) {
    full <- vb[["Sigma"]]
    expect_within(found$covariance, full, relative(full), "Sigma")
  }
  for (l in seq_along(vb$blocks)) {
    expected <- vb$blocks[[l]]
    q <- found$variance[[l]]
    if (expected$type == "iid") {
      values <- c(
        A_hat = q$shape, B_hat = q$rate, E_inv_sigma2 = q$shape / q$rate,
        E_sigma2 = q$rate / (q$shape - 1)
      )
    } else {
      r <- nrow(q$scale)
      values <- c(
        nu_hat = q$df, S_hat = q$scale, E_Psi = q$scale / (q$df - r - 1)
      )
      names(values) <- rep(
        c("nu_hat", "S_hat", "E_Psi"), c(1, r^2, r^2)
      )
    }
    for (name in intersect(names(expected), names(values))) {
      numbers <- unlist(expected[[name]])
      if (!is.numeric(numbers)) next
      expect_within(
        values[names(values) == name], numbers, relative(numbers), name
      )
    }
  }
}

# New rows as design rows in the order of the golden names, one matrix for
# every group that the row could belong to: a row is predictors, and behind
# them perhaps group indicators; without these it may be of any group.
new_design_rows <- function(golden, row) {
  predictors <- setdiff(names(golden$data), c("y", "weight"))
  parsed <- golden_blocks(golden$spec)
  groups <- unique(unlist(lapply(parsed, `[[`, "group")))
  predictors <- setdiff(predictors, groups)
  known <- data.frame(as.list(row[seq_along(predictors)]))
  names(known) <- predictors
  indicators <- row[-seq_along(predictors)]
  sizes <- vapply(groups, function(g) max(golden$data[[g]]), numeric(1))
  choices <- if (length(groups) == 0) {
    list(integer())
  } else if (length(indicators) == sum(sizes)) {
    ends <- cumsum(sizes)
    list(vapply(seq_along(sizes), function(k) {
      own <- indicators[ends[k] - sizes[k] + seq_len(sizes[k])]
      if (any(own != 0)) which(own != 0) else 0L
    }, numeric(1)))
  } else {
    asplit(as.matrix(expand.grid(lapply(sizes, function(m) 0:m))), 1)
  }
  lapply(choices, function(choice) {
    out <- golden_matrix(golden$spec$fixed, known)
    for (block in parsed) {
      own <- golden_matrix(block$columns, known)
      if (!is.null(block$group)) {
        m <- max(golden$data[[block$group]])
        mine <- choice[match(block$group, groups)]
        indicator <- as.numeric(seq_len(m) == mine)
        own <- kronecker(t(indicator), own)
      }
      out <- cbind(out, own)
    }
    list(design = drop(out), predictors = known, group = choice)
  })
}

# Hinge: 1e-4 where s2 is small, as for prob.csv.
hinge_tolerance <- function(s2, expected) {
  ifelse(s2 < 0.0625, 1e-4, relative(expected))
}

# Of the rows that new_design_rows() offers, the one that gives the numbers.
matching_row <- function(golden, found, i) {
  expected <- golden$vb$predict
  row <- if (is.matrix(expected$new)) expected$new[i, ] else expected$new[[i]]
  rows <- new_design_rows(golden, unlist(row))
  off <- vapply(rows, function(one) {
    c <- one$design
    m <- sum(c * found$mean)
    s2 <- sum(c * (found$covariance %*% c))
    max(
      abs(m - expected$m[i]) / relative(expected$m[i]),
      abs(s2 - expected$s2[i]) / relative(expected$s2[i])
    )
  }, numeric(1))
  expect_lte(min(off), 1)
  rows[[which.min(off)]]
}

expect_golden_predictions <- function(found, golden) {
  expected <- golden$vb$predict
  for (i in seq_along(expected$m)) {
    row <- matching_row(golden, found, i)$design
    m <- sum(row * found$mean)
    s2 <- sum(row * (found$covariance %*% row))
    expect_within(
      stats::pnorm(m / sqrt(1 + s2)), expected$prob_probit[i],
      relative(expected$prob_probit[i]), "probit"
    )
    expect_within(
      hinge_probability_cpp(m, s2), expected$prob_hinge_exact[i],
      hinge_tolerance(s2, expected$prob_hinge_exact[i]), "hinge"
    )
  }
}

# predict() adds the prior variance of an unseen group; the files do not.
expect_golden_predict_method <- function(found, golden, call) {
  expected <- golden$vb$predict
  for (i in seq_along(expected$m)) {
    row <- matching_row(golden, found, i)
    new <- row$predictors
    extra <- 0
    groups <- unique(unlist(lapply(call$parsed, `[[`, "group")))
    for (k in seq_along(groups)) {
      new[[groups[k]]] <- if (row$group[k] == 0) "unseen" else row$group[k]
    }
    for (l in which(!call$plain)) {
      block <- call$parsed[[l]]
      if (row$group[match(block$group, groups)] > 0) next
      q <- found$variance[[l]]
      z <- golden_matrix(block$columns, new)
      r <- length(z)
      mean <- if (r == 1) {
        q$rate / (q$shape - 1)
      } else {
        q$scale / (q$df - r - 1)
      }
      extra <- extra + drop(z %*% mean %*% t(z))
    }
    link <- predict(found$fit, new, type = "link", se.fit = TRUE)
    expect_within(link$fit, expected$m[i], relative(expected$m[i]), "m")
    expect_within(
      link$se.fit^2 - extra, expected$s2[i], relative(expected$s2[i]), "s2"
    )
    if (extra > 0) next
    for (kind in c("probit", "hinge")) {
      prob <- predict(found$fit, new, type = "prob", link = kind)[, 2]
      name <- c(probit = "prob_probit", hinge = "prob_hinge_exact")[[kind]]
      value <- expected[[name]][i]
      tolerance <- if (kind == "probit") {
        relative(value)
      } else {
        hinge_tolerance(expected$s2[i], value)
      }
      expect_within(prob, value, tolerance, kind)
    }
  }
}

expect_golden_gibbs <- function(draws, golden) {
  ours <- batch_summary(draws)
  theirs <- golden$gibbs
  limit <- ifelse(grepl("^var", theirs$parameter), 5, 4)
  for (what in c("mean", "sd")) {
    error <- paste0("mcse_", what)
    bound <- limit * sqrt(theirs[[error]]^2 + ours[[error]]^2)
    bound[theirs[[error]] == 0] <- 0.002
    off <- abs(ours[[what]] - theirs[[what]]) / bound
    worst <- which.max(off)
    expect_true(
      all(off <= 1),
      label = sprintf(
        "%s of %s: %.2f of what is allowed", what, theirs$parameter[worst],
        off[worst]
      )
    )
  }
}

skip_unless_fitted <- function(spec) {
  needs <- golden_needs(spec)
  if (length(needs) > 0) {
    skip(paste("the spec needs", paste(needs, collapse = " and ")))
  }
}

test_that("the golden set is found and holds cases that are run", {
  skip_if(length(svm_cases) == 0, "no golden files beside the tests")
  runnable <- vapply(svm_cases, function(case) {
    length(golden_needs(read_golden("svm", case)$spec)) == 0
  }, logical(1))
  expect_gt(sum(runnable), 0)
})

for (case in svm_cases) {
  golden <- read_golden("svm", case)
  call <- if (length(golden_needs(golden$spec)) == 0) golden_call(golden)

  test_that(paste0(case, ": the core gives the variational numbers"), {
    skip_unless_fitted(golden$spec)
    found <- golden_core_vb(golden)
    expect_golden_vb(found, golden)
    expect_golden_predictions(found, golden)
    plain <- golden_core_vb(golden, accelerate = FALSE)
    expect_golden_vb(plain, golden)
    expect_within(
      plain$elbo[1:3], golden$vb$elbo_first3, 1e-7, "bound of steps 1 to 3"
    )
  })

  test_that(paste0(case, ": bsvm() gives the variational numbers"), {
    skip_unless_fitted(golden$spec)
    skip_if(is.null(call), "no formula for this mixture of blocks")
    found <- golden_fit_vb(golden, call, tol = 1e-12)
    expect_golden_vb(found, golden)
    expect_golden_predict_method(found, golden, call)
    plain <- golden_fit_vb(
      golden, call,
      tol = 1e-12, max_iter = 20000, accelerate = FALSE
    )
    expect_golden_vb(plain, golden)
    expect_within(
      plain$elbo[1:3], golden$vb$elbo_first3, 1e-7, "bound of steps 1 to 3"
    )
  })

  test_that(paste0(case, ": draws agree with the long run"), {
    skip_unless_fitted(golden$spec)
    skip_if(is.null(golden$gibbs), "no long run in the files")
    draws <- if (slow_tests) 40000 else 5000
    expect_golden_gibbs(
      golden_core_gibbs(golden, draws = draws, seed = 11), golden
    )
    if (!is.null(call)) {
      expect_golden_gibbs(suppressWarnings(
        golden_fit_gibbs(
          golden, call,
          warmup = 500, draws = min(draws, 10000), seed = 12
        ),
        classes = "bayeskernel_warning_convergence"
      ), golden)
    }
  })
}

test_that("class probabilities equal those of adaptive quadrature", {
  path <- file.path(golden_folder("svm"), "prob.csv")
  skip_if_not(file.exists(path), "no golden files beside the tests")
  prob <- utils::read.csv(path)
  expect_within(
    hinge_probability_cpp(prob$m, prob$s2), prob$hinge_exact,
    ifelse(prob$s2 < 0.0625, 1e-4, 1e-6), "hinge"
  )
  expect_within(
    hinge_probability_cpp(prob$m, 0 * prob$s2), prob$hinge_plugin, 1e-12,
    "hinge at s2 = 0"
  )
  expect_within(
    link_probability(prob$m, prob$s2, "probit"), prob$probit, 1e-12, "probit"
  )
})
