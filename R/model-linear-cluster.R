# Rows of the linear model over the workers of a cluster (share_rows()), cut where groups of the
# eliminated term begin: a group never leaves its worker.

# NULL where there is nothing that workers could do.
share_linear_rows <- function(job) {
  data <- job$data
  cluster <- job$settings$cluster
  alone <- !is.null(data$path) || !is.null(data$selection) || !is.null(data$holes) ||
    length(data$crossed) > 0L ||
    length(job$blocks$precision) > nrow(data$x)
  if (alone) return(NULL)
  prior <- job$shared$prior
  plan <- core_call(linear_shards_cpp(data, prior))
  share_rows(
    cluster, plan, linear_keeper,
    function(part, give) give(linear_share(data, part, plan$order)),
    list(prior = prior, settings = c(
      job$control[intersect(c("family", "rule", "noise", "threads"), names(job$control))],
      # Minibatches are of rows that were copied.
      list(many = plan$many && job$settings$method != "svi")
    ))
  )
}

# The data of a share of the plan.
linear_share <- function(data, part, order) {
  at <- seq.int(part$row[1L] + 1, max(part$row))
  data <- rows_at(data, if (is.null(order)) at else order[at])
  if (length(data$group)) {
    data$group <- data$group - as.integer(part$group[1L])
    data$n_groups <- as.integer(max(part$group) - part$group[1L])
  }
  data
}

# Some rows of what the core reads.
rows_at <- function(data, at) {
  of_rows <- c("x", "y", "weights", "offset", "z", "group", "residual", "open", "variables")
  for (name in intersect(of_rows, names(data))) data[[name]] <- values_at(data[[name]], at)
  data$kept <- lapply(data$kept, function(term) {
    term[c("group", "z")] <- lapply(term[c("group", "z")], values_at, at)
    term
  })
  if (!is.null(data$atoms)) {
    data$atoms <- lapply(data$atoms, values_at, at)
    data$atoms$row <- match(data$atoms$row, unique(data$atoms$row))
  }
  data
}

values_at <- function(x, at) {
  if (is.matrix(x)) x[at, , drop = FALSE] else if (length(x)) x[at] else x
}

# On the worker ---------------------------------------------------------------

linear_keeper <- list(
  receive = function(share, piece) piece,
  open = function(share, open) {
    core <- linear_worker_cpp(share, open$prior, open$settings, open$first)
    if (inherits(core, "bayeskernel_core_error")) return(core)
    list(core = core, begin = open$begin)
  },
  pass = function(share, task, own) {
    worker_pass_cpp(share$core, task, own %||% list(), share$begin)
  },
  close = NULL
)
