# The data sets of the papers: where each may come from. A set is
#   title, paper      what it is, which paper has it
#   rows, columns     what the table must have, the response in it
#   package           "package::object", or NULL
#   from_package      makes the table of that object
#   files             readers, by the name of a file in a folder of data; the
#                     first is that of the prepared table, later ones are of the
#                     source's own files
#   url               of the source's file that files[["..."]] reads, by name
#   make              makes the table without any data, or NULL
#   origin, licence   printed before anything is downloaded

uci <- function(path) paste0("https://archive.ics.uci.edu/ml/machine-learning-databases/", path)

# Numbers and a label at the end.
read_prepared <- function(file) utils::read.csv(file, stringsAsFactors = TRUE)

# No header; the label in column `label`, `drop` left out.
raw_reader <- function(names, label = NULL, sep = ",", drop = NULL, skip = 0) {
  function(file) {
    table <- utils::read.table(
      file, sep = sep, header = FALSE, skip = skip, stringsAsFactors = TRUE, na.strings = "?",
      comment.char = "", quote = ""
    )
    if (length(names) != ncol(table)) {
      bad_data_file(file, sprintf("%d columns", ncol(table)), sprintf("%d columns", length(names)))
    }
    names(table) <- names
    last_column(table[setdiff(names, drop)], label)
  }
}

last_column <- function(table, label) {
  if (is.null(label)) table else table[c(setdiff(names(table), label), label)]
}

numbered <- function(stem, count) paste0(stem, seq_len(count))

read_spambase <- function(file) {
  table <- raw_reader(c(spam_names, "type"))(file)
  table$type <- factor(table$type, 0:1, c("nonspam", "spam"))
  table
}

spam_names <- c(
  "make", "address", "all", "num3d", "our", "over", "remove", "internet", "order", "mail",
  "receive", "will", "people", "report", "addresses", "free", "business", "email", "you", "credit",
  "your", "font", "num000", "money", "hp", "hpl", "george", "num650", "lab", "labs", "telnet",
  "num857", "data", "num415", "num85", "technology", "num1999", "parts", "pm", "direct", "cs",
  "meeting", "original", "project", "re", "edu", "table", "conference", "charSemicolon",
  "charRoundbracket", "charSquarebracket", "charExclamation", "charDollar", "charHash",
  "capitalAve", "capitalLong", "capitalTotal"
)

# An R image, as Vanderbilt's department of biostatistics gives it out.
read_acath_image <- function(file) {
  home <- new.env()
  load(file, home)
  home$acath
}

acath_columns <- c("sex", "age", "cad.dur", "choleste", "tvdlm", "sigdz")

# The table with its rows in one order, so that splits do not depend on where it came from; copies
# differ in the order of rows and columns, not in a cell.
settle_acath <- function(table) {
  table <- data.frame(lapply(table[acath_columns], as.integer))
  table <- table[do.call(order, table), ]
  rownames(table) <- NULL
  table
}

# All ways to load a balance: the heavier side, or B.
make_balance <- function() {
  table <- expand.grid(
    right_distance = 1:5, right_weight = 1:5, left_distance = 1:5, left_weight = 1:5
  )[4:1]
  turn <- table$left_weight * table$left_distance - table$right_weight * table$right_distance
  data.frame(table, class = factor(c("R", "B", "L")[sign(turn) + 2]))
}

# The raw file counts the classes as D1 to D4; columns that are constant carry nothing.
settle_soybean <- function(table) {
  table$class <- factor(table$class)
  keep <- vapply(table, function(x) length(unique(x)) > 1L, TRUE)
  table[keep]
}

# Four feature spaces of the same digits, in one order. A file is the source's (blanks, no label,
# digits in order) or a table with the digit in `class`.
read_mfeat <- function(files) {
  spaces <- lapply(files, function(file) {
    lines <- readLines(file, 2L)
    prepared <- grepl(",", lines[1L], fixed = TRUE)
    table <- utils::read.table(file, header = prepared, sep = if (prepared) "," else "")
    as.matrix(if (prepared) table[-ncol(table)] else table)
  })
  data.frame(lapply(spaces, I), class = factor(rep(0:9, each = nrow(spaces[[1L]]) / 10)))
}

