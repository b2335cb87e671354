# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX functions as programs to compile.

JAX traces and differentiates; what it lowers, StableHLO in the generic form of MLIR with the
locations of the source, is what the compiler imports. Meshes become abstract, so that JAX needs
no devices, whatever mesh the caller has: a plan for 512 ranks is made on a laptop.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import signature as signatures
from .. import tree as trees
from ..arrays import Array
from ..jit import Parameters, call
from ..layout import checked_reduce_dtype
from ..legality import padding
from ..lowered import Lowered, Source
from ..mesh import AbstractMesh as WeftMesh
from ..mesh import AxisType, Mesh, listed_devices
from ..offenders import as_array
from ..pipeline import Pipeline, checked_pipeline
from ..resolve import resolve_shardings
from ..session import Shards
from ..shape import ShapeDtypeStruct as WeftStruct
from ..shape import as_dtype
from ..sharding import NamedSharding as WeftNamed
from ..sharding import to_mlir
from ..spec import UNCONSTRAINED
from ..spec import PartitionSpec as WeftSpec
from . import jax_manual


def from_jax(
    fn: Callable,
    *args: Any,
    mesh: Any = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    donate_argnums: int | Iterable[int] = (),
    donate_argnames: str | Iterable[str] = (),
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    reduce_dtype: Any = None,
    pipeline: Pipeline | None = None,
    **kwargs: Any,
) -> Lowered:
    """Lowers a JAX function for arguments like `args` and `kwargs`: arrays, or `ShapeDtypeStruct`s
    of JAX or of this package.

    The options are those of `jax.jit`; meshes and specs may be JAX's or ours. A function that
    is jitted already keeps its own options if none are given here. What the result compiles to
    takes and returns trees of NumPy arrays, as the function does; where a donated argument is a
    `weft.Array`, as `weft.device_put` makes them, so is the result that replaces it, and stays on
    the ranks. Specs are checked as `weft.jit`
    checks them, and `rules` may stand in their trees. Arguments on a mesh without a spec are open:
    the compiler decides. `reduce_dtype`, as of a `weft.Layout`, is for the gradients of donated
    parameters. The batch of a step is split into the micro-batches of a `weft.Pipeline`, unless the
    function has a `jax.lax.scan` over micro-batches that adds up gradients.
    """
    jax = _jax()
    reduce_dtype = checked_reduce_dtype("from_jax: ", reduce_dtype)
    parameters = Parameters(fn)
    arguments = parameters.bind(args, kwargs)
    static = parameters.chosen("static", static_argnums, static_argnames)
    donated = parameters.chosen("donate", donate_argnums, donate_argnames)
    dynamic = [argument for argument in arguments if argument.name not in static]
    names = [argument.name for argument in dynamic]
    mesh, ours = _find_mesh(jax, mesh, (in_shardings, out_shardings, args, kwargs))
    stages = checked_pipeline("from_jax", pipeline, ours)
    convert = _Converter(jax, mesh, ours)
    values = tuple(argument.value for argument in dynamic)
    given, padded_inputs = convert.resolve("in_shardings", values, in_shardings, names)
    specs = jax.tree_util.tree_map(convert.argument, values)
    padded_results: dict[int, Any] = {}
    options = {
        "in_shardings": given if in_shardings is not None else None,
        **_chosen("donate", arguments, donated),
        **_chosen("static", arguments, static),
    }
    if any(argument.by_name for argument in dynamic):
        # JAX has no in_shardings beside these: every argument brings its own.
        specs = jax.tree_util.tree_map(convert.placed, specs, given, is_leaf=_is_none)
        options["in_shardings"] = None
    left = iter(specs)
    every = [a if a.name in static else a._replace(value=next(left)) for a in arguments]

    def traced():
        given = {name: value for name, value in options.items() if value not in (None, ())}
        keeps_its_own = hasattr(fn, "trace") and not given
        jitted = fn if keeps_its_own else jax.jit(fn, keep_unused=True, **given)
        return call(jitted.trace, every)

    with _use_mesh(jax, mesh):
        if out_shardings is not None:
            # What they are checked against is known after a trace, which JAX keeps for the next.
            results = traced().out_info
            options["out_shardings"], padded_results = convert.resolve(
                "out_shardings", results, out_shardings, "result"
            )
        lowered = jax_manual.lower(jax, traced())
    module = lowered.compiler_ir("stablehlo").operation
    _keep_mesh(module, mesh)
    _set_devices(module, ours)
    _name_keywords(module, parameters.any_keyword)
    # Of a jitted function that keeps its own; those given here are checked already.
    own = _argument_specs(module)
    paths = _paths(jax.tree_util, names, specs)
    leaves, structure = jax.tree_util.tree_flatten(values)
    moved = [own.get(path) if _is_placed(leaf) else None for path, leaf in zip(paths, leaves)]
    convert.resolve("in_shardings", values, structure.unflatten(moved), names)
    _set_shardings(module, "arg_attrs", padded_inputs)
    _set_shardings(module, "res_attrs", padded_results)
    text = module.get_asm(print_generic_op_form=True, enable_debug_info=True)
    source = Source(text, f"{_name(fn)}.stablehlo.mlir")
    signature = _signature(jax, names, paths, values, lowered.out_info)
    chosen = ({"reduce_dtype": reduce_dtype} if reduce_dtype else {}) | (
        stages.options(splits_batch=True) if stages else {})
    return Lowered(source, signature, ours, options=chosen)


