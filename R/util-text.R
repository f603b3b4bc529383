print_text <- function(text) print(text, quote = FALSE, right = TRUE)

# `facts` is a named vector or list; entries that are NULL are left out.
print_facts <- function(facts) {
  facts <- Filter(length, as.list(facts))
  if (length(facts) == 0L) return(invisible(NULL))
  labels <- format(paste0(names(facts), ":"))
  indent <- nchar(labels[1]) + 1L
  for (k in seq_along(facts)) {
    text <- strwrap(paste(facts[[k]], collapse = ", "), text_width() - indent)
    cat(paste(c(labels[k], rep(strrep(" ", indent - 1L), length(text) - 1L)),
      text,
      collapse = "\n"
    ), "\n", sep = "")
  }
  invisible(NULL)
}

# Title, the call in at most `lines` lines, and facts in aligned "name: value" lines.
print_header <- function(title, call = NULL, facts = NULL, lines = 8L) {
  print_line(title)
  if (!is.null(call)) {
    # Names that are no text of their encoding cannot be deparsed.
    text <- tryCatch(deparse(call), error = function(e) paste0(called_name(call), "(...)"))
    text <- strwrap(paste(trimws(text), collapse = " "), text_width() - 7L)
    if (length(text) > lines) {
      text <- c(text[seq_len(lines - 1L)], strtrim(text[lines], text_width() - 12L))
      text[lines] <- paste(text[lines], "...")
    }
    cat("Call: ", paste(text, collapse = "\n        "), "\n", sep = "")
  }
  if (length(facts)) {
    print_facts(facts)
    cat("\n")
  }
}

called_name <- function(call) {
  name <- call[[1]]
  if (is.call(name) && length(name) == 3L) name <- name[[3]]
  if (is.symbol(name)) as.character(name) else ""
}

text_width <- function() max(40L, getOption("width") - 1L)

default_digits <- function() max(3L, getOption("digits") - 3L)

# A tilde stands for a space at which no line is broken.
print_line <- function(text) writeLines(gsub("~", " ", strwrap(text, text_width())))

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
