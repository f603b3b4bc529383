# What users of other packages type, and what to type here: one table.

# A row: `theirs`, names of arguments; `ours`, an argument that a function must have for the row to
# be read, "" for all; `say`, what to write, "" for `ours` itself. The first row that fits counts.
elsewhere_row <- function(theirs, ours = "", say = "") {
  list(theirs = strsplit(theirs, " ")[[1]], ours = ours, say = say)
}

no_need <- function(why) paste("leaving it out:", why)

elsewhere <- list(
  # e1071, kernlab
  elsewhere_row("cost c", "kernel", "`kernel = rbf(variance = C / 2)`, for an SVM of cost C"),
  elsewhere_row("cost c", "learning_rate", "`penalty = 2 / C`, for an SVM of cost C"),
  elsewhere_row("gamma", "kernel", "`kernel = rbf(1 / sqrt(2 * gamma))`"),
  elsewhere_row(
    "sigma", "kernel", "`kernel = rbf(1 / sqrt(2 * sigma))`, where kernlab's sigma is gamma"
  ),
  elsewhere_row("kpar", "kernel", "`kernel = rbf(1 / sqrt(2 * sigma))`, or another of `?kernels`"),
  elsewhere_row("lengthscale", "kernel", "`kernel = rbf(lengthscale)`"),
  elsewhere_row("degree", "kernel", "`kernel = polynomial(degree)`"),
  elsewhere_row("coef0", "kernel", "`kernel = polynomial(degree, offset = coef0)`"),
  elsewhere_row("variance", "kernel", "`kernel = rbf(variance = )`"),
  elsewhere_row("class.weights classwt", "class_weights"),
  elsewhere_row(
    "class.weights classwt", "weights", "`weights`, one a row, or the class weights of bsvm()"
  ),
  elsewhere_row("nu epsilon", "kernel", no_need("the loss is the hinge, which has no such number")),
  elsewhere_row("prob.model probability", "", paste(
    no_need("every fit has probabilities"), "by predict(type = \"prob\")"
  )),
  elsewhere_row("cross nfolds", "tune", "`tune`; left-out rows also calibrate the probabilities"),
  elsewhere_row("cross nfolds", "", "loo(fit), or calibration() of other rows"),
  elsewhere_row("cachesize cache shrinking", "", no_need("there is no cache of kernel values")),

  # lme4
  elsewhere_row("nAGQ", "", no_need("method \"ep\" needs no points of quadrature")),
  elsewhere_row("REML", "", no_need("variances are averaged over, not maximized")),
  elsewhere_row("allow.new.levels", "", no_need("new groups are averaged over")),
  elsewhere_row("contrasts", "", "C() in the formula, C(f, contr.sum)"),
  elsewhere_row("devFunOnly optimizer optimiser", "", no_need("there is no optimizer to choose")),
  elsewhere_row("start etastart mustart inits init", "", no_need("a fit finds where to begin")),

  # mgcv
  elsewhere_row("k bs", "penalty", "the smooth in the formula, `s(x, k = 10, bs = \"tp\")`"),
  elsewhere_row("sp min.sp gamma", "penalty", paste(
    "leaving it out: variances of smooths are learned; a kernel's width is of gpsvm()"
  )),
  elsewhere_row("knots paraPen discrete", "", no_need("s(x, k = ) in the formula has what there is")),

  # brms, rstanarm
  elsewhere_row("iter", "ndraws", "`ndraws`, of draws after `warmup`"),
  elsewhere_row("adapt_delta max_treedepth algorithm backend", "", paste(
    "`method`, where there is one; no sampler here has such a number"
  )),
  elsewhere_row("autocor", "cov", "`cov = list(unit = C)` and (1 | unit) in the formula"),
  elsewhere_row("data2", "cov"),
  elsewhere_row("sample_prior save_pars stanvars file", "", no_need(
    "simulate() draws responses, saveRDS() keeps a fit"
  )),

  # dbarts, BART
  elsewhere_row("ntree ntrees trees num.trees numtrees", "scales", paste(
    "`prior = bark_prior(kernels = 30)`, the expected number of kernels"
  )),
  elsewhere_row("ntree ntrees trees num.trees numtrees", "", "bark(), which sums kernels, not trees"),
  elsewhere_row("k power base", "scales", "`prior = bark_prior(epsilon = )`, the size of coefficients"),
  elsewhere_row("sigest sigdf sigquant", "scales", "`prior = bark_prior(phi = )`, of the noise"),
  elsewhere_row("x.train", "x"), elsewhere_row("y.train", "y"),
  elsewhere_row("x.test test", "", "predict(fit, newdata)"),
  elsewhere_row("usequants numcut binaryOffset keeptrees", "", no_need("there are no trees")),

  # caret, glmnet
  elsewhere_row("trControl tuneGrid tuneLength metric", "", paste(
    "tune_grid() of package tune with engine \"bayeskernel\", see vignette(\"tidymodels\")"
  )),
  elsewhere_row("preProcess preProc", "standardize"),
  elsewhere_row("alpha", "penalty", no_need("the prior is normal, a ridge; `select` selects")),
  elsewhere_row("intercept fit_intercept", "", "`0 +` in the formula, or leaving it out"),

  # the same meaning by another name
  elsewhere_row("cost c lambda", "penalty"),
  elsewhere_row("cores ncores nthread nthreads n_jobs num.threads", "threads"),
  elsewhere_row("iter maxit iterations niter", "max_iter"),
  elsewhere_row("draws n_draws nsamples nsave ndpost nrep iterations iter n.iter", "ndraws"),
  elsewhere_row("burnin burn nburn nskip n.burnin", "warmup"),
  elsewhere_row("nchains nchain n.chains", "chains"),
  elsewhere_row("keepevery nthin n.thin", "thin"),
  elsewhere_row("verbose trace refresh silent", "progress"),
  elsewhere_row("tolerance eps epsilon", "tol"),
  elsewhere_row("scale scaled center", "standardize"),
  elsewhere_row("m landmarks ninducing sparse", "inducing"),
  elsewhere_row("selection", "select"), elsewhere_row("na.rm", "na.action"),
  elsewhere_row("what", "type"), elsewhere_row("newx", "newdata"),
  elsewhere_row("conf.level prob probs", "level"), elsewhere_row("level prob", "conf.level"),
  elsewhere_row("interval", "conf.int"), elsewhere_row("intervals conf.int", "interval"),
  elsewhere_row("reform", "re.form"), elsewhere_row("se", "se.fit"),

  # where nothing above fits
  elsewhere_row("family", "", "bkm() or bark(), which have families of responses"),
  elsewhere_row("kernel gamma sigma degree coef0 kpar", "", "gpsvm(), which has kernels"),
  elsewhere_row("weights", "", "repeating rows that count more than once")
)

