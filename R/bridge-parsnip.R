# Engine "bayeskernel" of models of package parsnip: one table, from which all is registered.

#' Engine for tidymodels
#'
#' @description
#' With package parsnip loaded, `"bayeskernel"` is an engine of its models; see
#' `vignette("tidymodels")`. These call `fit_engine()`, which users need not.
#'
#' Quick start:
#' ```
#' spec <- parsnip::set_mode(parsnip::svm_rbf(engine = "bayeskernel"), "classification")
#' fit <- parsnip::fit(spec, Species ~ ., iris)
#' predict(fit, iris[1:3, ], type = "prob")
#' ```
#'
#' @section Models:
#'
#' | parsnip | fits by | main arguments |
#' |---|---|---|
#' | `svm_rbf()` | [gpsvm()] with [rbf()] | `cost` C, `rbf_sigma` s: `rbf(1 / sqrt(2 s), C / 2)` |
#' | `svm_poly()` | [gpsvm()] with [polynomial()] | `degree`, `cost`, `scale_factor` |
#' | `svm_linear()` | [bsvm()] | `cost` C: prior precision 2 / C |
#' | `logistic_reg()` | [bkm()] | `penalty` of a ridge, `mixture = 0`: prior precision n `penalty` |
#' | `linear_reg()` | [bkm()] | |
#' | `gen_additive_mod()` | [bkm()] | `select_features`: `select` |
#' | `multinom_reg()` | [mkprobit()] | |
#' | `bart()` | [bark()] | |
#'
#' Other main arguments are errors that say why. Arguments of the function that fits are given to
#' `set_engine()`. A kernel parameter that is not given is tuned by the fit itself. Types of
#' predictions are `"class"`, `"prob"`, `"numeric"`, `"conf_int"` (credible intervals of class
#' probabilities or of the mean), `"pred_int"` (regression) and `"raw"` (the latent value).
#' Importance weights are `weights`.
#'
#' @section Groups: Bars go into the formula of the model, the variables into the workflow:
#'   `add_variables(outcomes = y, predictors = c(x, g))` and `add_model(spec, formula = y ~ x + (1 |
#'   g))`. With `blueprint = hardhat::default_xy_blueprint(allow_novel_levels = TRUE)` new groups
#'   are predicted, averaged over their effects; without it they become missing values.
#'
#' @param formula,data As of [bkm()].
#' @param model Name of the model in parsnip.
#' @param ... Its main arguments, and arguments of the function that fits.
#' @return A fit.
#' @section Errors: `bayeskernel_error_argument` for a main argument without a meaning here.
#' @examplesIf requireNamespace("parsnip", quietly = TRUE)
#' two <- droplevels(iris[51:150, ])
#' spec <- parsnip::svm_rbf(mode = "classification")
#' spec <- parsnip::set_engine(spec, "bayeskernel")
#' fit <- parsnip::fit(spec, Species ~ Petal.Length + Petal.Width, two)
#' predict(fit, two[c(1, 51), ], type = "prob")
#' @name tidymodels
#' @aliases fit_engine
#' @export
fit_engine <- function(formula, data, model, ...) {
  check_given("formula", "data", "model")
  entry <- parsnip_models[[check_choice(model, names(parsnip_models), "model")]]
  given <- list(...)
  main <- given[intersect(names(given), names(entry$main))]
  for (name in names(main)) {
    why <- entry$main[[name]]$why
    if (!is.null(why)) refuse_main(name, main[[name]], model, entry$fun, why)
  }
  own <- given[setdiff(names(given), names(main))]
  settings <- if (is.null(entry$settings)) main else entry$settings(main, own, nrow(data))
  settings <- utils::modifyList(c(list(), settings, entry$fixed), own, keep.null = TRUE)
  # Symbols, so that the call that the fit keeps is short.
  values <- list2env(settings, parent = environment(formula) %||% globalenv())
  values$data <- data
  call <- as.call(c(
    as.name(entry$fun), formula, quote(data), lapply(stats::setNames(nm = names(settings)), as.name)
  ))
  eval(call, list2env(stats::setNames(list(get(entry$fun, topenv())), entry$fun), parent = values))
}

