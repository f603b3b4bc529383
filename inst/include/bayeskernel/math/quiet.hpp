// How Boost's special functions answer: never by an exception, never in long
// double.
#ifndef BAYESKERNEL_MATH_QUIET_HPP
#define BAYESKERNEL_MATH_QUIET_HPP

#include <boost/math/policies/policy.hpp>

namespace bayeskernel {
namespace detail {

namespace bmp = boost::math::policies;

using QuietPolicy = bmp::policy<
    bmp::domain_error<bmp::ignore_error>, bmp::pole_error<bmp::ignore_error>,
    bmp::overflow_error<bmp::ignore_error>,
    bmp::evaluation_error<bmp::ignore_error>, bmp::promote_double<false>>;

}  // namespace detail
}  // namespace bayeskernel

#endif
