# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/images/fsdp-step.svg is the FSDP step of docs/Tour.md, drawn by scripts/draw-plan.py, and
docs/images/report.png a page of weft.report in a browser.

`python3 test/Docs/test_images.py --update` draws them anew.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from PIL import Image
from test_docs import ROOT, binaries, environment_of

sys.path.insert(0, str(ROOT / "python-bindings" / "test"))
from browser import PROGRAM, Page  # noqa: E402

IMAGE = ROOT / "docs" / "images" / "fsdp-step.svg"
STEP = """
import functools
import numpy as np, weft
from weft import P
import mlp

state, x = mlp.init(), np.zeros((mlp.BATCH, mlp.WIDTH), "float32")
layout = weft.Layout(weft.Mesh((4,), ("data",)), rest=P("data"), compute=P())
specs = {"params": layout.parameter_specs(state["params"]),
         "optimizer": layout.optimizer_specs(state["optimizer"], state["params"])}
step = functools.partial(mlp.train_step, layer=weft.checkpoint(mlp.layer))
jitted = weft.jit(step, layout=layout, in_shardings=(specs, P("data")), donate_argnums=0)
jitted.lower(state, x).compile(None).save("fsdp.plan")
"""


PAGE = ROOT / "docs" / "images" / "report.png"
REPORT = """
import weft
step = weft.models.gpt(layers=8, hidden=4096, heads=32, vocabulary=51200, sequence=2048, tensor=4, pipeline=2, data=2,
                       global_batch=16, sequence_parallel=True)
weft.report(step.lower().compile(None, cluster="dgx-h100"), tokens=16 * 2048).save("report.html")
"""


def drawn():
    model = re.search(r"<!-- file: mlp.py -->\n```python\n(.*?)```", (ROOT / "docs" / "Tour.md").read_text(), re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "mlp.py").write_text(model[1])
        environment = environment_of(sys.executable)
        environment["PYTHONPATH"] += ":" + folder
        pathlib.Path(folder, "train.py").write_text(STEP)
        subprocess.run([sys.executable, "train.py"], cwd=folder, env=environment, check=True)
        dump = subprocess.run([binaries() / "shard-run", "--dump", "fsdp.plan"], cwd=folder, stdout=subprocess.PIPE, check=True)
    return subprocess.run([sys.executable, ROOT / "scripts" / "draw-plan.py"], input=dump.stdout, stdout=subprocess.PIPE,
                          check=True).stdout.decode()


def photographed():
    """The page down to its picture of the memory."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", REPORT], cwd=folder, env=environment_of(sys.executable), check=True)
        with Page(pathlib.Path(folder, "report.html"), width=1240) as page:
            page.settle(1)
            _, top, _, height = page.place("#memory")
            pixels = page.screenshot()[: int(top + height)]
    return Image.fromarray(pixels).quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


def test_the_picture_is_that_of_the_plan():
    assert drawn() == IMAGE.read_text(), "update it: python3 test/Docs/test_images.py --update"


@pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium; scripts/setup.sh installs it")
def test_the_picture_is_that_of_the_page():
    """But for the edges of letters, which other fonts and browsers draw otherwise."""
    new, old = (image.convert("L").resize((62, 80), Image.Resampling.BOX) for image in (photographed(), Image.open(PAGE)))
    difference = np.abs(np.asarray(new, int) - np.asarray(old, int))
    assert difference.mean() < 4, "update it: python3 test/Docs/test_images.py --update"


if __name__ == "__main__" and sys.argv[1:] == ["--update"]:
    IMAGE.write_text(drawn())
    photographed().save(PAGE, optimize=True)
