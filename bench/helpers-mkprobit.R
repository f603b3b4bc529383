# Data, machines and scores of the comparisons with Damoulas and Girolami (2009): shared by
# bench/mkprobit.R and vignettes/precompute_feature-spaces.R, after helpers.R.

# Table 2 of the paper, percent error of ten folds, by kernel.
damoulas_sets <- data.frame(
  set = c("balance", "crabs", "glass", "iris", "soybean", "vehicle", "wine"),
  rbf = c(8.8, 23.5, 27.9, 2.7, 6.5, 25.6, 4.5),
  rbf_sd = c(3.6, 11.3, 10.1, 5.6, 10.5, 4.0, 5.1),
  linear = c(12.2, 13.5, 35.8, 11.3, 6, 29.6, 2.8),
  linear_sd = c(4.2, 8.2, 11.8, 9.9, 9.7, 3.3, 4.7),
  poly = c(7.0, 21.5, 28.4, 4.7, 4, 26, 1.1),
  poly_sd = c(3.3, 9.1, 8.9, 6.3, 8.4, 6.1, 2.3),
  seconds = c(2285, 270, 380, 89, 19, 3420, 105)
)

# NULL where the package or the file is missing.
damoulas_data <- function(set) {
  packaged <- function(name, package) {
    if (!has(package)) {
      return(NULL)
    }
    home <- new.env()
    utils::data(list = name, package = package, envir = home)
    home[[name]]
  }
  labelled <- function(file) {
    data <- labelled_table(data_file(file))
    varies <- apply(data$x, 2, stats::sd) > 0
    list(x = data$x[, varies], y = data$y)
  }
  named <- function(data, columns, y) {
    if (!is.null(data)) list(x = as.matrix(data[columns]), y = factor(data[[y]]))
  }
  switch(set,
    iris = list(x = as.matrix(iris[1:4]), y = iris$Species),
    crabs = list(x = as.matrix(MASS::crabs[4:8]), y = interaction(MASS::crabs$sp, MASS::crabs$sex)),
    glass = named(packaged("Glass", "mlbench"), 1:9, "Type"),
    vehicle = named(packaged("Vehicle", "mlbench"), 1:18, "Class"),
    soybean = labelled("soybean_small.csv"), wine = labelled("wine.csv"),
    balance = labelled("balance_scale.csv"),
    digits = {
      table <- utils::read.csv(data_file("mfeat_kar.csv.gz"))
      list(x = as.matrix(table[-ncol(table)]), y = factor(table[[ncol(table)]]))
    },
    satellite = named(packaged("Satellite", "mlbench"), 1:36, "classes"),
    letters = named(packaged("LetterRecognition", "mlbench"), 2:17, "lettr"),
    DNA = {
      table <- packaged("DNA", "mlbench")
      if (!is.null(table)) {
        list(x = data.matrix(table[-ncol(table)]), y = factor(table$Class))
      }
    }
  )
}

class_log_loss <- function(y, prob) {
  own <- prob[cbind(seq_along(y), match(as.character(y), colnames(prob)))]
  -mean(log(pmax(own, 1e-15)))
}

# Machines are functions of x, y and new rows that give class probabilities.
probit_machine <- function(kernel = bayeskernel::rbf(), ...) {
  function(x, y, new) {
    fit <- quietly(flat(bayeskernel::mkprobit)(
      x, y, kernel = kernel, coefficients = "weights", threads = 1, seed = 1, progress = FALSE, ...
    ))
    stats::predict(fit, new, type = "prob", threads = 1)
  }
}

class_machines <- function() {
  out <- list("mkprobit, class scales" = probit_machine(),
    "mkprobit, fixed scales" = probit_machine(latent_scales = "fixed")
  )
  if (has("kernlab")) {
    out[["ksvm, prob.model"]] <- function(x, y, new) {
      fit <- quietly(kernlab::ksvm(x, y, prob.model = TRUE))
      kernlab::predict(fit, new, type = "probabilities")
    }
    out[["gausspr"]] <- function(x, y, new) {
      utils::capture.output(fit <- quietly(kernlab::gausspr(x, y)))
      kernlab::predict(fit, new, type = "probabilities")
    }
  }
  if (has("nnet")) {
    out[["multinom"]] <- function(x, y, new) {
      data <- data.frame(y = y, x)
      fit <- nnet::multinom(y ~ ., data, trace = FALSE)
      prob <- stats::predict(fit, data.frame(new), type = "probs")
      matrix(prob, nrow(new), dimnames = list(NULL, levels(y)))
    }
  }
  out
}

