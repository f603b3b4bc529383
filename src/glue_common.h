// What every glue file shares: the executor on RcppParallel, the callback that
// watches for an interrupt and draws the progress bar, and the way core
// exceptions reach R.
#pragma once

#include <R_ext/Utils.h>
#include <Rcpp.h>

#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>

#include "eigen.hpp"
#include "error.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {
// Copies for R. RcppEigen.h would do it too, and doubles the time and memory
// of a compilation.
inline Rcpp::NumericVector to_r(const VectorXd& v) {
  return Rcpp::NumericVector(v.data(), v.data() + v.size());
}

inline Rcpp::NumericMatrix to_r(const MatrixXd& m) {
  return Rcpp::NumericMatrix(static_cast<int>(m.rows()),
                             static_cast<int>(m.cols()), m.data());
}

inline Rcpp::List to_r(const std::vector<MatrixXd>& matrices) {
  Rcpp::List out(matrices.size());
  for (std::size_t k = 0; k < matrices.size(); ++k) out[k] = to_r(matrices[k]);
  return out;
}

// A list of R by names, and what one holds: r_list({{"mean", mean}, ...}).
struct NamedValue {
  template <class T>
  NamedValue(const char* name, const T& value)
      : name(name), value(Rcpp::wrap(value)) {}
  NamedValue(const char* name, SEXP value) : name(name), value(value) {}
  NamedValue(const char* name, const VectorXd& value)
      : name(name), value(to_r(value)) {}
  NamedValue(const char* name, const MatrixXd& value)
      : name(name), value(to_r(value)) {}
  NamedValue(const char* name, const std::vector<MatrixXd>& value)
      : name(name), value(to_r(value)) {}

  const char* name;
  Rcpp::RObject value;
};

inline Rcpp::List r_list(std::initializer_list<NamedValue> values) {
  Rcpp::List out(values.size());
  Rcpp::CharacterVector names(values.size());
  R_xlen_t at = 0;
  for (const NamedValue& one : values) {
    out[at] = one.value;
    names[at++] = one.name;
  }
  out.names() = names;
  return out;
}

// An element of a list, or NULL.
inline SEXP element(const Rcpp::List& list, const char* name) {
  return list.containsElementNamed(name) ? SEXP(list[name]) : R_NilValue;
}

// An element as numbers of C++; sizes may be numbers.
template <class T>
T read(const Rcpp::List& from, const char* name) {
  const SEXP x = from[name];
  if constexpr (std::is_same_v<T, Index> || std::is_same_v<T, std::uint64_t>) {
    return static_cast<T>(Rcpp::as<double>(x));
  } else {
    return Rcpp::as<T>(x);
  }
}

// `otherwise` where it is missing or NULL.
template <class T>
T read_or(const Rcpp::List& from, const char* name, T otherwise) {
  return Rf_isNull(element(from, name)) ? otherwise : read<T>(from, name);
}

// Views of R's memory: no copy, never written to. A coerced copy would be gone
// before the view; NULL has no elements.
inline const double* r_numbers(SEXP x) {
  if (Rf_isNull(x)) return nullptr;
  if (TYPEOF(x) != REALSXP) {
    throw ArgumentError("something is not of numbers");
  }
  return REAL(x);
}

inline MatrixMap map_matrix(SEXP x) {
  const double* values = r_numbers(x);
  if (!Rf_isMatrix(x)) {
    throw ArgumentError("something is not a matrix");
  }
  // R takes the sizes from a file as they are.
  if (static_cast<double>(Rf_nrows(x)) * Rf_ncols(x) !=
      static_cast<double>(Rf_xlength(x))) {
    throw ArgumentError("a matrix has not the size that it says");
  }
  return MatrixMap(values, Rf_nrows(x), Rf_ncols(x));
}

inline VectorMap map_vector(SEXP x) {
  return VectorMap(r_numbers(x), Rf_xlength(x));
}

inline Eigen::Map<const Eigen::VectorXi> map_integers(SEXP x) {
  // A coerced copy would be gone before the view.
  if (TYPEOF(x) != INTSXP) {
    throw ArgumentError("something is not of whole numbers");
  }
  return Eigen::Map<const Eigen::VectorXi>(INTEGER(x), Rf_xlength(x));
}

// Runs blocks on RcppParallel, whose headers glue_shared.cpp alone reads. TBB
// does not survive a fork: a child process runs serially.
class RcppParallelExecutor final : public Executor {
 public:
  explicit RcppParallelExecutor(int threads);
  int threads() const override { return threads_; }
  void run(Index n_blocks, const std::function<void(Index)>& body) override;

