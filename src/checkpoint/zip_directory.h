// SPDX-License-Identifier: Apache-2.0
// Where the members of an uncompressed zip archive lie.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace zoetrope {

struct ZipMember {
  size_t offset = 0;  // of the content, from the start of the file
  size_t size = 0;    // bytes
};

// Reads the directory of the archive whose bytes are `file`. Every member is stored (neither
// compressed nor encrypted), lies inside the file, overlaps no other, has a name of its own, and
// its own header agrees with the directory. Throws kCheckpoint, naming `source`.
std::map<std::string, ZipMember> read_zip_directory(std::span<const std::byte> file,
                                                    const std::string& source);

}  // namespace zoetrope
