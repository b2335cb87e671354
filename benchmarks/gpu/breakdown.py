# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of a step goes: what `shard-run --trace` and `Session.write_trace` recorded.

    python breakdown.py trace.json [--top 10]

Looks at rank 0 and the last run of the trace. Its instructions run one after the other, between
events, so that they sum up to more than a step that runs as one graph: shares and the comparison
with what was predicted are what counts, and the gaps are those of the traced run.
"""

import argparse
import json

COMPUTE = 0  # The other streams are of collectives.
OPERATIONS = {
    "gemm": "GEMMs", "attention": "attention", "attention_grad": "attention",
    "wait": "waits for collectives", "copy": "copies",
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return [event for event in json.load(file)["traceEvents"]
                if event["ph"] == "X" and event["pid"] == 0]


def last_run(events):
    """A run begins where the number of the instruction falls, or the entry changes."""
    compute = sorted((event for event in events if event["tid"] == COMPUTE), key=lambda e: e["ts"])
    starts = [after["ts"] for before, after in zip(compute, compute[1:])
              if after["args"]["step"] <= before["args"]["step"]
              or after["args"]["entry"] != before["args"]["entry"]]
    start = max(starts, default=float("-inf"))
    return [event for event in events if event["ts"] >= start]


def part_of(event):
    if event["tid"] != COMPUTE:
        return "collectives beside them"
    return OPERATIONS.get(event["name"], "kernels")


def predicted(event):
    return event["args"].get("predicted_us", 0)


def describe(event):
    args = event["args"]
    location = ", ".join(args[key] for key in ("cause", "location") if key in args)
    return {"step": args["step"], "name": event["name"], "location": location,
            "us": event["dur"], "predicted_us": predicted(event)}


def of_events(events, top=10):
    """Microseconds and shares of the last run, by kind of instruction, and the instructions that
    took longest and exceed most what was predicted."""
    events = last_run(events)
    compute = [event for event in events if event["tid"] == COMPUTE]
    if not compute:
        return {"us": 0, "parts": {}, "longest": [], "slowest": []}
    total = max(e["ts"] + e["dur"] for e in compute) - min(e["ts"] for e in compute)
    parts = {}
    for event in events:
        part = parts.setdefault(part_of(event), {"us": 0, "predicted_us": 0, "count": 0})
        part["us"] += event["dur"]
        part["predicted_us"] += predicted(event)
        part["count"] += 1
    parts["gaps"] = {"us": total - sum(event["dur"] for event in compute), "predicted_us": 0, "count": 0}
    expected = sum(predicted(event) for event in compute)
    for part in parts.values():
        part["share"] = part["us"] / total if total else 0
        part["predicted_share"] = part["predicted_us"] / expected if expected else 0
    order = sorted(compute, key=lambda e: (-e["dur"], e["args"]["step"]))
    excess = sorted(compute, key=lambda e: (predicted(e) - e["dur"], e["args"]["step"]))
    return {"us": total, "predicted_us": expected,
            "parts": dict(sorted(parts.items(), key=lambda item: -item[1]["us"])),
            "longest": [describe(event) for event in order[:top]],
            "slowest": [describe(event) for event in excess[:top]]}


def of_trace(path, top=10):
    return of_events(read(path), top)


def text(found):
    lines = [f"{'measured':>49}{'predicted':>20}"]
    for name, part in found["parts"].items():
        lines.append(f"{name:23}{part['count']:6}{part['us'] / 1e3:10.3f} ms {part['share']:6.1%}"
                     f"{part['predicted_us'] / 1e3:10.3f} ms {part['predicted_share']:6.1%}")
    for title, key in (("took longest", "longest"), ("exceed most what was predicted", "slowest")):
        lines.append(f"instructions that {title}:")
        for each in found[key]:
            lines.append(f"  {each['step']:5} {each['us']:10.1f} us, predicted "
                         f"{each['predicted_us']:8.1f}: {each['name'][:60]}  {each['location'][:80]}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--top", type=int, default=10, help="instructions in each list")
    arguments = parser.parse_args()
    print(text(of_trace(arguments.trace, arguments.top)))


if __name__ == "__main__":
    main()
