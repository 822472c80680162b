#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The stages of a bundle; tools/cuda_bundle.sh says how to use them.
set -euo pipefail
usage="usage: run test|memcheck|racecheck|synccheck|bench|kernels|torch REPOSITORY RESULTS"
[ $# -eq 3 ] || { echo "$usage" >&2; exit 2; }
mkdir -p "$3"
repository=$(realpath "$2")
results=$(realpath "$3")
cd "$(dirname "$0")"
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
data=$(cat test-data)
[ -e "$data" ] || { mkdir -p "$(dirname "$data")" && ln -s "$repository/tests/data" "$data"; }
mkdir -p tests && ln -sfn "$repository/tests/data" tests/data
bin=build/release

# A job of the model, into model.jsonl: encode|decode WxH FRAMES, then options.
where=--device=cuda
tensors=device
job() {
  python3 bench/record.py "$results/model.jsonl" $bin/cli/zoetrope bench "$1" --weights random \
    $where --size "$2" --frames "$3" --repetitions 7 --tensors $tensors "${@:4}" --json - --quiet
}

# The same beside PyTorch, into torch.jsonl, which may take long to compile: leaves out what does.
beside_torch() {
  timeout 150 python3 bench/compare_torch.py "$1" --device cuda --size "$2" --frames "$3" \
    --repetitions 3 "${@:4}" --output "$results/torch.jsonl" || echo "left out: $*"
}

case $1 in
  test)
    $bin/tests/cuda/cuda_test --gtest_brief=1
    $bin/tests/runtime/runtime_test --gtest_brief=1 \
      --gtest_filter='-*GoldenStages*:InstructionSets*'
    python3 tests/cuda/torch_host.py $bin/tests/cuda/torch_host.so
    ;;
  memcheck | racecheck | synccheck)
    # Small shapes of both tiers: convs on every row of the table, with what spreads and gathers
    # pictures; attention; the other ops; streams with their edges and captured launches.
    small='*CudaConvKernels.GivesTheSameBitsForAnyCutInTime*:*CudaConvKernels.SkipsZeroHistory*'
    small+=':*CudaAttention.GivesTheSame*:*CudaAttentionSm90.GivesTheSame*'
    small+=':CudaCopies*:CudaCarry*:CudaRmsNorm*:CudaSilu*:CudaAdd*'
    # Not under racecheck, which does not come to an end within captured launches of a whole model.
    if [ "$1" != racecheck ]; then
      small+=':CudaStreams.CaptureALaunch*:CudaStreams.WorkInTheOrder*:CudaStreams.ReadAndWrite*'
      small+=':CudaStreams.CountWhat*'
    fi
    compute-sanitizer --tool "$1" --error-exitcode 1 \
      $bin/tests/cuda/cuda_test --gtest_brief=1 --gtest_filter="$small"
    ;;
  bench)
    job encode 512x512 81
    job decode 512x512 81
    job decode 832x480 81
    job encode 832x480 81
    job encode 1024x1024 1
    job decode 1024x1024 1
    tensors=bytes
    job encode 512x512 81
    job decode 512x512 81
    tensors=device
    where=--target=cuda-sm80  # the portable kernels alone
    job encode 512x512 81
    job decode 512x512 81
    where=--device=cuda
    job encode 512x512 81 --dtype float16
    job decode 512x512 81 --dtype float16
    job encode 512x512 81 --dtype float32
    job decode 512x512 81 --dtype float32
    job decode 512x512 81 --memory-limit 2.2GiB
    job decode 832x480 81 --memory-limit 4GiB
    job decode 1280x720 81 --memory-limit 8GiB
    for coding in encode decode; do
      $bin/cli/zoetrope profile "$coding" --weights random --device cuda --size 512x512 \
        --frames 81 --tensors device --json "$results/profile-$coding.json" -y
    done
    ;;
  kernels)
    $bin/bench/cuda/conv3d_bench check
    python3 bench/cuda/compare_cudnn.py $bin/bench/cuda/{conv3d,attention}_bench |
      tee -a "$results/cuda_kernels.jsonl"
    ;;
  torch)
    for coding in encode decode; do
      beside_torch "$coding" 512x512 81 --whole --channels-last --compile
      beside_torch "$coding" 512x512 81 --whole --channels-last
      beside_torch "$coding" 512x512 81
    done
    ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
