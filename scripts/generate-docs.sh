#!/usr/bin/env bash
# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes docs/generated/ from the .td files: the page of the dialect, that of
# its interfaces, and one page of passes for each phase; and docs/CommandLine.md
# from what the tools in WEFT_BIN (build/dev/bin by default) and the Python
# package beside them print for --help.
#
#   scripts/generate-docs.sh           rewrites the pages
#   scripts/generate-docs.sh --check   prints what would change and fails

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -gt 1 ] || { [ $# -eq 1 ] && [ "$1" != --check ]; }; then
  echo "usage: scripts/generate-docs.sh [--check]" >&2
  exit 2
fi

PATH="$PATH:/usr/lib/llvm-22/bin"
tblgen=$(command -v mlir-tblgen-22 || command -v mlir-tblgen) || {
  echo "error: mlir-tblgen of LLVM 22 not found; run scripts/setup.sh" >&2
  exit 2
}
mlir_include=$(dirname "$(dirname "$(readlink -f "$tblgen")")")/include

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

page() { # <page> <title> <td file> <generator options>
  local page=$1 title=$2 td=$3
  shift 3
  {
    echo "<!-- Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions."
    echo "     SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->"
    [ -z "$title" ] || printf '\n# %s\n\n' "$title"
    # Hugo's table of contents means nothing to other readers of Markdown.
    "$tblgen" "$@" -I include -I "$mlir_include" "$td" | sed '/^\[TOC\]$/d; /^NOTE: This method \*must\*/,+1d'
  } >"$fresh/$page"
}

page Dialect.md "" include/weft/IR/WeftAllOps.td -gen-dialect-doc -dialect=weft
python3 scripts/shorten-dialect-page.py <"$fresh/Dialect.md" >"$fresh/short" && mv "$fresh/short" "$fresh/Dialect.md"
for td in include/weft/IR/*OpInterface.td; do
  page "$(basename "$td" .td).md" "" "$td" -gen-op-interface-docs
done
for td in include/weft/*/Passes.td; do
  phase=$(basename "$(dirname "$td")")
  page "${phase}Passes.md" "Passes of $phase" "$td" -gen-pass-doc
done

bin=${WEFT_BIN:-build/dev/bin}
for tool in shard-compile shard-run shard-sim shard-bench shard-opt; do
  if [ ! -x "$bin/$tool" ]; then
    echo "error: $bin/$tool not found; build it, or set WEFT_BIN to the folder of the tools" >&2
    exit 2
  fi
done
mkdir "$fresh/pages"
mv "$fresh"/*.md "$fresh/pages"
python=build/venv/bin/python
if [ ! -x "$python" ] || [ ! -d "$bin/../python" ]; then
  echo "error: $python or $bin/../python not found; run scripts/setup.sh and build the target weft_python" >&2
  exit 2
fi
"$python" scripts/command-line-page.py "$bin" >"$fresh/CommandLine.md"

if [ "${1:-}" = --check ]; then
  if ! diff -ruN docs/generated "$fresh/pages" || ! diff -u docs/CommandLine.md "$fresh/CommandLine.md"; then
    echo "error: generated pages differ from the .td files or from --help; run scripts/generate-docs.sh" >&2
    exit 1
  fi
else
  mkdir -p docs/generated
  rm -f docs/generated/*.md
  cp "$fresh"/pages/*.md docs/generated/
  cp "$fresh/CommandLine.md" docs/
fi
