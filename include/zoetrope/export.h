// SPDX-License-Identifier: Apache-2.0
// Marks what the shared library exports; everything else is hidden, and so are the insides of
// exported classes.
#pragma once

#define ZOETROPE_API __attribute__((visibility("default")))
#define ZOETROPE_HIDDEN __attribute__((visibility("hidden")))
