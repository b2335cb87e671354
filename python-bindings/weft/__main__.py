# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `weft`: what a plan decided, and what changed. `python -m weft` is the same.

Exit status: 0; 1 if what was checked does not hold; 2 for bad input.
"""

from __future__ import annotations

import argparse
import os
import sys

from .commands import auto, check, diff, lint, lock, report, specs, try_, verify, why
from .diagnostics import CompileError, ExecutionError, message_of
from .version import ShowVersion

COMMANDS = {"why": why, "lint": lint, "lock": lock, "check": check, "diff": diff, "verify": verify, "try": try_, "auto": auto,
            "specs": specs, "report": report}


def parser() -> argparse.ArgumentParser:
    """Of all commands."""
    result = argparse.ArgumentParser(prog="weft", description="Asks a plan what it decided, and compares plans.")
    result.add_argument("--version", action=ShowVersion)
    commands = result.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=module.__doc__)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return result


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    try:
        status = args.run(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # of `weft diff ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except CompileError as error:  # of a program
        print(error, file=sys.stderr)
        return 2
    except (ValueError, ImportError, OSError, ExecutionError) as error:
        print(f"error: {message_of(error)}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
