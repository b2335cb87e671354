# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function that is being traced, as lines of MLIR.

A graph is written top to bottom and never looked at again. Graphs nest: that of a
function to be differentiated is traced while its caller is. A value of an outer
graph becomes an argument of the inner one where it is used.
"""

import threading
from typing import Any, Sequence

import numpy as np

from ..shape import check_unmasked
from ..sharding import to_mlir
from . import elements
from .elements import ElementType
from .errors import NoTraceError, UnexpectedTracerError
from .locations import LocationTable, user_line
from .tracer import Batched, Tracer

MESH_SYMBOL = "mesh"

_type_texts: dict[tuple, str] = {}


def type_text(shape: tuple[int, ...], element: ElementType) -> str:
    """`tensor<4x8xf32>`."""
    key = (shape, element)
    text = _type_texts.get(key)
    if text is None:
        text = "tensor<" + "".join(f"{size}x" for size in shape) + element.mlir + ">"
        _type_texts[key] = text
    return text


def number_text(value: Any, element: ElementType) -> str:
    """A number as MLIR writes it in a constant."""
    if element.kind == "b":
        return "true" if value else "false"
    if element.kind == "i":
        return str(int(value))
    value = float(value)
    if value - value == 0:  # finite
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e")
    bits = {"bfloat16": (0x7F80, 0x7FC0), "float16": (0x7C00, 0x7E00),
            "float32": (0x7F800000, 0x7FC00000),
            "float64": (0x7FF0000000000000, 0x7FF8000000000000)}[element.name]
    sign = 1 << (element.bits - 1) if value < 0 else 0
    return hex(bits[value != value] | sign)


class Module:
    """What the functions of one module share. `layout` is the use that is made of a
    weft.Layout, if there is one, `pipeline` the weft.Pipeline that the module is for, and `microbatches`
    how many a gradient is the mean of, if the function does not say so."""

    def __init__(self, mesh: Any = None, layout: Any = None, pipeline: Any = None,
                 microbatches: int | None = None):
        self.mesh, self.layout = mesh, layout
        self.is_pipeline = pipeline is not None
        self.microbatches = pipeline.microbatches if pipeline else microbatches
        self.is_differentiated = False
        self.locations = LocationTable()
        self.functions: list[str] = []  # finished private functions
        self._symbols: set[str] = set()

    def symbol(self, wanted: str) -> str:
        """A name that no other function of the module has."""
        name, number = wanted, 0
        while name in self._symbols:
            name, number = f"{wanted}_{number}", number + 1
        self._symbols.add(name)
        return name


class Graph:
    """One function; `with graph:` makes it the one that ops are added to."""

    def __init__(self, module: Module, parent: "Graph | None" = None):
        self.module, self.parent = module, parent
        self.lines: list[str] = []
        self.arguments: list[Tracer] = []
        self.captured: list[Tracer] = []  # of outer graphs; arguments after the own ones
        self._captures: dict[tuple, Tracer] = {}
        self._constants: dict[tuple, str] = {}
        self._placed: dict[tuple, str] = {}  # of values with a sharding that they are used in
        self._count = 0

    def __enter__(self) -> "Graph":
        _active.graphs.append(self)
        return self

    def __exit__(self, *unused) -> None:
        _active.graphs.pop()

    def new_name(self) -> str:
        self._count += 1
        return f"%{self._count - 1}"

    def new_microbatches(self, count: int) -> str:
        """A loop over micro-batches, as its ops name it."""
        return f'<"{self.module.symbol("microbatches")}", {count}>'

    def argument(self, shape: tuple[int, ...], element: ElementType, weak: bool = False,
                 used_as: Any = None) -> Tracer:
        value = Tracer(self, self.new_name(), shape, element, weak, used_as=used_as)
        self.arguments.append(value)
        return value

    def add(self, op: str, shape: tuple[int, ...], element: ElementType,
            weak: bool = False) -> Tracer:
        """Appends an op with one result, of this type. What has no elements needs no op."""
        if 0 in shape:
            return literal(0, shape, element, weak)
        name = self.new_name()
        self.lines.append(f"{name} = {op} loc({self.module.locations.here()})")
        return Tracer(self, name, shape, element, weak)

    def add_multiple(self, op: str, results: Sequence[Tracer]) -> list[Tracer]:
        """Appends an op with results of the types of these values."""
        if all(0 in like.shape for like in results):
            return [literal(0, like.shape, like.element, like.weak) for like in results]
        name = self.new_name()
        count = f":{len(results)}" if len(results) > 1 else ""
        self.lines.append(f"{name}{count} = {op} loc({self.module.locations.here()})")
        return [Tracer(self, f"{name}#{i}" if count else name, like.shape, like.element, like.weak)
                for i, like in enumerate(results)]

    def use(self, value: Tracer) -> str:
        """What an op of this graph that computes with the value calls it."""
        name = self.refer(value)
        return name if value.used_as is None else self._place(value, name)

    def refer(self, value: Tracer) -> str:
        """What an op of this graph calls the value where it is, whatever it is used as."""
        if value.graph is self:
            return value.name
        if isinstance(value, Batched):
            raise value.level.misused(value)
        if value.splat is not None:
            number = number_text(value.splat, value.element)
            return self.constant(f"dense<{number}>", value.shape, value.element)
        return self._capture(value).name

    def _place(self, value: Tracer, name: str) -> str:
        """The value in the sharding that it is used in: one constraint a function."""
        key = (name, value.used_as)
        if key not in self._placed:
            self._placed[key] = self.constrain(value, value.used_as).name
        return self._placed[key]

    def constrain(self, value: Tracer, sharding: Any) -> Tracer:
        """Appends the value in a sharding, whatever it is used as."""
        if isinstance(value, Batched):
            return value.level.constrained(self, value, sharding)
        text = to_mlir(MESH_SYMBOL, sharding.mesh, sharding.spec, len(value.shape))
        result = self.add(
            f"weft.constraint {self.refer(value)} {text} : {type_text(value.shape, value.element)}",
            value.shape, value.element, value.weak)
        result.sharding = sharding
        return result

    def constant(self, attribute: str, shape: tuple[int, ...], element: ElementType) -> str:
        key = (attribute, shape, element)
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = self.new_name()
            self.lines.append(f"{name} = arith.constant {attribute} : {type_text(shape, element)} "
                              f"loc({self.module.locations.here()})")
        return name

    def _capture(self, value: Tracer) -> Tracer:
        key = (value.graph, value.name)
        known = self._captures.get(key)
        if known is None:
            if not self._is_inside(value.graph):
                raise UnexpectedTracerError(
                    f"{user_line()}: {value!r} was made in a function whose tracing is over, or in "
                    "another one; return it from that function, and pass it to this one as an "
                    "argument")
            known = Tracer(self, self.new_name(), value.shape, value.element, value.weak,
                           used_as=value.used_as)
            self.captured.append(value)
            self._captures[key] = known
        return known

    def _is_inside(self, other: "Graph | None") -> bool:
        graph = self.parent
        while graph is not None and graph is not other:
            graph = graph.parent
        return graph is not None

    def parameters(self) -> list[Tracer]:
        """All arguments, in order."""
        return self.arguments + list(self._captures.values())

    def finish(self, symbol: str, results: Sequence[Tracer], location: str,
               argument_text=None, result_text=None, private: bool = True) -> str:
        """The text of the function. `argument_text(i)` and `result_text(i)` are the
        attributes of an argument and a result; an argument's may end in a loc."""
        names = [self.refer(value) for value in results]
        types = [type_text(value.shape, value.element) for value in results]
        arguments = ",\n    ".join(
            f"{value.name}: {type_text(value.shape, value.element)}"
            + (argument_text(i) if argument_text else f" loc({location})")
            for i, value in enumerate(self.parameters()))
        outputs = ", ".join(
            type_ + (result_text(i) if result_text else "") for i, type_ in enumerate(types))
        returned = f"return {', '.join(names)} : {', '.join(types)}" if names else "return"
        body = "\n".join(self.lines + [f"{returned} loc({location})"])
        visibility = "private " if private else ""
        return (f"func.func {visibility}@{symbol}({arguments}) -> ({outputs}) {{\n{body}\n}} "
                f"loc({location})\n")


