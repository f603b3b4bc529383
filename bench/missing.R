# Missing predictors of bkm() in models with random intercepts: bias and cover
# of every coefficient beside those of complete rows (lme4) and of multiple
# imputation (mice), over data sets whose truth is known.
#
#   Rscript bench/missing.R [name=value ...]
#
#   family=gaussian,logit,probit,hinge    method=ep,vb,gibbs,omit
#   mechanism=mcar,z,y   chance; by the complete predictor; by the response
#   share=0,0.5,0.8      share of the predictor's variance between groups
#   kind=number,factor,group   a number; three levels; one value a group
#   sets=200 or 11:20    data sets, by their seeds: each in all cells, then the
#                        next, so that a run that is ended has as many in each
#   minutes=Inf          no other data set is begun after these
#   peers=50             of those, how many lme4 and mice get; 0: none
#   groups=30 rows=10    groups and rows of each
#   label=               what results are stored under; default: the version.
#                        Another number of groups or rows needs another label
#   results=missing_results.csv   stored results, to which each cell is added when
#                        it is done; what is there is not fitted again
#   table=               file (csv) for the table of bias and cover, if any
#   show=yes             prints what is stored and fits nothing
#
# The seeds of a set are its number and 1e6 more.
#
# "omit" is "ep" of the rows without holes.
#
# Columns: `bias` is mean(estimate - truth) / sd(estimate) over data sets;
# `excess` the same against the estimate from the data before values were
# removed, which has the bias of few rows alone and varies less; `cover` the
# share of 90 % intervals that hold the truth. The coefficients of the hinge
# have no true value: theirs is the mean from complete data, at a calibrated
# learning rate as beside missing values.

