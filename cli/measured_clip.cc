// SPDX-License-Identifier: Apache-2.0
#include "cli/measured_clip.h"

#include <bit>
#include <cmath>
#include <span>

#include "checkpoint/checkpoint.h"

namespace zoetrope::cli {
namespace {

constexpr uint64_t kPrime = 0x100000001b3;  // FNV-1a's, over words or bytes
constexpr float kLargestLatent = 1.7F;      // normalized latents have a deviation of about 1

// Values [begin, begin + values.size()) of a sequence, each in [-largest, largest).
void fill(std::vector<float>& values, const char* name, int64_t begin, float largest) {
  const RandomSequence random(name, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = largest * random.at(static_cast<uint64_t>(begin) + i);
  }
}

void add(std::span<const float> values, Outputs& outputs) {
  for (const float value : values) {
    outputs.bits = (outputs.bits ^ std::bit_cast<uint32_t>(value)) * kPrime;
    if (!std::isfinite(value)) ++outputs.not_finite;
  }
}

TensorView view_of(void* data, DType dtype, const std::vector<int64_t>& shape) {
  TensorView view;
  view.data = data;
  view.dtype = dtype;
  view.shape = shape;
  return view;
}

}  // namespace

MeasuredClip::MeasuredClip(const Autoencoder& model, const MeasureOptions& options)
    : model_(model), options_(options) {
  const ModelInfo& info = model.info();
  const int64_t pixels = options.size.height * options.size.width;
  video_frame_ = pixels * info.video_channels;
  latent_frame_ = pixels / (info.spatial_stride * info.spatial_stride) * info.latent_channels;
}

VideoFormat MeasuredClip::format() const {
  if (options_.tensors == TensorPlace::kBytes) return {};
  return {.layout = Layout::kTHWC, .range = Range::kSigned, .dtype = DType::kFloat32};
}

int64_t MeasuredClip::first_frame(int64_t first) const {
  return first == 0 ? 0 : 1 + (first - 1) * model_.info().temporal_stride;
}

int64_t MeasuredClip::frames_of(int64_t first, int64_t count) const {
  return first_frame(first + count) - first_frame(first);
}

void MeasuredClip::fill_video(int64_t first, int64_t count) {
  video_.resize(static_cast<size_t>(frames_of(first, count) * video_frame_));
  if (!options_.decode) cli::fill(video_, "video", first_frame(first) * video_frame_, 1);
}

void MeasuredClip::fill_latents(int64_t first, int64_t count) {
  latents_.resize(static_cast<size_t>(count * latent_frame_));
  if (options_.decode) cli::fill(latents_, "latents", first * latent_frame_, kLargestLatent);
}

void MeasuredClip::make_on_device() {
  const int64_t count = 1 + (options_.frames - 1) / model_.info().temporal_stride;
  fill_video(0, count);
  fill_latents(0, count);
  device_video_ = model_.make_tensor(DType::kFloat32, {std::ssize(video_)});
  device_latents_ = model_.make_tensor(DType::kFloat32, {std::ssize(latents_)});
  std::vector<float>& input = options_.decode ? latents_ : video_;
  const NamedTensor& to = options_.decode ? device_latents_ : device_video_;
  model_.copy_tensor(view_of(input.data(), DType::kFloat32, {std::ssize(input)}), to.tensor);
}

MeasuredClip::Part MeasuredClip::part(int64_t first, int64_t count) {
  const ModelInfo& info = model_.info();
  const int64_t stride = info.spatial_stride;
  const int64_t height = options_.size.height;
  const int64_t width = options_.size.width;
  const std::vector<int64_t> video_shape = {frames_of(first, count), height, width,
                                            info.video_channels};
  const std::vector<int64_t> latent_shape = {info.latent_channels, count, height / stride,
                                             width / stride};
  if (options_.tensors == TensorPlace::kDevice) {
    if (device_video_.storage == nullptr) make_on_device();
    Part part = {.video = device_video_.tensor, .latents = device_latents_.tensor};
    part.video.data = static_cast<float*>(part.video.data) + first_frame(first) * video_frame_;
    part.video.shape = video_shape;
    part.latents.data = static_cast<float*>(part.latents.data) + first * latent_frame_;
    part.latents.shape = latent_shape;
    part.latents.strides = {latent_shape[2] * latent_shape[3], latent_frame_, latent_shape[3], 1};
    return part;
  }
  fill_video(first, count);
  fill_latents(first, count);
  if (options_.tensors == TensorPlace::kBytes) {
    bytes_.resize(video_.size());
    for (size_t i = 0; i < bytes_.size(); ++i) {
      bytes_[i] = static_cast<uint8_t>((video_[i] + 1) * 127.5F);
    }
    return {.video = view_of(bytes_.data(), DType::kUInt8, video_shape),
            .latents = view_of(latents_.data(), DType::kFloat32, latent_shape)};
  }
  return {.video = view_of(video_.data(), DType::kFloat32, video_shape),
          .latents = view_of(latents_.data(), DType::kFloat32, latent_shape)};
}

void MeasuredClip::examine(const Part& part, Outputs& outputs) {
  if (options_.decode && options_.tensors == TensorPlace::kBytes) {
    for (const uint8_t byte : bytes_) outputs.bits = (outputs.bits ^ byte) * kPrime;
    return;
  }
  std::vector<float>& values = options_.decode ? video_ : latents_;
  if (options_.tensors == TensorPlace::kDevice) {
    const TensorView& of_part = options_.decode ? part.video : part.latents;
    TensorView from = of_part;
    from.shape = {1};
    from.strides = {};
    for (const int64_t extent : of_part.shape) from.shape[0] *= extent;
    values.resize(static_cast<size_t>(from.shape[0]));
    model_.copy_tensor(from, view_of(values.data(), DType::kFloat32, from.shape));
  }
  add(values, outputs);
}

int64_t MeasuredClip::device_bytes() const {
  int64_t count = 0;
  for (const NamedTensor* tensor : {&device_video_, &device_latents_}) {
    for (const int64_t extent : tensor->tensor.shape) count += extent;
  }
  return count * size_of(DType::kFloat32);
}

}  // namespace zoetrope::cli