def _jax():
    try:
        import jax
    except ImportError:
        raise ImportError("weft.from_jax needs the package jax: pip install jax") from None
    # Locations in the source are those of the caller.
    from jax.extend import source_info_util

    source_info_util.register_exclusion(str(pathlib.Path(__file__).parents[1]) + os.sep)
    return jax


def _chosen(what: str, arguments: list, names: Iterable[str]) -> dict[str, tuple]:
    """Options of `jax.jit` that choose these arguments, by position where they are passed so."""
    chosen = [(i, argument) for i, argument in enumerate(arguments) if argument.name in names]
    return {
        f"{what}_argnums": tuple(i for i, argument in chosen if not argument.by_name),
        f"{what}_argnames": tuple(argument.name for _, argument in chosen if argument.by_name),
    }


def _is_placed(leaf: Any) -> bool:
    return hasattr(getattr(leaf, "sharding", None), "spec")


def _name(fn: Callable) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def _is_none(node: Any) -> bool:
    return node is None


# Meshes and shardings


def _find_mesh(jax, mesh: Any, trees_to_search: tuple) -> tuple[Any, WeftMesh | None]:
    """The mesh that is meant, as an abstract one of JAX and as one of ours: the one given, that
    of a sharding, or the one of the context; None for one device."""
    if mesh is None:
        leaves = jax.tree_util.tree_leaves(trees_to_search)
        shardings = [getattr(leaf, "sharding", leaf) for leaf in leaves]
        meshes = (getattr(s, "mesh", None) for s in shardings if hasattr(s, "spec"))
        mesh = next((m for m in meshes if m is not None), None)
    if mesh is None:
        context = jax.sharding.get_abstract_mesh()
        return (None, None) if context.empty else (context, _our_mesh(context))
    if isinstance(mesh, WeftMesh):
        kinds = tuple(getattr(jax.sharding.AxisType, t.name) for t in mesh.axis_types)
        theirs = jax.sharding.AbstractMesh(mesh.axis_sizes, mesh.axis_names, axis_types=kinds)
        return theirs, mesh
    if not isinstance(mesh, (jax.sharding.Mesh, jax.sharding.AbstractMesh)):
        raise TypeError(
            f"mesh must be a mesh of weft or of jax, got {mesh!r} of type {type(mesh).__name__}"
        )
    return mesh.abstract_mesh, _our_mesh(mesh)


