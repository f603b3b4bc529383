// A few macros for tests that compile without R. A file defines TEST blocks,
// each is a behaviour; the program's last line is "N passed, N failed".
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

namespace check {
struct Test {
  const char* file;
  const char* name;
  void (*body)();
};

struct Run {
  std::vector<Test> tests;
  const char* current = "";
  int passed = 0;
  int failed = 0;
};

inline Run& run() {
  static Run the_run;
  return the_run;
}

struct Register {
  Register(const char* file, const char* name, void (*body)()) {
    run().tests.push_back({file, name, body});
  }
};

inline void record(bool ok, const char* file, int line, const char* text) {
  ++(ok ? run().passed : run().failed);
  if (!ok) {
    std::printf("%s:%d: \"%s\" fails: %s\n", file, line, run().current, text);
  }
}

// Two numbers within tolerance * (1 + |expected|); NaN equals NaN.
inline void record_near(double found, double expected, double tolerance,
                        const char* file, int line, const char* text) {
  const bool ok =
      (std::isnan(found) && std::isnan(expected)) || found == expected ||
      std::abs(found - expected) <= tolerance * (1.0 + std::abs(expected));
  record(ok, file, line, text);
  if (!ok) std::printf("  found %.17g, expected %.17g\n", found, expected);
}

// BAYESKERNEL_SLOW=true multiplies the draws of the statistical tests.
inline bool slow() {
  const char* value = std::getenv("BAYESKERNEL_SLOW");
  return value != nullptr && std::strcmp(value, "true") == 0;
}

inline int draws() { return slow() ? 250000 : 20000; }

// Two-sided Kolmogorov-Smirnov test at a false alarm rate of 1e-5, that is
// sqrt(log(2e5) / 2), with the correction of Stephens (1970) for finite n.
template <class Cdf>
void record_law(std::vector<double> sample, Cdf cdf, const char* file, int line,
                const char* text) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double p = cdf(sample[i]);
    distance = std::max({distance, p - i / n, (i + 1) / n - p});
  }
  const double root = std::sqrt(n);
  const double statistic = (root + 0.12 + 0.11 / root) * distance;
  record(statistic < 2.4705, file, line, text);
  if (!(statistic < 2.4705)) std::printf("  statistic %.3f\n", statistic);
}

// The end of `path`, a path or a name, is `name`.
inline bool is_file(const char* path, const char* name) {
  const std::size_t all = std::strlen(path), end = std::strlen(name);
  return all >= end && std::strcmp(path + all - end, name) == 0;
}

// Tests of the file that is named, of all without a name. None is a failure.
inline int main(int count, char** words) {
  for (const Test& test : run().tests) {
    if (count > 1 && !is_file(test.file, words[1])) continue;
    run().current = test.name;
    try {
      test.body();
    } catch (const std::exception& error) {
      record(false, __FILE__, __LINE__, error.what());
    }
  }
  if (run().passed == 0) record(false, __FILE__, __LINE__, "no checks");
  std::printf("%d passed, %d failed\n", run().passed, run().failed);
  return run().failed == 0 ? 0 : 1;
}
}  // namespace check

#define CHECK_JOIN_(a, b) a##b
#define CHECK_JOIN(a, b) CHECK_JOIN_(a, b)

#define TEST(name)                                              \
  static void CHECK_JOIN(test_, __LINE__)();                    \
  static const check::Register CHECK_JOIN(register_, __LINE__){ \
      __FILE__, name, CHECK_JOIN(test_, __LINE__)};             \
  static void CHECK_JOIN(test_, __LINE__)()

#define CHECK(...)                                                  \
  check::record(static_cast<bool>(__VA_ARGS__), __FILE__, __LINE__, \
                #__VA_ARGS__)

#define CHECK_NEAR(found, expected, tolerance)                       \
  check::record_near(found, expected, tolerance, __FILE__, __LINE__, \
                     #found " = " #expected)

// `sample` follows the law with this cumulative distribution function.
#define CHECK_LAW(sample, cdf) \
  check::record_law(sample, cdf, __FILE__, __LINE__, #sample " ~ " #cdf)

#define CHECK_THROWS(expression, type)                      \
  do {                                                      \
    bool thrown = false;                                    \
    try {                                                   \
      expression;                                           \
    } catch (const type&) {                                 \
      thrown = true;                                        \
    }                                                       \
    check::record(thrown, __FILE__, __LINE__, #expression); \
  } while (false)

int main(int count, char** words) { return check::main(count, words); }
