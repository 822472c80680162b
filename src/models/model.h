// SPDX-License-Identifier: Apache-2.0
// A checkpoint recognised as a model: its configuration, and one Graph for each entry.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "graph/graph.h"

namespace zoetrope::models {

// The functions of a model. `first` codes the first frame of a video, or n independent images;
// `next` codes n latent frames that follow.
enum class Entry : uint8_t { kEncodeFirst, kEncodeNext, kDecodeFirst, kDecodeNext };

// "encode.first", ...
const char* name_of(Entry entry);

// The part of a checkpoint that encodes or the part that decodes. base_dim 0: it is not there.
struct HalfConfig {
  int64_t base_dim = 0;
  int64_t video_channels = 0;
  int64_t latent_channels = 0;
  int64_t spatial_stride = 0;   // video pixels per latent pixel
  int64_t temporal_stride = 0;  // video frames per latent frame, after the first
};

struct Config {
  std::string family;  // "wan2.1"
  std::string naming;  // of the checkpoint: "published", "diffusers"
  HalfConfig encoder;
  HalfConfig decoder;
  std::vector<float> latents_mean;
  std::vector<float> latents_std;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const Config& config() const = 0;

  // Published names that a layer of the half needs and the checkpoint lacks.
  virtual std::vector<std::string> missing() const = 0;

  // Tensors of the checkpoint, by their own names, that belong to no layer.
  virtual std::vector<std::string> unknown() const = 0;

  // Of the values read so far, by published name: the same for every naming and stored type.
  virtual std::map<std::string, uint64_t> hashes() const = 0;

  // One over all of them: 16 hexadecimal digits.
  std::string checksum() const { return checksum_of(hashes()); }

  // The config.json of a diffusers folder with this model. Throws kUnsupported, saying why, if that
  // cannot describe it.
  virtual std::string diffusers_config() const = 0;

  // Throws kCheckpoint, naming the tensor, if the entry's half is missing tensors or has some of a
  // wrong shape.
  virtual graph::Graph graph(Entry entry) const = 0;
};

// Throws kCheckpoint or kUnsupported, saying what was found, if the tensors are of no known family.
std::unique_ptr<Model> recognise(std::shared_ptr<const Checkpoint> checkpoint);

}  // namespace zoetrope::models
