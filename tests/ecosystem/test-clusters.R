# Clusters of other packages: fits are those of one process, to the bit.

data("bdf", package = "nlme")
old_threads <- options(bayeskernel.threads = 1L)

makers <- list(
  parallel = list(function() parallel::makePSOCKcluster(2), parallel::stopCluster),
  parallelly = list(function() parallelly::makeClusterPSOCK(2), parallel::stopCluster),
  snow = list(function() snow::makeSOCKcluster(2), snow::stopCluster),
  mirai = list(
    function() list(mirai::make_cluster(1), mirai::make_cluster(1)),
    function(cluster) for (one in cluster) parallel::stopCluster(one)
  ),
  Rmpi = list(function() snow::makeMPIcluster(2), snow::stopCluster)
)

compare <- function(fit, extract, info) {
  found <- lapply(list(NULL, info$cluster),
    function(cluster) extract(suppressWarnings(fit(cluster))))
  expect_identical(found[[2]], found[[1]], info = info$name)
}

# Several hundred rows for each worker; new libraries of this process are those of the workers.
old_libraries <- Sys.getenv("R_LIBS")
Sys.setenv(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))

for (name in names(makers)) {
  test_that(paste("fits by workers of", name, "equal those of one process"), {
    skip_if_not_installed(name)
    # MPI gives a process no workers where it was not started by mpirun with slots for them.
    cluster <- tryCatch(makers[[name]][[1]](), error = function(e) {
      if (name != "Rmpi") stop(e)
      skip(paste("MPI starts no workers:", conditionMessage(e)))
    })
    on.exit(makers[[name]][[2]](cluster))
    info <- list(cluster = cluster, name = name)
    rows <- bdf[rep(seq_len(nrow(bdf)), 3), ]
    formula <- langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR)
    for (method in c("vb", "ep")) {
      compare(function(cluster) {
        bkm(formula, rows, method = method, control = bkm_control(cluster = cluster))
      }, function(fit) list(coef(fit), fit$trace$elbo, fit$log_evidence), info)
    }
    compare(function(cluster) {
      gpsvm(depth > 300 ~ long + lat, quakes,
        method = "svi", kernel = rbf(1), tune = FALSE, seed = 1,
        control = gpsvm_control(cluster = cluster, epochs = 2)
      )
    }, function(fit) predict(fit, type = "link"), info)
    compare(function(cluster) {
      bkm(formula, bdf[1:300, ],
        method = "gibbs", chains = 2, ndraws = 50, seed = 1,
        control = bkm_control(cluster = cluster)
      )
    }, function(fit) as.array(fit), info)
  })
}

test_that("daemons that cannot keep rows are refused, and run chains", {
  skip_if_not_installed("mirai")
  cluster <- mirai::make_cluster(2)
  on.exit(parallel::stopCluster(cluster))
  expect_error(
    bkm(langPOST > 40 ~ ses, bdf, control = bkm_control(cluster = cluster)), "cannot keep rows",
    class = "bayeskernel_error_cluster"
  )
  chains <- function(cluster) {
    fit <- suppressWarnings(bkm(langPOST > 40 ~ ses, bdf[1:200, ],
      method = "gibbs", chains = 2, ndraws = 50, seed = 1, control = bkm_control(cluster = cluster)
    ))
    as.array(fit)
  }
  expect_identical(chains(cluster), chains(NULL))
})

Sys.setenv(R_LIBS = old_libraries)
options(old_threads)
