# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`jax.shard_map` in a function that is imported.

What each device has of a value is a slice of an array with a leading dimension for each manual axis
over which it varies, and that dimension is split over the axis. The body is `jax.vmap`ped over
them. Collectives are then what they mean for the whole: `psum` a sum over the dimension,
`all_gather` the dimension taken into another, `all_to_all` two dimensions exchanged, `ppermute` the
dimension put in another order, `axis_index` the numbers along it. The compiler makes the same
collectives of these again, and sees through the region: it overlaps, combines and explains them as
all others.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from . import jax_callbacks, jax_gamma, jax_linalg, jax_ragged, jax_samplers, jax_top_k


def lower(jax, traced) -> Any:
    """`traced.lower` for the compiler, without manual regions, with matmuls of groups as ops,
    factorisations of matrices, samples by rejection and incomplete gamma functions written out, and without
    debugging output."""
    from jax.interpreters import mlir

    equations = list(_equations(traced.jaxpr.jaxpr))
    regions = {eqn.primitive: None for eqn in equations if eqn.primitive.name == "shard_map"}
    rules = tuple((primitive, mlir.lower_fun(functools.partial(_whole, jax), multiple_results=True))
                  for primitive in regions)
    rules += jax_ragged.rules(equations) + jax_linalg.rules(jax, equations) + jax_callbacks.rules(equations)
    rules += jax_samplers.rules(jax, equations) + jax_gamma.rules(jax, equations) + jax_top_k.rules(jax, equations)
    parameters = mlir.LoweringParameters(override_lowering_rules=rules) if rules else None
    with jax_callbacks.named(equations):
        return traced.lower(lowering_platforms=("cpu",), _private_parameters=parameters)


def _equations(jaxpr):
    from jax.extend.core import subjaxprs

    yield from jaxpr.eqns
    for inner in subjaxprs(jaxpr):
        yield from _equations(inner)


def _whole(jax, *values, jaxpr, mesh, in_specs, out_specs, newly_manual_axes, check_vma):
    """A region on whole arrays."""
    axes = tuple(axis for axis in mesh.axis_names if axis in newly_manual_axes)
    # That of the context has all axes as the compiler splits them, not as the region has them.
    around = jax.sharding.get_abstract_mesh()
    if around.empty:
        around = jax.sharding.AbstractMesh(mesh.axis_sizes, mesh.axis_names)
    region = _Region(jax, around, axes)
    devices = [region.apart(value, spec) for value, spec in zip(values, in_specs)]
    body = functools.partial(region.evaluate, jaxpr, ())
    varying = [region.axes_of(spec) for spec in in_specs]
    results = region.over_devices(body, devices, varying, [region.axes_of(spec) for spec in out_specs])
    return [region.together(value, spec) for value, spec in zip(results, out_specs)]


