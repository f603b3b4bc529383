// Buffers that blocks borrow: as many exist as run at once.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace bayeskernel {
template <class Scratch>
class ScratchPool {
 public:
  class Loan {
   public:
    Loan(ScratchPool& pool, std::unique_ptr<Scratch> scratch)
        : pool_(pool), scratch_(std::move(scratch)) {}
    ~Loan() { pool_.give_back(std::move(scratch_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Scratch& operator*() { return *scratch_; }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

  Loan borrow() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return Loan(*this, std::make_unique<Scratch>());
    std::unique_ptr<Scratch> scratch = std::move(idle_.back());
    idle_.pop_back();
    return Loan(*this, std::move(scratch));
  }

 private:
  void give_back(std::unique_ptr<Scratch> scratch) {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(scratch));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> idle_;
};
}  // namespace bayeskernel
