# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --parallel means: for each mode, which mesh axes split which dimensions.

Dimensions have names; a mode gives names to axes, and modes are combined by adding up
what they say. That is all that tells one parallelism from another.
"""

import dataclasses
import math

import stages
import weft
from weft import P

# The dimensions of every parameter, by the path of the parameter.
PARAMETERS = [
    ("bytes", ("vocabulary", "width")),
    ("positions", ("residual time", "width")),
    ("(blocks/.*/)?norm.?", ("width",)),
    ("blocks/.*/(query|key|value)", ("width", "heads")),
    ("blocks/.*/out", ("heads", "width")),
]
PERCEPTRON = [
    ("blocks/.*/up", ("width", "hidden")),
    ("blocks/.*/down", ("hidden", "width")),
]
EXPERTS = [
    ("blocks/.*/router", ("width",)),
    ("blocks/.*/experts/up", ("experts", "width", "hidden")),
    ("blocks/.*/experts/down", ("experts", "hidden", "width")),
]
# The dimensions of the values that the model names. What goes from block to block has
# a name of its own for its time, for sequence parallelism.
ACTIVATIONS = {
    "residual": ("batch", "residual time"),
    "normed": ("batch", "time"),
    "heads": ("batch", "time", "heads"),
}
# Tokens that wait for experts are split as the batch is and, where they are with the experts, as
# these are; `parts` of a row are split as time is.
ACTIVATIONS_OF_PERCEPTRONS = {"hidden": ("batch", "time", "hidden")}
ACTIVATIONS_OF_EXPERTS = {
    "dispatched": (None, "batch", "parts"),
    "experts": ("experts", "other batch", "other parts"),
    "expert hidden": ("experts", "other batch", "other parts", None, "hidden"),
}
TOKENS = ("batch", "time")


@dataclasses.dataclass(frozen=True)
class Mode:
    """The axes of dimensions: where the step computes, what parameters have besides where
    they rest, and what the optimizer's moments have besides that."""

    help: str
    compute: dict = dataclasses.field(default_factory=dict)
    parameters: dict = dataclasses.field(default_factory=dict)
    moments: dict = dataclasses.field(default_factory=dict)


_TENSOR = {"heads": ("model",), "hidden": ("model",), "vocabulary": ("model",)}
_AT_REST = {"width": ("data",)}

MODES = {
    "dp": Mode("each rank has a part of the batch", {"batch": ("data",)}),
    "zero1": Mode("dp with the optimizer's state in parts", {"batch": ("data",)}, moments=_AT_REST),
    "fsdp": Mode("dp with all states in parts (ZeRO-3)", {"batch": ("data",)}, _AT_REST),
    "hsdp": Mode(
        "fsdp over data, with copies of it over replica",
        {"batch": ("replica", "data")},
        _AT_REST,
    ),
    "tp": Mode("each rank has a part of the heads, hidden features and vocabulary", _TENSOR),
    "sp": Mode(
        "tp with norms and residuals split over time",
        {**_TENSOR, "residual time": ("model",)},
    ),
    "cp": Mode(
        "each rank has a part of the time",
        {"time": ("context",), "residual time": ("context",), "parts": ("context",)},
    ),
    "ep": Mode(
        "each rank has some of the experts, and a part of the batch",
        {"batch": ("expert",), "experts": ("expert",)},
    ),
    "pp": Mode(
        "each rank has some of the layers, through which micro-batches follow each other",
        {"layers": (stages.AXIS,)},
    ),
}


def layout(modes, axes, config):
    """The tables of some modes on a mesh, given as {axis: size}, for a model, and the spec of a batch."""
    chosen = [MODES[mode] for mode in modes]
    compute = _sum(mode.compute for mode in chosen)
    # Rows go from rank to rank of the experts by one all-to-all where this axis is the innermost.
    compute["batch"] = tuple(sorted(compute.get("batch", ()), key=compute.get("experts", ()).__contains__))
    rest = _sum([compute, *(mode.parameters for mode in chosen)])
    moments = _sum([rest, *(mode.moments for mode in chosen)])
    parameters = PARAMETERS + (EXPERTS if config.experts else PERCEPTRON)
    tables = weft.Layout(
        weft.Mesh(tuple(axes.values()), tuple(axes)),
        rest=_rules(parameters, rest),
        compute=_rules(parameters, compute),
        optimizer=_rules(parameters, moments),
        activations=_activations(compute, config),
    )
    return tables, _spec(TOKENS, compute)


