// SPDX-License-Identifier: Apache-2.0
#include "cuda/edge_copier.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/shape.h"
#include "cuda/cuda_error.h"
#include "cuda/cuda_stream.h"
#include "cuda/kernels/edge_copy.h"
#include "cuda/strided_copy.h"

namespace zoetrope::cuda {
namespace {

constexpr int64_t kPieceBytes = int64_t{4} << 20;
// Room for a step's bytes at common sizes and some of the next; more is read slower, since it no
// longer comes from the processor's cache.
constexpr size_t kMostPieces = 12;

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
  if (axis == 0) result.first_frame += begin;
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

// Host memory that the device reads and writes itself.
class EdgeCopier::Pinned {
 public:
  explicit Pinned(int64_t bytes) : size_(bytes) {
    void* data = nullptr;
    const cudaError_t error =
        cudaHostAlloc(&data, static_cast<size_t>(bytes), cudaHostAllocDefault);
    if (error == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      fail(ErrorCode::kOutOfMemory, "edge copy: {} bytes of pinned host memory are not there",
           bytes);
    }
    check(error, "edge copy");
    data_ = static_cast<std::byte*>(data);
  }
  ~Pinned() { (void)cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  int64_t size() const { return size_; }

  // The values of `host` densely in this memory.
  TensorView dense(const TensorView& host) const { return dense_view(host, data_); }

  // The device is at work on it until it comes to this place in the stream; then `result`, if that
  // has data, gets what is here.
  void begin_use(cudaStream_t stream, const TensorView& result) {
    result_ = result;
    done_.record(stream);
  }
  bool is_done() const { return done_.is_past(); }

  // Waits for the device, and hands the result on.
  void end_use() {
    done_.wait();
    if (result_.data == nullptr) return;
    copy_strided(bytes_of(dense(result_)), bytes_of(result_), axes_of(result_.shape),
                 size_of(result_.dtype));
    result_ = {};
  }

 private:
  std::byte* data_ = nullptr;
  int64_t size_;
  Event done_ = Event(Event::Kind::kOrder);
  TensorView result_ = {};
};

EdgeCopier::EdgeCopier(int device, cudaStream_t stream) : device_(device), stream_(stream) {}
EdgeCopier::~EdgeCopier() = default;

void EdgeCopier::copy(const EdgeCopy& edge, const RunControl& control) {
  ZOETROPE_CHECK(edge.from.shape.size() == 4 && edge.from.shape == edge.to.shape,
                 to_string(edge.from.shape) + " to " + to_string(edge.to.shape));
  check_types(edge);
  check_place(edge.from);
  check_place(edge.to);
  if (elements_of(edge.from) == 0) return;
  if (is_on_host(edge.from) || is_on_host(edge.to)) return copy_on_host(edge, control);
  launch(edge);
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
  const TensorView& view = is_on_host(edge.from) ? edge.from : edge.to;
  const int64_t row_bytes = view.shape[2] * view.shape[3] * size_of(view.dtype);
  const int64_t rows = std::clamp<int64_t>(kPieceBytes / row_bytes, 1, view.shape[1]);
  const int64_t frames =
      rows < view.shape[1] ? 1 : std::max<int64_t>(kPieceBytes / (row_bytes * rows), 1);
  for (int64_t frame = 0; frame < view.shape[0]; frame += frames) {
    const EdgeCopy of_frames = slice(edge, 0, frame, std::min(frames, view.shape[0] - frame));
    for (int64_t row = 0; row < view.shape[1]; row += rows) {
      if (control.cancelled && control.cancelled()) fail(ErrorCode::kCancelled, "cancelled");
      copy_piece(slice(of_frames, 1, row, std::min(rows, view.shape[1] - row)));
    }
  }
}

void EdgeCopier::copy_piece(const EdgeCopy& piece) {
  const bool reads_host = is_on_host(piece.from);
  const TensorView& host = reads_host ? piece.from : piece.to;
  std::unique_ptr<Pinned> pinned = take(elements_of(host) * size_of(host.dtype));
  const TensorView dense = pinned->dense(host);
  EdgeCopy edge = piece;
  if (reads_host) {
    copy_strided(bytes_of(host), bytes_of(dense), axes_of(host.shape), size_of(host.dtype));
    edge.from = dense;
  } else {
    edge.to = dense;
  }
  launch(edge);
  pinned->begin_use(stream_, reads_host ? TensorView{} : host);
  busy_.push_back(std::move(pinned));
}

void EdgeCopier::launch(const EdgeCopy& edge) const {
  EdgeCopyArgs args = {.from = tensor_of(edge.from, edge.from_range),
                       .to = tensor_of(edge.to, edge.to_range),
                       .clamp = edge.clamp,
                       .tally = edge.tally,
                       .first_frame = edge.first_frame};
  std::ranges::copy(edge.from.shape, std::begin(args.shape));
  std::ranges::fill(args.scale, 1.0F);
  std::ranges::fill(args.offset, -0.0F);
  std::ranges::copy(edge.scale, std::begin(args.scale));
  std::ranges::copy(edge.offset, std::begin(args.offset));
  check(edge_copy(args, stream_), "edge copy");
}

std::unique_ptr<EdgeCopier::Pinned> EdgeCopier::take(int64_t bytes) {
  while (!busy_.empty() && busy_.front()->is_done()) retire();
  while (busy_.size() >= kMostPieces) retire();
  const auto fits = [&](const auto& pinned) { return pinned->size() >= bytes; };
  const auto found = std::ranges::find_if(idle_, fits);
  if (found != idle_.end()) {
    std::unique_ptr<Pinned> pinned = std::move(*found);
    idle_.erase(found);
    return pinned;
  }
  if (busy_.size() + idle_.size() >= kMostPieces) idle_.pop_back();
  return std::make_unique<Pinned>(bytes);
}

// The one that the device is first done with.
void EdgeCopier::retire() {
  std::unique_ptr<Pinned> pinned = std::move(busy_.front());
  busy_.pop_front();
  pinned->end_use();
  idle_.push_back(std::move(pinned));
}

void EdgeCopier::finish() {
  try {
    while (!busy_.empty()) retire();
  } catch (...) {
    busy_.clear();  // what is left would write to memory of the caller's that may be gone by then
    throw;
  }
}

}  // namespace zoetrope::cuda
