# Every error and warning that a user can cause is raised here, so that code can react to its class
# and fields and readers meet one style of message.

error_kinds <- c(
  "response", "missing", "dimension", "prior", "kernel", "numeric", "argument", "cluster", "data"
)

warning_kinds <- c(
  "convergence", "dropped_column", "max_iter", "separation", "jitter",
  "interrupt", "response", "effects", "prior", "given_up", "learning_rate",
  "link", "kernel", "identification", "outlier", "outside", "weights"
)

# kind: one of `error_kinds`, or of `warning_kinds`; becomes class bayeskernel_error_<kind>, or
# bayeskernel_warning_<kind>. header: what is wrong, one line of fewer than 80 characters.
# `...`: texts, each a bullet below the header: what was found, where, and what would be accepted;
# or vectors of them. Of warnings, what has a name is a field for code, as `column`, `row`, `found`
# and `expected` are of errors.
bk_abort <- function(kind, header, ..., column = NULL, row = NULL, found = NULL, expected = NULL,
                     call = user_call()) {
  stopifnot(kind %in% error_kinds)
  fields <- list(column = column, row = row, found = found, expected = expected)
  stop(new_condition("error", kind, header, list(...), call, fields))
}

bk_warn <- function(kind, header, ..., call = user_call()) {
  stopifnot(kind %in% warning_kinds)
  warning(new_condition("warning", kind, header, list(...), call))
  invisible(NULL)
}

# Runs `code`, in which a warning of the same kind and header is given once.
once_each <- function(code) {
  given <- character()
  withCallingHandlers(code, bayeskernel_warning = function(w) {
    own <- paste(class(w)[1L], sub("\n.*", "", conditionMessage(w)))
    if (own %in% given) invokeRestart("muffleWarning")
    given <<- c(given, own)
  })
}

# A message that code can tell apart, as a warning is.
bk_inform <- function(kind, header, ..., call = user_call()) {
  condition <- new_condition("message", kind, header, list(...), call)
  condition$message <- paste0(condition$message, "\n")
  message(condition)
}

new_condition <- function(type, kind, header, said, call, fields = said[nzchar(names(said))]) {
  force(fields)
  if (!is.null(names(said))) said <- said[!nzchar(names(said))]
  bullets <- unlist(lapply(readable(unlist(said)), strwrap, 79, initial = "* ", exdent = 2))
  structure(
    c(list(message = paste(c(readable(header), bullets), collapse = "\n"), call = call), fields),
    class = c(paste0("bayeskernel_", type, c(paste0("_", kind), "")), type, "condition")
  )
}

# Text whose bytes are no characters of its encoding stops functions that count or cut: such bytes
# are shown as <e9>.
readable <- function(x) {
  x <- as.character(x)
  bad <- !validEnc(x)
  x[bad] <- iconv(x[bad], "UTF-8", "UTF-8", sub = "byte")
  x
}

# The call that the user typed: the outermost function of this package on the chain of callers.
# Callers are followed by sys.parents(), not by the stack, so that in
# `bsvm(y ~ x, prior = bsvm_prior(beta_var = -1))` the call is that of `bsvm_prior()`, whose promise
# happens to be forced inside `bsvm()`.
user_call <- function() {
  outermost <- user_frame()
  if (outermost > 0L) short_call(sys.call(generic_frame(outermost)))
}

# Its number, among the callers of the function that asks, or 0. A function whose caller is no
# frame, as of print() where R prints a value at the prompt, is named its own parent.
user_frame <- function() {
  home <- topenv()
  parents <- sys.parents()
  frame <- parents[sys.parent()]
  outermost <- 0L
  while (frame > 0L) {
    if (identical(environment(sys.function(frame)), home)) outermost <- frame
    up <- parents[frame]
    # Compiled code calls back with the function itself, or R's handlers, from no frame.
    head <- sys.call(frame)[[1L]]
    back <- is.function(head) || is.symbol(head) && startsWith(as.character(head), ".signalSimple")
    if (up == 0L && frame > 1L && back) up <- frame - 1L
    if (up >= frame) break
    frame <- up
  }
  outermost
}

called_name <- function(call) {
  name <- call[[1]]
  if (is.call(name) && length(name) == 3L) name <- name[[3]]
  if (is.symbol(name)) as.character(name) else ""
}

# UseMethod() runs the method in the frame after its generic, with the name of the method in the
# call; users typed the generic.
generic_frame <- function(frame) {
  while (frame > 1L) {
    method <- called_name(sys.call(frame))
    generic <- called_name(sys.call(frame - 1L))
    if (!startsWith(method, paste0(generic, ".")) || !nzchar(generic)) break
    frame <- frame - 1L
  }
  frame
}

# do.call() puts whole data sets, and sometimes the function itself, into the call, which nobody
# wants to read.
short_call <- function(call) {
  if (is.function(call[[1]])) {
    NULL
  } else if (utils::object.size(call) > 20000) {
    as.call(list(call[[1]], quote(...)))
  } else {
    call
  }
}

# Evaluates a call of the core. The glue hands its failures back as a list, not as an R error from
# C++: only this function raises them.
core_call <- function(result) {
  if (inherits(result, "bayeskernel_core_error")) {
    if (result$kind == "interrupt") abort_interrupted()
    header <- if (result$kind == "numeric") {
      "The computation failed."
    } else {
      "The computation refused its input."
    }
    bk_abort(result$kind, header, result$message)
  }
  result
}

# As if Ctrl-C had reached R itself: handlers of `interrupt` run, then back to the prompt.
abort_interrupted <- function() {
  condition <- structure(list(message = "", call = NULL), class = c("interrupt", "condition"))
  signalCondition(condition)
  invokeRestart("abort")
}
