# The figures of README, man/figures/*.png, and the output that stands above the first.
#
#   Rscript tools/readme-figures.R

# Chains differ between machines by the width of their vectors; tools/site has the same.
Sys.setenv(BAYESKERNEL_SIMD = "avx2")
library(bayeskernel)
cat("bayeskernel", format(packageVersion("bayeskernel")), "\n")
options(width = 80, digits = 3)
data("bdf", package = "nlme")
bdf$pass <- factor(bdf$langPOST > 40, labels = c("no", "yes"))
fit <- bkm(pass ~ IQ.verb + ses + langPRET + (1 | schoolNR), bdf)
summary(fit, exp = TRUE)
pupil <- data.frame(IQ.verb = 12, ses = 25, langPRET = 35, schoolNR = c("1", "new"))
predict(fit, pupil, type = "prob")
draw <- function(name, code, width = 760, height = 500) {
  file <- file.path("man/figures", paste0(name, ".png"))
  grDevices::png(file, width, height, res = 160, type = "cairo")
  on.exit(grDevices::dev.off())
  code
}
draw("pupils", plot(fit, "partial", pars = c("IQ.verb", "langPRET")), 1400, 520)
draw("quakes", plot(gpsvm(depth > 300 ~ long + lat, quakes, seed = 1), "boundary"))
nile <- data.frame(year = 1871:1970, flow = as.numeric(Nile))
fit <- extend(seqkr(flow ~ year, nile[1:80, ], seed = 1), nile[81:100, ])
draw("nile", plot(fit, main = "Flow of the Nile, 95 % intervals"))
