# What pkgdown leaves to do, for tools/site: finish_pages() mends links, names and formulas of the
# built pages, news_index() and search_index() write what pkgdown has in another form.

read_page <- function(file) paste(readLines(file, encoding = "UTF-8"), collapse = "\n")
write_page <- function(text, file) writeLines(text, file, useBytes = TRUE)

# The page of each function: of its own name, and of a generic the method for fits. Those of base R
# that read no fit stay with base R.
own_pages <- function(site) {
  topics <- site$topics[!site$topics$name %in% "reexports", ]
  alias <- unlist(topics$alias)
  page <- rep(topics$file_out, lengths(topics$alias))
  generic <- grep("[.]bayeskernel_fit$", alias)
  name <- c(alias, sub("[.][a-z_]*$", "", alias[generic]), "print", "anova")
  page <- c(page, page[generic], page[match(c("summary.bayeskernel_fit", "anova.bkm"), alias)])
  stats::setNames(page, name)[!duplicated(name)]
}

# predict() is of this package where a page names it: base R's page says nothing of a fit.
link_methods <- function(text, path, pages) {
  pattern <- paste0(
    "<a href=\"https://rdrr[.]io/(?:r/(?:base|stats|graphics)|pkg/(?:nlme|generics|rstantools|",
    "posterior|loo|coda|ggplot2))/[^\"]*\"[^>]*>([A-Za-z_.]+)(\\(\\))?</a>"
  )
  found <- unique(unlist(regmatches(text, gregexpr(pattern, text, perl = TRUE))))
  name <- sub(pattern, "\\1", found, perl = TRUE)
  for (k in which(name %in% names(pages))) {
    page <- pages[[name[k]]]
    label <- sub(pattern, "\\1\\2", found[k], perl = TRUE)
    folder <- if (startsWith(path, "reference/")) "" else if (grepl("/", path)) "../reference/" else
      "reference/"
    new <- if (path == paste0("reference/", page)) label else
      sprintf("<a href=\"%s%s\">%s</a>", folder, page, label)
    text <- gsub(found[k], new, text, fixed = TRUE)
  }
  text
}

# Papers on the home page, files of the source that are pages, and reproduce("luts2014"), whose
# article shows its tables.
link_files <- function(text, path, papers) {
  if (path == "index.html") {
    for (paper in papers) {
      link <- sprintf("<td><a href=\"%s\">%s</a></td>", paper$href, paper$text)
      # Pandoc keeps "et al." and the year in one line.
      name <- gsub("([().])", "[\\1]", gsub(" ", "[ \u00a0]", paper$text))
      text <- gsub(sprintf("<td>%s</td>", name), link, text)
    }
  }
  up <- if (grepl("/", path)) "../" else ""
  for (file in c("ARCHITECTURE", "CODE_OF_CONDUCT", "CONTRIBUTING")) {
    new <- sprintf("<a href=\"%s%s.html\">%s.md</a>", up, file, file)
    text <- gsub(sprintf("<code>%s.md</code>", file), new, text, fixed = TRUE)
  }
  text <- gsub(
    "<code>NEWS.md</code>", sprintf("<a href=\"%snews/index.html\">NEWS.md</a>", up), text,
    fixed = TRUE
  )
  call <- "<code>(?:<a [^>]*>)?reproduce(?:</a>)?\\(\"([a-z]+[0-9]{4})\"\\)(?:</a>)?</code>"
  article <- sprintf("<code><a href=\"%sarticles/\\1.html\">reproduce(\"\\1\")</a></code>", up)
  gsub(call, article, text, perl = TRUE)
}

# The address of the site, of its issues and of the maintainer are placeholders: text, not links.
drop_placeholders <- function(text, address) {
  report <- sprintf("(?s)<div class=\"links\">.{1,99}<li><a href=\"%s/.*?</div>\n*", address)
  text <- sub(report, "", text, perl = TRUE)
  host <- sub("^https?://", "", address)
  pattern <- "<a href=\"(?:mailto:[^\"]*@|https?://)(?:[a-z]*[.])?%s[^\"]*\"[^>]*>([^<]*)</a>"
  for (place in c(host, sub("^[^.]*[.]", "", host))) {
    text <- gsub(sprintf(pattern, place), "\\1", text, perl = TRUE)
  }
  text <- gsub(sprintf(",?\\s*url = \\{%s\\}", address), "", text, perl = TRUE)
  gsub(sprintf("(version [0-9.]+), %s", address), "\\1", text, perl = TRUE)
}

