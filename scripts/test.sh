#!/usr/bin/env bash
# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds build/dev and runs every test. The last line is
# "N passed, M failed", summed over all runners.
#
#   scripts/test.sh              everything
#   scripts/test.sh --sanitize   also the runtime's tests under ASan and TSan

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -gt 1 ] || { [ $# -eq 1 ] && [ "$1" != --sanitize ]; }; then
  echo "usage: scripts/test.sh [--sanitize]" >&2
  exit 2
fi

scripts/setup.sh

build() { # <source folder> <preset>
  echo "Building preset $2 of $1"
  local log
  log=$(mktemp)
  if ! (cd "$1" && cmake --preset "$2" && cmake --build --preset "$2") \
    >"$log" 2>&1; then
    cat "$log"
    rm -f "$log"
    echo "error: the build of preset $2 failed" >&2
    echo "0 passed, 1 failed"
    exit 1
  fi
  rm -f "$log"
}

build . dev
if [ "${1:-}" = --sanitize ]; then
  build runtime asan
  build runtime tsan
fi
exec build/venv/bin/python scripts/run_tests.py "$@"
