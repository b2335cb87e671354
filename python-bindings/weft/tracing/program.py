# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`trace`: from a function and the shapes of its arguments to a module of form 1."""

import dataclasses
import functools
import warnings
from typing import Any, Callable, Sequence

import numpy as np

from .. import tree as trees
from ..arrays import Array
from ..layout_use import LayoutUse
from ..lowered import CompilerWarning
from ..names import escape
from ..random_keys import typed_key_remedy
from ..resolve import resolve_shardings
from ..shape import ShapeDtypeStruct, check_unmasked
from ..sharding import mesh_to_mlir, to_mlir
from .donation import Named, explain_unused, match_donations
from .elements import element_type, of_constant
from .graph import MESH_SYMBOL, Graph, Module, as_tracer, literal
from .locations import quote, user_frame, user_line
from .outline import symbol_of
from .tracer import Tracer


@dataclasses.dataclass(frozen=True)
class TracedProgram:
    """The module, and what its arguments and results are called."""

    text: str
    inputs: list[tuple[str, ShapeDtypeStruct]]
    outputs: list[tuple[str, ShapeDtypeStruct]]
    in_tree: Any
    out_tree: Any
    mesh: Any = None
    is_differentiated: bool = False


def trace(fn: Callable, args: Sequence[Any], *, mesh: Any = None,
          layout: Any = None, arg_names: Sequence[str] | None = None, in_shardings: Any = None,
          out_shardings: Any = None, donate: Sequence[int] = (),
          pipeline: Any = None, microbatches: int | None = None) -> TracedProgram:
    """Calls fn with tensors of the shapes and types of the leaves of `args`: NumPy
    arrays, numbers or ShapeDtypeStructs.

    `in_shardings` and `out_shardings` are prefix trees of the arguments and of the
    result, `layout` a weft.Layout on the mesh. A result that takes the place of an argument of which `donate` has the
    number carries its name: it is the argument's next value. `pipeline` is the
    weft.Pipeline that the function is compiled for; without one gradients are of `microbatches`.
    """
    args = tuple(args)
    names = list(arg_names) if arg_names is not None else [f"arg{i}" for i in range(len(args))]
    inputs = [leaf for name, arg in zip(names, args, strict=True)
              for leaf in trees.flatten_with_paths(arg, name)[0]]
    shardings = resolve_shardings("in_shardings", args, in_shardings, mesh, root=names)
    mesh = mesh or next((s.mesh for s in shardings if s is not None), None)

    module = Module(mesh, layout and LayoutUse(layout), pipeline, microbatches)
    symbol = module.symbol(symbol_of(fn, "main"))
    location = _location_of(fn, module)
    with Graph(module) as graph:
        arguments = [_argument(graph, path, leaf) for path, leaf in inputs]
        in_tree = trees.structure(args)
        result = fn(*in_tree.unflatten([
            literal(0, value.shape, value.element, value.weak) if 0 in value.shape else value
            for value in arguments]))
        root = _result_root(names)
        results, out_tree = trees.flatten_with_paths(result, root)
        values = [_result(graph, path, leaf) for path, leaf in results]
    if module.layout:
        module.layout.check()
    outputs = [(path, _struct(value)) for (path, _), value in zip(results, values)]
    out_specs = resolve_shardings("out_shardings", out_tree.unflatten([s for _, s in outputs]),
                                  out_shardings, mesh, root=root)
    module.mesh = mesh = mesh or next((s.mesh for s in out_specs if s is not None), module.mesh)

    donated = {path for i in set(donate)
               for path, _ in trees.flatten_with_paths(args[i], names[i])[0]}
    donors = [named for named in _named(inputs, arguments, shardings) if named.path in donated]
    replaced = _match(donors, _named(results, values, out_specs))
    outputs = [(replaced[i].path if i in replaced else path, _struct(values[i], s))
               for i, ((path, _), s) in enumerate(zip(outputs, out_specs))]

    def argument_text(i: int) -> str:
        path = inputs[i][0]
        attributes = _attributes(path, shardings[i], arguments[i])
        position = shardings[i] and shardings[i].spec.position
        line = module.locations.of_line(*position) if position else location
        return f" {attributes} loc({quote(path)}({line}))"

    def result_text(i: int) -> str:
        return " " + _attributes(outputs[i][0], out_specs[i], values[i])

    main = graph.finish(symbol, values, location, argument_text, result_text, private=False)
    structs = [(path, _struct(value, s)) for (path, _), value, s in
               zip(inputs, arguments, shardings)]
    return TracedProgram(_assemble(module, symbol, main), structs, outputs, in_tree, out_tree,
                         mesh, module.is_differentiated)