refuse_main <- function(name, value, model, fun, why) {
  bk_abort(
    "argument", sprintf("Engine \"bayeskernel\" of %s() has no `%s`.", model, name),
    sprintf("It fits by %s(). %s", fun, why), "Leave it out.", column = name, found = value
  )
}

# A main argument that has a meaning: the function of package dials that makes its parameter.
meant <- function(dials) list(dials = dials)
refused <- function(dials, why) list(dials = dials, why = why)

no_mixture <- "Its prior is normal, a ridge: there is no mixture with a lasso."
no_trees <- paste(
  "It sums kernels, not trees: use",
  "set_engine(\"bayeskernel\", prior = bark_prior(kernels = 30))."
)

# A kernel of gpsvm(), unless one is given itself.
kernel_settings <- function(make) {
  function(main, own, n) {
    if (!is.null(own$kernel) && length(main)) {
      bk_abort(
        "argument", "Give the kernel once.",
        paste("Found: `kernel` and", paste0("`", names(main), "`", collapse = ", ")),
        "Accepted: main arguments, or `kernel` in set_engine().",
        column = "kernel", found = names(main)
      )
    }
    for (name in names(main)) check_number(main[[name]], 0, name = name)
    out <- list(kernel = make(main))
    # Given parameters are those to use, and are not tuned.
    if (length(main) && !has_open_scale(out$kernel)) out$tune <- FALSE
    out
  }
}

rbf_of <- function(main) {
  rbf(
    lengthscale = if (!is.null(main$rbf_sigma)) 1 / sqrt(2 * main$rbf_sigma),
    variance = (main$cost %||% 2) / 2
  )
}

# (s x'z + 1)^d of kernlab is s^d (x'z + 1 / s)^d.
polynomial_of <- function(main) {
  scale <- main$scale_factor %||% 1
  degree <- main$degree %||% 2
  polynomial(degree, offset = 1 / scale, variance = (main$cost %||% 2) / 2 * scale^degree)
}

no_margin <- "It classifies: `margin` is of regression by support vectors."
gaussian_prior <-
  "The variance of its coefficients is learned: use set_engine(penalty = ) of bkm()."

# A row a model: the function that fits, its modes, what it is called with always, main arguments
# and how they become arguments of that function.
parsnip_models <- list(
  svm_rbf = list(
    fun = "gpsvm", modes = "classification", settings = kernel_settings(rbf_of),
    main = list(
      cost = meant("cost"), rbf_sigma = meant("rbf_sigma"),
      margin = refused("svm_margin", no_margin)
    )
  ),
  svm_poly = list(
    fun = "gpsvm", modes = "classification", settings = kernel_settings(polynomial_of),
    main = list(
      cost = meant("cost"), degree = meant("degree"), scale_factor = meant("scale_factor"),
      margin = refused("svm_margin", no_margin)
    )
  ),
  svm_linear = list(
    fun = "bsvm", modes = "classification",
    settings = function(main, own, n) {
      if (!is.null(main$cost)) list(penalty = 2 / check_number(main$cost, 0, name = "cost"))
    },
    main = list(cost = meant("cost"), margin = refused("svm_margin", no_margin))
  ),
  logistic_reg = list(
    fun = "bkm", modes = "classification",
    settings = function(main, own, n) {
      mixture <- main$mixture %||% 0
      if (!identical(as.numeric(mixture), 0)) {
        refuse_main("mixture", mixture, "logistic_reg", "bkm", no_mixture)
      }
      if (!is.null(main$penalty)) {
        list(penalty = n * check_number(main$penalty, 0, name = "penalty"))
      }
    },
    main = list(penalty = meant("penalty"), mixture = meant("mixture"))
  ),
  linear_reg = list(
    fun = "bkm", modes = "regression", fixed = list(family = "gaussian"),
    main = list(
      penalty = refused("penalty", gaussian_prior), mixture = refused("mixture", no_mixture)
    )
  ),
  gen_additive_mod = list(
    fun = "bkm", modes = c("classification", "regression"),
    settings = function(main, own, n) {
      if (!is.null(main$select_features)) list(select = main$select_features)
    },
    main = list(
      select_features = meant("select_features"),
      adjust_deg_free = refused("adjust_deg_free", paste(
        "Priors of variances make curves smooth: there is no score to correct."
      ))
    )
  ),
  multinom_reg = list(
    fun = "mkprobit", modes = "classification",
    main = list(
      penalty = refused("penalty", paste(
        "Left-out rows choose the variance of its functions: see mkprobit_prior()."
      )),
      mixture = refused("mixture", no_mixture)
    )
  ),
  bart = list(
    fun = "bark", modes = c("classification", "regression"),
    main = list(
      trees = refused("trees", no_trees),
      prior_terminal_node_coef = refused("prior_terminal_node_coef", no_trees),
      prior_terminal_node_expo = refused("prior_terminal_node_expo", no_trees),
      prior_outcome_range = refused("prior_outcome_range", no_trees)
    )
  )
)

