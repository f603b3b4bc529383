library(testthat)
library(bayeskernel)

test_check("bayeskernel")