class _Active(threading.local):
    def __init__(self):
        self.graphs: list[Graph] = []


_active = _Active()


def is_tracing() -> bool:
    """Whether there is a graph that ops are added to."""
    return bool(_active.graphs)


def current_graph() -> Graph:
    """The graph that ops are added to."""
    graphs = _active.graphs
    if not graphs:
        raise NoTraceError(
            f"{user_line()}: what describes a program, as a sharding constraint, can only be called in a "
            "function given to weft.jit")
    return graphs[-1]


def literal(value: Any, shape: tuple[int, ...], element: ElementType, weak: bool = False) -> Tracer:
    """A tensor every element of which is `value`, a number that the type can hold."""
    if element.kind == "i":
        limit = 1 << (element.bits - 1)
        if not -limit <= value < limit:
            raise OverflowError(
                f"{user_line()}: {value} is out of bounds for {element.name}, which holds "
                f"{-limit} to {limit - 1}")
    return Tracer(None, None, shape, element, weak, value)


def in_graph(value: Tracer) -> Tracer:
    """The value, written down if it is a literal."""
    if value.splat is None:
        return value
    graph = current_graph()
    return Tracer(graph, graph.refer(value), value.shape, value.element, value.weak)


def as_tracer(value: Any) -> Tracer:
    """The tensor that a number, a NumPy array or a tracer stands for."""
    if isinstance(value, Tracer):
        return value
    kind = type(value)
    if kind is bool:
        return Tracer(None, None, (), elements.BOOL, False, value)
    if kind is int:
        return literal(value, (), elements.INT32, True)
    if kind is float:
        return Tracer(None, None, (), elements.FLOAT32, True, value)
    if isinstance(value, (np.ndarray, np.generic)):
        check_unmasked(value, user_line())
        return _of_array(np.asarray(value))
    if hasattr(value, "__array__"):
        return _of_array(np.asarray(value))
    raise TypeError(
        f"{user_line()}: expected a tensor, a NumPy array or a number, got {kind.__name__}"
        + ("; make a tensor of it with weft.numpy.array" if kind in (list, tuple) else ""))


