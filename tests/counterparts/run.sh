#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one of these tests with the formats' own tools, in a Python environment that is made from
# requirements.txt where it is not there yet.
# usage: run.sh PYTHON ENVIRONMENT TEST.py PROGRAM
# Where the environment cannot be made (no network), the test is skipped with status 77; with CI=true
# it fails, since there it must have run.
set -euo pipefail

python=$1 environment=$2 test=$3 program=$4
here=$(cd "$(dirname "$0")" && pwd)

make_environment() {
  cmp -s "$here/requirements.txt" "$environment/requirements.txt" && return
  rm -rf "$environment"
  "$python" -m venv "$environment" &&
    "$environment/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
      --requirement "$here/requirements.txt" &&
    cp "$here/requirements.txt" "$environment/"
}

mkdir -p "$(dirname "$environment")"
exec 9>"$environment.lock"
flock 9  # ctest runs tests side by side
if ! make_environment; then
  if [ "${CI:-}" = true ]; then
    echo "error: the packages of $here/requirements.txt could not be installed"
    exit 1
  fi
  echo "skipped: the packages of $here/requirements.txt could not be installed"
  exit 77
fi
exec 9>&-
PYTHONDONTWRITEBYTECODE=1 ZOETROPE_PROGRAM=$program PYTHONPATH=$here exec "$environment/bin/python" "$here/$test"
