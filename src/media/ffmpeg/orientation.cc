// SPDX-License-Identifier: Apache-2.0
#include "media/ffmpeg/orientation.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace zoetrope::media {
namespace {

using DisplayMatrix = std::array<int32_t, 9>;

// FFmpeg 6.1 moved a stream's side data to its codec parameters; the old call is gone in later
// versions, so that it must be looked up only where it is chosen.
template <typename Stream>
const uint8_t* stream_matrix(const Stream& stream) {
  if constexpr (requires { stream.codecpar->coded_side_data; }) {
    const auto* parameters = stream.codecpar;
    for (int i = 0; i < parameters->nb_coded_side_data; ++i) {
      const auto& data = parameters->coded_side_data[i];
      if (data.type == AV_PKT_DATA_DISPLAYMATRIX && data.size >= sizeof(DisplayMatrix)) {
        return data.data;
      }
    }
    return nullptr;
  } else {
    size_t size = 0;
    const uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return size >= sizeof(DisplayMatrix) ? data : nullptr;
  }
}

const uint8_t* find_matrix(const AVFrame& frame, const AVStream& stream) {
  const AVFrameSideData* data = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
  if (data != nullptr && data->size >= sizeof(DisplayMatrix)) return data->data;
  return stream_matrix(stream);
}

}  // namespace

// The matrix {a, b, u, c, d, v, x, y, w} takes stored (p, q) to shown (a p + c q, b p + d q), up to
// a shift.
std::optional<Orientation> find_orientation(const AVFrame& frame, const AVStream& stream) {
  const uint8_t* data = find_matrix(frame, stream);
  if (data == nullptr) return Orientation{};
  DisplayMatrix matrix;
  std::memcpy(matrix.data(), data, sizeof(matrix));
  const int32_t a = matrix[0];
  const int32_t b = matrix[1];
  const int32_t c = matrix[3];
  const int32_t d = matrix[4];
  if (b == 0 && c == 0 && a != 0 && d != 0) return Orientation{false, a < 0, d < 0};
  if (a == 0 && d == 0 && b != 0 && c != 0) return Orientation{true, c < 0, b < 0};
  return std::nullopt;
}

}  // namespace zoetrope::media
