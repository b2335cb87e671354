# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler and the runtime say, and the exceptions for what they refuse."""

from __future__ import annotations

import dataclasses
import errno
import linecache
import os
from collections.abc import Iterable, Sequence

from .wording import as_python


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One message with its location; `line` is 0 where there is none."""

    severity: str  # "error", "warning", "remark" or "note"
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    notes: tuple[Diagnostic, ...] = ()

    @staticmethod
    def of(record: Sequence) -> Diagnostic:
        """From the tuple that the compiler's module returns."""
        severity, message, *location = record[:5]
        notes = tuple(Diagnostic.of(note) for note in record[5])
        return Diagnostic(severity, as_python(message), *location, notes)

    def __str__(self) -> str:
        return "\n".join(self._lines({}))

    def _lines(self, sources: dict[str, str]) -> list[str]:
        location = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        lines = [f"{location}{self.severity}: {self.message}"]
        lines += self._excerpt(sources)
        for note in self.notes:
            lines += [f"  {line}" for line in note._lines(sources)]
        return lines

    def _excerpt(self, sources: dict[str, str]) -> list[str]:
        """The line of the source, if it can be had."""
        if not self.line:
            return []
        if self.file in sources:
            source = sources[self.file].splitlines()
            text = source[self.line - 1] if self.line <= len(source) else ""
        else:
            text = linecache.getline(self.file, self.line)
        text = _shortened(text.rstrip(), self.column - 1).strip()
        return [f"    {text}"] if text else []


def _shortened(line: str, at: int, width: int = 160) -> str:
    """The part of a long line around a column: generated text has lines of a megabyte."""
    if len(line) <= width:
        return line
    begin = max(0, min(at - width // 2, len(line) - width))
    dots = ("..." if begin else "", "..." if begin + width < len(line) else "")
    return dots[0] + line[begin : begin + width] + dots[1]


class CompileError(Exception):
    """The compiler refused a program; `diagnostics` says why, all problems at once."""

    def __init__(self, diagnostics: Iterable[Diagnostic], sources: dict[str, str] | None = None):
        self.diagnostics = tuple(diagnostics)
        self._sources = sources or {}
        super().__init__(self._text())

    def __reduce__(self):
        return CompileError, (self.diagnostics, self._sources)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "error")

    def _text(self) -> str:
        lines = [line for d in self.diagnostics for line in d._lines(self._sources)]
        number = len(self.errors)
        if number > 1:
            lines.insert(0, f"{number} errors")
        return "\n".join(lines)


class ExecutionError(RuntimeError):
    """A plan cannot be read or run. `code` is the kind of failure:

    - "invalid_argument": the input is wrong; "not_found": a file, tensor or entry does not exist;
    - "failed_precondition": the call is not allowed now, as of an entry with an input that is not set;
    - "resource_exhausted": memory or disk; "unavailable": a rank, file or device was lost;
    - "deadline_exceeded": a rank waited too long for the others;
    - "unimplemented": legal, but this build or this machine cannot do it;
    - "internal": a defect of Weft.
    """

    def __init__(self, message: str, code: str):
        super().__init__(as_python(message))
        self.code = code

    def __reduce__(self):
        return type(self), (str(self), self.code)


class MissingFileError(ExecutionError, FileNotFoundError):
    """A file that does not exist."""

    def __init__(self, message: str, path: str | bytes):
        super().__init__(message, "not_found")
        self.errno, self.filename = errno.ENOENT, path

    def __str__(self) -> str:
        return self.args[0]

    def __reduce__(self):
        return MissingFileError, (str(self), self.filename)


# Tracebacks name them as users do.
for _public in (Diagnostic, CompileError, ExecutionError):
    _public.__module__ = "weft"


def brief(error: Exception) -> str:
    """The first thing that is wrong, in a line of a table: of the compiler's with the name of the file and the line."""
    place, text = "", str(error)
    if isinstance(error, CompileError) and error.errors:
        first, *others = error.errors
        place = f"{os.path.basename(first.file)}:{first.line}: " if first.line and first.file else ""
        text = first.message.partition("\n")[0] + (f" (and {len(others)} more)" if others else "")
    return place + (text.strip().partition("\n")[0] or type(error).__name__)


def message_of(error: Exception) -> str:
    """What a command prints of an exception: of Python's own for a file, which file and why."""
    if isinstance(error, OSError) and not isinstance(error, ExecutionError) and error.filename is not None:
        return f"cannot open {os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)