def _use_mesh(jax, mesh: Any):
    """Makes constraints by a bare spec mean this mesh."""
    if mesh is None or not jax.sharding.get_abstract_mesh().empty:
        return contextlib.nullcontext()
    return jax.sharding.use_abstract_mesh(mesh)


def _our_mesh(mesh: Any) -> WeftMesh:
    """Ranks are the devices of the mesh by their ids, which may be any."""
    kinds = tuple(getattr(AxisType, t.name) for t in mesh.axis_types)
    if not isinstance(mesh, type(mesh.abstract_mesh)):
        ranks = np.searchsorted(np.sort(mesh.device_ids.flat), mesh.device_ids)
        return Mesh(ranks, mesh.axis_names, kinds)
    return WeftMesh(mesh.axis_sizes, mesh.axis_names, kinds)


def _keep_mesh(module: Any, mesh: Any) -> None:
    """Adds the mesh to a module that has none: JAX leaves out one that no sharding names, and
    the plan would be one for a single rank."""
    meshes = [op for op in module.regions[0].blocks[0] if op.operation.name == "sdy.mesh"]
    # One without axes stands for no mesh: keys of random numbers have it.
    if mesh is None or any("=" in str(op.attributes["mesh"]) for op in meshes):
        return
    from jax.extend.mlir import ir

    axes = ", ".join(f'"{name}"={size}' for name, size in zip(mesh.axis_names, mesh.axis_sizes))
    with module.context, ir.Location.unknown(), ir.InsertionPoint.at_block_begin(
        module.regions[0].blocks[0]
    ):
        ir.Operation.create(
            "sdy.mesh",
            attributes={
                "mesh": ir.Attribute.parse(f"#sdy.mesh<[{axes}]>"),
                "sym_name": ir.StringAttr.get("mesh"),
            },
        )


def _set_devices(module: Any, mesh: WeftMesh | None) -> None:
    """Says in the module which rank each position of the mesh is: JAX has ids of devices, or none
    where it was traced for an abstract mesh."""
    if mesh is None:
        return
    from jax.extend.mlir import ir

    devices = ", ".join(map(str, listed_devices(mesh)))
    with module.context:
        for op in module.regions[0].blocks[0]:
            found = re.search(r"\[.*?\]", str(op.attributes["mesh"])) if op.operation.name == "sdy.mesh" else None
            if found and "=" in found[0]:
                ids = f", device_ids=[{devices}]" if devices else ""
                op.attributes["mesh"] = ir.Attribute.parse(f"#sdy.mesh<{found[0]}{ids}>")


def _main(module: Any) -> Any:
    return next(op for op in module.regions[0].blocks[0] if str(op.attributes["sym_name"]) == '"main"')


def _name_keywords(module: Any, keywords: str | None) -> None:
    """Calls an argument of ``**keywords`` by its own name, ``x``, as `weft.jit` does; in what JAX lowers
    it is ``keywords['x']``."""
    from jax.extend.mlir import ir

    if keywords is None:
        return
    named = re.compile(rf"{re.escape(keywords)}\['(\w+)'\]")
    with module.context:
        for argument in _main(module).regions[0].blocks[0].arguments:
            place = argument.location
            found = isinstance(place, ir.NameLoc) and named.match(place.name_str)
            if found:
                argument.set_location(ir.Location.name(found[1] + place.name_str[found.end():], place.child_loc))


def _argument_specs(module: Any) -> dict[str, WeftSpec]:
    """Where the main function of a module has its arguments, by their paths; without those that
    a spec cannot say."""
    from jax.extend.mlir import ir

    main = _main(module)
    specs = {}
    for argument, attrs in zip(main.regions[0].blocks[0].arguments, main.attributes["arg_attrs"]):
        if "sdy.sharding" not in attrs or not isinstance(argument.location, ir.NameLoc):
            continue
        dims = _DIMENSION.findall(str(attrs["sdy.sharding"]).split("[", 1)[1])
        if all(_PLAIN_DIMENSION.fullmatch(dim) for dim in dims):
            axes = [tuple(re.findall(r'"(\w+)"', dim)) for dim in dims]
            specs[argument.location.name_str] = WeftSpec(*(each or None for each in axes))
    return specs


