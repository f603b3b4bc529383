# The figure of README, man/figures/pupils.png, and the output that stands above it.
#
#   Rscript tools/readme-figures.R

library(bayeskernel)
cat("bayeskernel", format(packageVersion("bayeskernel")), "\n")
options(width = 80, digits = 3)
data("bdf", package = "nlme")
bdf$pass <- factor(bdf$langPOST > 40, labels = c("no", "yes"))
fit <- bkm(pass ~ IQ.verb + ses + langPRET + (1 | schoolNR), bdf)
summary(fit, exp = TRUE)
pupil <- data.frame(IQ.verb = 12, ses = 25, langPRET = 35, schoolNR = c("1", "new"))
predict(fit, pupil, type = "prob")
grDevices::png("man/figures/pupils.png", width = 1400, height = 520, res = 160, type = "cairo")
plot(fit, "partial", pars = c("IQ.verb", "langPRET"))
invisible(grDevices::dev.off())
