// Sums and products to some 31 digits: a number is the sum of two doubles, the
// second below half a unit of the first's last place (Dekker 1971). For what
// double precision cannot tell apart: columns that are almost the same.
#pragma once

namespace bayeskernel {
// What rounding took from the product of a and b.
double product_error(double a, double b, double product);

// The same for a sum.
double sum_error(double a, double b, double sum);

struct DoubleDouble {
  double high = 0.0, low = 0.0;

  DoubleDouble() = default;
  DoubleDouble(double x) : high(x) {}
  DoubleDouble(double a, double b) : high(a + b), low(sum_error(a, b, high)) {}

  explicit operator double() const { return high; }

  DoubleDouble operator-() const { return ordered(-high, -low); }

  friend DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
    const double s = a.high + b.high, t = a.low + b.low;
    const DoubleDouble first = ordered(s, sum_error(a.high, b.high, s) + t);
    return ordered(first.high, first.low + sum_error(a.low, b.low, t));
  }
  friend DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) {
    return a + (-b);
  }
  friend DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
    const double p = a.high * b.high;
    return ordered(p, product_error(a.high, b.high, p) +
                          (a.high * b.low + a.low * b.high));
  }
  friend DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
    const double first = a.high / b.high;
    const DoubleDouble left = a - b * DoubleDouble(first);
    const double second = left.high / b.high;
    const double third = (left - b * DoubleDouble(second)).high / b.high;
    return DoubleDouble(first, second) + DoubleDouble(third);
  }
  DoubleDouble& operator+=(const DoubleDouble& b) { return *this = *this + b; }
  DoubleDouble& operator-=(const DoubleDouble& b) { return *this = *this - b; }

  friend bool operator<(const DoubleDouble& a, const DoubleDouble& b) {
    return a.high < b.high || (a.high == b.high && a.low < b.low);
  }

 private:
  // |a| is not below |b|.
  static DoubleDouble ordered(double a, double b);
};

DoubleDouble sqrt(const DoubleDouble& x);
}  // namespace bayeskernel
