# What works with what: a table of packages and models, written to vignettes/ecosystem_results.csv
# when BAYESKERNEL_SOURCE names the sources.

old_threads <- options(bayeskernel.threads = 1L, warn = -1)
set.seed(1)
two <- transform(iris[51:150, ], Species = droplevels(Species), g = factor(rep(1:10, 10)))
y <- as.numeric(two$Species) - 1
numbers <- Sepal.Length ~ Petal.Length + Sepal.Width
classes <- Species ~ Petal.Length + Sepal.Width
fits <- list(
  bkm = bkm(Sepal.Length ~ Petal.Length + Sepal.Width + (1 | g), two),
  bsvm = bsvm(classes, two), gpsvm = gpsvm(classes, two, seed = 1),
  mkprobit = mkprobit(classes, two, seed = 1), bark = bark(numbers, two, seed = 1),
  klr = klr(classes, two, seed = 1), seqkr = seqkr(numbers, two, seed = 1)
)
observed <- function(fit) if (length(fit$levels)) y else two$Sepal.Length
# What predict() says, one number a row.
expected <- function(fit) unname(predict(fit, two, type = "response"))
near <- function(x, to, tolerance = 1e-6) {
  isTRUE(all.equal(as.vector(x), as.vector(to), tolerance = tolerance))
}

# A function of the fit a package: TRUE where its answer is right, by numbers of plain R where these
# are at hand.
tries <- list(
  bayesplot = function(fit) {
    yrep <- rstantools::posterior_predict(fit, ndraws = 20)
    yrep <- matrix(as.numeric(factor(yrep)), 20)
    inherits(bayesplot::ppc_dens_overlay(as.numeric(factor(observed(fit))), yrep), "ggplot")
  },
  bayestestR = function(fit) {
    table <- bayestestR::describe_posterior(as.data.frame(posterior::as_draws_df(fit)))
    nrow(table) > 0L
  },
  broom = function(fit) nrow(broom::augment(fit)) == 100L && nrow(broom::glance(fit)) == 1L,
  coda = function(fit) coda::niter(as.mcmc(fit)) > 0L,
  emmeans = function(fit) {
    table <- as.data.frame(emmeans::emmeans(fit, ~Petal.Length, at = list(Petal.Length = 4.5)))
    row <- data.frame(Petal.Length = 4.5, Sepal.Width = mean(two$Sepal.Width), g = "1")
    near(table$emmean, predict(fit, row, type = "link", re.form = NA), 1e-4)
  },
  generics = function(fit) nrow(generics::tidy(fit)) > 0L,
  insight = function(fit) {
    near(insight::get_predicted(fit), expected(fit)) &&
      insight::n_obs(fit) == 100L
  },
  parameters = function(fit) {
    table <- as.data.frame(parameters::model_parameters(fit))
    near(table$Coefficient %||% table$Median %||% table$Mean, parameters_of(fit), 1e-4)
  },
  performance = function(fit) {
    r2 <- unlist(performance::r2(fit))[[1]]
    p <- fitted(fit)
    right <- if (length(fit$levels)) {
      mean(p[y == 1]) - mean(p[y == 0])
    } else {
      z <- two$Sepal.Length
      1 - sum((z - p)^2) / sum((z - mean(z))^2)
    }
    near(r2, right)
  },
  model_performance = function(fit) {
    table <- performance::model_performance(fit)
    measure <- table$RMSE
    if (is.null(measure)) stop("not supported")
    near(measure, sqrt(mean((observed(fit) - fitted(fit))^2)))
  },
  check_model = function(fit) {
    found <- performance::check_predictions(fit)
    !is.null(found)
  },
  icc = function(fit) {
    variances <- as.data.frame(VarCorr(fit))$vcov
    value <- performance::icc(fit)
    if (!is.list(value)) stop("icc is not supported")
    near(value$ICC_adjusted, variances[1] / sum(variances), 0.05)
  },
  ggeffects = function(fit) {
    table <- ggeffects::ggpredict(fit, "Petal.Length [4.5]")
    row <- data.frame(Petal.Length = 4.5, Sepal.Width = mean(two$Sepal.Width), g = "new")
    near(table$predicted, predict(fit, row, type = "response"), 0.02)
  },
  DHARMa = function(fit) {
    response <- posterior_response(fit)
    all(is.finite(residuals(DHARMa::createDHARMa(response, observed(fit), expected(fit)))))
  },
  loo = function(fit) is.finite(loo::loo(fit)$estimates["elpd_loo", 1]),
  marginaleffects = function(fit) {
    near(marginaleffects::predictions(fit)$estimate, expected(fit))
  },
  performance_mae = function(fit) {
    found <- performance::performance_mae(fit)
    if (is.na(found)) stop("not supported")
    near(found, mean(abs(observed(fit) - fitted(fit))))
  },
  posterior = function(fit) nrow(posterior::summarise_draws(posterior::as_draws(fit))) > 0L,
  projpred = function(fit) {
    # Of plain terms only.
    if (inherits(fit, "bkm")) fit <- bkm(numbers, two)
    reference <- projpred::get_refmodel(fit)
    # Named solution_terms before version 2.7.
    terms <- intersect(c("predictor_terms", "solution_terms"), names(formals(projpred::project)))[1]
    chosen <- stats::setNames(list("Petal.Length"), terms)
    sub <- do.call(projpred::project, c(list(reference, nclusters = 1), chosen))
    slope <- as.matrix(sub)[, "Petal.Length"]
    near(slope, coef(lm(Sepal.Length ~ Petal.Length, two))[2], 0.1)
  },
  rstantools = function(fit) {
    draws <- rstantools::posterior_epred(fit, ndraws = 400, seed = 1)
    near(colMeans(draws), expected(fit), 0.05)
  },
  tidybayes = function(fit) {
    table <- tidybayes::add_epred_draws(two, fit, ndraws = 400)
    near(tapply(table$.epred, table$.row, mean), expected(fit), 0.05)
  },
  caret = function(fit) {
    if (is.null(fit$levels)) {
      return(is.finite(caret::RMSE(expected(fit), observed(fit))))
    }
    caret::confusionMatrix(predict(fit, two), two$Species)$overall[["Accuracy"]] > 0.8
  },
  yardstick = function(fit) {
    if (is.null(fit$levels)) {
      return(yardstick::rmse_vec(observed(fit), expected(fit)) < 1)
    }
    yardstick::mn_log_loss_vec(two$Species, 1 - expected(fit)) < 1
  },
  parsnip = function(fit) {
    if (inherits(fit, c("klr", "seqkr"))) stop("not supported: parsnip has no such model")
    class(fit)[1] %in% vapply(asNamespace("bayeskernel")$parsnip_models, `[[`, "", "fun")
  },
  ggplot2 = function(fit) inherits(ggplot2::autoplot(fit), "ggplot")
)
homes <- c(
  model_performance = "performance", check_model = "performance", icc = "performance",
  performance_mae = "performance"
)