def _activations(compute, config):
    if not config.experts:
        named = ACTIVATIONS | ACTIVATIONS_OF_PERCEPTRONS
        return {name: _spec(dims, compute) for name, dims in named.items()}
    taken = compute.get("experts", ())
    others = {f"other {dim}": tuple(axis for axis in compute.get(dim, ()) if axis not in taken)
              for dim in ("batch", "parts")}
    specs = {name: _spec(dims, compute) for name, dims in ACTIVATIONS.items()}
    for name, dims in ACTIVATIONS_OF_EXPERTS.items():
        # A row that is one part has no dimension for parts.
        kept = [dim for dim in dims if config.parts > 1 or dim not in ("parts", "other parts")]
        specs[name] = _spec(kept, compute | others)
    return specs


def _sum(tables):
    """Every axis that one of the tables has for a dimension, once."""
    total = {}
    for table in tables:
        for dim, axes in table.items():
            total[dim] = tuple(dict.fromkeys((*total.get(dim, ()), *axes)))
    return total


def _spec(dims, table):
    entries = [table.get(dim) or None for dim in dims]
    while entries and entries[-1] is None:
        entries.pop()
    return P(*entries)


def _rules(parameters, table):
    return weft.rules([(pattern, _spec(dims, table)) for pattern, dims in parameters])


def parse_mesh(text):
    """{axis: size} of ``data=2,model=2``, and what is wrong with it."""
    axes, problems = {}, []
    for part in filter(None, text.split(",")):
        name, _, size = part.partition("=")
        if not size.isdecimal() or int(size) < 1:
            problems.append(f"--mesh: want axis=size, size 1 or more, got {part!r}")
        elif name in axes:
            problems.append(f"--mesh: the axis {name} is there twice")
        else:
            axes[name] = int(size)
    return axes, problems


def default_modes(axes):
    """The simplest modes that use all axes of a mesh."""
    usual = {"data": "dp", "model": "tp", "context": "cp", "expert": "ep", stages.AXIS: "pp"}
    modes = [mode for axis, mode in usual.items() if axis in axes]
    return ["hsdp" if mode == "dp" and "replica" in axes else mode for mode in modes]


def problems_of(modes, axes, sizes):
    """Why modes and a mesh do not go together, or do not fit dimensions whose sizes, with what
    sets them, are given."""
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        return [f"--parallel: unknown mode {mode}; modes are {', '.join(MODES)}, "
                "and sums of them as fsdp+tp" for mode in unknown]
    tables = [t for m in modes for t in (MODES[m].compute, MODES[m].parameters, MODES[m].moments)]
    splits = _sum(tables)
    used = {axis for split in splits.values() for axis in split}
    problems = []
    for axis in sorted(used - axes.keys()):
        wanting = [m for m in modes if any(axis in t for t in MODES[m].compute.values())]
        problems.append(f"--parallel {'+'.join(wanting)} splits over the axis {axis}, which the mesh "
                        f"{_text(axes)} does not have")
    for axis in (axis for axis in axes if axis not in used):
        problems.append(f"--mesh: nothing is split over the axis {axis} by --parallel "
                        f"{'+'.join(modes) or '(none)'}")
    if "experts" in splits and "experts" not in sizes:
        problems.append("--parallel ep splits experts, which a model has by --moe")
    for dim, split in splits.items():
        size, setting = sizes.get(dim, (math.inf, ""))
        ways = math.prod(axes.get(axis, 1) for axis in split)
        if size < ways:  # other sizes are padded
            problems.append(f"{setting} cannot be split over {_text(axes, split)}: "
                            f"{ways - size} of {ways} ranks would have nothing of it")
    return list(dict.fromkeys(problems))


def _text(axes, names=None):
    return ",".join(f"{a}={axes[a]}" for a in (axes if names is None else names) if a in axes) or "(none)"