# Columns as parsnip names them: of every class, its limits.
class_limits <- function(result, object) {
  out <- lapply(dimnames(result)[[3]], function(class) {
    limits <- as.data.frame(result)[paste0(c("lwr.", "upr."), class)]
    stats::setNames(limits, paste0(c(".pred_lower_", ".pred_upper_"), class))
  })
  do.call(cbind, out)
}

mean_limits <- function(result, object) {
  data.frame(.pred_lower = unname(result[, "lwr"]), .pred_upper = unname(result[, "upr"]))
}

# predict() of the fit for each type that parsnip knows in a mode.
parsnip_predictions <- function(mode) {
  ask <- function(post = NULL, ...) {
    list(
      pre = NULL, post = post, func = c(fun = "predict"),
      args = c(list(object = quote(object$fit), newdata = quote(new_data)), list(...))
    )
  }
  plain <- function(result, object) unname(result)
  if (mode == "regression") {
    list(
      numeric = ask(plain, type = "response"), raw = ask(type = "link"),
      conf_int = ask(mean_limits, interval = "credible", level = quote(level)),
      pred_int = ask(mean_limits, interval = "prediction", level = quote(level))
    )
  } else {
    list(
      class = ask(plain, type = "class"), raw = ask(type = "link"),
      prob = ask(function(result, object) as.data.frame(result, optional = TRUE), type = "prob"),
      conf_int = ask(class_limits, type = "prob", interval = "credible", level = quote(level))
    )
  }
}

# Once a session, when parsnip is there.
register_parsnip <- function(...) {
  eng <- "bayeskernel"
  for (model in names(parsnip_models)) {
    entry <- parsnip_models[[model]]
    if (eng %in% parsnip::get_from_env(model)$engine) next
    for (mode in entry$modes) {
      parsnip::set_model_engine(model, mode, eng)
      parsnip::set_dependency(model, eng, "bayeskernel", mode)
      parsnip::set_fit(model, mode, eng, list(
        interface = "formula", protect = c("formula", "data", "weights"),
        func = c(pkg = "bayeskernel", fun = "fit_engine"), defaults = list(model = model)
      ))
      parsnip::set_encoding(model, mode, eng, list(
        predictor_indicators = "none", compute_intercept = FALSE, remove_intercept = FALSE,
        allow_sparse_x = FALSE
      ))
      predictions <- parsnip_predictions(mode)
      for (type in names(predictions)) {
        parsnip::set_pred(model, mode, eng, type, predictions[[type]])
      }
    }
    for (name in names(entry$main)) {
      parsnip::set_model_arg(
        model, eng, name, name, list(pkg = "dials", fun = entry$main[[name]]$dials), FALSE
      )
    }
  }
}
