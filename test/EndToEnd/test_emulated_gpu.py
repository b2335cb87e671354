# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans for GPUs, executed by an emulated device (emulator/) and compared with
plans for the host: the compiler's kernels, the runtime's streams, events and graphs, and the
collectives of ranks that share the device. Needs the CUDA toolkit for its headers, and no GPU."""

import os
import re
import subprocess

import numpy as np
import pytest
from conftest import EXAMPLE, LAYOUTS, ROOT, binaries, succeed
from safetensors.numpy import load_file, save_file
from test_cuda_kernels import MODELS, Gpt2Small
from test_sums import (
    DTYPES, LIMITS, assert_at_most_numpy, compiled, computed, exact_sums, numbers, total_of)

import weft
import weft.numpy as wnp
from weft import nn

STEPS = 2


def emulator():
    """The folder of the emulated libcudart.so.13 and libcublasLt.so.13."""
    if "WEFT_TEST_EMULATOR" in os.environ:
        return os.environ["WEFT_TEST_EMULATOR"]
    return str(binaries().parent / "emulator" / "lib")


pytestmark = pytest.mark.skipif(
    not os.path.exists(f"{emulator()}/libcublasLt.so.13"),
    reason="no emulated device was built; it needs the CUDA toolkit")


def compile_pair(source, folder, *options):
    """A plan for the host and one for a GPU."""
    plans = [folder / "host.plan", folder / "device.plan"]
    succeed("shard-compile", source, "-o", plans[0], *options)
    succeed("shard-compile", source, "-o", plans[1], "--target=cuda:sm_90", "--ptxas=none",
            *options)
    return plans


def run(plan, *arguments, **environment):
    settings = {"WEFT_CUDA_LIBRARIES": emulator(), "WEFT_CUDA_TUNE": "off"} | environment
    result = subprocess.run([binaries() / "shard-run", plan, *map(str, arguments)], cwd=ROOT,
                            env=os.environ | settings, capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, timeout=300)
    assert result.returncode == 0, f"{plan}\n{result.stdout}{result.stderr}"
    return result


def train(plan, output, *arguments, steps=STEPS, **environment):
    """Losses and states after some steps."""
    metrics, states = output.with_suffix(".csv"), output.with_suffix(".safetensors")
    run(plan, "--entry", "train_step", "--steps", steps, "--metrics", metrics, "--save", states,
        *arguments, **environment)
    return np.loadtxt(metrics, delimiter=",", skiprows=1, ndmin=2)[:, 1:], load_file(states)


def assert_near(actual, expected, of_losses=1e-5, of_states=1e-4):
    """Losses, and every number of the states as a part of the largest of its tensor."""
    np.testing.assert_allclose(actual[0], expected[0], rtol=of_losses)
    assert actual[1].keys() == expected[1].keys()
    for name, value in expected[1].items():
        assert actual[1][name].dtype == value.dtype
        largest = float(np.abs(value).max(initial=0))
        np.testing.assert_allclose(actual[1][name].astype(np.float64), value.astype(np.float64), rtol=0,
                                   atol=of_states * largest + 1e-12, err_msg=name)


def assert_equal(actual, expected):
    np.testing.assert_array_equal(actual[0], expected[0])
    for name, value in expected[1].items():
        np.testing.assert_array_equal(actual[1][name], value, err_msg=name)


# ===----------------------------------------------------------------------===
# The MLP, on one rank and on four that share the device
# ===----------------------------------------------------------------------===


def mlp_arguments(workshop):
    return ("--init", "init", "--input", f"x={workshop.folder / 'x.npy'}",
            "--input", f"y={workshop.folder / 'y.npy'}")


@pytest.fixture
def mlp(layout, workshop, tmp_path):
    source, mesh = LAYOUTS[layout]
    return compile_pair(EXAMPLE / source, tmp_path, "--mesh", mesh)


@pytest.mark.parametrize("layout", ["fsdp", "data-model"])
def test_the_mlp_has_the_losses_of_the_host(mlp, workshop, tmp_path):
    host, device = mlp
    arguments = mlp_arguments(workshop)
    expected = train(host, tmp_path / "host", *arguments)
    first = None
    # Seeds decide the order of what streams, blocks and warps leave open.
    for seed in range(2):
        actual = train(device, tmp_path / f"seed{seed}", *arguments, WEFT_EMULATOR_SEED=str(seed))
        assert_near(actual, expected)
        first = first or actual
        assert_equal(actual, first)
    plain = train(device, tmp_path / "plain", "--no-cuda-graphs", *arguments)
    assert_equal(plain, first)


def test_no_kernel_of_the_mlp_races(workshop, tmp_path):
    _, device = compile_pair(EXAMPLE / "mlp_lm.mlir", tmp_path)
    train(device, tmp_path / "checked", *mlp_arguments(workshop), steps=1,
          WEFT_EMULATOR_CHECKS="races,uninitialized")


# ===----------------------------------------------------------------------===
# Transformers: norms, attention, cross entropy, AdamW
# ===----------------------------------------------------------------------===

TYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32}


def random_arguments(plan, folder):
    """Numbers for all states and inputs of the plan's step."""
    dump = run(plan, "--dump").stdout
    entry = dump[dump.index('entry "train_step"'):]
    random = np.random.default_rng(0)
    states, arguments = {}, []
    pattern = r'input "(.*)" (\w+)\[([0-9x]*)\] .* (\S+)$'
    for name, dtype, sizes, kind in re.findall(pattern, entry, re.MULTILINE):
        shape = tuple(map(int, sizes.split("x"))) if sizes else ()
        if dtype == "i32":
            # A count of steps, or tokens.
            value = random.integers(0, 20, shape) if shape else np.zeros(shape)
        elif "norm" in name or "ln" in name:
            value = 1 + 0.1 * random.standard_normal(shape)
        else:
            value = 0.1 * random.standard_normal(shape)
        if "optimizer" in name:
            value = 1e-3 * np.abs(value)
        value = np.asarray(value, TYPES[dtype])
        if kind == "state":
            states[name] = value
            continue
        path = folder / f"input{len(arguments)}.npy"
        np.save(path, value)
        arguments += ["--input", f"{name}={path}"]
    save_file(states, folder / "start.safetensors")
    return ["--load", folder / "start.safetensors", *arguments]


