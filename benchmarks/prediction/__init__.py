# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published training runs as steps of weft.models: what benchmarks/predict.py is made of.

    sources    what the tables of each source leave unsaid
    rows       a row as settings of weft.models
    steps      a step through the compiler and the simulator
    accuracy   errors over rows, and those of the best constant
"""
