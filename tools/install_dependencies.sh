#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs with apt what is missing to build, test and run the demo; says nothing when nothing is.
# usage: tools/install_dependencies.sh [lint|fuzz|bench|ci]   lint: also what `make lint` needs
#                                                             fuzz: also what `make fuzz` needs
#                                                             bench: also the library to compare
#                                                             ci: lint, and a browser for pages
# Package names are those of Debian 12, Debian 13 and Ubuntu 24.04; docs/dependencies.md says why.
set -euo pipefail

packages=(
  cmake ninja-build g++ make pkg-config git python3 python3-venv ffmpeg
  libhwy-dev libfmt-dev nlohmann-json3-dev libxxhash-dev libcli11-dev
  libavformat-dev libavcodec-dev libavutil-dev libswscale-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)
case "${1:-}" in
  "") ;;
  lint) packages+=(clang-format clang-tidy) ;;
  fuzz) packages+=(clang libclang-rt-dev) ;;
  bench) packages+=(libdnnl-dev) ;;
  ci) packages+=(clang-format clang-tidy chromium-headless-shell) ;;
  *) echo "usage: $0 [lint|fuzz|bench|ci]" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "note: without dpkg nothing can be checked; needed under their Debian names:" \
    "${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null || true)
  grep -qx installed <<<"$status" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "error: apt-get is missing; install these packages another way: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "error: packages are missing; run as root: apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq --yes --no-install-recommends "${missing[@]}"
