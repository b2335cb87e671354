#!/usr/bin/env bash
# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what building and testing need: Debian packages (packages.txt and
# packages-test.txt), a Python environment in build/venv (requirements.txt and
# requirements-test.txt) and, for the tests that compare with JAX, one in
# build/venv-jax (requirements-jax.txt). Says what it does; with nothing missing
# it says nothing and takes a tenth of a second.
#
#   scripts/setup.sh                  all of it
#   scripts/setup.sh --without-jax    not build/venv-jax
#   scripts/setup.sh --without-tests  what building and running need

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests=yes jax=yes
case "$*" in
"") ;;
--without-jax) jax= ;;
--without-tests) tests='' jax='' ;;
*)
  echo "usage: scripts/setup.sh [--without-jax | --without-tests]" >&2
  exit 2
  ;;
esac

missing_packages() {
  local wanted
  mapfile -t wanted < <(grep -hv -e '^#' -e '^$' scripts/packages.txt \
    ${tests:+scripts/packages-test.txt})
  comm -23 \
    <(printf '%s\n' "${wanted[@]}" | sort) \
    <({ dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" \
      2>/dev/null || true; } | awk '$1 == "ii" { print $2 }' | sort)
}

install_packages() {
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "error: installing needs root; as root, run: apt-get install $*" >&2
      return 1
    fi
    sudo=(sudo)
  fi
  echo "Installing $*"
  "${sudo[@]}" apt-get update -qq
  if ! apt-cache show llvm-22-dev >/dev/null 2>&1; then
    echo "error: no package source of this system has llvm-22-dev; add one" \
      "that has LLVM 22 (Debian 12 and its updates do)" >&2
    return 1
  fi
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

make_environment() { # <folder> <requirements> [<name of what was installed>]
  local stamp=$1/${3:-requirements.txt}
  if cmp -s "$2" "$stamp"; then
    return
  fi
  if [ -d "$1" ]; then echo "Adding to $1"; else echo "Making $1"; fi
  # What is imported is compiled then; compiling all of it takes longer.
  python3 -m venv "$1" &&
    "$1/bin/pip" install -q --disable-pip-version-check --no-compile -r "$2" &&
    cp "$2" "$stamp"
}

if command -v dpkg-query >/dev/null; then
  mapfile -t packages < <(missing_packages)
  if [ "${#packages[@]}" -gt 0 ]; then
    install_packages "${packages[@]}"
  fi
else
  echo "note: not a Debian system; scripts/packages.txt and packages-test.txt list what is needed"
fi
make_environment build/venv scripts/requirements.txt
if [ -n "$tests" ]; then
  make_environment build/venv scripts/requirements-test.txt requirements-test.txt
fi
if [ -z "$jax" ]; then
  exit
fi
make_environment build/venv-jax scripts/requirements-jax.txt ||
  echo "note: build/venv-jax could not be made; tests that want JAX are skipped"
