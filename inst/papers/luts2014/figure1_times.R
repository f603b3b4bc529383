# Times at one number of rows and columns. Our copy of the paper lacks its sizes. Its grid has 100
# hold-outs, for which the time of ours is scaled.

about <- list(
  title = "times of one fit and prediction", where = "Section 4.2",
  minutes = c(quick = 1, paper = 10), packages = "e1071",
  sizes = c(
    quick = "20 sets; 10 of 100 hold-outs for the SVM, whose time is scaled to 100",
    paper = "20 sets; 100 hold-outs for the SVM"
  )
)

run <- function() {
  scale <- 100 / pick(1, 10, 100)
  averaged(repeated(pick(2, 20, 20), function(k) {
    seconds <- penalty_ber(
      200, 20, pick(short_chain(), list(), list()), hold_outs = pick(1, 10, 100)
    )$seconds
    seconds[["SVM"]] <- seconds[["SVM"]] * scale
    c(
      "seconds, VB" = seconds[["VB"]], "seconds, Gibbs" = seconds[["Gibbs"]],
      "seconds, SVM with 100 hold-outs" = seconds[["SVM"]],
      "Gibbs takes times as long as VB" = seconds[["Gibbs"]] / seconds[["VB"]],
      "SVM takes times as long as VB" = seconds[["SVM"]] / seconds[["VB"]]
    )
  }))
}
