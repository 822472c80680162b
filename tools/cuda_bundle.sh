#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs what a bare machine with an NVIDIA driver needs to test and measure the CUDA backend.
#
# usage: tools/cuda_bundle.sh FOLDER       builds, and writes FOLDER/zoetrope-cuda.tar.xz
#
# On the other machine, in a clone of this repository (for tests/data), for each stage:
#   tar -xJf zoetrope-cuda.tar.xz && ./zoetrope-cuda/run STAGE REPOSITORY
# STAGE is test, sanitize (needs compute-sanitizer) or bench; each takes less than eight minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 1 ] || { sed -n '3,9p' "$0" | cut -c3-; exit 2; }

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
folder="$stage/zoetrope-cuda"
mkdir -p "$folder" "$1"
cmake --preset release -DZOETROPE_CUDA=ON >/dev/null
cmake --build --preset release --target tests/cuda/cuda_test tests/runtime/runtime_test \
  bench/cuda/conv3d_bench
cp build/release/tests/cuda/cuda_test build/release/tests/runtime/runtime_test \
  build/release/bench/cuda/conv3d_bench "$folder"
strip "$folder"/*
# Shared libraries but those of every Linux.
ldd "$folder"/*_test | awk '/=> \// {print $3}' | sort -u |
  grep -vE '/(libc|libm|libgcc_s|libstdc\+\+|ld-linux[^/]*)\.so' | xargs -I{} cp -L {} "$folder"
printf 'data=%q\n' "$PWD/tests/data" >"$folder/run"
cat >>"$folder/run" <<'RUN'
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# The tests look for their data where they were built.
[ -e "$data" ] || { mkdir -p "$(dirname "$data")" && ln -s "$(cd "$2" && pwd)/tests/data" "$data"; }
case ${1:-} in
  test)
    "$here/cuda_test" --gtest_brief=1
    "$here/runtime_test" --gtest_brief=1 --gtest_filter='-GoldenStages*:InstructionSets*'
    ;;
  sanitize)
    small='CudaCopies*:CudaCarry*:*CudaConvKernels.SkipsZeroHistory*:*CudaAttention.GivesTheSame*'
    for tool in memcheck racecheck synccheck; do
      compute-sanitizer --tool "$tool" --error-exitcode 1 \
        "$here/cuda_test" --gtest_brief=1 --gtest_filter="$small"
    done
    ;;
  bench) "$here/conv3d_bench" time ;;
  *) echo "usage: run test|sanitize|bench REPOSITORY" >&2; exit 2 ;;
esac
RUN
sed -i '1i #!/usr/bin/env bash' "$folder/run"
chmod +x "$folder/run"
tar -C "$stage" -cJf "$1/zoetrope-cuda.tar.xz" zoetrope-cuda
ls -l "$1/zoetrope-cuda.tar.xz"
