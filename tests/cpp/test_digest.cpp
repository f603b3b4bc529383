#include "rows/digest.hpp"
#include <limits>
#include <set>
#include <string>

#include "check.hpp"

using bayeskernel::Digest;

namespace {
template <class... Values>
std::uint64_t of(Values... values) {
  Digest digest;
  (digest.add(static_cast<double>(values)), ...);
  return digest.value();
}

std::uint64_t of_text(const std::string& text) {
  Digest digest;
  digest.add(text.data(), text.size());
  return digest.value();
}
}  // namespace

TEST("a digest tells values and their order apart") {
  // The first number of splitmix64 from the seed 0.
  CHECK(of(0.0) == 0xe220a8397b1dcdafu);
  CHECK(of(-0.0) == of(0.0));
  CHECK(of(-std::numeric_limits<double>::quiet_NaN()) ==
        of(std::numeric_limits<double>::signaling_NaN()));
  CHECK(of(1, 2) != of(2, 1));
  CHECK(of(1) != of(1, 0));
  CHECK(of(1.0) != of(1.0 + 1e-15));
  CHECK(of_text("ab") != of_text("ba"));
  CHECK(of_text("12345678a") != of_text("a12345678"));
  CHECK(of_text("") != of_text(std::string(1, '\0')));
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 300; ++i) {
    for (int k = 0; k < 300; ++k) seen.insert(of(i, k));
  }
  CHECK(seen.size() == 90000u);
}
