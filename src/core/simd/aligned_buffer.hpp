// Numbers that start on a cache line, zero at first: a vector of the wide
// kernels never straddles two lines.
#pragma once

#include <new>

#include "eigen.hpp"

namespace bayeskernel {
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(Index size) : size_(size) {
    const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(double);
    data_.reset(static_cast<double*>(::operator new(bytes, kLine)));
    std::fill_n(data_.get(), size, 0.0);
  }
  AlignedBuffer(const AlignedBuffer& other) : AlignedBuffer(other.size_) {
    std::copy_n(other.data_.get(), size_, data_.get());
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer other) noexcept {
    swap(other);
    return *this;
  }

  double* data() { return data_.get(); }
  const double* data() const { return data_.get(); }
  Index size() const { return size_; }
  double& operator[](Index i) { return data_.get()[i]; }
  double operator[](Index i) const { return data_.get()[i]; }

  void swap(AlignedBuffer& other) noexcept {
    data_.swap(other.data_);
    std::swap(size_, other.size_);
  }

 private:
  static constexpr std::align_val_t kLine{64};

  struct Free {
    void operator()(double* data) const { ::operator delete(data, kLine); }
  };

  std::unique_ptr<double, Free> data_;
  Index size_ = 0;
};
}  // namespace bayeskernel