plain_name <- function(x) gsub("[^a-z0-9]", "", tolower(readable(x)))

# What the table says of an argument, or NULL.
said_elsewhere <- function(name, has, moved) {
  row <- Find(function(row) {
    plain_name(name) %in% plain_name(row$theirs) &&
      (row$ours == "" || row$ours %in% c(has, names(moved)))
  }, elsewhere)
  if (is.null(row) || nzchar(row$say)) return(row$say)
  if (row$ours %in% names(moved)) moved[[row$ours]] else paste0("`", row$ours, "`")
}

# The argument that is meant by `name`, as text for a message, or "". `moved`: what is written in
# place of arguments that there are not, by their names.
nearest_argument <- function(name, has, moved = character()) {
  if (name %in% names(moved)) return(moved[[name]])
  known <- c(has, setdiff(names(moved), has))
  distance <- utils::adist(plain_name(name), plain_name(known))[1L, ]
  size <- nchar(plain_name(name))
  near <- known[distance <= min(2, size / 2) & distance == min(distance, Inf)]
  # A slip of one letter, or the same name in other letters; short names are near to anything.
  slip <- size > 3L && any(distance <= 1)
  said <- if (!slip) said_elsewhere(name, has, moved)
  if (!is.null(said)) return(said)
  inside <- known[size > 2L & (startsWith(plain_name(known), plain_name(name)) |
    endsWith(plain_name(known), plain_name(name)))]
  own <- c(near, inside)[1L]
  if (is.na(own)) return("")
  if (own %in% names(moved)) moved[[own]] else paste0("`", own, "`")
}