_DIMENSION = re.compile(r"\{([^}]*)\}")
_PLAIN_DIMENSION = re.compile(r'(?:"\w+"(?:, "\w+")*)?')


def _set_shardings(module: Any, attribute: str, shardings: dict[int, Any]) -> None:
    """Writes shardings of arguments or results of the main function into a module."""
    if not shardings:
        return
    from jax.extend.mlir import ir

    names = [
        op.attributes["sym_name"].value
        for op in module.regions[0].blocks[0]
        if op.operation.name == "sdy.mesh" and "=" in str(op.attributes["mesh"])
    ]
    main = _main(module)
    with module.context:
        kind = main.attributes["function_type"].value
        types_ = kind.inputs if attribute == "arg_attrs" else kind.results
        known = main.attributes[attribute] if attribute in main.attributes else [{}] * len(types_)
        attrs = [{a.name: a.attr for a in each} for each in known]
        for at, sharding in shardings.items():
            rank = ir.RankedTensorType(types_[at]).rank
            text = to_mlir(names[0], sharding.mesh, sharding.spec, rank)
            attrs[at]["sdy.sharding"] = ir.Attribute.parse(f"#sdy.sharding{text}")
        main.attributes[attribute] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in attrs])


class _Leaf(types.SimpleNamespace):
    """Shape, dtype and sharding of a leaf."""


