// SPDX-License-Identifier: Apache-2.0
#include "base/shape.h"

#include <gtest/gtest.h>

namespace zoetrope {
namespace {

TensorView view_of(std::vector<int64_t> shape, std::vector<int64_t> strides) {
  TensorView view;
  view.shape = std::move(shape);
  view.strides = std::move(strides);
  return view;
}

TEST(Shape, PrintsAsInMessages) {
  EXPECT_EQ(to_string(std::vector<int64_t>{384, 16, 3}), "[384,16,3]");
  EXPECT_EQ(to_string(std::vector<int64_t>{}), "[]");
}

TEST(Shape, GivesRowMajorStrides) {
  EXPECT_EQ(contiguous_strides(std::vector<int64_t>{2, 3, 5}), (std::vector<int64_t>{15, 5, 1}));
  EXPECT_EQ(contiguous_strides(std::vector<int64_t>{}), std::vector<int64_t>{});
}

TEST(Shape, PrefersTheViewsOwnStrides) {
  EXPECT_EQ(strides_of(view_of({2, 3}, {})), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(strides_of(view_of({2, 3}, {1, 2})), (std::vector<int64_t>{1, 2}));
}

TEST(Shape, KnowsContiguousViews) {
  EXPECT_TRUE(is_contiguous(view_of({}, {})));
  EXPECT_TRUE(is_contiguous(view_of({2, 3}, {})));
  EXPECT_TRUE(is_contiguous(view_of({2, 3}, {3, 1})));
  EXPECT_FALSE(is_contiguous(view_of({2, 3}, {1, 2})));
  EXPECT_FALSE(is_contiguous(view_of({2, 3}, {4, 1})));
  EXPECT_FALSE(is_contiguous(view_of({2, 3}, {0, 1})));
}

TEST(Shape, IgnoresStridesOfSingleElements) {
  EXPECT_TRUE(is_contiguous(view_of({2, 1, 3}, {3, 77, 1})));
}

}  // namespace
}  // namespace zoetrope
