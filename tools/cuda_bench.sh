#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the benchmark of the Hopper convs, checks them and times them. Arguments go to the
# benchmark, which takes them in turn:
#   tools/cuda_bench.sh [match=TEXT | case=NAME | json | check | time | tune | once]...
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release -DZOETROPE_CUDA=ON >/dev/null
cmake --build --preset release --target bench/cuda/conv3d_bench
exec build/release/bench/cuda/conv3d_bench "$@"
