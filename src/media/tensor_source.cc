// SPDX-License-Identifier: Apache-2.0
#include "media/tensor_source.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/dtype.h"
#include "base/fail.h"
#include "base/finite.h"
#include "base/shape.h"

namespace zoetrope::media {
namespace {

constexpr int64_t kScanBytes = 1 << 22;

// Counts the values that are not finite among `count`, the first of which has index `first`.
void scan_block(const float* values, int64_t count, int64_t first,
                const std::function<bool(int64_t)>& counts, ValueScan& scan) {
  for (int64_t i = 0; i < count; ++i) {  // NaN compares as neither
    scan.least = std::min(scan.least, values[i]);
    scan.largest = std::max(scan.largest, values[i]);
  }
  const int64_t found = find_not_finite(values, count);
  if (found < 0) return;
  // One by one from here: where there is one there are often many.
  for (int64_t at = found; at < count; ++at) {
    if (std::isfinite(values[at]) || !counts(first + at)) continue;
    if (scan.not_finite++ > 0) continue;
    scan.first = first + at;
    scan.first_value = values[at];
  }
}

}  // namespace

ValueScan scan_values(const TensorSource& source, const std::function<bool(int64_t)>& counts) {
  const int64_t element = size_of(source.dtype);
  const int64_t step = kScanBytes / element;
  const int64_t total = static_cast<int64_t>(source.bytes.size()) / element;
  std::vector<float> values(static_cast<size_t>(std::min(step, total)));
  ValueScan scan;
  for (int64_t done = 0; done < total; done += step) {
    const int64_t count = std::min(step, total - done);
    const auto offset = static_cast<size_t>(done * element);
    convert_to_float(source.bytes.data() + offset, source.dtype, count, values.data());
    source.release(offset, static_cast<size_t>(count * element));
    scan_block(values.data(), count, done, counts, scan);
  }
  return scan;
}

void check_finite(const TensorSource& source, const ValueScan& scan) {
  if (scan.not_finite == 0) return;
  std::vector<int64_t> index(source.shape.size());
  int64_t rest = scan.first;
  for (size_t axis = index.size(); axis-- > 0;) {
    index[axis] = rest % source.shape[axis];
    rest /= source.shape[axis];
  }
  fail(
      ErrorCode::kIo,
      "{}: expected finite values, found {} at {}, the first of {}: make it again, or replace them "
      "(numpy.nan_to_num)",
      source.name, scan.first_value, zoetrope::to_string(index), scan.not_finite);
}

std::shared_ptr<const SafetensorsFile> open_safetensors(const std::string& path) {
  try {
    return std::make_shared<const SafetensorsFile>(path);
  } catch (const Error& error) {
    fail(ErrorCode::kIo, "{}", error.what());
  }
}

TensorSource open_npy_tensor(const std::string& path) {
  const auto file = std::make_shared<const NpyFile>(path);
  return {path, file->dtype(), file->shape(), file->bytes(),
          [file](size_t offset, size_t size) { file->release(offset, size); }};
}

TensorSource safetensors_tensor(const std::shared_ptr<const SafetensorsFile>& file,
                                const std::string& name) {
  const SafetensorsEntry& entry = file->tensors().at(name);
  return {fmt::format("{}: tensor {}", file->path(), name), entry.dtype, entry.shape,
          file->bytes(entry), [file, &entry](size_t offset, size_t size) {
            file->release({entry.dtype, entry.shape, entry.offset + offset, size});
          }};
}

}  // namespace zoetrope::media
