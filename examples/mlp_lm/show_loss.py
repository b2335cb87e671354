# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows how far the loss of a training run fell.

    python show_loss.py metrics.csv text.txt

text.txt is what batches.py printed; it names the unigram entropy.
"""

import csv
import pathlib
import re
import sys

WIDTH = 50
ROWS = 12


def main():
    metrics, text = (pathlib.Path(path) for path in sys.argv[1:3])
    with open(metrics, newline="") as rows:
        losses = [float(row["loss"]) for row in csv.DictReader(rows)]
    entropy = float(re.search(r"unigram entropy ([\d.]+)", text.read_text()).group(1))

    window = max(1, min(20, len(losses) // 10))
    top = max(losses)
    print(f"{'step':>6} {'loss':>8}")
    for step in sorted({round(i * (len(losses) - 1) / (ROWS - 1)) for i in range(ROWS)}):
        bar = "#" * round(losses[step] / top * WIDTH)
        print(f"{step:6} {losses[step]:8.4f} {bar}")
    final = sum(losses[-window:]) / window
    print(f"\nloss {losses[0]:.4f} at the first step, {final:.4f} on average over "
          f"the last {window}")
    print(f"unigram entropy of the text {entropy:.4f}: the model is "
          f"{entropy - final:.4f} nats below it")
    if not final < entropy:
        sys.exit("error: the model knows no more than the byte frequencies")


if __name__ == "__main__":
    main()
