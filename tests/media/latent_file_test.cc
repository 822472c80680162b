// SPDX-License-Identifier: Apache-2.0
#include "media/latent_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/dtype.h"
#include "checkpoint/safetensors.h"
#include "media/npy.h"
#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

constexpr int64_t kChannels = 16, kFrames = 5, kHeight = 2, kWidth = 3, kPlane = 6;

std::vector<float> ramp(float start) {
  std::vector<float> values(kChannels * kFrames * kPlane);
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<float>(i);
  return values;
}

// Frames [first, first + count) of [C, T, h, w].
std::vector<float> cut(const std::vector<float>& values, int64_t first, int64_t count) {
  std::vector<float> block;
  for (int64_t channel = 0; channel < kChannels; ++channel) {
    const auto from = values.begin() + (channel * kFrames + first) * kPlane;
    block.insert(block.end(), from, from + count * kPlane);
  }
  return block;
}

LatentSource full_source() {
  return {480, 832, 17, FrameRate{24000, 1001}, "bt709 limited", "0123456789abcdef", "0.1.0"};
}

LatentWriteOptions options_of_ramp() {
  return {.channels = kChannels, .height = kHeight, .width = kWidth};
}

void write_latents(const std::string& path, const LatentWriteOptions& options,
                   const LatentSource& source) {
  const std::unique_ptr<LatentWriter> writer = open_latent_writer(path, options);
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {1, 3}, {4, 1}}) {
    const std::vector<float> latent = cut(ramp(0), first, count);
    const std::vector<float> mean = cut(ramp(1000), first, count);
    const std::vector<float> logvar = cut(ramp(2000), first, count);
    writer->write({count, latent.data(), mean.data(), logvar.data()});
  }
  writer->finish(source);
}

struct Latents {
  LatentInfo info;
  std::vector<float> values;  // [C, T, h, w]
  std::vector<std::string> notices;
};

Latents read_latents(const std::string& path, std::optional<LatentScale> scale = {}) {
  Latents latents;
  const Notice notice = [&latents](const std::string& text) { latents.notices.push_back(text); };
  const std::unique_ptr<LatentReader> reader =
      open_latent_reader(path, {.scale = scale, .notice = notice});
  latents.info = reader->info();
  latents.values.resize(static_cast<size_t>(latents.info.channels * latents.info.frames *
                                            latents.info.height * latents.info.width));
  const int64_t plane = latents.info.height * latents.info.width;
  std::vector<float> block(latents.values.size());
  int64_t first = 0;
  while (const int64_t n = reader->read(2, block.data())) {
    for (int64_t channel = 0; channel < latents.info.channels; ++channel) {
      std::memcpy(latents.values.data() + (channel * latents.info.frames + first) * plane,
                  block.data() + channel * n * plane, static_cast<size_t>(n * plane * 4));
    }
    first += n;
  }
  EXPECT_EQ(first, latents.info.frames);
  return latents;
}

class LatentFileTest : public testing::Test {
 protected:
  // A foreign file of one tensor, beside the empty tensor `also` if it has a name.
  std::string foreign(const std::string& file, const std::string& tensor,
                      const std::vector<int64_t>& shape, const std::string& also = "") {
    std::vector<float> values = ramp(0);
    std::vector<NamedTensor> tensors = {
        {tensor, {values.data(), DType::kFloat32, {}, shape, {}}, {}}};
    if (!also.empty()) tensors.push_back({also, {values.data(), DType::kFloat32, {}, {0}, {}}, {}});
    write_safetensors(folder_.file(file), tensors, {});
    return folder_.file(file);
  }
  ScratchFolder folder_;
};

