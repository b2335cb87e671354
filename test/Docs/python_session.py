# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs Python examples as an interactive session does.

Reads one example a line, as JSON text, and writes what it prints, as JSON text; an
exception prints without the lines of its call stack.
"""

import ast
import contextlib
import io
import json
import sys
import traceback


def run(source, names):
    """What an interactive Python prints for `source`."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            for statement in ast.parse(source).body:
                if isinstance(statement, ast.Expr):
                    code = compile(ast.Interactive([statement]), "<example>", "single")
                else:
                    code = compile(ast.Module([statement], []), "<example>", "exec")
                exec(code, names)
        except Exception as error:
            print("Traceback (most recent call last):\n  ...")
            print("".join(traceback.format_exception_only(error)), end="")
    return output.getvalue()


def main():
    sys.path.insert(0, "")
    names = {"__name__": "__main__"}
    answers = sys.stdout
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line), names)), file=answers, flush=True)


if __name__ == "__main__":
    main()
