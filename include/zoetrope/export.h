// SPDX-License-Identifier: Apache-2.0
// Marks what the shared library exports; everything else is hidden.
#pragma once

#define ZOETROPE_API __attribute__((visibility("default")))
