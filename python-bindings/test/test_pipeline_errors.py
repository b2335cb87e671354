# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `weft.jit` says of pipelines that cannot be: what is wrong, where, and a remedy."""

import re

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import P, Pipeline, tree

WIDTH = 4
TABLE = "0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n"


def layer(w, x):
    return wnp.tanh(x @ w)


def chain(cuts=(0,), layer=layer):
    """A loss of layers with a matrix each, cut behind some of them."""

    def loss(params, x):
        for i, w in enumerate(params):
            x = layer(w, x)
            x = weft.stage_boundary(x) if i in cuts else x
        return (x * x).mean()

    return loss


def step_of(loss, n=4):
    def step(params, x):
        value_and_grad = weft.value_and_grad(loss)
        value, gradients = (weft.microbatches(value_and_grad, n) if n else value_and_grad)(params, x)
        return tree.map(lambda p, g: p - g, params, gradients), value

    return step


def compiled(step, pipeline, ranks=2, layers=2, mesh=None, **options):
    mesh = mesh or weft.Mesh((ranks,), ("pipe",))
    params = [weft.ShapeDtypeStruct((WIDTH, WIDTH), "float32")] * layers
    x = weft.ShapeDtypeStruct((8, WIDTH), "float32")
    return weft.jit(step, mesh=mesh, pipeline=pipeline, donate_argnums=0, **options).lower(params, x).compile(None)


def says(text, error=weft.CompileError):
    return pytest.raises(error, match=re.escape(text))


def test_what_the_others_damage_is_whole():
    assert compiled(step_of(chain()), Pipeline("pipe")).plan.ranks == 2


@pytest.mark.parametrize(("options", "error", "text"), [
    ({"axis": 3}, ValueError, "Pipeline axis must be the name of a mesh axis, got 3"),
    ({"axis": ""}, ValueError, "Pipeline axis must be the name of a mesh axis, got ''"),
    ({"axis": "pipe", "chunks": 0}, ValueError, "Pipeline chunks must be a number of at least 1, got 0"),
    ({"axis": "pipe", "chunks": "2"}, ValueError, "Pipeline chunks must be a number of at least 1, got '2'"),
    ({"axis": "pipe", "microbatches": True}, ValueError,
     "Pipeline microbatches must be a number of at least 1, got True"),
    ({"axis": "pipe", "stages": 4}, ValueError, 'Pipeline stages must be "auto" or left out, got 4'),
    ({"axis": "pipe", "schedule": 3}, TypeError,
     "Pipeline schedule must be a name, a file or a weft.pipeline.Schedule, got 3 of type int"),
])
def test_a_description_that_is_none(options, error, text):
    with says(text, error):
        Pipeline(**options)


def test_numbers_of_numpy():
    pipeline = Pipeline("pipe", chunks=np.int64(1), microbatches=np.int32(4))
    assert compiled(step_of(chain(), None), pipeline).schedule().microbatches == 4
    assert compiled(step_of(chain(), np.int64(4)), Pipeline("pipe")).schedule().microbatches == 4
    assert weft.pipeline.schedule("zb-v", np.int64(2), np.int32(4), chunks=np.int64(2)).chunks == 2


def test_the_axis_is_of_the_mesh():
    with says("jit: the pipeline is along 'stages', but the axes of the mesh are pipe, data", ValueError):
        compiled(step_of(chain()), Pipeline("stages"), mesh=weft.Mesh((2, 2), ("pipe", "data")))
    with says("jit: the pipeline is along 'pipe', but there is no mesh", ValueError):
        weft.jit(step_of(chain()), pipeline=Pipeline("pipe"))
    with says("jit: pipeline must be a weft.Pipeline, got 'pipe' of type str", TypeError):
        compiled(step_of(chain()), "pipe")


def test_the_axis_shards_nothing():
    with says('argument "x" is split over the axis of the pipeline, "pipe", along which there are stages; use '
              "another axis for shardings"):
        compiled(step_of(chain()), Pipeline("pipe"), in_shardings=(None, P("pipe")))

    def sharded(w, x):
        return weft.with_sharding_constraint(layer(w, x), P(None, "pipe"))

    with says('split over the axis of the pipeline, "pipe"') as raised:
        compiled(step_of(chain(layer=sharded)), Pipeline("pipe"))
    assert "return weft.with_sharding_constraint(layer(w, x)" in str(raised.value)


@pytest.mark.parametrize(("n", "asked"), [(3, None), (None, 3)])
def test_micro_batches_divide_the_batch(n, asked):
    with says("test_pipeline_errors.py:", ValueError) as raised:
        compiled(step_of(chain(), n), Pipeline("pipe", microbatches=asked))
    assert ("the rows of a batch must be a multiple of the 3 micro-batches, but are not in batch[0] of shape "
            "[8, 4]; 2 and 4 would do") in str(raised.value)