def _of_array(array: np.ndarray) -> Tracer:
    element = elements.of_constant(array.dtype)
    if array.size == 0:
        return literal(0, array.shape, element)
    first = array.reshape(-1)[:1]
    if array.size == 1 or (array == first).all():
        return literal(first[0].item(), array.shape, element)
    if element.kind == "i" and array.dtype.itemsize > element.numpy.itemsize:
        for extreme in (array.min(), array.max()):
            literal(extreme.item(), (), element)  # refuses what would wrap around
    narrow = array.astype(element.numpy)
    graph = current_graph()
    if element is elements.BOOL:  # packed in MLIR, but not in NumPy
        items = ", ".join(number_text(item, element) for item in narrow.reshape(-1))
        return Tracer(graph, _constant(graph, f"dense<[{items}]>", (array.size,), element, array.shape),
                      array.shape, element)
    data = np.ascontiguousarray(narrow).tobytes().hex().upper()
    return Tracer(graph, graph.constant(f'dense<"0x{data}">', array.shape, element),
                  array.shape, element)


def _constant(graph: Graph, attribute: str, flat: tuple[int, ...], element: ElementType,
              shape: tuple[int, ...]) -> str:
    """A constant written flat, and a reshape."""
    name = graph.constant(attribute, flat, element)
    if flat == shape:
        return name
    text = f"weft.reshape {name} : {type_text(flat, element)} -> {type_text(shape, element)}"
    return graph.add(text, shape, element).name
