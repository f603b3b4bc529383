# What users of other packages type, and what to type here: inst/elsewhere.csv. A row has `theirs`,
# names of arguments; `ours`, an argument that a function must have for the row to be read, "" for
# all; `say`, what to write, "" for `ours` itself. The first row that fits counts.
elsewhere <- function() {
  utils::read.csv(
    system.file("elsewhere.csv", package = "bayeskernel"), colClasses = "character",
    na.strings = character()
  )
}

# The same of values: inst/elsewhere-values.csv, by `argument`. `ours` has to be among those that
# are accepted. NULL if there is nothing to say.
value_elsewhere <- function(x, name, accepted) {
  # A kernel that another package has made.
  if (name == "kernel" && is.object(x)) x <- class(x)[1L]
  if (!is.character(x) || length(x) != 1L || is.na(x)) return(NULL)
  table <- utils::read.csv(
    system.file("elsewhere-values.csv", package = "bayeskernel"), colClasses = "character"
  )
  # A family with its link, or number.
  own <- plain_name(if (name == "family") sub("[(].*", "", x) else x)
  fits <- vapply(strsplit(table$theirs, " "), function(theirs) own %in% theirs, NA)
  at <- which(fits & table$argument == name & table$ours %in% accepted)[1L]
  if (is.na(at)) return(NULL)
  # What is not here has a sentence of its own.
  if (endsWith(table$say[at], ".")) return(table$say[at])
  say <- if (nzchar(table$say[at])) table$say[at] else quoted(table$ours[at])
  sprintf("\"%s\" is %s here.", x, say)
}

# The accepted value that is misspelled, as text for a message, or NULL.
nearest_value <- function(x, accepted) {
  if (!is.character(x) || length(x) != 1L || is.na(x) || length(accepted) < 2L) return(NULL)
  begun <- which(startsWith(plain_name(accepted), plain_name(x)) & nchar(plain_name(x)) > 2L)
  if (length(begun) == 1L) return(sprintf("Did you mean \"%s\"?", accepted[begun]))
  distance <- utils::adist(plain_name(x), plain_name(accepted))[1L, ]
  best <- which.min(distance)
  # Short words are near to anything.
  if (distance[best] > min(2, nchar(plain_name(x)) / 3)) return(NULL)
  sprintf("Did you mean \"%s\"?", accepted[best])
}

plain_name <- function(x) gsub("[^a-z0-9]", "", tolower(readable(x)))

# What the table says of an argument, or NULL.
said_elsewhere <- function(name, has, moved) {
  table <- elsewhere()
  fits <- vapply(strsplit(table$theirs, " "), function(theirs) {
    plain_name(name) %in% plain_name(theirs)
  }, NA) & table$ours %in% c("", has, names(moved))
  row <- table[which(fits)[1L], ]
  if (is.na(row$ours)) return(NULL)
  if (nzchar(row$say)) return(row$say)
  if (row$ours %in% names(moved)) moved[[row$ours]] else paste0("`", row$ours, "`")
}

# The argument that is meant by `name`, as text for a message, or "". `moved`: what is written in
# place of arguments that there are not, by their names.
nearest_argument <- function(name, has, moved = character()) {
  if (name %in% names(moved)) return(moved[[name]])
  known <- c(has, setdiff(names(moved), has))
  distance <- utils::adist(plain_name(name), plain_name(known))[1L, ]
  size <- nchar(plain_name(name))
  near <- known[distance <= min(2, size / 3) & distance == min(distance, Inf)]
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
