# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where in the user's code an op comes from: the innermost frame that is not in
this package, weft.models left out, which are written as users' are. Ops that a
function of weft.nn or weft.random is made of carry its name as well.

Every op asks, so what a frame says is remembered by its code and instruction.
"""

import itertools
import os
import sys
from types import CodeType, FrameType

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_COMPOSITES = (PACKAGE + "nn" + os.sep, PACKAGE + "random.py")
_MODELS = PACKAGE + "models" + os.sep

# For code of this package the name to show, "" for none; for other code None.
_names: dict[CodeType, str | None] = {}


def _name_of(code: CodeType) -> str | None:
    if not code.co_filename.startswith(PACKAGE) or code.co_filename.startswith(_MODELS):
        return None
    shown = code.co_filename.startswith(_COMPOSITES) and code.co_name[0] not in "_<"
    return code.co_name if shown else ""


def user_frame() -> tuple[FrameType | None, str]:
    """The user's frame, and the name of the composite that it called or ""."""
    frame, name = sys._getframe(1), ""
    while frame is not None:
        code = frame.f_code
        try:
            inside = _names[code]
        except KeyError:
            inside = _names[code] = _name_of(code)
        if inside is None:
            break
        name = inside
        frame = frame.f_back
    return frame, name


def user_line() -> str:
    """`model.py:12`, for messages."""
    frame, _ = user_frame()
    if frame is None:
        return "<unknown>"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def quote(text: str) -> str:
    """A string literal of MLIR."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    escaped = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
               for byte in text.encode())
    return '"' + "".join(escaped) + '"'


def _column(frame: FrameType) -> int:
    positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    column = next(positions, (None,) * 4)[2]
    return 0 if column is None else column + 1


class LocationTable:
    """The locations of a module, each written once and mentioned by its alias."""

    def __init__(self):
        self._aliases: dict[object, str] = {}
        self.definitions: list[str] = []

    def here(self) -> str:
        """The alias of the line that called into the package."""
        frame, name = user_frame()
        if frame is None:
            return "unknown"
        key = (frame.f_code, frame.f_lasti, name)
        alias = self._aliases.get(key)
        if alias is None:
            location = self._location(frame.f_code.co_filename, frame.f_lineno, _column(frame))
            alias = self._define(key, f"loc({quote(name)}({location}))") if name else location
            self._aliases[key] = alias
        return alias

    def of_code(self, code: CodeType) -> str:
        """The alias of the definition of a function."""
        return self._location(code.co_filename, code.co_firstlineno, 0)

    def _location(self, file: str, line: int, column: int) -> str:
        return self._define((file, line, column), f"loc({quote(file)}:{line}:{column})")

    def _define(self, key: object, text: str) -> str:
        alias = self._aliases.get(key)
        if alias is None:
            alias = self._aliases[key] = f"#loc{len(self.definitions)}"
            self.definitions.append(f"{alias} = {text}")
        return alias
