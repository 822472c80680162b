// SPDX-License-Identifier: Apache-2.0
// Members, under one folder whose name does not matter: data.pkl describes the tensors, data/<key>
// holds each storage, byteorder says "little" (missing before torch 2.1). Checksums are not
// compared: torch.serialization.set_crc32_options lets files leave them out.
#include "checkpoint/torch_archive.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/checked_math.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "checkpoint/mapped_checkpoint.h"
#include "checkpoint/pickle.h"
#include "checkpoint/state_dict.h"
#include "checkpoint/zip_directory.h"

namespace zoetrope {
namespace {

constexpr size_t kMaxPickleSize = size_t{64} << 20;
constexpr std::string_view kPickleName = "/data.pkl";

using Members = std::map<std::string, ZipMember>;

// The archive's one folder, without a slash.
std::string find_root(const Members& members, const std::string& source) {
  std::optional<std::string> root;
  for (const auto& [name, member] : members) {
    if (!name.ends_with(kPickleName)) continue;
    std::string folder = name.substr(0, name.size() - kPickleName.size());
    if (folder.find('/') != std::string::npos) continue;
    if (root) fail(ErrorCode::kCheckpoint, "{}: two data.pkl; expected one", source);
    root = std::move(folder);
  }
  if (root) return *root;
  fail(ErrorCode::kCheckpoint,
       "{}: a zip archive without <folder>/data.pkl is not a torch checkpoint ({}): give a "
       ".safetensors or .pth file",
       source, members.empty() ? "it is empty" : "it holds " + printable(members.begin()->first));
}

std::string_view text_of(const MappedFile& file, const ZipMember& member) {
  return {reinterpret_cast<const char*>(file.bytes().data()) + member.offset, member.size};
}

void check_byte_order(const MappedFile& file, const Members& members, const std::string& root) {
  const auto order = members.find(root + "/byteorder");
  if (order == members.end() || text_of(file, order->second) == "little") return;
  fail(ErrorCode::kCheckpoint,
       "{}: byte order {}; expected little: save it again on a little-endian machine", file.path(),
       printable(text_of(file, order->second)));
}

// One past the tensor's last element, from the start of its storage; empty if that overflows.
std::optional<int64_t> checked_end(const PickledTensor& tensor) {
  std::optional<int64_t> last = tensor.offset;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const auto step = checked_multiply(tensor.shape[axis] - 1, tensor.strides[axis]);
    if (!step) return std::nullopt;
    last = checked_add(*last, *step);
    if (!last) return std::nullopt;
  }
  return checked_add(*last, 1);
}

class TorchCheckpoint final : public MappedCheckpoint {
 public:
  explicit TorchCheckpoint(const std::string& path) : MappedCheckpoint(path, "torch") {
    const Members members = read_zip_directory(file().bytes(), path);
    const std::string root = find_root(members, path);
    check_byte_order(file(), members, root);
    const ZipMember pickle_member = members.at(root + std::string(kPickleName));
    if (pickle_member.size > kMaxPickleSize) {
      fail(ErrorCode::kCheckpoint, "{}: data.pkl of {} bytes; expected at most {}", path,
           pickle_member.size, kMaxPickleSize);
    }
    const Pickle pickle =
        read_pickle(file().bytes().subspan(pickle_member.offset, pickle_member.size), path);
    std::vector<std::pair<std::string, Place>> places;
    int64_t total = 0;
    for (const auto& [name, tensor] : find_state_dict(pickle, path)) {
      places.emplace_back(name, place_of(name, *tensor, root, members));
      total += *checked_element_count(tensor->shape) * size_of(tensor->dtype);
      if (total > largest_total()) {
        fail(ErrorCode::kCheckpoint,
             "{}: its tensors take more than {} times the file's {} bytes: save them as contiguous",
             path, kMaxSharing, file().bytes().size());
      }
    }
    set_places(places);
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& what) const {
    fail(ErrorCode::kCheckpoint, "{}: tensor {}: {}: the file is damaged, get it again", source(),
         printable(name), what);
  }

  // A mapped file has less than 2^57 bytes, so two of these can be added.
  int64_t largest_total() const {
    return kMaxSharing * static_cast<int64_t>(file().bytes().size());
  }

  // Checks that the tensor lies inside its storage and takes at most largest_total() bytes.
  Place place_of(const std::string& name, const PickledTensor& tensor, const std::string& root,
                 const Members& members) const {
    const auto member = members.find(root + "/data/" + std::string(tensor.storage));
    if (member == members.end()) refuse(name, "no storage " + printable(tensor.storage));
    const int64_t item = size_of(tensor.dtype);
    const auto storage_size = checked_multiply(tensor.storage_elements, item);
    if (!storage_size || static_cast<size_t>(*storage_size) != member->second.size) {
      refuse(name, fmt::format("a storage of {} {} in {} bytes", tensor.storage_elements,
                               name_of(tensor.dtype), member->second.size));
    }
    const std::optional<int64_t> count = checked_element_count(tensor.shape);
    const auto size = count ? checked_multiply(*count, item) : std::nullopt;
    if (!size || *size > largest_total()) {
      refuse(name, "shape " + to_string(tensor.shape) + " is too large");
    }
    Place place = {0, 0, tensor.dtype, tensor.shape, tensor.strides};
    if (*count > 0) {
      const std::optional<int64_t> end = checked_end(tensor);
      if (!end || *end > tensor.storage_elements) {
        refuse(name, fmt::format("shape {} strides {} offset {} leave a storage of {} elements",
                                 to_string(tensor.shape), to_string(tensor.strides), tensor.offset,
                                 tensor.storage_elements));
      }
      place.offset = member->second.offset + static_cast<size_t>(tensor.offset * item);
      place.size = static_cast<size_t>((*end - tensor.offset) * item);
    }
    return place;
  }
};

}  // namespace

std::shared_ptr<const Checkpoint> open_torch_archive(const std::string& path) {
  return std::make_shared<TorchCheckpoint>(path);
}

}  // namespace zoetrope
