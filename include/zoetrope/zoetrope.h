// SPDX-License-Identifier: Apache-2.0
// The whole public API.
#pragma once

#include "zoetrope/autoencoder.h"
#include "zoetrope/error.h"
#include "zoetrope/stream.h"
#include "zoetrope/tensor_view.h"
#include "zoetrope/tools.h"
#include "zoetrope/version.h"
#include "zoetrope/video_format.h"
