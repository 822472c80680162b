// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_core.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/fail.h"
#include "base/shape.h"

namespace zoetrope {
namespace {

constexpr const char* kFramesDone = "frames_done";

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

void check_options(const ModelInfo& info, const StreamOptions& options) {
  const int64_t stride = info.spatial_stride;
  constexpr int64_t kLargest = int64_t{1} << 20;
  const auto fits = [&](int64_t size) {
    return size >= stride && size <= kLargest && size % stride == 0;
  };
  if (!fits(options.height) || !fits(options.width)) {
    fail(ErrorCode::kInvalidArgument,
         "expected a video size of positive multiples of {}, found {}x{} (width x height); pad or "
         "crop the video",
         stride, options.width, options.height);
  }
  if (options.frames_per_step < 0 || options.memory_limit < 0) {
    fail(ErrorCode::kInvalidArgument,
         "expected frames_per_step and memory_limit to be 0 or more, found {} and {}",
         options.frames_per_step, options.memory_limit);
  }
}

MemoryNeeded plan_memory(const Plan& first, const Plan& next, int64_t n, int64_t height,
                         int64_t width) {
  const auto alone = compiler::memory_plan(first, 1, height, width);
  const auto together = compiler::memory_plan(next, n, height, width);
  return {.state = together.state_bytes,
          .arena = std::max(alone.arena_bytes, together.arena_bytes)};
}

int64_t scratch_bytes(const Target& target, const Plan& first, const Plan& next, int threads) {
  return std::max(target.scratch_bytes(first, threads), target.scratch_bytes(next, threads));
}

const Extent& input_extent(const Plan& plan) {
  return plan.buffers[static_cast<size_t>(plan.input)].extent;
}

int64_t staged_frame_bytes(const Plan& next, int64_t height, int64_t width) {
  Extent frame = input_extent(next);
  frame.frames = 1;
  frame.frames_per_latent = false;
  return frame.bytes(1, height, width);
}

StreamSizes stream_sizes(const Autoencoder::Implementation& model, const Codec& codec,
                         const StreamOptions& options, int64_t staging_frames) {
  check_options(model.info, options);
  const int64_t capacity = model.backend->memory_capacity();
  const int64_t limit =
      options.memory_limit == 0 ? capacity : std::min(options.memory_limit, capacity);
  const int64_t wanted = options.frames_per_step != 0 ? options.frames_per_step
                                                      : model.backend->default_frames_per_step();
  const bool free_choice = options.frames_per_step == 0 && options.memory_limit == 0;
  int64_t budget = limit;
  if (free_choice) {
    const std::scoped_lock lock(model.weights_mutex);
    const int64_t there = model.backend->memory_free() + model.constants->bytes_on_device();
    budget = std::min(model.backend->memory_budget(), there);
  }
  constexpr int64_t kMostFramesPerStep = 4096;
  for (int64_t n = std::min(wanted, kMostFramesPerStep);; --n) {
    MemoryNeeded memory =
        plan_memory(codec.first.plan, codec.next.plan, n, options.height, options.width);
    memory.weights = model.constants->bytes();
    memory.staging =
        staging_frames * staged_frame_bytes(codec.next.plan, options.height, options.width);
    memory.scratch = scratch_bytes(model.backend->target(), codec.first.plan, codec.next.plan,
                                   model.backend->threads());
    if (memory.total() <= (n > 1 ? budget : limit)) return {.frames_per_step = n, .memory = memory};
    if (n > 1) continue;
    fail(ErrorCode::kOutOfMemory,
         "a {}x{} video needs {:.0f} MiB ({:.0f} of it weights), the limit is {:.0f} MiB; use a "
         "smaller size{}",
         options.width, options.height, mebibytes(memory.total()), mebibytes(memory.weights),
         mebibytes(limit), limit < capacity ? " or a higher memory limit" : "");
  }
}

std::map<std::string, TensorView> by_name(const std::vector<NamedTensor>& state) {
  std::map<std::string, TensorView> tensors;
  for (const NamedTensor& tensor : state) {
    if (tensors.emplace(tensor.name, tensor.tensor).second) continue;
    fail(ErrorCode::kInvalidArgument, "state: {} stands in it twice", tensor.name);
  }
  return tensors;
}

StreamCore::StreamCore(std::shared_ptr<const Autoencoder::Implementation> model, const Codec& codec,
                       StreamOptions options, int64_t staging_frames)
    : model_(std::move(model)),
      lease_(model_),
      codec_(codec),
      options_(std::move(options)),
      sizes_(stream_sizes(*model_, codec_, options_, staging_frames)),
      queue_(model_->backend->open_queue(options_.cuda_stream)) {
  check_memory();
  const Plan& plan = codec_.next.plan;
  const auto layout = compiler::memory_plan(plan, 1, options_.height, options_.width);
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].kind == BufferKind::kState) {
      histories_[plan.buffers[i].name] = layout.offsets[i];
    }
  }
  state_ = queue_->allocate(sizes_.memory.state);
  arena_ = queue_->allocate(sizes_.memory.arena);
  staging_ = queue_->allocate(sizes_.memory.staging);
  tally_ = queue_->allocate(sizeof(NotFiniteTally));
  scratch_ = queue_->allocate(sizes_.memory.scratch);
  reset();
}

