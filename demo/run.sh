#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Encodes and decodes the bundled clip with the bundled demo checkpoint and shows the result.
# usage: demo/run.sh ZOETROPE_BINARY      writes demo-output/
set -euo pipefail
binary=$(realpath "${1:?usage: demo/run.sh ZOETROPE_BINARY}")
cd "$(dirname "$0")/.."

clip=demo/big_buck_bunny_256.mp4
weights=demo/wan21_demo_d32_bf16.safetensors
out=demo-output
latents=$out/latents.safetensors
decoded=$out/decoded.mp4
mkdir -p $out
rm -f $latents $decoded $out/roundtrip.mp4 $out/side-by-side.mp4 $out/contact-sheet.png

frames=$(ffprobe -v error -select_streams v -show_entries stream=nb_frames -of csv=p=0 $clip)

# timed NAME COMMAND...: runs the command and says how many of the clip's frames it did a second.
timed() {
  local name=$1 start=$EPOCHREALTIME
  shift
  printf '\n$ zoetrope %s\n' "$*"
  "$binary" "$@"
  local seconds
  seconds=$(awk "BEGIN { print $EPOCHREALTIME - $start }")
  speeds+=("$(awk "BEGIN { printf \"%-10s %6.1f s  %6.2f frames/s\", \"$name\", $seconds, \
    $frames / $seconds }")")
}

size_of() { stat --format=%s "$1" | numfmt --to=iec-i --suffix=B; }

speeds=()
timed encode encode $clip -o $latents --weights $weights
timed decode decode $latents -o $decoded --weights $weights
timed roundtrip roundtrip $clip -o $out/roundtrip.mp4 --weights $weights

# Left and right, or above and below: the clip and what came back.
label() { echo "drawtext=text='$1':x=6:y=6:fontsize=16:fontcolor=white:box=1:boxcolor=black@0.6"; }
originals="[0:v]$(label original)[a]"
results="[1:v]$(label decoded)[b]"
ffmpeg -v error -y -i $clip -i $decoded -filter_complex "$originals;$results;[a][b]hstack" \
  -c:v libx264 -crf 12 -pix_fmt yuv420p $out/side-by-side.mp4
originals="[0:v]$(label 'original, frame %{n}')[a]"
ffmpeg -v error -y -i $clip -i $decoded -frames:v 1 -filter_complex \
  "$originals;$results;[a][b]vstack,select='not(mod(n,6))',tile=6x1" $out/contact-sheet.png

raw_size=$(ffprobe -v error -select_streams v -show_entries stream=width,height -of csv=p=0 $clip |
  awk -F, "{ print \$1 * \$2 * 3 * $frames }" | numfmt --to=iec-i --suffix=B)
printf '\nDone: %s frames, %s of RGB pixels, became %s of float32 latents and came back.\n' \
  "$frames" "$raw_size" "$(size_of $latents)"
echo "Speed, with reading files and loading weights ($(nproc) cores):"
printf '  %s\n' "${speeds[@]}"
echo "Look at:"
printf '  %s\n' "$PWD/$out/side-by-side.mp4" "$PWD/$out/contact-sheet.png" "$PWD/$decoded"
echo "The demo checkpoint is a small one whose colours drift after 9 frames: see demo/README.md."