def test_micro_batches_are_said_once():
    with says("there are 4 micro-batches here, but the pipeline has 2; say it once", ValueError):
        compiled(step_of(chain(), 4), Pipeline("pipe", microbatches=2))
    compiled(step_of(chain(), 4), Pipeline("pipe", microbatches=4))

    def step(x, params):
        return weft.value_and_grad(lambda x, params: chain()(params, x), argnums=1)(x, params)

    with says("a pipeline splits gradients by the first argument, of calls without keywords, into micro-batches; "
              "use weft.microbatches for others", TypeError):
        shapes = weft.ShapeDtypeStruct((8, WIDTH), "float32"), [weft.ShapeDtypeStruct((WIDTH, WIDTH), "float32")] * 2
        weft.jit(step, mesh=weft.Mesh((2,), ("pipe",)), pipeline=Pipeline("pipe", microbatches=4)).lower(*shapes)


def test_a_gradient_of_one_loop():
    loops = "the stages of a pipeline work on one loop over micro-batches, but @step has {}; say how many "
    with says(loops.format("none")):
        compiled(step_of(chain(), None), Pipeline("pipe"))

    def step(params, x):
        once = step_of(chain())(params, x)[0]
        return step_of(chain())(once, x)

    with says(loops.format(2)):
        compiled(step, Pipeline("pipe"))


@pytest.mark.parametrize(("cuts", "pipeline", "text"), [
    ((), Pipeline("pipe"), "a pipeline of 2 stages needs 1 stage boundary, but the program has none; put "
     "weft.stage_boundary between layers of the model"),
    ((0, 1), Pipeline("pipe"), "@step has 2 stage boundaries, which make 3 stages, but the pipeline has 4; add 1, "
     "or remove 1 for 2 stages"),
    ((0,), Pipeline("pipe", "zb-v", chunks=2), "@step has 1 stage boundary, which makes 2 stages, but the "
     "pipeline has 4; add 2"),
    ((0, 1, 2), Pipeline("pipe", "interleaved-1f1b", chunks=1), "@step has 3 stage boundaries, which make 4 stages, "
     "but the pipeline has 2; remove 2"),
    ((0,), Pipeline("pipe", stages="auto"), "the compiler is to place the stage boundaries, but the model has one; "
     "take it away, or let the boundaries of the model be the stages"),
])
def test_boundaries_make_the_stages(cuts, pipeline, text):
    with says(text) as raised:
        compiled(step_of(chain(cuts)), pipeline, layers=4)
    # Errors of boundaries show them.
    assert ("if i in cuts" in str(raised.value)) == bool(cuts)


def test_a_boundary_stands_between_checkpoints():
    with says("a stage boundary in a checkpointed function would be passed a second time on the way back; end the "
              "checkpoint before the boundary and begin another one behind it"):
        compiled(step_of(weft.checkpoint(chain())), Pipeline("pipe"))
    compiled(step_of(chain(layer=weft.checkpoint(layer))), Pipeline("pipe"))


def test_a_boundary_in_a_loop_of_layers():
    """Iterations count: boundaries of a loop are as many as it makes."""

    def loss(params, x):
        h = weft.lax.fori_loop(0, 2, lambda i, h: weft.stage_boundary(layer(params[0], h)), x)
        return (layer(params[1], h) ** 2).mean()

    compiled(step_of(loss), Pipeline("pipe"), ranks=3)
    with says("@step has 2 stage boundaries, which make 3 stages, but the pipeline has 4; add 1"):
        compiled(step_of(loss), Pipeline("pipe"), ranks=4)


def test_a_boundary_that_the_loss_does_not_need():
    def loss(params, x):
        h = layer(params[0], x)
        layer(params[1], weft.stage_boundary(h))
        return (h ** 2).mean()

    with says("a pipeline of 2 stages needs 1 stage boundary, but the program has none; put weft.stage_boundary "
              "between layers of the model, on what the loss is computed from") as raised:
        compiled(step_of(loss), Pipeline("pipe"))
    assert re.match(r".*test_pipeline_errors.py:\d+:0: error: ", str(raised.value))


def test_each_stage_has_a_parameter():
    def loss(params, x):
        h = weft.stage_boundary(layer(params[0], x))
        h = weft.stage_boundary(h * 2)
        return (layer(params[1], h) ** 2).mean()

    with says("stage 1 of @step uses no parameter; move or remove a boundary before or behind it") as raised:
        compiled(step_of(loss), Pipeline("pipe"), ranks=3)
    for note, line in (("it begins here", "weft.stage_boundary(layer(params[0], x))"),
                       ("it ends here", "weft.stage_boundary(h * 2)")):
        assert re.search(f"test_pipeline_errors.py:.*note: {note}\n.*{re.escape(line)}", str(raised.value))