StreamCore::StreamCore(const StreamCore& other)
    : model_(other.model_),
      lease_(other.lease_),
      codec_(other.codec_),
      options_(other.options_),
      sizes_(other.sizes_),
      queue_(model_->backend->open_queue(options_.cuda_stream)),
      state_(queue_->allocate(sizes_.memory.state)),
      arena_(queue_->allocate(sizes_.memory.arena)),
      staging_(queue_->allocate(sizes_.memory.staging)),
      tally_(queue_->allocate(sizeof(NotFiniteTally))),
      scratch_(queue_->allocate(sizes_.memory.scratch)),
      histories_(other.histories_),
      frames_done_(other.frames_done_),
      broken_(other.broken_) {
  other.queue_->wait();
  queue_->copy(state_->data(), other.state_->data(), sizes_.memory.state);
  queue_->copy(staging_->data(), other.staging_->data(), sizes_.memory.staging);
  queue_->copy(tally_->data(), other.tally_->data(), sizeof(NotFiniteTally));
  queue_->wait();  // the other may go on, or end
}

// Before any of it is taken: what is missing in all.
void StreamCore::check_memory() const {
  const int64_t needed = sizes_.memory.total() - sizes_.memory.weights;
  const int64_t there = model_->backend->memory_free();
  if (needed <= there) return;
  fail(ErrorCode::kOutOfMemory,
       "{}: a {}x{} video needs {:.0f} MiB beside the weights, {:.0f} MiB are free; use a smaller "
       "size{}",
       model_->info.device, options_.width, options_.height, mebibytes(needed), mebibytes(there),
       sizes_.frames_per_step > 1 ? " or fewer frames per step" : "");
}

int64_t StreamCore::images_per_step() const {
  int64_t n = 1;
  const auto fits = [&](int64_t images) {
    const auto layout =
        compiler::memory_plan(codec_.first.plan, images, options_.height, options_.width);
    return layout.arena_bytes <= sizes_.memory.arena;
  };
  while (fits(n + 1)) ++n;
  return n;
}

void StreamCore::reset() {
  queue_->zero(state_->data(), sizes_.memory.state);
  queue_->zero(tally_->data(), sizeof(NotFiniteTally));
  frames_done_ = 0;
  broken_ = false;
}

NotFinite StreamCore::not_finite() const {
  NotFiniteTally tally;
  queue_->copy_to_host(&tally, tally_->data(), sizeof(tally));
  if (tally.values == 0) return {};
  return {.values = static_cast<int64_t>(tally.values),
          .first_frame = static_cast<int64_t>(NotFiniteTally::kEnd - tally.left)};
}

std::byte* StreamCore::history(const std::string& name) const {
  const auto found = histories_.find(name);
  ZOETROPE_CHECK(found != histories_.end(), name);
  return state_->data() + found->second;
}

Launch StreamCore::make_launch(const Program& program, int64_t n, bool keep_history) const {
  const auto layout = compiler::memory_plan(program.plan, n, options_.height, options_.width);
  ZOETROPE_CHECK(layout.arena_bytes <= sizes_.memory.arena, program.plan.entry);
  Launch launch = {.n = n,
                   .height = options_.height,
                   .width = options_.width,
                   .buffers = {},
                   .constants = program.constants,
                   .scratch = scratch_->data()};
  for (size_t i = 0; i < program.plan.buffers.size(); ++i) {
    const Buffer& buffer = program.plan.buffers[i];
    const bool state = buffer.kind == BufferKind::kState;
    std::byte* data = !state         ? arena_->data() + layout.offsets[i]
                      : keep_history ? history(buffer.name)
                                     : nullptr;
    launch.buffers.push_back(data);
  }
  return launch;
}