TEST_F(LatentFileTest, RecordsWhereLatentsCameFrom) {
  const std::string path = folder_.file("a.safetensors");
  write_latents(path, options_of_ramp(), full_source());
  const Latents read = read_latents(path);
  EXPECT_EQ(read.values, ramp(0));
  EXPECT_EQ(read.info.channels, kChannels);
  EXPECT_EQ(read.info.frames, kFrames);
  EXPECT_EQ(read.info.height, kHeight);
  EXPECT_EQ(read.info.width, kWidth);
  EXPECT_EQ(read.info.scale, LatentScale::kNormalized);
  EXPECT_TRUE(read.info.scale_recorded);
  EXPECT_EQ(read.info.source.height, 480);
  EXPECT_EQ(read.info.source.width, 832);
  EXPECT_EQ(read.info.source.frames, 17);
  EXPECT_EQ(read.info.source.rate, (FrameRate{24000, 1001}));
  EXPECT_EQ(read.info.source.color, "bt709 limited");
  EXPECT_EQ(read.info.source.weights_checksum, "0123456789abcdef");
  EXPECT_EQ(read.info.source.version, "0.1.0");
  EXPECT_TRUE(read.notices.empty());
  EXPECT_TRUE(is_latent_file(path));
}

TEST_F(LatentFileTest, SameInputGivesSameBytes) {
  LatentWriteOptions promised = options_of_ramp();
  promised.frames = kFrames;
  write_latents(folder_.file("a.safetensors"), options_of_ramp(), full_source());
  write_latents(folder_.file("b.safetensors"), promised, full_source());
  const std::string bytes = read_bytes(folder_.file("a.safetensors"));
  EXPECT_EQ(bytes, read_bytes(folder_.file("b.safetensors")));
  EXPECT_EQ(bytes.find(folder_.file("")), std::string::npos);
}

TEST_F(LatentFileTest, MetadataIsSortedAndVersioned) {
  const std::string path = folder_.file("a.safetensors");
  write_latents(path, options_of_ramp(), full_source());
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("schema"), "zoetrope.latent");
  EXPECT_EQ(file.metadata().at("schema_version"), "1");
  EXPECT_EQ(file.metadata().at("scale"), "normalized");
  EXPECT_EQ(file.tensors().size(), 1U);
  EXPECT_EQ(file.tensors().at("latent").offset % 64, 0U);
}

TEST_F(LatentFileTest, HoldsThePosteriorIfAsked) {
  LatentWriteOptions options = options_of_ramp();
  options.posterior = true;
  const std::string path = folder_.file("a.safetensors");
  write_latents(path, options, {});
  const SafetensorsFile file(path);
  const auto values = [&file](const std::string& name) {
    const SafetensorsEntry& entry = file.tensors().at(name);
    std::vector<float> floats(entry.size / 4);
    std::memcpy(floats.data(), file.bytes(entry).data(), entry.size);
    return floats;
  };
  EXPECT_EQ(values("latent"), ramp(0));
  EXPECT_EQ(values("mean"), ramp(1000));
  EXPECT_EQ(values("logvar"), ramp(2000));
  EXPECT_EQ(read_latents(path).values, ramp(0));
  for (const char* name : {"a.npy", "a.latent"}) {
    const Error error = error_of([&] { open_latent_writer(folder_.file(name), options); });
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"a.safetensors"});
}