def _named(leaves: Sequence[tuple[str, Any]], values: Sequence[Tracer],
           shardings: Sequence[Any]) -> list[Named]:
    return [Named(path, (value.shape, value.element), sharding)
            for (path, _), value, sharding in zip(leaves, values, shardings)]


def _match(donors: Sequence[Named], results: Sequence[Named]) -> dict[int, Named]:
    """Which result replaces which argument; a warning at the caller's line for the rest."""
    replaced = match_donations(donors, results)
    unused = explain_unused(donors, results, replaced)
    if unused:
        frame, _ = user_frame()
        warnings.warn_explicit(unused, CompilerWarning, frame.f_code.co_filename if frame else "",
                               frame.f_lineno if frame else 0)
    return replaced


def _assemble(module: Module, symbol: str, main: str) -> str:
    mesh = mesh_to_mlir(MESH_SYMBOL, module.mesh) + "\n" if module.mesh is not None else ""
    return ("\n".join(module.locations.definitions) + f"\nmodule @{symbol} {{\n" + mesh + main
            + "".join(module.functions) + "}\n")


def _location_of(fn: Callable, module: Module) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    code = getattr(fn, "__code__", None) or getattr(getattr(fn, "__wrapped__", None), "__code__", None)
    return module.locations.of_code(code) if code is not None else module.locations.here()


def _result_root(names: Sequence[str]) -> str:
    """What the result is called: "out", unless an argument is."""
    root = "out"
    while root in names:
        root += "_"
    return root


def _argument(graph: Graph, path: str, leaf: Any) -> Tracer:
    if isinstance(leaf, (bool, int, float)):
        number = as_tracer(leaf)
        return graph.argument((), number.element, number.weak)
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        raise TypeError(f"argument {path} must be an array, a number or a ShapeDtypeStruct, got "
                        f"{type(leaf).__name__}; pass it as a static argument (static_argnums), or "
                        "close over it")
    if remedy := typed_key_remedy(leaf):
        raise TypeError(f"argument {path}: {remedy}")
    check_unmasked(leaf, f"argument {path}")
    try:
        # As in JAX, arrays of 64 bits become ones of 32; a description is taken at its word.
        is_array = isinstance(leaf, (np.ndarray, np.generic))
        element = (of_constant if is_array else element_type)(leaf.dtype)
    except (TypeError, ValueError) as error:
        raise type(error)(f"argument {path}: {error}") from None
    return graph.argument(tuple(leaf.shape), element, getattr(leaf, "weak_type", False))


def _result(graph: Graph, path: str, leaf: Any) -> Tracer:
    if not isinstance(leaf, (Tracer, bool, int, float, np.ndarray, np.generic, Array)):
        raise TypeError(
            f"{user_line()}: {path} of the traced function must be a tensor or a number, got "
            f"{leaf!r} of type {type(leaf).__name__}")
    value = as_tracer(leaf)
    graph.refer(value)  # a tensor of another function is reported here
    return value


def _struct(value: Tracer, sharding: Any = None) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(value.shape, value.dtype, sharding=sharding)


def _attributes(name: str, sharding: Any, value: Tracer) -> str:
    text = f"weft.name = {quote(escape(name))}"
    if sharding is not None:
        attribute = to_mlir(MESH_SYMBOL, sharding.mesh, sharding.spec, len(value.shape))
        text += f", weft.sharding = #weft.sharding{attribute}"
    return "{" + text + "}"
