#!/usr/bin/env bash
# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds build/dev and runs every test. The last line is
# "N passed, M failed", summed over all runners.
#
#   scripts/test.sh                      everything
#   scripts/test.sh --sanitize           also the runtime's tests under ASan
#                                        and TSan
#   scripts/test.sh --property-cases N   also N random programs of the sharding
#                                        property test, beyond the 300 of a run
#   scripts/test.sh --property-seed N    the seed of the first of them

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sanitize=
arguments=("$@")
while [ $# -gt 0 ]; do
  case $1 in
    --sanitize)
      sanitize=1
      shift
      ;;
    --property-cases | --property-seed)
      if ! [[ ${2:-} =~ ^[0-9]+$ ]]; then
        echo "error: $1 needs a number, got '${2:-}'" >&2
        exit 2
      fi
      shift 2
      ;;
    *)
      echo "usage: scripts/test.sh [--sanitize] [--property-cases N]" \
        "[--property-seed N]" >&2
      exit 2
      ;;
  esac
done

scripts/setup.sh --without-jax
# What building does not need is made meanwhile.
scripts/setup.sh &
jax=$!

build() { # <source folder> <preset>
  echo "Building preset $2 of $1"
  local log
  log=$(mktemp)
  if ! (cd "$1" && cmake --preset "$2" && cmake --build --preset "$2") \
    >"$log" 2>&1; then
    cat "$log"
    rm -f "$log"
    wait
    echo "error: the build of preset $2 failed" >&2
    echo "0 passed, 1 failed"
    exit 1
  fi
  rm -f "$log"
}

build . dev
if [ -n "$sanitize" ]; then
  build runtime asan
  build runtime tsan
fi
wait "$jax"
exec build/venv/bin/python scripts/run_tests.py "${arguments[@]}"
