# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the report of a plan file, as ``weft report`` does.

    python -m weft.report step.plan -o report.html --cluster=dgx-h100 --scale=data:16,64,256
"""

import sys

from weft import __main__ as weft


def main(arguments: list[str] | None = None) -> int:
    return weft.main(["report", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    sys.exit(main())
