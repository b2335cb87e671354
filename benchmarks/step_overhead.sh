#!/usr/bin/env bash
# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Prints the time of a wide perceptron's step as a multiple of its bare work.
#
#   benchmarks/step_overhead.sh [pairs]

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=build/benchmarks
mkdir -p "$out"
PYTHONPATH=build/release/python build/venv/bin/python \
  benchmarks/generate_mlp.py --layers 4 --width 2048 --batch 256 \
  >"$out/wide_mlp.mlir"
build/release/bin/shard-compile "$out/wide_mlp.mlir" --mesh data=1,model=1 \
  -o "$out/wide_mlp.plan" >/dev/null
exec build/release/bin/StepOverhead "$out/wide_mlp.plan" "${1:-15}"