# Methods as they are called, without what nobody calls by hand.
edit_reference_index <- function(text) {
  noise <- "(?s)\\s*<code><a href=\"[^\"]*\">(?:print|format|Ops)\\((?:<i>.*?</i>)?\\)</a></code>"
  text <- gsub(noise, "", text, perl = TRUE)
  text <- gsub("\\(<i>&lt;bayeskernel_fit&gt;</i>\\)|[.]bayeskernel_fit\\(\\)", "(fit)", text)
  text <- gsub("\\(<i>&lt;(bkm|bsvm|bark)&gt;</i>\\)", "(fit)", text)
  text <- gsub("\\(<i>&lt;default&gt;</i>\\)", "()", text)
  text <- gsub("\\(<i>&lt;(?:bayeskernel_)?([a-z_.]*)&gt;</i>\\)", "(\\1)", text, perl = TRUE)
  gsub(" <code><a href=\"[^\"]*\">(bayeskernel-package|glossary)</a></code>", "", text)
}

# What to cite, and a key for each entry.
edit_citation <- function(text, note) {
  text <- sub("<p></p>", paste0("<p>", note, "</p>"), text, fixed = TRUE)
  entries <- gregexpr("(?s)<pre>@[A-Za-z]+\\{,.*?</pre>", text, perl = TRUE)
  keyed <- vapply(regmatches(text, entries)[[1]], function(entry) {
    author <- sub("(?s).*author = \\{(.*?)\\},\n.*", "\\1", entry, perl = TRUE)
    year <- sub("(?s).*year = \\{([0-9]+)\\}.*", "\\1", entry, perl = TRUE)
    first <- gsub("[{}]", "", sub(" and .*", "", author))
    key <- paste0(tolower(sub(".* ", "", first)), year)
    if (startsWith(first, "The ")) key <- "bayeskernel"
    sub("{,", paste0("{", key, ","), entry, fixed = TRUE)
  }, "")
  regmatches(text, entries) <- list(keyed)
  text
}

# A page that is not found is shown at any address, so that its links begin at the site's root.
edit_missing_page <- function(text, address) {
  text <- gsub(paste0("(href|src|data-root)=\"", address, "/?"), "\\1=\"/", text)
  text <- gsub("href=\"/#", "href=\"#", text, fixed = TRUE)
  text <- sub("data-root=\"\"", "data-root=\"/\"", text, fixed = TRUE)
  text <- gsub(
    "(href|src)=\"(?!/|#|https?:|mailto:)([^\"]+)\"", "\\1=\"/\\2\"", text, perl = TRUE
  )
  sub(
    "Content not found. Please use links in the navbar.",
    paste0(
      "<p>There is no page at this address. Go to the <a href=\"/index.html\">home page</a>, the ",
      "<a href=\"/reference/index.html\">reference</a> or the <a href=\"/articles/index.html\">",
      "articles</a>, or search above.</p>"
    ), text, fixed = TRUE
  )
}

