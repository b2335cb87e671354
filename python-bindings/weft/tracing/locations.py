# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where in the user's code an op comes from, as MLIR writes it. Every op asks, so what a frame says is
remembered by its code and instruction.
"""

import itertools
from types import CodeType, FrameType

from ..frames import user_frame, user_line

__all__ = ["LocationTable", "quote", "user_frame", "user_line"]


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

    def of_line(self, file: str, line: int) -> str:
        """The alias of a line."""
        return self._location(file, line, 0)

    def _location(self, file: str, line: int, column: int) -> str:
        return self._define((file, line, column), f"loc({quote(file)}:{line}:{column})")

    def _define(self, key: object, text: str) -> str:
        alias = self._aliases.get(key)
        if alias is None:
            alias = self._aliases[key] = f"#loc{len(self.definitions)}"
            self.definitions.append(f"{alias} = {text}")
        return alias