class _Region:
    """The manual axes of a region on a mesh, and what its values and ops are for all devices."""

    def __init__(self, jax, mesh, axes: tuple[str, ...]):
        self.jax = jax
        self.mesh = mesh
        self._axes = axes

    # Values

    def axes_of(self, spec) -> tuple[str, ...]:
        """The manual axes of a spec, in the order of the leading dimensions."""
        used = {axis for names in spec for axis in _names(names)}
        return tuple(axis for axis in self._axes if axis in used)

    def _split(self, x, leading: tuple[str, ...]):
        """Says that leading dimensions are split over their axes."""
        return _constrained(self.jax, self.mesh, x, dict(enumerate(leading)))

    def apart(self, x, spec):
        """A whole value with a leading dimension for each manual axis that splits it."""
        shape, found = [], {}
        for size, names in zip(x.shape, _padded(spec, x.ndim), strict=True):
            for axis in (name for name in _names(names) if name in self._axes):
                found[axis] = len(shape)
                shape.append(self.mesh.shape[axis])
                size //= self.mesh.shape[axis]
            shape.append(size)
        leading = self.axes_of(spec)
        first = [found[axis] for axis in leading]
        order = first + [i for i in range(len(shape)) if i not in first]
        return self._split(x.reshape(shape).transpose(order), leading)

    def together(self, x, spec):
        """The reverse of `apart`."""
        leading = self.axes_of(spec)
        x = self._split(x, leading)
        order, shape = [], []
        for dim, names in enumerate(_padded(spec, x.ndim - len(leading)), len(leading)):
            split = [leading.index(name) for name in _names(names) if name in self._axes]
            order += [*split, dim]
            shape.append(math.prod(x.shape[i] for i in (*split, dim)))
        return x.transpose(order).reshape(shape)

    def over_devices(self, body, values, varying, results_vary):
        """The body for all devices at once. A result without an axis is the same along it: if JAX
        has not proved it, that of the first device."""
        try:
            return self._mapped(body, values, varying, results_vary)
        except ValueError as error:
            if "out_axes" not in str(error):
                raise
        everywhere = [self._axes] * len(results_vary)
        results = self._mapped(body, values, varying, everywhere)
        return [x[tuple(slice(None) if axis in axes else 0 for axis in self._axes)]
                for x, axes in zip(results, results_vary)]

    def _mapped(self, body, values, varying, results_vary):
        for axis in reversed(self._axes):
            body = self.jax.vmap(
                body, axis_name=axis, axis_size=self.mesh.shape[axis],
                in_axes=tuple(0 if axis in axes else None for axes in varying),
                out_axes=[0 if axis in axes else None for axes in results_vary])
        return body(*values)

    # Ops

    def evaluate(self, jaxpr, consts, *args) -> list:
        from jax.extend import source_info_util
        from jax.extend.core import Literal

        values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))

        def read(operand):
            # Of literals JAX knows in which region they are.
            is_literal = isinstance(operand, Literal)
            return np.asarray(operand.val, operand.aval.dtype) if is_literal else values[operand]

        for eqn in jaxpr.eqns:
            names = source_info_util.current_name_stack() + eqn.source_info.name_stack
            with source_info_util.user_context(eqn.source_info.traceback, name_stack=names):
                results = self._apply(eqn, [read(operand) for operand in eqn.invars])
            values.update(zip(eqn.outvars, results, strict=True))
        return [read(result) for result in jaxpr.outvars]

    def _function(self, jaxpr):
        """What an inner jaxpr computes, closed or not."""
        return functools.partial(self.evaluate, *(
            (jaxpr.jaxpr, jaxpr.consts) if hasattr(jaxpr, "consts") else (jaxpr, ())))

    def _apply(self, eqn, operands: list) -> list:
        name, params = eqn.primitive.name, eqn.params
        if name in _COLLECTIVES:
            if params.get("axis_index_groups") is not None:
                raise _unsupported(eqn, f"{name} with axis_index_groups")
            if name in ("ppermute", "all_to_all") and len(_names(params["axis_name"])) > 1:
                raise _unsupported(eqn, f"{name} over {len(params['axis_name'])} axes")
            return [_COLLECTIVES[name](self, x, params) for x in operands or (None,)]
        if name in _CALLS:
            inner = next(params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in params)
            if params.get("differentiated"):
                # The recomputation comes behind what it needs.
                operands = self.jax.lax.optimization_barrier(operands)
            return self._function(inner)(*operands)
        if name in _CONTROL:
            return list(_CONTROL[name](self, operands, params))
        if name == "shard_map":
            return _whole(self.jax, *operands, **params)
        if name == "sharding_constraint":
            spec = params["sharding"].spec
            return [self.jax.lax.with_sharding_constraint(
                operands[0], self.jax.sharding.NamedSharding(self.mesh, spec))]
        if self._has_axes(eqn):
            raise _unsupported(eqn, name)
        # A sharding is on the mesh of the region here, and says nothing.
        params = {key: None if isinstance(value, self.jax.sharding.Sharding) else value
                  for key, value in params.items()}
        results = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(params))
        return results if eqn.primitive.multiple_results else [results]

    def _has_axes(self, eqn) -> bool:
        """Whether an op that is not known here names a manual axis, or has a jaxpr that may."""
        from jax.extend.core import jaxprs_in_params

        named = (eqn.params.get(key, ()) for key in ("axes", "axis_name"))
        return any(axis in self._axes for names in named for axis in _names(names)) or any(
            inner.primitive.name in _COLLECTIVES
            for jaxpr in jaxprs_in_params(eqn.params) for inner in _equations(jaxpr))

    def scan(self, operands, params):
        consts, carried = params["num_consts"], params["num_carry"]
        body = self._function(params["jaxpr"])

        def step(carry, x):
            results = body(*operands[:consts], *carry, *x)
            return results[:carried], results[carried:]

        first, slices = operands[consts:consts + carried], operands[consts + carried:]
        carry, stacked = self.jax.lax.scan(
            step, first, slices, params["length"], params["reverse"], params["unroll"])
        return [*carry, *stacked]

    def loop(self, operands, params):
        test, body = (self._function(params[key]) for key in ("cond_jaxpr", "body_jaxpr"))
        of_test, of_body = params["cond_nconsts"], params["body_nconsts"]
        tested, constant, carry = (operands[:of_test], operands[of_test:of_test + of_body],
                                   operands[of_test + of_body:])
        return self.jax.lax.while_loop(lambda carry: test(*tested, *carry)[0],
                                        lambda carry: body(*constant, *carry), carry)

    def choice(self, operands, params):
        branches = [self._function(branch) for branch in params["branches"]]
        return self.jax.lax.switch(operands[0], branches, *operands[1:])


def _constrained(jax, mesh, x, axes: dict[int, str]):
    """A value of which dimensions are split over axes; others may be."""
    if not axes:
        return x
    kind = jax.sharding.PartitionSpec
    spec = kind(*[axes.get(dim, kind.UNCONSTRAINED) for dim in range(x.ndim)])
    return jax.lax.with_sharding_constraint(x, jax.sharding.NamedSharding(mesh, spec))