# The authors' views of the proteins, every row divided by its norm; folds and the division come
# with the features.
read_protein <- function(files) {
  labels <- utils::read.csv(files[["labels"]])
  table <- utils::read.csv(files[["views"]])
  spaces <- c("composition", "structure", "hydrophobicity", "volume", "polarity", "polarizability")
  views <- lapply(stats::setNames(seq_along(spaces), spaces), function(view) {
    x <- as.matrix(table[startsWith(names(table), sprintf("v%02d_", view))])
    I(x / sqrt(rowSums(x^2)))
  })
  data.frame(views, set = labels$set, class = factor(labels$fold))
}

read_susy <- function(file) {
  table <- utils::read.csv(file, header = FALSE, nrows = 11000)
  features <- susy_features
  names(table) <- c("y", features, numbered("high", ncol(table) - 9L))
  data.frame(
    lapply(table[features], function(x) (x - mean(x)) / stats::sd(x)),
    set = rep(c("train", "test"), c(nrow(table) - 1000L, 1000L)), y = ifelse(table$y == 1, 1L, -1L)
  )
}

susy_features <- c(
  "lepton1_pt", "lepton1_eta", "lepton1_phi", "lepton2_pt", "lepton2_eta",
  "lepton2_phi", "met", "met_phi"
)

# Predictors as numbers, the response last.
matrix_and <- function(x, ...) data.frame(lapply(x, function(v) as.numeric(as.character(v))), ...)

raetsch_set <- function(name, rows, columns, ...) {
  ending <- if (name == "waveform") ".csv.gz" else ".csv"
  list(
    title = paste("Raetsch's benchmark,", sub("_", " ", name)),
    paper = "wenzel2017", rows = rows, columns = columns + 1L,
    files = stats::setNames(list(read_prepared), paste0("raetsch_", name, ending)),
    origin = paste(
      "UCI, as prepared by G. Raetsch; distinct patterns, in the repository",
      "theogf/BayesianSVM of the paper's authors"
    ),
    licence = "UCI: CC BY 4.0; none is stated for the preparation", ...
  )
}

