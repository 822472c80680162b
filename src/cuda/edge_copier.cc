// SPDX-License-Identifier: Apache-2.0
#include "cuda/edge_copier.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/fail.h"
#include "base/shape.h"
#include "cuda/cuda_error.h"
#include "cuda/kernels/edge_copy.h"
#include "cuda/strided_copy.h"

namespace zoetrope::cuda {
namespace {

constexpr int64_t kPieceBytes = int64_t{8} << 20;

bool is_on_host(const TensorView& view) { return view.device.kind == DeviceKind::kCpu; }

Axes axes_of(const std::vector<int64_t>& values) {
  Axes axes = {};
  std::ranges::copy(values, axes.begin());
  return axes;
}

StridedBytes bytes_of(const TensorView& view) {
  return {.data = static_cast<std::byte*>(view.data), .strides = axes_of(strides_of(view))};
}

// `count` indices of an axis from `begin` on.
TensorView slice(const TensorView& view, size_t axis, int64_t begin, int64_t count) {
  TensorView result = view;
  result.strides = strides_of(view);
  result.shape[axis] = count;
  result.data =
      static_cast<std::byte*>(view.data) + begin * result.strides[axis] * size_of(view.dtype);
  return result;
}

EdgeCopy slice(const EdgeCopy& edge, size_t axis, int64_t begin, int64_t count) {
  EdgeCopy result = edge;
  result.from = slice(edge.from, axis, begin, count);
  result.to = slice(edge.to, axis, begin, count);
  return result;
}

// The same values densely in `data`, axes in the order of the view's.
TensorView dense_view(const TensorView& view, std::byte* data) {
  const Axes strides = dense_like(axes_of(view.shape), axes_of(strides_of(view)));
  TensorView dense = view;
  dense.data = data;
  dense.strides.assign(strides.begin(), strides.end());
  return dense;
}

StridedTensor tensor_of(const TensorView& view, Range range) {
  StridedTensor tensor = {.data = view.data, .dtype = view.dtype, .range = range};
  std::ranges::copy(strides_of(view), std::begin(tensor.strides));
  return tensor;
}

int64_t elements_of(const TensorView& view) {
  int64_t count = 1;
  for (const int64_t extent : view.shape) count *= extent;
  return count;
}

void check_types(const EdgeCopy& edge) {
  for (const TensorView* view : {&edge.from, &edge.to}) {
    const bool known = view->dtype == DType::kFloat32 || view->dtype == DType::kFloat16 ||
                       view->dtype == DType::kBFloat16 || view->dtype == DType::kUInt8;
    if (!known) {
      fail(ErrorCode::kUnsupported,
           "edge copy: cannot convert {}; use float32, float16, bfloat16 or uint8",
           name_of(view->dtype));
    }
  }
  ZOETROPE_CHECK((edge.from.dtype == DType::kUInt8) == (edge.from_range == Range::kBytes) &&
                     (edge.to.dtype == DType::kUInt8) == (edge.to_range == Range::kBytes),
                 "uint8 and Range::kBytes go together");
  const int64_t channels = edge.from.shape[3];
  for (const std::span<const float> values : {edge.scale, edge.offset}) {
    ZOETROPE_CHECK(values.empty() || std::ssize(values) == channels,
                   std::to_string(values.size()) + " values for " + std::to_string(channels));
  }
  if (channels > kMostEdgeChannels) {
    fail(ErrorCode::kUnsupported, "edge copy: expected at most {} channels, found {}",
         kMostEdgeChannels, channels);
  }
}

}  // namespace

EdgeCopier::~EdgeCopier() {
  for (Pinned& pinned : pinned_) {
    if (pinned.done != nullptr) (void)cudaEventDestroy(pinned.done);
    if (pinned.data != nullptr) (void)cudaFreeHost(pinned.data);
  }
}

void EdgeCopier::copy(const EdgeCopy& edge, const RunControl& control) {
  ZOETROPE_CHECK(edge.from.shape.size() == 4 && edge.from.shape == edge.to.shape,
                 to_string(edge.from.shape) + " to " + to_string(edge.to.shape));
  check_types(edge);
  check_place(edge.from);
  check_place(edge.to);
  if (elements_of(edge.from) == 0) return;
  if (is_on_host(edge.from) || is_on_host(edge.to)) return copy_on_host(edge, control);
  launch(edge);
  check(cudaStreamSynchronize(stream_), "edge copy");
}

void EdgeCopier::check_place(const TensorView& view) const {
  if (is_on_host(view)) return;
  if (view.device.index != device_) {
    fail(ErrorCode::kInvalidArgument,
         "tensor: expected memory of the host or of cuda:{}, found cuda:{}", device_,
         view.device.index);
  }
  if (reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(size_of(view.dtype)) != 0) {
    fail(ErrorCode::kInvalidArgument, "tensor: expected device memory aligned to its type, {}",
         name_of(view.dtype));
  }
}

// In pieces of frames, or of rows where a frame is large.
void EdgeCopier::copy_on_host(const EdgeCopy& edge, const RunControl& control) {
  const std::scoped_lock lock(mutex_);
  forget();
  const TensorView& view = is_on_host(edge.from) ? edge.from : edge.to;
  const int64_t row_bytes = view.shape[2] * view.shape[3] * size_of(view.dtype);
  const int64_t rows = std::clamp<int64_t>(kPieceBytes / row_bytes, 1, view.shape[1]);
  const int64_t frames =
      rows < view.shape[1] ? 1 : std::max<int64_t>(kPieceBytes / (row_bytes * rows), 1);
  size_t turn = 0;
  for (int64_t frame = 0; frame < view.shape[0]; frame += frames) {
    const EdgeCopy of_frames = slice(edge, 0, frame, std::min(frames, view.shape[0] - frame));
    for (int64_t row = 0; row < view.shape[1]; row += rows) {
      if (control.cancelled && control.cancelled()) fail(ErrorCode::kCancelled, "cancelled");
      copy_piece(slice(of_frames, 1, row, std::min(rows, view.shape[1] - row)),
                 pinned_[turn++ % 2]);
    }
  }
  for (size_t i = 0; i < pinned_.size(); ++i) {
    Pinned& pinned = pinned_[(turn + i) % pinned_.size()];
    if (pinned.waiting.data != nullptr) finish(pinned);
  }
}

void EdgeCopier::copy_piece(const EdgeCopy& piece, Pinned& pinned) {
  finish(pinned);
  const bool reads_host = is_on_host(piece.from);
  const TensorView& host = reads_host ? piece.from : piece.to;
  reserve(pinned, elements_of(host) * size_of(host.dtype));
  const TensorView dense = dense_view(host, pinned.data);
  EdgeCopy edge = piece;
  if (reads_host) {
    copy_strided(bytes_of(host), bytes_of(dense), axes_of(host.shape), size_of(host.dtype));
    edge.from = dense;
  } else {
    edge.to = dense;
  }
  launch(edge);
  check(cudaEventRecord(pinned.done, stream_), "edge copy");
  if (!reads_host) pinned.waiting = host;
}

void EdgeCopier::launch(const EdgeCopy& edge) const {
  EdgeCopyArgs args = {.from = tensor_of(edge.from, edge.from_range),
                       .to = tensor_of(edge.to, edge.to_range),
                       .clamp = edge.clamp};
  std::ranges::copy(edge.from.shape, std::begin(args.shape));
  std::ranges::fill(args.scale, 1.0F);
  std::ranges::fill(args.offset, -0.0F);
  std::ranges::copy(edge.scale, std::begin(args.scale));
  std::ranges::copy(edge.offset, std::begin(args.offset));
  check(edge_copy(args, stream_), "edge copy");
}

// Waits until the device is done with the buffer, and hands its content on.
void EdgeCopier::finish(Pinned& pinned) const {
  if (pinned.done == nullptr) return;
  check(cudaEventSynchronize(pinned.done), "edge copy");
  if (pinned.waiting.data == nullptr) return;
  const TensorView& to = pinned.waiting;
  copy_strided(bytes_of(dense_view(to, pinned.data)), bytes_of(to), axes_of(to.shape),
               size_of(to.dtype));
  pinned.waiting = {};
}

void EdgeCopier::reserve(Pinned& pinned, int64_t bytes) const {
  if (pinned.done == nullptr) {
    check(cudaEventCreateWithFlags(&pinned.done, cudaEventDisableTiming), "edge copy");
  }
  if (pinned.size >= bytes) return;
  if (pinned.data != nullptr) check(cudaFreeHost(pinned.data), "edge copy");
  pinned.data = nullptr;
  pinned.size = 0;
  const int64_t size = std::max(bytes, kPieceBytes);
  void* data = nullptr;
  const cudaError_t error = cudaHostAlloc(&data, static_cast<size_t>(size), cudaHostAllocDefault);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    fail(ErrorCode::kOutOfMemory, "edge copy: {} bytes of pinned host memory are not there", size);
  }
  check(error, "edge copy");
  pinned.data = static_cast<std::byte*>(data);
  pinned.size = size;
}

// Of a copy that was broken off.
void EdgeCopier::forget() {
  for (Pinned& pinned : pinned_) pinned.waiting = {};
}

}  // namespace zoetrope::cuda