TensorView StreamCore::value_view(const Plan& plan, int32_t buffer, const Launch& launch) const {
  const auto index = static_cast<size_t>(buffer);
  const Extent& extent = plan.buffers[index].extent;
  return {.data = launch.buffers[index],
          .dtype = extent.dtype,
          .device = device(),
          .shape = {extent.frame_count(launch.n), launch.height / extent.stride,
                    launch.width / extent.stride, extent.channels},
          .strides = {}};
}

StreamCore::Push StreamCore::begin_push(int64_t runs_first, int64_t runs_next) {
  if (broken_) {
    fail(ErrorCode::kInvalidArgument,
         "this stream was stopped by an error within a step; call reset() or restore() first");
  }
  broken_ = true;
  steps_done_ = 0;
  steps_total_ = runs_first * static_cast<int64_t>(codec_.first.plan.steps.size()) +
                 runs_next * static_cast<int64_t>(codec_.next.plan.steps.size());
  return Push(*this);
}

StreamCore::Push::~Push() {
  if (!core_.broken_) return;
  try {
    core_.queue_->wait();
  } catch (const Error&) {
    // The error under way tells more.
  }
}

void StreamCore::Push::finish() {
  core_.queue_->finish();
  core_.broken_ = false;
}

RunControl StreamCore::control() const { return {.cancelled = options_.cancelled}; }

void StreamCore::run_plan(const Program& program, const Launch& launch) {
  RunControl control = this->control();
  if (options_.progress) {
    control.progress = [this](int64_t done, int64_t /*of this run*/) {
      options_.progress(steps_done_ + done, steps_total_);
    };
  }
  if (options_.observer) {
    control.observer = [&](const Step& step, const Launch& at, double seconds) {
      options_.observer(step_event(*model_->backend, program.plan, step, at, seconds));
    };
  }
  queue_->run(program.plan, launch, control);
  steps_done_ += static_cast<int64_t>(program.plan.steps.size());
}

void StreamCore::save(std::vector<NamedTensor>& state) const {
  const Plan& plan = codec_.next.plan;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind != BufferKind::kState) continue;
    const Extent& extent = buffer.extent;
    const int64_t bytes = extent.bytes(1, options_.height, options_.width);
    const auto storage = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(bytes));
    queue_->copy_to_host(storage->data(), history(buffer.name), bytes);
    state.push_back({.name = buffer.name,
                     .tensor = {.data = storage->data(),
                                .dtype = extent.dtype,
                                .device = {},
                                .shape = {extent.frames, options_.height / extent.stride,
                                          options_.width / extent.stride, extent.channels},
                                .strides = {}},
                     .storage = storage});
  }
  const auto count = std::make_shared<int64_t>(frames_done_);
  state.push_back(
      {.name = kFramesDone,
       .tensor =
           {.data = count.get(), .dtype = DType::kInt64, .device = {}, .shape = {1}, .strides = {}},
       .storage = count});
}

void StreamCore::load(const std::map<std::string, TensorView>& state) {
  std::vector<NamedTensor> expected;
  save(expected);  // what this stream would give tells what it takes
  for (const NamedTensor& tensor : expected) {
    const auto found = state.find(tensor.name);
    if (found == state.end()) {
      fail(ErrorCode::kInvalidArgument, "state: {} is missing; it must come from state()",
           tensor.name);
    }
    const TensorView& view = found->second;
    if (view.dtype != tensor.tensor.dtype || view.shape != tensor.tensor.shape ||
        !is_contiguous(view) || view.data == nullptr) {
      fail(ErrorCode::kInvalidArgument, "state: {}: expected contiguous {} {}, found {} {}",
           tensor.name, name_of(tensor.tensor.dtype), to_string(tensor.tensor.shape),
           name_of(view.dtype), to_string(view.shape));
    }
  }
  int64_t frames_done = 0;
  std::memcpy(&frames_done, state.at(kFramesDone).data, sizeof frames_done);
  constexpr int64_t kMostFrames = int64_t{1} << 40;
  if (frames_done < 0 || frames_done > kMostFrames) {
    fail(ErrorCode::kInvalidArgument, "state: expected {} from 0 to {}, found {}", kFramesDone,
         kMostFrames, frames_done);
  }
  for (const Buffer& buffer : codec_.next.plan.buffers) {
    if (buffer.kind != BufferKind::kState) continue;
    queue_->copy_from_host(history(buffer.name), state.at(buffer.name).data,
                           buffer.extent.bytes(1, options_.height, options_.width));
  }
  queue_->zero(tally_->data(), sizeof(NotFiniteTally));
  frames_done_ = frames_done;
  broken_ = false;
}

}  // namespace zoetrope