paper_sets <- list(
  toenail = list(
    title = "Toenail infection, 294 patients", paper = "luts2014",
    rows = 1908L, columns = 5L, package = "HSAUR3::toenail",
    origin = "De Backer et al. (1998), in package HSAUR3", licence = "GPL-2"
  ),
  spam = list(
    title = "Words in e-mails", paper = "luts2014", rows = 4601L, columns = 58L,
    package = "kernlab::spam",
    files = list(spam.csv = read_prepared, spambase.data = read_spambase),
    url = c(spambase.data = uci("spambase/spambase.data")),
    origin = "UCI Spambase", licence = "CC BY 4.0"
  ),
  acath = list(
    title = "Chest pain at Duke University", paper = "luts2014", rows = 3504L,
    columns = 6L, files = list(acath.csv = read_prepared, acath.sav = read_acath_image),
    settle = settle_acath, digest = "1c43af642bc762538082fb542334fd0b",
    url = c(acath.sav = "https://hbiostat.org/data/repo/acath.sav"),
    origin = paste(
      "Duke Databank for Cardiovascular Disease, given out by Vanderbilt",
      "University, hbiostat.org/data"
    ),
    licence = "free use with acknowledgement"
  ),
  breast_cancer = raetsch_set("breast_cancer", 263L, 9L),
  diabetis = raetsch_set("diabetis", 768L, 8L,
    package = "mlbench::PimaIndiansDiabetes",
    from_package = function(x) matrix_and(x[1:8], y = ifelse(x$diabetes == "pos", 1L, -1L))
  ),
  flare_solar = raetsch_set("flare_solar", 144L, 9L),
  german = raetsch_set("german", 1000L, 20L),
  heart = raetsch_set("heart", 270L, 13L),
  splice = raetsch_set("splice", 2991L, 60L),
  waveform = raetsch_set("waveform", 5000L, 21L),
  usps = list(
    title = "Handwritten digits 3 and 5", paper = "wenzel2017", rows = 1540L,
    columns = 257L, files = list(usps_3vs5.csv.gz = read_prepared),
    package = "IMIFA::USPSdigits", from_package = function(x) {
      both <- rbind(x$train, x$test)
      own <- both[both[[1L]] %in% c(3, 5), ]
      data.frame(own[-1L], digit = own[[1L]])
    },
    origin = "US Postal Service, Hull (1994); in package IMIFA",
    licence = "research use"
  ),
  susy = list(
    title = "Collisions, 11,000 of 5 million, 8 of 18 columns",
    paper = "wenzel2017", rows = 11000L, columns = 10L, files = list(
      susy_lowlevel_11k.csv = read_prepared, SUSY.csv.gz = read_susy
    ),
    url = c(SUSY.csv.gz = uci("00279/SUSY.csv.gz")),
    origin = "UCI SUSY, Baldi et al. (2014); the file has 0.9 GB",
    licence = "CC BY 4.0"
  ),
  balance = list(
    title = "Balance scale", paper = "damoulas2009", rows = 625L, columns = 5L, make = make_balance,
    origin = "all 625 cases, as UCI Balance Scale", licence = "CC BY 4.0"
  ),
  crabs = list(
    title = "Leptograpsus crabs, species and sex", paper = "damoulas2009",
    rows = 200L, columns = 6L, package = "MASS::crabs",
    from_package = function(x) data.frame(x[4:8], class = interaction(x$sp, x$sex)),
    origin = "Campbell and Mahon (1974), in package MASS", licence = "GPL"
  ),
  glass = list(
    title = "Glass of six kinds", paper = "damoulas2009", rows = 214L,
    columns = 10L, package = "mlbench::Glass",
    files = list(glass.data = function(file) {
      own <- c("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")
      table <- raw_reader(c("id", own, "Type"), drop = "id")(file)
      table$Type <- factor(table$Type)
      table
    }),
    url = c(glass.data = uci("glass/glass.data")),
    origin = "UCI Glass Identification", licence = "CC BY 4.0"
  ),
  iris = list(
    title = "Iris", paper = "damoulas2009", rows = 150L, columns = 5L,
    package = "datasets::iris", origin = "Fisher (1936)", licence = "public"
  ),
  soybean = list(
    title = "Soybean, small", paper = "damoulas2009", rows = 47L,
    columns = 22L, files = list(
      soybean_small.csv = read_prepared,
      "soybean-small.data" = raw_reader(c(numbered("v", 35), "class"))
    ),
    settle = settle_soybean,
    url = c("soybean-small.data" = uci("soybean/soybean-small.data")),
    origin = "UCI Soybean (Small)", licence = "CC BY 4.0"
  ),
  vehicle = list(
    title = "Silhouettes of vehicles", paper = "damoulas2009", rows = 846L, columns = 19L,
    package = "mlbench::Vehicle", origin = "Statlog, UCI; in package mlbench", licence = "CC BY 4.0"
  ),
  wine = list(
    title = "Wines of three growers", paper = "damoulas2009", rows = 178L,
    columns = 14L, package = "gclus::wine",
    from_package = function(x) data.frame(x[-1L], class = factor(x[[1L]])),
    files = list(
      wine.csv = read_prepared, wine.data = raw_reader(c("class", numbered("v", 13)), "class")
    ),
    settle = function(table) transform(table, class = factor(class)),
    url = c(wine.data = uci("wine/wine.data")),
    origin = "UCI Wine", licence = "CC BY 4.0"
  ),
  numerals = list(
    title = "Handwritten numerals, four feature spaces",
    paper = "damoulas2009", rows = 2000L, columns = 5L,
    groups = list(
      list(
        fourier = "mfeat_fou.csv.gz", karhunen = "mfeat_kar.csv.gz",
        pixels = "mfeat_pix.csv", zernike = "mfeat_zer.csv.gz"
      ),
      list(
        fourier = "mfeat-fou", karhunen = "mfeat-kar", pixels = "mfeat-pix", zernike = "mfeat-zer"
      )
    ),
    read_group = read_mfeat, url = c(
      "mfeat-fou" = uci("mfeat/mfeat-fou"), "mfeat-kar" = uci("mfeat/mfeat-kar"),
      "mfeat-pix" = uci("mfeat/mfeat-pix"), "mfeat-zer" = uci("mfeat/mfeat-zer")
    ),
    origin = "UCI Multiple Features", licence = "CC BY 4.0"
  ),
  protein = list(
    title = "Proteins of 27 folds, six feature spaces",
    paper = "damoulas2009", rows = 694L, columns = 8L,
    groups = list(list(labels = "protein_fold_features.csv", views = "protein_fold_kpca12.csv.gz")),
    read_group = read_protein,
    origin = paste(
      "Ding and Dubchak (2001); 27 coordinates of each of the authors' feature",
      "spaces, public repository ChuanbinZhang/Multi-view-datasets"
    ),
    licence = "none is stated; research use"
  ),
  boston = list(
    title = "Houses in Boston", paper = "ouyang2008, vermaak2004", rows = 506L,
    columns = 14L, package = "MASS::Boston",
    origin = "Harrison and Rubinfeld (1978), in package MASS", licence = "GPL"
  ),
  bodyfat = list(
    title = "Body fat of men", paper = "ouyang2008", rows = 252L,
    columns = 15L, files = list(
      bodyfat.csv = read_prepared, bodyfat = function(file) {
        lines <- readLines(file, warn = FALSE)
        cells <- strsplit(trimws(lines), "[[:space:]]+")
        of <- vapply(cells, function(x) {
          length(x) == 15L && !anyNA(suppressWarnings(as.numeric(x)))
        }, TRUE)
        table <- do.call(rbind, lapply(cells[of], as.numeric))
        table <- stats::setNames(data.frame(table), c(
          "density", "bodyfat", "age", "weight", "height", "neck", "chest", "abdomen", "hip",
          "thigh", "knee", "ankle", "biceps", "forearm", "wrist"
        ))
        last_column(table, "bodyfat")
      }
    ),
    url = c(bodyfat = "https://lib.stat.cmu.edu/datasets/bodyfat"),
    origin = "StatLib, Penrose et al. (1985)", licence = "non-commercial use"
  ),
  basketball = list(
    title = "Points of basketball players", paper = "ouyang2008", rows = 96L,
    columns = 5L, files = list(basketball.csv = read_prepared),
    origin = "StatLib smoothmeth, baskball.dat; Simonoff (1996)",
    licence = "scientific use with acknowledgement"
  ),
  banknote = list(
    title = "Swiss bank notes", paper = "ouyang2008", rows = 200L,
    columns = 7L, package = "mclust::banknote", from_package = function(x) {
      data.frame(x[-1L], counterfeit = +(x$Status == "counterfeit"))
    },
    origin = "Flury and Riedwyl (1988), in package mclust", licence = "GPL"
  ),
  wdbc = list(
    title = "Breast cancer, Wisconsin, diagnostic", paper = "ouyang2008",
    rows = 569L, columns = 31L, package = "mclust::wdbc",
    from_package = function(x) data.frame(x[3:32], malignant = +(x$Diagnosis == "M")),
    files = list(wdbc.data = function(file) {
      table <- raw_reader(c("id", "diagnosis", numbered("v", 30)), "diagnosis", drop = "id")(file)
      data.frame(table[1:30], malignant = +(table$diagnosis == "M"))
    }),
    url = c(wdbc.data = uci("breast-cancer-wisconsin/wdbc.data")),
    origin = "UCI Breast Cancer Wisconsin (Diagnostic)", licence = "CC BY 4.0"
  ),
  ionosphere = list(
    title = "Radar returns", paper = "ouyang2008", rows = 351L, columns = 34L,
    package = "mlbench::Ionosphere", from_package = function(x) {
      # The second column is constant.
      matrix_and(x[c(1L, 3:34)], good = +(x$Class == "good"))
    },
    files = list(ionosphere.data = function(file) {
      table <- raw_reader(c(numbered("V", 34), "Class"))(file)
      matrix_and(table[c(1L, 3:34)], good = +(table$Class == "g"))
    }),
    url = c(ionosphere.data = uci("ionosphere/ionosphere.data")),
    origin = "UCI Ionosphere", licence = "CC BY 4.0"
  )
)