parameters_of <- function(fit) {
  table <- tidy(fit)
  if (is.null(coef_of <- tryCatch(coef(fit), error = function(e) NULL))) table$estimate else coef_of
}
posterior_response <- function(fit) {
  out <- t(rstantools::posterior_predict(fit, ndraws = 200, seed = 1))
  if (length(fit$levels)) matrix(as.numeric(out == fit$levels[2]), 100) else out
}

outcome <- function(name, fit) {
  home <- if (name %in% names(homes)) homes[[name]] else name
  if (!requireNamespace(home, quietly = TRUE)) {
    return("not installed")
  }
  found <- tryCatch(
    suppressMessages(suppressWarnings(tries[[name]](fit))),
    bayeskernel_error = function(e) "refuses",
    error = function(e) {
      text <- conditionMessage(e)
      # What the package says of a model that it does not know, or our words that it passes on.
      if (grepl("could not find function \"%||%\"", text, fixed = TRUE)) {
        # Of packages that take it from R 4.4 or later.
        "needs a newer R"
      } else if (grepl("not supported|no coefficients|Could not simulate|is not yet supported",
        gsub("\\s+", " ", text))) {
        "refuses"
      } else {
        paste("fails:", sub("\n.*", "", text))
      }
    }
  )
  if (isTRUE(found)) "works" else if (is.character(found)) found else "wrong"
}

table <- vapply(fits, function(fit) {
  vapply(names(tries), outcome, "", fit)
}, character(length(tries)))

test_that("no package gives a wrong answer, and errors say why", {
  for (name in rownames(table)) {
    expect_false(any(table[name, ] == "wrong"), info = name)
    expect_false(any(startsWith(table[name, ], "fails")), info = name)
  }
})

source_folder <- Sys.getenv("BAYESKERNEL_SOURCE")
if (nzchar(source_folder) && dir.exists(file.path(source_folder, "vignettes"))) {
  out <- data.frame(package = rownames(table), sub(":.*", "", table))
  write.csv(out, file.path(source_folder, "vignettes", "ecosystem_results.csv"), row.names = FALSE)
}
options(old_threads)
