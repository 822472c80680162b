#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs what a bare machine with an NVIDIA driver needs to test and measure Zoetrope on its GPU.
#
# usage: tools/cuda_bundle.sh FOLDER       builds, and writes FOLDER/zoetrope-cuda.tar.xz
#
# On the other machine, in a clone of this repository (for tests/data), for each stage:
#   tar -xJf zoetrope-cuda.tar.xz && zoetrope-cuda/run STAGE REPOSITORY RESULTS
# STAGE is test (needs PyTorch), memcheck, racecheck or synccheck (compute-sanitizer), bench
# (Python), kernels or torch (PyTorch); each takes less than eight minutes. JSON lines for the files
# of docs/performance/ are added to those of the same names in the folder RESULTS.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 1 ] || { sed -n '3,12p' "$0" | cut -c3-; exit 2; }

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
build=build/cuda-bundle
# Laid out as this repository is, so that commands read alike.
folder="$stage/zoetrope-cuda"
mkdir -p "$folder/lib" "$folder/bench" "$1"
cmake --preset release -B "$build" -DZOETROPE_CUDA=ON -DZOETROPE_MEDIA=OFF \
  -DZOETROPE_CUDA_ARCHITECTURES="${ZOETROPE_CUDA_ARCHITECTURES:-80;90-real}" >/dev/null
targets=(cli/zoetrope tests/cuda/cuda_test tests/runtime/runtime_test bench/cuda/conv3d_bench
  bench/cuda/attention_bench tests/cuda/torch_host.so)
cmake --build "$build" --target "${targets[@]}"
for target in "${targets[@]}"; do
  install -D -s "$build/$target" "$folder/build/release/$target"
done
# Shared libraries but those of every Linux.
ldd "${targets[@]/#/$build/}" | awk '/=> \// {print $3}' | sort -u |
  grep -vE '/(libc|libm|libgcc_s|libstdc\+\+|ld-linux[^/]*)\.so' |
  xargs -I{} cp -L {} "$folder/lib"
cp bench/*.py "$folder/bench"
install -D -t "$folder/bench/cuda" bench/cuda/compare_cudnn.py
install -D tests/cuda/torch_host.py "$folder/tests/cuda/torch_host.py"
cp tools/cuda_stages.sh "$folder/run"
git describe --always --dirty --exclude='*' >"$folder/commit"
echo "$PWD/tests/data" >"$folder/test-data"  # where the tests look
# A window beyond the sizes of the binaries, which hold the same kernels.
tar -C "$stage" -c zoetrope-cuda | xz -9 >"$1/zoetrope-cuda.tar.xz"
ls -l "$1/zoetrope-cuda.tar.xz"
