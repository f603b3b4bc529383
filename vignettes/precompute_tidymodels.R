# Results of vignettes/tidymodels.Rmd, for machines without tidymodels. Some minutes:
#   Rscript vignettes/precompute_tidymodels.R
library(bayeskernel)
library(parsnip)
library(workflows)
library(tune)
options(bayeskernel.threads = 1L)

some_rows <- function(data, n) {
  set.seed(1)
  data[sort(sample(nrow(data), n)), ]
}
deep <- transform(datasets::quakes, deep = factor(ifelse(depth > 300, "yes", "no")))
sets <- list(
  quakes = list(deep ~ long + lat + mag, some_rows(deep, 500)),
  pima = list(type ~ ., rbind(MASS::Pima.tr, MASS::Pima.te)),
  spam = list(type ~ ., some_rows(get(data("spam", package = "kernlab")), 500))
)
measures <- yardstick::metric_set(yardstick::accuracy, yardstick::mn_log_loss)
grid <- expand.grid(cost = c(0.5, 4, 32), rbf_sigma = c(0.005, 0.05, 0.5))

tuned <- function(set, engine) {
  spec <- svm_rbf("classification", engine, cost = tune(), rbf_sigma = tune())
  flow <- workflow(set[[1]], spec)
  set.seed(2)
  folds <- rsample::vfold_cv(set[[2]], 5, strata = all.vars(set[[1]])[1])
  seconds <- sum(system.time({
    found <- suppressMessages(tune_grid(flow, folds, grid = grid, metrics = measures))
  })[1:2])
  out <- list(found = found, seconds = seconds, fits = nrow(grid) * nrow(folds))
  if (engine == "bayeskernel") {
    flow <- workflow(set[[1]], svm_rbf("classification", engine))
    out$own_seconds <- sum(system.time({
      out$own <- fit_resamples(flow, folds, metrics = measures)
    })[1:2])
  }
  out
}

line <- function(name, engine, how, found, seconds, fits) {
  best <- show_best(found, metric = "mn_log_loss", n = 1)
  all <- collect_metrics(found)
  same <- all[all$.config == best$.config, ]
  notes <- collect_notes(found)
  data.frame(
    set = name, engine = engine, parameters = how,
    accuracy = same$mean[same$.metric == "accuracy"], log_loss = best$mean,
    seconds = seconds, fits = fits, failed = length(unique(paste(
      notes$id, notes$location
    )[notes$type == "error"]))
  )
}

rows <- list()
for (name in names(sets)) {
  for (engine in c("bayeskernel", "kernlab")) {
    out <- tuned(sets[[name]], engine)
    rows <- c(rows, list(line(name, engine, "grid", out$found, out$seconds, out$fits)))
    if (!is.null(out$own)) {
      rows <- c(rows, list(line(name, engine, "by the fit", out$own, out$own_seconds, 5)))
    }
    print(do.call(rbind, rows))
  }
}
versions <- lapply(c(
  parsnip = "parsnip", tune = "tune", kernlab = "kernlab", version = "bayeskernel"
), function(package) format(packageVersion(package)))
write.csv(
  data.frame(do.call(rbind, rows), versions, seed = 2), "vignettes/tidymodels_results.csv",
  row.names = FALSE
)
