# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules from Python are those of `shard-sim schedule`."""

import os
import pathlib
import subprocess
import xml.etree.ElementTree

import pytest

import weft

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_numbers_of_a_schedule():
    one = weft.pipeline.schedule("1f1b", ranks=2, microbatches=3)
    assert one.rows == (("0F0", "0F1", "0B0", "0F2", "0B1", "0B2"), ("1F0", "1B0", "1F1", "1B1", "1F2", "1B2"))
    assert (one.makespan, one.lower_bound) == (12, 12)
    assert (one.busy, one.bubble, one.peaks) == ((9, 9), (3, 3), (2, 1))
    assert one.bubble_fraction == pytest.approx(1 / 4)
    assert one.actions[1][0] == ("1F0", 1, 2)
    assert (one.name, one.ranks, one.microbatches, one.chunks) == ("1f1b", 2, 3, 1)
    assert one.published == ()


@pytest.mark.parametrize("name", weft.pipeline.schedule_names())
def test_tables_are_those_of_the_tool(name):
    tool = pathlib.Path(os.environ.get("WEFT_BIN", ROOT / "build" / "dev" / "bin")) / "shard-sim"
    command = [tool, "schedule", f"--name={name}", "--ranks=4", "--microbatches=8", "--format=csv"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert weft.pipeline.schedule(name, 4, 8).to_csv() == printed


def test_times_are_text_or_a_mapping():
    text = weft.pipeline.schedule("zb-h1", 2, 4, times="F:1/2,I:1.5", transfer=0.25)
    mapping = weft.pipeline.schedule("zb-h1", 2, 4, times={"F": [1, 2], "I": 1.5}, transfer=0.25)
    assert text.actions == mapping.actions
    assert text.makespan != weft.pipeline.schedule("zb-h1", 2, 4).makespan


def test_auto_is_no_slower_than_what_is_published():
    found = weft.pipeline.schedule("auto", 4, 8, times={"F": [1, 1, 1, 1.5]}, memory_limit=4)
    assert found.makespan < found.published[0].makespan
    assert max(found.peaks) <= 4
    assert found.lower_bound <= found.makespan


def test_a_table_of_ones_own(tmp_path):
    text = "0F0,0F1,,0B0,0B1\n1F0,1B0,1F1,1B1\n"
    own = weft.pipeline.table(text)
    assert own.makespan == 9
    own.save_table(tmp_path / "own.csv")
    loaded = weft.pipeline.load_table(tmp_path / "own.csv")
    assert loaded.rows == own.rows == (("0F0", "0F1", "0B0", "0B1"), ("1F0", "1B0", "1F1", "1B1"))


def test_pictures():
    one = weft.pipeline.schedule("dualpipev", 2, 4)
    assert xml.etree.ElementTree.fromstring(one._repr_svg_()).tag.endswith("svg")
    small = weft.pipeline.schedule("1f1b", 2, 2)
    assert small.draw() == "rank 0 |F0 F1 ......B0    ...B1    |\nrank 1 |...F0 B0    F1 B1    ......|\n"
    assert repr(small) == ("<weft.pipeline.Schedule 1f1b, 2 ranks, 2 micro-batches, 1 stage per rank: "
                           "makespan 9, bubble 33.3 %, peak 2>")
    assert str(small) == f"{small!r}\n{small.draw()}"


def test_errors_say_all_that_is_wrong(tmp_path):
    with pytest.raises(ValueError, match='unknown schedule "zbv"; there are gpipe, '):
        weft.pipeline.schedule("zbv", 4, 8)
    with pytest.raises(ValueError, match="schedule zb-v admits chunks = 2, got ranks = 4"):
        weft.pipeline.schedule("zb-v", 4, 8, chunks=3)
    with pytest.raises(ValueError, match="ranks must be an integer from 1 to 2147483647, got 0"):
        weft.pipeline.schedule("zb-v", 0, 8)
    with pytest.raises(ValueError, match="chunks must be an integer from 1 to 2147483647, got 1.5"):
        weft.pipeline.schedule("zb-v", 4, 8, chunks=1.5)
    with pytest.raises(ValueError, match="no schedule fits the memory limit of 0.5 activations per rank"):
        weft.pipeline.schedule("auto", 4, 8, memory_limit=0.5)
    with pytest.raises(ValueError) as caught:
        weft.pipeline.schedule("1f1b", 2, 2, times={"X": 1, "F": [1, 2, 3]})
    assert len(str(caught.value).splitlines()) == 2
    with pytest.raises(ValueError, match='own:1:2: found "0X0", expected one of F, B, I, W'):
        weft.pipeline.table("0F0,0X0\n", name="own")
    with pytest.raises(FileNotFoundError):
        weft.pipeline.load_table(tmp_path / "none.csv")
