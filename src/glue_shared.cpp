// What all models need: threads, moments of columns, kernels as matrices,
// diagnostics of chains.

// RcppParallel's views of R's vectors and matrices derive from std::iterator,
// which C++17 deprecates. Nothing here uses them.
#define __RCPP_PARALLEL_RVECTOR__
#define __RCPP_PARALLEL_RMATRIX__
#include <RcppParallel.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "glue_kernel.h"
#include "kernel/matrix.hpp"
#include "mcmc/convergence.hpp"
#include "rows/moments.hpp"

using namespace bayeskernel;

namespace {
// The first call, made when the package is loaded, remembers the process.
bool in_forked_child() {
  static const int loaded_in = getpid();
  return getpid() != loaded_in;
}

// TBB complains about more threads than there are cores for them.
int cores() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Known since the package was loaded.
std::thread::id main_thread() {
  static const std::thread::id loaded_in = std::this_thread::get_id();
  return loaded_in;
}

void check_interrupt(void*) { R_CheckUserInterrupt(); }

struct Blocks final : RcppParallel::Worker {
  explicit Blocks(const std::function<void(Index)>& body) : body(body) {}

  void operator()(std::size_t begin, std::size_t end) override {
    try {
      for (std::size_t block = begin; block < end && !failed; ++block) {
        body(static_cast<Index>(block));
      }
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
      failed = true;
    }
  }

  const std::function<void(Index)>& body;
  std::mutex mutex;
  std::exception_ptr failure;
  std::atomic<bool> failed{false};
};

#if RCPP_PARALLEL_USE_TBB

// parallelFor() makes an arena for each call, which lives on until its worker
// has left it: after thousands of short calls each took milliseconds. So there
// is one for each number of threads, as long as the process.
tbb::task_arena& arena_of(int threads) {
  static std::mutex mutex;
  static auto& arenas = *new std::map<int, tbb::task_arena>();
  const std::lock_guard<std::mutex> lock(mutex);
  return arenas.try_emplace(threads, threads).first->second;
}

void run_blocks(std::size_t count, Blocks& blocks, int threads) {
  const auto part = [&](const tbb::blocked_range<std::size_t>& range) {
    blocks(range.begin(), range.end());
  };
  // A thread that waits in a run within a run takes no other block of the
  // outer.
  arena_of(threads).execute([&] {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, 1), part);
    });
  });
}

#else

void run_blocks(std::size_t count, Blocks& blocks, int threads) {
  RcppParallel::parallelFor(0, count, blocks, 1, threads);
}

#endif
}  // namespace

RcppParallelExecutor::RcppParallelExecutor(int threads)
    : threads_(in_forked_child() ? 1 : std::min(threads, cores())) {}

void RcppParallelExecutor::run(Index n_blocks,
                               const std::function<void(Index)>& body) {
  if (threads_ == 1 || n_blocks == 1) {
    for (Index block = 0; block < n_blocks; ++block) {
      look();
      body(block);
    }
    return;
  }
  const std::function<void(Index)> asking = [&](Index block) {
    look();
    body(block);
  };
  Blocks blocks(asks_ ? asking : body);
  run_blocks(static_cast<std::size_t>(n_blocks), blocks, threads_);
  if (blocks.failure) std::rethrow_exception(blocks.failure);
}

void RcppParallelExecutor::look() {
  if (!asks_ || std::this_thread::get_id() != main_thread()) return;
  const auto time = std::chrono::steady_clock::now();
  if (time - last_ < std::chrono::milliseconds(100)) return;
  last_ = time;
  if (seen_interrupt()) throw PassInterrupted();
}

bool bayeskernel::seen_interrupt() {
  return R_ToplevelExec(check_interrupt, nullptr) == FALSE;
}

// [[Rcpp::export(rng = false)]]
void remember_process_cpp() {
  in_forked_child();
  main_thread();
}

// Mean, sd, range and number of NaN of the columns of a numeric matrix: of all
// rows, or of `count` from `first` on, counted from 0.
// [[Rcpp::export(rng = false)]]
Rcpp::List column_moments_cpp(const Rcpp::NumericMatrix& x, double first = 0,
                              double count = -1) {
  const Index from = static_cast<Index>(first);
  const Index rows = count < 0 ? x.nrow() : static_cast<Index>(count);
  const ColumnMoments moments =
      column_moments(map_matrix(x).middleRows(from, rows));
  return r_list({{"mean", moments.mean},
                 {"sd", moments.sd},
                 {"min", moments.minimum},
                 {"max", moments.maximum},
                 {"missing", moments.missing}});
}

// k(x_j, z_i), ncol(x) x ncol(z); rows of the data in the columns of x and z.
// [[Rcpp::export(rng = false)]]
Rcpp::List kernel_matrix_cpp(const Rcpp::List& kernel,
                             const Rcpp::NumericMatrix& x,
                             const Rcpp::NumericMatrix& z, int threads) {
  return guarded([&] {
    RcppParallelExecutor executor(threads);
    executor.ask();
    Rcpp::NumericMatrix out = Rcpp::no_init(x.ncol(), z.ncol());
    kernel_matrix(read_kernel(kernel), map_matrix(x), map_matrix(z), executor,
                  Eigen::Map<MatrixXd>(out.begin(), out.nrow(), out.ncol()));
    return r_list({{"values", out}});
  });
}

// Rows: variables. Columns: R-hat, bulk ESS, tail ESS, error of the mean.
// `draws` is iterations x chains x variables.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix convergence_cpp(const Rcpp::NumericVector& draws) {
  const Rcpp::IntegerVector dim = draws.attr("dim");
  const Index iterations = dim[0], chains = dim[1];
  Rcpp::NumericMatrix out(dim[2], 4);
  for (int v = 0; v < dim[2]; ++v) {
    const MatrixMap variable(draws.begin() + v * iterations * chains,
                             iterations, chains);
    const Convergence found = convergence(variable);
    out(v, 0) = found.rhat;
    out(v, 1) = found.ess_bulk;
    out(v, 2) = found.ess_tail;
    out(v, 3) = found.mcse_mean;
  }
  return out;
}