class _Converter:
    """Makes JAX's objects on one mesh of ours and of JAX's on any mesh."""

    def __init__(self, jax, mesh: Any, ours: WeftMesh | None):
        self._jax = jax
        self._mesh = mesh
        self._our_mesh = ours

    def argument(self, leaf: Any) -> Any:
        """Shape, dtype and sharding of an argument; numbers stay, they have a weak type."""
        if isinstance(leaf, (bool, int, float, complex)) and not hasattr(leaf, "dtype"):
            return leaf
        if isinstance(leaf, WeftStruct) or hasattr(leaf, "shape"):
            sharding = getattr(leaf, "sharding", None)
            sharding = self._sharding(sharding) if hasattr(sharding, "spec") else None
            return self._jax.ShapeDtypeStruct(
                leaf.shape,
                as_dtype(leaf.dtype) if isinstance(leaf.dtype, np.dtype) else leaf.dtype,
                sharding=sharding,
                weak_type=bool(getattr(leaf, "weak_type", False)),
            )
        return leaf

    def placed(self, spec: Any, sharding: Any) -> Any:
        """An argument with a sharding; numbers have none."""
        if sharding is None or not hasattr(spec, "shape"):
            return spec
        return self._jax.ShapeDtypeStruct(
            spec.shape, spec.dtype, sharding=sharding, weak_type=spec.weak_type
        )

    def resolve(self, what: str, tree: Any, shardings: Any, root: str | list[str]) -> Any:
        """A tree like `tree` of JAX's shardings and None, of a prefix tree of specs of either
        package; what is wrong with them is said as `weft.jit` says it, before JAX sees them.
        And, by number, the shardings that JAX does not see: those of padded arrays, which it
        would refuse."""
        util = self._jax.tree_util
        if what == "in_shardings" and isinstance(shardings, list):
            shardings = tuple(shardings)  # as jax.jit has it
        resolved = resolve_shardings(
            what,
            _plain(util, tree, lambda leaf: self._described(leaf, what)),
            _plain(util, shardings, self._ours),
            self._our_mesh,
            root=root,
        )
        leaves = util.tree_leaves(tree)
        padded = {
            i: ours
            for i, (ours, leaf) in enumerate(zip(resolved, leaves, strict=True))
            if ours is not None and padding(ours.spec, ours.mesh, as_array(leaf).shape)
        }
        theirs = [
            None if ours is None or i in padded else self._sharding(ours)
            for i, ours in enumerate(resolved)
        ]
        return util.tree_unflatten(util.tree_structure(tree), theirs), padded

    def _described(self, leaf: Any, what: str) -> Any:
        """What a sharding of a leaf is checked against: for arguments, also the one that they
        have, unless they may be moved (`committed`, in JAX)."""
        array = as_array(leaf)
        own = getattr(leaf, "sharding", None) if what == "in_shardings" else None
        if hasattr(own, "spec"):
            spec = self._our_spec(self._sharding(own).spec)
            is_free = not getattr(leaf, "committed", True)
            own = spec if is_free else WeftNamed(self._our_mesh, spec)
        else:
            own = None
        return _Leaf(shape=array.shape, dtype=array.dtype, sharding=own)

    def _ours(self, leaf: Any) -> Any:
        """A leaf of a prefix tree as our spec or sharding, if it is JAX's."""
        if isinstance(leaf, self._jax.sharding.PartitionSpec):
            return self._our_spec(leaf)
        if isinstance(leaf, self._jax.sharding.NamedSharding):
            return WeftNamed(_our_mesh(leaf.mesh), self._our_spec(leaf.spec))
        return leaf

    def _our_spec(self, spec: Any) -> WeftSpec:
        open_dim = self._jax.sharding.PartitionSpec.UNCONSTRAINED
        dims = [UNCONSTRAINED if entry is open_dim else entry for entry in spec]
        return WeftSpec(*dims, unreduced=set(spec.unreduced), reduced=set(spec.reduced))

    def _sharding(self, given: Any) -> Any:
        """A NamedSharding of JAX."""
        spec = given.spec if hasattr(given, "spec") else given
        if self._mesh is None:
            raise ValueError(
                f"{spec}: a spec needs a mesh; pass mesh=, or shardings that have one"
            )
        own = getattr(given, "mesh", None)
        if own is not None and tuple(own.axis_names) != tuple(self._mesh.axis_names):
            raise ValueError(
                f"shardings on two meshes: {spec} is on one with the axes {own.axis_names}, "
                f"others on one with {self._mesh.axis_names}"
            )
        if isinstance(spec, WeftSpec):
            spec = self._spec(spec)
        return self._jax.sharding.NamedSharding(self._mesh, spec)

    def _spec(self, spec: WeftSpec) -> Any:
        kind = self._jax.sharding.PartitionSpec
        dims = [kind.UNCONSTRAINED if entry is UNCONSTRAINED else entry for entry in spec.partitions]
        if not spec.unreduced and not spec.reduced:
            return kind(*dims)
        return kind(*dims, unreduced=set(spec.unreduced), reduced=set(spec.reduced))


# Trees


def _plain(util, node: Any, convert: Callable[[Any], Any]) -> Any:
    """A tree of JAX with its leaves converted, made of containers that we know too."""
    children, structure = util.tree_flatten_with_path(node, is_leaf=lambda x: x is not node)
    if structure == util.tree_structure(0):
        return convert(node)
    plain = [_plain(util, child, convert) for _, child in children]
    kind = type(node)
    known = (type(None), list, tuple, dict, collections.OrderedDict, collections.defaultdict)
    keys = [path[0] for path, _ in children]
    names = [getattr(key, "name", getattr(key, "key", i)) for i, key in enumerate(keys)]
    # A named tuple may be registered with other children than its fields.
    is_named = isinstance(node, tuple) and getattr(kind, "_fields", None) == tuple(names)
    if kind in known or is_named:
        return util.tree_unflatten(structure, plain)
    if all(isinstance(key, util.GetAttrKey) for key in keys):
        return _stand_in(kind, tuple(names))(*plain)
    return collections.OrderedDict(zip(names, plain))


@functools.lru_cache
def _stand_in(kind: type, names: tuple[str, ...]) -> type:
    """A named tuple for a container with fields that only JAX knows."""
    return collections.namedtuple(kind.__name__, names)


