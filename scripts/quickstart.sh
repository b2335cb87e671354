#!/usr/bin/env bash
# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds Weft, compiles the byte-level language model for a mesh of 2 x 2 and
# trains it on four ranks of this machine.
#
#   scripts/quickstart.sh [--mesh data=2,model=2] [--steps 400]

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mesh=data=2,model=2
steps=400
while [ $# -gt 0 ]; do
  case "$1" in
  --mesh | --steps)
    if [ $# -lt 2 ]; then
      echo "error: $1 needs a value" >&2
      exit 2
    fi
    printf -v "${1#--}" '%s' "$2"
    shift 2
    ;;
  *)
    echo "usage: scripts/quickstart.sh [--mesh data=2,model=2] [--steps 400]" >&2
    exit 2
    ;;
  esac
done

scripts/setup.sh --without-tests

echo "Building build/release"
mkdir -p build
# A new build leaves out what is not run here; `cmake --preset release` puts it
# back.
options=()
if [ ! -e build/release/CMakeCache.txt ]; then
  options=(-DWEFT_CUDA=OFF -DBUILD_TESTING=OFF -DWEFT_BENCHMARKS=OFF)
fi
if ! { cmake --preset release "${options[@]}" &&
  cmake --build --preset release --target shard-compile shard-run; } \
  >build/quickstart.log 2>&1; then
  tail -n 40 build/quickstart.log >&2
  echo "error: the build failed; build/quickstart.log has the whole output" >&2
  exit 1
fi

out=build/example
python=build/venv/bin/python
mkdir -p "$out"
$python examples/mlp_lm/batches.py --steps "$steps" --out "$out" |
  tee "$out/text.txt"

echo
echo "Compiling examples/mlp_lm/mlp_lm.mlir for $mesh"
build/release/bin/shard-compile examples/mlp_lm/mlp_lm.mlir --mesh "$mesh" \
  -o "$out/mlp_lm.plan"

echo
echo "Training"
build/release/bin/shard-run "$out/mlp_lm.plan" --init init --entry train_step \
  --steps "$steps" --input x="$out/x.npy" --input y="$out/y.npy" \
  --metrics "$out/metrics.csv" --save "$out/states.safetensors"

echo
$python examples/mlp_lm/show_loss.py "$out/metrics.csv" "$out/text.txt"
