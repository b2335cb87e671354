#!/usr/bin/env bash
# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Formats the C++ sources with clang-format 22.
#
#   scripts/format.sh           rewrites what is not formatted
#   scripts/format.sh --check   names it and fails

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=(-i)
if [ "${1:-}" = --check ]; then
  mode=(--dry-run -Werror)
elif [ $# -gt 0 ]; then
  echo "usage: scripts/format.sh [--check]" >&2
  exit 2
fi
git ls-files -z --cached --others --exclude-standard '*.cpp' '*.h' |
  xargs -0 --no-run-if-empty clang-format-22 "${mode[@]}"
