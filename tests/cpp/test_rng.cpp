#include <threefry.h>

#include "rng/stream.hpp"
#include <set>

#include "check.hpp"

using bayeskernel::Purpose;
using bayeskernel::Stream;
using bayeskernel::Threefry;
using bayeskernel::ThreefryWords;

static ThreefryWords encrypt(const ThreefryWords& key,
                             const ThreefryWords& counter) {
  ThreefryWords words;
  Threefry cipher(key);
  cipher(counter, words);
  return words;
}

// The vectors that Salmon et al. publish with their generator.
TEST("the block function gives the published words") {
  const std::uint64_t ones = ~std::uint64_t{0};
  CHECK(encrypt({0, 0, 0, 0}, {0, 0, 0, 0}) ==
        ThreefryWords{0x4071fabee1dc8e05, 0x02ed3113695c9c62,
                      0x397311b5b89f9d49, 0xe21292c3258024bc});
  CHECK(encrypt({ones, ones, ones, ones}, {ones, ones, ones, ones}) ==
        ThreefryWords{0x7eaed935479722b5, 0x90994358c429f31c,
                      0x496381083e07a75b, 0x627ed0d746821121});
  CHECK(encrypt({0x452821e638d01377, 0xbe5466cf34e90c6c, 0xc0ac29b7c97c50dd,
                 0x3f84d5b5b5470917},
                {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                 0x082efa98ec4e6c89}) ==
        ThreefryWords{0x4361288ef9c1900c, 0x8717291521782833,
                      0x0d19db18c20cf47e, 0xa0b41d63ac8581e5});
}

// Hands a key to sitmo's seed(), which derives the parity word from it.
struct KeyWords {
  using result_type = std::uint64_t;
  ThreefryWords key;
  void generate(std::uint64_t* first, std::uint64_t* last) const {
    for (int word = 0; first != last; ++word) {
      *first++ = key[word] >> 32;
      *first++ = key[word] & 0xffffffff;
    }
  }
};

TEST("a stream gives the words of sitmo's engine under the same key") {
  Stream keys(17, 0, 0, 0, 0);
  for (int trial = 0; trial < 50; ++trial) {
    const std::uint64_t seed = keys(), chain = keys(), purpose = keys(),
                        sweep = keys(), block = keys();
    KeyWords words{{seed, chain, purpose, 0}};
    sitmo::threefry_engine<std::uint64_t, 64, 13> reference(words);
    reference.set_counter(0, block, sweep, 0);
    Stream stream(seed, chain, purpose, sweep, block);
    bool equal = true;
    for (int i = 0; i < 41; ++i) equal = equal && stream() == reference();
    CHECK(equal);
  }
}

TEST("a stream is a function of its five coordinates") {
  Stream first(1, 2, Purpose::latent, 3, 4), again(1, 2, Purpose::latent, 3, 4);
  for (int i = 0; i < 10; ++i) CHECK(first() == again());
}

TEST("streams that differ in any coordinate share no word") {
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (int code = 0; code < 243; ++code) {
    Stream stream(code % 3, code / 3 % 3, code / 9 % 3, code / 27 % 3,
                  code / 81);
    for (int i = 0; i < 100; ++i, ++drawn) seen.insert(stream());
  }
  CHECK(seen.size() == drawn);
}

TEST("neighbouring streams are uncorrelated") {
  const int n = check::draws();
  const std::uint64_t base[5] = {1, 1, 1, 1, 1};
  for (int coordinate = 0; coordinate < 5; ++coordinate) {
    std::uint64_t c[5];
    std::copy(base, base + 5, c);
    ++c[coordinate];
    Stream here(1, 1, 1, 1, 1), there(c[0], c[1], c[2], c[3], c[4]);
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
      sum += (here.uniform() - 0.5) * (there.uniform() - 0.5);
    }
    // The product has variance 1/144; 4.42 is the normal quantile at 1e-5.
    CHECK(std::abs(sum) * 12.0 / std::sqrt(n) < 4.42);
  }
}

TEST("the first numbers of successive blocks, sweeps and chains are uniform") {
  std::vector<double> blocks, sweeps, chains;
  for (int i = 0; i < check::draws(); ++i) {
    blocks.push_back(Stream(1, 1, Purpose::latent, 1, i).uniform());
    sweeps.push_back(Stream(1, 1, Purpose::latent, i, 1).uniform());
    chains.push_back(Stream(1, i, Purpose::latent, 1, 1).uniform());
  }
  const auto uniform_cdf = [](double x) { return x; };
  CHECK_LAW(blocks, uniform_cdf);
  CHECK_LAW(sweeps, uniform_cdf);
  CHECK_LAW(chains, uniform_cdf);
}

TEST("uniforms are odd multiples of 2^-53, hence inside (0, 1)") {
  Stream stream(2, 0, 0, 0, 0);
  bool odd = true;
  for (int i = 0; i < 10000; ++i) {
    const double scaled = stream.uniform() * 0x1p53;
    odd = odd && scaled > 0.0 && scaled < 0x1p53 && std::fmod(scaled, 2.0) == 1;
  }
  CHECK(odd);
}

TEST("uniform, normal and exponential draws follow their laws") {
  Stream stream(3, 0, 0, 0, 0);
  std::vector<double> uniform, normal, exponential;
  for (int i = 0; i < 5 * check::draws(); ++i) {
    uniform.push_back(stream.uniform());
    normal.push_back(stream.normal());
    exponential.push_back(stream.exponential());
  }
  const auto uniform_cdf = [](double x) { return x; };
  const auto normal_cdf = [](double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
  };
  const auto exponential_cdf = [](double x) { return -std::expm1(-x); };
  CHECK_LAW(uniform, uniform_cdf);
  CHECK_LAW(normal, normal_cdf);
  CHECK_LAW(exponential, exponential_cdf);
}

// Kolmogorov-Smirnov is blind to the tails, where the ziggurat changes method.
TEST("normal draws beyond 3.5 are as many as they should be, and as far") {
  Stream stream(4, 0, 0, 0, 0);
  const int n = 100 * check::draws();
  std::vector<double> beyond;
  for (int i = 0; i < n; ++i) {
    const double x = std::abs(stream.normal());
    if (x > 3.5) beyond.push_back(x);
  }
  const double tail = std::erfc(3.5 / std::sqrt(2.0));
  CHECK(std::abs(beyond.size() - n * tail) < 4.42 * std::sqrt(n * tail));
  const auto tail_cdf = [&](double x) {
    return 1.0 - std::erfc(x / std::sqrt(2.0)) / tail;
  };
  CHECK_LAW(beyond, tail_cdf);
}
