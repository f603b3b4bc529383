#' Trace of the variational bound
#'
#' The lower bound of the log evidence that variational Bayes maximizes, pass by pass.
#'
#' @param object A fit by a variational engine, such as `bsvm(method = "vb")`.
#' @param ... Unused.
#' @return Numeric vector: the lower bound of the log evidence after each pass over the data, with
#'   every constant; the last element is the bound of the fit.
#' @section Errors: `bayeskernel_error_argument` if the fit has no bound, which is so for samplers.
#' @seealso [log_evidence()], [bayeskernel-engines].
#' @examples
#' elbo(bkm(am ~ wt, mtcars, method = "vb"))
#' @export
elbo <- function(object, ...) {
  check_given("object")
  UseMethod("elbo")
}

#' @rdname elbo
#' @export
elbo.bayeskernel_fit <- function(object, ...) {
  check_whole(object)
  if (is.null(object$trace$elbo)) {
    bk_abort(
      "argument", "This fit has no variational bound.",
      sprintf("It was made by method \"%s\".", object$method),
      if (object$method == "svi") {
        "The bound is computed by full passes, those of `max_iter`."
      } else {
        "A bound belongs to variational engines, such as method = \"vb\"."
      }
    )
  }
  if (is_pseudo(object)) object$trace$elbo else object$trace$elbo + sum(unit_constant(object))
}

#' @importFrom nlme fixef
#' @export
nlme::fixef

#' @importFrom nlme ranef
#' @export
nlme::ranef

#' @importFrom nlme VarCorr
#' @export
nlme::VarCorr

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' @importFrom generics augment
#' @export
generics::augment

#' @importFrom coda as.mcmc
#' @export
coda::as.mcmc

#' @importFrom coda as.mcmc.list
#' @export
coda::as.mcmc.list

# The name of this generic reads as a method of as.mcmc(): R asks that such a function is registered
# as that, too, for which it has to be here.
#' @rawNamespace S3method(as.mcmc, list)
as.mcmc.list <- coda::as.mcmc.list
