# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instructions of a compiled HLO module, read from its text, and who uses them."""

import dataclasses
import math
import re

DTYPE_BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s16": 2, "u16": 2,
               "f32": 4, "s32": 4, "u32": 4, "f64": 8, "s64": 8, "u64": 8}
COMPUTATION = re.compile(r"^(?:ENTRY )?%(\S+) \(")
INSTRUCTION = re.compile(
    r"^\s*(?P<root>ROOT )?%(?P<name>\S+) = (?P<type>\(.*?\)|\S+) (?P<opcode>[a-z][\w-]*)\(")
# A slice of the result is one of the operand, as far as bytes are concerned.
MOVES = ("bitcast", "copy", "transpose", "reshape", "all-reduce-done")


@dataclasses.dataclass(frozen=True)
class Instruction:
    computation: str
    name: str
    type: str
    opcode: str
    operands: tuple[str, ...]
    is_root: bool
    line: str

    def called(self):
        return re.findall(r"\b(?:body|condition|calls|to_apply)=%([^\s,]+)", self.line)


def arrays(type_text):
    """Every array in a type or tuple of types, without layouts: f32[64,64]."""
    return re.findall(r"\b[a-z]+\d*\[[\d,]*\]", type_text)


def array_bytes(array):
    dtype, dims = array.rstrip("]").split("[")
    return DTYPE_BYTES[dtype] * math.prod(int(d) for d in dims.split(",") if d)


def _operands(line, start):
    """Names in the parentheses that open before `start`."""
    depth, end = 1, start
    while depth and end < len(line):
        depth += {"(": 1, ")": -1}.get(line[end], 0)
        end += 1
    return tuple(re.findall(r"%([^\s,()]+)", line[start:end]))


class Module:
    def __init__(self, text):
        self.instructions = []
        self._users = {}
        self._parameters = {}
        self._callers = {}
        computation = ""
        for line in text.splitlines():
            if opened := COMPUTATION.match(line):
                computation = opened[1]
            elif match := INSTRUCTION.match(line):
                self._add(Instruction(computation, match["name"], match["type"], match["opcode"],
                                      _operands(line, match.end()), bool(match["root"]), line))

    def _add(self, instruction):
        self.instructions.append(instruction)
        place = instruction.computation
        for operand in set(instruction.operands):
            self._users.setdefault((place, operand), []).append(instruction)
        if instruction.opcode == "parameter":
            number = int(re.search(r"parameter\((\d+)\)", instruction.line)[1])
            self._parameters[place, number] = instruction
        if instruction.opcode in ("fusion", "call"):
            for called in instruction.called():
                self._callers.setdefault(called, []).append(instruction)

    def slices(self, instruction, index=None):
        """Into how many slices every use cuts a value, or element `index` of a tuple; 1 if a
        use reads the whole."""
        users = self._users.get((instruction.computation, instruction.name), [])
        found = [self._slices_by(user, instruction, index) for user in users]
        if instruction.is_root:
            callers = self._callers.get(instruction.computation)
            found += [self.slices(caller) for caller in callers] if callers else [1]
        least = min(found, default=1)
        return 1 if least == math.inf else least  # an unused element of a tuple

    def _slices_by(self, user, value, index):
        if user.opcode == "get-tuple-element":
            number = int(re.search(r"index=(\d+)", user.line)[1])
            # Other elements are not this value.
            return self.slices(user) if number == index else math.inf
        if index is not None:
            return 1
        if user.opcode == "dynamic-slice" and user.operands[0] == value.name:
            whole, part = (array_bytes(arrays(i.type)[0]) for i in (value, user))
            return whole // part
        if user.opcode in MOVES:
            return self.slices(user)
        if user.opcode in ("fusion", "call"):
            places = [i for i, name in enumerate(user.operands) if name == value.name]
            return min(self.slices(self._parameters[user.called()[0], i]) for i in places)
        return 1