@pytest.mark.parametrize(("pipeline", "layers", "text"), [
    (Pipeline("pipe", "1f2b"), 2, 'unknown schedule "1f2b"; there are gpipe, 1f1b, '),
    (Pipeline("pipe", "zb-v"), 2, "schedule zb-v admits chunks = 2, got ranks = 2, microbatches = 4 and chunks = 1"),
    (Pipeline("pipe", "1f1b"), 4, "schedule 1f1b admits chunks = 1, got ranks = 2, microbatches = 4 and chunks = 2"),
])
def test_a_schedule_admits_the_sizes(pipeline, layers, text):
    with says(text):
        compiled(step_of(chain(range(layers - 1))), pipeline, layers=layers)


def test_a_schedule_admits_the_micro_batches():
    with says("schedule zb-h2 admits chunks = 1 and microbatches >= 2 * ranks - 1, got ranks = 2, microbatches = 2 "
              "and chunks = 1; microbatches = 3 would do"):
        compiled(step_of(chain(), 2), Pipeline("pipe", "zb-h2"))
    with says("got ranks = 2, microbatches = 5 and chunks = 2; microbatches = 4 or 6 would do",
              ValueError):
        weft.pipeline.schedule("interleaved-1f1b", 2, 5)


@pytest.mark.parametrize(("before", "after", "text"), [
    ("1B3", "", "own.csv: row 2: 1B3 is missing; add it, or 1I3 and 1W3"),
    ("1B3", "1B3,1F3", "own.csv: row 2: 1F3 is there more than once; remove all but one"),
    ("1F0,1B0", "1B0,1F0", "own.csv: row 2: 1B0 stands before 1F0, which it needs; move it behind"),
    ("1B3", "1X3", 'own.csv:2:8: found "1X3", expected one of F, B, I, W, '),
    ("0F1,0F2,0F3,0B0", "0B0,0F1,0F2,0F3", None),
    (TABLE, "0F0,0B0,0F1,0B1,0F2,0F3,0B2,0B3\n1F0,1F1,1B0,1B1,1F2,1B2,1F3,1B3\n",
     "own.csv: row 1: 0B0 can never start: 0B0 (row 1) waits for 1B0 (row 2), which comes after 1F1, 1F1 (row 2) "
     "waits for 0F1 (row 1), which comes after 0B0; move one of the actions that are waited for forward"),
    ("1B2,1F3,1B3", "1F3,1B3,1B2", "own.csv: row 2: 1B3 stands before 1B2; a stage goes back through its "
     "micro-batches in ascending order, in which gradients are added"),
    ("1B3", "1B3,1F4,1B4", "own.csv: row 1: 0F4 is missing"),
])
def test_a_table_can_be_run(tmp_path, before, after, text):
    path = tmp_path / "own.csv"
    path.write_text(TABLE.replace(before, after))
    if text is None:
        compiled(step_of(chain()), Pipeline("pipe", path))
        return
    with says(text):
        compiled(step_of(chain()), Pipeline("pipe", path))


@pytest.mark.parametrize(("layers", "ranks", "n", "text"), [
    (4, 4, 4, 'own has 2 rows, but the mesh has 4 ranks along "pipe"; a table has a row for each of them'),
    (4, 2, 4, "own has 2 stages, but @step has 4; take a table of 4 stages, or put 1 stage boundary in the model"),
    (2, 2, 8, "own has 4 micro-batches, but @step has 8; take a table of 8, or split the batch into 4"),
])
def test_a_table_is_of_the_sizes(layers, ranks, n, text):
    with says(text):
        compiled(step_of(chain(range(layers - 1)), n), Pipeline("pipe", weft.pipeline.table(TABLE, name="own")), ranks, layers)


@pytest.mark.parametrize(("table", "text"), [(b"\n,\n", "own.csv has no actions"), (b"\xff", "own.csv is no text in UTF-8")])
def test_a_table_that_is_none(tmp_path, table, text):
    path = tmp_path / "own.csv"
    path.write_bytes(table)
    with says(text, ValueError):
        compiled(step_of(chain()), Pipeline("pipe", path))


def test_a_table_is_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.csv"):
        compiled(step_of(chain()), Pipeline("pipe", tmp_path / "none.csv"))


def test_a_memory_limit_that_no_schedule_meets():
    with says("no schedule fits the memory limit of 300 bytes per rank; one micro-batch at a time needs ") as raised:
        compiled(step_of(chain()), Pipeline("pipe", "auto"), memory_limit=300)
    least = int(re.search(r"needs (\d+) bytes", str(raised.value))[1])
    assert compiled(step_of(chain()), Pipeline("pipe", "auto"), memory_limit=least).memory().arena <= least


def test_a_memory_limit_that_no_recomputation_meets():
    """Layers of both sides of a boundary are recomputed on their own."""
    with says("does not fit the memory limit of 300 bytes per rank: with recomputation the smallest plan found needs "):
        compiled(step_of(chain()), Pipeline("pipe"), memory_limit=300)
