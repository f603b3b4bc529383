# gpsvm() at its defaults on small sets, the training rows in three orders: log-loss of rows held
# out, how far it differs between orders, and CPU seconds; beside 50 inducing points.
#
#   Rscript bench/few-rows.R            all
#   Rscript bench/few-rows.R crabs      those whose name matches
library(bayeskernel)
source("bench/helpers.R")

named <- function(name, package) {
  home <- new.env()
  utils::data(list = name, package = package, envir = home)
  home[[name]]
}
columns <- function(data, response) {
  data <- stats::na.omit(data)
  x <- stats::model.matrix(~., data[setdiff(names(data), response)])[, -1, drop = FALSE]
  x <- x[, apply(x, 2, stats::sd) > 0, drop = FALSE]
  colnames(x) <- sprintf("x%d", seq_len(ncol(x)))
  list(x = x, y = droplevels(factor(data[[response]])))
}
drawn <- function(seed, draw, rows) {
  set.seed(seed)
  part <- function(n) {
    found <- draw(n)
    x <- found$x
    colnames(x) <- sprintf("x%d", seq_len(ncol(x)))
    list(x = x, y = factor(found$classes))
  }
  c(part(rows), list(new = part(2000)))
}
birth <- MASS::birthwt[names(MASS::birthwt) != "bwt"]
crabs <- transform(MASS::crabs, kind = paste(sp, sex))
melanoma <- transform(
  MASS::Melanoma[c("status", "sex", "age", "thickness", "ulcer")], status = factor(status == 1)
)
sets <- list(
  synth = c(columns(MASS::synth.tr, "yc"), list(new = columns(MASS::synth.te, "yc"))),
  pima = c(columns(MASS::Pima.tr, "type"), list(new = columns(MASS::Pima.te, "type"))),
  "crabs, species" = columns(MASS::crabs[-(2:3)], "sp"),
  "crabs, 4 classes" = columns(crabs[4:9], "kind"),
  birthwt = columns(transform(birth, race = factor(race)), "low"),
  cats = columns(MASS::cats, "Sex"), sonar = columns(named("Sonar", "mlbench"), "Class"),
  zoo = columns(named("Zoo", "mlbench"), "type"), iris = columns(datasets::iris, "Species"),
  infert = columns(datasets::infert[c("age", "parity", "case", "spontaneous", "induced")], "case"),
  melanoma = columns(melanoma, "status"), glass = columns(named("Glass", "mlbench"), "Type"),
  circle = drawn(5, function(n) mlbench::mlbench.circle(n, 2), 150),
  spirals = drawn(6, function(n) mlbench::mlbench.spirals(n, 1.5, 0.1), 200),
  ringnorm = drawn(7, function(n) mlbench::mlbench.ringnorm(n, 6), 200),
  smiley = drawn(8, function(n) mlbench::mlbench.smiley(n, 0.3, 0.2), 120)
)

# A third of each class held out, twice, where there are no other rows.
splits_of <- function(data) {
  if (!is.null(data$new)) return(list(data))
  lapply(1:2, function(number) {
    set.seed(number)
    out <- unlist(lapply(split(seq_along(data$y), data$y), function(rows) {
      rows[sample.int(length(rows), length(rows) %/% 3)]
    }))
    pick <- function(rows) list(x = data$x[rows, , drop = FALSE], y = data$y[rows])
    c(pick(-out), list(new = pick(out)))
  })
}
one <- function(data, order, points) {
  set.seed(100 + order)
  rows <- if (order == 1) seq_along(data$y) else sample(length(data$y))
  run <- timed(function() quietly(gpsvm(
    data$x[rows, , drop = FALSE], data$y[rows], inducing = points, threads = 1, seed = 1
  )))
  p <- predict(run$value, data$new$x, type = "prob")
  own <- p[cbind(seq_along(data$new$y), match(data$new$y, colnames(p)))]
  c(loss = -mean(log(pmax(own, 1e-15))), seconds = run$seconds)
}

print_machine()
for (set in grep(c(commandArgs(TRUE), "")[1], names(sets), value = TRUE)) {
  for (points in list(NULL, 50)) {
    each <- lapply(splits_of(sets[[set]]), function(data) {
      if (length(points) && points > length(data$y)) points <- length(data$y)
      at <- vapply(1:3, function(order) one(data, order, points), numeric(2))
      c(length(data$y), mean(at[1, ]), diff(range(at[1, ])), mean(at[2, ]))
    })
    at <- rowMeans(do.call(cbind, each))
    cat(sprintf(
      "%-17s %-8s %4.0f rows, log-loss %.3f, differing by %.3f, %.2f s\n", set,
      if (is.null(points)) "default" else "50", at[1], at[2], at[3], at[4]
    ))
  }
}
