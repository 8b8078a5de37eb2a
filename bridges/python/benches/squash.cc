// The peer of `jax_calls.py`: `squash` and its gradient as handlers of XLA's foreign function interface, as one writes
// them in C++, for one limit.
#include <cmath>
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error Squash(ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> limit, ffi::ResultBuffer<ffi::F32> y) {
  const float *from = x.typed_data();
  const float bound = limit.typed_data()[0];
  float *to = y->typed_data();
  const int64_t size = x.element_count();
  for (int64_t i = 0; i < size; ++i) {
    const float ratio = from[i] / bound;
    to[i] = from[i] / std::sqrt(1.0f + ratio * ratio);
  }
  return ffi::Error::Success();
}

static ffi::Error Gradient(ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> limit, ffi::Buffer<ffi::F32> grad_y,
                           ffi::ResultBuffer<ffi::F32> grad_x) {
  const float *from = x.typed_data(), *grad = grad_y.typed_data();
  const float bound = limit.typed_data()[0];
  float *to = grad_x->typed_data();
  const int64_t size = x.element_count();
  for (int64_t i = 0; i < size; ++i) {
    const float ratio = from[i] / bound, square = 1.0f + ratio * ratio;
    to[i] = grad[i] / (square * std::sqrt(square));
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(squash, Squash,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(gradient, Gradient,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