@pytest.mark.parametrize("name", ["gpt-small", "gpt2-tiny-f32", "llama-tiny-f32"])
def test_a_transformer_has_the_losses_of_the_host(name, tmp_path):
    source = tmp_path / f"{name}.mlir"
    source.write_text(MODELS[name]())
    host, device = compile_pair(source, tmp_path)
    arguments = random_arguments(host, tmp_path)
    expected = train(host, tmp_path / "host", *arguments)
    actual = train(device, tmp_path / "device", *arguments)
    assert_near(actual, expected)
    plain = train(device, tmp_path / "plain", "--no-cuda-graphs", *arguments,
                  WEFT_EMULATOR_SEED="7")
    assert_equal(plain, actual)


def looped_step(ranks, microbatches):
    """A step of attention in a ring of ranks, the loop of each micro-batch in the loop over them."""
    def loss(params, x):
        heads = (x @ params["w"]).reshape(*x.shape[:2], 2, 8)
        y = nn.dot_product_attention(heads, heads, heads, is_causal=True)
        return wnp.mean((y.reshape(x.shape) - x) ** 2)

    def train_step(params, x):
        value, gradients = weft.microbatches(weft.value_and_grad(loss), microbatches)(params, x)
        return weft.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    params = {"w": weft.ShapeDtypeStruct((16, 16), "float32")}
    x = weft.ShapeDtypeStruct((2 * microbatches, 8 * ranks, 16), "float32")
    step = weft.jit(train_step, mesh=weft.make_mesh((ranks,), ("context",)), donate_argnums=0,
                    in_shardings=(weft.P(), weft.P(None, "context")),
                    out_shardings=(weft.P(), weft.P()))
    return step.lower(params, x).source.text


