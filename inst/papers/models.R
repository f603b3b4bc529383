# The arguments that make each model that of a paper, as calls, and why they have these values: the
# table of the help page and the list that a user gets are both made from these. Where an argument
# stands in a prior or in the control, its row is named by both.

# A paper's model: its function and the arguments that differ.
# fitter: name of the function.
# ...: arguments, not evaluated.
published_model <- function(fitter, ...) {
  list(fitter = fitter, arguments = as.list(substitute(list(...)))[-1L])
}

# One of the four models of section 3.2.2.
published_bark <- function(scales, select) {
  eval(bquote(published_model(
    "bark", scales = .(scales), select = .(select), prior = bark_prior(gamma = 5, epsilon = 0.5),
    ndraws = 4000, until = NULL, control = bark_control(warmup = 2e6, thin = 500)
  )))
}

published_models <- list(
  luts2014 = list(
    penalty = published_model(
      "bsvm", method = "vb", penalty = "learn", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01)
    ),
    penalty_gibbs = published_model(
      "bsvm", method = "gibbs", penalty = "learn", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01),
      chains = 1, ndraws = 5000, control = bsvm_control(warmup = 5000)
    ),
    intercept = published_model(
      "bsvm", method = "vb", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01)
    ),
    intercept_gibbs = published_model(
      "bsvm", method = "gibbs", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01),
      chains = 1, ndraws = 5000, control = bsvm_control(warmup = 5000)
    ),
    selection = published_model(
      "bsvm", method = "vb", select = TRUE, learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01, rho = 0.01),
      control = bsvm_control(starts = 1, polish = FALSE)
    ),
    selection_gibbs = published_model(
      "bsvm", method = "gibbs", select = TRUE, learning_rate = 1,
      prior = bsvm_prior(
        beta_var = 1e8, var_shape = 0.01, var_rate = 0.01, rho = 0.01, inclusion = "column"
      ),
      chains = 1, ndraws = 50000, control = bsvm_control(warmup = 50000)
    ),
    missing = published_model(
      "bsvm", method = "vb", penalty = "learn", missing = "model", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01)
    ),
    missing_gibbs = published_model(
      "bsvm", method = "gibbs", penalty = "learn", missing = "model", learning_rate = 1,
      prior = bsvm_prior(beta_var = 1e8, var_shape = 0.01, var_rate = 0.01), chains = 1,
      ndraws = 5000, control = bsvm_control(warmup = 5000)
    )
  ),
  wenzel2017 = list(
    batch = published_model("gpsvm", method = "vb", kernel = rbf(5 / sqrt(2)), tune = FALSE),
    stochastic = published_model(
      "gpsvm", method = "svi", kernel = rbf(5 / sqrt(2)), tune = FALSE,
      control = gpsvm_control(batch_size = 10, epochs = 2, rate = "adaptive", max_iter = 0)
    ),
    stochastic_tuned = published_model(
      "gpsvm", method = "svi", kernel = rbf(5 / sqrt(2)), tune = FALSE,
      control = gpsvm_control(
        batch_size = 10, epochs = 100, rate = "adaptive", max_iter = 0, kernel_steps = 10
      )
    ),
    ecm = published_model("gpsvm", method = "ecm", kernel = rbf(5 / sqrt(2)), tune = FALSE),
    susy = published_model(
      "gpsvm", method = "svi", kernel = rbf(5 / sqrt(2)), inducing = 64, tune = FALSE,
      control = gpsvm_control(batch_size = 100, rate = "adaptive", max_iter = 0)
    )
  ),
  damoulas2009 = list(
    single = published_model(
      "mkprobit", coefficients = "weights", method = "vb",
      control = mkprobit_control(tol = 0.001, max_iter = 50)
    ),
    gibbs = published_model(
      "mkprobit", coefficients = "weights", method = "gibbs",
      prior = mkprobit_prior(tau = 3, nu = 3), chains = 1, ndraws = 90000,
      control = mkprobit_control(warmup = 10000)
    ),
    sum = published_model(
      "mkprobit", coefficients = "weights", method = "vb", combine = "sum",
      control = mkprobit_control(tol = 0.001, max_iter = 100)
    ),
    product = published_model(
      "mkprobit", coefficients = "weights", method = "vb", combine = "product",
      control = mkprobit_control(tol = 0.001, max_iter = 100)
    ),
    weighted_sum = published_model(
      "mkprobit", coefficients = "weights", method = "vb", combine = "sum",
      kernel_weights = "learn",
      control = mkprobit_control(
        tol = 0.001, max_iter = 100, weights_method = "is", is_target = "point"
      )
    ),
    weighted_product = published_model(
      "mkprobit", coefficients = "weights", method = "vb",
      combine = "product", kernel_weights = "learn",
      control = mkprobit_control(
        tol = 0.001, max_iter = 100, weights_method = "is", is_target = "point"
      )
    ),
    binary = published_model(
      "mkprobit", coefficients = "weights", method = "vb",
      combine = "binary", kernel_weights = "learn",
      control = mkprobit_control(
        tol = 0.001, max_iter = 100, weights_method = "is", is_target = "point"
      )
    )
  ),
  ouyang2008 = list(
    equal = published_bark("equal", FALSE), different = published_bark("different", FALSE),
    select_equal = published_bark("equal", TRUE),
    select_different = published_bark("different", TRUE),
    projection = published_model("klr", until = NULL)
  ),
  vermaak2004 = list(
    sinc = published_model(
      "seqkr", kernel = rbf(1.6 / sqrt(2)), moves = "corrected", standardize = FALSE,
      prior = seqkr_prior(lambda = 1, kmax = 50), control = seqkr_control(ess = 1)
    ),
    sinc_rj = published_model(
      "seqkr", kernel = rbf(1.6 / sqrt(2)), moves = "rj", sweeps = 1, standardize = FALSE,
      prior = seqkr_prior(lambda = 1, kmax = 50), control = seqkr_control(ess = 1)
    ),
    sinc_printed = published_model(
      "seqkr", kernel = rbf(1.6 / sqrt(2)), moves = "printed", standardize = FALSE,
      prior = seqkr_prior(lambda = 1, kmax = 50, noise = c(0, 0), coef = c(0, 0)),
      control = seqkr_control(ess = 1, move_rate = 0.25, final_moves = 0)
    ),
    boston = published_model(
      "seqkr", kernel = rbf(5 / sqrt(2)), moves = "rj", sweeps = 1,
      prior = seqkr_prior(lambda = 5, kmax = 50), control = seqkr_control(ess = 1)
    )
  )
)