random_folds <- function(n, seed, k = 10) {
  set.seed(seed)
  fold <- sample(rep_len(seq_len(k), n))
  lapply(seq_len(k), function(f) which(fold == f))
}

# Error, log loss and CPU seconds by fold.
class_scores <- function(data, machine, folds) {
  rows <- lapply(folds, function(test) {
    done <- timed(function() {
      machine(
        data$x[-test, , drop = FALSE], droplevels(data$y[-test]), data$x[test, , drop = FALSE]
      )
    })
    prob <- done$value
    best <- colnames(prob)[max.col(prob, "first")]
    # A class that no row of the training part has.
    unseen <- setdiff(levels(data$y), colnames(prob))
    prob <- cbind(prob, matrix(0, nrow(prob), length(unseen), dimnames = list(NULL, unseen)))
    data.frame(
      error = mean(best != data$y[test]),
      log_loss = class_log_loss(data$y[test], prob), seconds = done$seconds
    )
  })
  do.call(rbind, rows)
}

# Feature spaces of handwritten numerals: 2000 objects, 200 a class, in order.
mfeat_spaces <- function() {
  files <- c(
    fourier = "mfeat_fou.csv.gz", karhunen = "mfeat_kar.csv.gz",
    pixels = "mfeat_pix.csv", zernike = "mfeat_zer.csv.gz"
  )
  parts <- lapply(files, function(file) labelled_table(data_file(file)))
  list(y = parts[[1]]$y, spaces = lapply(parts, `[[`, "x"))
}

# Proteins in 27 folds, 311 to train, 383 to test: the first six of the views of the authors' data,
# or all twelve, 27 coordinates each, every row divided by its norm.
protein_spaces <- function(all = FALSE) {
  labels <- utils::read.csv(data_file("protein_fold_features.csv"))
  table <- utils::read.csv(data_file("protein_fold_kpca12.csv.gz"))
  names <- c(
    "composition", "structure", "hydrophobicity", "volume", "polarity", "polarizability",
    if (all) c("L1", "L4", "L14", "L30", "BLOSUM62", "PAM50")
  )
  spaces <- lapply(stats::setNames(seq_along(names), names), function(view) {
    x <- as.matrix(table[startsWith(names(table), sprintf("v%02d_", view))])
    x / sqrt(rowSums(x^2))
  })
  list(y = factor(labels$fold), train = labels$set == "train", spaces = spaces)
}

spaces_at <- function(spaces, rows) {
  lapply(spaces, function(x) x[rows, , drop = FALSE])
}

# Classes around centres in each of some spaces, of noise of sd 2.
simulate_spaces <- function(n, classes, spaces, columns = 21) {
  set.seed(1)
  y <- factor(sample(rep_len(seq_len(classes), n)))
  at <- as.integer(y)
  x <- lapply(seq_len(spaces), function(s) {
    centre <- matrix(rnorm(classes * columns), classes)
    centre[at, ] + 2 * matrix(rnorm(n * columns), n)
  })
  names(x) <- paste0("s", seq_len(spaces))
  list(x = x, y = y)
}

# Neal's three classes in four dimensions, of which two matter: an ellipse, a half-plane, and the
# rest.
simulate_neal <- function(n, seed = 1) {
  set.seed(seed)
  x <- matrix(stats::runif(4 * n), n, dimnames = list(NULL, paste0("x", 1:4)))
  first <- (x[, 1] - 0.4)^2 / 0.35^2 + (x[, 2] - 0.5)^2 / 0.45^2 < 0.35
  second <- 0.8 * x[, 1] + 1.8 * x[, 2] < 0.6
  y <- ifelse(first, "a", ifelse(second, "b", "c"))
  list(x = x, y = factor(y))
}
