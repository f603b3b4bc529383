# R has this from 4.4.
`%||%` <- function(x, y) if (is.null(x)) y else x

last <- function(x) x[length(x)]

# Without the copy that `storage.mode<-` makes of what is shared.
as_doubles <- function(x) {
  if (!is.double(x)) storage.mode(x) <- "double"
  x
}

values_at <- function(x, at) {
  if (is.matrix(x)) x[at, , drop = FALSE] else if (length(x)) x[at] else x
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

# Arrays one after another along a dimension.
join_arrays <- function(arrays, along) {
  size <- dim(arrays[[1]])
  last <- c(setdiff(seq_along(size), along), along)
  size[along] <- sum(vapply(arrays, function(x) dim(x)[along], 1L))
  joined <- array(unlist(lapply(arrays, aperm, last)), size[last])
  out <- aperm(joined, order(last))
  if (!is.null(dimnames(arrays[[1]]))) dimnames(out) <- dimnames(arrays[[1]])
  out
}

# The same names and sizes, and finite numbers; only the latter for elements called as in `free`.
same_shape <- function(x, pattern, free) {
  if (!is.list(pattern)) {
    sizes <- function(x) if (is.null(dim(x))) length(x) else dim(x)
    return(
      is.numeric(x) && identical(sizes(x), sizes(pattern)) && length(x) == prod(sizes(x)) &&
        all(is.finite(x))
    )
  }
  is.list(x) && length(x) == length(pattern) && identical(names(x), names(pattern)) &&
    all(vapply(seq_along(x), function(k) {
      if (any(names(pattern)[k] %in% free)) {
        is.numeric(x[[k]]) && all(is.finite(x[[k]]))
      } else {
        same_shape(x[[k]], pattern[[k]], free)
      }
    }, NA))
}

# Numbers of `most` of n things, evenly spread.
spread_over <- function(n, most) unique(round(seq(1, n, length.out = min(n, most))))

stack_chains <- function(draws) {
  matrix(draws, ncol = dim(draws)[3], dimnames = list(NULL, dimnames(draws)[[3]]))
}

# Squares and products of larger numbers overflow, of smaller ones underflow.
largest_magnitude <- 1e150

# One text that can be read: not NA, and bytes that its encoding knows.
is_string <- function(x) is.character(x) && length(x) == 1L && !is.na(x) && validEnc(x)

is_plain_number <- function(x) (is.numeric(x) || is.logical(x)) && !is.object(x) && is.null(dim(x))

# Row names that are names: numbers tell where rows were, not what they are.
given_names <- function(newdata) {
  names <- if (is.data.frame(newdata)) attr(newdata, "row.names") else rownames(newdata)
  if (is.character(names) && anyNA(suppressWarnings(as.numeric(names)))) names
}

# Numbers that stand as text among names of levels, as option `OutDec` writes them.
text_numbers <- function(text) {
  suppressWarnings(as.numeric(sub(getOption("OutDec"), ".", text, fixed = TRUE)))
}

# `facts` is a named vector or list; entries that are NULL are left out. `after` follows them.
print_facts <- function(facts, after = "") {
  facts <- Filter(length, as.list(facts))
  if (length(facts) == 0L) return(invisible(NULL))
  labels <- format(paste0(names(facts), ":"))
  indent <- nchar(labels[1]) + 1L
  # Where names leave too little room for values these do not stand in a column.
  if (2L * indent > text_width()) {
    text <- paste0(names(facts), ": ", vapply(facts, paste, "", collapse = ", "))
    writeLines(wrapped(text, text_width(), exdent = 4L))
    facts <- NULL
  }
  for (k in seq_along(facts)) {
    text <- wrapped(paste(facts[[k]], collapse = ", "), text_width() - indent)
    cat(paste(c(labels[k], rep(strrep(" ", indent - 1L), length(text) - 1L)),
      text,
      collapse = "\n"
    ), "\n", sep = "")
  }
  cat(after)
}

# Title, the call in at most `lines` lines, and facts in aligned "name: value" lines. An argument of
# more than a line, as the data that do.call() puts there, is "...", unless it is the formula.
print_header <- function(title, call = NULL, facts = NULL, lines = 4L) {
  print_line(title)
  if (!is.null(call)) {
    # Names that are no text of their encoding cannot be deparsed.
    text <- tryCatch(
      {
        long <- lengths(lapply(as.list(call), deparse, nlines = 2L)) > 1L
        # An unnamed argument may be the formula.
        call[long & !names(call) %in% c("", "formula")] <- list(quote(...))
        deparse(call)
      },
      error = function(e) paste0(deparse1(call[[1L]]), "(...)")
    )
    text <- wrapped(paste(trimws(text), collapse = " "), text_width() - 7L)
    if (length(text) > lines) {
      end <- strtrim(text[lines], text_width() - 12L)
      if (end != text[lines]) end <- sub(" [^ ]*$", "", end)
      text <- c(text[seq_len(lines - 1L)], paste(end, "..."))
    }
    cat("Call: ", paste(text, collapse = "\n        "), "\n", sep = "")
  }
  print_facts(facts, "\n")
}

text_width <- function() max(40L, getOption("width") - 1L)

# A tilde stands for a space at which no line is broken.
print_line <- function(text) writeLines(gsub("~", " ", wrapped(text, text_width())))

# Lines of text, none broken within "a = 1", "5 %" or "x[1:3, ]".
wrapped <- function(text, width, ...) {
  apart <- c(" = ", " %", ", ]")
  joined <- gsub(" ", "#", apart)
  for (k in seq_along(apart)) text <- gsub(apart[k], joined[k], text, fixed = TRUE)
  text <- strwrap(text, width, ...)
  for (k in seq_along(apart)) text <- gsub(joined[k], apart[k], text, fixed = TRUE)
  text
}

# A table of text. Where it is wider than the screen the columns in `wrap` take more lines.
print_columns <- function(table, wrap) {
  widths <- vapply(names(table), function(name) max(nchar(c(name, table[[name]]))), 0L)
  left <- text_width() - sum(widths[setdiff(names(table), wrap)]) - length(widths)
  while (sum(widths[wrap]) > left && max(widths[wrap]) > 12L) {
    widest <- wrap[which.max(widths[wrap])]
    widths[widest] <- widths[widest] - 1L
  }
  for (row in c(0L, seq_len(nrow(table)))) {
    cells <- lapply(names(table), function(name) {
      text <- if (row == 0L) name else table[[name]][row]
      if (name %in% wrap) strwrap(text, widths[[name]] + 1L) else text
    })
    lines <- max(1L, lengths(cells))
    padded <- Map(function(cell, width) {
      formatC(c(cell, rep("", lines - length(cell))), width = -width)
    }, cells, widths)
    writeLines(sub(" +$", "", paste0(" ", do.call(paste, padded))))
  }
}

# Long names keep their two ends: `b[(Intercept) patient:12]` differs from its neighbours at the
# end.
abbreviate_middle <- function(names, width = 28L) {
  long <- nchar(names) > width
  names[long] <- paste0(
    substr(names[long], 1L, width - 15L), "...",
    substr(names[long], nchar(names[long]) - 11L, nchar(names[long]))
  )
  names
}

tail_names <- function(level) {
  tails <- 100 * c(1 - level, 1 + level) / 2
  paste(format(tails, trim = TRUE, digits = 3), "%")
}

percent <- function(level) sprintf("%s %%", format(100 * level))
