#!/usr/bin/env bash
# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds build/dev and runs every test. The last line is
# "N passed, M failed", summed over all runners.
#
#   scripts/test.sh                      everything
#   scripts/test.sh --sanitize           also the runtime's tests, and those that
#                                        run plans with shard-run as threads and
#                                        as processes, under ASan and TSan
#   scripts/test.sh --sanitize-only      nothing but these
#   scripts/test.sh --property-cases N   also N random programs of the sharding
#                                        property test, beyond the 300 of a run
#   scripts/test.sh --property-seed N    the seed of the first of them

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sanitize='' everything=1 jax=''
arguments=("$@")
while [ $# -gt 0 ]; do
  case $1 in
    --sanitize)
      sanitize=1
      shift
      ;;
    --sanitize-only)
      sanitize=1 everything=''
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
      echo "usage: scripts/test.sh [--sanitize | --sanitize-only]" \
        "[--property-cases N] [--property-seed N]" >&2
      exit 2
      ;;
  esac
done

scripts/setup.sh --without-jax
if [ -n "$everything" ]; then
  # What building does not need is made meanwhile.
  scripts/setup.sh &
  jax=$!
fi

build() { # <source folder> <preset> [<target>...]
  local folder=$1 preset=$2 log
  shift 2
  echo "Building preset $preset of $folder"
  log=$(mktemp)
  if ! (cd "$folder" && cmake --preset "$preset" &&
    cmake --build --preset "$preset" ${1:+--target "$@"}) >"$log" 2>&1; then
    cat "$log"
    rm -f "$log"
    wait
    echo "error: the build of preset $preset failed" >&2
    echo "0 passed, 1 failed"
    exit 1
  fi
  rm -f "$log"
}

if [ -n "$everything" ]; then
  build . dev
else
  build . dev shard-compile shard-sim weft_python # what makes plans
fi
if [ -n "$sanitize" ]; then
  build runtime asan
  build runtime tsan
fi
if [ -n "$jax" ]; then
  wait "$jax"
fi
exec build/venv/bin/python scripts/run_tests.py "${arguments[@]}"
