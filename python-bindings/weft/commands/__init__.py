# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of `weft`, one a module: HELP, its arguments, and `run`, which returns the exit status."""
