// SPDX-License-Identifier: Apache-2.0
#include "media/container_end.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tests/media/media_support.h"

namespace zoetrope::media {
namespace {

std::string cut_of(const std::string& bytes, const std::string& container) {
  return find_cut(std::as_bytes(std::span(bytes.data(), bytes.size())), container);
}

std::string zeros(size_t count) { return std::string(count, '\0'); }

std::string big_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string little_endian(uint64_t value, int bytes) {
  const std::string text = big_endian(value, bytes);
  return {text.rbegin(), text.rend()};
}

struct Whole {
  std::string container;
  std::string bytes;
  size_t first;                     // cuts from here on show
  size_t last = std::string::npos;  // up to here; the rest is no loss
};

std::string join(std::initializer_list<std::string_view> parts) {
  std::string whole;
  for (const std::string_view part : parts) whole += part;
  return whole;
}

// Small, but whole as far as their lengths say.
std::vector<Whole> whole_files() {
  const std::string ebml = join({big_endian(0x1a45dfa3, 4), "\x81x"});
  const std::string mp4 = join({big_endian(16, 4), "ftyp", zeros(8)});
  const std::string gif = join({"GIF89a", zeros(4), "\x80", zeros(2), zeros(6)});  // 2 colours
  const std::string image = join({",", zeros(9), "\x02", "\x03", "abc", zeros(1)});
  const std::string ogg = join({"OggS", zeros(22), "\x02", "\x04\x03", "7 bytes"});
  const std::string flv = join({"FLV\x01\x05", big_endian(9, 4), zeros(4)});
  std::vector<Whole> files = {
      {"matroska,webm", join({ebml, big_endian(0x18538067, 4), "\x85", "12345"}), ebml.size() + 5},
      {"mov,mp4,m4a,3gp,3g2,mj2", join({mp4, big_endian(1, 4), "mdat", big_endian(20, 8), "1234"}),
       mp4.size() + 16},
      {"avi", join({"RIFF", little_endian(9, 4), "AVI 12345"}), 9},
      {"asf",
       join({zeros(16), little_endian(30, 8), "123456", zeros(16), little_endian(40, 8),
             std::string(16, 'd')}),
       30 + 24},
      {"flv", join({flv, "\x09", big_endian(5, 3), zeros(7), "12345", zeros(4)}), flv.size() + 4},
      {"ogg", ogg + ogg, ogg.size() + 4},
      {"apng",
       join({"\x89PNG\r\n\x1a\n", big_endian(9, 4), "fdAT", zeros(13), zeros(4), "IEND", zeros(4)}),
       8 + 4, 8 + 20},
      {"gif", join({gif, "!\xf9", "\x04", "1234", zeros(1), image}), gif.size() + 9},
  };
  std::string packets;
  for (int i = 0; i < 10; ++i) packets += join({"G", zeros(187)});
  files.push_back({"mpegts", packets, 9 * 188 + 1});
  return files;
}

TEST(ContainerEnd, WholeFilesAreWhole) {
  for (const Whole& file : whole_files()) {
    EXPECT_EQ(cut_of(file.bytes, file.container), "") << file.container;
    EXPECT_EQ(cut_of(file.bytes, "png_pipe"), "");
  }
}

TEST(ContainerEnd, ACutWithinAPartShows) {
  for (const Whole& file : whole_files()) {
    const size_t last = std::min(file.last, file.bytes.size() - 1);
    for (size_t size = file.first; size <= last; ++size) {
      EXPECT_NE(cut_of(file.bytes.substr(0, size), file.container), "")
          << file.container << " of " << size;
    }
  }
}

TEST(ContainerEnd, WhatFollowsTheVideoIsNoPartOfIt) {
  for (const Whole& file : whole_files()) {
    if (file.container == "asf" || file.container == "mpegts") continue;  // nothing tells
    EXPECT_EQ(cut_of(file.bytes + "~~~~~~ a comment at the end ~~~~~~", file.container), "")
        << file.container;
  }
}

TEST(ContainerEnd, UnknownLengthsTellNothing) {
  const std::string live = join({big_endian(0x1a45dfa3, 4), "\x81x", big_endian(0x18538067, 4),
                                 "\x01", std::string(7, '\xff'), "data"});
  EXPECT_EQ(cut_of(live, "matroska,webm"), "");
  EXPECT_EQ(cut_of(join({big_endian(0, 4), "mdat and so on"}), "mov,mp4,m4a,3gp,3g2,mj2"), "");
  EXPECT_EQ(cut_of(join({"RIFF", zeros(4), "AVI "}), "avi"), "");
}

TEST(ContainerEnd, DamageIsNeverReadBeyondTheFile) {
  for (const Whole& file : whole_files()) {
    const std::vector<uint8_t> bytes = noise(4000);
    for (size_t i = 0; i + 1 < bytes.size(); ++i) {
      std::string damaged = file.bytes;
      damaged[bytes[i] % damaged.size()] = static_cast<char>(bytes[i + 1]);
      cut_of(damaged, file.container);
    }
    cut_of("", file.container);
  }
}

}  // namespace
}  // namespace zoetrope::media
