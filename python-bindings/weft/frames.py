# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The line of the user's code that called into this package: the innermost frame that is not in it,
weft.models left out, which are written as users' are. Calls of a function of weft.nn or weft.random carry
its name as well.
"""

import os
import sys
from types import CodeType, FrameType

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_COMPOSITES = (PACKAGE + "nn" + os.sep, PACKAGE + "random.py")
_MODELS = PACKAGE + "models" + os.sep
# What users call functions of tensors through.
_WRAPPERS = PACKAGE + "eager.py"

# For code of this package the name to show, "" for none and "-" for that of what it calls; for other
# code None.
_names: dict[CodeType, str | None] = {}


def _name_of(code: CodeType) -> str | None:
    if not code.co_filename.startswith(PACKAGE) or code.co_filename.startswith(_MODELS):
        return None
    if code.co_filename == _WRAPPERS:
        return "-"
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
        if inside != "-":
            name = inside
        frame = frame.f_back
    return frame, name


def user_line() -> str:
    """`model.py:12`, for messages."""
    frame, _ = user_frame()
    if frame is None:
        return "<unknown>"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
