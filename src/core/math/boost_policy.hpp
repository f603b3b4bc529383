// How Boost answers. Only units of this folder include it.
#pragma once

#include <boost/math/policies/policy.hpp>

namespace bayeskernel {
namespace detail {
namespace bmp = boost::math::policies;

// Never by an exception, never in long double.
using QuietPolicy = bmp::policy<
    bmp::domain_error<bmp::ignore_error>, bmp::pole_error<bmp::ignore_error>,
    bmp::overflow_error<bmp::ignore_error>,
    bmp::evaluation_error<bmp::ignore_error>, bmp::promote_double<false>>;
}  // namespace detail
}  // namespace bayeskernel
