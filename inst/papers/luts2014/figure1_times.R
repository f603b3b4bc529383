# Times at one number of rows and columns. Our copy of the paper lacks its sizes. Its grid has 100
# hold-outs, for which the time of ours is scaled.

about <- list(
  title = "times of one fit and prediction", where = "Section 4.2",
  minutes = c(quick = 0.3, paper = 10), packages = "e1071"
)

run <- function() {
  rows <- repeated(pick(1, 5, 20), function(k) {
    penalty_ber(200, 20, pick(short_chain(), list(), list()))$seconds
  })
  seconds <- apply(do.call(rbind, rows), 2, stats::median)
  seconds[["SVM"]] <- seconds[["SVM"]] * 100 / pick(1, 2, 100)
  measured(
    "seconds, VB" = seconds[["VB"]], "seconds, Gibbs" = seconds[["Gibbs"]],
    "seconds, SVM with 100 hold-outs" = seconds[["SVM"]],
    "Gibbs takes times as long as VB" = seconds[["Gibbs"]] / seconds[["VB"]],
    "SVM takes times as long as VB" = seconds[["SVM"]] / seconds[["VB"]]
  )
}
