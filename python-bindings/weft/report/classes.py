# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What time and memory are for, with the colours of the page."""

# Of the timeline, in the order of its legend. Its numbers are those of timeline.js.
TIMES = {
    "GEMM": "#3266ad",
    "convolution": "#2f8f83",
    "attention": "#7b5fb0",
    "other kernels": "#5aa7c7",
    "hidden communication": "#8cc084",
    "exposed communication": "#d1404a",
    "bubble": "#d5d8df",
    "forward": "#a9c6e8",
    "backward": "#f0b878",
    "input gradients": "#f0b878",
    "weight gradients": "#8fc1b5",
    "once a step": "#a58a6f",
}
NUMBERS = {name: number for number, name in enumerate(TIMES)}
OF_INSTRUCTIONS = {"gemm": "GEMM", "convolution": "convolution", "attention": "attention", "other": "other kernels",
                   "collective": "hidden communication"}
OF_PASSES = {"F": "forward", "B": "backward", "I": "input gradients", "W": "weight gradients"}
HOST = "#e6c229"

MEMORY = {
    "parameters": "#3266ad",
    "optimizer state": "#8fb2e3",
    "states": "#3266ad",
    "constants": "#6b7280",
    "gradients": "#e08b3e",
    "activations": "#5b9e6f",
    "communication buffers": "#d1404a",
    "arguments": "#a9afba",
    "results": "#7d8594",
    "temporaries": "#e3c565",
}
