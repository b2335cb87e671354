# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints docs/Coverage.md: which functions of JAX and optax can be imported, found out by
importing, compiling and running one call of each, and comparing with JAX.

    PYTHONPATH=build/dev/python build/venv-jax/bin/python scripts/coverage-page.py > docs/Coverage.md
"""

import collections
import itertools
import re
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

import coverage_calls
import weft

INTRO = f"""\
# Coverage

<!-- Written by scripts/coverage-page.py; python-bindings/test/test_coverage_from_jax.py checks it. -->

What `weft.from_jax` imports of JAX {jax.__version__} and optax {optax.__version__}. Each function is called once, with small arrays; the program is
imported, compiled for one rank and run, and its results are compared with JAX's; collectives in `jax.shard_map` run on two ranks, and are not compared
here. So a function is listed as supported for the arguments of that call; other dtypes and options may be refused, and say why. Complex numbers
are for use inside of a program: the calls return their parts. [Import](Import.md) says how programs are read.
"""

PACKAGES = {"jax.numpy": jnp, "jax.numpy.linalg": jnp.linalg, "jax.numpy.fft": jnp.fft, "jax.lax": lax,
            "jax.nn": jax.nn, "jax.random": jax.random, "optax": optax}


def functions(package):
    """The public functions of a package."""
    module = PACKAGES[package]
    return sorted(name for name in dir(module) if not name.startswith("_")
                  and callable(getattr(module, name)) and not isinstance(getattr(module, name), type))


def calls(package):
    """name -> expression"""
    return {name: expression for expression, names in coverage_calls.CALLS.get(package, []) for name in names.split()}


# ===----------------------------------------------------------------------===
# Calls
# ===----------------------------------------------------------------------===


def _optimize(transform):
    """Two steps of a transform of gradients."""
    params = {"w": jnp.ones((4, 6)) / 2, "v": jnp.ones(6) / 4}
    state = transform.init(params)
    for _ in range(2):
        grads = jax.tree.map(lambda p: p * p + 0.1, params)
        updates, state = transform.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return params


def _search(transform):
    """Two steps of a transform that evaluates the loss."""
    def loss(p):
        return jnp.sum((p - 0.3) ** 2)

    params = jnp.ones(6)
    state = transform.init(params)
    for _ in range(2):
        value, grad = jax.value_and_grad(loss)(params)
        updates, state = transform.update(grad, state, params, value=value, grad=grad, value_fn=loss)
        params = optax.apply_updates(params, updates)
    return params


def _lookahead(transform):
    params = optax.LookaheadParams.init_synced({"w": jnp.ones((4, 6))})
    updates, _ = transform.update({"w": jnp.ones((4, 6))}, transform.init(params), params)
    return optax.apply_updates(params, updates)


def _array(leaf):
    """A result as an array that both can return: of a key its bits, of complex numbers their parts."""
    if jnp.issubdtype(getattr(leaf, "dtype", None), jax.dtypes.prng_key):
        return jax.random.key_data(leaf)
    return jnp.stack([leaf.real, leaf.imag]) if jnp.iscomplexobj(leaf) else leaf


def program(package, name, expression):
    """(function, arguments, mesh) of a call."""
    used = {word for word in re.findall(r"\b\w\b", expression)}
    arrays = {key: array for key, array in coverage_calls.ARRAYS.items() if key in used} or {"x": coverage_calls.ARRAYS["x"]}
    is_manual = "shard(" in expression
    mesh = jax.sharding.AbstractMesh((2 if is_manual else 1,), ("x",))

    def shard(body):
        spec = jax.sharding.PartitionSpec("x")
        return jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(names["x"])

    names = {"jnp": jnp, "lax": lax, "jax": jax, "optax": optax, "np": np, "mesh": mesh, "shard": shard,
             "optimize": _optimize, "search": _search, "lookahead": _lookahead, "f": getattr(PACKAGES[package], name)}

    def call(traced):
        names.update(traced)
        return jax.tree.map(_array, eval(expression, names))  # noqa: S307, an expression of coverage_calls

    call.__name__ = name
    if is_manual:
        arrays = {"x": coverage_calls.ARRAYS["x"]}
    return call, arrays, weft.Mesh((2,), ("x",)) if is_manual else None


def reason(error):
    """An error as the page says it, without places and names of the call."""
    text = str(error).strip()
    notes = re.findall(r"note: (.*)", text) if "cannot import" in text else []
    line = notes[0] if notes else re.sub(r"^.*?error: ", "", text.split("\n")[0])
    line = re.sub(r"^<string>:\d+:\d+ \(\S+\): ", "", line)
    # JAX lowers for a CPU here.
    line = line.replace('lower with lowering_platforms=("cpu",) if it is one of a GPU, and otherwise ', "")
    return re.sub(r"custom_call: @\w+:", "custom_call:", re.sub(r"^\d+ times ", "", line))


def outcome(package, name, expression):
    """(kind, reason, ops of the program): the kind is supported, refused, untraceable or wrong."""
    call, arrays, mesh = program(package, name, expression)
    ops = set()
    try:
        if mesh is None:
            jax.eval_shape(call, arrays)
    except Exception as error:  # noqa: BLE001, whatever JAX says
        return "untraceable", reason(error), ops
    try:
        lowered = weft.from_jax(call, arrays, mesh=mesh)
        ops |= set(re.findall(r'"((?:stablehlo|chlo)\.\w+)"', lowered.as_text()))
        found = lowered.compile()(arrays)
    except Exception as error:  # noqa: BLE001, whatever is refused
        return "refused", reason(error), ops
    # JAX would need two devices.
    expected = jax.jit(call)(arrays) if mesh is None else found
    for a, b in itertools.zip_longest(map(np.asarray, jax.tree.leaves(found)), map(np.asarray, jax.tree.leaves(expected))):
        if a.dtype != b.dtype or a.shape != b.shape or not np.allclose(
                a.astype(np.float64), b.astype(np.float64), rtol=2e-4, atol=1e-5, equal_nan=True):
            return "wrong", f"{a!r} instead of {b!r}", ops
    return "supported", "", ops


# ===----------------------------------------------------------------------===
# The page
# ===----------------------------------------------------------------------===


def _dialect_ops():
    """All ops of StableHLO and CHLO."""
    from jaxlib.mlir.dialects import _chlo_ops_gen, _stablehlo_ops_gen

    return sorted({value.OPERATION_NAME for module in (_stablehlo_ops_gen, _chlo_ops_gen) for value in vars(module).values()
                   if isinstance(value, type) and hasattr(value, "OPERATION_NAME")})


def _listed(names):
    return ", ".join(f"`{name}`" for name in names)


def _by_reason(rows):
    """A table of (name, reason)."""
    groups = collections.defaultdict(list)
    for name, why in rows:
        groups[why.replace("|", "\\|")].append(name)
    lines = ["| refused | because |", "| --- | --- |"]
    return lines + [f"| {_listed(names)} | {why} |" for why, names in groups.items()]


def section(package, outcomes):
    """The lines of a package; `outcomes` has those of its functions."""
    kinds = collections.defaultdict(list)
    for name, (kind, why, _) in sorted(outcomes.items()):
        kinds[kind].append((name, why))
    total = len(outcomes) - len(kinds["untraceable"])
    lines = [f"## {package}", "", f"{len(kinds['supported'])} of {total} functions.", "",
             _listed(name for name, _ in kinds["supported"]), ""]
    if kinds["refused"]:
        lines += [*_by_reason(kinds["refused"]), ""]
    if kinds["untraceable"]:
        lines += [f"JAX cannot trace {_listed(name for name, _ in kinds['untraceable'])}.", ""]
    if coverage_calls.NOT_CALLED.get(package):
        lines += [f"Not called: {_listed(coverage_calls.NOT_CALLED[package].split())}.", ""]
    return lines


def section_of_ops(outcomes):
    """What becomes of the ops of the programs above."""
    supported = {op for _, (kind, _, ops) in outcomes if kind == "supported" for op in ops}
    reasons = {}
    for _, (kind, why, ops) in outcomes:
        for op in sorted(ops - supported):
            if kind == "refused" and why.startswith(op):
                reasons.setdefault(op, why.removeprefix(f"{op}: "))
    every = _dialect_ops()
    return ["## StableHLO and CHLO", "", "Ops of the programs of this page, as JAX lowers them for a CPU.", "",
            _listed(op for op in every if op in supported), "",
            *_by_reason(sorted(reasons.items())), "",
            "In none of the programs that are supported, nor the reason why one is not: "
            + _listed(op for op in every if op not in supported and op not in reasons) + ".", ""]


def page(outcomes):
    """The page of {package: {name: outcome}}."""
    wrong = [f"{package}.{name}: {why}" for package, found in outcomes.items()
             for name, (kind, why, _) in found.items() if kind == "wrong"]
    if wrong:
        sys.exit("error: results differ from JAX's:\n" + "\n".join(wrong))
    lines = [line for package, found in outcomes.items() for line in section(package, found)]
    return "\n".join([INTRO, *lines, *section_of_ops([row for found in outcomes.values() for row in found.items()])])


def main():
    warnings.simplefilter("ignore")
    print(page({package: {name: outcome(package, name, calls(package)[name]) for name in calls(package)}
                for package in PACKAGES}), end="")


if __name__ == "__main__":
    main()