library(bayeskernel)
source("bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE, width = 150)

chosen <- local({
  sets <- words("sets", "200")
  list(
    family = words("family", c("gaussian", "logit", "probit", "hinge")),
    method = words("method", c("ep", "vb", "gibbs")),
    mechanism = words("mechanism", c("mcar", "z", "y")),
    share = words("share", c(0, 0.5, 0.8)),
    kind = words("kind", c("number", "factor", "group")),
    sets = if (grepl(":", sets)) {
      bounds <- as.integer(strsplit(sets, ":")[[1]])
      seq(bounds[1], bounds[2])
    } else {
      seq_len(as.integer(sets))
    },
    minutes = words("minutes", Inf),
    peers = words("peers", 50), groups = words("groups", 30),
    rows = words("rows", 10),
    label = words("label", format(utils::packageVersion("bayeskernel"))),
    results = words("results", "missing_results.csv"),
    table = words("table", NULL), show = words("show", "no")
  )
})

source("bench/missing-data.R")

# Fits ------------------------------------------------------------------------

formula <- y ~ x + z + (1 | g)

# Estimates and 90 % limits, coefficients x 3.
ours <- function(data, cell, method, missing) {
  chains <- if (method == "gibbs") {
    list(chains = 2, ndraws = 700, seed = 1, control = bkm_control(warmup = 300))
  }
  # The learning rate that missing values bring: at another one the posterior, and a coefficient
  # beside groups, is another.
  family <- if (cell$family == "hinge") hinge("calibrated") else cell$family
  fit <- do.call(bkm, c(
    list(formula, data, family = family, method = method, missing = missing), chains
  ))
  cbind(coef(fit), stats::confint(fit, level = 0.9)[names(coef(fit)), ])
}

peer <- function(data, cell) {
  if (cell$family == "gaussian") {
    lme4::lmer(formula, data)
  } else {
    lme4::glmer(formula, data, stats::binomial(cell$family))
  }
}

complete_rows <- function(data, cell) {
  if (cell$family == "hinge") return(ours(data, cell, "ep", "omit"))
  fit <- peer(data[!is.na(data$x), ], cell)
  half <- stats::qnorm(0.95) * sqrt(diag(as.matrix(stats::vcov(fit))))
  estimate <- lme4::fixef(fit)
  cbind(estimate, estimate - half, estimate + half)
}

# Rubin's rules over `m` completed data sets. The imputations know the groups where mice has such a
# method: 2l.pan with the groups' means, 2lonly.norm.
by_mice <- function(data, cell, m = 10) {
  data$y <- as.numeric(data$y)
  data$g <- as.integer(data$g)
  roles <- matrix(0, 4, 4, dimnames = rep(list(names(data)), 2))
  roles["x", ] <- switch(cell$kind,
    number = c(3, 0, 3, -2), factor = c(1, 0, 1, 0), group = c(1, 0, 1, -2)
  )
  own <- c(number = "2l.pan", factor = "polyreg", group = "2lonly.norm")
  filled <- mice::mice(
    data, m, c("", own[[cell$kind]], "", ""), roles,
    maxit = if (cell$kind == "number") 5 else 1, printFlag = FALSE
  )
  fits <- lapply(seq_len(m), function(k) {
    each <- mice::complete(filled, k)
    if (cell$family != "gaussian") each$y <- each$y - 1
    peer(each, cell)
  })
  estimate <- vapply(fits, lme4::fixef, lme4::fixef(fits[[1]]))
  within <- rowMeans(vapply(fits, function(fit) {
    diag(as.matrix(stats::vcov(fit)))
  }, estimate[, 1]))
  between <- (1 + 1 / m) * apply(estimate, 1, stats::var)
  half <- stats::qt(0.95, (m - 1) * (1 + within / between)^2) * sqrt(within + between)
  mean <- rowMeans(estimate)
  cbind(mean, mean - half, mean + half)
}

# Who is asked about a set, and for what.
makers_of <- function(cell, full, data, peers) {
  own <- lapply(stats::setNames(nm = chosen$method), function(method) {
    force(method)
    if (method == "omit") {
      function() ours(data, cell, "ep", "omit")
    } else {
      function() ours(data, cell, method, "model")
    }
  })
  all <- c(list("no value missing" = function() ours(full, cell, "ep", "fail")), own)
  if (peers && has("lme4")) {
    all[["complete rows"]] <- function() complete_rows(data, cell)
  }
  if (peers && has("lme4") && has("mice") && cell$family != "hinge" &&
    (cell$kind != "number" || has("pan"))) {
    all[["mice"]] <- function() by_mice(data, cell)
  }
  all
}

# One row a coefficient; a fit that fails has its error's first line.
answer <- function(name, make, cell, set) {
  error <- NA
  seconds <- system.time(table <- tryCatch(
    quietly(make()),
    error = function(e) {
      error <<- strsplit(conditionMessage(e), "\n")[[1]][1]
      NULL
    }
  ))[["elapsed"]]
  truth <- truth_of(cell$kind)
  if (is.null(table)) table <- matrix(NA_real_, length(truth), 3)
  data.frame(
    label = chosen$label, version = format(utils::packageVersion("bayeskernel")), cell, set = set,
    method = name, coefficient = names(truth), truth = unname(truth), estimate = table[, 1],
    lower = table[, 2], upper = table[, 3], seconds = seconds, error = error, row.names = NULL
  )
}

run_set <- function(cell, set, peers, done) {
  full <- complete_data(cell, set)
  data <- remove_values(full, cell, set)
  makers <- makers_of(cell, full, data, peers)
  makers <- makers[setdiff(names(makers), done)]
  do.call(rbind, lapply(names(makers), function(name) {
    answer(name, makers[[name]], cell, set)
  }))
}

# Results are lines of a file, so that a run may be ended and be continued.
read_results <- function() {
  if (!file.exists(chosen$results)) return(NULL)
  out <- utils::read.csv(chosen$results, colClasses = c(label = "character", version = "character"))
  out$error <- as.character(out$error)
  out
}

add_results <- function(rows) {
  new <- !file.exists(chosen$results)
  if (is.null(rows)) return(invisible())
  utils::write.table(
    rows, chosen$results, append = !new, col.names = new, row.names = FALSE,
    sep = ",", qmethod = "double"
  )
}

# Tables ----------------------------------------------------------------------

# Bias, excess and cover of one coefficient by one method in one cell.
judge <- function(own, full) {
  own <- own[!is.na(own$estimate), ]
  target <- own$truth[1]
  at <- match(own$set, full$set)
  if (own$family[1] == "hinge") target <- mean(full$estimate[at])
  spread <- stats::sd(own$estimate)
  gap <- own$estimate - full$estimate[at]
  data.frame(
    version = paste(unique(own$version), collapse = " "),
    seeds = paste(range(own$set), collapse = ":"), sets = nrow(own),
    bias = (mean(own$estimate) - target) / spread, bias_se = 1 / sqrt(nrow(own)),
    excess = mean(gap) / spread, excess_se = stats::sd(gap) / spread / sqrt(nrow(own)),
    cover = mean(own$lower < target & own$upper > target), seconds = stats::median(own$seconds)
  )
}

cell_columns <- c("label", "family", "kind", "mechanism", "share")

judged <- function(results) {
  keys <- c(cell_columns, "method", "coefficient")
  parts <- split(results, results[rev(keys)], drop = TRUE, sep = "/")
  rows <- lapply(parts, function(own) {
    if (all(is.na(own$estimate))) return(NULL)
    full <- results[results$method == "no value missing" &
      results$coefficient == own$coefficient[1], ]
    for (name in cell_columns) full <- full[full[[name]] == own[[name]][1], ]
    data.frame(own[1, keys], judge(own, full))
  })
  do.call(rbind, rows)
}

# Methods below each other, coefficients beside each other.
print_tables <- function(table) {
  for (part in split(table, table[c("kind", "family", "label")], drop = TRUE)) {
    cat(sprintf(
      "\n%s, %s, version %s: bias / excess / cover of 90 %% intervals\n",
      part$family[1], part$kind[1], part$label[1]
    ))
    part$text <- sprintf("%5.2f /%5.2f / %4.2f", part$bias, part$excess, part$cover)
    keys <- c("mechanism", "share", "method", "sets", "seconds")
    part$seconds <- signif(part$seconds, 2)
    part$method <- factor(part$method, c(
      "no value missing", "ep", "vb", "gibbs", "omit", "complete rows", "mice"
    ))
    wide <- stats::reshape(
      part[c(keys, "coefficient", "text")], direction = "wide", idvar = keys,
      timevar = "coefficient"
    )
    names(wide) <- sub("^text[.]", "", names(wide))
    print(wide[order(wide$mechanism, wide$share, wide$method), ], row.names = FALSE)
  }
}

# What is beyond the bounds by more than the error of these data sets: 95 % limits of a mean by
# Student's t, and of a share.
print_outside <- function(table, methods = c("ep", "vb", "gibbs")) {
  own <- table[table$method %in% methods & table$sets > 1, ]
  biased <- abs(own$excess) - stats::qt(0.975, own$sets - 1) * own$excess_se > 0.05
  hits <- round(own$cover * own$sets)
  nominal <- own$method == "vb" | own$family == "hinge" | (
    stats::pbinom(hits, own$sets, 0.86) > 0.025 &
      stats::pbinom(hits - 1, own$sets, 0.94, lower.tail = FALSE) > 0.025
  )
  cat(sprintf(
    "\nOf %d coefficients %d have an excess bias above .05 sd, %d another cover\n",
    nrow(own), sum(biased), sum(!nominal)
  ))
  if (any(biased | !nominal)) {
    shown <- own[biased | !nominal, ]
    numbers <- c("bias", "excess", "excess_se", "cover", "seconds")
    shown[numbers] <- round(shown[numbers], 2)
    print(shown, row.names = FALSE)
  }
}

print_errors <- function(results) {
  failed <- results[!is.na(results$error), ]
  if (nrow(failed)) {
    cat("\nRefused or failed:\n")
    print(
      stats::aggregate(
        set ~ family + kind + method + error, unique(failed[c(
          "family", "kind", "method", "error", "set"
        )]), length
      ),
      row.names = FALSE
    )
  }
}

# All -------------------------------------------------------------------------

cells <- expand.grid(
  share = chosen$share, mechanism = chosen$mechanism, kind = chosen$kind,
  family = chosen$family, stringsAsFactors = FALSE
)
# One value a group: all of the variance is between.
cells$share[cells$kind == "group"] <- 1
cells <- unique(cells)[c("family", "kind", "mechanism", "share")]

print_machine()
results <- read_results()
begun <- Sys.time()
late <- function() {
  difftime(Sys.time(), begun, units = "mins") > chosen$minutes
}
if (chosen$show != "yes") {
  for (set in chosen$sets) {
    if (late()) break
    message("set ", set)
    peers <- match(set, chosen$sets) <= chosen$peers
    for (at in seq_len(nrow(cells))) {
      cell <- cells[at, ]
      done <- results$method[
        results$label == chosen$label & results$set == set &
          results$family == cell$family & results$kind == cell$kind &
          results$mechanism == cell$mechanism & results$share == cell$share
      ]
      add_results(run_set(cell, set, peers, done))
    }
  }
  results <- read_results()
}
table <- judged(results)
if (!is.null(chosen$table)) {
  numbers <- vapply(table, is.double, NA)
  table[numbers] <- signif(table[numbers], 5)
  utils::write.csv(table, chosen$table, row.names = FALSE)
}
print_tables(table)
print_outside(table)
print_errors(results)
