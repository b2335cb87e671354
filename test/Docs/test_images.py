# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/images/fsdp-step.svg is the FSDP step of docs/Tour.md, drawn by scripts/draw-plan.py.

`python3 test/Docs/test_images.py --update` draws it anew.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

from test_docs import ROOT, binaries, environment_of

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


def drawn():
    model = re.search(r"<!-- file: mlp.py -->\n```python\n(.*?)```", (ROOT / "docs" / "Tour.md").read_text(), re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "mlp.py").write_text(model[1])
        environment = environment_of(sys.executable)
        environment["PYTHONPATH"] += ":" + folder
        subprocess.run([sys.executable, "-c", STEP], cwd=folder, env=environment, check=True)
        dump = subprocess.run([binaries() / "shard-run", "--dump", "fsdp.plan"], cwd=folder, stdout=subprocess.PIPE, check=True)
    return subprocess.run([sys.executable, ROOT / "scripts" / "draw-plan.py"], input=dump.stdout, stdout=subprocess.PIPE,
                          check=True).stdout.decode()


def test_the_picture_is_that_of_the_plan():
    assert drawn() == IMAGE.read_text(), "update it: python3 test/Docs/test_images.py --update"


if __name__ == "__main__" and sys.argv[1:] == ["--update"]:
    IMAGE.write_text(drawn())
