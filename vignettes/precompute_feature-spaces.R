# The repeated splits of the vignette "feature-spaces", two minutes on one core. Run in this folder;
# writes feature-spaces_results.csv.
#
#   Rscript precompute_feature-spaces.R

library(bayeskernel)
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

# The simulated objects are those of the page.
page <- readLines("feature-spaces.Rmd")
first <- grep("^```\\{r data", page)
last <- grep("^```$", page)
eval(parse(text = page[(first + 1):(min(last[last > first]) - 1)]))

splits <- 5
rows_of <- function(spaces, rows) lapply(spaces, function(x) x[rows, , drop = FALSE])

# Log-loss and error of every way on the objects that are left out, and the learned weights.
score_split <- function(set, spaces, class, n, split) {
  set.seed(split)
  train <- sample(length(class), n)
  known <- rows_of(spaces, train)
  new <- rows_of(spaces, -train)
  y <- class[train]
  truth <- class[-train]
  fits <- lapply(known, mkprobit, y, seed = 1)
  learned <- mkprobit(known, y, kernel_weights = "learn", seed = 1)
  together <- function(x) do.call(cbind, lapply(unname(x), as.matrix))
  one <- mkprobit(together(known), y, seed = 1)
  p <- c(
    list(
      sum = predict(mkprobit(known, y, seed = 1), new, type = "prob"),
      "sum, learned weights" = predict(learned, new, type = "prob"),
      "product of classifiers" = predict(
        combine_classifiers(fits, rule = "product"), new, type = "prob"
      ),
      "one table" = predict(one, together(new), type = "prob")
    ),
    Map(function(fit, x) predict(fit, x, type = "prob"), fits, new)
  )
  weight <- kernel_weights(learned)$mean[match(names(p), names(spaces))]
  data.frame(
    set, split, model = names(p), log_loss = sapply(p, function(p) log_loss(truth, p)),
    error = sapply(p, function(p) mean(levels(class)[max.col(p)] != truth)), weight
  )
}

flowers <- list(
  sepal = iris[c("Sepal.Length", "Sepal.Width")], petal = iris[c("Petal.Length", "Petal.Width")]
)
results <- do.call(rbind, c(
  lapply(seq_len(splits), score_split, set = "simulated", spaces = objects, class = kind, n = 100),
  lapply(seq_len(splits), score_split, set = "iris", spaces = flowers, class = iris$Species, n = 90)
))
numbers <- c("log_loss", "error", "weight")
results[numbers] <- signif(results[numbers], 4)
results$version <- format(utils::packageVersion("bayeskernel"))
utils::write.csv(results, "feature-spaces_results.csv", row.names = FALSE, na = "")