edit_page <- function(text, path, site, pages) {
  address <- site$meta$url
  # Temporary files have no folder, and figures of README and of examples a text.
  text <- gsub(paste0(tempdir(), "/"), "", text, fixed = TRUE)
  text <- gsub(" alt=\"\"(><p class=\"caption\">)([^<]*)", " alt=\"\\2\"\\1\\2", text)
  # Pages whose sources have no title or no description.
  if (path == "LICENSE.html") text <- gsub("(<title>|<h1>)NA", "\\1License", text)
  title <- sub("(?s).*?<title>(.*?) \u2022.*", "\\1", text, perl = TRUE)
  if (!grepl("<meta name=\"description\"", text, fixed = TRUE)) {
    about <- "<meta name=\"description\" content=\"%s: Bayesian kernel machines in R.\">"
    text <- sub("<title>", paste0(sprintf(about, title), "<title>"), text, fixed = TRUE)
  }
  # Methods as they are called: "Predictions - predict". A topic has the name of its file.
  if (grepl("^reference/.*\u2014", paste0(path, title))) {
    name <- sub("([.]bayeskernel_fit)?[.]html$", "", basename(path))
    named <- sub("\u2014 .*", paste("\u2014", name), title)
    text <- gsub(title, named, text, fixed = TRUE)
  }
  title <- sub(" \u2014.*", "", title)
  plain <- "(<img src=\"[^\"]*-([0-9]+)[.]png\") alt=\"\""
  text <- gsub(plain, sprintf("\\1 alt=\"%s: example, figure \\2\"", title), text)
  if (path == "reference/index.html") text <- edit_reference_index(text)
  if (path == "authors.html") {
    text <- edit_citation(text, paste(
      "Cite the package and the paper of the model that you used. <code>bkm()</code> has no paper",
      "of its own. <code>citation(\"bayeskernel\")</code> prints this list."
    ))
  }
  if (path == "404.html") text <- edit_missing_page(text, address)
  text <- drop_placeholders(text, address)
  text <- link_files(text, path, site$meta$navbar$components$papers$menu)
  if (path == "reference/reexports.html") text else link_methods(text, path, pages)
}

# All formulas in one run of pandoc, as MathML.
formula_pattern <- paste(
  "\\\\\\([^\n]*?\\\\\\)", "(?s)\\\\\\(.{1,400}?\\\\\\)", "\\\\\\[.{1,900}?\\\\\\]",
  "\\$\\$.{1,900}?\\$\\$", sep = "|"
)
convert_formulas <- function(formulas) {
  if (!length(formulas)) return(formulas)
  tex <- gsub("\\s+", " ", formulas)
  for (code in list(c("&lt;", "<"), c("&gt;", ">"), c("&amp;", "&"))) {
    tex <- gsub(code[1], code[2], tex, fixed = TRUE)
  }
  tex <- sub("^\\\\\\( ?(.*?) ?\\\\\\)$", "$\\1$", tex, perl = TRUE)
  tex <- sub("^\\\\\\[ ?(.*?) ?\\\\\\]$", "$$\\1$$", tex, perl = TRUE)
  file <- tempfile(fileext = ".md")
  writeLines(paste0(tex, "\n"), file)
  html <- system2(
    "pandoc", c("-f", "markdown", "-t", "html", "--mathml", "--wrap=none", file), stdout = TRUE
  )
  html <- gsub("^<p>|</p>$", "", html)
  stopifnot(length(html) == length(formulas))
  html
}

finish_pages <- function(site) {
  paths <- list.files(site$dst_path, "[.]html$", recursive = TRUE)
  texts <- vapply(file.path(site$dst_path, paths), read_page, "", USE.NAMES = FALSE)
  formulas <- unique(unlist(regmatches(texts, gregexpr(formula_pattern, texts, perl = TRUE))))
  html <- convert_formulas(formulas)
  pages <- own_pages(site)
  for (i in seq_along(paths)) {
    text <- edit_page(texts[i], paths[i], site, pages)
    for (k in which(vapply(formulas, grepl, NA, x = text, fixed = TRUE))) {
      text <- gsub(formulas[k], html[k], text, fixed = TRUE)
    }
    if (text != texts[i]) write_page(text, file.path(site$dst_path, paths[i]))
  }
  c(pages = length(paths), formulas = length(formulas))
}

