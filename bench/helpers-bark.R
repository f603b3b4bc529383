# The rank table of bark(): sets, peers and one race of all of them. Read after helpers.R by bark.R
# and by vignettes/precompute_bark.R.

# Functions of r, the number of a split, which give rows to learn from and rows to be judged at; `f`
# are noiseless values there, where these are known.
rank_sets <- function() {
  simulated <- function(simulate) {
    function(r) {
      set.seed(r)
      train <- simulate(200)
      test <- simulate(1000)
      list(x = train$x, y = train$y, newx = test$x, newy = test$y, f = test$f)
    }
  }
  friedman <- function(number) {
    sd <- c(1, 125, 0.1)[number]
    simulated(function(n) {
      z <- simulate_friedman(number, n, noisy = FALSE)
      list(x = z$x, y = z$y + stats::rnorm(n, 0, sd), f = z$y)
    })
  }
  # A fifth of the rows is left out; of many rows 400 are learned from.
  split <- function(x, y, most = 400) {
    force(x)
    force(y)
    function(r) {
      set.seed(1000 + r)
      order <- sample(nrow(x))
      test <- order[seq_len(nrow(x) %/% 5)]
      train <- utils::head(order[-seq_along(test)], most)
      list(x = x[train, ], y = y[train], newx = x[test, ], newy = y[test])
    }
  }
  real <- function(set) {
    data <- ouyang_data(set)
    split(data$x, data$y)
  }
  frame <- function(data, response, change = identity) {
    data <- stats::na.omit(data)
    x <- data.matrix(data[setdiff(names(data), response)])
    split(unname(x), change(data[[response]]))
  }
  home <- new.env()
  utils::data(list = "Ozone", package = "mlbench", envir = home)
  list(
    "Friedman 1" = friedman(1), "Friedman 2" = friedman(2),
    "Friedman 3" = friedman(3), "Boston" = real("Boston"),
    "Body fat" = real("Body fat"), "Basketball" = real("Basketball"),
    "Computers" = frame(MASS::cpus[c(2:7, 8)], "perf", log),
    "Ozone, New York" = frame(datasets::airquality, "Ozone"),
    "Ozone, Los Angeles" = frame(home$Ozone[c(1:2, 4:8, 10:13)], "V4"),
    "Cars" = frame(MASS::Cars93[
      c("MPG.city", "EngineSize", "Horsepower", "RPM", "Length", "Width",
        "Weight", "Fuel.tank.capacity")
    ], "MPG.city"),
    # As package MASS has them: mlbench no longer does.
    "Diabetes" = frame(rbind(MASS::Pima.tr, MASS::Pima.te), "type", function(y) +(y == "Yes")),
    "Circle 5" = simulated(function(n) simulate_circle(5, n))
  )
}

# Six more, of other shapes: few rows, one predictor, sixty, factors, two of classes.
more_rank_sets <- function() {
  frame <- function(data, response, change = identity) {
    data <- stats::na.omit(data)
    x <- stats::model.matrix(~., data[setdiff(names(data), response)])[, -1, drop = FALSE]
    y <- change(data[[response]])
    function(r) {
      set.seed(1000 + r)
      order <- sample(nrow(x))
      test <- order[seq_len(nrow(x) %/% 5)]
      train <- utils::head(order[-seq_along(test)], 400)
      list(
        x = unname(x[train, , drop = FALSE]), y = y[train],
        newx = unname(x[test, , drop = FALSE]), newy = y[test]
      )
    }
  }
  home <- new.env()
  utils::data(list = c("Sonar", "Servo"), package = "mlbench", envir = home)
  servo <- home$Servo
  for (name in c("Pgain", "Vgain")) servo[[name]] <- as.numeric(servo[[name]])
  list(
    "Servo" = frame(servo, "Class"), "Motorcycle" = frame(MASS::mcycle, "accel"),
    "US crime" = frame(MASS::UScrime, "y"), "Quakes" = frame(datasets::quakes, "stations", log),
    "Birth weight" = frame(
      transform(MASS::birthwt[names(MASS::birthwt) != "bwt"], race = factor(race)), "low"
    ),
    "Sonar" = frame(home$Sonar, "Class", function(y) +(y == "M"))
  )
}

# Functions of x, y, new rows and whether y is of classes, that give the mean response or the
# probability of 1; for a regression some have `lwr` and `upr` of 90 % beside it.
rank_peers <- function() {
  all <- ouyang_peers()[c("ranger", "BART")]
  names(all) <- c("ranger", "dbarts")
  all[["SVM, tuned"]] <- function(x, y, new, classes) {
    if (!classes) return(ouyang_peers()[["SVM, tuned"]](x, y, new, FALSE))
    fit <- e1071::tune.svm(
      x, factor(y, 0:1), gamma = c(0.1, 0.3, 1, 3) / ncol(x), cost = c(1, 10, 100),
      tunecontrol = e1071::tune.control(cross = 5), probability = TRUE
    )$best.model
    attr(stats::predict(fit, new, probability = TRUE), "probabilities")[, "1"]
  }
  all[["GP"]] <- function(x, y, new, classes) {
    if (!classes) return(fit_process(x, y, new))
    fit <- kernlab::gausspr(x, factor(y, 0:1))
    kernlab::predict(fit, new, type = "probabilities")[, "1"]
  }
  all[lengths(all) > 0]
}