def test_loops_in_loops_have_the_losses_of_the_host(tmp_path):
    source = tmp_path / "looped.mlir"
    source.write_text(looped_step(ranks=4, microbatches=3))
    assert succeed("shard-compile", source, "--emit=schedule").stdout.count("weft.repeat 2 ") == 2
    # One by one: what is combined begins when all of it is ready.
    separate = "--combine-collectives=false"
    host, device = compile_pair(source, tmp_path, separate)
    arguments = random_arguments(host, tmp_path)
    expected = train(host, tmp_path / "host", *arguments)
    actual = train(device, tmp_path / "device", *arguments)
    assert_near(actual, expected)
    plain = train(device, tmp_path / "plain", "--no-cuda-graphs", *arguments,
                  WEFT_EMULATOR_SEED="7")
    assert_equal(plain, actual)
    # Reductions begin beside the last micro-batch, which the ring of that one overtakes.
    behind = tmp_path / "behind.plan"
    succeed("shard-compile", source, "-o", behind, "--target=cuda:sm_90", "--ptxas=none",
            "--overlap-collectives=false", separate)
    assert " behind " in run(device, "--dump").stdout and " behind " not in run(behind, "--dump").stdout
    assert_equal(train(behind, tmp_path / "behind", *arguments), actual)


@pytest.mark.parametrize("model", ["gpt", "llama"])
def test_collectives_in_pieces_have_the_losses_of_the_host(model, tmp_path):
    """Pieces lie side by side in memory, and those of one run beside the matmuls of another."""
    step = getattr(weft.models, model)(
        layers=2, hidden=32, heads=4, vocabulary=64, sequence=16, dtype="float32", tensor=2,
        sequence_parallel=True, micro_batch=2)
    source = tmp_path / "step.mlir"
    source.write_text(step.lower().as_text())
    host, device = compile_pair(source, tmp_path, "--collective-pieces=2")
    arguments = random_arguments(host, tmp_path)
    expected = train(host, tmp_path / "host", *arguments)
    actual = train(device, tmp_path / "device", *arguments)
    assert_near(actual, expected)
    assert_equal(train(device, tmp_path / "plain", "--no-cuda-graphs", *arguments, WEFT_EMULATOR_SEED="7"), actual)
    whole, _ = compile_pair(source, tmp_path, "--collective-pieces=1")
    assert_near(train(whole, tmp_path / "whole", *arguments), expected)


def test_launches_of_several_parameters_compute_what_single_ones_do(tmp_path):
    """Casts, updates and other kernels that a step launches for each parameter: the same bits, with
    graphs and without, in whatever order blocks run, and nothing that races."""
    source = tmp_path / "gpt2.mlir"
    source.write_text(MODELS["gpt2-tiny-f32"]())
    host, batched = compile_pair(source, tmp_path)
    single = tmp_path / "single.plan"
    succeed("shard-compile", source, "-o", single, "--target=cuda:sm_90", "--ptxas=none",
            "--batch-launches=false")

    def launches(plan):
        dump = run(plan, "--dump").stdout
        sets = [int(n) for n in re.findall(r" launch @.* batch (\d+)", dump)]
        return len(re.findall(r" launch @", dump)), sum(sets), max(sets, default=1)

    several, of_several, largest = launches(batched)
    assert launches(single)[1:] == (0, 1) and largest > 10
    assert several < launches(single)[0] - 20
    # Nothing was lost.
    assert of_several + several - len(re.findall(r" launch @.* batch ", run(
        batched, "--dump").stdout)) == launches(single)[0]

    arguments = random_arguments(host, tmp_path)
    expected = train(single, tmp_path / "single", *arguments)
    assert_equal(train(batched, tmp_path / "batched", *arguments), expected)
    assert_equal(train(batched, tmp_path / "plain", "--no-cuda-graphs", *arguments,
                       WEFT_EMULATOR_SEED="3"), expected)
    train(batched, tmp_path / "checked", *arguments, steps=1,
          WEFT_EMULATOR_CHECKS="races,uninitialized")


