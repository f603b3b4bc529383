// Covariance functions and blocks of their matrices.
#ifndef BAYESKERNEL_KERNEL_KERNEL_HPP
#define BAYESKERNEL_KERNEL_KERNEL_HPP



#endif
