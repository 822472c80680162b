// SPDX-License-Identifier: Apache-2.0
// Convs to test kernels with: shapes, random operands, and a run between guards.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "cpu/kernels/conv3d.h"
#include "tests/cpu/kernel_buffers.h"
#include "tests/reference/conv3d.h"

namespace zoetrope {

// What a conv does besides its sum.
struct ConvExtras {
  const char* name = "plain";
  bool residual = false;
  bool shortcut = false;
  bool norm = false;  // gives `activated`
  bool silu = false;
  bool raw = true;  // gives `y`
  bool raw_float32 = false;
  enum class Alias : uint8_t { kNone, kRaw, kActivated } residual_is = Alias::kNone;
};

struct ConvResult {
  std::vector<float> y;
  std::vector<float> activated;
};

// Sizes, taps and strides of `shape`, and values that its pointers stand for.
class ConvCase {
 public:
  ConvCase(DType dtype, const cpu::Conv3dArgs& conv_shape, bool has_history, uint64_t seed)
      : shape(conv_shape), dtype_(dtype) {
    const auto random = [&](int64_t size) {
      return rounded_to(dtype, random_floats(size, ++seed));
    };
    shape.c_shortcut = shape.c_shortcut == 0 ? 37 : shape.c_shortcut;
    x = random(shape.frames * plane());
    if (has_history) history = random((shape.kernel_time - shape.stride_time) * plane());
    weight = random(filters() * shape.c_in * taps());
    shortcut = random(output_pixels() * shape.c_shortcut);
    shortcut_weight = random(shape.c_out * shape.c_shortcut);
    residual = random(output_pixels() * shape.c_out);
    bias = random_floats(biases(), ++seed);
    gamma = random_floats(shape.c_out, ++seed);
  }

  int64_t plane() const { return shape.height * shape.width * shape.c_in; }
  int64_t taps() const { return shape.kernel_time * shape.kernel_height * shape.kernel_width; }
  int64_t parts() const {
    constexpr std::array<int64_t, 3> kParts = {1, 2, 4};
    return kParts[static_cast<size_t>(shape.store)];
  }
  int64_t filters() const { return parts() * shape.c_out; }
  int64_t biases() const {
    return shape.store == cpu::Conv3dStore::kFrameInterleave ? 2 * shape.c_out : shape.c_out;
  }
  int64_t output_frames() const {
    const int64_t frames = shape.frames / shape.stride_time;
    return shape.store == cpu::Conv3dStore::kFrameInterleave ? 2 * frames : frames;
  }
  int64_t output_pixels() const { return output_frames() * shape.out_height * shape.out_width; }

  reference::ConvOperands operands(const ConvExtras& extras) const {
    return {.x = x.data(),
            .history = history.data(),
            .weight = weight.data(),
            .bias = bias.empty() ? nullptr : bias.data(),
            .shortcut = extras.shortcut ? shortcut.data() : nullptr,
            .shortcut_weight = shortcut_weight.data(),
            .residual = extras.residual ? residual.data() : nullptr};
  }

  ConvResult run(const cpu::Conv3dKernel& kernel, const ConvExtras& extras, int threads = 2,
                 const LoopControl& control = {}) const {
    const TypedArray typed_x(dtype_, x), typed_history(dtype_, history);
    const TypedArray typed_residual(dtype_, residual), typed_shortcut(dtype_, shortcut);
    const std::vector<std::byte> packed = pack(kernel, weight, filters(), taps(), parts());
    const std::vector<std::byte> packed_shortcut = pack(kernel, shortcut_weight, shape.c_out, 1, 1);
    const int64_t size = output_pixels() * shape.c_out;
    GuardedArray y(extras.raw_float32 ? DType::kFloat32 : dtype_, size);
    GuardedArray activated(dtype_, size);
    cpu::Conv3dArgs args = shape;
    args.x = typed_x.data();
    args.history = typed_history.data();
    args.weight = packed.data();
    args.bias = bias.empty() ? nullptr : bias.data();
    args.shortcut = extras.shortcut ? typed_shortcut.data() : nullptr;
    args.shortcut_weight = extras.shortcut ? packed_shortcut.data() : nullptr;
    args.gamma = extras.norm ? gamma.data() : nullptr;
    args.silu = extras.silu;
    args.y = extras.raw ? y.data() : nullptr;
    args.y_float32 = extras.raw_float32;
    args.activated = extras.norm ? activated.data() : nullptr;
    if (extras.residual) args.residual = typed_residual.data();
    if (extras.residual_is == ConvExtras::Alias::kRaw) {
      y.fill(residual);
      args.residual = y.data();
    } else if (extras.residual_is == ConvExtras::Alias::kActivated) {
      activated.fill(residual);
      args.residual = activated.data();
    }
    ThreadPool pool(threads);
    GuardedArray scratch(DType::kFloat32, pool.threads() * kernel.scratch_floats(args));
    args.scratch = scratch.floats();
    kernel.run(args, pool, control);
    EXPECT_TRUE(y.guards_hold() && activated.guards_hold() && scratch.guards_hold());
    ConvResult result;
    if (extras.raw) result.y = y.values();
    if (extras.norm) result.activated = activated.values();
    return result;
  }

  // May be changed before a run.
  cpu::Conv3dArgs shape;
  std::vector<float> x, history, weight, bias, shortcut, shortcut_weight, residual, gamma;

 private:
  std::vector<std::byte> pack(const cpu::Conv3dKernel& kernel, const std::vector<float>& values,
                              int64_t out, int64_t tap_count, int64_t part_count) const {
    const int64_t channels = std::ssize(values) / out / tap_count;
    std::vector<std::byte> packed(
        static_cast<size_t>(kernel.packed_bytes(out, channels, tap_count, part_count)));
    kernel.pack(values.data(), out, channels, tap_count, part_count, packed.data());
    return packed;
  }

  DType dtype_;
};

}  // namespace zoetrope
