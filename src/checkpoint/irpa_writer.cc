// SPDX-License-Identifier: Apache-2.0
// Laid out like the archives of IREE's own writer, byte for byte
// (runtime/src/iree/io/formats/irpa/irpa_builder.c): the table at 96, names and metadata right
// behind it, data on multiples of 64, zeros up to a whole page.
#include <fmt/format.h>
#include <array>
#include <cstdint>

#include "base/dtype.h"
#include "base/file_writer.h"
#include "checkpoint/byte_view.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/irpa.h"
#include "checkpoint/writable_tensors.h"

namespace zoetrope {
namespace {

constexpr size_t kTableStart = 96;
constexpr size_t kDataAlignment = 64;
constexpr size_t kPage = 4096;
constexpr size_t kEntryStride = 80;  // kIrpaDataEntrySize on a multiple of kIrpaEntryAlignment

// What iree-turbine writes, down to the spaces; iree.runtime reads it too, but writes no bfloat16.
std::string metadata_of(const TensorInfo& tensor) {
  const bool is_signed = tensor.dtype != DType::kUInt8 && tensor.dtype != DType::kBool;
  return fmt::format(R"({}{{"type": "Tensor", "dtype": "{}", "shape": [{}], "dtype_desc": )"
                     R"({{"class_name": "dtype", "is_complex": false, "is_floating_point": {}, )"
                     R"("is_signed": {}, "itemsize": {}}}}})",
                     kIrpaTurbineMetadata, name_of(tensor.dtype), fmt::join(tensor.shape, ", "),
                     is_floating(tensor.dtype), is_signed, size_of(tensor.dtype));
}

}  // namespace

void write_irpa(const std::string& path, std::vector<TensorInfo> tensors,
                const WriteTensor& write) {
  const std::vector<size_t> sizes = prepare_tensors(path, "a parameter archive", tensors);
  std::string table;
  std::string names;
  size_t storage_size = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string metadata = metadata_of(tensors[i]);
    const size_t name_at = names.size();
    const size_t metadata_at = name_at + tensors[i].name.size();
    const size_t offset = aligned_size(storage_size, kDataAlignment);
    table.resize(i * kEntryStride, '\0');
    table += little_endian(kIrpaDataEntrySize, 8) +
             little_endian(static_cast<uint64_t>(IrpaEntry::kData), 4) + little_endian(0, 8) +
             little_endian(name_at, 8) + little_endian(tensors[i].name.size(), 8) +
             little_endian(metadata_at, 8) + little_endian(metadata.size(), 8) +
             little_endian(kDataAlignment, 8) + little_endian(offset, 8) +
             little_endian(sizes[i], 8);
    names += tensors[i].name + metadata;
    storage_size = offset + sizes[i];
  }
  const size_t names_start = kTableStart + table.size();
  const size_t storage_start =
      aligned_size(names_start + names.size(), tensors.empty() ? 1 : kDataAlignment);
  FileWriter file(path);
  file.write(kIrpaMagic);
  file.write(little_endian(0, 4));  // version
  const std::array<uint64_t, 10> header = {kIrpaHeaderSize,
                                           0,
                                           0,  // no other archive, no flags
                                           tensors.size(),
                                           kTableStart,
                                           table.size(),
                                           names_start,
                                           names.size(),
                                           storage_start,
                                           storage_size};
  file.write(header.data(), sizeof(header));
  file.pad(kTableStart);
  file.write(table);
  file.write(names);
  for (size_t i = 0; i < tensors.size(); ++i) {
    write_aligned(file, kDataAlignment, tensors[i], sizes[i], write);
  }
  file.pad(kPage);
  file.close();
}

}  // namespace zoetrope