@pytest.mark.parametrize("name", ["mlp-f16", "gpt2-tiny-f16"])
def test_a_model_in_f16_has_the_losses_of_the_host(name, tmp_path):
    """Numbers on the way are rounded to 11 bits, of sums in other orders."""
    source = tmp_path / f"{name}.mlir"
    source.write_text(MODELS[name]())
    host, device = compile_pair(source, tmp_path)
    assert " f16[" in run(device, "--dump").stdout
    arguments = random_arguments(host, tmp_path)
    expected = train(host, tmp_path / "host", *arguments)
    actual = train(device, tmp_path / "device", *arguments)
    assert_near(actual, expected, of_losses=1e-3, of_states=1e-2)
    plain = train(device, tmp_path / "plain", "--no-cuda-graphs", *arguments,
                  WEFT_EMULATOR_SEED="7")
    assert_equal(plain, actual)


def traffic_of(plan, *arguments):
    """Of each kernel that the compiler made: bytes used and moved by its launches."""
    said = run(plan, *arguments, WEFT_EMULATOR_CHECKS="traffic").stderr
    counts = r"(\d+) accesses, (\d+) bytes in (\d+) sectors \(\d+ %\), (\d+) of them distinct"
    traffic = {}
    for name, *numbers in re.findall(rf"^traffic of '(kernel_\d+)': reads {counts}; writes "
                                     rf"{counts}$", said, re.MULTILINE):
        numbers = list(map(int, numbers))
        for kind, (accesses, used, sectors, distinct) in (("reads", numbers[:4]),
                                                          ("writes", numbers[4:])):
            assert accesses <= sectors and distinct <= sectors and used <= 32 * sectors
            before = traffic.get((name, kind), (0, 0))
            traffic[name, kind] = (before[0] + used, before[1] + 32 * sectors)
    return traffic


@pytest.mark.parametrize("name", ["gpt-small", "gpt2-tiny-bf16", "llama-tiny-bf16"])
def test_kernels_use_most_of_what_they_move(name, tmp_path):
    """Memory moves in sectors of 32 bytes. The models are small: rows of numbers for each column, in
    f32 beside vectors of bf16, and heads of 16 numbers in halves are much of what they read. Blocks
    leave partial sums in f64, a thread a vector of eight, which it writes by halves of sectors."""
    source = tmp_path / f"{name}.mlir"
    source.write_text(MODELS[name]())
    host, device = compile_pair(source, tmp_path)
    traffic = traffic_of(device, "--entry", "train_step", "--steps", 1,
                         *random_arguments(host, tmp_path))
    for kind, share in (("reads", 0.65), ("writes", 0.85)):
        used, moved = map(sum, zip(*(bytes_ for (_, of), bytes_ in traffic.items() if of == kind)))
        assert used >= share * moved, (kind, traffic)


SOFTMAX = """
func.func @main(%x: tensor<3x{columns}xf32>) -> tensor<3x{columns}xf32> {{
  %y = weft.softmax %x dims = [1] : tensor<3x{columns}xf32>
  return %y : tensor<3x{columns}xf32>
}}
"""


