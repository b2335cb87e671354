#!/usr/bin/env bash
# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds, checks and times everything that needs a GPU, and prints a table last.
#
#   benchmarks/gpu/run.sh [--device N] [--only GROUP,STEP] [--steps N]
#   benchmarks/gpu/run.sh --prepare FOLDER      needs no GPU
#   benchmarks/gpu/run.sh --prepared FOLDER     needs the runtime alone
#
# Needs an NVIDIA GPU with its driver, and what scripts/setup.sh installs. What
# a step needs beyond that and is not there skips the step, with the reason.
# Exit status: 0 all steps that ran passed, 1 one failed or there is no GPU.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

needs_gpu=1
for argument in "$@"; do
  case $argument in
    --prepare | --prepare=* | --help | -h) needs_gpu= ;;
  esac
done
if [ -n "$needs_gpu" ] && ! command -v nvidia-smi >/dev/null; then
  echo "benchmarks/gpu: no GPU: there is no nvidia-smi, so nothing was built, checked or timed" >&2
  exit 1
fi
if [ -n "$needs_gpu" ] &&
  ! nvidia-smi --query-gpu=name --format=csv,noheader >/dev/null 2>&1; then
  echo "benchmarks/gpu: no GPU: nvidia-smi finds none, so nothing was built, checked or timed" >&2
  exit 1
fi
python=python3
for environment in build/venv-jax build/venv; do
  if [ -x "$environment/bin/python" ]; then
    python=$environment/bin/python
    break
  fi
done
exec "$python" benchmarks/gpu/run.py "$@"