# News: the latest version in full, earlier ones with their dates and how much changed.
news_index <- function(site) {
  folder <- file.path(site$dst_path, "news")
  lines <- readLines("NEWS.md", encoding = "UTF-8")
  heads <- grep("^# ", lines)
  version <- sub("^# bayeskernel ([0-9.]+).*", "\\1", lines[heads])
  date <- sub(".*\\((.*)\\)$", "\\1", lines[heads])
  minor <- sub("^([0-9]+[.][0-9]+).*", "\\1", version)
  bullets <- grep("^\\* ", lines)
  changes <- tabulate(factor(minor[findInterval(bullets, heads)], unique(minor)))
  first <- !duplicated(minor)
  breaking <- minor[findInterval(grep("^## Breaking changes", lines), heads)]
  told <- sprintf(
    "<li><a href=\"news-%1$s.html\">Version %1$s</a> (%2$s): %3$d changes%4$s</li>", minor[first],
    date[first], changes, ifelse(minor[first] %in% breaking, ", some breaking", "")
  )
  latest <- read_page(file.path(folder, sprintf("news-%s.html", minor[1])))
  body <- sub("(?s).*?</h1>\\s*</div>(.*?)</main>.*", "\\1", latest, perl = TRUE)
  file <- file.path(folder, "index.html")
  new <- paste0(
    body, "<div class=\"section level2\"><h2 id=\"earlier\">Earlier versions</h2>\n<ul>",
    paste(told[-1], collapse = "\n"), "</ul></div></main>"
  )
  text <- read_page(file)
  at <- regexpr("(?s)(?<=</h1>\n    </div>).*?</main>", text, perl = TRUE)
  regmatches(text, at) <- new
  write_page(text, file)
}

# The index of the search as a script, which a browser also loads from a folder: for each page its
# title and opening, and each of its sections, with the text of tables.
search_index <- function(site) {
  paths <- list.files(site$dst_path, "[.]html$", recursive = TRUE)
  paths <- paths[!grepl("404|reexports|_files/|(reference|articles)/index", paths)]
  alias <- lapply(site$topics$alias, function(name) {
    class <- "[.](bayeskernel_fit|default|formula|bkm|[a-z]*svm|mkprobit|bark|klr|seqkr)$"
    unique(sub(class, "", name))
  })
  names(alias) <- site$topics$file_out
  text_of <- function(nodes) {
    text <- gsub("\\s+", " ", paste(xml2::xml_text(nodes), collapse = " "))
    trimws(gsub("\u00a0|\u200b", " ", text))
  }
  page_entries <- function(path) {
    html <- xml2::read_html(file.path(site$dst_path, path), encoding = "UTF-8")
    main <- xml2::xml_find_first(html, "//main")
    title <- text_of(xml2::xml_find_first(main, ".//h1"))
    if (path == "index.html") title <- "Home"
    if (path == "LICENSE.html") title <- "License"
    if (path == "news/index.html") {
      main <- xml2::read_xml("<main>What changed in each version: the changelog.</main>")
    }
    if (path == "LICENSE.html") main <- xml2::read_xml("<main>GPL (>= 3)</main>")
    aside <- ".//a[@class='anchor'] | .//h1 | .//math//annotation"
    xml2::xml_remove(xml2::xml_find_all(main, aside))
    # Cells and list items are words of their own.
    for (node in xml2::xml_find_all(main, ".//td | .//th | .//li | .//dt | .//dd | .//p")) {
      xml2::xml_add_child(node, "span", " ")
    }
    entry <- function(node, id, what) {
      code <- xml2::xml_find_all(node, ".//pre")
      told <- text_of(code)
      xml2::xml_remove(code)
      list(
        path = path, id = id, dir = if (grepl("/", path)) dirname(path) else "", title = title,
        what = what, text = text_of(node), code = told,
        alias = paste(if (id == "") alias[[basename(path)]], collapse = " ")
      )
    }
    # The innermost sections first; each is taken out, and what stays is the opening. References and
    # usage tell nothing that a query asks for.
    sections <- rev(xml2::xml_find_all(main, ".//div[contains(@class, 'section')]"))
    made <- lapply(sections, function(node) {
      heading <- xml2::xml_find_first(node, "./h2 | ./h3 | ./h4")
      if (is.na(heading)) return(NULL)
      id <- xml2::xml_attr(heading, "id")
      what <- text_of(heading)
      if (is.na(id)) id <- ""
      xml2::xml_remove(heading)
      one <- if (!what %in% c("References", "Usage", "See also")) entry(node, id, what)
      xml2::xml_remove(node)
      one
    })
    c(list(entry(main, "", title)), rev(Filter(length, made)))
  }
  index <- unlist(lapply(paths, page_entries), recursive = FALSE)
  json <- jsonlite::toJSON(index, auto_unbox = TRUE)
  write_page(paste0("window.siteIndex = ", json, ";"), file.path(site$dst_path, "search.js"))
}