# The first are vectors alone, the second have edges, the third have no room.
@pytest.mark.parametrize("columns, isKept", [(20000, True), (20011, True), (40003, False)])
def test_rows_too_long_for_registers_are_read_once(columns, isKept, tmp_path):
    source = tmp_path / "softmax.mlir"
    source.write_text(SOFTMAX.format(columns=columns))
    host, device = compile_pair(source, tmp_path)
    assert len(re.findall(r" shared \d+ \+ \d+ bytes", run(device, "--dump").stdout)) == isKept
    x = np.random.default_rng(0).normal(size=(3, columns)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    results = []
    for plan, checks in ((host, ""), (device, "races,uninitialized")):
        run(plan, "--input", f"arg0={tmp_path / 'x.npy'}", "--output",
            f"result0={tmp_path / 'y.npy'}", WEFT_EMULATOR_CHECKS=checks)
        results.append(np.load(tmp_path / "y.npy"))
    np.testing.assert_allclose(*results, rtol=1e-5)
    traffic = traffic_of(device, "--input", f"arg0={tmp_path / 'x.npy'}")
    reads, writes = (sum(moved for (_, of), (_, moved) in traffic.items() if of == kind)
                     for kind in ("reads", "writes"))
    # Vectors do not end where sectors do.
    assert x.nbytes <= writes < 1.05 * x.nbytes
    passes = 1 if isKept else 3
    assert passes * x.nbytes <= reads < 1.05 * passes * x.nbytes


def test_a_long_vocabulary_has_the_losses_of_the_host(tmp_path):
    source = tmp_path / "gpt2.mlir"
    source.write_text(Gpt2Small("bfloat16", heads=1, width=16, vocabulary=20011, context=8,
                                layers=1).text())
    host, device = compile_pair(source, tmp_path)
    assert re.search(r" shared \d+ \+ \d+ bytes", run(device, "--dump").stdout)
    arguments = random_arguments(host, tmp_path)
    expected = train(host, tmp_path / "host", *arguments)
    actual = train(device, tmp_path / "device", *arguments)
    np.testing.assert_allclose(actual[0], expected[0], rtol=1e-3)


def test_epilogues_compute_what_kernels_do(tmp_path):
    """Biases, GELU and their gradients: in products, and in kernels of their own."""
    source = tmp_path / "gpt2.mlir"
    source.write_text(MODELS["gpt2-tiny-f32"]())
    host, fused = compile_pair(source, tmp_path)
    apart = tmp_path / "apart.plan"
    succeed("shard-compile", source, "-o", apart, "--target=cuda:sm_90", "--ptxas=none",
            "--fuse-epilogues=false")
    products = [set(re.findall(r" then (\w+)", run(plan, "--dump").stdout))
                for plan in (fused, apart)]
    assert products == [{"bias", "bias_gelu_aux", "gelu_grad_bias_grad", "rhs_bias_grad"}, set()]
    arguments = random_arguments(host, tmp_path)
    losses = [train(plan, tmp_path / plan.stem, *arguments) for plan in (fused, apart)]
    assert_near(*losses)


# ===----------------------------------------------------------------------===
# Attention by cuDNN
# ===----------------------------------------------------------------------===


@pytest.mark.skipif(not os.path.exists(f"{emulator()}/libcudnn.so.9"),
                    reason="no emulated cuDNN was built; it needs cuDNN's header")
def test_attention_and_its_derivative_are_cudnns(tmp_path):
    """The compiler's plan has all that cuDNN's patterns read: causal attention is a graph of 14
    operations, its derivative one of 21. Each was compared with the runtime's kernels at load."""
    source = tmp_path / "gpt2.mlir"
    source.write_text(MODELS["gpt2-tiny-bf16"]())
    host, device = compile_pair(source, tmp_path)
    arguments = random_arguments(host, tmp_path)
    expected = train(host, tmp_path / "host", *arguments, steps=2)
    traced = run(device, "--entry", "train_step", "--steps", 2, "--metrics", tmp_path / "device.csv",
                 *arguments, WEFT_EMULATOR_TRACE="1").stderr
    graphs = re.findall(r"runs a graph of (\d+) operations by cuDNN", traced)
    tiled = re.findall(r"runs (weft_attention\w*)", traced)
    layers, steps, checks = 2, 2, 1
    assert graphs.count("14") == graphs.count("21") >= layers * steps + checks
    # The runtime's own kernels run in the checks only, that of the derivative with a forward pass.
    assert sorted(tiled) == ["weft_attention", "weft_attention", "weft_attention_grad_keys",
                             "weft_attention_grad_queries"]
    losses = np.loadtxt(tmp_path / "device.csv", delimiter=",", skiprows=1, ndmin=2)[:, 1:]
    np.testing.assert_allclose(losses, expected[0], rtol=5e-3)


TWO_TYPES = """
func.func @main(%x: tensor<1x128x2x64xf32>) -> (tensor<1x128x2x64xf32>, tensor<1x128x2x64xf32>) {
  %b = arith.truncf %x : tensor<1x128x2x64xf32> to tensor<1x128x2x64xbf16>
  %h = arith.truncf %x : tensor<1x128x2x64xf32> to tensor<1x128x2x64xf16>
  %bo, %bl = weft.attention %b, %b, %b causal scale = 1.250000e-01
      : (tensor<1x128x2x64xbf16>, tensor<1x128x2x64xbf16>, tensor<1x128x2x64xbf16>)
     -> (tensor<1x128x2x64xbf16>, tensor<1x128x2xf32>)
  %ho, %hl = weft.attention %h, %h, %h causal scale = 1.250000e-01
      : (tensor<1x128x2x64xf16>, tensor<1x128x2x64xf16>, tensor<1x128x2x64xf16>)
     -> (tensor<1x128x2x64xf16>, tensor<1x128x2xf32>)
  %y = arith.extf %bo : tensor<1x128x2x64xbf16> to tensor<1x128x2x64xf32>
  %z = arith.extf %ho : tensor<1x128x2x64xf16> to tensor<1x128x2x64xf32>
  return %y, %z : tensor<1x128x2x64xf32>, tensor<1x128x2x64xf32>
}
"""


@pytest.mark.skipif(not os.path.exists(f"{emulator()}/libcudnn.so.9"),
                    reason="no emulated cuDNN was built; it needs cuDNN's header")
def test_attention_of_two_types_in_the_same_sizes(tmp_path):
    """Each type has a graph of its own, though all sizes are the same."""
    source = tmp_path / "two.mlir"
    source.write_text(TWO_TYPES)
    host, device = compile_pair(source, tmp_path)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(1, 128, 2, 64)).astype(np.float32))
    results = {}
    for name, plan in (("host", host), ("device", device)):
        files = [tmp_path / f"{name}{number}.npy" for number in range(2)]
        run(plan, "--input", f"arg0={tmp_path / 'x.npy'}",
            "--output", f"result0={files[0]}", "--output", f"result1={files[1]}")
        results[name] = [np.load(file) for file in files]
    for actual, expected, bound in zip(results["device"], results["host"], (2e-2, 2e-3), strict=True):
        np.testing.assert_allclose(actual, expected, atol=bound, rtol=0)