  // From now on run() looks for an interrupt between blocks, which leaves by
  // PassInterrupted: for work that no UserCallback watches.
  RcppParallelExecutor& ask(bool asks = true) {
    asks_ = asks;
    return *this;
  }
  // For long blocks. Only the main thread looks, every tenth of a second.
  void look();
  std::function<void()> looks() {
    return [this] { look(); };
  }

 private:
  int threads_;
  bool asks_ = false;
  std::chrono::steady_clock::time_point last_;
};

// Was there an interrupt? R's flag is cleared by the check that sees it.
bool seen_interrupt();

// False when it was interrupted.
template <class Work>
bool finished(Work&& work) {
  try {
    work();
  } catch (const PassInterrupted&) {
    return false;
  }
  return true;
}
// The same of what follows a fit.
template <class Work>
bool finished(RcppParallelExecutor& executor, Work&& work) {
  executor.ask();
  return finished(work);
}

// Asked by the core between rounds, on the main thread: at most every tenth of
// a second looks for an interrupt and redraws the bar.
class UserCallback {
 public:
  explicit UserCallback(bool progress)
      : progress_(progress), start_(Clock::now()), last_(start_) {}
  ~UserCallback() {
    if (shown_ == 0) return;
    REprintf("\r%*s\r", shown_, "");
    R_FlushConsole();
  }
  UserCallback(const UserCallback&) = delete;
  UserCallback& operator=(const UserCallback&) = delete;

  // Looks at once.
  bool interrupted() {
    if (!interrupted_) {
      interrupted_ = seen_interrupt();
    }
    return interrupted_;
  }

  KeepGoing keep_going() {
    return [this](const Progress& now) { return ask(now); };
  }

 private:
  using Clock = std::chrono::steady_clock;

  // An interrupt is final.
  bool ask(const Progress& now) {
    const auto time = Clock::now();
    if (interrupted_ || seconds(time - last_) < 0.1) return !interrupted_;
    last_ = time;
    if (progress_ && !interrupted()) draw(now, seconds(time - start_));
    return !interrupted();
  }

  static double seconds(Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  }

  void draw(const Progress& now, double elapsed) {
    constexpr int kWidth = 30;
    const double share =
        now.total > 0.0 ? std::clamp(now.done / now.total, 0.0, 1.0) : 0.0;
    const int full = static_cast<int>(share * kWidth);
    char text[96];
    int length =
        std::snprintf(text, sizeof text, "%-8.12s [%s%s] %3.0f%%", now.phase,
                      std::string(full, '=').c_str(),
                      std::string(kWidth - full, ' ').c_str(), 100.0 * share);
    // The first moments tell little about the time that is left.
    if (share > 0.0 && elapsed > 0.5) {
      const double left = std::ceil(elapsed * (1.0 - share) / share);
      length += std::snprintf(text + length, sizeof text - length,
                              ", %.0f:%02d left", std::floor(left / 60.0),
                              static_cast<int>(std::fmod(left, 60.0)));
    }
    REprintf("\r%-*s", std::max(shown_, length), text);
    R_FlushConsole();
    shown_ = std::max(shown_, length);
  }

  bool progress_;
  bool interrupted_ = false;
  int shown_ = 0;  // characters on the line of the bar
  Clock::time_point start_, last_;
};

// Runs `body`, which answers with an R object; an exception of the core becomes
// a list that core_call() of the R side raises as a classed condition.
template <class Body>
auto guarded(Body&& body) -> decltype(body()) {
  using Answer = decltype(body());
  const auto failed = [](const char* kind, const char* message) -> Answer {
    Rcpp::List out = r_list({{"kind", kind}, {"message", message}});
    out.attr("class") = "bayeskernel_core_error";
    return out;
  };
  try {
    return body();
  } catch (const PassInterrupted&) {
    return failed("interrupt", "");
  } catch (const NumericError& error) {
    return failed("numeric", error.what());
  } catch (const Error& error) {
    return failed("argument", error.what());
  } catch (const Rcpp::index_out_of_bounds& error) {
    return failed("argument", error.what());  // a list has no such element
  } catch (const Rcpp::not_compatible& error) {
    return failed("argument", error.what());
  } catch (const std::bad_alloc&) {
    return failed("numeric", "there is not enough memory");
  }
}
}  // namespace bayeskernel
