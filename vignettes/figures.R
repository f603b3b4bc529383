# How the vignettes draw; every one of them reads this first.
#
# Figures have 96 dots an inch, one for each of the page, and are kept with a
# palette of 24 colours, a fraction of the size: all pages are part of the
# package.

# Rewrites a PNG file with few colours; others become the nearest of these.
small_png <- function(file) {
  if (!grepl("[.]png$", file) || !requireNamespace("png", quietly = TRUE)) {
    return(file)
  }
  pixels <- png::readPNG(file)
  if (length(dim(pixels)) != 3L) {
    return(file)
  }
  size <- dim(pixels)[1:2]
  byte <- matrix(round(255 * pixels[, , 1:3]), ncol = 3)
  code <- drop(byte %*% c(65536, 256, 1))
  count <- table(code)
  found <- as.numeric(names(count))
  palette <- few_colours(red_green_blue(found), c(count), 24)
  colours <- found[palette$chosen]
  index <- palette$nearest[match(code, found)] - 1L
  rows <- as.raw(t(cbind(0L, matrix(index, size[1]))))
  # Width, height, eight bits a palette index; no interlacing.
  header <- c(word(size[2]), word(size[1]), as.raw(c(8, 3, 0, 0, 0)))
  writeBin(c(
    as.raw(c(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)),
    png_chunk("IHDR", header),
    png_chunk("PLTE", as.raw(t(red_green_blue(colours)))),
    png_chunk("IDAT", memCompress(rows, "gzip")), png_chunk("IEND", raw())
  ), file)
  file
}

red_green_blue <- function(code) {
  cbind(code %/% 65536, code %/% 256 %% 256, code %% 256)
}

# Greedy: the next colour is the one that is worst off with those before it,
# by the squared distance to the nearest and the number of its points.
few_colours <- function(colours, count, most) {
  chosen <- integer()
  nearest <- integer(nrow(colours))
  distance <- rep(Inf, nrow(colours))
  while (length(chosen) < min(most, nrow(colours))) {
    worst <- which.max(count * pmin(distance, 2e5))
    chosen <- c(chosen, worst)
    apart <- rowSums((colours - rep(colours[worst, ], each = nrow(colours)))^2)
    closer <- apart < distance
    nearest[closer] <- length(chosen)
    distance[closer] <- apart[closer]
  }
  list(chosen = chosen, nearest = nearest)
}

# Four bytes, the highest first.
word <- function(number) rev(writeBin(number, raw(), endian = "little"))

png_chunk <- function(name, data) {
  body <- c(charToRaw(name), data)
  c(word(length(data)), body, word(checksum(body)))
}

# CRC-32. An integer holds its 32 bits, which shifting gives back as a double.
as_bits <- function(x) as.integer(ifelse(x >= 2^31, x - 2^32, x))
crc_table <- vapply(0:255, function(code) {
  for (bit in 1:8) {
    half <- as_bits(bitwShiftR(code, 1L))
    # The reflected polynomial 0xedb88320.
    code <- if (bitwAnd(code, 1L)) bitwXor(half, -306674912L) else half
  }
  code
}, 0L)
checksum <- function(bytes) {
  crc <- -1L
  for (byte in as.integer(bytes)) {
    at <- bitwAnd(bitwXor(crc, byte), 255L) + 1L
    crc <- bitwXor(as_bits(bitwShiftR(crc, 8L)), crc_table[at])
  }
  bitwNot(crc)
}

knitr::opts_chunk$set(
  collapse = TRUE, comment = "#>", fig.width = 7, fig.height = 3.6,
  dpi = 96, fig.retina = 1, fig.align = "center",
  dev.args = list(pointsize = 11), fig.process = small_png
)
# Times that print() ends with are of the machine that built the page.
plain_output <- knitr::knit_hooks$get("output")
knitr::knit_hooks$set(output = function(x, options) {
  plain_output(gsub(",\\s+(#> +)?[0-9.]+ s[.]", ".", x), options)
})
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE, digits = 4)

colours <- c(
  blue = "#0072B2", orange = "#D55E00", green = "#009E73", grey = "grey45",
  pale = "grey85", sky = "#56B4E9"
)
small_margins <- function(...) {
  par(mar = c(3.6, 3.8, 1.8, 0.6), mgp = c(2.3, 0.7, 0), las = 1, ...)
}

# Stored results of an item of reproduce() as a table; `keep` is a pattern of quantities. Without
# `paper` only our numbers are shown.
from_paper <- function(name, item, keep = "", paper = TRUE) {
  x <- bayeskernel::reproduce(name, item, size = "stored")
  how <- attr(x, "how")
  rows <- grepl(keep, x$quantity)
  number <- function(x) ifelse(is.na(x), "", vapply(x, format, "", digits = 3))
  table <- data.frame(
    x$quantity, attr(x, "printed"), number(x$ours), number(x$mc_error), x$verdict
  )
  heads <- c("Quantity", "Paper", "Ours", "Standard error", "Verdict")
  columns <- if (paper) 1:5 else c(1, 3, 4)
  knitr::kable(table[rows, columns],
    row.names = FALSE, col.names = heads[columns], align = c("l", "r", "r", "r", "l")[columns],
    caption = sprintf(
      "Stored results of reproduce(\"%s\", \"%s\"), size %s, version %s", name, item, how$size,
      how$version
    )
  )
}

# A link to an article of the site, which is not in the package.
article <- function(name, text) {
  site <- if (identical(Sys.getenv("IN_PKGDOWN"), "true")) {
    ""
  } else {
    paste0(trimws(strsplit(utils::packageDescription("bayeskernel")$URL, ",")[[1]][1]),
      "/articles/")
  }
  sprintf("[%s](%s%s.html)", text, site, name)
}
