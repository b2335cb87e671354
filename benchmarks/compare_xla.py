# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares Weft with XLA on the same JAX training steps, each compiled for 8 devices.

    build/venv-jax/bin/python benchmarks/compare_xla.py               models of xla_models
        [--models mixer vit] [--strategies FSDP+TP] [--sizes large]   some of them
        [--cache FILE]        keeps what XLA made of a program, which takes longest
        [--json FILE]         writes all that was measured
        [--against FILE]      compares Weft with what an earlier --json wrote
        [--propagation-only]  keeps the shardings that propagation finds
        [--cluster NAME]      compiles for other links than the predicted time is made of
        [--details]           prints every collective, with its cause
    build/venv-jax/bin/python benchmarks/compare_xla.py --fixtures [--scan]
    build/venv-jax/bin/python benchmarks/compare_xla.py --planning

Bytes are those that one rank sends in a step, calls how many collectives it takes
part in (combined ones count once). The predicted time is that of links of 5 us and 50 GB/s,
for both, and Weft compiles for a cluster of such links. XLA's CPU backend has no reduce-scatter:
where the result of an all-reduce is only sliced afterwards, it counts as the
reduce-scatter that other backends make of it. Memory is that of a rank beside its
states: arguments, results and temporary buffers.

--fixtures compares the models of the tests, which constrain their activations, on a
mesh of 4 x 2, --scan with the layers in a lax.scan under jax.checkpoint; --planning
compares planning times. Needs the package weft on PYTHONPATH and JAX.
"""

import argparse
import json
import os
import pathlib
import sys

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8 "
                      # The machine code is never run. HLO is the same without them.
                      "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
# Without XLA's warnings about reshards that it makes by gathering.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

ROOT = pathlib.Path(__file__).resolve().parent.parent
# On the path of processes that are started too.
for folder in (ROOT / "test/Import", ROOT / "benchmarks"):
    sys.path.insert(0, str(folder))

from xla_comparison import table  # noqa: E402
from xla_comparison.case import Case  # noqa: E402
from xla_comparison.measure import measure_all  # noqa: E402
from xla_comparison.strategies import STRATEGIES  # noqa: E402
from xla_comparison.xla_side import Cache  # noqa: E402
from xla_models import MODELS  # noqa: E402
from xla_models.model import SIZES  # noqa: E402

FIXTURES = ("mlp", "gpt2", "llama")
# The links of xla_comparison/side.py.
UNIFORM = ROOT / "test/Partition/Inputs/uniform.toml"


def compare_models(arguments):
    """Prints the table; how many cases send more than XLA or do not compile."""
    cases = [Case(model, strategy, size) for size in arguments.sizes
             for model in arguments.models or MODELS for strategy in arguments.strategies
             if MODELS[model].images or not STRATEGIES[strategy].space]
    results = []
    print(table.HEADER)
    options = {"optimize_shardings": not arguments.propagation_only,
               "cluster": arguments.cluster}
    for result in measure_all(cases, Cache(arguments.cache), arguments.jobs, options):
        results.append(result)
        print(table.row(result), flush=True)
        if arguments.json:
            records = [r.as_record() for r in results]
            pathlib.Path(arguments.json).write_text(json.dumps(records, indent=1))
    if arguments.details:
        print("\n" + "\n".join(map(table.details, results)))
    print("\n" + table.summary(results))
    if arguments.against:
        earlier = json.loads(pathlib.Path(arguments.against).read_text())
        print("\n" + table.changes(results, earlier))
    return sum(not r.weft or r.weft.bytes > r.xla.bytes for r in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=list(MODELS))
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES),
                        default=list(STRATEGIES))
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--cache", metavar="FILE", help="keep XLA's results here")
    parser.add_argument("--json", metavar="FILE", help="write all that was measured")
    parser.add_argument("--against", metavar="FILE", help="a file that --json wrote earlier")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at a time")
    parser.add_argument("--propagation-only", action="store_true",
                        help="keep the shardings that propagation finds")
    parser.add_argument("--cluster", default=str(UNIFORM),
                        help="compile for this cluster (default: 5 us, 50 GB/s)")
    parser.add_argument("--details", action="store_true", help="print every collective")
    parser.add_argument("--fixtures", action="store_true",
                        help="compare models of the tests, with constraints")
    parser.add_argument("--styles", nargs="+", help="with --fixtures: layouts")
    parser.add_argument("--layers", type=int, nargs="+", default=None)
    parser.add_argument("--scan", action="store_true",
                        help="with --fixtures: layers in a lax.scan, each under jax.checkpoint")
    parser.add_argument("--planning", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=int, default=1200, help="seconds a compilation may take")
    parser.add_argument("--time", choices=["xla", "weft"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.time or arguments.planning:
        from xla_comparison import planning
        if arguments.time:
            planning.seconds_to_plan(arguments.time, arguments.layers[0])
            return 0
        planning.compare_planning(arguments.layers or [2, 12, 48], arguments.repeats,
                                  arguments.limit)
        return 0
    if not arguments.fixtures:
        return compare_models(arguments) > 0
    from jax_models import STYLES
    from xla_comparison import fixtures
    # An MLP has no layers to scan.
    names = [name for name in arguments.models or FIXTURES
             if not (arguments.scan and name == "mlp")]
    layers = arguments.layers[0] if arguments.layers else 2
    return fixtures.compare_bytes(names, arguments.styles or list(STYLES), layers,
                                  arguments.scan) > 0


if __name__ == "__main__":
    sys.exit(main())
