# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a GPT over bytes on ranks of this machine, and prints a sample of it.

    python examples/gpt/train.py --mesh data=2,model=2 --parallel fsdp+tp

Under `mpirun -n 2`, each of two processes has half of the ranks; process 0 prints and writes.
`--help` lists the modes. With the package in build/dev/python: PYTHONPATH=build/dev/python.
"""

import csv
import math
import os
import signal
import sys
import time

from tqdm import tqdm

import data
import options
import sample
import training
import weft


def describe(run, trainer, state):
    """What is trained, on what, and what a step costs a rank."""
    count = sum(leaf.size for leaf in weft.tree.leaves(state["params"]))
    cost, memory = trainer.compiled.cost(), trainer.compiled.memory()
    messages = sum(message.count for message in trainer.compiled.messages())
    print(f"text   {len(run.text.training)} bytes for training, "
          f"{len(run.text.validation)} for validation")
    print(f"model  {count} parameters in {run.config.layers} layers")
    print(f"mesh   {', '.join(f'{axis} {size}' for axis, size in run.axes.items())}, "
          f"by {'+'.join(run.modes)}")
    print(f"rank   {memory.arena / 2**20:.1f} MiB, {memory.states / 2**20:.1f} MiB of it for states; "
          f"{'the stages send' if messages else 'sends'} {cost.wire_bytes / 2**20:.2f} MiB a step in "
          f"{cost.collectives} collectives" + (f" and {messages} messages" if messages else ""),
          flush=True)


class Metrics:
    """metrics.csv: a row a step, with a validation loss where there is one. A run that goes on
    keeps the rows of the steps that it does not make again."""

    def __init__(self, path, first):
        kept = []
        if first and os.path.exists(path):
            with open(path, newline="") as file:
                kept = [row for row in csv.reader(file) if row[0].isdecimal() and int(row[0]) <= first]
        self._file = open(path, "w", newline="")
        self._rows = csv.writer(self._file)
        self._rows.writerows([["step", "loss", "validation"], *kept])
        self._file.flush()

    def add(self, step, loss, validation):
        self._rows.writerow([step, f"{loss:.9g}", "" if validation is None else f"{validation:.9g}"])
        self._file.flush()


def train(run, trainer):
    """Makes the steps that are left, and returns how many are made in all, and whether Ctrl-C or a signal,
    in any process, has ended them early. Checkpoints are written meanwhile; the last one stays if a step
    fails."""
    settings, args = run.settings, run.args
    size, context, seed = settings["batch"], run.config.context, settings["seed"]
    held_back = [data.batch(run.text.validation, size, context, seed, 1, i)
                 for i in range(args.eval_batches)]
    first = done = saved = run.resumed.step if run.resumed else 0
    last = min(settings["steps"], args.stop_after or settings["steps"])
    is_first = weft.process_index() == 0
    metrics, spent = Metrics(args.out / "metrics.csv" if is_first else os.devnull, first), 0.0
    stop = weft.distributed.PreemptionHandler((signal.SIGINT, signal.SIGTERM, signal.SIGUSR1), deadline=300.0)
    with stop, tqdm(total=settings["steps"], initial=first, unit="step",
                    disable=None if is_first else True) as bar:
        while done < last and not stop.is_reached:
            started = time.monotonic()
            loss = trainer.step(*data.batch(run.text.training, size, context, seed, 0, done))
            spent += time.monotonic() - started
            done += 1
            if not math.isfinite(loss):
                raise ValueError(f"the loss of step {done} is {loss}; a smaller --learning-rate may help")
            bar.update()
            bar.set_postfix_str(f"loss {loss:.3f}, {(done - first) * size * context / spent:.0f} tokens/s")
            validation = None
            if done % args.eval_every == 0 or done == last:
                validation = trainer.evaluate(held_back)
                bar.write(f"step {done:5}  loss {loss:.3f}  validation {validation:.3f}")
            metrics.add(done, loss, validation)
            if done % args.checkpoint_every == 0:
                trainer.save(run, done)
                saved = done
            stop.reached_sync_point(done)
    if done > saved:
        trainer.save(run, done)
    if done > first:
        print(f"speed  {(done - first) * size * context / spent:.0f} tokens/s")
    return done, stop.is_reached and done < last


def plan(run, state):
    """Prints what --plan asks for: specs, and what the compiler makes of them."""
    trainer = training.Trainer(run, state, target=None)
    describe(run, trainer, state)
    print()
    weft.show_specs(state["params"], trainer.layout.rest, training.unstaged(run.axes))
    print()
    print(trainer.compiled.report())


def main(arguments=None):
    try:
        run = options.read(arguments)
        state = training.first_state(run.config, run.settings)
        if run.args.plan:
            return plan(run, state)
        run.args.out.mkdir(parents=True, exist_ok=True)
        trainer = training.Trainer(run, state, run.args.target)
        if run.resumed:
            trainer.restore(run.resumed)
        describe(run, trainer, state)
        try:
            done, is_stopped = train(run, trainer)
        finally:
            trainer.finish_save()
    except (OSError, ValueError, weft.CompileError, weft.ExecutionError) as error:
        sys.exit("\n".join(f"error: {line}" for line in str(error).split("\n")))
    print(f"\ncheckpoint of step {done} in {run.args.out}")
    if done < run.settings["steps"]:
        print("--resume continues from there, under any mesh")
        if is_stopped:
            sys.exit(3)
    elif run.args.length:
        text = sample.generate(trainer.state()["params"], run.config, run.args.prompt.encode(),
                               run.args.length, run.args.temperature, run.settings["seed"])
        print(f"\n{text}")


if __name__ == "__main__":
    weft.distributed.initialize()
    if weft.process_index() != 0:
        sys.stdout = open(os.devnull, "w")
    main()
