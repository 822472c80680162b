// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/mapped_checkpoint.h"

namespace zoetrope {

void MappedCheckpoint::set_places(const std::vector<std::pair<std::string, Place>>& places) {
  std::vector<TensorInfo> infos;
  infos.reserve(places.size());
  for (const auto& [name, place] : places) infos.push_back({name, place.dtype, place.shape});
  set_tensors(std::move(infos));
  places_.insert(places.begin(), places.end());
}

void MappedCheckpoint::view_tensor(const TensorInfo& tensor, const TensorUse& use) const {
  const Place& place = places_.at(tensor.name);
  TensorView view;
  view.data = const_cast<std::byte*>(file_.bytes().data() + place.offset);  // only read
  view.dtype = place.dtype;
  view.shape = place.shape;
  view.strides = place.strides;
  use(view);
  file_.release(place.offset, place.size);
}

}  // namespace zoetrope
