# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The option of commands that prints the version."""

import argparse
import sys


class ShowVersion(argparse.Action):
    """Prints it, and ends the program. The runtime, which knows it, is loaded only then."""

    def __init__(self, option_strings, dest, **_):
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help="print the version")

    def __call__(self, parser, namespace, values, option_string=None):
        import weft

        print(f"Weft {weft.__version__}")
        sys.exit(0)