def _paths(util, names: list[str], arguments: tuple) -> tuple[str, ...]:
    """The paths of the leaves of arguments, as JAX calls them."""
    return tuple(
        name + _keystr(util, path)
        for name, argument in zip(names, arguments)
        for path, _ in util.tree_flatten_with_path(argument)[0]
    )


@dataclasses.dataclass(frozen=True)
class _OfJax(signatures.Signature):
    """Of a function of JAX, whose containers may be such as only JAX knows. `in_tree` and
    `results` are trees of numbers and of dtypes: unlike JAX's own structures they can be copied."""

    names: tuple[str, ...] = ()
    in_tree: Any = None
    results: Any = None
    results_stay = False

    def leaves(self, args: tuple, kwargs: dict[str, Any] | None = None) -> list[Any]:
        jax = _jax()
        util = jax.tree_util
        values = tuple(signatures.in_order(self.names, args, kwargs or {}))
        leaves, structure = util.tree_flatten(values)
        expected = util.tree_structure(self.in_tree)
        if structure != expected:
            signatures.check_paths(self.in_paths, _paths(util, self.names, values))
            raise signatures.other_structure([f"expected {expected}, got {structure}"])
        return [_key_data(jax, leaf) for leaf in leaves]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        jax = _jax()
        dtypes, structure = jax.tree_util.tree_flatten(self.results)
        typed = [_with_dtype(jax, leaf, dtype) for leaf, dtype in zip(leaves, dtypes)]
        return jax.tree_util.tree_unflatten(structure, typed)


def _signature(
    jax, names: list[str], paths: tuple[str, ...], values: tuple, out_info: Any
) -> signatures.Signature:
    util = jax.tree_util
    in_tree = util.tree_map(lambda leaf: 0, values)
    results = util.tree_map(lambda info: info.dtype, out_info)
    out_tree = util.tree_structure(out_info)
    text = _stored(util, names, paths, values, out_tree)
    return _OfJax(paths, trees.LEAF, text, tuple(names), in_tree, results)


def _keystr(util, path: tuple) -> str:
    """A path as JAX writes it in what it lowers."""
    return "".join(
        f"[{key.key}]" if isinstance(key, util.FlattenedIndexKey) else util.keystr((key,))
        for key in path
    )


def _is_key(jax, dtype: Any) -> bool:
    """Whether it is the dtype of what `jax.random.key` makes."""
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def _key_data(jax, leaf: Any) -> Any:
    """The numbers of a typed key; other leaves as they are."""
    is_key = isinstance(leaf, jax.Array) and _is_key(jax, leaf.dtype)
    return np.asarray(jax.random.key_data(leaf)) if is_key else leaf


def _with_dtype(jax, leaf: Any, dtype: Any) -> Any:
    """A result with the dtype that JAX gave it: plans have no unsigned integers and no keys. The
    parts of an array of keys stay numbers."""
    if _is_key(jax, dtype):
        leaf = np.asarray(leaf) if isinstance(leaf, Array) else leaf
        if not isinstance(leaf, np.ndarray):
            return leaf
        return jax.random.wrap_key_data(leaf.view(np.uint32), impl=dtype._impl)
    if isinstance(leaf, Array):
        return leaf if leaf.dtype == dtype else _with_dtype(jax, np.asarray(leaf), dtype)
    if isinstance(leaf, Shards):
        return Shards(_with_dtype(jax, part, dtype) for part in leaf)
    if isinstance(leaf, np.ndarray) and dtype.kind == "u" and leaf.itemsize == dtype.itemsize:
        return leaf.view(dtype)
    return leaf


def _stored(util, names: list[str], paths: tuple[str, ...], values: tuple, out_tree: Any) -> str:
    """The signature as text, if its trees are made of containers that we know too."""
    numbers = list(range(out_tree.num_leaves))
    leaves, structure = trees.flatten(util.tree_unflatten(out_tree, numbers))
    static = signatures.static_texts(names, trees.structure(values))
    return signatures.write(names, paths, structure, static) if leaves == numbers else ""