def _names(names) -> tuple:
    """Axes of one dimension, or of an op."""
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


def _padded(spec, rank: int) -> tuple:
    return (*spec, *[None] * (rank - len(spec)))


def _unsupported(eqn, what: str) -> Exception:
    from jax.extend import source_info_util

    return NotImplementedError(
        f"{source_info_util.summarize(eqn.source_info)}: {what} in a jax.shard_map is not imported; "
        f"of its collectives are {', '.join(sorted(_NAMES))}")


@functools.cache
def _permutation():
    """The primitive of `ppermute`. JAX's own becomes a lookup by computed indices; this one
    becomes slices put side by side, so that the compiler sees what goes where."""
    import jax
    from jax.extend.core import Primitive
    from jax.interpreters import batching

    primitive = Primitive("weft_ppermute")
    primitive.def_abstract_eval(lambda x, **_: x)

    def batch(axis_data, values, dims, axis, pairs, mesh):
        (x,), (dim,) = values, dims
        if axis_data.name != axis:
            return primitive.bind(x, axis=axis, pairs=pairs, mesh=mesh), dim
        if dim is None:
            x, dim = jax.numpy.broadcast_to(x, (axis_data.size, *x.shape)), 0
        x = jax.lax.concatenate(list(_pieces(jax, x, dim, {to: at for at, to in pairs})), dim)
        # One step of a ring at a time, as it is written, and not all of them at once.
        return jax.lax.optimization_barrier(_constrained(jax, mesh, x, {dim: axis})), dim

    batching.fancy_primitive_batchers[primitive] = batch
    return primitive


def _pieces(jax, x, dim: int, sources: dict[int, int]):
    """Slices along a dimension, as long as they can be; zeros for those without a source."""
    size, to = x.shape[dim], 0
    while to < size:
        start, end = to, to + 1
        if start not in sources:
            while end < size and end not in sources:
                end += 1
            yield jax.numpy.zeros((*x.shape[:dim], end - start, *x.shape[dim + 1:]), x.dtype)
        else:
            while end < size and sources.get(end) == sources[start] + end - start:
                end += 1
            yield jax.lax.slice_in_dim(x, sources[start], sources[start] + end - start, axis=dim)
        to = end


def _permute(region, x, params):
    (axis,) = _names(params["axis_name"])
    return _permutation().bind(x, axis=axis, pairs=tuple(map(tuple, params["perm"])), mesh=region.mesh)


def _all_gather(region, x, params):
    """Over one axis after the other: the first of several is the major one."""
    axes, dim = _names(params["axis_name"]), params["all_gather_dimension"]
    sizes = [region.mesh.shape[axis] for axis in axes]
    for axis in reversed(axes):
        x = region.jax.lax.all_gather(x, axis, axis=dim, tiled=params["tiled"])
    if params["tiled"] or len(axes) == 1:
        return x
    return x.reshape(*x.shape[:dim], math.prod(sizes), *x.shape[dim + len(axes):])


def _reduce_scatter(region, x, params):
    axes, dim = _names(params["axis_name"]), params["scatter_dimension"]
    if not params["tiled"] and len(axes) > 1:
        sizes = [region.mesh.shape[axis] for axis in axes]
        x = x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1:])
    for axis in axes:
        x = region.jax.lax.psum_scatter(x, axis, scatter_dimension=dim, tiled=params["tiled"])
    return x


def _reduction(name):
    return lambda region, x, params: getattr(region.jax.lax, name)(x, params["axes"])


# The first are JAX's business: that values vary over an axis, or are partial sums over it, shows
# here in their dimensions.
_COLLECTIVES = {
    **dict.fromkeys(("pvary", "pcast", "reshard_vary", "preduced", "vary_unreduced_cast"),
                    lambda region, x, params: x),
    **dict.fromkeys(("psum", "psum_invariant", "unreduced_psum"), _reduction("psum")),
    "pmax": _reduction("pmax"),
    "pmin": _reduction("pmin"),
    **dict.fromkeys(("all_gather", "all_gather_invariant", "all_gather_reduced"), _all_gather),
    **dict.fromkeys(("reduce_scatter", "unreduced_reduce_scatter"), _reduce_scatter),
    "all_to_all": lambda region, x, params: region.jax.lax.all_to_all(
        # That without tiles is one with tiles of one element, and reshapes.
        x, params["axis_name"], params["split_axis"], params["concat_axis"], tiled=True),
    "ppermute": _permute,
    "axis_index": lambda region, _, params: region.jax.lax.axis_index(params["axis_name"]),
}
_NAMES = ("psum", "pmean", "pmax", "pmin", "all_gather", "psum_scatter", "all_to_all", "ppermute", "axis_index")
_CALLS = ("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
          "custom_vjp_call_jaxpr", "checkpoint", "remat", "remat2")
_CONTROL = {"scan": _Region.scan, "while": _Region.loop, "cond": _Region.choice}