# ===----------------------------------------------------------------------===
# Sums
# ===----------------------------------------------------------------------===


@pytest.mark.parametrize("element", LIMITS)
@pytest.mark.parametrize("shape, dims", [
    ((70001,), [0]), ((5, 9001), [1]), ((3001, 40), [0]), ((20001, 1), [0]), ((300, 100), [1]),
    ((40, 3000), [1])])
def test_sums_are_at_least_as_exact_as_numpys(shape, dims, element, tmp_path):
    plan = compiled(tmp_path, total_of(shape, dims, (), element), "--target=cuda:sm_90", "--ptxas=none")
    for kind in ("tenths", "cancelling"):
        x = numbers(kind, shape, DTYPES[element])
        assert_at_most_numpy(computed(plan, x, run), *exact_sums(x, (), dims, shape), LIMITS[element], kind)


ROWS_AND_COLUMNS = """
weft.mesh @mesh = <["x"=1]>
func.func @main(%x: tensor<ROWSx48xf64> {weft.name = "x"})
    -> (tensor<48xf64> {weft.name = "sum"}, tensor<ROWSxf64> {weft.name = "rows"}) {
  %rows = weft.reduce sum %x dims = [1] : tensor<ROWSx48xf64> -> tensor<ROWSxf64>
  %all = weft.broadcast %rows dims = [0] : tensor<ROWSxf64> -> tensor<ROWSx48xf64>
  %y = arith.mulf %x, %all : tensor<ROWSx48xf64>
  %sum = weft.reduce sum %y dims = [0] : tensor<ROWSx48xf64> -> tensor<48xf64>
  return %sum, %rows : tensor<48xf64>, tensor<ROWSxf64>
}
"""


@pytest.mark.parametrize("rows", [7, 3001])
def test_sums_over_rows_of_rows_with_sums(rows, tmp_path):
    """What each row adds to the columns needs the row's own sum."""
    x = numbers("cancelling", (rows, 48), np.float64)
    plan = compiled(tmp_path, ROWS_AND_COLUMNS.replace("ROWS", str(rows)), "--target=cuda:sm_90", "--ptxas=none")
    got = computed(plan, x, lambda plan, *arguments: run(
        plan, *arguments, "--output", f"rows={tmp_path / 'rows.npy'}"))
    of_rows = np.load(tmp_path / "rows.npy")
    assert_at_most_numpy(of_rows, *exact_sums(x, (), [1], x.shape), 2.0**-53)
    assert_at_most_numpy(got, *exact_sums(x * of_rows[:, None], (), [0], x.shape), 2.0**-53)
