# Relevance vectors and support vectors on the same data. The paper copies its figures from other
# papers, whose settings are not given.

about <- list(
  title = "sinc, batch methods", where = "Table 1",
  minutes = c(quick = 0.1, paper = 0.1), packages = "kernlab"
)

run <- function() {
  kernel <- kernlab::rbfdot(1 / 1.6^2)
  averaged(lapply(seq_len(pick(2, 25, 25)), function(set) {
    data <- sinc_data(set)
    rvm <- kernlab::rvm(data$x, data$y, kernel = kernel, verbosity = 0)
    svm <- kernlab::ksvm(data$x, data$y, kernel = kernel, type = "eps-svr", scaled = FALSE)
    f <- function(fit) kernlab::predict(fit, sinc_test())
    errors <- c(RVM = sinc_error(f(rvm)), SVM = sinc_error(f(svm)))
    sequential <- sinc_error(predict(sinc_fit(set), sinc_test()))
    c(
      "test error, RVM" = errors[["RVM"]], "kernels, RVM" = length(fit_vectors(rvm)),
      "test error, SVM" = errors[["SVM"]], "kernels, SVM" = kernlab::nSV(svm),
      "test error, sequential minus RVM" = sequential - errors[["RVM"]],
      "test error, sequential minus SVM" = sequential - errors[["SVM"]]
    )
  }))
}

fit_vectors <- function(rvm) methods::slot(rvm, "RVindex")
