# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weft: author, annotate and compile sharded models. Names are those of JAX."""

from . import tree
from .arrays import Array, Shard, device_put, init, make_array_from_callback
from .autodiff import grad, stop_gradient, value_and_grad
from .budget import BudgetError, budget
from .checkpoints import Saving, restore, save, saved_metadata, saved_steps
from .compiled import Compiled, load
from .constraint import compute_with, with_sharding_constraint
from .distributed import process_count, process_index
from .drawing import visualize
from .diagnostics import CompileError, Diagnostic, ExecutionError
from .errors import DuplicateSpecError, IndivisibleError, SpecError
from .interop.jax import from_jax
from .eval_shape import eval_shape
from .jit import jit
from .layout import Layout
from .lowered import CompilerWarning, Lowered
from .microbatches import microbatches
from .mesh import AbstractMesh, AxisType, Mesh, make_mesh
from .pipeline import Pipeline
from .recomputation import checkpoint, checkpoint_name, checkpoint_policies, remat
from .records import Collective, Cost, Memory, Padding
from .report import report
from .rules import Rules, rules
from .session import Plan, RankUsage, RunTimes, Session, Shards
from .shape import ShapeDtypeStruct
from .sharding import NamedSharding
from .spec import P, PartitionSpec
from .spec_table import show_specs
from .stages import stage_boundary
from .summary_writer import SummaryWriter
from .tracing import ConcretizationTypeError, NoTraceError, ShapeError, UnexpectedTracerError

from . import ending as _ending  # noqa: F401
from . import data, distributed, lax, models, nn, numpy, optim, pipeline, random
from .auto import Auto, AutoPlan, auto
from .sweep import sweep
from .verify import Verification, WrongValue, verify
from .vmap import vmap

__all__ = [
    "AbstractMesh",
    "Array",
    "Auto",
    "AutoPlan",
    "AxisType",
    "BudgetError",
    "Collective",
    "CompileError",
    "Compiled",
    "CompilerWarning",
    "ConcretizationTypeError",
    "Cost",
    "Diagnostic",
    "DuplicateSpecError",
    "ExecutionError",
    "IndivisibleError",
    "Layout",
    "Lowered",
    "Memory",
    "Mesh",
    "NamedSharding",
    "NoTraceError",
    "P",
    "Padding",
    "PartitionSpec",
    "Pipeline",
    "Plan",
    "RankUsage",
    "Rules",
    "RunTimes",
    "Saving",
    "Session",
    "ShapeDtypeStruct",
    "ShapeError",
    "Shard",
    "Shards",
    "SpecError",
    "SummaryWriter",
    "UnexpectedTracerError",
    "Verification",
    "WrongValue",
    "auto",
    "budget",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "compute_with",
    "data",
    "device_put",
    "distributed",
    "eval_shape",
    "from_jax",
    "grad",
    "init",
    "jit",
    "lax",
    "load",
    "make_array_from_callback",
    "make_mesh",
    "microbatches",
    "nn",
    "numpy",
    "optim",
    "pipeline",
    "process_count",
    "process_index",
    "random",
    "remat",
    "report",
    "restore",
    "rules",
    "save",
    "saved_metadata",
    "saved_steps",
    "show_specs",
    "stage_boundary",
    "stop_gradient",
    "sweep",
    "tree",
    "value_and_grad",
    "verify",
    "visualize",
    "vmap",
    "with_sharding_constraint",
]


def __getattr__(name):
    if name == "__version__":
        from ._runtime import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