# Why an argument has the value of the paper, by function and argument; and what NULL as the default
# means there.

published_reasons <- list(
  bsvm = list(
    method = c("ep", "\"vb\"" = "the paper's algorithms", "\"gibbs\"" = "those of its appendices"),
    penalty = c("none", "section 3.1, example 1"),
    select = c("", "section 3.2"),
    missing = c("\"fail\"", "section 3.3"),
    learning_rate = c("from the data", "the pseudo-likelihood, as if it were a likelihood"),
    "prior$beta_var" = c("(2.5 / s)^2",
      "\"to impose non-informativity\"; our copy lacks the number"),
    "prior$var_shape" = c("half t", "our copy lacks the number; 0.01 stands in for it"),
    "prior$var_rate" = c("half t", "equal to var_shape in the paper"),
    "prior$rho" = c("", "section 4.4"),
    "prior$inclusion" = c("\"term\"", "each column has an indicator"),
    chains = c("", "one run; convergence is not checked"),
    ndraws = c("", "5000" = "section 4", "50000" = "section 4.4"),
    "control$warmup" = c("", "5000" = "section 4", "50000" = "section 4.4"),
    "control$starts" = c("four, the best", "not said; here from all columns"),
    "control$polish" = c("", "probabilities are those of the variational optimum")
  ),
  gpsvm = list(
    method = c("ep", "algorithm 1, in full passes or by minibatches; ecm is its competitor"),
    kernel = c(
      "rbf()",
      "theta = 5; the printed kernel lacks a square, with which theta is sqrt(2) length-scales"
    ),
    tune = c("tuned", "the width is fixed in Table 1"),
    inducing = c("min(n / 5, 100)", "section 5.2"),
    "control$batch_size" = c("at least 256", "sections 5.1 and 5.2"),
    "control$epochs" = c("", "the number of passes is not given"),
    "control$rate" = c("", "section 4.3: the rule of Ranganath et al."),
    "control$max_iter" = c("", "no full passes after the stochastic ones"),
    "control$kernel_steps" = c(
      "", "eq. 12, section 5.4: a step of kernel and points for ten of q; here in their first half"
    )
  ),
  mkprobit = list(
    coefficients = c("", "a gamma precision for every object and class, eq. 2"),
    method = c("", "section 3.2; gibbs: section 3.1"),
    combine = c("", "section 2.1"),
    kernel_weights = c("", "section 2.1: the weights have priors"),
    "prior$tau" = c("1", "not given; at 1 or below coefficients have no variance to compare"),
    "prior$nu" = c("1", "as tau: not given"),
    chains = c("", "one run"),
    ndraws = c("", "100,000 sweeps, section 4.1"),
    "control$warmup" = c("", "a tenth of the sweeps"),
    "control$tol" = c("", "section 4: less than 0.1 % increase in the bound"),
    "control$max_iter" = c("", "50 in Table 2, 100 for several kernels"),
    "control$weights_method" = c("\"loo\"", "importance weights, B.4; subsets: all are weighed"),
    "control$is_target" = c("", "as printed in B.4: the coefficients' variances are left out")
  ),
  bark = list(
    scales = c("by the data", "one of the four models of section 3.2.2"),
    select = c("", "one of the four models of section 3.2.2"),
    "prior$gamma" = c("from `kernels`", "section 3.4"),
    "prior$epsilon" = c("1, rescaled", "section 3.4; its scale is known"),
    ndraws = c("by R-hat", "section 3.4"),
    until = c("", "a fixed number of sweeps"),
    "control$warmup" = c("by R-hat", "section 3.4: 2,000,000"),
    "control$thin" = c("by R-hat", "section 3.4: every 500th")
  ),
  klr = list(until = c("", "a fixed number of sweeps, not given; `rank` is one of 1, 2, 3")),
  seqkr = list(
    kernel = c(
      "rbf()", "rbf(1.6/sqrt(2))" = "width w = 1.6, not defined: read as exp(-distance^2 / w^2)",
      "rbf(5/sqrt(2))" = "width 5, read as 1.6 is"
    ),
    moves = c(
      "", "\"corrected\"" = "the paper's moves, whose printed weight is wrong",
      "\"printed\"" = "with the printed weight", "\"rj\"" = "moves that mix better"
    ),
    sweeps = c("", "one jump a row, as the paper has one move a row"),
    standardize = c("", "x and y as they are"),
    "prior$lambda" = c("", "1" = "section 4.1", "5" = "section 4.2"),
    "prior$kmax" = c("", "section 4.1"),
    "prior$noise" = c("", "section 4.1: all 0, under which the posterior is improper"),
    "prior$coef" = c("", "section 4.1: all 0, as noise"),
    "control$ess" = c("", "resampling after every row"),
    "control$move_rate" = c("", "section 4.1: c"),
    "control$final_moves" = c("", "the paper ends with the last row")
  )
)