# A Gaussian process with a length-scale for each predictor, all constants by maximum likelihood
# from two starts: its mean at new rows.
fit_process <- function(x, y, new) {
  center <- colMeans(x)
  size <- pmax(apply(x, 2, stats::sd), 1e-8)
  z <- scale(x, center, size)
  y_mean <- mean(y)
  y_sd <- stats::sd(y)
  y <- (y - y_mean) / y_sd
  p <- ncol(z)
  squares <- lapply(seq_len(p), function(l) outer(z[, l], z[, l], "-")^2)
  kernel <- function(theta) {
    sum <- Reduce(`+`, Map(`*`, squares, exp(-2 * theta[seq_len(p)])))
    exp(theta[p + 1] - sum / 2)
  }
  parts <- function(theta) {
    k <- kernel(theta)
    root <- chol(k + diag(exp(theta[p + 2]) + 1e-6, nrow(k)))
    list(k = k, root = root, alpha = backsolve(root, forwardsolve(t(root), y)))
  }
  value <- function(theta) {
    now <- parts(theta)
    sum(log(diag(now$root))) + sum(y * now$alpha) / 2
  }
  slope <- function(theta) {
    now <- parts(theta)
    open <- (chol2inv(now$root) - tcrossprod(now$alpha)) / 2
    weighed <- open * now$k
    c(
      vapply(seq_len(p), function(l) {
        exp(-2 * theta[l]) * sum(weighed * squares[[l]])
      }, 0),
      sum(weighed), exp(theta[p + 2]) * sum(diag(open))
    )
  }
  tries <- lapply(c(0.5, 1.5), function(start) {
    stats::optim(
      c(rep(start, p), 0, -2), value, slope, method = "L-BFGS-B", lower = c(rep(-4, p), -6, -12),
      upper = c(rep(8, p), 8, 3), control = list(maxit = 100)
    )
  })
  theta <- tries[[which.min(vapply(tries, `[[`, 0, "value"))]]$par
  w <- exp(-theta[seq_len(p)])
  at <- scale(new, center, size)
  cross <- exp(theta[p + 1] - 0.5 * Reduce(`+`, lapply(seq_len(p), function(l) {
    (w[l] * outer(at[, l], z[, l], "-"))^2
  })))
  y_mean + y_sd * drop(cross %*% parts(theta)$alpha)
}

# What a fit by bark() with `until` says, and how well its intervals cover. `...`: of the length of
# the run.
rank_own <- function(data, classes, until = "auto", ...) {
  run <- timed(function() quietly(flat(bark)(
    data$x, data$y, family = if (classes) "binomial" else "gaussian", until = until, ..., seed = 1,
    threads = 1, progress = FALSE
  )))
  fit <- run$value
  covered <- function(y, kind) {
    if (classes || is.null(y)) return(NA)
    limits <- predict(fit, data$newx, interval = kind, level = 0.9, seed = 1, threads = 1)
    mean(limits[, "lwr"] <= y & y <= limits[, "upr"])
  }
  list(
    mean = if (classes) {
      predict(fit, data$newx, type = "prob", threads = 1)[, 2]
    } else {
      predict(fit, data$newx, threads = 1)
    },
    fit_seconds = run$seconds, sweeps = fit$diagnostics$sweeps, rhat = rhat_of_f(fit),
    cover_f = covered(data$f, "credible"),
    cover_y = covered(data$newy, "prediction")
  )
}

# One row a method of each split: RMSE, of noiseless values where they are known, or log-loss of
# classes.
rank_race <- function(set, r, until = "auto", only = NULL, sets = rank_sets(), ...) {
  data <- sets[[set]](r)
  names <- sprintf("x%d", seq_len(ncol(data$x)))
  colnames(data$x) <- colnames(data$newx) <- names
  storage.mode(data$x) <- storage.mode(data$newx) <- "double"
  classes <- all(data$y %in% 0:1)
  loss <- function(f) {
    if (classes) return(log_loss(data$newy == 1, f))
    sqrt(mean((f - (data$f %||% data$newy))^2))
  }
  row <- function(method, done, own = list()) {
    data.frame(
      set = set, split = r, method = method, loss = loss(done$value$mean), seconds = own$fit_seconds %||% done$seconds, sweeps = own$sweeps %||% NA, rhat = own$rhat %||% NA,
      cover_f = own$cover_f %||% NA,
      cover_y = own$cover_y %||% NA
    )
  }
  methods <- c("bark()", names(rank_peers()))
  do.call(rbind, lapply(intersect(only %||% methods, methods), function(name) {
    set.seed(r)
    if (name == "bark()") {
      done <- timed(function() rank_own(data, classes, until, ...))
      return(row(name, done, done$value))
    }
    row(name, timed(function() list(mean = quietly(
      rank_peers()[[name]](data$x, data$y, data$newx, classes)
    ))))
  }))
}

`%||%` <- function(x, y) if (is.null(x)) y else x

# Ranks of the methods by their mean loss on each set, and the mean of these.
rank_table <- function(rows) {
  loss <- tapply(rows$loss, list(rows$set, rows$method), mean)
  loss <- loss[unique(rows$set), unique(rows$method), drop = FALSE]
  list(loss = loss, mean_rank = colMeans(t(apply(loss, 1, rank))))
}