TEST_F(LatentFileTest, RefusesAScaleThatContradictsTheRecord) {
  LatentWriteOptions options = options_of_ramp();
  options.scale = LatentScale::kRaw;
  const std::string path = folder_.file("a.safetensors");
  write_latents(path, options, {});
  EXPECT_EQ(read_latents(path).info.scale, LatentScale::kRaw);
  EXPECT_EQ(read_latents(path, LatentScale::kRaw).info.scale, LatentScale::kRaw);
  const Error error = error_of([&] { read_latents(path, LatentScale::kNormalized); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
}

TEST_F(LatentFileTest, NpyHoldsTheArrayAlone) {
  const std::string path = folder_.file("a.npy");
  write_latents(path, options_of_ramp(), full_source());
  const Latents read = read_latents(path);
  EXPECT_EQ(read.values, ramp(0));
  EXPECT_EQ(read.info.scale, LatentScale::kNormalized);
  EXPECT_FALSE(read.info.scale_recorded);
  EXPECT_FALSE(read.info.source.frames.has_value());
  EXPECT_EQ(read.notices.size(), 1U);
  EXPECT_EQ(read_latents(path, LatentScale::kRaw).info.scale, LatentScale::kRaw);
  EXPECT_FALSE(is_latent_file(path));
  EXPECT_FALSE(records_source(path));
  EXPECT_TRUE(records_source("a.latent"));
}

TEST_F(LatentFileTest, ComfyUiFilesAreRaw) {
  const std::string path = folder_.file("a.latent");
  EXPECT_EQ(open_latent_writer(path, options_of_ramp())->scale(), LatentScale::kRaw);
  write_latents(path, options_of_ramp(), full_source());
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().at("latent_tensor").shape,
            (std::vector<int64_t>{1, kChannels, kFrames, kHeight, kWidth}));
  EXPECT_EQ(file.tensors().at("latent_format_version_0").shape, std::vector<int64_t>{0});
  const Latents read = read_latents(path);
  EXPECT_EQ(read.values, ramp(0));
  EXPECT_EQ(read.info.scale, LatentScale::kRaw);
  EXPECT_EQ(read.info.source.frames, 17);

  LatentWriteOptions normalized = options_of_ramp();
  normalized.scale = LatentScale::kNormalized;
  const Error error = error_of([&] { open_latent_writer(path, normalized); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
}

TEST_F(LatentFileTest, ReadsWhatComfyUiWrites) {
  const std::vector<int64_t> shape = {1, kChannels, kFrames, kHeight, kWidth};
  const std::string path = foreign("a.latent", "latent_tensor", shape, "latent_format_version_0");
  EXPECT_TRUE(is_latent_file(path));
  const Latents read = read_latents(path);
  EXPECT_EQ(read.values, ramp(0));
  EXPECT_EQ(read.info.scale, LatentScale::kRaw);
  EXPECT_FALSE(read.info.scale_recorded);
  EXPECT_TRUE(read.notices.empty());
}

TEST_F(LatentFileTest, ScalesOldComfyUiFilesAsComfyUiDoes) {
  const Latents read =
      read_latents(foreign("a.latent", "latent_tensor", {1, kChannels, kFrames, kHeight, kWidth}));
  EXPECT_EQ(read.info.scale, LatentScale::kRaw);
  EXPECT_FLOAT_EQ(read.values[7], 7 / 0.18215F);
  ASSERT_EQ(read.notices.size(), 1U);
  EXPECT_NE(read.notices[0].find("0.18215"), std::string::npos);
}

TEST_F(LatentFileTest, AcceptsForeignFilesAndSaysWhatItAssumes) {
  const std::vector<int64_t> four = {kChannels, kFrames, kHeight, kWidth};
  const std::vector<int64_t> five = {1, kChannels, kFrames, kHeight, kWidth};
  for (const char* name : {"latent", "latents", "samples", "latent_tensor"}) {
    for (const std::vector<int64_t>& shape : {four, five}) {
      const std::string path = foreign("a.safetensors", name, shape);
      EXPECT_TRUE(is_latent_file(path));
      const Latents read = read_latents(path);
      EXPECT_EQ(read.values, ramp(0));
      EXPECT_EQ(read.info.scale, LatentScale::kNormalized);
      EXPECT_EQ(read.notices.size(), 1U);
      EXPECT_TRUE(read_latents(path, LatentScale::kRaw).notices.empty());
    }
  }
  const Latents image = read_latents(foreign("a.safetensors", "samples", {1, 16, 5, 6}));
  EXPECT_EQ(image.info.channels, 16);
  EXPECT_EQ(image.info.frames, 1);
}

TEST_F(LatentFileTest, ComfyUiFilesAreNotTakenForNormalized) {
  const std::string path = folder_.file("a.latent");
  write_latents(path, options_of_ramp(), {});
  EXPECT_EQ(error_of([&] { read_latents(path, LatentScale::kNormalized); }).code(),
            ErrorCode::kInvalidArgument);
  const std::string comfy =
      foreign("b.latent", "latent_tensor", {1, kChannels, kFrames, kHeight, kWidth},
              "latent_format_version_0");
  const Error error = error_of([&] { read_latents(comfy, LatentScale::kNormalized); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(std::string(error.what()).find("--latent-scale raw"), std::string::npos);
}

// The first value that is not finite, by its place in the tensor, and how many there are.
TEST_F(LatentFileTest, RefusesValuesThatAreNotFinite) {
  for (const char* name : {"a.safetensors", "a.npy", "a.latent"}) {
    const std::string path = folder_.file(name);
    write_latents(path, options_of_ramp(), {});
    std::string bytes = read_bytes(path);
    // [3, 2, 1, 0] and the last one.
    const size_t first = ((3 * kFrames + 2) * kHeight + 1) * kWidth;
    const size_t data = bytes.size() - 4 * ramp(0).size();
    const float bad[] = {-std::numeric_limits<float>::infinity(), std::nanf("")};
    std::memcpy(bytes.data() + data + 4 * first, &bad[0], 4);
    std::memcpy(bytes.data() + bytes.size() - 4, &bad[1], 4);
    write_bytes(path, bytes);
    const Error error = error_of([&] { open_latent_reader(path, {}); });
    const std::string what = error.what();
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(what.find(path), std::string::npos) << what;
    EXPECT_NE(what.find("found -inf at ["), std::string::npos) << what;
    EXPECT_NE(what.find("3,2,1,0]"), std::string::npos) << what;
    EXPECT_NE(what.find("the first of 2"), std::string::npos) << what;
    EXPECT_EQ(open_latent_reader(path, {.any_value = true})->info().frames, kFrames);
  }
}

TEST_F(LatentFileTest, RefusesOtherTensors) {
  for (const auto& [name, shape] :
       std::vector<std::pair<std::string, std::vector<int64_t>>>{{"video", {16, 5, 2, 3}},
                                                                 {"latent", {8, 5, 4, 3}},
                                                                 {"latent", {8, 10, 2, 3}},
                                                                 {"latent", {480}}}) {
    const std::string path = foreign("a.safetensors", name, shape);
    EXPECT_FALSE(is_latent_file(path)) << name;
    EXPECT_EQ(error_of([&] { read_latents(path); }).code(), ErrorCode::kIo) << name;
  }
  const std::string batch = foreign("a.safetensors", "latent", {2, 16, 5, 1, 3});
  const Error error = error_of([&] { read_latents(batch); });
  EXPECT_NE(std::string(error.what()).find("found 2"), std::string::npos) << error.what();
}

TEST_F(LatentFileTest, RefusesForgedMetadata) {
  std::vector<float> values = ramp(0);
  const NamedTensor tensor = {
      "latent",
      {values.data(), DType::kFloat32, {}, {kChannels, kFrames, kHeight, kWidth}, {}},
      {}};
  const std::map<std::string, std::string> good = {
      {"schema", "zoetrope.latent"}, {"schema_version", "1"}, {"scale", "raw"}};
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"scale", "odd"},
                                                        {"scale", ""},
                                                        {"source_frames", "-1"},
                                                        {"source_frames", "1x"},
                                                        {"source_frames", "1\n2"},
                                                        {"schema_version", "1\n2"},
                                                        {"source_width", "0"},
                                                        {"source_height", "99999999999999"},
                                                        {"source_rate", "1/0"},
                                                        {"schema_version", "2"},
                                                        {"schema_version", ""}}) {
    std::map<std::string, std::string> metadata = good;
    metadata[key] = value;
    const std::string path = folder_.file("a.safetensors");
    write_safetensors(path, {tensor}, metadata);
    const Error error = error_of([&] { read_latents(path); });
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    EXPECT_EQ(error.code(), key == "schema_version" ? ErrorCode::kUnsupported : ErrorCode::kIo)
        << key << " " << value;
  }
}

TEST_F(LatentFileTest, RefusesBytesThatAreNoFile) {
  write_bytes(folder_.file("a.safetensors"), std::string("\xff\0\0\0\0\0\0\0{", 9));
  EXPECT_EQ(error_of([&] { read_latents(folder_.file("a.safetensors")); }).code(), ErrorCode::kIo);
  EXPECT_FALSE(is_latent_file(folder_.file("a.safetensors")));
  EXPECT_FALSE(is_latent_file(folder_.file("missing")));
}

TEST_F(LatentFileTest, LeavesNothingBehindUnfinished) {
  for (const char* name : {"a.safetensors", "a.npy", "a.latent"}) {
    const std::unique_ptr<LatentWriter> writer =
        open_latent_writer(folder_.file(name), options_of_ramp());
    writer->write({kFrames, ramp(0).data(), nullptr, nullptr});
  }
  EXPECT_TRUE(folder_.names().empty());
}

}  // namespace
}  // namespace zoetrope::media
